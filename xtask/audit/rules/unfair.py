# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `unfair-share`: tasks that get much less CPU time than their weights entitle them to."""

from collections import defaultdict

from groups import fair_shares
from registry import sampled_rule
from sampled import WINDOW, Share

SHARING = {"normal", "batch"}
# Weights of the nice values from -20 to 19 (Documentation/scheduler/sched-nice-design.rst: a step is 25 %).
WEIGHTS = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
]


def unfair_share(case):
    """One task on each CPU, of which one loses most of its time, in one group or in groups."""
    case.length_ms = case.pick(430, 650)
    cpus, has_groups = case.pick(2, 3), case.maybe(0.5)
    lines = [f"cpus {cpus}", f"irq {cpus - 1} 4ms {case.pick(2600, 3000, 3300)}us"]
    for cpu in range(cpus):
        weight = case.pick(1024, 1024, 3000)
        lines += [f"group g{cpu} shares={weight}"] * has_groups
        group = f"group=g{cpu}" if has_groups else f"nice={case.pick(0, 0, 5, -5)}"
        lines.append(f"task t{cpu} cpu={cpu} mask={cpu} {group} run 10s")
    lines += [f"affinity 1ms t{cpu} 0-{cpus - 1}" for cpu in range(cpus)]
    # A kernel that balances no task leaves them where they are.
    return [*lines, "tune nr_migrate 0"]


@sampled_rule("unfair-share", "unfair-share", severity="medium", recipes={unfair_share: 3})
class UnfairShare(Share):
    def sample(self, sample):
        now = sample["now"]
        self.since = now if self.since is None else self.since
        length = now - self.since
        if length < WINDOW and self.before:
            return
        sets = defaultdict(list)
        for task in sorted(self.state.forked):
            row = self.state.tasks[task]
            if task in self.before and task not in self.slept and not row["is_dead"] and row["policy"] in SHARING:
                group = -1 if row["group"] is None else row["group"]
                sets[group, tuple(row["cpus"])].append((task, row["ran"] - self.before[task]))
        # Sets are compared group by group, and in a group in the order of their first tasks.
        for _, members in sorted(sets.items(), key=lambda item: (item[0][0], item[1][0][0])):
            weights = [WEIGHTS[self.state.tasks[task]["nice"] + 20] for task, _ in members]
            due = fair_shares([(weight, max(got, 0), length) for weight, (_, got) in zip(weights, members)])
            for (task, got), part in zip(members, due):
                self.add(self.log.family_of(task), max(got, 0), part, length, now, task)
        self.before = {task: self.state.tasks[task]["ran"] for task in self.state.forked}
        self.slept, self.since = set(), now

    def expected(self):
        return {family: {**self.row(found), "evidence.task": self.state.name(found.what[3])} for family, found in self.found.items()}
