# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares reported numbers with recomputed ones, leaf by leaf, by the catalogue of metrics."""

import re

import registry


def family_in(finding):
    """Returns the task family that a finding is about; None for findings about CPUs."""
    return finding["evidence"].get("family")


# Keys that distinguish the elements of a list, by the list's path.
KEYS = {
    "bench.operations": lambda row: (row[0],),
    "bench.threads": lambda row: row["thread"],
    "bench.percentiles": lambda row: row["percent"],
    "bench.wakeup_latency_us.percentiles": lambda row: row["percent"],
    "bench.request_latency_us.percentiles": lambda row: row["percent"],
    "bench.rps.percentiles": lambda row: row["percent"],
    "findings": lambda row: (row["rule"], family_in(row)),
    "responses": lambda row: row["name"],
    "responses.behind": lambda row: row["family"],
    "responses.dropped_at": lambda row: (row["task"], row.get("semaphore")),
    "families": lambda row: row["name"],
    "families.runtime_waits": lambda row: (row["limit"], row.get("group")),
    "families.run_by_capacity": lambda row: (row[0],),
    "families.residency.points": lambda row: (tuple(row["cpus"]), row["khz"], row["part"]),
    "cpus": lambda row: row["cpu"],
    "cpus.frequencies": lambda row: (row["khz"], row["part"]),
    "cpus.idle_states": lambda row: row["state"],
    "cgroups": lambda row: row["name"],
    "selection.by_rule": lambda row: (row[0],),
    "energy.domains": lambda row: tuple(row["cpus"]),
    "energy.domains.opps": lambda row: (row["khz"],),
    "energy.domains.idle_states": lambda row: (row["state"], row["power_uw"]),
    "measure.kicks": lambda row: row["cpu"],
    "measure.no_kicks": lambda row: row["cpu"],
    "measure.blocked.by_caller": lambda row: row["caller"],
    "measure.passes": lambda row: (row["level"], row["kind"]),
    "measure.complaints": lambda row: row["cpu"],
    "measure.times": lambda row: row["path"],
    "measure.times.usecs": lambda row: (row[0],),
}

# Metrics that the event log cannot give, with the reason. Everything else must be recomputed.
NOT_IN_LOG = {
    "totals.events": "number of events of the simulation, not of the machine",
    "measure.passes.max_newidle_lb_cost_ns": "state of the sched domains at the end of the run",
}


