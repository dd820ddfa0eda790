# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `slice-cut`: a task has a slice of its own, and practically never keeps it."""

from collections import Counter, defaultdict

from registry import sampled_rule
from sampled import SampledRule

MIN_TURNS, PER_KEPT = 20, 10


def cut_slice(case):
    """Slices of tasks that others cut."""
    cpus = case.pick(1, 2)
    lines = [f"cpus {cpus}", f"task long slice={case.pick(10, 20, 50)}ms n={case.pick(1, 2)} cpu=0 mask=0-0 run 10s"]
    lines.append(f"task radio {case.pick('fifo=9', 'fifo=9', 'rr=3', 'slice=100us')} cpu=0 mask=0-0 loop run {case.pick(50, 100, 200)}us {case.pick('sleep 1ms', 'sleep 2ms', 'sleepx 2ms', 'sleepx 3ms')}")
    lines.append(f"task plain cpu=0 mask=0-0 {case.pick('run 10s', 'loop run 2ms sleep 3ms')}")
    if case.maybe(0.4):
        lines.append(f"slice {case.at()} long{'' if ' n=1 ' in lines[1] else '0'} {case.pick('0', '5ms', '100ms')}")
    return lines


@sampled_rule("slice-cut", "cut-slices", severity="low", recipes={cut_slice: 2})
class CutSlices(SampledRule):
    def reset(self):
        self.tracks, self.since = {}, {}

    def attributes(self):
        if not self.log.has_servers():
            return
        for task in self.state.forked:
            length = self.state.tasks[task]["slice"]
            if length is not None:
                new = {"task": task, "turns": 0, "kept": 0, "cut": 0, "last": self.log.machine["t"], "followers": Counter()}
                self.tracks.setdefault(task, new).update(slice=length, is_counted=True)
            elif task in self.tracks:
                self.tracks[task]["is_counted"] = False

    def event(self, event):
        if event["e"] != "switch":
            return
        track, t = self.tracks.get(event["prev"]), event["t"]
        if track and track["is_counted"] and event["state"] == "R":
            ran = t - max(self.since.get(event["prev"], self.log.from_t), self.log.from_t)
            track["turns"] += 1
            if 2 * ran >= track["slice"]:
                track["kept"] += 1
            else:
                track["cut"], track["last"] = track["cut"] + ran, t
                track["followers"][event["next"]] += 1
        self.since[event["next"]] = t

    def expected(self):
        families, rows, start = defaultdict(list), {}, self.log.machine["t"]
        for task, track in sorted(self.tracks.items()):
            if track["turns"] >= MIN_TURNS and track["kept"] * PER_KEPT < track["turns"]:
                families[self.log.family_of(task)].append(track)
        for family, tracks in families.items():
            nr_cut = lambda track: track["turns"] - track["kept"]
            count, worst = sum(map(nr_cut, tracks)), max(tracks, key=nr_cut)
            most = max(worst["followers"].values(), default=0)
            follower = min((task for task, nr in worst["followers"].items() if nr == most), default=None)
            fork = self.log.forks.get(follower)
            rows[family] = {
                "count": count, "at_ns": worst["last"] - start - 1, "last_ns": max(track["last"] for track in tracks) - start,
                "evidence.task": self.state.name(worst["task"]), "evidence.nr_turns": sum(track["turns"] for track in tracks),
                "evidence.average_ns": sum(track["cut"] for track in tracks) // max(count, 1), "evidence.slice_ns": worst["slice"],
                "evidence.follower": fork and self.log.name_of(fork["index"]),
            }
        return rows
