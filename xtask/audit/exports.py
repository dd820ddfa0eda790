# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads exported traces back, and compares their events with those of the event log."""

import re
from collections import Counter

import polars as pl

FIRST_STOPPER_PID = 100_000
LINE = re.compile(r"^ *.{16}-\d+ +\[(\d+)\](?: \S{4,})? +(\d+)\.(\d{9}): (\w+): (.*)$")
FIELD = re.compile(r"(\w+)=(\S+)")


class Pids:
    """Process IDs of the scheduler's tasks in exported traces."""

    def __init__(self, log):
        self.log = log

    def of(self, task):
        if self.log.is_idle_task(task):
            return 0
        if self.log.is_stopper(task):
            return FIRST_STOPPER_PID + task - self.log.nr_cpus
        fork = self.log.forks.get(task)
        return fork["pid"] if fork else 1


def expected(log):
    """Returns the rows of each table, from the log."""
    pids = Pids(log)
    return {
        "switches": [
            (event["t"], event["cpu"], pids.of(event["prev"]), pids.of(event["next"]), event["state"])
            for event in log.of("switch")
        ],
        "wakeups": [
            (event["t"], event["on"], pids.of(event["task"]), event["cpu"], int(event["new"]))
            for event in log.of("wakeup")
        ],
        "migrations": [
            (event["t"], event["on"], pids.of(event["task"]), event["from"], event["to"])
            for event in log.of("migrate")
        ],
        "ipis": [(event["t"], event["on"], event["cpu"]) for event in log.of("ipi")],
        "kicks": [
            (event["t"], event["cpu"], event["reason"], event["flags"], int(event["kicked"]))
            for event in log.of("kick")
        ],
        "selections": [
            (event["t"], event["waker"], pids.of(event["task"]), event["prev"], event["cpu"], event["rule"],
             event["scanned"])
            for event in log.of("selection")
        ],
        "passes": [
            (event["t"], event["on"], event["cpu"], event["level"], event["verdict"], event["scanned"], event["moved"])
            for event in log.of("pass")
        ],
    }


COLUMNS = {
    "switches": ["t_ns", "cpu", "prev_pid", "next_pid", "prev_state"],
    "wakeups": ["t_ns", "cpu", "pid", "target_cpu", "is_new"],
    "migrations": ["t_ns", "cpu", "pid", "orig_cpu", "dest_cpu"],
    "ipis": ["t_ns", "cpu", "target_cpu"],
    "kicks": ["t_ns", "cpu", "reason", "flags", "kicked"],
    "selections": ["t_ns", "cpu", "pid", "prev_cpu", "chosen_cpu", "rule", "nr_scanned"],
    "passes": ["t_ns", "cpu", "dst_cpu", "level", "verdict", "nr_scanned", "nr_moved"],
}


def read_csv(directory):
    """Returns the rows of each table of a `csv` export."""
    tables = {}
    for name, columns in COLUMNS.items():
        # A table without rows has no file.
        if not (directory / f"{name}.csv").exists():
            tables[name] = []
            continue
        frame = pl.read_csv(directory / f"{name}.csv", columns=columns, infer_schema_length=None)
        tables[name] = frame.select(columns).rows()
    return tables


def read_ftrace(path):
    """Returns the rows of the tables that an `ftrace` export has."""
    with open(path, encoding="utf-8") as lines:
        return read_lines(lines)


def read_lines(lines, states=None):
    """Returns the rows in lines of a trace; `states` maps numbers of task states to letters."""
    tables = {"switches": [], "wakeups": [], "migrations": []}
    for line in lines:
        match = LINE.match(line)
        if not match:
            continue
        cpu, seconds, ns, event, rest = match.groups()
        t, fields = int(seconds) * 10**9 + int(ns), dict(FIELD.findall(rest))
        if event == "sched_switch":
            state = states[int(fields["prev_state"])] if states else fields["prev_state"]
            tables["switches"].append((t, int(cpu), int(fields["prev_pid"]), int(fields["next_pid"]), state))
        elif event in ("sched_wakeup", "sched_wakeup_new"):
            row = (t, int(cpu), int(fields["pid"]), int(fields["target_cpu"]), int(event == "sched_wakeup_new"))
            tables["wakeups"].append(row)
        elif event == "sched_migrate_task":
            row = (t, int(cpu), int(fields["pid"]), int(fields["orig_cpu"]), int(fields["dest_cpu"]))
            tables["migrations"].append(row)
    return tables


def compare(comparison, log, tables, format_name):
    """Compares the rows of an export with those of the log, in any order."""
    for name, rows in expected(log).items():
        if name not in tables:
            continue
        own, read = Counter(rows), Counter(tables[name])
        comparison.nr_compared += len(rows) * len(COLUMNS[name])
        for row in list((own - read).elements())[:3]:
            comparison.differs(f"export {format_name}", name, "absent", row)
        for row in list((read - own).elements())[:3]:
            comparison.differs(f"export {format_name}", name, str(row), "absent")
