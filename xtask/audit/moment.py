# SPDX-License-Identifier: GPL-2.0-or-later
"""State of a run at a moment, recomputed from its event log: tasks, CPUs and the decisions that led there."""

from bisect import bisect_right
from collections import defaultdict

from affinity import Affinities
from balancing import DomainBalance
from budgets import DeadlineBudget, ServerBudget

KEPT_PASSES = 12
FIRST_FAIR = 100


class TaskAt:
    """State of a task: new, sleeps, ended, runs, waits or throttled."""

    def __init__(self):
        self.state, self.since, self.cpu, self.limit, self.cause = "new", None, None, None, None
        self.prio = None
        self.forget_wakeup()
        self.selection, self.is_done, self.preempt, self.delay, self.nr_wakeups = None, False, None, None, 0
        self.woken_on_queue, self.ran_when_throttled, self.charged_at = None, False, None

    def forget_wakeup(self):
        self.woken, self.woken_prio, self.ended_wait, self.places = None, None, None, []
        self.moves, self.last_move = 0, None

    def is_runnable(self):
        return self.state in ("runs", "waits", "throttled")

    def begin_wait(self, t, cause):
        self.state, self.since, self.cause = "throttled" if self.limit else "waits", t, cause
        if self.state == "waits":
            self.places = [(t, self.cpu)]

    def end_wait(self, t):
        if self.state == "waits":
            self.ended_wait = (self.since, t, self.cause)

    def wait(self, now):
        """Returns the last wait for a CPU since the wake-up: start, end, cause, whether it is open."""
        if self.state == "waits":
            return self.since, now, self.cause, True
        return (*self.ended_wait, False) if self.ended_wait else None


class CpuAt:
    def __init__(self, log, cpu, start):
        self.arrival, self.budget, self.unthrottled = None, ServerBudget(log, cpu), None
        self.domains = {level: DomainBalance(len(domain["cpus"]), log.has_servers()) for level, domain in log.domains_of(cpu).items()}
        self.current, self.since, self.previous, self.offline = cpu, start, None, None
        self.switches, self.ranks = [(start, cpu)], [(start, 0)]
        self.passes, self.nr_passes, self.newly_idle, self.idle = [], 0, {}, {}
        self.busy_kick, self.chosen = None, None
        self.picks, self.pending, self.server, self.served, self.starved = [], [], None, None, None
        self.period = None


