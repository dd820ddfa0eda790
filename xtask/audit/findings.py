# SPDX-License-Identifier: GPL-2.0-or-later
"""Recomputes findings that follow from events: rule and task family with count, total and worst duration.

Rules that sample the scheduler's state (averages, affinity) are not in the event log.
"""

from collections import defaultdict

from log import replay_tasks

MS = 1_000_000
STARVATION, LATENCY, BACK_WITHIN = 500 * MS, 10 * MS, MS

SAMPLED = {
    "idle-while-waiting": "the tasks' affinity is sampled",
    "misfit-left": "the scheduler's estimates of utilisation are sampled",
    "frequency-low": "the scheduler's estimates of utilisation are sampled",
    "unfair-share": "the tasks' affinity and groups are sampled",
}


class Occurrences:
    def __init__(self):
        self.durations = []

    def row(self):
        return {"count": len(self.durations), "total_ns": sum(self.durations), "worst_ns": max(self.durations)}


def waits(log):
    """Returns the findings about waits for a CPU or for runtime, by rule and family."""
    found = defaultdict(Occurrences)
    woken_at = {}

    def on(kind, event, task):
        number = event.get("next") if kind == "in" else event.get("task")
        if kind == "wakeup" and not task.is_runnable():
            woken_at[number] = None if event["new"] else event["t"]
        elif kind == "throttling":
            # Until now the task waited for a CPU; the time from now on is no wait for a CPU alone.
            began = woken_at.pop(number, None)
            if task.state == "waiting":
                late(number, began, event["t"], event)
        elif kind == "in":
            began = woken_at.pop(number, None)
            if task.state == "waiting":
                late(number, began, event["t"], event)

    counted = {id(event) for event in log.counted}

    def late(number, began, t, event):
        family = log.family_of(number)
        if began is not None and t - began > LATENCY and family and (event is None or id(event) in counted):
            found["late-wakeup", family].durations.append(t - began)

    tasks = replay_tasks(log, on)
    for number in log.forks:
        last = None
        for start, end, state, _ in tasks[number].intervals:
            length, family = log.cut(start, end), log.family_of(number)
            if end < log.from_t or (end == log.from_t and start < end):
                continue
            if state == "waiting" and length > STARVATION:
                found["starvation", family].durations.append(length)
            if state == "throttled" and length > LATENCY:
                found["throttled", family].durations.append(length)
            last = state
        if last == "waiting":
            late(number, woken_at.get(number), log.end, None)
    return found


def ping_pong(log):
    """Returns the quick returns of the tasks that returned often, by family."""
    last, returns = {}, defaultdict(int)
    for event in log.of("migrate", counted=True):
        number = event["task"]
        before = last.get(number)
        if before and before["from"] == event["to"] and event["t"] - before["t"] <= BACK_WITHIN:
            returns[number] += 1
        last[number] = event
    families = defaultdict(int)
    for number, count in returns.items():
        is_often = count >= 20 and count * 1_000_000_000 > 50 * max(log.end - log.from_t, 1)
        if is_often and log.family_of(number):
            families[log.family_of(number)] += count
    return families


def wasted_kicks(log):
    """Returns the number of kicks that moved no task, None if they were few or moved enough."""
    pending, kicks, with_moves = set(), 0, 0
    for event in log.of("kick", "pass", counted=True):
        if event["e"] == "kick":
            if event["kicked"] and event["flags"] & 1 and event["target"] is not None:
                kicks += 1
                pending.add(event["target"])
        elif event["moved"] > 0 and event["on"] in pending:
            pending.remove(event["on"])
            with_moves += 1
    return kicks - with_moves if kicks >= 100 and with_moves * 50 < kicks else None


def of_run(log, families):
    """Returns the findings by rule and family; the family is None for rules about the machine."""
    rows = {key: occurrences.row() for key, occurrences in waits(log).items()}
    for family, count in ping_pong(log).items():
        rows["ping-pong", family] = {"count": count, "total_ns": 0, "worst_ns": 0}
    wasted = wasted_kicks(log)
    if wasted is not None:
        rows["vain-kicks", None] = {"count": wasted, "total_ns": 0, "worst_ns": 0}
    for family, row in families.items():
        if row["timers"] and row["timers"]["missed"] > 0:
            rows["timer-missed", family] = {"count": row["timers"]["missed"], "total_ns": 0, "worst_ns": 0}
    return rows
