# SPDX-License-Identifier: GPL-2.0-or-later
"""Recomputes the first difference of two runs from their event logs: the first moment from which a CPU runs different tasks."""

# Arms of random cases, each as an arm of `compare` and as options of `run`.
ARMS = [
    ("kernel=6.1", ["--kernel", "6.1"]),
    ("base_slice_ns=500000", ["--set", "base_slice_ns=500000"]),
    ("kernel=5.15", ["--kernel", "5.15"]),
    ("NO_WAKEUP_PREEMPTION", ["--features", "NO_WAKEUP_PREEMPTION"]),
    ("NO_RUN_TO_PARITY", ["--features", "NO_RUN_TO_PARITY"]),
    ("NO_PLACE_LAG", ["--features", "NO_PLACE_LAG"]),
    ("nr_migrate=1", ["--set", "nr_migrate=1"]),
]


def states(log):
    """Returns what the CPUs run after each moment with a change: by time, the name of the task of the workload by CPU."""
    running, by_time = {}, {}
    for event in log.of("switch"):
        fork = log.forks.get(event["next"])
        is_of_workload = fork is not None and not log.specs[fork["spec"]]["is_kthread"]
        running = {**running, event["cpu"]: log.names[fork["index"]] if is_of_workload else None}
        by_time[event["t"]] = {cpu: name for cpu, name in running.items() if name is not None}
    return by_time


def first_difference(logs):
    """Returns the first difference: time from the start, and what the CPUs of each run execute from then on; None if there is none."""
    by_time = [states(log) for log in logs]
    now = [{}, {}]
    for t in sorted({*by_time[0], *by_time[1]}):
        now = [states_of.get(t, before) for states_of, before in zip(by_time, now)]
        if now[0] != now[1]:
            return t - logs[0].machine["t"], now
    return None


def check(comparison, reported, logs):
    """Compares the reported first difference of two arms with that of the event logs of their first repetition."""
    found, row = first_difference(logs), reported["first_differences"][1]
    comparison.nr_compared += 1
    if found is None or row is None:
        if (found is None) != (row is None):
            comparison.differs("comparison", "first_differences", row, found)
        return
    at, now = found
    cpus = [next((cpu for cpu, name in sorted(running.items()) if name == row["task"]), None) for running in now]
    expected = {"at_ns": at, "cpus": cpus, "is_different": True}
    found = {"at_ns": row["at_ns"], "cpus": [run["cpu"] for run in row["runs"]], "is_different": cpus[0] != cpus[1]}
    if found != expected:
        comparison.differs("comparison", "first_differences", found, expected)
