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
    rows = [row for row in ROW.findall(part) if row[1].strip() != "benchmarks"]
    return {name: (path, divisor or None, unit.strip()) for name, _, unit, path, divisor in rows}


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


# Sums that consist of the parts of families, and units of work with the amounts that they are counted by.
PARTS = {"energy, busy": ("residency", "energy_uj"), "CPU time": ("run_ns",), "waiting": ("wait_ns",), "throttled": ("throttled_ns",)}
AMOUNTS = {"loop": ("loops", 1), "activation": ("activations", 1), "second at full speed": ("full_speed_ns", 1e9)}


class Work:
    """Amounts of work of the families, in the first arm's runs and in others."""

    def __init__(self, by_arm):
        self.kinds = {}
        for run in (run for runs in by_arm for run in runs):
            for name, family in run["families"].items():
                done = [unit for unit, (amount, _) in AMOUNTS.items() if (family["work"].get(amount) or 0) > 0]
                if done and not family["is_kthread"]:
                    best = min(done, key=list(AMOUNTS).index)
                    self.kinds[name] = min(best, self.kinds.get(name, best), key=list(AMOUNTS).index)
        self.first = {
            name: statistics.fmean(self.amount(run, name) or 0 for run in by_arm[0]) for name in self.kinds
        }

    def amount(self, run, name):
        family = run["families"].get(name)
        return family and family["work"].get(AMOUNTS[self.kinds[name]][0])

    def part(self, run, name, path):
        value = run["families"].get(name)
        for key in path:
            value = value and value.get(key)
        return value or 0

    def at_equal_work(self, run, name, total):
        """Returns a sum with the amounts of the first arm."""
        others = total - sum(self.part(run, family, PARTS[name]) for family in self.kinds)
        scaled = (
            self.part(run, family, PARTS[name]) * amount / self.amount(run, family)
            for family, amount in self.first.items()
            if amount > 0
        )
        return others + sum(scaled)

    def per_unit(self, run, family, name, unit):
        return self.part(run, family, PARTS[name]) / (self.amount(run, family) / AMOUNTS[unit][1])


def value_of(metrics, name, names, work):
    """Returns the recomputed value of a metric with a short name; None if it has none."""
    sum_name, is_equal, _ = name.partition(" at equal work")
    if is_equal:
        return work.at_equal_work(metrics, sum_name, value_of_sum(metrics, sum_name, names))
    family, _, rest = name.rpartition(": ")
    sum_name, _, unit = rest.partition(" / ")
    if unit in AMOUNTS:
        return work.per_unit(metrics, family, sum_name, unit)
    return value_of_sum(metrics, name, names)


def value_of_sum(metrics, name, names):
    if name.startswith("energy of "):
        domains = (metrics.get("energy") or {}).get("domains") or {}
        return next((row["busy_uj"] for cpus, row in domains.items() if cpus_text(cpus) == name[10:]), None)
    of, _, rest = name.rpartition(": ")
    if of and rest.startswith("on CPU"):
        return share_on(metrics["families"][of], rest[3:])
    kind = "CGROUP" if of and f"CGROUP: {rest}" in names else "FAMILY"
    path, divisor, unit = names[f"{kind}: {rest}"] if of else names[name]
    value = lookup(metrics, path.replace(kind, of))
    if value is None:
        return None
    if divisor is not None:
        by = lookup(metrics, divisor.replace(kind, of))
        value = value / by if by else None
    if unit != "%" or value is None:
        return value
    # Shares are fractions or millionths.
    factor = 1e-4 if path.endswith("_ppm") else 100
    return Near(value.exact * factor, value.slack * factor) if hasattr(value, "slack") else value * factor


def cpus_text(cpus):
    """Returns the name of a list of CPUs: `CPU 3`, `CPUs 0-3,6`."""
    ranges = []
    for cpu in sorted(cpus):
        if ranges and ranges[-1][1] + 1 == cpu:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return f"CPU {text}" if len(cpus) == 1 else f"CPUs {text}"


def share_on(family, name):
    """Returns the share of the run time of a family on a kind of CPU, in percent."""
    points = family["residency"]["points"]
    whole = sum(row["ns"] for row in points.values())
    return 100 * sum(row["ns"] for (cpus, *_), row in points.items() if cpus_text(cpus) == name) / whole


def check(comparison, reported, by_arm, names):
    """Compares the rows of a comparison with the recomputed metrics of each arm's repetitions."""
    table, work = reported["comparison"], Work(by_arm)
    for row in table["rows"]:
        for arm, metrics in zip(row["arms"], by_arm):
            values = [value_of(run, row["name"], names, work) for run in metrics]
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
