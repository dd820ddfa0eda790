# SPDX-License-Identifier: GPL-2.0-or-later
"""Recomputes the findings of rules that sample state, completely: from the samples of the event log and the events between.

Shares no code with fairlab. Each rule is a class that sees all events and samples of the measured time, and of the warm-up
before. It returns what is to be reported, by a key: a family, a group, or None.
"""

from collections import Counter, defaultdict

from groups import fair_shares
from log import replay_tasks
from metrics import Residency, kinds

MS = 1_000_000
WINDOW = 200 * MS
PERIOD = 20 * MS
SAMPLES_PER_READ = 16
MIN_TURNS, PER_KEPT = 20, 10
MIN_DEPARTURES, DEPARTURES_PER_SECOND = 20, 5
MIN_EPISODES, EPISODES_PER_SECOND, MIN_PERCENT = 10, 5, 5
NICE_0_WEIGHT = 1024
FAIR, SHARING = {"normal", "batch", "idle"}, {"normal", "batch"}
# Weights of the nice values from -20 to 19 (Documentation/scheduler/sched-nice-design.rst: a step is 25 %).
WEIGHTS = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
]


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
        self.by_energy = sample["by_energy"]
        for rows, name, key in ((self.tasks, "tasks", "task"), (self.groups, "groups", "group"), (self.cpus, "cpus", "cpu")):
            rows.update((row[key], row) for row in sample[name])

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


class Rule:
    """Rule of findings; `reset` begins it again at the end of the warm-up."""

    def __init__(self, state):
        self.state, self.log = state, state.log
        self.reset()

    def event(self, event):
        pass

    def sample(self, sample):
        pass


class Periods(Rule):
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


class Misfit(Periods):
    rule = "misfit-left"

    def holds(self, cpu):
        capacities = [row["capacity"] for row in self.log.cpus]
        current = self.state.currents[cpu]
        if self.state.cpus[cpu]["is_idle"] or self.state.fits.get(current) != "TooSmall":
            return False
        task = self.state.tasks[current]
        is_free = lambda other: self.state.cpus[other]["is_idle"] and other not in self.state.offline
        return any(is_free(other) and capacities[other] > capacities[cpu] for other in task["cpus"])


class LowFrequency(Periods):
    rule = "frequency-low"

    def holds(self, cpu):
        row = self.state.cpus[cpu]
        if row["part"] >= 1024 or row["is_idle"]:
            return False
        return row["util"] + row["util"] // 4 > self.log.cpus[cpu]["capacity"] * row["part"] // 1024


class Quota(Rule):
    rule = "quota-exceeded"

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


class Share(Rule):
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


class UnfairShare(Share):
    rule = "unfair-share"

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


class UnfairGroup(Share):
    rule = "unfair-group"

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


class Flapping(Rule):
    rule = "overutilized-flapping"

    def reset(self):
        # A period that has begun in the warm-up begins with its end.
        since, cpu = getattr(self, "now", None) or (None, None)
        self.now = (self.log.from_t, cpu) if since is not None else None
        self.count, self.over, self.last, self.longest = int(since is not None), 0, 0, None

    def event(self, event):
        if event["e"] != "overutilized":
            return
        if event["on"]:
            self.count += 1
            self.now = event["t"], event["cpu"]
        elif self.now:
            since, cpu = self.now
            self.over, self.last, self.now = self.over + event["t"] - since, event["t"], None
            if self.longest is None or event["t"] - since > self.longest[0]:
                self.longest = event["t"] - since, since, cpu

    def expected(self):
        length, start = self.log.end - self.log.from_t, self.log.machine["t"]
        over = self.over + (self.log.end - self.now[0] if self.now else 0)
        is_often = self.count >= MIN_EPISODES and self.count * 1_000_000_000 >= EPISODES_PER_SECOND * length
        least = length * MIN_PERCENT // 100
        if not (self.longest and self.state.by_energy and is_often and over >= least and length - min(over, length) >= least):
            return {}
        ns, since, cpu = self.longest
        last = self.log.end if self.now else self.last
        row = {"count": self.count, "total_ns": over, "worst_ns": ns, "at_ns": since - start, "last_ns": last - start}
        return {None: {**row, "evidence.cpu": cpu, "evidence.measured_ns": length}}


