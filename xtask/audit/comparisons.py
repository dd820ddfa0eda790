# SPDX-License-Identifier: GPL-2.0-or-later
"""Recomputes what `fairlab compare --json` reports of its runs: values of metrics, by arm and repetition."""

import re
import statistics

from compare import are_equal
from metrics import Near

# Comparisons: file of the project, length, one arm as an option of `run`, the same as an arm.
RUNS = [
    ("scenarios/eight-cpus.scn", "100ms", ["--features", "NO_WAKEUP_PREEMPTION"], "NO_WAKEUP_PREEMPTION"),
    ("scenarios/hello.json", "100ms", ["--governor", "performance"], "governor=performance"),
    ("scenarios/energy-aware.json", "100ms", ["--kernel", "5.4"], "kernel=5.4"),
    ("scenarios/fork-spread.scn", "60ms", ["--set", "migration_cost_ns=0"], "migration_cost_ns=0"),
]
REPETITIONS = 4
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]*) \| `([^`]+)`(?: / `([^`]+)`)? \|$", re.M)
STEP = re.compile(r"(\w+)(?:\[(\w+)=([^\]]+)\])?")


def read_names(page):
    """Returns the paths of metrics with short names: value, and divisor or None."""
    with open(page, encoding="utf-8") as text:
        part = text.read().split("## Short names")[1].split("## All metrics")[0]
    rows = ROW.findall(part)
    return {name: (path, divisor or None) for name, runs, _, path, divisor in rows if runs.strip() != "benchmarks"}


def lookup(metrics, path):
    """Returns the recomputed value at a path such as `families[name=a].wait_ns`."""
    value = metrics
    for name, _, key in STEP.findall(path):
        if value is None:
            return None
        value = value.get(name)
        if key and value is not None:
            value = value.get(key)
    return value


def value_of(metrics, name, names):
    """Returns the recomputed value of a metric with a short name; None if it has none."""
    family, _, rest = name.partition(": ")
    path, divisor = names[f"FAMILY: {rest}"] if rest else names[name]
    value = lookup(metrics, path.replace("FAMILY", family))
    if divisor is None or value is None:
        return value
    by = lookup(metrics, divisor)
    return value / by if by else None


def check(comparison, reported, by_arm, names):
    """Compares the rows of a comparison with the recomputed metrics of each arm's repetitions."""
    table = reported["comparison"]
    for row in table["rows"]:
        for arm, metrics in zip(row["arms"], by_arm):
            values = [value_of(run, row["name"], names) for run in metrics]
            place = row["name"]
            for reported_value, value in zip(arm["runs"], values, strict=True):
                compare_leaf(comparison, place, reported_value, value)
            of_all = statistics.fmean if table["statistic"] == "mean" else statistics.median
            # The summary is that of the reported values, which have three digits if they are quantiles.
            compare_leaf(comparison, place, arm["value"], float(of_all(arm["runs"])))
            compare_leaf(comparison, place, arm["deviation"], Near(statistics.stdev(arm["runs"]), 1e-6 * abs(arm["deviation"]) + 1e-9))


def compare_leaf(comparison, place, reported, recomputed):
    comparison.nr_compared += 1
    if not are_equal(reported, recomputed):
        comparison.differs("comparison", place, reported, recomputed)
