# SPDX-License-Identifier: GPL-2.0-or-later
"""Recomputes responses from an event log.

A context is a set of places at which it is: a task that holds it, a unit in an object, or the way to a task that has
not run since. What becomes of a response follows from the last place that it leaves.
"""

from collections import defaultdict, deque
from itertools import count


class Context:
    """One activation. `order` compares activations: by their start, then by their beginning."""

    def __init__(self, start, number):
        self.order, self.start = (start, number), start
        self.places, self.last, self.ended, self.met_nobody = set(), None, None, False


class Holder:
    """A task, as far as one definition concerns it."""

    def __init__(self):
        self.context, self.did_something, self.runs, self.at_timer = None, False, False, False
        self.on_the_way = []


class Definition:
    """Replays a log for one definition of a response."""

    def __init__(self, log, spec):
        self.log, self.spec = log, spec
        self.holders, self.units = defaultdict(Holder), defaultdict(deque)
        self.numbers, self.all, self.outcomes = count(), [], []
        others = [other for other in log.responses if other is not spec]
        self.foreign = {point for other in others for point in (other["point"], other["end"]) if point is not None}
        self.spec_of = {}
        for event in log.events:
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
            outcome = ("done", context.last - context.start)
        self.outcomes.append((context, *outcome))

    def drop(self, index):
        """Lets a task go on without its context."""
        holder = self.holders[index]
        context, holder.context = holder.context, None
        if context is not None:
            self.leave(context, ("task", index))

    def begin(self, index, start):
        self.drop(index)
        context = Context(start, next(self.numbers))
        self.all.append(context)
        self.place(context, ("task", index))
        holder = self.holders[index]
        holder.context, holder.did_something = context, False

    def touch(self, context, t):
        if context is not None and context.ended is None:
            context.last = t

    def do(self, index, t):
        self.holders[index].did_something = True
        self.touch(self.holders[index].context, t)

    def release(self, index, t):
        if index is None:
            return None
        self.do(index, t)
        return self.holders[index].context

    def take(self, index, context, place, t, semaphore=None):
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
                self.leave(held, ("task", index), where)
        holder.did_something = False
        self.touch(context, t)
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
            for context, place in arrived:
                self.take(index, context, place, t)

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
                self.outcomes.append((context, "done", max(0, t - context.start)))
            self.drop(index)

    def on_reached_wait(self, event, t):
        if self.holders[event["index"]].did_something:
            self.drop(event["index"])

    def on_reached_timer(self, event, t):
        index = event["index"]
        holder = self.holders[index]
        if holder.context is not None and holder.context.last is not None:
            self.touch(holder.context, t)
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
        self.units[kind, number].append((context, place))

    def on_take(self, event, t):
        (kind, number), = event["object"].items()
        waiting = self.units[kind, number]
        context, place = waiting.popleft() if waiting else (None, None)
        if context is not None:
            name = self.spec["semaphores"][number] if kind == "semaphore" else None
            self.take(event["index"], context, place, t, name)

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
            self.take(event["to"], context, place, t)
        else:
            self.holders[event["to"]].on_the_way.append((context, place))

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
        return row


def of_run(log):
    """Returns the responses of a run by their names."""
    return {spec["name"]: Definition(log, spec).row() for spec in log.responses}
