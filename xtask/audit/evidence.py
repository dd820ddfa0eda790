# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the evidence of findings against the event log.

Counts and durations are compared elsewhere (`findings.py`). Here each finding is checked at its worst moment: what its
sentence states about a task, a CPU and what ran meanwhile. A kind of evidence without a checker is a difference.
"""

from collections import Counter

import sampled
from findings import BACK_WITHIN, BLOCK_NS, LATENCY, STARVATION, deadlines
from log import replay_tasks
from metrics import Residency, kinds
from moment import Moment

MIN_RETURNS, RETURNS_PER_SECOND = 20, 50
MAX_SWITCH = 1_000_000
RANKS = {"idle-task": 0, "real-time": 2, "deadline": 3}
RULES = {
    "idle-cpu": "idle-while-waiting", "wait": None, "never-woken": "never-woken", "lost-wakeup": "never-woken",
    "missed-deadline": "deadline-missed", "fair-server": "fair-server", "ping-pong": "ping-pong", "misfit": "misfit-left",
    "low-frequency": "frequency-low", "wasted-kicks": "vain-kicks", "unfair-share": "unfair-share",
    "unfair-group": "unfair-group", "quota-exceeded": "quota-exceeded", "flapping": "overutilized-flapping",
    "stretched": "stretched", "missed-timers": "timer-missed", "cut-slices": "slice-cut", "limited-lag": "lag-limited",
}
# Kinds that only faults of the scheduler make: no run has them.
FAULTS = {"lost-wakeup"}
WAITS = {"cpu": "starvation", "wakeup-latency": "late-wakeup", "wakeup-latency-of-deadline": "late-wakeup", "runtime": "throttled"}


SEVERITIES = {
    "starvation": "high", "never-woken": "high", "late-wakeup": "medium", "throttled": "medium", "misfit-left": "medium",
    "frequency-low": "medium", "unfair-share": "medium", "unfair-group": "medium", "quota-exceeded": "medium",
    "overutilized-flapping": "low", "vain-kicks": "low", "ping-pong": "low", "slice-cut": "low", "lag-limited": "low",
}
# Part of the measured time at whose start findings are marked, and the number of jobs and periods per miss that is bad.
START_PART, PER_MISS = 10, 20


class Evidence:
    """Checks the findings of one run; `fail` is called with a place, what was reported, and what was expected."""

    def __init__(self, log, fail):
        self.log, self.fail, self.at = log, fail, Moment(log)
        self.deadline_of, _ = deadlines(log)

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
        self.check_common(finding)
        self.check_worst(finding)
        numbers = self.tasks(evidence)
        if "task" in evidence and kind not in ("never-woken", "lost-wakeup"):
            self.expect_true(finding, "task of the family", bool(numbers))
        if kind not in ("unfair-group", "quota-exceeded"):
            self.expect(finding, "question", finding["question"], self.question(evidence))
        getattr(self, kind.replace("-", "_"))(finding, evidence, numbers)

    def question(self, evidence):
        """Returns the question about a finding: about its CPU, the CPU that kicks wake, or a task."""
        kind = evidence["kind"]
        if kind == "idle-cpu":
            return {"cpu": evidence["idle_cpu"]}
        if kind in ("misfit", "low-frequency", "flapping"):
            return {"cpu": evidence["cpu"]}
        if kind == "wasted-kicks":
            return {"balance": self.kicks()[-1]["target"]}
        if kind in ("stretched", "missed-timers"):
            members = [fork["index"] for number, fork in self.log.forks.items() if self.log.family_of(number) == evidence["family"]]
            return {"task": self.log.names[min(members)]}
        return {"task": evidence["task"]}

    def kicks(self):
        """Returns the kicks that asked idle CPUs to balance."""
        kicks = self.log.of("kick", counted=True)
        return [kick for kick in kicks if kick["kicked"] and kick["flags"] & 1 and kick["target"] is not None]

    def check_common(self, finding):
        """Checks the severity, and whether the finding is one of the start only."""
        evidence, last = finding["evidence"], finding["last_ns"]
        of = {"deadline-missed": "nr_wakeups", "timer-missed": "nr_arrivals"}.get(finding["rule"])
        severity = SEVERITIES.get(finding["rule"], finding["severity"])
        if of:
            severity = "medium" if finding["count"] * PER_MISS > evidence[of] else "low"
        self.expect(finding, "severity", finding["severity"], severity)
        since = max(last - (self.log.from_t - self.at.start), 0)
        is_at_start = last > 0 and since < (self.log.end - self.log.from_t) // START_PART
        expected = -(-since // 1_000_000) * 1_000_000 if is_at_start else None
        self.expect(finding, "only_in_first_ns", finding.get("only_in_first_ns"), expected)

    def check_worst(self, finding):
        """Checks times and task of the worst occurrence, and the time of the last one, of a finding about waits or deadlines."""
        found = self.log.found_waits.get((finding["rule"], finding["evidence"].get("family")))
        if found is None:
            return
        row = found.row(self.log.machine["t"])
        times = finding["at_ns"], finding["last_ns"]
        self.expect(finding, "time of the worst, and of the last", times, (row["at_ns"], row["last_ns"]))
        names = {self.log.name_of(self.log.forks[number]["index"]) for number in found.worst_tasks()}
        self.expect_true(finding, "task of the worst", finding["evidence"]["task"] in names)
        if finding["rule"] == "deadline-missed":
            of_worst = {self.deadline_of[number] for number in found.worst_tasks()}
            self.expect_true(finding, "deadline of the worst", finding["evidence"]["deadline_ns"] in of_worst)

    def tasks(self, evidence):
        """Returns the numbers of the tasks with the name and the family of the evidence."""
        name, family = evidence.get("task"), evidence.get("family")
        return [number for number, fork in self.at.forks.items()
                if self.log.names[fork["index"]] == name and self.log.family_of(number) == family]

    def shares(self, number):
        """Returns the times by rank of what ran on a task's CPUs in its wait; None if a class is unknown."""
        places = [(max(t, self.log.from_t), cpu) for t, cpu in self.at.tasks[number].places]
        times = Counter(self.at.rank_times(places, self.at.now + 1))
        return None if None in times else times

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
        self.expect_true(finding, "awaited", bool(finding["awaited"]))
        if measure == "cpu":
            self.expect(finding, "awaited", finding["awaited"], "a CPU")
        if finding["is_open"]:
            self.expect(finding, "end", self.at.now + 1, self.log.end)
        shares = self.shares(numbers[0]) if len(numbers) == 1 and self.at.tasks[numbers[0]].state == "waits" else None
        if shares is not None:
            ranks = {rank: name for name, rank in RANKS.items()}
            most = [rank for rank, ns in shares.items() if 2 * ns > shares.total()]
            self.expect(finding, "behind", evidence["behind"], ranks.get(most[0]) if most else None)
        if measure == "runtime":
            self.expect(finding, "behind", evidence["behind"], None)

    def fair_server(self, finding, evidence, _numbers):
        waits = [wait for wait in self.served_waits() if wait["family"] == evidence["family"]]
        self.expect(finding, "count", finding["count"], len(waits))
        self.expect(finding, "total", finding["total_ns"], sum(wait["ns"] for wait in waits))
        worst = max((wait["ns"] for wait in waits), default=0)
        self.expect(finding, "worst", finding["worst_ns"], worst)
        self.expect(finding, "severity", finding["severity"], "high" if worst > STARVATION else "medium")
        self.expect(finding, "awaited", finding["awaited"], "a CPU")
        first = next((wait for wait in waits if wait["ns"] == worst), None)
        if first:
            reported = evidence["task"], evidence["cpu"], finding["at_ns"]
            self.expect(finding, "task, CPU and time", reported, (first["task"], first["cpu"], first["until"] - self.at.start - 1))

    def served_waits(self):
        """Returns the waits of fair tasks behind higher classes that ended with a pick of the fair server."""
        moment, picked, waits = Moment(self.log), {}, []
        for index, event in enumerate(self.log.events):
            if event["e"] == "server" and event["step"] == "Picked" and index >= self.log.reset_index:
                picked[event["cpu"]] = event["t"]
            if event["e"] == "switch" and index >= self.log.reset_index and event["next"] in moment.forks:
                wait = self.served_wait(moment, picked, event)
                waits += [wait] if wait else []
            moment.handle(event)
        return waits

    def served_wait(self, moment, picked, event):
        """Returns the wait that a switch ends, if the fair server has ended it."""
        number, until = event["next"], event["t"]
        task = moment.tasks[number]
        since = max(task.since, self.log.from_t) if task.state == "waits" else until
        if until - since <= LATENCY:
            return None
        at = picked.pop(event["cpu"], None)
        if at is None or at < since or until - at > MAX_SWITCH:
            return None
        places = [(max(t, self.log.from_t), cpu) for t, cpu in task.places]
        ranks = moment.rank_times(places, until)
        if 2 * (ranks[2] + ranks[3]) <= until - since:
            return None
        name = self.log.name_of(self.log.forks[number]["index"])
        return {"family": self.log.family_of(number), "task": name, "cpu": event["cpu"], "ns": until - since, "until": until}

    def never_woken(self, finding, evidence, _numbers):
        ends = [(number, task) for number, task in self.at.workload()
                if self.log.family_of(number) == evidence["family"] and task.state == "sleeps"]
        self.expect_true(finding, "sleeping tasks", finding["count"] <= len(ends))
        # With costs, a task blocks before the switch to the next one.
        lead = BLOCK_NS if self.log.machine["has_costs"] else 0
        # `wait` of a scenario waits for the semaphore with the name of the task.
        semaphore = evidence.get("blocked_on", "").removeprefix("the semaphore ")
        if semaphore in self.log.names.values():
            self.expect(finding, "semaphore", semaphore, evidence["task"])
        named = [task for number, task in ends if self.log.name_of(self.log.forks[number]["index"]) == evidence["task"]]
        begins = [task.since - self.at.start for task in named]
        self.expect_true(finding, "since", any(since - lead <= evidence["since_ns"] <= since for since in begins))
        worst = self.log.end - max(self.log.from_t, self.at.start + evidence["since_ns"])
        self.expect(finding, "worst", finding["worst_ns"], worst)
        self.expect_true(finding, "total", finding["worst_ns"] <= finding["total_ns"] <= finding["count"] * worst)

    lost_wakeup = never_woken

    def missed_deadline(self, finding, evidence, numbers):
        known = {self.deadline_of[number] for number in numbers if number in self.deadline_of}
        if known:
            self.expect_true(finding, "deadline", evidence["deadline_ns"] in known)
        self.expect_true(finding, "nr_wakeups", finding["count"] <= evidence["nr_wakeups"])
        members = {number for number in self.log.forks if self.log.family_of(number) == evidence["family"]}
        if members <= self.deadline_of.keys():
            self.expect(finding, "wake-ups", evidence["nr_wakeups"], self.nr_jobs(members))

    def nr_jobs(self, members):
        """Returns the number of times that tasks blocked after a wake-up, other than their fork."""
        woken, nr = set(), 0
        runnable = set()
        for index, event in enumerate(self.log.events):
            if event["e"] == "wakeup" and event["task"] in members and event["task"] not in runnable:
                runnable.add(event["task"])
                woken.discard(event["task"])
                woken |= set() if event["new"] else {event["task"]}
            elif event["e"] == "switch" and event["prev"] in members and event["state"] != "R":
                nr += event["prev"] in woken and index >= self.log.reset_index
                woken.discard(event["prev"])
                runnable.discard(event["prev"])
        return nr

    def ping_pong(self, finding, evidence, _numbers):
        self.expect(finding, "within", evidence["within_ns"], BACK_WITHIN)
        last, before, returns = None, {}, Counter()
        migrations = self.log.of("migrate", counted=True)
        backs = []
        for event in migrations:
            earlier = before.get(event["task"])
            if earlier and earlier["from"] == event["to"] and event["t"] - earlier["t"] <= BACK_WITHIN:
                backs.append(event)
                returns[event["task"]] += 1
            before[event["task"]] = event
        length = max(self.log.end - self.log.from_t, 1)
        often = {number for number, nr in returns.items() if nr >= MIN_RETURNS and nr * 1_000_000_000 > RETURNS_PER_SECOND * length}
        backs = [event for event in backs if event["task"] in often and self.log.family_of(event["task"]) == evidence["family"]]
        self.expect(finding, "count", finding["count"], len(backs))
        last = max((event["t"] for event in backs), default=0)
        recent = [self.log.forks[event["task"]]["index"] for event in backs if event["t"] == last]
        self.expect(finding, "most recent", evidence["task"], self.log.name_of(min(recent)) if recent else None)
        self.expect(finding, "at", (finding["at_ns"], finding["last_ns"]), (last - self.at.start, last - self.at.start))

    def recomputed(self, finding, evidence, _numbers):
        """Findings of rules that sample state are recomputed completely (`sampled.py`)."""

    misfit = low_frequency = quota_exceeded = flapping = limited_lag = unfair_share = unfair_group = cut_slices = recomputed

    def wasted_kicks(self, finding, evidence, _numbers):
        kicks = self.kicks()
        pending, wakers, with_moves = set(), {id(kick) for kick in kicks}, 0
        for event in self.log.of("kick", "pass", counted=True):
            if event["e"] == "pass":
                with_moves += event["moved"] > 0 and event["on"] in pending
                pending -= {event["on"]} if event["moved"] > 0 else set()
            elif id(event) in wakers:
                pending.add(event["target"])
        self.expect(finding, "kicks", (evidence["nr_kicks"], evidence["nr_with_moves"]), (len(kicks), with_moves))
        self.expect(finding, "count", finding["count"], len(kicks) - with_moves)
        last = kicks[-1]["t"] - self.at.start if kicks else None
        self.expect(finding, "last", (finding["at_ns"], finding["last_ns"]), (last, last))

    def stretched(self, finding, evidence, _numbers):
        residency = Residency(self.log, replay_tasks(self.log), kinds(self.log))
        members = [number for number in self.log.forks if self.log.family_of(number) == evidence["family"]]
        points, lost_to_capacity, lost_to_frequency = Counter(), 0, 0
        for number in members:
            points.update(residency.points[number])
        for (cpus, (_, part)), ns in points.items():
            at_highest = ns * min(self.log.cpus[cpus[0]]["capacity"], 1024) // 1024
            lost_to_capacity += ns - at_highest
            lost_to_frequency += at_highest - at_highest * min(part, 1024) // 1024
        lost = lost_to_capacity + lost_to_frequency
        ran, most = points.total(), max(points.values())
        longest = []
        for (cpus, (khz, part)), ns in points.items():
            if ns == most:
                longest.append((khz, part * 100 // 1024, self.log.cpus[cpus[0]]["capacity"]))
        self.expect(finding, "ran", evidence["ran_ns"], ran)
        self.expect(finding, "work", evidence["work_ns"], ran - lost)
        self.expect(finding, "lost", (finding["total_ns"], finding["worst_ns"]), (lost, lost))
        self.expect(finding, "by frequency", evidence["is_by_frequency"], lost_to_frequency >= lost_to_capacity)
        self.expect(finding, "severity", finding["severity"], "medium" if lost_to_frequency >= lost_to_capacity else "low")
        self.expect(finding, "percent", evidence["percent"], most * 100 // ran)
        reported = evidence.get("khz"), evidence["speed_percent"], evidence["capacity"]
        self.expect_true(finding, f"longest {reported}", reported in longest)
        self.expect_true(finding, "long", lost >= ran - lost and lost_to_frequency * 20 >= self.log.end - self.log.from_t)

    def missed_timers(self, finding, evidence, _numbers):
        self.expect_true(finding, "missed", finding["count"] <= evidence["nr_arrivals"])


def audit(comparison, log, findings):
    """Checks the findings of a run, and returns the number of checked ones by kind."""
    checker = Evidence(log, comparison.add_claim)
    for finding in sorted(findings, key=lambda finding: finding["at_ns"]):
        checker.check(finding)
    sampled.audit(log, findings, comparison.add_claim)
    if any(event["step"] == "Picked" for event in log.of("server", counted=True)):
        reported = {finding["evidence"]["family"] for finding in findings if finding["rule"] == "fair-server"}
        served = {wait["family"] for wait in checker.served_waits() if wait["family"]}
        if reported != served:
            comparison.add_claim("fair-server", "families", sorted(reported), sorted(served))
    comparison.nr_compared += sum(len(finding["evidence"]) for finding in findings)
    return Counter("finding " + finding["evidence"]["kind"] for finding in findings)
