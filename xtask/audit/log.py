# SPDX-License-Identifier: GPL-2.0-or-later
"""Event logs (`--event-log`), and what follows from them about CPUs and tasks: intervals of states.

The events of a log are the input of every recomputed metric. Intervals are cut at the end of the warm-up;
counts and latencies are of what ends after it.
"""

import json
from bisect import bisect_left
from collections import defaultdict

import polars as pl


class Log:
    """Events of a run, in their order."""

    def __init__(self, path):
        self.specs, self.groups, self.cpus, self.domains, self.cpusets = [], [], [], [], []
        self.events, self.sched_domains, self.names, self.changes, self.responses = [], [], {}, [], []
        self.by_kind = defaultdict(list)
        # Samples and reads of attributes, each with the number of events before it, and the number of samples in the warm-up.
        self.samples, self.reset_sample = [], 0
        self.reset_index, self.from_t, self.end = 0, None, None
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                self._add(json.loads(line))
        for index, event in enumerate(self.events):
            self.by_kind[event["e"]].append(index)
        self.counted = self.events[self.reset_index :]
        self.nr_cpus = len(self.cpus)
        self.forks = {event["task"]: event for event in self.of("fork")}
        self.task_of_index = {event["index"]: event["task"] for event in self.of("fork")}

    def _add(self, line):
        kind = line["e"]
        if kind == "machine":
            self.machine, self.from_t = line, line["t"]
        elif kind == "cpuset_spec":
            self.cpusets.append(line)
        elif kind in ("cpu", "domain", "group", "spec", "sched_domain", "change", "response"):
            getattr(self, kind + "s").append(line)
        elif kind == "reset":
            self.reset_index, self.from_t = len(self.events), line["t"]
            self.reset_sample = len(self.samples)
        elif kind in ("sample", "attributes"):
            self.samples.append({**line, "position": len(self.events)})
        elif kind == "name":
            self.names[line["index"]] = line["name"]
        elif kind == "end":
            self.end = line["t"]
        else:
            self.events.append(line)

    def domains_of(self, cpu):
        """Returns the sched domains of a CPU at the start, by level."""
        own = [domain for domain in self.sched_domains if domain["cpu"] == cpu]
        return {domain["level"]: {"name": domain["name"], "cpus": domain["cpus"]} for domain in own}

    def has_servers(self):
        """Whether the kernel has fair servers."""
        return self.machine["has_servers"]

    def name_of(self, index):
        """Returns the name of a task of the machine."""
        return self.names[index]

    def of(self, *kinds, counted=False):
        """Returns the events of some kinds, only those after the warm-up if `counted`."""
        indices = self.by_kind[kinds[0]] if len(kinds) == 1 else sorted(i for kind in set(kinds) for i in self.by_kind[kind])
        if counted:
            indices = indices[bisect_left(indices, self.reset_index) :]
        return [self.events[index] for index in indices]

    def frame(self, kind, columns):
        """Returns the counted events of one kind as a frame, which may be empty."""
        rows = [[event[column] for column in columns] for event in self.of(kind, counted=True)]
        return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)

    def cut(self, start, end):
        """Returns the length of the part of an interval that is measured."""
        return max(0, min(end, self.end) - max(start, self.from_t))

    def is_idle_task(self, task):
        """Idle tasks have the first numbers, then the stoppers."""
        return task < self.nr_cpus

    def is_stopper(self, task):
        return self.nr_cpus <= task < 2 * self.nr_cpus

    def family_of(self, task):
        """Returns the family of a task; None for idle tasks, stoppers and init."""
        fork = self.forks.get(task)
        return fork and self.specs[fork["spec"]]["family"]


def currents(log, cpu):
    """Returns the intervals of a CPU: start, end, current task, whether the CPU is offline."""
    intervals, since, task, offline = [], log.machine["t"], cpu, False
    for event in log.of("switch", "hotplug"):
        if event["cpu"] != cpu or event["e"] == "hotplug" and event["result"] != 0:
            continue
        intervals.append((since, event["t"], task, offline))
        since = event["t"]
        if event["e"] == "switch":
            task = event["next"]
        else:
            offline = not event["online"]
    intervals.append((since, log.end, task, offline))
    return intervals


