# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the evidence of findings against the event log.

Counts and durations are compared elsewhere (`findings.py`). Here each finding is checked at its worst moment: what its
sentence states about a task, a CPU and what ran meanwhile. A kind of evidence without a checker is a difference.
"""

from collections import Counter
from findings import BACK_WITHIN, BLOCK_NS, LATENCY, STARVATION, deadlines
from groups import fair_shares
from log import replay_tasks
from metrics import Residency, kinds
from moment import Moment
from samples import Samples

WINDOW = 200_000_000
PERIOD = 20_000_000
MIN_TURNS, PER_KEPT, STEPS_PER_READ = 20, 10, 16
MIN_SLICE, MAX_SLICE = 100_000, 100_000_000
NICE_0_WEIGHT = 1024
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
        names = {self.log.name_of(self.log.forks[event["task"]]["index"]) for event in backs if event["t"] == last}
        self.expect_true(finding, "most recent", evidence["task"] in names)
        self.expect(finding, "at", (finding["at_ns"], finding["last_ns"]), (last - self.at.start, last - self.at.start))

    def samples(self):
        """Returns the samples of the run. Findings that need them are rare."""
        self.own_samples = getattr(self, "own_samples", None) or Samples(self.log)
        return self.own_samples

    def misfit(self, finding, evidence, _numbers):
        """Recomputes all periods in which a CPU ran a task that is too big for it while a bigger allowed CPU idled."""
        samples, moment = self.samples(), Moment(self.log)
        capacities = [cpu["capacity"] for cpu in self.log.cpus]
        found, since = [], {}

        def end_period(cpu, t):
            start = since.pop(cpu, t)
            if t - start >= PERIOD:
                found.append((t - start, -len(found), cpu, t))

        for t in samples.times():
            moment.advance(t)
            for cpu, capacity in enumerate(capacities):
                task, _ = samples.current(cpu, t)
                is_too_big = samples.is_busy(cpu, t) and samples.fit(task, t) == "TooSmall"
                possible = moment.affinities.possible.get(task) or {frozenset()}
                bigger = [other for other in frozenset.intersection(*possible) if capacities[other] > capacity]
                if is_too_big and any(samples.is_idle(other, t) for other in bigger):
                    since.setdefault(cpu, t)
                else:
                    end_period(cpu, t)
        for cpu in list(since):
            end_period(cpu, self.log.end)
        if not found:
            self.expect(finding, "periods", finding["count"], 0)
            return
        worst, _, cpu, until = max(found)
        start = self.log.machine["t"]
        self.expect(finding, "count", finding["count"], len(found))
        self.expect(finding, "total", finding["total_ns"], sum(period[0] for period in found))
        self.expect(finding, "worst", finding["worst_ns"], worst)
        self.expect(finding, "cpu", evidence["cpu"], cpu)
        self.expect(finding, "at", finding["at_ns"], until - start - worst // 2)
        self.expect(finding, "last", finding["last_ns"], max(period[3] for period in found) - start)

    def low_frequency(self, finding, evidence, _numbers):
        """Checks the samples of the worst period. Whether the utilisation needs a higher frequency is not in the log."""
        samples, cpu = self.samples(), evidence["cpu"]
        until = self.log.machine["t"] + finding["at_ns"] + finding["worst_ns"] // 2
        since = until - finding["worst_ns"]
        parts = [(self.log.machine["t"], self.log.cpus[cpu]["part"])]
        for event in self.log.of("speed", "frequency"):
            if event["cpu"] == cpu:
                parts.append((event["t"], event["part"] if event["e"] == "speed" else event["capacity"]))
        times = [t for t in samples.times() if since + samples.step <= t <= until - samples.step]
        self.expect_true(finding, "samples", bool(times))
        for t in times:
            # A task that has been enqueued makes its CPU busy before the switch.
            self.expect_true(finding, "busy", samples.is_busy(cpu, t) or samples.is_waited(t))
            below = [part for start, part in parts if start <= t][-2:]
            self.expect_true(finding, "frequency", min(below) < 1024)
        self.expect_true(finding, "total", finding["worst_ns"] <= finding["total_ns"] and finding["worst_ns"] >= PERIOD)
        self.expect_true(finding, "count", finding["count"] * PERIOD <= finding["total_ns"] <= finding["count"] * finding["worst_ns"])

    def wasted_kicks(self, finding, evidence, _numbers):
        pending, kicks, with_moves = set(), [], 0
        for event in self.log.of("kick", "pass", counted=True):
            if event["e"] == "pass":
                with_moves += event["moved"] > 0 and event["on"] in pending
                pending -= {event["on"]} if event["moved"] > 0 else set()
            elif event["kicked"] and event["flags"] & 1 and event["target"] is not None:
                kicks.append(event)
                pending.add(event["target"])
        self.expect(finding, "kicks", (evidence["nr_kicks"], evidence["nr_with_moves"]), (len(kicks), with_moves))
        self.expect(finding, "count", finding["count"], len(kicks) - with_moves)
        last = kicks[-1]["t"] - self.at.start if kicks else None
        self.expect(finding, "last", (finding["at_ns"], finding["last_ns"]), (last, last))

    def window(self, finding):
        """Returns begin and end of the window of an unfair share, whose end is the moment. The begin may be two steps earlier."""
        return self.at.now + 1 - WINDOW, self.at.now + 1

    def policy(self, number, moment):
        """Returns the policy of a fair task at a moment, without its numbers; None if changes decide it."""
        spec = self.log.specs[self.log.forks[number]["spec"]]
        is_changed = any(isinstance(later, dict) for later in spec["later"])
        policy = None if is_changed or moment.rank(number) != 1 else spec["policy"] or "Normal"
        return policy and policy.split("(")[0].split()[0]

    def is_near(self, finding, name, reported, expected, nr_tasks=1):
        """Checks a CPU time. A task that runs is charged at its CPU's events, the latest of which is a tick or two ago."""
        if abs(reported - expected) > 2 * nr_tasks * (self.log.machine["tick"] + self.samples().step):
            self.expect(finding, name, reported, expected)

    def unfair_share(self, finding, evidence, numbers):
        self.share_of(finding, evidence)
        if len(numbers) != 1:
            return
        samples, (start, until) = self.samples(), self.window(finding)
        moment, (number,) = samples.moment(until), numbers
        possible = moment.affinities.possible
        def alike_since(start):
            return [
                other for other in moment.forks
                if samples.is_always_runnable(other, start, until) and moment.group_of(other) == moment.group_of(number)
                and possible[other] == possible[number] and self.log.forks[other]["t"] <= start
            ]

        # Within two steps of the begin, the log does not decide which tasks are compared.
        alike, certain = alike_since(start), alike_since(max(start - 2 * samples.step, self.at.start))
        policies = {self.policy(other, moment) for other in alike}
        self.expect_true(finding, "always runnable", number in alike)
        got = {other: samples.ran(other, start, until) for other in alike}
        self.is_near(finding, "got", evidence["got_ns"], got.get(number, 0))
        weights = moment.weights
        is_certain = number in alike and alike == certain and len(possible[number] or []) == 1
        if is_certain and policies <= {"Normal", "Batch"} and all(other in weights for other in alike):
            members = [(weights[other], got[other], until - start) for other in alike]
            due = dict(zip(alike, fair_shares(members)))
            self.is_near(finding, "due", evidence["due_ns"], due[number], len(alike))

    def unfair_group(self, finding, evidence, _numbers):
        self.share_of(finding, evidence)
        samples, (start, until) = self.samples(), self.window(finding)
        moment, before = samples.moment(until), samples.moment(start)
        group = next((place for place in range(len(self.log.groups)) if moment.path(place) == evidence["group"]), None)
        self.expect_true(finding, "group", group is not None)
        if group is None:
            return
        parent, rows, masks = self.log.groups[group]["parent"], {}, set()
        for number in moment.forks:
            if moment.rank(number) != 1:
                continue
            above = moment.group_of(number)
            while above is not None and self.log.groups[above]["parent"] != parent:
                above = self.log.groups[above]["parent"]
            if above is None:
                continue
            row = rows.setdefault(above, [0, 0, 0])
            ran = samples.ran(number, start, until)
            is_hungry = number in before.forks and samples.is_always_runnable(number, start, until)
            row[0] += ran
            row[1] += is_hungry
            row[2] += 0 if is_hungry else ran
            if is_hungry:
                masks.add(str(moment.affinities.possible[number]))
        own = rows.get(group, [0, 0, 0])
        self.expect_true(finding, "always runnable", own[1] > 0)
        self.is_near(finding, "got", evidence["got_ns"], own[0], len(moment.forks))
        # A group that is left out of the comparison cannot be distinguished, nor can shares that changed.
        is_plain = not self.log.of("shares", "moved", "quota", "group_throttling") and all(row[1] for row in rows.values())
        policies = {self.policy(number, moment) for number in moment.forks if moment.group_of(number) is not None}
        if is_plain and len(masks) == 1 and policies <= {"Normal", "Batch"} and not any(spec["is_idle"] for spec in self.log.groups):
            of_mask = next(iter(moment.affinities.possible[number] for number in moment.forks if moment.group_of(number) is not None))
            nr_cpus = len(next(iter(of_mask)))
            members = [
                (self.log.groups[place]["shares"], ran, min(nr_hungry, nr_cpus) * (until - start) + others)
                for place, (ran, nr_hungry, others) in rows.items()
            ]
            due = dict(zip(rows, fair_shares(members)))
            self.is_near(finding, "due", evidence["due_ns"], due[group], len(moment.forks))

    def share_of(self, finding, evidence):
        self.expect(finding, "window", evidence["window_ns"], WINDOW)
        self.expect_true(finding, "less than half", 2 * evidence["got_ns"] < evidence["due_ns"])
        self.expect_true(finding, "missed", 5 * (evidence["due_ns"] - evidence["got_ns"]) > WINDOW)
        self.expect(finding, "worst", finding["worst_ns"], evidence["due_ns"] - evidence["got_ns"])

    def quota_exceeded(self, finding, evidence, _numbers):
        paths = [self.at.path(group) for group in range(len(self.log.groups))]
        self.expect_true(finding, "group", evidence["group"] in paths)

    def flapping(self, finding, evidence, _numbers):
        """Recomputes the periods in which the machine was over-utilised. One that has begun in the warm-up begins with its end."""
        self.expect(finding, "measured", evidence["measured_ns"], self.log.end - self.log.from_t)
        if any(event["result"] == 0 for event in self.log.of("hotplug")):
            # Hotplug builds a root domain that is not over-utilised, without an event.
            return
        periods, begin = [], None
        for event in self.log.of("overutilized"):
            if event["on"] and begin is None:
                begin = event
            elif not event["on"] and begin:
                periods.append((begin, event["t"]))
                begin = None
        ended = [(max(event["t"], self.log.from_t), end, event["cpu"]) for event, end in periods if end >= self.log.from_t]
        over = sum(end - start for start, end, _ in ended)
        if begin:
            over += self.log.end - max(begin["t"], self.log.from_t)
        self.expect(finding, "count", finding["count"], len(ended) + (begin is not None))
        self.expect(finding, "total", finding["total_ns"], over)
        worst = max((end - start for start, end, _ in ended), default=0)
        self.expect(finding, "worst", finding["worst_ns"], worst)
        starts = [(cpu, start - self.at.start) for start, end, cpu in ended if end - start == worst]
        self.expect_true(finding, "CPU and time", (evidence["cpu"], finding["at_ns"]) in starts)

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

    def cut_slices(self, finding, evidence, _numbers):
        self.expect_true(finding, "turns", finding["count"] <= evidence["nr_turns"])
        self.expect_true(finding, "average", 2 * evidence["average_ns"] < evidence["slice_ns"])
        if any(event["what"] in ("slice", "policy") for event in self.log.of("changed")):
            return
        turns = self.turns(evidence["family"])
        found = [track for track in turns.values() if len(track["ran"]) >= MIN_TURNS and track["kept"] * PER_KEPT < len(track["ran"])]
        cut = sum(len(track["cut"]) for track in found)
        self.expect(finding, "count", (finding["count"], evidence["nr_turns"]), (cut, sum(len(track["ran"]) for track in found)))
        self.expect(finding, "average", evidence["average_ns"], sum(sum(track["cut"]) for track in found) // max(cut, 1))
        most = max((len(track["cut"]) for track in found), default=0)
        worst = next((track for track in found if len(track["cut"]) == most), None)
        if worst:
            self.expect(finding, "worst", (evidence["task"], evidence["slice_ns"]), (worst["name"], worst["slice"]))
            nr = max(worst["followers"].values())
            first = min(number for number, count in worst["followers"].items() if count == nr)
            fork = self.log.forks.get(first)
            self.expect(finding, "follower", evidence.get("follower"), fork and self.log.name_of(fork["index"]))

    def turns(self, family):
        """Returns the turns of a family's tasks with slices that ended with a preemption. Slices are read at some samples."""
        samples, tracks, since = self.samples(), {}, {}
        reads = samples.times()[::STEPS_PER_READ]
        for event in self.log.of("switch"):
            if event["t"] > self.log.from_t:
                start = max(since.get(event["prev"], self.log.from_t), self.log.from_t)
                self.add_turn(tracks, family, reads, start, event)
            since[event["next"]] = event["t"]
        return dict(sorted(tracks.items()))

    def add_turn(self, tracks, family, reads, start, event):
        number = event["prev"]
        fork = self.log.forks.get(number)
        spec = self.log.specs[fork["spec"]] if fork else {}
        if not fork or event["state"] != "R" or spec["family"] != family or not spec["slice"]:
            return
        if not any(fork["t"] <= read < event["t"] for read in reads):
            return
        length = min(max(spec["slice"], MIN_SLICE), MAX_SLICE)
        new = {"name": self.log.name_of(fork["index"]), "slice": length, "ran": [], "cut": [], "kept": 0, "followers": Counter()}
        track, ran = tracks.setdefault(number, new), event["t"] - start
        track["ran"].append(ran)
        if 2 * ran >= length:
            track["kept"] += 1
        else:
            track["cut"].append(ran)
            track["followers"][event["next"]] += 1

    def limited_lag(self, finding, evidence, numbers):
        limited = [event for event in self.log.of("limited_lag", counted=True) if self.log.family_of(event["task"]) == evidence["family"]]
        limited = [event for event in limited if abs(event["lag"]) > 2 * abs(event["kept"]) and (event["lag"] > 0) == (evidence["lag_ns"] > 0)]
        self.expect(finding, "count", finding["count"], len(limited))
        worst = [event for event in limited if event["task"] in numbers and event["lag"] == evidence["lag_ns"]]
        self.expect_true(finding, "worst", any(event["kept"] == evidence["kept_ns"] for event in worst))
        self.expect(finding, "last", finding["last_ns"], max((event["t"] for event in limited), default=0) - self.at.start)
        weights = self.at.weights
        if {"nice", "policy"} & {event["what"] for event in self.log.of("changed")} or any(event["task"] not in weights for event in limited):
            return
        # A lag in virtual time is service by weight.
        service = [abs(event["lag"] - event["kept"]) * weights[event["task"]] // NICE_0_WEIGHT for event in limited]
        self.expect(finding, "total", finding["total_ns"], sum(service))
        self.expect(finding, "worst service", finding["worst_ns"], max(service))


def audit(comparison, log, findings):
    """Checks the findings of a run, and returns the number of checked ones by kind."""
    checker = Evidence(log, comparison.add_claim)
    for finding in sorted(findings, key=lambda finding: finding["at_ns"]):
        checker.check(finding)
    comparison.nr_compared += sum(len(finding["evidence"]) for finding in findings)
    return Counter("finding " + finding["evidence"]["kind"] for finding in findings)
