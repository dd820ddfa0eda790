# SPDX-License-Identifier: GPL-2.0-or-later
"""Recomputes responses from an event log.

A context is a set of places at which it is: a task that holds it, a unit in an object, or the way to a task that has
not run since. What becomes of a response follows from the last place that it leaves.
"""

from collections import Counter, defaultdict, deque
from itertools import count

from log import currents, periods, replay_tasks, speeds


class Context:
    """One activation. `order` compares activations: by their start, then by their beginning."""

    def __init__(self, start, number):
        self.order, self.start = (start, number), start
        self.places, self.last, self.ended, self.met_nobody = set(), None, None, False
        # The task of the last action, and what tasks took and held: lists of moments.
        self.last_task, self.taken, self.held = None, [], []

    def open_hold(self, task):
        return next((hold for hold in self.held if hold[0] == task and hold[2] is None), None)


class Holder:
    """A task, as far as one definition concerns it."""

    def __init__(self):
        self.context, self.did_something, self.runs, self.at_timer, self.waits_since = None, False, False, False, None
        self.on_the_way = []


class Definition:
    """Replays a log for one definition of a response."""

    def __init__(self, log, spec, states):
        self.log, self.spec, self.states = log, spec, states
        self.holders, self.units = defaultdict(Holder), defaultdict(deque)
        self.numbers, self.all, self.outcomes = count(), [], []
        others = [other for other in log.responses if other is not spec]
        self.foreign = {point for other in others for point in (other["point"], other["end"]) if point is not None}
        self.spec_of = {}
        self.now, self.is_counted = 0, False
        for position, event in enumerate(log.events):
            self.now, self.is_counted = event["t"], position >= log.reset_index
            handler = getattr(self, "on_" + event["e"], None)
            if handler:
                handler(event, event["t"])

    # Where contexts are.

    def place(self, context, place):
        if context is not None:
            context.places.add(place)

    def leave(self, context, place, dropped=None):
        context.places.remove(place)
        if context.places or context.ended is not None or context.last is None:
            return
        if dropped:
            outcome = ("dropped", dropped)
        elif context.met_nobody or self.spec["end"] is not None:
            outcome = ("lost", None)
        else:
            outcome = ("done", max(0, context.last - context.start))
            context.end = (context.last, context.last_task)
        self.end_with(context, *outcome)

    def end_with(self, context, kind, value):
        """Adds what has become of a response. Those that end in the warm-up do not count."""
        if self.is_counted:
            self.outcomes.append((context, kind, value))

    def put_down(self, context, index):
        hold = context.open_hold(index)
        if hold:
            hold[2] = self.now

    def drop(self, index):
        """Lets a task go on without its context."""
        holder = self.holders[index]
        context, holder.context = holder.context, None
        if context is not None:
            self.put_down(context, index)
            self.leave(context, ("task", index))

    def begin(self, index, start):
        self.drop(index)
        context = Context(start, next(self.numbers))
        self.all.append(context)
        self.place(context, ("task", index))
        holder = self.holders[index]
        holder.context, holder.did_something = context, False
        context.begun = (self.now, index)
        context.held.append([index, self.now, None])

    def touch(self, context, t, index):
        if context is not None and context.ended is None:
            context.last, context.last_task = t, index

    def do(self, index, t):
        self.holders[index].did_something = True
        self.touch(self.holders[index].context, t, index)

    def release(self, index, t):
        if index is None:
            return None
        self.do(index, t)
        return self.holders[index].context

    def take(self, index, context, place, t, release, awaited, semaphore=None):
        holder = self.holders[index]
        held = holder.context
        is_old = context.ended is not None or (held is not None and context is not held and context.order < held.order)
        if is_old:
            self.leave(context, place)
            return
        if held is not context:
            context.places.add(("task", index))
            holder.context = context
            if held is not None:
                where = None if holder.did_something else (self.log.name_of(index), semaphore)
                self.put_down(held, index)
                self.leave(held, ("task", index), where)
        holder.did_something = False
        self.touch(context, t, index)
        context.taken.append((t, index, release, awaited))
        if context.open_hold(index) is None:
            context.held.append([index, t, None])
        self.leave(context, place)

    # Events of the log.

    def on_fork(self, event, t):
        self.spec_of[event["index"]] = event["spec"]
        self.index_of = getattr(self, "index_of", {})
        self.index_of[event["task"]] = event["index"]

    def on_switch(self, event, t):
        of = getattr(self, "index_of", {})
        if event["prev"] in of:
            self.holders[of[event["prev"]]].runs = False
        if event["next"] in of:
            index = of[event["next"]]
            holder = self.holders[index]
            holder.runs = True
            arrived, holder.on_the_way = holder.on_the_way, []
            for context, place, release in arrived:
                self.take(index, context, place, t, release, True)

    def on_reached_origin(self, event, t):
        if self.spec["starts_at"] == "timer" and self.spec_of[event["index"]] in self.spec["from_origin"]:
            self.begin(event["index"], event["origin"])

    def on_worked(self, event, t):
        self.do(event["index"], t)

    def on_point(self, event, t):
        index, point = event["index"], event["point"]
        if point in self.foreign:
            return
        holder = self.holders[index]
        if point == self.spec["point"]:
            if self.spec["starts_at"] == "point":
                self.begin(index, t)
            else:
                holder.at_timer = True
            return
        holder.did_something = True
        if point == self.spec["end"] and holder.context is not None:
            context = holder.context
            if context.ended is None:
                context.ended = t
                context.end = (t, index)
                self.end_with(context, "done", max(0, t - context.start))
            self.drop(index)

    def on_reached_wait(self, event, t):
        self.holders[event["index"]].waits_since = t
        if self.holders[event["index"]].did_something:
            self.drop(event["index"])

    def on_reached_timer(self, event, t):
        index = event["index"]
        holder = self.holders[index]
        if holder.context is not None and holder.context.last is not None:
            self.touch(holder.context, t, index)
        begins, holder.at_timer = holder.at_timer, False
        if begins:
            self.begin(index, event["next"])
        else:
            self.drop(index)

    def on_put(self, event, t):
        context = self.release(event["index"], t)
        (kind, number), = event["object"].items()
        if kind == "semaphore" and number in self.spec["untaken"]:
            return
        place = ("unit", next(self.numbers))
        if context is not None:
            context.met_nobody = False
            self.place(context, place)
        self.units[kind, number].append((context, place, (event["index"], t)))

    def on_take(self, event, t):
        (kind, number), = event["object"].items()
        waiting = self.units[kind, number]
        context, place, release = waiting.popleft() if waiting else (None, None, None)
        since, self.holders[event["index"]].waits_since = self.holders[event["index"]].waits_since, None
        if context is not None:
            name = self.spec["semaphores"][number] if kind == "semaphore" else None
            self.take(event["index"], context, place, t, release, since is not None and since <= release[1], name)

    def on_hand(self, event, t):
        context = self.release(event["index"], t)
        if context is None:
            return
        if event["to"] is None:
            context.met_nobody = len(context.places) == 1
            return
        context.met_nobody = False
        place = ("way", next(self.numbers))
        self.place(context, place)
        if self.holders[event["to"]].runs:
            self.take(event["to"], context, place, t, (event["index"], t), True)
        else:
            self.holders[event["to"]].on_the_way.append((context, place, (event["index"], t)))

    def on_arrived(self, event, t):
        self.release(event["index"], t)
        if not event["is_last"]:
            self.drop(event["index"])

    def on_ended(self, event, t):
        self.drop(event["index"])

    # Results.

    def row(self):
        log, deadline = self.log, self.spec["deadline"]
        counted = [outcome for outcome in self.outcomes if outcome[0].start >= log.from_t]
        done = [(time, False) for _, kind, time in counted if kind == "done"]
        opened = [
            (log.end - context.start, True) for context in self.all
            if context.places and context.ended is None and log.from_t <= context.start < log.end
        ]
        gone = [(context, kind, where) for context, kind, where in counted if kind != "done"]
        ranked, number = sorted(done + opened), len(done) + len(opened) + len(gone)
        at = lambda rank: ranked[max(rank, 1) - 1] if max(rank, 1) <= len(ranked) else (None, False)
        rank_of = {"min_ns": 1, "p50_ns": -(-number // 2), "p90_ns": -(-number * 9 // 10), "p99_ns": -(-number * 99 // 100), "max_ns": number}
        time = {member: at(rank)[0] for member, rank in rank_of.items()}
        bounds = {member: at(rank)[1] for member, rank in rank_of.items()}
        has_mean = number > 0 and not gone
        time["mean_ns"] = sum(value for value, _ in ranked) // number if has_mean else None
        bounds["mean_ns"] = has_mean and bool(opened)
        dropped = defaultdict(int)
        for _, kind, where in gone:
            if kind == "dropped":
                dropped[where] += 1
        row = {
            "count": number, "open": len(opened), "lost": sum(kind == "lost" for _, kind, _ in gone),
            "dropped": sum(kind == "dropped" for _, kind, _ in gone),
            "dropped_at": {where: {"count": nr} for where, nr in dropped.items()},
            "time": {**time, "lower_bounds": bounds},
        }
        if deadline is not None:
            late = sum(value > deadline for value, _ in ranked)
            row["late"] = late + sum(context.start + deadline < log.end for context, _, _ in gone)
        ended = [(context, time) for context, kind, time in counted if kind == "done"]
        is_slow = lambda time: deadline is not None and time > deadline
        paths = [(self.states.path(context), is_slow(time)) for context, time in ended]
        for (context, time), (path, _) in zip(ended, paths):
            assert sum(path.values()) == time, f"the path of {context.start} has {sum(path.values())} of {time} ns"
        if ended:
            row["longest"] = {"ns": max(time for _, time in ended)}
        if paths:
            row["parts"] = parts_of(path for path, _ in paths)
        slow = [path for path, is_late in paths if is_late]
        if slow:
            row["late_parts"] = parts_of(slow)
        behind = Counter()
        for path in slow if deadline is not None else [path for path, _ in paths]:
            behind.update({kind[1]: ns for kind, ns in path.items() if isinstance(kind, tuple)})
        row["behind"] = {family: {"ns": ns} for family, ns in behind.items() if ns}
        return row


PARTS = ["running", "slow", "cpu", "idle_exit", "quota", "mutex", "object", "queue", "sleep", "interrupt", "kernel", "other"]


def parts_of(paths):
    """Returns the sums of the parts of paths. A wait behind a family has the kind `("behind", family)`."""
    total = Counter()
    for path in paths:
        for kind, ns in path.items():
            total["cpu" if isinstance(kind, tuple) else kind] += ns
    return {f"{part}_ns": total[part] for part in PARTS}


class States:
    """States of tasks and CPUs of a run, and the paths of contexts through them."""

    def __init__(self, log):
        self.log = log
        self.tasks = replay_tasks(log)
        self.reasons = {}
        reasons = {"reached_wait": "object", "reached_lock": "mutex", "reached_sleep": "sleep", "reached_timer": "timer",
                   "reached_origin": "timer", "arrived": "object"}
        for event in log.of(*reasons):
            if not event.get("is_last"):
                self.reasons.setdefault(event["index"], []).append((event["t"], reasons[event["e"]]))
        cpus = range(log.nr_cpus)
        self.currents = {cpu: currents(log, cpu) for cpu in cpus}
        self.speeds = {cpu: speeds(log, cpu) for cpu in cpus}
        lost = {cpu: [(event["t"] - event["took"], event["t"]) for event in log.of("lost") if event["cpu"] == cpu] for cpu in cpus}
        kernel = {cpu: [(start, end) for start, end, _ in periods(log, cpu, "kernel_enter", "kernel_exit")] for cpu in cpus}
        self.lost, self.kernel = lost, kernel
        # CPUs of tasks, from a time on.
        self.moves = defaultdict(list)
        for event in log.of("wakeup", "migrate", "switch"):
            if event["e"] == "switch":
                self.moves[event["prev"]].append((event["t"], event["cpu"]))
                self.moves[event["next"]].append((event["t"], event["cpu"]))
            else:
                self.moves[event["task"]].append((event["t"], event["cpu"] if event["e"] == "wakeup" else event["to"]))

    def blocked(self, index, start):
        """Returns the subject of a block that begins at a time: that of the task's last event before."""
        subjects = self.reasons.get(index, [])
        place = len(subjects)
        while place and subjects[place - 1][0] > start:
            place -= 1
        return subjects[place - 1][1] if place else "object"

    def intervals(self, index, start, end):
        """Returns the states of a task of the machine in an interval, with its last CPU."""
        last_cpu = 0
        for begin, until, state, cpu in self.tasks[self.log.task_of_index[index]].intervals:
            last_cpu = last_cpu if cpu is None else cpu
            low, high = max(begin, start), min(until, end)
            if high > low:
                yield low, high, state, last_cpu, begin

    def path(self, context):
        """Returns the parts of a context's path."""
        parts = Counter()
        self.start = context.start
        (t, task), place = context.end, len(context.taken)
        while place > 0:
            place -= 1
            at, taker, release, awaited = context.taken[place]
            if taker != task or at > t:
                continue
            self.held(parts, task, at, t)
            before = [at if end is None else min(end, at) for holder, start, end in context.held if holder == task and start < at]
            if awaited:
                self.came(parts, task, release[1], at)
            elif before and before[-1] > release[1]:
                parts["queue"] += max(at, self.start) - max(before[-1], self.start)
                t = before[-1]
                continue
            else:
                parts["queue"] += max(at, self.start) - max(release[1], self.start)
            task, t = release
        begun = min(max(context.begun[0], context.start), t)
        self.held(parts, task, begun, t)
        parts["queue"] += max(0, begun - context.start)
        return parts

    def held(self, parts, index, start, end):
        for low, high, state, cpu, begin in self.intervals(index, max(start, self.start), end):
            if state != "blocked":
                self.runnable(parts, state, index, low, high)
                continue
            reason = self.blocked(index, begin)
            if reason == "timer":
                self.delayed(parts, cpu, low, high)
            else:
                parts[reason] += high - low

    def came(self, parts, index, start, end):
        for low, high, state, _, _ in self.intervals(index, max(start, self.start), end):
            if state in ("blocked", "new"):
                parts["kernel"] += high - low
            else:
                self.runnable(parts, state, index, low, high)

    def runnable(self, parts, state, index, low, high):
        if state == "running":
            cpu = next(cpu for a, b, _, cpu, _ in self.intervals(index, low, high))
            self.ran(parts, cpu, low, high)
        elif state == "waiting":
            for a, b, cpu in self.queues(index, low, high):
                self.delayed(parts, cpu, a, b)
        else:
            parts["quota" if state == "throttled" else "other"] += high - low

    def queues(self, index, low, high):
        """Returns the CPUs on whose runqueue a task was in an interval."""
        task, cpu, since = self.log.task_of_index[index], None, low
        for event in self.moves.get(task, []):
            if event[0] >= high:
                break
            if event[0] > since:
                if cpu is not None:
                    yield since, event[0], cpu
                since = event[0]
            cpu = event[1]
        if high > since:
            yield since, high, cpu

    def delayed(self, parts, cpu, low, high):
        log = self.log
        for start, end, task, _ in self.currents[cpu]:
            time = min(end, high) - max(start, low)
            if time > 0:
                idle = log.is_idle_task(task)
                parts["idle_exit" if idle else ("behind", "" if log.is_stopper(task) else log.family_of(task) or "")] += time

    def ran(self, parts, cpu, low, high):
        inside = lambda spans, low, high: [(max(a, low), min(b, high)) for a, b in spans if min(b, high) > max(a, low)]
        length = lambda spans: sum(b - a for a, b in spans)
        lost, kernel = inside(self.lost[cpu], low, high), inside(self.kernel[cpu], low, high)
        both = length([span for a, b in kernel for span in inside(lost, a, b)])
        parts["interrupt"] += length(lost)
        parts["kernel"] += length(kernel) - both
        own = (high - low) - length(lost) - length(kernel) + both
        full = own
        if self.log.machine["scale_work"]:
            work = 0
            for start, end, (_, part) in self.speeds[cpu]:
                a, b = max(start, low), min(end, high)
                if b > a:
                    away = [*inside(lost, a, b), *inside(kernel, a, b)]
                    twice = length([span for x, y in inside(kernel, a, b) for span in inside(lost, x, y)])
                    work += (b - a - length(away) + twice) * part * self.log.cpus[cpu]["capacity"]
            full = min(work >> 20, own)
        parts["running"] += full
        parts["slow"] += own - full


def definitions(log):
    """Returns the definitions of a run, replayed."""
    states = States(log) if log.responses else None
    return [Definition(log, spec, states) for spec in log.responses]


def of_run(log):
    """Returns the responses of a run by their names."""
    return {definition.spec["name"]: definition.row() for definition in definitions(log)}


def check_path(comparison, definition, claim):
    """Compares the path of a response that `fairlab explain` reports with the recomputed one."""
    context, place = definition.all[claim["number"] - 1], f"{claim['response']} {claim['number']}"
    start, ended = context.start - definition.log.machine["t"], hasattr(context, "end")
    gone = not context.places and not ended
    state = "ended" if ended else "gone" if gone else "not-ended"
    expected = {"start_ns": start, "state": state, "segments": None}
    found = {**{key: claim[key] for key in ("start_ns", "state")}, "segments": None}
    if ended:
        path, segments = definition.states.path(context), claim["segments"]
        expected["segments"] = parts_of([path])
        found["segments"] = {f"{part}_ns": sum(segment["parts"][f"{part}_ns"] for segment in segments) for part in PARTS}
        edges = [segment["from_ns"] for segment in segments] + [segment["to_ns"] for segment in segments][-1:]
        is_whole = all(a["to_ns"] == b["from_ns"] for a, b in zip(segments, segments[1:]))
        if not is_whole or (edges and (edges[0] != start or edges[-1] - edges[0] != claim["length_ns"])):
            comparison.add_claim("response-path", place, edges, "segments without gaps from the start to the end")
    if found != expected:
        comparison.add_claim("response-path", place, found, expected)
