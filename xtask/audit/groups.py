# SPDX-License-Identifier: GPL-2.0-or-later
"""Recomputes the metrics of task groups from an event log: CPU time, shares, and bandwidth."""

from bisect import bisect_right
from collections import defaultdict

WINDOW = 200_000_000
FAIR = {None, "Normal", "Batch", "Idle"}
IDLE_SHARES = 3
COUNTERS = ("nr_periods", "nr_throttled", "throttled_ns", "nr_bursts", "burst_ns")


def counters(log):
    """Returns the bandwidth counters of the groups; group 0 of the log is the root group."""
    rows = defaultdict(lambda: dict.fromkeys(COUNTERS, 0))
    since = {}
    counted = {id(event) for event in log.counted}
    for event in log.of("group_refill", "group_throttling"):
        group = event["group"] - 1
        row, counts = rows[group], id(event) in counted
        if event["e"] == "group_refill":
            row["nr_periods"] += counts * event["n"]
            row["nr_throttled"] += counts * event["n"] * event["throttled"]
            row["nr_bursts"] += counts * (event["burst"] > 0)
            row["burst_ns"] += counts * event["burst"]
        elif event["on"]:
            since[group, event["cpu"]] = event["clock"]
        else:
            start = since.pop((group, event["cpu"]))
            row["throttled_ns"] += counts * (event["clock"] - start if start is not None else 0)
    return rows


class History:
    """Values that change at times."""

    def __init__(self, value):
        self.times, self.values = [0], [value]

    def set(self, t, value):
        self.times.append(t)
        self.values.append(value)

    def at(self, t):
        return self.values[bisect_right(self.times, t) - 1]


def fair_shares(members):
    """Divides the sum of what members (weight, got, most) got by weight, to each at most what it can use."""
    due = [None] * len(members)
    while True:
        left = sum(got for _, got, _ in members) - sum(part for part in due if part is not None)
        undecided = [place for place, part in enumerate(due) if part is None]
        weights = max(1, sum(members[place][0] for place in undecided))
        parts = {place: left * members[place][0] // weights for place in undecided}
        full = [place for place in undecided if parts[place] > members[place][2]]
        if not full:
            return [parts[place] if part is None else part for place, part in enumerate(due)]
        due[full[0]] = members[full[0]][2]


class Groups:
    """State of the groups of a run, and of their members."""

    def __init__(self, log, tasks):
        self.log, self.tasks = log, tasks
        self.parents = [group["parent"] for group in log.groups]
        self.shares = [History(IDLE_SHARES if group["is_idle"] else group["shares"]) for group in log.groups]
        self.quotas = [History((group["quota"], group["period"])) for group in log.groups]
        self.group_of = {}
        self.changes = {log.from_t, log.end}
        for event in log.of("fork", "moved", "shares", "quota"):
            kind, t = event["e"], event["t"]
            if kind == "fork":
                self.group_of[event["task"]] = History(log.specs[event["spec"]]["group"])
                continue
            self.changes.add(t)
            if kind == "moved":
                self.group_of[log.task_of_index[event["index"]]].set(t, event["group"])
            elif kind == "shares":
                self.shares[event["group"]].set(t, event["shares"])
            else:
                self.quotas[event["group"]].set(t, (event["quota"], event["period"]))

    def is_fair(self, spec):
        policies = [spec["policy"], *(later["policy"] for later in spec["later"] if isinstance(later, dict))]
        return FAIR.issuperset(policies)

    def mask(self, spec):
        """Returns what identifies the CPUs of a specification's tasks, with their number; None if they change."""
        if any(later in ("affinity", "cpuset") for later in spec["later"]):
            return None
        size = self.log.nr_cpus if spec["affinity"] is None else len(spec["affinity"])
        if spec["cpuset"] is not None:
            size = min(size, len(self.log.cpusets[spec["cpuset"]]["cpus"]))
        return str(spec["affinity"]), spec["cpuset"], size

    def with_parents(self, group):
        while group is not None:
            yield group
            group = self.parents[group]

    def stretches(self):
        """Returns the stretches between changes, none of which crosses the end of a window."""
        windows = range(self.log.from_t, self.log.end, WINDOW)
        times = sorted(t for t in self.changes.union(windows) if self.log.from_t <= t <= self.log.end)
        return zip(times, times[1:])

    def available(self, group):
        """Returns the quota of the whole run. It is rounded for each time between two settings."""
        history, total = self.quotas[group], 0
        for (quota, period), start, end in zip(history.values, history.times, [*history.times[1:], self.log.end]):
            if quota is not None:
                total += quota * self.log.cut(start, end) // period
        return total

    def rows(self):
        rows = [dict.fromkeys(("usage", "used", "got", "due"), 0) for _ in self.parents]
        times = {task: sorted(of.intervals) for task, of in self.tasks.items() if task in self.group_of}
        for start, end in self.stretches():
            ran, runnable, masks = defaultdict(int), defaultdict(int), defaultdict(set)
            for task, intervals in times.items():
                spec = self.log.specs[self.log.forks[task]["spec"]]
                spent = defaultdict(int)
                for since, until, state, _ in intervals:
                    spent[state] += max(0, min(until, end) - max(since, start))
                if spent["running"] + spent["waiting"] == 0:
                    continue
                for group in self.with_parents(self.group_of[task].at(start)):
                    rows[group]["usage"] += spent["running"]
                    if self.is_fair(spec):
                        has_quota = self.quotas[group].at(start)[0] is not None
                        rows[group]["used"] += has_quota * spent["running"]
                        ran[group] += spent["running"]
                        runnable[group] += spent["running"] + spent["waiting"]
                        masks[group].add(self.mask(spec))
            siblings = defaultdict(list)
            for group in sorted(masks):
                if len(masks[group]) == 1 and None not in masks[group]:
                    siblings[self.parents[group], *masks[group]].append(group)
            for (_, mask), members in siblings.items():
                if len(members) < 2:
                    continue
                most = mask[-1] * (end - start)
                shares = [(self.shares[group].at(start), ran[group], min(runnable[group], most)) for group in members]
                for group, due in zip(members, fair_shares(shares)):
                    rows[group]["got"] += ran[group]
                    rows[group]["due"] += due
        return rows


def of_cgroups(log, tasks):
    """Returns the metrics of all groups."""
    groups, counted, found = Groups(log, tasks), counters(log), {}
    for group, row in enumerate(groups.rows()):
        of_group = {"usage_ns": row["usage"], "entitlement": None, "bandwidth": None}
        found[log.groups[group]["name"]] = of_group
        if row["got"] + row["due"] > 0:
            of_group["entitlement"] = {"got_ns": row["got"], "due_ns": row["due"]}
        available = groups.available(group)
        if groups.quotas[group].at(log.end)[0] is not None or any(counted[group].values()) or available > 0:
            of_group["bandwidth"] = {"used_ns": row["used"], "available_ns": available, **counted[group]}
    return found
