# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the claims of `fairlab explain` against the event log: each field of each kind, and which kinds are made.

A checker returns the expected fields of a claim. A field that no event decides is `UNKNOWN`, with a bound if there is
one. A kind or a field without a checker is a difference.
"""

import json
import random
from collections import Counter

from moment import KEPT_PASSES, Moment

QUESTIONS_PER_RUN = 12
MAX_MEMBERS = 16
CLASSES = {2: "real-time", 3: "deadline"}
IDLE = {"Idle": "idle", "NotIdle": "busy", "NewlyIdle": "newly-idle"}
BALANCE_KICK, STATS_KICK = 1, 2
MAX_SWITCHES = 4096


class Unknown:
    """Field that the log does not decide; `holds` is what is known about it."""

    def __init__(self, holds=lambda reported: True):
        self.holds = holds

    def agrees(self, reported, _claim):
        return self.holds(reported)

    def __repr__(self):
        return "a possible value"


UNKNOWN = Unknown()
# More CPUs than a machine has.
MAX_CPUS = 1 << 16


class Related(Unknown):
    """Field that follows from others of its claim."""

    def agrees(self, reported, claim):
        return self.holds(reported, claim)

    def __repr__(self):
        return "what follows from the other fields"


class One(Unknown):
    """Field with one of several values."""

    def __init__(self, *values):
        super().__init__(lambda reported: reported in values)
        self.values = values

    def __repr__(self):
        return "one of " + ", ".join(map(str, self.values))


class Checker:
    """Recomputes the claims of one explanation."""

    def __init__(self, moment, state, nr_levels):
        """`state` has the values of the scheduler at the end of the run, if this is the moment. `nr_levels` is the reported
        number of domain levels, which the log does not have after hotplug.
        """
        self.at, self.log, self.state, self.nr_levels = moment, moment.log, state, nr_levels

    def ns(self, t):
        return None if t is None else t - self.at.start

    def rule(self, name):
        return None if name is None else {"name": name, "meaning": Unknown(lambda text: text.endswith("."))}

    # Claims about a task.

    def task_state(self, number):
        if number is None:
            return {"task": UNKNOWN, "at_ns": self.ns(self.at.now), "state": "not-forked", "cpu": None, "since_ns": None,
                    "runnable_since_ns": None}
        task = self.at.tasks[number]
        runnable = self.ns(task.woken["t"]) if task.is_runnable() and task.woken else None
        return {
            "task": self.at.ref(number), "at_ns": self.ns(self.at.now), "state": task.state,
            "cpu": UNKNOWN if task.state == "new" else task.cpu, "since_ns": self.ns(task.since),
            "runnable_since_ns": runnable,
        }

    def family(self, name, numbers):
        """Returns the claim about a family, given the numbers of its forked tasks."""
        def row(number):
            state = self.task_state(number)
            own = {key: state[key] for key in ("state", "cpu", "since_ns")}
            return {"name": self.log.name_of(self.log.forks[number]["index"]), **own}

        members = [row(number) for number in numbers[:MAX_MEMBERS]]
        return {"family": name, "at_ns": self.ns(self.at.now), "nr_tasks": len(numbers), "members": members}

    def selection(self, number):
        task = self.at.tasks[number]
        event = task.selection
        if event is None:
            return None
        return {
            "task": self.at.ref(number), "at_ns": self.ns(event["t"]), "is_fork": event["kind"] == "Fork",
            "waker_cpu": event["waker"], "waker": self.at.ref(event["current"]) or UNKNOWN, "sync": event["sync"],
            "cpu": event["cpu"], "rule": self.rule(event["rule"]), "prev": event["prev"], "target": event["target"],
            "affine": None if event["affine"] == "NotAsked" else self.rule(event["affine"]),
            "scanned": event["scanned"], "cores_scanned": event["cores"], "scan_limit": event["limit"],
            "scanned_cpus": Related(is_scan),
        }

    def former_class(self, number):
        name = CLASSES.get(self.at.rank(number))
        has_selection = self.at.tasks[number].selection is not None
        return {"task": self.at.ref(number), "class": name} if name and has_selection else None

    def enqueue(self, number):
        task = self.at.tasks[number]
        if task.selection is None:
            return None
        selected = task.selection["t"]
        common = {"task": self.at.ref(number), "selected_at_ns": self.ns(selected)}
        if not task.is_done:
            return {**common, "cpu": task.selection["cpu"], "at_ns": None}
        if task.woken and selected < task.woken["t"]:
            return {**common, "cpu": task.woken["cpu"], "at_ns": self.ns(task.woken["t"])}
        return None

    def no_selection(self, number):
        task = self.at.tasks[number]
        if task.selection is not None or task.woken is None:
            return None
        claim = {"task": self.at.ref(number), "at_ns": self.ns(task.woken["t"]), "cpu": task.woken["cpu"],
                 "is_fork": task.woken["new"], "cause": "unknown"}
        if task.woken_on_queue == task.woken["t"]:
            return {**claim, "cause": "on-queue"}
        if task.woken_prio is not None and task.woken_prio < 100:
            return {**claim, "cause": "other-class", "prio": task.woken_prio}
        return claim

    def migrations(self, number):
        task = self.at.tasks[number]
        last = task.last_move
        if last is None:
            return None
        claim = {"task": self.at.ref(number), "count": task.moves, "last_at_ns": self.ns(last["t"]), "from": last["from"],
                 "to": last["to"]}
        if last["pass"]:
            return {**claim, "balanced_cpu": last["pass"]["cpu"]}
        return {**claim, "executing_cpu": last["on"], "current": self.at.ref(last["current"]) or UNKNOWN}

    def wait(self, number):
        task = self.at.tasks[number]
        wait = task.wait(self.at.now)
        if wait is None:
            return None
        since, until, cause, is_open = wait
        begin = {"begin": cause} if isinstance(cause, str) else {"begin": cause[0], "switched_out_on": cause[1]}
        times = self.at.run_times(task.places, until)
        is_kept = all(len(self.at.cpus[cpu].switches) < MAX_SWITCHES for _, cpu in task.places)

        def is_same(ran):
            order = [row["ns"] for row in ran]
            expected = sorted((ns, str(self.at.ref(other))) for other, ns in times.items())
            reported = sorted((row["ns"], str(row["task"])) for row in ran)
            return order == sorted(order, reverse=True) and reported == expected

        return {
            **begin, "task": self.at.ref(number), "since_ns": self.ns(since), "until_ns": self.ns(until), "is_open": is_open,
            "cpus": [cpu for _, cpu in task.places], "ran": Unknown(is_same) if is_kept else UNKNOWN,
            "unrecorded_ns": 0 if is_kept else UNKNOWN,
        }

    def current_task(self, number):
        task = self.at.tasks[number]
        if task.state != "waits":
            return None
        cpu = self.at.cpus[task.cpu]
        if self.log.is_idle_task(cpu.current):
            return None
        own, other = self.at.rank(number), self.at.rank(cpu.current)
        are_on_one_queue = own == other == 1 and self.at.group_of(number) == self.at.group_of(cpu.current)
        weights = [self.weight(cpu.current), self.weight(number)]

        def is_gap(gap):
            reported = [gap["running_weight"], gap["waiting_weight"]]
            is_weighed = all(one > 0 and expected in (None, one) for one, expected in zip(reported, weights))
            return is_weighed and gap["ahead_ns"] in self.gaps(cpu.current, number)

        return {
            "task": self.at.ref(number), "cpu": task.cpu, "current": self.at.ref(cpu.current) or UNKNOWN,
            "running_for_ns": self.at.now - cpu.since,
            "is_of_higher_class": UNKNOWN if other is None else other > own,
            "vruntime": Unknown(is_gap) if are_on_one_queue else None, "nr_runnable": self.at.nr_runnable(task.cpu),
        }

    def weight(self, number):
        """Returns the weight of a task as of its last pick; None if that is not known, or changes of weights were made."""
        return None if {"nice", "policy"} & self.at.changed else self.at.weights.get(number)

    def gaps(self, running, waiting):
        """Returns the possible differences of two virtual runtimes."""
        pids = [self.log.forks.get(number, {}).get("pid") for number in (running, waiting)]
        times = [self.state["task", pid].get("vr") for pid in pids] if self.state and None not in pids else [None]
        return range(-(1 << 62), 1 << 62) if None in times else [times[0] - times[1]]

    def allowed(self, number):
        """Returns the CPUs that a task may use."""
        possible = self.at.affinities.possible[number]
        if possible is None:
            return Unknown(lambda cpus: 0 < len(cpus) <= self.log.nr_cpus and cpus == sorted(set(cpus)))
        lists = [sorted(cpus) for cpus in possible]
        return lists[0] if len(lists) == 1 else One(*lists)

    def idle_cpus(self, number):
        """Returns the idle CPUs that a task may use: between those that certainly idle and those that may."""
        possible, own = self.at.affinities.possible[number], self.at.tasks[number].cpu
        possible = {frozenset(), frozenset(range(self.log.nr_cpus))} if possible is None else possible
        idle = {cpu for cpu, state in enumerate(self.at.cpus) if self.log.is_idle_task(state.current) and state.offline is None}
        may = idle & frozenset.union(*possible) - {own}
        # Selected and not enqueued yet, a task keeps its CPU from being idle.
        busy = {task.cpu for task in self.at.tasks.values() if task.state in ("waits", "throttled")}
        busy |= {task.selection["cpu"] for task in self.at.tasks.values() if task.selection and not task.is_done}
        must = set() if self.log.machine["has_costs"] else may & frozenset.intersection(*possible) - busy
        return Unknown(lambda cpus: must <= set(cpus) <= may and cpus == sorted(cpus))

    def allowed_cpus(self, number):
        if self.at.tasks[number].state != "waits":
            return None
        return {"task": self.at.ref(number), "allowed": self.allowed(number), "idle": self.idle_cpus(number)}

    def throttling(self, number):
        task = self.at.tasks[number]
        if task.state != "throttled":
            return None
        claim = {"task": self.at.ref(number), "cpu": task.cpu}
        kind, group = task.limit
        if kind == "real-time":
            return {**claim, "limit": "real-time"}
        if kind == "fair":
            return {**claim, "limit": "quota", "group": self.at.path(group - 1),
                    "own_group": self.at.path(self.at.group_of(number)), "idle": self.idle_cpus(number)}
        budget = self.at.budgets[number]
        if not task.ran_when_throttled:
            return {**claim, "limit": "deadline-wakeup", "remaining_ns": budget.runtime if budget.is_known else UNKNOWN}
        if not budget.is_known:
            return {**claim, "limit": One("deadline-runtime", "deadline-yield"), "remaining_ns": Unknown(lambda ns: ns <= 0)}
        if budget.runtime > 0:
            return {**claim, "limit": "deadline-yield"}
        if budget.runtime == 0:
            return {**claim, "limit": One("deadline-runtime", "deadline-yield"), "remaining_ns": One(0)}
        return {**claim, "limit": "deadline-runtime", "remaining_ns": budget.runtime}

    # Claims about decisions of EEVDF.

    def entity(self, entity, v):
        task, group = entity["task"], entity["group"]
        return {
            "task": None if task is None else self.at.ref(task) or UNKNOWN,
            "group": None if group is None else self.at.path(group - 1), "eligible": entity["eligible"],
            "running": entity["running"], "delayed": entity["delayed"], "lag_ns": v - entity["vruntime"],
            "vruntime": entity["vruntime"], "deadline": entity["deadline"], "deadline_from_now_ns": entity["deadline"] - v,
            "slice_ns": entity["slice"], "weight": entity["weight"] >> 10,
        }

    def preemption(self, number):
        task = self.at.tasks[number]
        event = task.preempt
        is_of_wakeup = event and task.woken and event["t"] == task.woken["t"]
        if not is_of_wakeup or not task.is_runnable() or self.at.rank(number) != 1:
            return None
        return {
            "task": self.at.ref(number), "at_ns": self.ns(event["t"]), "current": self.at.ref(event["curr"]) or UNKNOWN,
            "preempts": event["rule"] in ("OverIdle", "ShortSlice", "ToBePicked"), "rule": self.rule(event["rule"]),
            "is_not_picked": event["rule"] == "NotPicked", "virtual_time": event["v"],
            "woken": self.entity(event["woken"], event["v"]), "running": self.entity(event["running"], event["v"]),
        }

    def delayed_dequeue(self, number):
        task = self.at.tasks[number]
        if not task.delay or self.at.rank(number) != 1 or task.nr_wakeups - task.delay[2] > task.is_runnable():
            return None
        begin, end, _ = task.delay
        lag = lambda event: event["v"] - event["vruntime"]
        claim = {"task": self.at.ref(number), "at_ns": self.ns(self.at.now), "cpu": begin["cpu"],
                 "since_ns": self.ns(begin["t"]), "lag_ns": lag(begin), "end": None}
        if end:
            # DELAY_ZERO discards only a positive lag, and can be off.
            zeroed = UNKNOWN if lag(end) > 0 else False
            claim["end"] = {"at_ns": self.ns(end["t"]), "woken": end["step"] == "Woken", "lag_ns": lag(end), "is_zeroed": zeroed}
        return claim

    def pick(self, cpu):
        def claim(event):
            v = event["v"]
            return {
                "cpu": cpu, "at_ns": self.ns(event["t"]), "is_root": event["group"] == 0,
                "group": self.at.path(event["group"] - 1) if event["group"] else "/", "rule": self.rule(event["rule"]),
                "is_only_entity": event["rule"] == "OnlyEntity", "virtual_time": v, "nr_eligible": event["eligible"], "nr_entities": event["nr_entities"],
                "picked": self.entity(event["picked"], v), "entities": [self.entity(entity, v) for entity in event["entities"]],
            }

        return [claim(event) for event in self.at.cpus[cpu].picks]

    def fair_server(self, cpu):
        state = self.at.cpus[cpu]
        server = state.server
        if server is None:
            # A server that was never started is no server yet.
            return Optional({"cpu": cpu, "max_runtime_ns": UNKNOWN, "period_ns": UNKNOWN, "active": UNKNOWN, "runtime_ns": UNKNOWN,
                    "last_step": None, "last_step_at_ns": None, "runs_from_ns": UNKNOWN, "last_ran_ns": None,
                    "last_starved_ns": None})
        is_above = self.at.rank(state.current) not in (0, 1)
        recent = state.starved if state.served and state.starved and 0 <= state.served - state.starved < state.period else None
        idle_since = (state.since if state.previous else state.budget.idle_since) if self.log.is_idle_task(state.current) else None
        waits, runtimes = server["waits_until"], state.budget.possible(idle_since, state.arrival)
        # What fair tasks have used since the last step is not left to the server: it waits that much longer.
        runs_from = Related(lambda ns, claim: ns == self.ns(waits) + server["runtime"] - claim["runtime_ns"])
        return {
            "cpu": cpu, "max_runtime_ns": UNKNOWN if "server" in self.at.changed else server["max_runtime"],
            "period_ns": UNKNOWN if "server" in self.at.changed else server["period"],
            "active": server["step"] != "Stopped",
            "runtime_ns": One(*runtimes) if runtimes else Unknown(lambda ns: ns <= server["max_runtime"]),
            "last_step": self.rule(server["step"]), "last_step_at_ns": self.ns(server["t"]),
            "runs_from_ns": runs_from if is_above and waits is not None else None,
            "last_ran_ns": self.ns(state.served), "last_starved_ns": self.ns(recent),
        }

    # Claims about a CPU.

    def cpu_state(self, cpu):
        state = self.at.cpus[cpu]
        previous = None
        if state.previous:
            number, how = state.previous
            previous = {"task": self.at.ref(number) or UNKNOWN, "state": {"S": "blocked", "X": "ended", "R": "runnable"}[how]}
        return {
            "cpu": cpu, "at_ns": self.ns(self.at.now), "is_offline": state.offline is not None,
            "is_idle": self.log.is_idle_task(state.current), "current": self.at.ref(state.current) or UNKNOWN,
            "since_ns": self.ns(state.offline or state.since), "previous": previous, "nr_runnable": self.at.nr_runnable(cpu),
        }

    def waits(self, state):
        waiting = [(task.since, number) for number, task in self.at.workload() if task.state == state]
        return [number for _, number in sorted(waiting)]

    def waiting_tasks(self, cpu, is_here):
        def row(number):
            task = self.at.tasks[number]
            return {"task": self.at.ref(number), "cpu": task.cpu, "since_ns": self.ns(task.since), "allowed": self.allowed(number)}

        is_idle = self.log.is_idle_task(self.at.cpus[cpu].current)
        place = ("idle-runqueue" if is_idle else "busy-runqueue") if is_here else "elsewhere"
        tasks = [row(number) for number in self.waits("waits") if (self.at.tasks[number].cpu == cpu) == is_here]
        if (is_here and is_idle and not tasks) or (not is_here and not is_idle):
            return None
        return {"cpu": cpu, "at_ns": self.ns(self.at.now), "place": place, "tasks": Rows(tasks)}

    def throttled_tasks(self):
        tasks = [self.at.ref(number) for number in self.waits("throttled")]
        return {"at_ns": self.ns(self.at.now), "tasks": Rows(tasks)} if tasks else None

    def domains(self, cpu):
        """Returns the sched domains of a CPU by level; None after hotplug or changes that build them again."""
        return None if self.at.nr_hotplugs else self.log.domains_of(cpu)

    def passed(self, event):
        domains = self.domains(event["cpu"])
        domain = UNKNOWN if domains is None else domains[event["level"]]
        return {
            "at_ns": self.ns(event["t"]), "on": event["on"], "cpu": event["cpu"], "level": event["level"], "domain": domain,
            "idle": IDLE[event["idle"]], "verdict": self.rule(event["verdict"]), "balanced": self.rule(event["balanced"]),
            "local": event["local"], "busiest": event["busiest"], "busiest_group": event["busiest_group"],
            "busiest_queue": event["busiest_queue"], "migration": event["migration"], "imbalance": event["imbalance"],
            "scanned": event["scanned"], "moved": event["moved"], "redos": event["redos"], "raced": event["raced"],
            "emptied": event["emptied"],
        }

    def kicked(self, event):
        if event is None:
            return None
        flags = event["flags"]
        purpose = "balance" if flags & BALANCE_KICK else "blocked-load" if flags & STATS_KICK else "next-balance"
        return {"at_ns": self.ns(event["t"]), "cpu": event["cpu"], "reason": self.rule(event["reason"]), "flags": flags,
                "purpose": purpose if flags else None, "target": event["target"], "kicked": event["kicked"]}

    def newly_idle(self, cpu):
        state = self.at.cpus[cpu]
        if state.previous is None:
            return None
        now = [state.newly_idle[level] for level in sorted(state.newly_idle) if state.newly_idle[level]["t"] == state.since]
        earlier = [event for event in state.newly_idle.values() if event["t"] != state.since]
        last = max(earlier, key=lambda event: (event["t"], event["level"])) if earlier and not now else None
        return {
            "cpu": cpu, "idle_since_ns": self.ns(state.since), "passes": [self.passed(event) for event in now],
            "earlier": last and self.passed(last), "is_overloaded": self.is_overloaded(), "avg_idle_ns": self.state["rq", cpu]["avgidle"] if self.state else Unknown(lambda ns: ns >= 0),
            "max_cost_ns": (self.state or {}).get(("cost", cpu), Unknown(lambda ns: ns >= 0)),
        }

    def is_overloaded(self):
        """Returns true if a CPU has two tasks; without any, an earlier overload may not have been noticed to have ended. Hotplug
        builds a root domain that is not overloaded, and a pass that starts over does not see the CPUs that it leaves out.
        """
        if self.log.machine["has_costs"] or self.at.nr_hotplugs or self.at.has_redone:
            return UNKNOWN
        waiting = {task.cpu for _, task in self.at.workload() if task.state == "waits"}
        running = {task.cpu for _, task in self.at.workload() if task.state == "runs"}
        return True if waiting & running else UNKNOWN

    def idle_passes(self, cpu):
        state = self.at.cpus[cpu]
        passes = [event for _, event in sorted(state.idle.items()) if event["t"] >= state.since]
        passes.sort(key=lambda event: event["t"])
        return {"cpu": cpu, "idle_since_ns": self.ns(state.since), "passes": [self.passed(event) for event in passes]}

    def tick(self, cpu):
        return {"cpu": cpu, "is_stopped": Unknown(lambda is_stopped: self.may_be_stopped(cpu, is_stopped)), "is_tickless": Related(lambda is_tickless, claim: is_tickless or not claim["is_stopped"])}

    def may_be_stopped(self, cpu, is_stopped):
        """Whether the next tick of a CPU agrees with the state of its tick, unless the CPU runs before."""
        latest = self.at.now + 2 * self.log.machine["tick"]
        for event in self.log.events[self.at.position :]:
            if event.get("cpu") == cpu:
                if event["e"] in ("idle_exit", "switch", "hotplug", "kernel_enter", "phase"):
                    return True
                if event["e"] == "tick":
                    return not is_stopped
        return is_stopped or latest > self.log.end

    def kick(self, cpu, is_about_passes):
        chosen = self.at.cpus[cpu].chosen
        if is_about_passes:
            if chosen is None:
                return None
            return {"cpu": cpu, "is_about_passes": True, "last_decision": None, "last_chosen": self.kicked(chosen)}
        decisions = [(state.busy_kick["t"], place) for place, state in enumerate(self.at.cpus) if state.busy_kick]
        last = self.at.cpus[max(decisions)[1]].busy_kick if decisions else None
        return {"cpu": cpu, "is_about_passes": False, "last_decision": self.kicked(last), "last_chosen": self.kicked(chosen)}

    def passes(self, cpu):
        state = self.at.cpus[cpu]
        return {"cpu": cpu, "at_ns": self.ns(self.at.now), "nr_passes": state.nr_passes,
                "passes": [self.passed(event) for event in state.passes[-KEPT_PASSES:]]}

    def domain_levels(self, cpu):
        domains = self.domains(cpu)
        if domains is None:
            return [self.rebuilt_level(cpu, level) for level in range(self.nr_levels)]
        of_level = self.at.cpus[cpu].domains
        return [{"cpu": cpu, "level": level, "domain": domain, "balance_interval_ms": One(*sorted(of_level[level].intervals)),
                 "nr_balance_failed": of_level[level].nr_failed}
                for level, domain in sorted(domains.items())]

    def rebuilt_level(self, cpu, level):
        """Returns the claim about a domain that hotplug has built, whose CPUs are not in the log."""
        online = {other for other, state in enumerate(self.at.cpus) if state.offline is None}
        is_possible = lambda domain: cpu in domain["cpus"] and len(domain["cpus"]) > 1 and online.issuperset(domain["cpus"])
        nr_passes = self.at.cpus[cpu].nr_passes
        return {"cpu": cpu, "level": Unknown(lambda reported: reported >= level), "domain": Unknown(is_possible), "balance_interval_ms": Unknown(lambda ms: ms > 0),
                "nr_balance_failed": Unknown(lambda nr: 0 <= nr <= nr_passes)}

    # Explanations: kinds in their order.

    def placement(self, number):
        return [("selection", self.selection(number)), ("former-class", self.former_class(number)),
                ("enqueue", self.enqueue(number)), ("no-selection", self.no_selection(number)),
                ("migrations", self.migrations(number))]

    def of_task(self, number):
        if number is None:
            return [("task-state", self.task_state(None))]
        task = self.at.tasks[number]
        claims = [("task-state", self.task_state(number)), *self.placement(number), ("wait", self.wait(number)),
                  ("preemption", self.preemption(number)), ("delayed-dequeue", self.delayed_dequeue(number))]
        if task.is_runnable() and self.at.rank(number) == 1:
            claims += [("pick", claim) for claim in self.pick(task.cpu)]
            if task.state == "waits" and self.log.has_servers():
                claims.append(("fair-server", self.fair_server(task.cpu)))
        return claims + [("current-task", self.current_task(number)), ("allowed-cpus", self.allowed_cpus(number)),
                         ("throttling", self.throttling(number))]

    def of_family(self, name):
        numbers = [number for number, _ in self.at.workload() if self.log.family_of(number) == name]
        if len(numbers) < 2:
            return None
        numbers.sort(key=lambda number: self.log.forks[number]["index"])
        waiting = [number for number in numbers if self.at.tasks[number].state == "waits"]
        first = min(waiting, key=lambda number: self.at.tasks[number].since) if waiting else numbers[0]
        return [("family", self.family(name, numbers)), *self.of_task(first)]

    def of_name(self, given):
        """A name can be that of a task, and of a family. A task is meant unless it is one of several of the family."""
        forks = sorted((fork for fork in self.at.forks.values()), key=lambda fork: fork["index"])
        family = [fork for fork in forks if self.log.family_of(fork["task"]) == given]
        named = [fork for fork in forks if self.log.name_of(fork["index"]) == given]
        if not named or (len(family) > 1 and named[0] in family):
            return self.of_family(given)
        return self.of_task(named[0]["task"])

    def of_cpu(self, cpu):
        state = self.at.cpus[cpu]
        claims = [("cpu-state", self.cpu_state(cpu))]
        if state.offline is not None:
            return claims
        is_idle = self.log.is_idle_task(state.current)
        if is_idle:
            claims += [("waiting-tasks", self.waiting_tasks(cpu, True)), ("waiting-tasks", self.waiting_tasks(cpu, False))]
            domains = self.domains(cpu)
            without = ("no-domain", {"cpu": cpu})
            within = [("newly-idle", self.newly_idle(cpu)), ("idle-passes", self.idle_passes(cpu)), ("tick", self.tick(cpu)),
                      ("kick", Optional(self.kick(cpu, False)))]
            if domains is None:
                # The log does not have the domains that hotplug builds.
                claims += [(kind, claim and Optional(claim)) for kind, claim in [without, *within]]
            else:
                claims += within if domains else [without]
        else:
            claims += self.placement(state.current)
            if self.at.rank(state.current) == 1:
                claims += [("pick", claim) for claim in self.pick(cpu)]
            claims.append(("waiting-tasks", self.waiting_tasks(cpu, True)))
        claims.append(("throttled-tasks", self.throttled_tasks()))
        if not is_idle and self.log.has_servers():
            claims.append(("fair-server", self.fair_server(cpu)))
        return claims

    def of_balance(self, cpu):
        claims = [("passes", self.passes(cpu))]
        levels = self.domain_levels(cpu)
        if not levels:
            claims.append(("no-domain", {"cpu": cpu}))
        return claims + [("kick", self.kick(cpu, True)), *(("domain-level", level) for level in levels)]


class Rows(list):
    """List whose rows of equal time may have any order."""


def is_scan(cpus, claim):
    """Whether a scan of a wake-up can have checked CPUs in this order: as many as the scheduler counted, none twice. A scan of single
    CPUs begins after the target, wraps once, and ends at the chosen CPU if that is idle."""
    if not cpus:
        return True
    rule, is_by_core = claim["rule"]["name"], claim["cores_scanned"] > 0
    if len(cpus) != claim["scanned"] or len(set(cpus)) < len(cpus):
        return False
    if rule == "IdleCpu" and not is_by_core:
        order = [(cpu - claim["target"] - 1) % MAX_CPUS for cpu in cpus]
        return order == sorted(order) and cpus[-1] == claim["cpu"]
    return True


class Optional(dict):
    """Claim that the log does not decide whether it is made."""


def differences(reported, expected, place="", claim=None):
    """Yields the places at which a claim, or a part of it, differs from what is expected."""
    if isinstance(expected, Unknown):
        if not expected.agrees(reported, claim):
            yield place, reported, repr(expected)
    elif isinstance(expected, dict) and isinstance(reported, dict):
        for key in reported.keys() | expected.keys():
            if key not in expected:
                yield f"{place}.{key}", reported[key], "a field without a checker"
            elif key not in reported:
                if expected[key] is not None and not isinstance(expected[key], Unknown):
                    yield f"{place}.{key}", None, expected[key]
            else:
                yield from differences(reported[key], expected[key], f"{place}.{key}", reported)
    elif isinstance(expected, Rows):
        key = lambda row: str(row.get("task", row))
        if len(reported) != len(expected):
            yield place, len(reported), len(expected)
        else:
            for one, other in zip(sorted(reported, key=key), sorted(expected, key=key)):
                yield from differences(one, other, place)
    elif isinstance(expected, list) and isinstance(reported, list):
        if len(reported) != len(expected):
            yield place, len(reported), len(expected)
        for one, other in zip(reported, expected):
            yield from differences(one, other, place)
    elif reported != expected:
        yield place, reported, expected


def check(comparison, question, claims, expected, counts):
    """Compares the claims of an explanation with the expected ones, in their order."""
    expected = [(kind, claim) for kind, claim in expected if claim is not None]
    reported = [(claim["kind"], {key: value for key, value in claim.items() if key not in ("kind", "text")}) for claim in claims]
    kinds = [kind for kind, _ in reported]
    expected = [(kind, claim) for kind, claim in expected if not (isinstance(claim, Optional) and kind not in kinds)]
    if kinds != [kind for kind, _ in expected]:
        comparison.add_claim("kinds", question, kinds, [kind for kind, _ in expected])
        return
    for (kind, claim), (_, wanted) in zip(reported, expected):
        counts[kind] += 1
        comparison.nr_compared += len(claim)
        for place, one, other in differences(claim, wanted):
            comparison.add_claim(kind + place, question, one, other)


def questions(log, seed):
    """Yields random questions: option, subject, time in ns, and what makes the expected claims."""
    dice = random.Random(f"questions {seed}")
    start, length = log.machine["t"], log.end - log.machine["t"]
    times = [event["t"] - start for event in log.events if event["t"] > start]
    forks = list(log.forks.values())
    for _ in range(QUESTIONS_PER_RUN):
        draw = dice.random()
        at = length if draw < 0.15 else dice.choice(times) if times and draw < 0.5 else dice.randrange(0, length + 1)
        kind = dice.choice(["task", "task", "task", "cpu", "cpu", "balance", "family", "name"])
        if kind == "task" and forks:
            fork = dice.choice(forks)
            number = fork["task"] if fork["t"] <= start + at else None
            yield ["--task", str(fork["pid"])], at, lambda checker, number=number: checker.of_task(number)
        elif kind == "family" and forks:
            # A family of one task is explained as the task.
            sizes = Counter(log.family_of(fork["task"]) for fork in forks)
            families = [family for family, size in sorted(sizes.items()) if size > 1]
            if families:
                family = dice.choice(families)
                yield ["--task", family], at, lambda checker, family=family: checker.of_name(family)
        elif kind == "name" and forks:
            given = log.name_of(dice.choice(forks)["index"])
            yield ["--task", given], at, lambda checker, given=given: checker.of_name(given)
        elif kind == "balance":
            cpu = dice.randrange(log.nr_cpus)
            yield ["--balance", str(cpu)], at, lambda checker, cpu=cpu: checker.of_balance(cpu)
        else:
            cpu = dice.randrange(log.nr_cpus)
            yield ["--cpu", str(cpu)], at, lambda checker, cpu=cpu: checker.of_cpu(cpu)


def read_state(path):
    """Returns the last snapshot of a trace: the runqueues and tasks by CPU and pid."""
    state = {}
    with open(path, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if line["e"] == "schedstat" and line["dom"]:
                state["cost", line["cpu"]] = line["dom"][0]["max_newidle_cost"]
            elif line["e"] in ("rq", "task"):
                state[line["e"], line["cpu" if line["e"] == "rq" else "pid"]] = line
            elif line["e"] == "lag" and line["why"] == "state":
                state["task", line["pid"]]["vr"] = line["vr"]
    return state


def audit(comparison, log, state, seed, explain):
    """Asks random questions, with `explain` as the program, and checks the answers. Returns checked claims by kind, and the
    number of answers.
    """
    counts, moment, nr_answers = Counter(), Moment(log), 0
    for option, at, expected_of in sorted(questions(log, seed), key=lambda question: question[1]):
        question = " ".join([*option, "--at", f"{at}ns"])
        answer = explain([*option, "--at", f"{at}ns"])
        moment.advance(log.machine["t"] + at)
        # A task that another one forks later does not exist yet.
        asked = option[1] if "--task" in option else None
        exists = any(asked in (str(fork["pid"]), log.family_of(fork["task"])) for fork in moment.forks.values())
        if answer is None and asked and not exists:
            continue
        if answer is None:
            comparison.add_claim("explain", question, "an error", "an explanation")
            continue
        nr_levels = sum(claim["kind"] == "domain-level" for claim in answer["claims"])
        expected = expected_of(Checker(moment, state if moment.now == log.end else None, nr_levels))
        if expected is not None:
            check(comparison, question, answer["claims"], expected, counts)
            nr_answers += 1
    return counts, nr_answers
