# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the text that `fairlab run --tables all --measure all` prints with recomputed metrics.

A cell is rounded; it agrees if the recomputed value is within half a unit of its last digit.
"""

import re
from collections import defaultdict

UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "%": 1, "J": 1_000_000, "mW": 1_000, "": 1}
NUMBER = re.compile(r"^([<>]?)(-?[\d]+)(?:\.(\d+))? ?(ns|us|ms|s|%|J|mW|)$")


class Table:
    """Table of the text: headings, and rows of cells."""

    def __init__(self, heading, rule):
        self.spans = [match.span() for match in re.finditer("─+", rule)]
        self.headings, self.rows = self.cells(heading), []

    def cells(self, line):
        # A left-aligned last column may be longer than its rule, which ends with the widest cell.
        return [line[start:end].strip() for start, end in self.spans]


def read(text):
    """Returns the tables of a text."""
    lines, tables, table = text.splitlines(), [], None
    for before, line in zip(["", *lines], lines):
        if re.fullmatch("[─ ]*─[─ ]*", line):
            table = Table(before, line)
            tables.append(table)
        elif not line.strip() or line.startswith("  "):
            table = None
        elif table:
            table.rows.append(table.cells(line))
    return tables


def agrees(cell, exact):
    """Whether a cell is a rounded value. A dash is nothing; `<1%` and `>99%` are neither 0 nor 100 percent."""
    slack = 0
    if hasattr(exact, "exact"):
        slack, exact = getattr(exact, "slack", abs(exact.exact) / 500 + 1), exact.exact
    if cell == "never":
        return exact is None
    if cell in ("-", "", "not modelled"):
        return not exact
    # The mark of a lower bound, which is compared as a flag of the result.
    cell = cell.removeprefix("≥")
    match = NUMBER.match(cell)
    if match is None or exact is None:
        return False
    sign, whole, decimals, unit = match.groups()
    value = float(f"{whole}.{decimals or 0}") * UNITS[unit]
    if sign:
        return 0 < exact < 0.5 if sign == "<" else 99.5 <= exact < 100
    last_digit = UNITS[unit] / 10 ** len(decimals or "")
    return abs(value - exact) <= last_digit / 2 * 1.0001 + slack


def share(part, whole):
    return 100 * part / whole if whole else 0


def of(*path):
    """Returns a function that finds a metric of a row, None if it has none."""

    def find(row, _):
        for key in path:
            row = row and row[key]
        return row

    return find


def quantiles(*path):
    return [of(*path, name) for name in ("p50_ns", "p90_ns", "p99_ns", "max_ns")]


def share_of_run(name):
    return lambda row, run: share(row[name], run["duration_ns"] * row.get("cpus", 1))


def ratio(name, part, whole):
    return lambda row, _: row[name] and share(row[name][part], row[name][whole])


# Columns that contain no metric.
IGNORED = {"busy", "cap", "min-max", "idle states", "quota", "period", "deadline"}

TASKS = {
    "n": of("tasks"), "run": of("run_ns"), "%CPU": share_of_run("run_ns"), "wait": of("wait_ns"),
    "longest": of("longest_wait", "ns"), "throttled": of("throttled_ns"), "wake-ups": of("wakeups"), "vol": of("voluntary_switches"),
    "invol": of("involuntary_switches"), "migr": of("migrations"),
}
LATENCIES = [*quantiles("wake_to_run"), *quantiles("wakeup_latency")]
TIMERS = [
    of("timers", "arrivals"), of("timers", "missed"), of("timers", "slack", "min_ns"), of("timers", "slack", "p10_ns"),
    of("timers", "slack", "p50_ns"), *quantiles("timers", "wakeup_latency"),
]
RESPONSES = {
    "n": of("count"), "late": lambda row, _: row.get("late"), "open": of("open"), "lost": of("lost"), "dropped": of("dropped"),
    **{name: of("time", f"{name}_ns") for name in ("p50", "p90", "p99", "max")},
}
CGROUPS = {
    "run": of("usage_ns"),
    "%entitled": ratio("entitlement", "got_ns", "due_ns"), "%quota": ratio("bandwidth", "used_ns", "available_ns"),
    "periods": of("bandwidth", "nr_periods"), "throttled": of("bandwidth", "nr_throttled"),
    "for": of("bandwidth", "throttled_ns"), "bursts": of("bandwidth", "nr_bursts"), "by": of("bandwidth", "burst_ns"),
}
CPUS = {
    "%busy": share_of_run("busy_ns"), "%sys": share_of_run("kernel_ns"), "switches": of("switches"),
    "ticks": of("ticks"), "resched": of("reschedule_ipis"), "call": of("call_function_ipis"),
}
BLOCKED = {
    "calls": of("calls"), "calls/s": of("calls_per_s"),
    "cfs_rqs each": lambda row, _: row["cfs_rqs"] / row["calls"],
}
PASSES = {
    "passes": of("passes"), "not this CPU": of("not_ours"), "balanced": of("balanced"), "moved": of("moved"),
    "active": of("active"), "failed": of("failed"), "CPUs": of("cpus"), "locks": of("locks"),
    "scanned": of("tasks_looked_at"), "tasks": of("tasks_moved"), "redos": of("redos"),
}
TIMES = [
    of("call", "count"), of("total_ns"), *quantiles("call"), of("lock_wait", "count"), of("waited_ns"),
    of("lock_wait", "p99_ns"),
]


class TextAudit:
    """Compares the tables of a run with its metrics."""

    def __init__(self, comparison, run):
        self.comparison, self.run = comparison, run

    def cell(self, path, place, cell, exact):
        self.comparison.nr_compared += 1
        self.comparison.paths.add(path)
        if not agrees(cell, exact):
            self.comparison.differs(path, place, cell, exact)

    def row(self, table, cells, row, columns):
        """Compares a row. `columns` are those after the first, in their order or by heading."""
        for place, (heading, cell) in enumerate(zip(table.headings[1:], cells[1:])):
            column = columns[place] if isinstance(columns, list) else columns.get(heading)
            if column:
                exact = column(row, self.run)
                self.cell(f"tables.{table.headings[0]}", f"{cells[0]} {heading}", cell, exact)
            elif heading not in IGNORED:
                self.comparison.differs(f"tables.{table.headings[0]}", heading, cell, "no such column")

    def table(self, table):
        head, run = table.headings[0], self.run
        for cells in table.rows:
            name = cells[0]
            if head in ("task", "wake to run", "timer of"):
                columns = {"task": TASKS, "timer of": TIMERS, "wake to run": LATENCIES}[head]
                # Many families share the last row.
                if name in run["families"]:
                    self.row(table, cells, run["families"][name], columns)
            elif head == "response":
                self.row(table, cells, run["responses"][name], RESPONSES)
            elif head == "cgroup":
                self.row(table, cells, run["cgroups"].get(name, defaultdict(int)), CGROUPS)
            elif head == "CPU" and "%busy" in table.headings:
                self.row(table, cells, self.cpus(name), CPUS)
            elif head == "CPU":
                self.kicks(table, cells)
            elif head == "caller":
                blocked = run["measure"]["blocked"]
                self.row(table, cells, blocked if name == "all" else blocked["by_caller"][name], BLOCKED)
            elif head == "counter":
                search = run["measure"]["search"]
                self.cell("tables.counter", name, cells[1], search["total"][name])
                self.cell("tables.counter", name, cells[2], search["total"][name] / len(search["per_cpu"]))
            elif head == "domain":
                self.passes(table, cells)
            elif head == "path":
                self.row(table, cells, run["measure"]["times"][name], TIMES)
            elif head == "on CPUs":
                self.residency(table, cells)
            elif head == "CPUs":
                self.energy(cells)
            else:
                self.comparison.differs("tables", head, name, "a table that is not audited")

    def cpus(self, text):
        """Returns the sums over the CPUs of a row."""
        rows = [self.run["cpus"][cpu] for cpu in numbers(text)]
        names = ("busy_ns", "kernel_ns", "switches", "ticks", "reschedule_ipis", "call_function_ipis")
        return {"cpus": len(rows), **{name: sum(row[name] for row in rows) for name in names}}

    def kicks(self, table, cells):
        kicks = self.run["measure"]["kicks"]
        own = list(kicks.values()) if cells[0] == "all" else [kicks[cpu] for cpu in numbers(cells[0]) if cpu in kicks]
        exact = [sum(row["calls"] for row in own), sum(row["interrupts"] for row in own)]
        exact += [sum(row["by_reason"][reason] for row in own) for reason in table.headings[3:]]
        for heading, cell, value in zip(table.headings[1:], cells[1:], exact):
            self.cell("tables.kicks", f"{cells[0]} {heading}", cell, value)

    def passes(self, table, cells):
        named = [row for (_, kind), row in self.run["measure"]["passes"].items() if kind == cells[1]]
        # Rows name the domain, the log numbers its level: one of the level's rows must agree in everything.
        for heading, cell in zip(table.headings[2:], cells[2:]):
            if heading == "max cost":
                continue
            named = [row for row in named if agrees(cell, PASSES[heading](row, self.run))]
            self.comparison.nr_compared += 1
        if not named:
            self.comparison.differs("tables.passes", f"{cells[0]} {cells[1]}", str(cells), "no level with these counts")

    def residency(self, table, cells):
        residency = self.run["families"].get(cells[0], {}).get("residency")
        if not residency:
            return
        points = residency["points"]
        whole = sum(point["ns"] for point in points.values())
        for heading, cell in zip(table.headings[1:], cells[1:]):
            if heading == "energy":
                exact = residency["energy_uj"]
            elif heading in ("%too small", "%too large"):
                exact = share(residency[heading[1:].replace(" ", "_") + "_ns"] or 0, whole)
            else:
                own = sum(point["ns"] for key, point in points.items() if set(key[0]) == set(numbers(heading[1:])))
                exact = share(own, whole)
            self.cell("tables.residency", f"{cells[0]} {heading}", cell, exact)

    def energy(self, cells):
        domain = next(own for cpus, own in self.run["energy"]["domains"].items() if set(cpus) == set(numbers(cells[0])))
        point, power, busy, idle, uj = cells[1:]
        if point.endswith(" MHz"):
            rows = [(key[0], opp["busy_ns"], opp["idle_ns"], opp["busy_uj"]) for key, opp in domain["opps"].items()]
            rows = [row[1:] for row in rows if row[0] // 1000 == int(point.split()[0])]
        else:
            states = domain["idle_states"].items()
            rows = [(0, state["ns"], state["uj"]) for key, state in states if key[0] == point]
        self.comparison.nr_compared += 3
        if not any(all(map(agrees, (busy, idle, uj), row)) for row in rows):
            self.comparison.differs("tables.energy", f"{cells[0]} {point}", str([power, busy, idle, uj]), str(rows))

    def sentence(self, path, text, pattern, *exact):
        """Compares the numbers of a sentence, if the text has it."""
        match = re.search(pattern, text)
        for place, value in enumerate(exact if match else ()):
            self.cell(path, pattern, match[place + 1], value)

    def sentences(self, text):
        text = re.sub(r"\n  +", " ", text)
        run, measure = self.run, self.run["measure"]
        selection, balance, search = run["selection"], run["balance"], measure["search"]
        self.sentence("tables.selection", text, r"CPU selection: (\d+) wake-ups?, (\d+) forks?",
                      selection["wakeups"], selection["forks"])
        self.sentence("tables.selection", text, r"(\S+%) of the wake-ups stayed, (\S+) CPUs scanned per wake-up",
                      share(selection["stayed"], selection["wakeups"]),
                      selection["cpus_scanned"] / max(1, selection["wakeups"]))
        self.sentence("tables.balance", text,
                      r"load balancing: (\d+) pass\w*, (\d+) moved (\d+) tasks?, (\d+) active, (\d+) failed; (\d+) nohz",
                      *(balance[name] for name in ("passes", "moved", "tasks_moved", "active", "failed", "kicks")))
        self.sentence("tables.search", text,
                      r"idle-CPU scans: (\d+); se_eff (\S+%), dom_eff (\S+%), fast_rate (\S+%), success_rate (\S+%)",
                      search["total"]["sis_search"], *search["ratios"].values())
        self.sentence("tables.blocked", text, r"blocked load: (\d+) updates per second", measure["blocked"]["calls_per_s"])
        if run["energy"]:
            self.sentence("tables.energy", text, r"energy: busy (\S+ J)", run["energy"]["busy_uj"])


def numbers(text):
    """Returns the CPUs of a list such as `0-2,5`."""
    found = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found


def compare(comparison, text, run):
    audit = TextAudit(comparison, run)
    for table in read(text):
        audit.table(table)
    audit.sentences(text)
