# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `quota-exceeded`: task groups that used more CPU time than their quota."""

from collections import Counter, defaultdict

from registry import sampled_rule
from sampled import FAIR, Occurrences, SampledRule


def exceeded_quota(case):
    """Quota whose slice of each CPU becomes smaller after it was used."""
    cpus = case.pick(4, 8)
    lines = [f"cpus {cpus}", f"group g quota=1ms period={case.pick(50, 100)}ms", f"task t group=g n={cpus * 2} run 10s"]
    time = 2
    while time < case.length_ms:
        lines.append(f"offline {time}ms {cpus - 1}\nonline {time + 1}ms {cpus - 1}")
        # The longer a pause, the less is used beyond the quota.
        time += case.pick(2, 3, 5, 5, 40)
    return lines


@sampled_rule("quota-exceeded", "quota-exceeded", severity="medium", question=None, recipes={exceeded_quota: 1})
class Quota(SampledRule):
    def reset(self):
        self.before, self.groups, self.found = {}, {}, defaultdict(Occurrences)

    def sample(self, sample):
        now, limited = sample["now"], [group for group, row in sorted(self.state.groups.items()) if row["quota"] is not None]
        if not limited and not self.groups:
            return
        used, latest = Counter(), {}
        for task in self.state.forked:
            row = self.state.tasks[task]
            group, ran = self.before.get(task, (None, None))
            self.before[task] = row["group"], row["ran"]
            if ran is None or group != row["group"] or row["policy"] not in FAIR or row["ran"] <= ran:
                continue
            for above in self.state.with_parents(row["group"]):
                used[above] += row["ran"] - ran
                latest[above] = task
        for group in limited:
            self.count(group, used[group], latest.get(group, 0), now)
        self.groups = {group: usage for group, usage in self.groups.items() if group in limited}

    def count(self, group, ran, task, now):
        row = self.state.groups[group]
        limits = row["quota"], row["period"], row["burst"]
        new = {"limits": limits, "until": now, "beyond": 0, "excess": None}
        usage = self.groups.setdefault(group, new)
        if usage["limits"] != limits:
            self.close(group, usage)
            self.groups[group] = new
            return
        refilled = row["quota"] * (now - usage["until"]) // max(row["period"], 1)
        usage["beyond"], usage["until"] = max(usage["beyond"] + ran - refilled, 0), now
        allowed = 2 * row["quota"] + row["burst"] + self.log.nr_cpus * (row["slice"] + self.log.machine["tick"])
        beyond = max(usage["beyond"] - allowed, 0)
        if beyond > (usage["excess"][0] if usage["excess"] else 0):
            usage["excess"] = beyond, now, task
        elif usage["beyond"] == 0:
            self.close(group, usage)

    def close(self, group, usage):
        if usage["excess"]:
            ns, at, task = usage["excess"]
            self.found[group].add(at, ns, (at, task))
        usage["excess"] = None

    def expected(self):
        for group, usage in self.groups.items():
            self.close(group, usage)
        of = lambda found: {**found.row(self.log, found.what[0] - 1), "question": {"task": self.state.name(found.what[1])}}
        return {self.state.path(group): of(found) for group, found in self.found.items()}
