# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares exported traces as `trace-cmd` and `perf` read them with the event log and with each other."""

import re
import shutil
import subprocess
from collections import Counter, defaultdict

import exports
from log import replay_tasks

STATES = {0: "R", 1: "S", 2: "D", 16: "X"}
# comm:pid | run time ms | switches | avg: ms | max: ms
ROW = re.compile(r"^ *\S.*?:(\d+) +\| +([\d.]+) ms \| +(\d+) \| avg: *([\d.]+) ms \| max: *([\d.]+) ms")
# `perf sched latency` prints us.
HALF_UNIT_NS = 501


def tools():
    """Returns the installed programs, each with the option that makes `fairlab run` write its input."""
    wanted = {"trace-cmd": ["trace-dat=trace.dat"], "perf": ["perf=perf.data", "proc-sched=tasks"]}
    installed = [tool for tool in wanted if shutil.which(tool)]
    return installed, [word for tool in installed for format_name in wanted[tool] for word in ("--export", format_name)]


def output(arguments, directory):
    return subprocess.run(arguments, cwd=directory, capture_output=True, text=True, timeout=600, check=True).stdout


def compare(comparison, log, directory, installed):
    if "trace-cmd" in installed:
        report = output(["trace-cmd", "report", "-t", "-R", "trace.dat"], directory)
        exports.compare(comparison, log, exports.read_lines(report.splitlines(), STATES), "trace-cmd")
    if "perf" in installed:
        compare_perf(comparison, log, output(["perf", "sched", "latency", "-p", "-i", "perf.data"], directory), directory)


def compare_perf(comparison, log, text, directory):
    """Compares run times with those of /proc/PID/sched, and delays with the waits of the log."""
    rows = {int(row[1]): row for row in filter(None, map(ROW.match, text.splitlines()))}
    delays, throttled = waits(log)
    for task, fork in log.forks.items():
        row = rows.get(fork["pid"])
        path = directory / "tasks" / str(fork["pid"]) / "sched"
        # perf leaves out tasks that never waited.
        if row is None and not delays[task]:
            continue
        if row is None or not path.exists():
            comparison.differs("perf sched latency", log.family_of(task), "absent", len(delays[task]))
            continue
        run_ms = float(re.search(r"se.sum_exec_runtime +: +([\d.]+)", path.read_text(encoding="utf-8"))[1])
        checks = [("run time", float(row[2]) * 1e6, run_ms * 1e6, HALF_UNIT_NS)]
        if task not in throttled:
            own, nr = delays[task], int(row[3])
            checks.append(("switches", nr, len(own), 0))
            checks.append(("delay", float(row[4]) * 1e6 * nr, sum(own), (nr + 1) * HALF_UNIT_NS))
            checks.append(("longest delay", float(row[5]) * 1e6, max(own, default=0), HALF_UNIT_NS))
        for what, read, exact, slack in checks:
            comparison.nr_compared += 1
            if abs(read - exact) > slack:
                comparison.differs(f"perf sched latency, {what}", log.family_of(task), read, exact)


def waits(log):
    """Returns the times from each wake-up or preemption of a task to its next run, and the throttled tasks."""
    delays = defaultdict(list)
    throttled = {event["task"] for event in log.of("throttling")}
    for task, state in replay_tasks(log).items():
        before = None
        for start, end, kind, _ in state.intervals:
            if kind == "running" and before is not None:
                delays[task].append(before)
            before = end - start if kind == "waiting" else None
    return delays, throttled