class Moment:
    """State after all events up to `now`, a time of the machine's clock."""

    def __init__(self, log):
        self.log, self.start = log, log.machine["t"]
        self.now, self.position = self.start, 0
        self.tasks = defaultdict(TaskAt)
        self.cpus = [CpuAt(log, cpu, self.start) for cpu in range(log.nr_cpus)]
        self.groups, self.forks = {}, {}
        self.moved, self.nr_hotplugs, self.changed, self.has_redone = [], 0, set(), False
        self.affinities, self.budgets, self.weights = Affinities(log), {}, {}

    def advance(self, now):
        """Handles the events up to a later time."""
        self.now = now
        while self.position < len(self.log.events) and self.log.events[self.position]["t"] <= now:
            self.handle(self.log.events[self.position])
            self.position += 1

    def handle(self, event):
        handler = getattr(self, "on_" + event["e"], None)
        if handler:
            handler(event["t"], event)

    def on_fork(self, t, event):
        self.forks[event["task"]] = event
        self.groups.setdefault(event["index"], self.log.specs[event["spec"]]["group"])
        self.affinities.fork(event["task"], self.log.specs[event["spec"]])
        self.budgets[event["task"]] = DeadlineBudget(self.log, self.log.specs[event["spec"]])

    def on_prio(self, t, event):
        task = self.tasks[event["task"]]
        # A task is forked as a fair one and gets its policy at the same time.
        if event["task"] in self.budgets and self.forks[event["task"]]["t"] < t:
            self.budgets[event["task"]].forget()
        elif event["task"] in self.budgets and event["prio"] < 0:
            self.budgets[event["task"]].entered(t)
        task.prio = event["prio"]
        if task.state == "runs":
            self.cpus[task.cpu].ranks.append((t, self.rank(event["task"])))

    def on_runtime(self, t, event):
        number, ran = event["task"], event["ran"]
        if number not in self.budgets:
            return
        self.tasks[number].charged_at = t
        cpu = self.cpus[self.tasks[number].cpu]
        cpu.budget.ran(ran, [t - ran] if cpu.arrival is None else [t - ran, cpu.arrival - ran], self.rank(number) == 1)
        if self.rank(number) == 3:
            self.budgets[number].ran(ran, t)

    def on_selection(self, t, event):
        if event["kind"] != "Exec":
            task = self.tasks[event["task"]]
            task.selection, task.is_done = {**event, "current": self.cpus[event["waker"]].current}, False

    def on_wakeup(self, t, event):
        task = self.tasks[event["task"]]
        self.cpus[event["cpu"]].arrival = t
        if task.is_runnable():
            return
        task.forget_wakeup()
        task.cpu, task.nr_wakeups = event["cpu"], task.nr_wakeups + 1
        task.woken, task.woken_prio = event, task.prio
        if task.is_done:
            task.selection = None
        task.is_done = True
        if self.rank(event["task"]) == 3:
            self.budgets[event["task"]].woken(t)
        task.begin_wait(t, "forked" if event["new"] else "woken")

    def on_switch(self, t, event):
        cpu, prev, following = self.cpus[event["cpu"]], self.tasks[event["prev"]], self.tasks[event["next"]]
        prev.cpu = event["cpu"]
        if event["state"] == "R":
            prev.begin_wait(t, ("switched-out", event["cpu"]))
        else:
            prev.state, prev.since = "sleeps" if event["state"] == "S" else "ended", t
        following.end_wait(t)
        following.state, following.since, following.cpu = "runs", t, event["cpu"]
        if self.log.is_idle_task(event["prev"]):
            cpu.budget.idled(cpu.since if cpu.previous else cpu.budget.idle_since, cpu.arrival, t)
        else:
            cpu.budget.switched()
            # The kernel can save an update of the clock, which then stands still.
            if event["prev"] in self.forks and cpu.since < t != prev.charged_at:
                cpu.budget.forget()
        cpu.previous, cpu.current, cpu.since = (event["prev"], event["state"]), event["next"], t
        cpu.switches.append((t, event["next"]))
        cpu.ranks.append((t, self.rank(event["next"])))

    def on_migrate(self, t, event):
        task = self.tasks[event["task"]]
        task.cpu = event["to"]
        self.cpus[event["to"]].arrival = t
        if task.state != "waits":
            return
        task.moves += 1
        task.last_move = {**event, "current": self.cpus[event["on"]].current, "pass": None}
        task.places.append((t, event["to"]))
        self.moved = [other for other in self.moved if other["t"] == t] + [task.last_move]

    def on_throttling(self, t, event):
        task = self.tasks[event["task"]]
        if event["on"]:
            task.ran_when_throttled = task.state == "runs"
        if self.rank(event["task"]) == 3:
            self.budgets[event["task"]].throttling(t, event["on"])
        limit = (event["class"], event["group"]) if event["on"] else None
        was_waiting = task.state in ("waits", "throttled")
        has_changed = limit != task.limit
        if was_waiting and has_changed:
            task.end_wait(t)
        task.limit = limit
        if was_waiting and has_changed:
            task.begin_wait(t, "throttling-ended")
            # A task that leaves a throttled group is enqueued; an idle CPU does not reschedule for it. With costs, its clock
            # is that of the time at which the lock was taken.
            cpu = self.cpus[task.cpu]
            if not limit and self.log.machine["has_costs"]:
                cpu.budget.forget()
            elif not limit:
                cpu.arrival = t

    def on_pass(self, t, event):
        cpu = self.cpus[event["cpu"]]
        cpu.nr_passes += 1
        self.has_redone |= event["redos"] > 0
        if event["level"] in cpu.domains:
            cpu.domains[event["level"]].passed(event)
        cpu.passes = [*cpu.passes, event][-KEPT_PASSES:]
        if event["idle"] == "NewlyIdle":
            cpu.newly_idle[event["level"]] = event
        elif event["idle"] == "Idle":
            cpu.idle[event["level"]] = event
        if event["moved"]:
            for move in self.moved:
                if (move["t"], move["to"], move["on"]) == (t, event["cpu"], event["on"]):
                    move["pass"] = event
            self.moved = []

    def on_group_throttling(self, t, event):
        if not event["on"]:
            self.cpus[event["cpu"]].unthrottled = t

    def on_domain_stat(self, t, event):
        domain = self.cpus[event["cpu"]].domains.get(event["level"])
        if domain and event["counter"] == "alb_pushed":
            domain.pushed()

    def on_lost(self, t, event):
        # The clock of a CPU's tasks leaves out interrupts and steal time.
        self.cpus[event["cpu"]].budget.is_exact = False

    def on_kick(self, t, event):
        if event["reason"] != "CpuIsIdle":
            self.cpus[event["cpu"]].busy_kick = event
        if event["target"] is not None:
            self.cpus[event["target"]].chosen = event

    def on_hotplug(self, t, event):
        if event["result"] == 0:
            self.nr_hotplugs += 1
            self.affinities.hotplugged(event["cpu"], event["online"])
            cpu = self.cpus[event["cpu"]]
            cpu.offline = None if event["online"] else cpu.offline or t

    def on_pick(self, t, event):
        for entity in event["entities"]:
            self.weights[entity["task"]] = entity["weight"] >> 10
        cpu = self.cpus[event["cpu"]]
        if event["depth"] == 0:
            cpu.pending = []
        cpu.pending.append(event)
        # A pick below a throttled group leads to no task.
        if event["picked"]["task"] is not None:
            cpu.picks, cpu.pending = cpu.pending, []

    def on_preempt(self, t, event):
        self.tasks[event["task"]].preempt = event

    def on_delay(self, t, event):
        if event["task"] is None:
            return
        task = self.tasks[event["task"]]
        if event["step"] == "Begins":
            task.delay = [event, None, task.nr_wakeups]
        elif task.delay:
            task.delay[1] = event
        if event["step"] == "Woken":
            task.woken_on_queue = t

    def on_server(self, t, event):
        cpu = self.cpus[event["cpu"]]
        cpu.server = event
        cpu.budget.step(t, event, cpu.unthrottled == t)
        if event["step"] == "Picked":
            cpu.served, cpu.period = t, event["period"]
        elif event["step"] == "Starved":
            cpu.starved = t

    def on_changed(self, t, event):
        self.changed.add(event["what"])
        if event["what"] == "server":
            for cpu in self.cpus:
                cpu.budget.forget()
        fork = self.log.forks.get(self.log.task_of_index.get(event["index"]))
        if fork and fork["task"] in self.forks:
            if event["what"] == "affinity":
                self.affinities.affinity_changed(fork["task"], fork["spec"], t)
            elif event["what"] == "cpuset":
                self.affinities.attached(fork["task"], fork["spec"], t)

    def on_cpuset(self, t, event):
        self.affinities.cpuset_changed(event["cpuset"], t)

    def on_moved(self, t, event):
        self.groups[event["index"]] = event["group"]

    def group_of(self, number):
        """Returns the group of a task as an index of the log; None for the root group."""
        fork = self.log.forks.get(number)
        return self.groups.get(fork["index"]) if fork else None

    def path(self, group):
        """Returns the path of a group, given as an index of the log."""
        names = []
        while group is not None:
            name = self.log.groups[group]["name"]
            names.insert(0, name)
            if name.startswith("/"):
                break
            group = self.log.groups[group]["parent"]
        return "".join(name if name.startswith("/") else "/" + name for name in names) or "/"

    def workload(self):
        """Returns the numbers and states of the workload's tasks that were forked."""
        return [(number, self.tasks[number]) for number in self.forks]

    def nr_runnable(self, cpu):
        return sum(task.cpu == cpu and task.state in ("waits", "runs") for _, task in self.workload())

    def ref(self, number):
        """Returns a task as claims name it."""
        if self.log.is_idle_task(number):
            return {"idle_task_of_cpu": number}
        if self.log.is_stopper(number):
            return {"stopper_of_cpu": number - self.log.nr_cpus}
        fork = self.log.forks.get(number)
        return {"name": self.log.name_of(fork["index"]), "pid": fork["pid"]} if fork else None

    def rank(self, number):
        """Returns the rank of a task's class: idle, fair, real-time, deadline, stopper."""
        if self.log.is_idle_task(number):
            return 0
        if self.log.is_stopper(number):
            return 4
        prio = self.tasks[number].prio
        return None if prio is None else 1 if prio >= FIRST_FAIR else 2 if prio >= 0 else 3

    def run_times(self, places, until):
        """Returns the times of the tasks on a waiting task's CPUs."""
        return self.times_of("switches", places, until)

    def rank_times(self, places, until):
        """Returns the times of the tasks on a waiting task's CPUs by the rank of their class then."""
        return self.times_of("ranks", places, until)

    def times_of(self, parts, places, until):
        times = defaultdict(int)
        for place, (start, cpu) in enumerate(places):
            end = places[place + 1][0] if place + 1 < len(places) else until
            own = getattr(self.cpus[cpu], parts)
            first = max(bisect_right(own, start, key=lambda part: part[0]) - 1, 0)
            for index, (t, what) in enumerate(own[first:], first):
                if t >= end:
                    break
                next_t = own[index + 1][0] if index + 1 < len(own) else end
                if min(next_t, end) > max(t, start):
                    times[what] += min(next_t, end) - max(t, start)
        return times
