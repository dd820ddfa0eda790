# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the evidence of findings against the event log.

Counts and durations are compared elsewhere (`findings.py`). Here each finding is checked at its worst moment: what its
sentence states about a task, a CPU and what ran meanwhile. A kind of evidence without a checker is a difference.
"""

from collections import Counter, defaultdict
from findings import BACK_WITHIN, LATENCY, STARVATION, deadlines
from moment import Moment

WINDOW = 200_000_000
MAX_SWITCH = 1_000_000
RANKS = {"idle-task": 0, "real-time": 2, "deadline": 3}
RULES = {
    "idle-cpu": "idle-while-waiting", "wait": None, "never-woken": "never-woken", "lost-wakeup": "never-woken",
    "missed-deadline": "deadline-missed", "fair-server": "fair-server", "ping-pong": "ping-pong", "misfit": "misfit-left",
    "low-frequency": "frequency-low", "wasted-kicks": "vain-kicks", "unfair-share": "unfair-share",
    "unfair-group": "unfair-group", "quota-exceeded": "quota-exceeded", "flapping": "overutilized-flapping",
    "stretched": "stretched", "missed-timers": "timer-missed", "cut-slices": "slice-cut", "limited-lag": "lag-limited",
}
WAITS = {"cpu": "starvation", "wakeup-latency": "late-wakeup", "wakeup-latency-of-deadline": "late-wakeup", "runtime": "throttled"}


class Evidence:
    """Checks the findings of one run; `fail` is called with a place, what was reported, and what was expected."""

    def __init__(self, log, fail):
        self.log, self.fail, self.at = log, fail, Moment(log)
        self.deadline_of, _ = deadlines(log)
        self.priorities = defaultdict(set)
        for event in log.of("prio"):
            self.priorities[event["task"]].add(event["prio"])

    def expect(self, finding, name, reported, expected):
        if reported != expected:
            self.fail(f"{finding['evidence']['kind']}.{name}", finding["sentence"], reported, expected)

    def expect_true(self, finding, name, holds):
        self.expect(finding, name, holds, True)

    def check(self, finding):
        evidence = finding["evidence"]
        kind = evidence["kind"]
        if kind not in RULES:
            self.fail(kind, finding["sentence"], kind, "a kind with a checker")
            return
        self.at.advance(max(self.at.now, self.log.machine["t"] + finding["at_ns"]))
        self.expect(finding, "rule", finding["rule"], WAITS[evidence["measure"]] if kind == "wait" else RULES[kind])
        numbers = self.tasks(evidence)
        if "task" in evidence and kind not in ("never-woken", "lost-wakeup"):
            self.expect_true(finding, "task of the family", bool(numbers))
        getattr(self, kind.replace("-", "_"))(finding, evidence, numbers)

    def tasks(self, evidence):
        """Returns the numbers of the tasks with the name and the family of the evidence."""
        name, family = evidence.get("task"), evidence.get("family")
        return [number for number, fork in self.at.forks.items()
                if self.log.names[fork["index"]] == name and self.log.family_of(number) == family]

    def shares(self, number):
        """Returns the times by rank of what ran on a task's CPUs in its wait; None if a class has changed or is unknown."""
        task = self.at.tasks[number]
        times, places = Counter(), [(max(t, self.log.from_t), cpu) for t, cpu in task.places]
        for other, ns in self.at.run_times(places, self.at.now + 1).items():
            rank = self.at.rank(other)
            if rank is None or len(self.priorities[other]) > 1:
                return None
            times[rank] += ns
        return times

    def is_worst(self, finding, number, state):
        """Whether a task has waited for the worst time at the moment before the wait ends."""
        task = self.at.tasks[number]
        if task.state != state:
            return False
        return self.at.now + 1 - max(task.since, self.log.from_t) == finding["worst_ns"]

    def idle_cpu(self, finding, evidence, numbers):
        idle = evidence["idle_cpu"]
        self.expect_true(finding, "idle", self.log.is_idle_task(self.at.cpus[idle].current))
        waiting = [number for number in numbers if self.at.tasks[number].state == "waits"]
        self.expect_true(finding, "waiting", bool(waiting))
        if self.at.nr_hotplugs:
            return
        common = [domain["name"] for _, domain in sorted(self.log.domains_of(idle).items()) if evidence["cpu"] in domain["cpus"]]
        if evidence["has_common_domain"] is not None:
            self.expect(finding, "common_domain", evidence["common_domain"], common[0] if common else None)
        self.expect(finding, "own runqueue", evidence["cause"] == "own-runqueue", idle == evidence["cpu"])
        if evidence["cause"] == "passes":
            self.expect_true(finding, "nr_waits", 0 < evidence["nr_waits"] <= 2 * finding["count"])
        if evidence["cause"] == "no-pass":
            start = self.at.now - finding["worst_ns"] // 2
            end = start + finding["worst_ns"]
            passes = [event for event in self.log.of("pass") if event["cpu"] == idle and start < event["t"] < end]
            self.expect(finding, "passes", len(passes), 0)

    def wait(self, finding, evidence, numbers):
        measure = evidence["measure"]
        limit = {"cpu": STARVATION, "wakeup-latency": LATENCY, "runtime": LATENCY}.get(measure)
        if measure == "wakeup-latency-of-deadline":
            self.expect_true(finding, "limit", evidence["limit_ns"] in self.deadline_of.values() or len(self.deadline_of) == 0)
        else:
            self.expect(finding, "limit", evidence["limit_ns"], limit)
        self.expect_true(finding, "worst above the limit", finding["worst_ns"] > evidence["limit_ns"])
        state = "throttled" if measure == "runtime" else "waits"
        if measure in ("cpu", "runtime"):
            numbers = [number for number in numbers if self.is_worst(finding, number, state)]
        else:
            # The last part of a latency may be throttled time, which it does not contain.
            numbers = [number for number in numbers if self.at.tasks[number].state in ("waits", "throttled")]
        self.expect_true(finding, "worst wait", bool(numbers))
        if finding["is_open"]:
            self.expect(finding, "end", self.at.now + 1, self.log.end)
        shares = self.shares(numbers[0]) if len(numbers) == 1 and self.at.tasks[numbers[0]].state == "waits" else None
        if shares is not None:
            ranks = {rank: name for name, rank in RANKS.items()}
            most = [rank for rank, ns in shares.items() if 2 * ns > shares.total()]
            self.expect(finding, "behind", evidence["behind"], ranks.get(most[0]) if most else None)
        if measure == "runtime":
            self.expect(finding, "behind", evidence["behind"], None)

    def fair_server(self, finding, evidence, numbers):
        numbers = [number for number in numbers if self.is_worst(finding, number, "waits")]
        self.expect_true(finding, "worst wait", bool(numbers))
        cpu, end = evidence["cpu"], self.at.now + 1
        picks = [event for event in self.log.of("server") if event["cpu"] == cpu and event["step"] == "Picked"]
        self.expect_true(finding, "pick", any(0 <= end - event["t"] <= MAX_SWITCH for event in picks))
        shares = self.shares(numbers[0]) if len(numbers) == 1 else None
        if shares is not None:
            self.expect_true(finding, "behind higher classes", 2 * (shares[2] + shares[3]) > finding["worst_ns"])

    def never_woken(self, finding, evidence, _numbers):
        ends = [number for number, task in self.at.workload() if self.log.family_of(number) == evidence["family"] and task.state == "sleeps"]
        self.expect_true(finding, "sleeping tasks", finding["count"] <= len(ends))

    lost_wakeup = never_woken

    def missed_deadline(self, finding, evidence, numbers):
        known = {self.deadline_of[number] for number in numbers if number in self.deadline_of}
        if known:
            self.expect_true(finding, "deadline", evidence["deadline_ns"] in known)
        self.expect_true(finding, "nr_wakeups", finding["count"] <= evidence["nr_wakeups"])

    def ping_pong(self, finding, evidence, _numbers):
        self.expect(finding, "within", evidence["within_ns"], BACK_WITHIN)

    def was_busy(self, finding, cpu):
        """Whether a CPU ran tasks in the first half of a sampled period, whose middle is the moment."""
        start = max(self.at.now - finding["worst_ns"] // 2, self.log.machine["t"])
        return any(not self.log.is_idle_task(number) for number in self.at.run_times([(start, cpu)], self.at.now + 1))

    def misfit(self, finding, evidence, _numbers):
        self.expect_true(finding, "busy", self.was_busy(finding, evidence["cpu"]))
        capacities = [cpu["capacity"] for cpu in self.log.cpus]
        self.expect_true(finding, "bigger CPU", capacities[evidence["cpu"]] < max(capacities))

    def low_frequency(self, finding, evidence, _numbers):
        self.expect_true(finding, "busy", self.was_busy(finding, evidence["cpu"]))

    def wasted_kicks(self, finding, evidence, _numbers):
        self.expect(finding, "count", finding["count"], evidence["nr_kicks"] - evidence["nr_with_moves"])

    def unfair_share(self, finding, evidence, _numbers):
        self.expect(finding, "window", evidence["window_ns"], WINDOW)
        self.expect_true(finding, "less than half", 2 * evidence["got_ns"] < evidence["due_ns"])
        self.expect(finding, "worst", finding["worst_ns"], evidence["due_ns"] - evidence["got_ns"])

    unfair_group = unfair_share

    def quota_exceeded(self, finding, evidence, _numbers):
        paths = [self.at.path(group) for group in range(len(self.log.groups))]
        self.expect_true(finding, "group", evidence["group"] in paths)

    def flapping(self, finding, evidence, _numbers):
        begins = [event for event in self.log.of("overutilized", counted=True) if event["on"]]
        self.expect_true(finding, "count", len(begins) <= finding["count"] <= len(begins) + 1)
        self.expect(finding, "measured", evidence["measured_ns"], self.log.end - self.log.from_t)

    def stretched(self, finding, evidence, _numbers):
        self.expect(finding, "lost", finding["total_ns"], evidence["ran_ns"] - evidence["work_ns"])
        self.expect_true(finding, "percent", 0 < evidence["percent"] <= 100)

    def missed_timers(self, finding, evidence, _numbers):
        self.expect_true(finding, "missed", finding["count"] <= evidence["nr_arrivals"])

    def cut_slices(self, finding, evidence, _numbers):
        self.expect_true(finding, "turns", finding["count"] <= evidence["nr_turns"])
        self.expect_true(finding, "average", 2 * evidence["average_ns"] < evidence["slice_ns"])
        names = set(self.log.names.values()) | {None}
        self.expect_true(finding, "follower", evidence["follower"] in names)

    def limited_lag(self, finding, evidence, numbers):
        limited = [event for event in self.log.of("limited_lag", counted=True) if self.log.family_of(event["task"]) == evidence["family"]]
        limited = [event for event in limited if abs(event["lag"]) > 2 * abs(event["kept"]) and (event["lag"] > 0) == (evidence["lag_ns"] > 0)]
        self.expect(finding, "count", finding["count"], len(limited))
        worst = [event for event in limited if event["task"] in numbers and event["lag"] == evidence["lag_ns"]]
        self.expect_true(finding, "worst", any(event["kept"] == evidence["kept_ns"] for event in worst))


def audit(comparison, log, findings):
    """Checks the findings of a run, and returns the number of checked ones by kind."""
    checker = Evidence(log, comparison.add_claim)
    for finding in sorted(findings, key=lambda finding: finding["at_ns"]):
        checker.check(finding)
    comparison.nr_compared += sum(len(finding["evidence"]) for finding in findings)
    return Counter("finding " + finding["evidence"]["kind"] for finding in findings)
