# SPDX-License-Identifier: GPL-2.0-or-later
"""Recomputes the first lines of a run summary from its numbers, which are recomputed from the event log elsewhere.

A kind of headline without a checker is a difference.
"""

from collections import Counter

NR_FAMILIES = 3
KINDS = {"response", "findings", "waiting", "short-waits", "missed-timers", "no-missed-timers", "busiest-cpu", "overload"}


def of_run(reported):
    """Yields the headlines that a run must have."""
    for response in reported.get("responses", []):
        yield {"kind": "response", **response}
    if "findings" in reported:
        lasting = [row["severity"] for row in reported["findings"] if row.get("only_in_first_ns") is None]
        counts = {severity: lasting.count(severity) for severity in ("high", "medium", "low")}
        yield {"kind": "findings", **counts, "only_at_start": len(reported["findings"]) - len(lasting)}
    families, length = reported["families"], reported["duration_ns"]
    waited = lambda family: family["wait_ns"] + family["throttled_ns"]
    if families:
        yield waits([(waited(family), family) for family in families])
    timers = [(family["name"], family["timers"]) for family in families if family.get("timers")]
    missed = sorted((row for row in timers if row[1]["missed"] > 0), key=lambda row: -row[1]["missed"])
    if missed:
        rows = [
            {"family": name, "missed": row["missed"], "arrivals": row["arrivals"],
             "max_late_ns": None if row.get("slack") is None else max(0, -row["slack"]["min_ns"])}
            for name, row in missed[:NR_FAMILIES]
        ]
        yield {"kind": "missed-timers", "families": rows, "nr_families": len(missed)}
    elif timers:
        yield {"kind": "no-missed-timers", "arrivals": sum(row["arrivals"] for _, row in timers)}
    if reported["cpus"]:
        yield load(reported["cpus"], max(length, 1), length)


def waits(families):
    """Returns the headline on waits; the first of equal families comes first."""
    share = lambda row: 100.0 * row[0] / max(1, row[1]["run_ns"] + row[0])
    long = sorted((row for row in families if share(row) >= 1), key=lambda row: -row[0])
    if not long:
        return {"kind": "short-waits"}
    rows = []
    for total, family in long[:NR_FAMILIES]:
        longest = family.get("longest_wait")
        rows.append({
            "family": family["name"], "runnable_ns": family["run_ns"] + total, "wait_ns": family["wait_ns"],
            "longest_wait": longest if longest and longest["ns"] > 0 else None,
            "runtime_waits": family.get("runtime_waits", []),
        })
    return {"kind": "waiting", "families": rows, "nr_families": len(long)}


def load(cpus, length, duration):
    """Returns the headline on CPUs."""
    overloaded = [cpu for cpu in cpus if 100.0 * cpu["busy_ns"] / length >= 95]
    if not overloaded:
        busiest = max(cpus, key=lambda cpu: (cpu["busy_ns"], -cpu["cpu"]))
        return {"kind": "busiest-cpu", "cpu": busiest["cpu"], "busy_ns": busiest["busy_ns"], "duration_ns": duration}
    idle = [cpu for cpu in cpus if 100.0 * cpu["idle_ns"] / length >= 20]
    return {
        "kind": "overload", "cpus": [cpu["cpu"] for cpu in overloaded],
        "least_busy_ns": min(cpu["busy_ns"] for cpu in overloaded), "idle_cpus": [cpu["cpu"] for cpu in idle],
        "idle_ns": sum(cpu["idle_ns"] for cpu in idle) // len(idle) if idle else 0, "duration_ns": duration,
    }


def audit(comparison, reported):
    """Compares the headlines of a run, and returns the number of checked ones by kind."""
    found = [{key: value for key, value in row.items() if key != "text"} for row in reported["headlines"]]
    expected = list(of_run(reported))
    for place, row in enumerate(expected):
        comparison.nr_compared += 1
        if place >= len(found) or found[place] != row:
            comparison.differs("headline", row["kind"], str(found[place:place + 1])[:300], str(row)[:300])
    if len(found) != len(expected):
        comparison.differs("headline", "number", len(found), len(expected))
    return Counter(f"headline {row['kind']}" for row in found)