class LimitedLag(Rule):
    rule = "lag-limited"

    def reset(self):
        self.found = defaultdict(Occurrences)

    def event(self, event):
        if event["e"] != "limited_lag" or abs(event["lag"]) <= 2 * abs(event["kept"]):
            return
        family = self.log.family_of(event["task"])
        if family:
            ns = abs(event["lag"] - event["kept"]) * event["weight"] // NICE_0_WEIGHT
            self.found[family, event["lag"] > 0].add(event["t"], ns, event)

    def expected(self):
        length, rows = self.log.end - self.log.from_t, {}
        for (family, is_due), found in self.found.items():
            if found.count < MIN_DEPARTURES or found.count * 1_000_000_000 <= DEPARTURES_PER_SECOND * length:
                continue
            event = found.what
            evidence = {"evidence.task": self.state.name(event["task"]), "evidence.kept_ns": event["kept"], "evidence.lag_ns": event["lag"]}
            rows[family, is_due] = {**found.row(self.log, event["t"]), **evidence}
        return rows


class CutSlices(Rule):
    rule = "slice-cut"

    def reset(self):
        self.nr_samples, self.tracks, self.since = 0, {}, {}

    def sample(self, _sample):
        self.nr_samples += 1
        if (self.nr_samples - 1) % SAMPLES_PER_READ or not self.log.has_servers():
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


class IdleCpus(Rule):
    rule = "idle-while-waiting"

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


class Stretched(Rule):
    rule = "stretched"

    def reset(self):
        self.nr_samples, self.last, self.asleep, self.runnable = 0, None, Counter(), Counter()

    def sample(self, sample):
        self.nr_samples += 1
        if (self.nr_samples - 1) % SAMPLES_PER_READ or not self.log.machine["scale_work"]:
            return
        ns = 0 if self.last is None else sample["now"] - self.last
        self.last = sample["now"]
        for task in self.state.forked:
            state, family = self.state.states.get(task), self.log.family_of(task)
            self.asleep[family] += ns if state == "asleep" else 0
            self.runnable[family] += ns if state == "runnable" else 0

    def expected(self):
        capacities = {row["capacity"] for row in self.log.cpus}
        if not self.log.machine["scale_work"] or not self.log.domains and len(capacities) == 1:
            return {}
        residency = Residency(self.log, replay_tasks(self.log), kinds(self.log))
        points, rows = defaultdict(Counter), {}
        for task in self.log.forks:
            points[self.log.family_of(task)].update(residency.points[task])
        for family, times in points.items():
            ran, to_capacity, to_frequency = times.total(), 0, 0
            for (cpus, (_, part)), ns in times.items():
                at_highest = ns * min(self.log.cpus[cpus[0]]["capacity"], 1024) // 1024
                to_capacity += ns - at_highest
                to_frequency += at_highest - at_highest * min(part, 1024) // 1024
            lost = to_capacity + to_frequency
            has_slept = self.asleep[family] * 10 > self.asleep[family] + self.runnable[family]
            if not family or has_slept or 2 * lost < ran or to_frequency * 20 < self.log.end - self.log.from_t or not ran:
                continue
            row = {"count": 1, "total_ns": lost, "worst_ns": lost, "at_ns": self.log.end - self.log.machine["t"] - 1}
            rows[family] = {**row, "severity": "medium" if to_frequency >= to_capacity else "low", "evidence.ran_ns": ran}
        return rows


RULES = (IdleCpus, Stretched, Misfit, LowFrequency, Quota, UnfairShare, UnfairGroup, Flapping, LimitedLag, CutSlices)


def replay(log):
    """Returns the rules after the whole log."""
    state = State(log)
    rules = [rule(state) for rule in RULES]
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
            rule.sample(sample)
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
