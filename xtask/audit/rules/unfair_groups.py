# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `unfair-group`: task groups that get much less CPU time than their weights entitle them to."""

from collections import Counter, defaultdict

from groups import fair_shares
from registry import sampled_rule
from sampled import FAIR, WINDOW, Share


def unfair_groups(case):
    """Groups in groups, of which some lose most of their time; weights, tasks, quotas and affinities change."""
    case.length_ms = case.pick(450, 650, 850)
    cpus = case.pick(2, 3)
    lines = [f"cpus {cpus}", f"irq {cpus - 1} 4ms {case.pick(2600, 3000, 3300)}us"]
    has_quota = case.maybe(0.4)
    for cpu in range(cpus):
        lines.append(f"group top{cpu} shares={case.pick(1024, 1024, 2048)}")
        quota = f" quota={case.pick('30ms period=100', '90ms period=100', '170ms period=200', '180ms period=200')}ms" if has_quota and cpu == 0 else ""
        lines += [f"group low{cpu} parent=top{cpu} shares={case.pick(512, 1024)}{quota}", f"group side{cpu} parent=top{cpu}"]
        lines.append(f"task t{cpu} cpu={cpu} mask={cpu} group=low{cpu} {case.pick('run 10s', 'run 10s', 'loop run 180ms sleep 5ms')}")
        if case.maybe(0.3):
            lines.append(f"task s{cpu} cpu={cpu} mask={cpu} group=side{cpu} {case.pick('run 10s', 'loop run 2ms sleep 9ms')}")
    lines += [f"affinity 1ms t{cpu} 0-{cpus - 1}" for cpu in range(cpus)]
    if case.maybe(0.3):
        lines.append(f"shares {case.at()} {case.pick('top0', 'low1')} 3000")
    if case.maybe(0.3):
        lines.append(f"move {case.at()} t{case.pick(0, 1)} {case.pick('side0', 'top1', '/')}")
    return [*lines, "tune nr_migrate 0"]


@sampled_rule("unfair-group", "unfair-group", severity="medium", question=None, recipes={unfair_groups: 3})
class UnfairGroup(Share):
    def sample(self, sample):
        if len(self.log.groups) < 2:
            return
        now = sample["now"]
        for group, (shares, throttled) in self.shares.items():
            row = self.state.groups[group]
            if row["throttled_time"] != throttled or row["is_throttled"] or row["shares"] != shares:
                self.discarded.add(group)
        self.since = now if self.since is None else self.since
        length = now - self.since
        if length < WINDOW and self.shares:
            return
        self.evaluate(length, now)
        self.since, self.slept, self.discarded = now, set(), set()
        rows = self.state.tasks
        self.before = {task: (rows[task]["group"], rows[task]["ran"]) for task in self.state.forked}
        self.shares = {group: (row["shares"], row["throttled_time"]) for group, row in self.state.groups.items()}

    def discard(self, group):
        self.discarded.update(self.state.with_parents(group))

    def evaluate(self, length, now):
        hungry, others, masks, first = Counter(), Counter(), defaultdict(set), {}
        nr, members = Counter(), set()
        for task in sorted(self.state.forked):
            row, (group, ran) = self.state.tasks[task], self.before.get(task, (None, None))
            if ran is not None and group != row["group"]:
                self.discard(group)
                self.discard(row["group"])
            if row["policy"] not in FAIR:
                continue
            got = max(row["ran"] - (ran or 0), 0)
            is_hungry = ran is not None and task not in self.slept and task not in self.state.asleep and row["policy"] != "idle"
            for above in self.state.with_parents(row["group"]):
                members.add(above)
                if is_hungry:
                    hungry[above] += got
                    nr[above] += 1
                    first.setdefault(above, task)
                    masks[above].add(tuple(row["cpus"]))
                else:
                    others[above] += got
        for group in list(self.discarded):
            self.discard(group)
        is_left_out = lambda group: any(above in self.discarded for above in self.state.with_parents(group))
        sets = defaultdict(list)
        for group in sorted(members):
            if group in self.shares and not is_left_out(group) and len(masks[group]) == 1:
                sets[self.log.groups[group]["parent"], next(iter(masks[group]))].append(group)
        for (_, mask), groups in sets.items():
            most = {group: min(nr[group], len(mask)) * length + others[group] for group in groups}
            got = {group: hungry[group] + others[group] for group in groups}
            due = fair_shares([(self.shares[group][0], got[group], most[group]) for group in groups])
            for group, part in zip(groups, due):
                self.add(group, got[group], part, length, now, first[group])

    def expected(self):
        of = lambda found: {**self.row(found), "question": {"task": self.state.name(found.what[3])}}
        return {self.state.path(group): of(found) for group, found in self.found.items()}
