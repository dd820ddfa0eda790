# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `idle-while-waiting`: a CPU idles while a task that may use it waits."""

from collections import Counter, defaultdict

from log import replay_tasks
from registry import sampled_rule
from sampled import MS, Occurrences, SampledRule


def check(checker, finding, evidence, numbers):
    idle = evidence["idle_cpu"]
    checker.expect_true(finding, "idle", checker.log.is_idle_task(checker.at.cpus[idle].current))
    waiting = [number for number in numbers if checker.at.tasks[number].state == "waits"]
    checker.expect_true(finding, "waiting", bool(waiting))
    # The log has names of results, not their meanings.
    evidence.ignore("meaning")
    if checker.at.nr_hotplugs:
        evidence.ignore("has_common_domain", "common_domain", "cause", "nr_waits")
        return
    common = [domain["name"] for _, domain in sorted(checker.log.domains_of(idle).items()) if evidence["cpu"] in domain["cpus"]]
    if evidence["has_common_domain"] is not None:
        checker.expect(finding, "common_domain", evidence["common_domain"], common[0] if common else None)
    checker.expect(finding, "own runqueue", evidence["cause"] == "own-runqueue", idle == evidence["cpu"])
    if evidence["cause"] == "passes":
        checker.expect_true(finding, "nr_waits", 0 < evidence["nr_waits"] <= 2 * finding["count"])
    if evidence["cause"] == "no-pass":
        start = checker.at.now - finding["worst_ns"] // 2
        end = start + finding["worst_ns"]
        passes = [event for event in checker.log.of("pass") if event["cpu"] == idle and start < event["t"] < end]
        checker.expect(finding, "passes", len(passes), 0)


@sampled_rule("idle-while-waiting", "idle-cpu", check=check, question=lambda _, evidence: {"cpu": evidence["idle_cpu"]})
class IdleCpus(SampledRule):
    def __init__(self, state):
        self.ends = defaultdict(list)
        for task, replayed in replay_tasks(state.log).items():
            for start, end, kind, _ in replayed.intervals:
                if kind == "waiting":
                    self.ends[task, end].append(start)
        super().__init__(state)

    def reset(self):
        start = self.log.machine["t"]
        # Start and end of the last idle period of each CPU; the end is None while it lasts.
        self.periods = getattr(self, "periods", {cpu: (start, None) for cpu in range(self.log.nr_cpus)})
        for cpu, (_, end) in self.periods.items():
            self.periods[cpu] = (self.log.from_t, None) if end is None else (start, self.log.from_t)
        self.limit = max(2 * self.log.machine["tick"], 4 * MS)
        self.passes, self.causes, self.found = defaultdict(dict), defaultdict(Counter), defaultdict(Occurrences)

    def event(self, event):
        kind, t = event["e"], event["t"]
        if kind == "switch":
            self.end_wait(event["next"], t)
        elif kind == "throttling":
            self.end_wait(event["task"], t)
        elif kind == "pass":
            self.passes[event["cpu"]][event["level"]] = event
        if kind in ("switch", "hotplug"):
            cpu = event["cpu"]
            is_idle = self.state.is_idle(cpu) and cpu not in self.state.offline
            since, end = self.periods[cpu]
            if is_idle and end is not None:
                self.periods[cpu] = t, None
            elif not is_idle and end is None:
                self.periods[cpu] = since, t

    def end_wait(self, task, t):
        # A task that is switched in twice at a time ends its wait once.
        waits = self.ends.pop((task, t), [])
        row = self.state.tasks.get(task)
        for start in waits:
            since = max(start, self.log.from_t) if self.state.is_measured else start
            if row and t - since >= self.limit and self.log.family_of(task):
                self.add(task, self.state.places[task], since, t, row["cpus"])

    def add(self, task, cpu, since, until, allowed):
        def overlap(idle):
            start, end = self.periods[idle]
            start = max(start, since)
            return max(min(until if end is None else end, until) - start, 0), start

        ns, idle = max(((overlap(idle)[0], -idle) for idle in allowed), default=(0, 0))
        if ns < self.limit:
            return
        start, family = overlap(-idle)[1], self.log.family_of(task)
        passes = [(level, row["balanced"] or row["verdict"]) for level, row in self.passes[-idle].items() if start <= row["t"] <= until]
        self.causes[family].update(passes)
        self.found[family].add(until, ns, (task, cpu, -idle, start, len(passes)))

    def cause(self, family, cpu, idle, nr_passes):
        """Returns the cause why an idle CPU took no task, and the number of waits with the most frequent result of passes."""
        if idle == cpu:
            return {"evidence.cause": "own-runqueue"}
        levels = [level for level, domain in sorted(self.log.domains_of(idle).items()) if cpu in domain["cpus"]]
        counts = [nr for (level, _), nr in self.causes[family].items() if level in levels[:1]]
        if counts:
            return {"evidence.cause": "passes", "evidence.nr_waits": max(counts)}
        return {"evidence.cause": "last-pass" if nr_passes else "no-pass"}

    def expected(self):
        for (task, end) in [key for key in self.ends if key[1] == self.log.end]:
            self.end_wait(task, end)
        length, rows = self.log.end - self.log.from_t, {}
        for family, found in self.found.items():
            task, cpu, idle, start, nr_passes = found.what
            row = found.row(self.log, start + found.worst // 2)
            is_bad = found.total * 100 > length or found.worst > 50 * MS
            evidence = {"evidence.task": self.state.name(task), "evidence.cpu": cpu, "evidence.idle_cpu": idle}
            if not self.log.of("hotplug"):
                evidence.update(self.cause(family, cpu, idle, nr_passes))
            rows[family] = {**row, "severity": "high" if is_bad else "medium", **evidence}
        return rows
