# SPDX-License-Identifier: GPL-2.0-or-later
"""State of a run at the times at which findings sample it: running tasks, groups, CPUs that tasks may use.

A run is sampled in steps of a thousandth of its length, up to 10 ms, from its start and again from the end of its warm-up. A
sample has the state after the last event before it.
"""

from bisect import bisect_right
from collections import defaultdict

from log import currents, replay_tasks
from moment import Moment

MAX_STEP = 10_000_000


class Samples:
    """Samples of the measured time of a run, which ended as planned."""

    def __init__(self, log):
        self.log = log
        self.step = min(-(-(log.end - log.machine["t"]) // 1000), MAX_STEP)
        self.tasks = replay_tasks(log)
        self.running = [[(start, task, offline) for start, _, task, offline in currents(log, cpu)] for cpu in range(log.nr_cpus)]
        self.spans, self.waits = defaultdict(list), defaultdict(list)
        for number in log.forks:
            for start, end, state, cpu in self.tasks[number].intervals:
                if state == "waiting":
                    self.waits[number].append((start, end))
            self.spans[number] = [(start, end, state) for start, end, state, _ in self.tasks[number].intervals]
        self.charged = defaultdict(list)
        for event in log.of("runtime"):
            self.charged[event["task"]].append((event["t"], event["ran"]))
        self.fits = defaultdict(list)
        for event in log.of("fit"):
            self.fits[log.task_of_index[event["index"]]].append((event["t"], event["fit"]))

    def times(self):
        """Returns the times of all samples."""
        return [*range(self.log.from_t + self.step, self.log.end, self.step), self.log.end]

    def current(self, cpu, t):
        """Returns the task of a CPU at a time, and whether the CPU is offline."""
        _, task, offline = self.running[cpu][bisect_right(self.running[cpu], t, key=lambda part: part[0]) - 1]
        return task, offline

    def is_busy(self, cpu, t):
        task, offline = self.current(cpu, t)
        return not offline and not self.log.is_idle_task(task)

    def is_waited(self, t):
        """Whether a task waits for a CPU."""
        return any(start <= t <= end for waits in self.waits.values() for start, end in waits)

    def is_idle(self, cpu, t):
        task, offline = self.current(cpu, t)
        return not offline and self.log.is_idle_task(task)

    def fit(self, task, t):
        """Returns how a task fits its CPU; None if it is not known."""
        fits = self.fits[task]
        place = bisect_right(fits, t, key=lambda fit: fit[0])
        return fits[place - 1][1] if place else None

    def ran(self, task, start, end):
        """Returns the time that was charged to a task between two times."""
        return sum(ns for t, ns in self.charged[task] if start < t <= end)

    def is_always_runnable(self, task, start, end):
        """Whether a task was runnable from one time to another, and did not sleep in between."""
        return not any(state not in ("running", "waiting", "throttled") and since <= end and until > start
                       for since, until, state in self.spans[task])

    def moment(self, t):
        moment = Moment(self.log)
        moment.advance(t)
        return moment