SUMMARY_MEMBERS = {"count", "open", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"}


def read_catalogue(page):
    """Returns the paths of metrics, and those of numbers that are none, from the book's page."""
    with open(page, encoding="utf-8") as lines:
        text = lines.read()
    metrics, others = text.split("## All metrics")[1].split("## Other numbers")
    paths = re.compile(r"^\| `([^`]+)`", re.M)
    return {normal(path) for path in paths.findall(metrics)}, {normal(path) for path in paths.findall(others)}


def normal(path):
    """Returns a path of the catalogue without marks of lists and maps."""
    return path.replace("[]", "").replace("{}", "")


class Nothing:
    """Number of a row in which nothing happened: 0, or null."""

    def agrees(self, reported):
        return reported == 0

    def __repr__(self):
        return "0"


class Absent(dict):
    """Row that was not recomputed because nothing happened."""

    def get(self, key, default=None):
        return NOTHING


NOTHING, ABSENT = Nothing(), Absent()


def are_equal(reported, recomputed):
    """Whether a reported number is the recomputed one, up to rounding of floats."""
    if hasattr(recomputed, "agrees"):
        return reported is not None and recomputed.agrees(reported)
    if isinstance(recomputed, float) and reported is not None:
        return abs(reported - recomputed) <= 1e-9 * max(abs(reported), abs(recomputed))
    return reported == recomputed


class Comparison:
    """Differences and number of compared leaves."""

    def add_claim(self, place, question, reported, expected):
        """Adds a difference of an explanation."""
        metric = f"explain: {place}"
        self.differences.append({"metric": metric, "at": question, "reported": str(reported)[:300], "recomputed": str(expected)[:300]})

    def __init__(self, catalogue):
        self.metrics, self.others = catalogue
        self.nr_compared = 0
        self.differences = []
        self.paths = set()
        # Findings, by rule and family, that the event log does not decide.
        self.unclear = set()

    def differs(self, path, place, reported, recomputed):
        self.differences.append({"metric": path, "at": place, "reported": reported, "recomputed": repr(recomputed)})

    def is_known(self, path):
        """Whether the catalogue has a path, or the summary statistics that it belongs to."""
        base, _, member = path.rpartition(".")
        return path in self.metrics or (member in SUMMARY_MEMBERS and base in self.metrics)

    def leaf(self, path, place, reported, recomputed):
        self.nr_compared += 1
        if not self.is_known(path):
            self.differs(path, place, reported, "not in the catalogue of metrics")
            return
        self.paths.add(path)
        if not are_equal(reported, recomputed):
            self.differs(path, place, reported, recomputed)

    def walk(self, path, place, reported, recomputed):
        """Compares two values. Numbers that no metric contains must be listed as such."""
        if reported is None and recomputed is NOTHING:
            return
        if isinstance(reported, dict) and path not in self.others:
            self.walk_dict(path, place, reported, recomputed)
        elif isinstance(reported, list):
            self.walk_list(path, place, reported, recomputed)
        elif isinstance(reported, bool):
            self.flag(path, place, reported, recomputed)
        elif isinstance(reported, str):
            pass
        elif path in self.others or path in NOT_IN_LOG:
            pass
        elif reported is None and recomputed is None:
            pass
        else:
            self.leaf(path, place, reported, recomputed)

    def flag(self, path, place, reported, recomputed):
        """Compares a flag, if it was recomputed."""
        if isinstance(recomputed, bool):
            self.nr_compared += 1
            if reported != recomputed:
                self.differs(path, place, reported, recomputed)

    def walk_dict(self, path, place, reported, recomputed):
        recomputed = recomputed if isinstance(recomputed, dict) else {}
        for key, value in reported.items():
            inner = f"{path}.{key}" if path else key
            # A map of counts is one metric.
            inner = path if path in self.metrics and isinstance(value, int) else inner
            self.walk(inner, f"{place}.{key}", value, recomputed.get(key))
        for key in recomputed.keys() - reported.keys():
            self.missing(f"{path}.{key}" if path else str(key), f"{place}.{key}", recomputed[key])

    def walk_list(self, path, place, reported, recomputed):
        if path.endswith(".lower_bounds"):
            for member, is_open in (recomputed or {}).items():
                self.flag(path, f"{place}.{member}", member in reported, is_open)
            return
        key_of = KEYS.get(path)
        if path == "findings":
            names = registry.with_rows()
            reported = [row for row in reported if row["rule"] in names]
            reported = [row for row in reported if (row["rule"], family_in(row)) not in self.unclear]
        recomputed = recomputed if isinstance(recomputed, dict) else {}
        seen = set()
        for index, row in enumerate(reported):
            key = key_of(row) if key_of else index
            seen.add(key)
            if isinstance(row, list):
                self.walk(path, f"{place}[{key}]", row[1], recomputed.get(key, 0))
            elif isinstance(row, dict):
                self.walk(path, f"{place}[{key}]", row, recomputed.get(key, ABSENT))
            else:
                self.walk(path, f"{place}[{key}]", row, recomputed.get(key))
        for key in recomputed.keys() - seen:
            self.missing(path, f"{place}[{key}]", recomputed[key])

    def missing(self, path, place, value):
        """A recomputed value that is not reported must be nothing."""
        if isinstance(value, dict):
            for key, inner in value.items():
                self.missing(f"{path}.{key}", f"{place}.{key}", inner)
        elif value not in (None, 0, False) and not (hasattr(value, "exact") and value.exact == 0):
            self.differs(path, place, "absent", value)