def periods(log, cpu, begins, ends):
    """Returns the intervals between two kinds of events of a CPU, with the event that began each."""
    found, open_event = [], None
    for event in log.of(begins, ends):
        # A CPU without idle states enters none.
        if event["cpu"] != cpu or event.get("state", 0) is None:
            continue
        if event["e"] == begins:
            assert open_event is None, f"{begins} of CPU {cpu} twice, at {event['t']}"
            open_event = event
        elif open_event is not None:
            found.append((open_event["t"], event["t"], open_event))
            open_event = None
    if open_event is not None:
        found.append((open_event["t"], log.end, open_event))
    return found


def speeds(log, cpu):
    """Returns the intervals of a CPU at each frequency: start, end, (kHz, part)."""
    own = log.cpus[cpu]
    found, since, speed = [], log.machine["t"], (own["khz"], own["part"])
    for event in log.of("speed"):
        if event["cpu"] == cpu:
            found.append((since, event["t"], speed))
            since, speed = event["t"], (event["khz"], event["part"])
    found.append((since, log.end, speed))
    return found


def overlap(one, two):
    """Returns the common parts of two sorted lists of intervals: start, end, item of each."""
    found, index = [], 0
    for start, end, *item in one:
        while index < len(two) and two[index][1] <= start:
            index += 1
        place = index
        while place < len(two) and two[place][0] < end:
            low, high = max(start, two[place][0]), min(end, two[place][1])
            if high > low:
                found.append((low, high, tuple(item), tuple(two[place][2:])))
            place += 1
    return found


class Task:
    """State of a task, and its intervals: start, end, state, CPU.

    `limits` has the throttled intervals: start, end, limit, whether the interval ends with the run. `queued` is the
    time that the task has waited for a CPU since its wake-up in intervals that are over, None once it has run.
    """

    def __init__(self):
        self.state, self.since, self.cpu, self.is_throttled = "new", 0, None, False
        self.limit, self.queued = None, None
        self.queued_at_end, self.state_at_end = None, None
        self.intervals, self.limits = [], []

    def enter(self, t, state, cpu=None):
        self.intervals.append((self.since, t, self.state, self.cpu))
        if self.state == "throttled":
            self.limits.append((self.since, t, self.limit, state == "over"))
        self.queued = self.queued_at(t)
        self.state, self.since, self.cpu = state, t, cpu

    def queued_at(self, t):
        """Returns the time that the task has waited for a CPU since its wake-up."""
        if self.queued is None or self.state not in ("waiting", "throttled", "blocked", "ended", "new"):
            return None
        return self.queued + (t - self.since if self.state == "waiting" else 0)

    def is_runnable(self):
        return self.state in ("waiting", "throttled", "running")

    def wait(self, t):
        self.enter(t, "throttled" if self.is_throttled else "waiting")


def replay_tasks(log, on=None):
    """Returns the tasks by number, after all events. `on(kind, event, task)` is called before each change."""
    tasks = defaultdict(Task)
    on = on or (lambda *_: None)
    for event in log.events:
        kind = event["e"]
        if kind == "wakeup":
            task = tasks[event["task"]]
            on("wakeup", event, task)
            if not task.is_runnable():
                task.queued = None
                task.wait(event["t"])
                task.queued = None if event["new"] else 0
        elif kind == "switch":
            prev, following = tasks[event["prev"]], tasks[event["next"]]
            on("out", event, prev)
            prev.queued = None
            if event["state"] == "R":
                prev.wait(event["t"])
            else:
                prev.enter(event["t"], "blocked" if event["state"] == "S" else "ended")
            on("in", event, following)
            assert following.state != "throttled", f"task {event['next']} runs although it is throttled, at {event['t']}"
            following.enter(event["t"], "running", event["cpu"])
            following.queued = None
        elif kind == "throttling":
            task = tasks[event["task"]]
            on("throttling", event, task)
            task.is_throttled = event["on"]
            if task.state in ("waiting", "throttled"):
                task.wait(event["t"])
            task.limit = (event["class"], event["group"])
        elif kind in ("wake_begins", "phase", "timer"):
            task = tasks.get(log.task_of_index.get(event.get("index")))
            on(kind, event, task)
    for task in tasks.values():
        task.queued_at_end = task.queued_at(log.end) if task.state in ("waiting", "throttled") else None
        task.state_at_end = task.state
        task.enter(log.end, "over")
    return tasks
