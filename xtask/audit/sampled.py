# SPDX-License-Identifier: GPL-2.0-or-later
"""Recomputes the findings of rules that sample state, completely: from the samples of the event log and the events between.

Each rule is a class in a module of `rules`. It sees all events and samples of the measured time, and of the warm-up before,
and returns what is to be reported, by a key: a family, a group, or None.
"""

from collections import defaultdict

import registry

MS = 1_000_000
WINDOW = 200 * MS
PERIOD = 20 * MS
FAIR = {"normal", "batch", "idle"}


class Occurrences:
    """Occurrences of a finding: number, total, the first one of the longest, and the end of the last one."""

    def __init__(self):
        self.count, self.total, self.worst, self.what, self.last = 0, 0, None, None, 0

    def add(self, until, ns, what):
        self.count, self.total, self.last = self.count + 1, self.total + ns, max(self.last, until)
        if self.worst is None or ns > self.worst:
            self.worst, self.what = ns, what

    def row(self, log, at):
        start = log.machine["t"]
        return {"count": self.count, "total_ns": self.total, "worst_ns": self.worst, "at_ns": max(at - start, 0), "last_ns": self.last - start}


class State:
    """Rows of the last sample, and what events say about tasks and CPUs."""

    def __init__(self, log):
        self.log, self.tasks, self.groups, self.cpus = log, {}, {}, {}
        self.currents = list(range(log.nr_cpus))
        self.offline, self.asleep, self.fits = set(), set(), {}
        self.forked, self.places = [], {}
        self.by_energy, self.is_measured, self.states = False, log.reset_sample == 0, {}

    def event(self, event):
        kind = event["e"]
        if kind == "fork":
            self.forked.append(event["task"])
            self.asleep.add(event["task"])
        elif kind == "wakeup":
            self.asleep.discard(event["task"])
            self.states[event["task"]], self.places[event["task"]] = "runnable", event["cpu"]
        elif kind == "migrate":
            self.places[event["task"]] = event["to"]
        elif kind == "switch":
            self.currents[event["cpu"]] = event["next"]
            self.places[event["prev"]] = self.places[event["next"]] = event["cpu"]
            if event["state"] != "R":
                self.asleep.add(event["prev"])
                self.states[event["prev"]] = "asleep" if event["state"] == "S" else "ended"
        elif kind == "hotplug" and event["result"] == 0:
            (self.offline.discard if event["online"] else self.offline.add)(event["cpu"])
        elif kind == "fit":
            self.fits[self.log.task_of_index[event["index"]]] = event["fit"]

    def sample(self, sample):
        self.by_energy = sample.get("by_energy", self.by_energy)
        for rows, name, key in ((self.tasks, "tasks", "task"), (self.groups, "groups", "group"), (self.cpus, "cpus", "cpu")):
            rows.update((row[key], row) for row in sample.get(name, ()))

    def is_idle(self, cpu):
        return self.log.is_idle_task(self.currents[cpu])

    def with_parents(self, group):
        while group is not None:
            yield group
            group = self.log.groups[group]["parent"]

    def path(self, group):
        names = [self.log.groups[place]["name"] for place in self.with_parents(group)]
        return "/" + "/".join(reversed(names))

    def name(self, task):
        return self.log.name_of(self.log.forks[task]["index"])


class SampledRule:
    """Rule of findings; `reset` begins it again at the end of the warm-up."""

    def __init__(self, state):
        self.state, self.log = state, state.log
        self.reset()

    def event(self, event):
        pass

    def sample(self, sample):
        pass

    def attributes(self):
        """Called after attributes of tasks may have changed."""


class Periods(SampledRule):
    """Periods in which a condition holds on a CPU at each sample."""

    def reset(self):
        self.samples, self.found = defaultdict(list), Occurrences()

    def sample(self, sample):
        for cpu in range(self.log.nr_cpus):
            if self.holds(cpu):
                self.samples[cpu].append(sample["t"])
            else:
                self.end(cpu)

    def end(self, cpu):
        samples = self.samples.pop(cpu, [0])
        ns, until = samples[-1] - samples[0], samples[-1]
        if ns >= PERIOD:
            self.found.add(until, ns, (cpu, until))

    def expected(self):
        for cpu in sorted(self.samples):
            self.end(cpu)
        if not self.found.count:
            return {}
        cpu, until = self.found.what
        row = self.found.row(self.log, until - self.found.worst // 2)
        return {None: {**row, "evidence.cpu": cpu}}


class Share(SampledRule):
    """Shares of CPU time in windows of 200 ms."""

    def reset(self):
        self.since, self.before, self.slept, self.found = None, {}, set(), defaultdict(Occurrences)
        self.discarded, self.shares = set(), {}

    def event(self, event):
        if event["e"] == "switch" and event["state"] != "R":
            self.slept.add(event["prev"])

    def add(self, key, got, due, length, now, what):
        if 2 * got < due and 5 * (due - got) > length:
            self.found[key].add(now, due - got, (now, got, due, what))

    def row(self, found):
        now, got, due, _ = found.what
        row = found.row(self.log, now - 1)
        return {**row, "evidence.got_ns": got, "evidence.due_ns": due, "evidence.window_ns": WINDOW}


def replay(log):
    """Returns the rules after the whole log."""
    state = State(log)
    rules = [rule.sampled(state) for rule in registry.RULES if rule.sampled]
    position = 0
    for number, sample in enumerate([*log.samples, None]):
        until = sample["position"] if sample else len(log.events)
        for event in log.events[position:until]:
            state.event(event)
            for rule in rules:
                rule.event(event)
        position = until
        if sample is None:
            break
        state.sample(sample)
        for rule in rules:
            rule.sample(sample) if sample["e"] == "sample" else rule.attributes()
        if number + 1 == log.reset_sample:
            state.is_measured = True
            for rule in rules:
                rule.reset()
    return rules


def key_of(finding):
    """Returns the key of a finding: its family, group, or None; with the sign of a limited lag."""
    evidence = finding["evidence"]
    key = evidence.get("family", evidence.get("group"))
    return (key, evidence["lag_ns"] > 0) if finding["rule"] == "lag-limited" else key


def audit(log, findings, fail):
    """Compares the findings of the rules with those reported; `fail` gets a place, what was reported and what was expected."""
    for rule in replay(log):
        reported = {key_of(finding): finding for finding in findings if finding["rule"] == rule.rule}
        expected = rule.expected()
        for key in {**reported, **expected}:
            place = f"{rule.rule} of {key}"
            if key not in expected or key not in reported:
                fail("finding", place, key in reported, key in expected)
                continue
            for name, value in expected[key].items():
                row = reported[key]["evidence"] if name.startswith("evidence.") else reported[key]
                if row.get(name.removeprefix("evidence.")) != value:
                    fail(name, place, row.get(name.removeprefix("evidence.")), value)
