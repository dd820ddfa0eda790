# SPDX-License-Identifier: GPL-2.0-or-later
"""Recomputes findings that follow from events: rule and task family with count, total and worst duration.

Here are waits and deadlines, which several rules share; other rules are in `rules`. Findings that depend on samples of the
scheduler's state (averages, affinity) are recomputed by `sampled.py`.
"""

import re
from collections import defaultdict

import registry
from log import replay_tasks

MS = 1_000_000
STARVATION, LATENCY = 500 * MS, 10 * MS

# Time between the block of a task, as the machine counts it, and the switch to the next task.
BLOCK_NS = MS


class AtMost:
    """Number of a finding that may be absent, because the log does not have all of its conditions."""

    exact = 0

    def __init__(self, most):
        self.most = most

    def agrees(self, reported):
        return 0 < reported <= self.most

    def __repr__(self):
        return f"at most {self.most}"


class Occurrences:
    def __init__(self):
        self.durations = []

    def row(self, start):
        # The first one of the longest. One that has not ended comes last.
        ns, is_open, end, _ = min(self.durations, key=lambda wait: (-wait[0], wait[2], wait[1]))
        total, last = sum(wait[0] for wait in self.durations), max(wait[2] for wait in self.durations)
        return {"count": len(self.durations), "total_ns": total, "worst_ns": ns, "is_open": is_open, "last_ns": last - start,
                "at_ns": end - start - 1}

    def worst_tasks(self):
        """Returns the tasks with the worst occurrence: several, if theirs are equal and end at the same time."""
        first = min(self.durations, key=lambda wait: (-wait[0], wait[2], wait[1]))
        return {wait[3] for wait in self.durations if wait[:3] == first[:3]}


def deadlines(log):
    """Returns the deadline of each task that is always a deadline task, and the tasks that are one at times."""
    priorities = defaultdict(set)
    for event in log.of("prio"):
        number = event["task"]
        if number in log.forks and event["t"] == log.forks[number]["t"]:
            # A deadline task is forked as a fair one and gets its policy at the same time.
            priorities[number].clear()
        priorities[number].add(event["prio"] < 0)
    always, at_times = {}, set()
    for number, are_deadline in priorities.items():
        fork = log.forks.get(number)
        policy = (fork and log.specs[fork["spec"]]["policy"]) or ""
        found = re.match(r"Deadline .*deadline: Nanos\((\d+)\)", policy)
        changes = [event for event in log.of("changed") if fork and event["index"] == fork["index"]]
        changes = [event for event in changes if "olicy" in event["what"]]
        if are_deadline == {True} and found and not changes:
            always[number] = int(found[1])
        elif True in are_deadline:
            at_times.add(number)
    return always, at_times


def waits(log):
    """Returns the findings about waits and deadlines, by rule and family, and those that are unclear."""
    found = defaultdict(Occurrences)
    deadline_of, at_times = deadlines(log)
    counted = {id(event) for event in log.counted}
    jobs = {}

    def on(kind, event, task):
        if kind == "wakeup" and not task.is_runnable():
            jobs[event["task"]] = None if event["new"] else event["t"]
        elif kind == "in" and task.state == "waiting":
            late(event["next"], task.queued_at(event["t"]), False, event)
        elif kind == "out" and event["state"] != "R":
            since, deadline = jobs.pop(event["prev"], None), deadline_of.get(event["prev"])
            if since is not None and deadline is not None and event["t"] - since > deadline and id(event) in counted:
                family = log.family_of(event["prev"])
                found["deadline-missed", family].durations.append((event["t"] - since - deadline, False, event["t"], event["prev"]))

    def late(number, queued, is_open, event):
        family = log.family_of(number)
        is_late = queued is not None and queued > deadline_of.get(number, LATENCY)
        if is_late and family and (event is None or id(event) in counted):
            found["late-wakeup", family].durations.append((queued, is_open, log.end if event is None else event["t"], number))

    tasks = replay_tasks(log, on)
    for number in log.forks:
        task, family = tasks[number], log.family_of(number)
        for place, (start, end, state, _) in enumerate(task.intervals):
            length, is_open = log.cut(start, end), place == len(task.intervals) - 1
            if end < log.from_t or (end == log.from_t and start < end):
                continue
            if state == "waiting" and length > STARVATION:
                found["starvation", family].durations.append((length, is_open, end, number))
            if state == "throttled" and length > LATENCY:
                found["throttled", family].durations.append((length, is_open, end, number))
        if task.state_at_end == "waiting":
            late(number, task.queued_at_end, True, None)
    families = {log.family_of(number) for number in at_times}
    return found, {(rule, family) for rule in ("late-wakeup", "deadline-missed") for family in families}


def rows_of_waits(rule):
    """Returns the function that returns the findings of a rule about waits or deadlines, by family."""
    def rows(log, _families):
        return {family: found.row(log.machine["t"]) for (name, family), found in log.found_waits.items() if name == rule}

    return rows


def of_run(log, families):
    """Returns the findings by rule and family, and those that are unclear; the family is None for the machine."""
    found, unclear = waits(log)
    log.found_waits = {key: occurrences for key, occurrences in found.items() if key not in unclear}
    rows = {}
    for rule in registry.RULES:
        of_rule = rule.rows(log, families) if rule.rows else {}
        rows.update(((rule.name, family), row) for family, row in of_rule.items())
    return rows, unclear
