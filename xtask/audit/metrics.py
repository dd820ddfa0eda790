# SPDX-License-Identifier: GPL-2.0-or-later
"""Recomputes the metrics of `fairlab run --json` from an event log.

Each function returns a part of the result with the names of the result's keys. Lists are dictionaries by the
key that distinguishes their elements. Definitions are those of the book's metric catalogue.
"""

from collections import Counter, defaultdict

import polars as pl

import findings
import groups
import responses
from log import currents, overlap, periods, replay_tasks, speeds

FAST = {"TargetIdle", "PrevIdle", "PerCpuKthread", "RecentUsedIdle"}
FOUND = {"AsymFits", "AsymBest", "IdleSmt", "IdleCore", "IdleCpuOfBusyCore", "IdleCpu"}
NOT_FOUND = {"NoCacheDomain", "ScanBusy", "ScanLimit", "NothingIdle"}
KICKS_FOR_BALANCE = {"ManyTasks", "ReducedCapacity", "AsymPacking", "Misfit", "LlcBusy"}
FAILED = {"Failed", "AllPinned", "NoBusiestQueue", "ActiveBalancePending", "RunningTaskPinned"}
IDLE_TYPES = {"Idle": "idle", "NotIdle": "busy", "NewlyIdle": "newidle"}


class Quantile:
    """Exact quantile of a list; the reported one has three significant digits."""

    def __init__(self, ordered, percent):
        rank = max(1, -(-percent * len(ordered) // 100))
        self.exact = ordered[rank - 1]

    def agrees(self, reported):
        return abs(reported - self.exact) <= abs(self.exact) / 500 + 1

    def __repr__(self):
        return f"{self.exact} to 3 digits"


class Near:
    """Number that rounding may change by a small amount."""

    def __init__(self, exact, slack):
        self.exact, self.slack = exact, slack

    def agrees(self, reported):
        return abs(reported - self.exact) <= self.slack

    def __repr__(self):
        return f"{self.exact}, within {self.slack}"


def latency(ended, still_open=()):
    """Returns the summary of latencies, None without any. Open ones rank above ended ones of equal length."""
    values = sorted([(ns, False) for ns in ended] + [(ns, True) for ns in still_open])
    if not values:
        return None
    lengths = [ns for ns, _ in values]
    summary = {
        "count": len(values),
        "open": len(still_open),
        "min_ns": lengths[0],
        "mean_ns": sum(lengths) // len(lengths),
        "p50_ns": Quantile(lengths, 50),
        "p90_ns": Quantile(lengths, 90),
        "p99_ns": Quantile(lengths, 99),
        "max_ns": lengths[-1],
    }
    # An open latency may be within the resolution of an ended one of a neighbouring rank.
    summary["lower_bounds"] = {"max_ns": values[-1][1]}
    return summary


def longest(intervals):
    """Returns the longest of some waits, as length and whether it is open; None without any."""
    return max(intervals, default=None)


LIMITS = {"fair": "quota", "real-time": "real-time", "deadline": "deadline"}


def slack(values):
    values = sorted(values)
    return {
        "count": len(values),
        "min_ns": Quantile(values, 0),
        "mean_ns": Near(sum(values) / len(values), 1),
        "p1_ns": Quantile(values, 1),
        "p10_ns": Quantile(values, 10),
        "p50_ns": Quantile(values, 50),
        "max_ns": Quantile(values, 100),
    }


def energy(power_uw, ns):
    return power_uw * ns // 1_000_000_000


def sum_or_none(values):
    values = list(values)
    return None if any(value is None for value in values) else sum(values)


class CpuTimes:
    """Times of one CPU by state, frequency and idle state."""

    def __init__(self, log, cpu):
        self.times = Counter()
        self.frequencies, self.idle_at = Counter(), Counter()
        self.idle_states = Counter()
        intervals = currents(log, cpu)
        for start, end, task, offline in intervals:
            state = "offline" if offline else "idle" if log.is_idle_task(task) else "busy"
            self.times[state] += log.cut(start, end)
            if state == "busy" and log.is_stopper(task):
                self.times["stopper"] += log.cut(start, end)
        for start, end, (task, offline), (speed,) in overlap(intervals, speeds(log, cpu)):
            if not offline:
                self.frequencies[speed] += log.cut(start, end)
                if log.is_idle_task(task):
                    self.idle_at[speed] += log.cut(start, end)
        kernel = overlap(periods(log, cpu, "kernel_enter", "kernel_exit"), intervals)
        online = [(log.cut(start, end), task) for start, end, _, (task, offline) in kernel if not offline]
        self.kernel = sum(ns for ns, _ in online)
        self.kernel_in_idle = sum(ns for ns, task in online if log.is_idle_task(task))
        resting = periods(log, cpu, "idle_enter", "idle_exit")
        for start, end, (entered,), (_, offline) in overlap(resting, intervals):
            if not offline:
                self.idle_states[entered["state"]] += log.cut(start, end)
        # A state that is entered while the CPU is offline does not count.
        counted = {id(event) for event in log.of("idle_enter", counted=True)}
        self.entries, is_offline = Counter(), False
        for event in log.of("hotplug", "idle_enter"):
            if event["cpu"] != cpu:
                continue
            if event["e"] == "hotplug":
                is_offline = is_offline if event["result"] != 0 else not event["online"]
            elif id(event) in counted and event["state"] is not None and not is_offline:
                self.entries[event["state"]] += 1

    def frequency_rows(self):
        """Returns the times by frequency; none for a CPU that always has its full, unnamed frequency."""
        if set(self.frequencies) <= {(None, 1024)}:
            return {}
        return {speed: {"ns": ns, "idle_ns": self.idle_at[speed]} for speed, ns in self.frequencies.items()}


def of_cpus(log):
    """Returns the metrics of all CPUs, and their times."""
    ipis = Counter((event["cpu"], event["kind"]) for event in log.of("ipi", counted=True))
    counts = {
        kind: Counter(event["cpu"] for event in log.of(kind, counted=True))
        for kind in ("switch", "tick", "ksoftirqd")
    }
    backlogs = defaultdict(list)
    longest = Counter()
    for event in log.of("backlog"):
        longest[event["cpu"]] = max(longest[event["cpu"]], event["waiting"])
    for event in log.of("backlog", counted=True):
        backlogs[event["cpu"]].append(event)
    lost = Counter()
    for event in log.of("lost", counted=True):
        lost[event["cpu"], event["stolen"]] += event["took"]
    times = [CpuTimes(log, cpu) for cpu in range(log.nr_cpus)]
    rows = {}
    for cpu, own in enumerate(times):
        named = enumerate(log.cpus[cpu]["idle_states"])
        rows[cpu] = {
            "busy_ns": own.times["busy"],
            "stopper_ns": own.times["stopper"],
            "idle_ns": own.times["idle"],
            "offline_ns": own.times["offline"],
            "interrupt_ns": lost[cpu, False],
            "stolen_ns": lost[cpu, True],
            "switches": counts["switch"][cpu],
            "ticks": counts["tick"][cpu],
            "reschedule_ipis": ipis[cpu, "Reschedule"],
            "call_function_ipis": ipis[cpu, "CallFunction"],
            "kernel_ns": own.kernel,
            "kernel_in_idle_ns": own.kernel_in_idle,
            "softirqs": {
                "packets": sum(event["arrived"] for event in backlogs[cpu]),
                "packets_dropped": sum(event["dropped"] for event in backlogs[cpu]),
                "longest_backlog": longest[cpu],
                "ksoftirqd_wakeups": counts["ksoftirqd"][cpu],
            },
            "frequencies": own.frequency_rows(),
            "idle_states": {
                state["name"]: {"entries": own.entries[index], "ns": own.idle_states[index]}
                for index, state in named
            },
        }
    return rows, times


def kinds(log):
    """Returns the kind of each CPU: the CPUs with its capacity and frequency domain."""
    alike = defaultdict(list)
    for cpu in log.cpus:
        alike[cpu["capacity"], cpu["domain"]].append(cpu["cpu"])
    return [tuple(alike[cpu["capacity"], cpu["domain"]]) for cpu in log.cpus]


def power_at(log, cpu, speed):
    """Returns the power of a busy CPU at a frequency, None if it is unknown."""
    domain = log.cpus[cpu]["domain"]
    if domain is None or not log.domains[domain]["power_uw"]:
        return None
    powers = dict(zip(log.domains[domain]["khz"], log.domains[domain]["power_uw"]))
    return powers.get(speed[0])


class Families:
    """Metrics of the task families."""

    def __init__(self, log):
        self.log = log
        self.counted = {id(event) for event in log.counted}
        self.counts = defaultdict(Counter)
        self.latency, self.to_run = defaultdict(list), defaultdict(list)
        self.slack, self.timer_latency = defaultdict(list), defaultdict(list)
        self.waking_since, self.timer_at = {}, {}
        self.arriving = {}
        self.forked_at = {fork["task"]: place for place, fork in enumerate(log.events) if fork["e"] == "fork"}
        self.place_of = {id(event): place for place, event in enumerate(log.events) if event["e"] == "wake_begins"}
        self.tasks = replay_tasks(log, self.on)

    def count(self, event, task, what, more=1):
        if id(event) in self.counted:
            self.counts[self.log.family_of(task)][what] += more

    def note(self, event, to, task, ns):
        if id(event) in self.counted:
            to[self.log.family_of(task)].append(ns)

    def on(self, kind, event, task):
        if kind == "phase":
            self.continues(event, event["cpu"], event["t"] + event["took"])
            return
        if kind == "throttling":
            return
        number = self.log.task_of_index.get(event.get("index"), event.get("task"))
        if kind == "wakeup" and not task.is_runnable() and not event["new"]:
            self.count(event, number, "wakeups")
            self.waking_since.setdefault(number, event["t"])
        elif kind == "wake_begins" and not (task and task.is_runnable()):
            # A wake-up of a task that is not forked yet is lost.
            if number in self.forked_at and self.forked_at[number] < self.place_of[id(event)]:
                self.waking_since.setdefault(number, event["since"])
        elif kind == "timer":
            self.note(event, self.slack, number, event["expired"] - event["t"])
            if event["expired"] > event["t"]:
                self.timer_at[number] = event["expired"]
            else:
                self.count(event, number, "missed")
        elif kind == "out":
            # A task that is switched out before it continues is still being woken.
            _, since, expired = self.arriving.pop(event["cpu"], (None, None, None))
            if since is not None:
                self.waking_since.setdefault(event["prev"], since)
            if expired is not None:
                self.timer_at.setdefault(event["prev"], expired)
            involuntary = event["state"] == "R"
            self.count(event, event["prev"], "involuntary" if involuntary else "voluntary")
        elif kind == "in":
            self.switch_in(event, event["next"], task)

    def switch_in(self, event, number, task):
        queued = task.queued_at(event["t"]) if task.is_runnable() else None
        if queued is not None:
            self.note(event, self.latency, number, queued)
        expired = self.timer_at.get(number)
        expired = self.timer_at.pop(number) if expired is not None and expired <= event["t"] else None
        self.arriving[event["cpu"]] = (number, self.waking_since.pop(number, None), expired)
        if not self.log.machine["has_costs"]:
            self.continues(event, event["cpu"], event["t"])

    def continues(self, event, cpu, t):
        """The task that was switched in on a CPU continues at `t`, after the switch."""
        number, since, expired = self.arriving.pop(cpu, (None, None, None))
        if since is not None:
            self.note(event, self.to_run, number, t - since)
        if expired is not None:
            self.note(event, self.timer_latency, number, t - expired)

    def open_latencies(self):
        """Returns the latencies that have not ended, by family: on the runqueue, until the task runs, of timers."""
        log = self.log
        queued, to_run, timers = defaultdict(list), defaultdict(list), defaultdict(list)
        for number in log.forks:
            family = log.family_of(number)
            if self.tasks[number].queued_at_end:
                queued[family].append(self.tasks[number].queued_at_end)
            if self.waking_since.get(number, log.end) < log.end:
                to_run[family].append(log.end - self.waking_since[number])
            if self.timer_at.get(number, log.end) < log.end:
                timers[family].append(log.end - self.timer_at[number])
        for number, since, expired in self.arriving.values():
            family = log.family_of(number)
            if since is not None and since < log.end:
                to_run[family].append(log.end - since)
            if expired is not None and expired < log.end:
                timers[family].append(log.end - expired)
        return queued, to_run, timers

    def waits(self, numbers):
        """Returns the longest wait for a CPU, and time and longest wait by limit."""
        log, for_cpu, limits = self.log, [], defaultdict(list)
        for number in numbers:
            task = self.tasks[number]
            for place, (start, end, state, _) in enumerate(task.intervals):
                # What begins at the end of the run is nothing yet.
                is_open = place == len(task.intervals) - 1
                if state == "waiting" and end >= log.from_t and not (is_open and start == end):
                    for_cpu.append((log.cut(start, end), is_open))
            for start, end, limit, is_open in task.limits:
                if end >= log.from_t and not (is_open and start == end):
                    limits[limit].append((log.cut(start, end), is_open))
        rows = {}
        for (kind, group), waits in limits.items():
            name = log.groups[group - 1]["name"] if group else None
            ns, is_open = longest(waits)
            rows[LIMITS[kind], name] = {"ns": sum(ns for ns, _ in waits), "longest": {"ns": ns, "is_open": is_open}}
        most = longest(for_cpu)
        return most and {"ns": most[0], "is_open": most[1]}, rows

    def rows(self):
        log = self.log
        open_queued, open_to_run, open_timers = self.open_latencies()
        names = {log.family_of(task) for task in log.forks}
        kind_of = kinds(log)
        has_residency = len(log.domains) > 0 or len({cpu["capacity"] for cpu in log.cpus}) > 1
        members = defaultdict(list)
        for number in log.forks:
            members[log.family_of(number)].append(number)
        moves = Counter(log.family_of(event["task"]) for event in log.of("migrate", counted=True))
        residency = Residency(log, self.tasks, kind_of) if has_residency else None
        rows = {}
        for name in names:
            times, by_capacity = Counter(), Counter()
            for number in members[name]:
                for start, end, state, cpu in self.tasks[number].intervals:
                    times[state] += log.cut(start, end)
                    if state == "running":
                        by_capacity[log.cpus[cpu]["capacity"]] += log.cut(start, end)
            counts = self.counts[name]
            longest_wait, runtime_waits = self.waits(members[name])
            rows[name] = {
                "is_kthread": all(log.specs[log.forks[task]["spec"]]["is_kthread"] for task in members[name]),
                "tasks": len(members[name]),
                "run_ns": times["running"],
                "run_by_capacity": {(cpu["capacity"],): by_capacity[cpu["capacity"]] for cpu in log.cpus},
                "wait_ns": times["waiting"],
                "throttled_ns": times["throttled"],
                "longest_wait": longest_wait,
                "runtime_waits": runtime_waits,
                "fairness_ppm": self.fairness(members[name]),
                "wakeups": counts["wakeups"],
                "wake_to_run": latency(self.to_run[name], open_to_run[name]),
                "wakeup_latency": latency(self.latency[name], open_queued[name]),
                "voluntary_switches": counts["voluntary"],
                "involuntary_switches": counts["involuntary"],
                "migrations": moves[name],
                "timers": None,
                "residency": residency and residency.row(members[name]),
            }
            rows[name]["work"] = {
                "loops": self.loops(members[name]),
                "activations": counts["voluntary"],
                "full_speed_ns": self.full_speed(rows[name]),
            }
            if self.slack[name]:
                rows[name]["timers"] = {
                    "arrivals": len(self.slack[name]),
                    "missed": counts["missed"],
                    "slack": slack(self.slack[name]),
                    "wakeup_latency": latency(self.timer_latency[name], open_timers[name]),
                }
        return rows

    def loops(self, numbers):
        """Returns the number of completed loops: all beginnings but the first of each task; None without any."""
        log, begun, completed, is_any = self.log, set(), 0, False
        own = set(numbers)
        for event in log.of("loop"):
            number = log.task_of_index.get(event["index"])
            if number not in own:
                continue
            if id(event) in self.counted:
                is_any = True
                completed += number in begun
            begun.add(number)
        return completed if is_any else None

    def full_speed(self, row):
        """Returns the CPU time of a family's work on the fastest CPU at its highest frequency."""
        log = self.log
        if not row["residency"] or not log.machine["scale_work"]:
            return row["run_ns"]
        return sum(
            point["ns"] * min(log.cpus[cpus[0]]["capacity"], 1024) // 1024 * min(part, 1024) // 1024
            for (cpus, _, part), point in row["residency"]["points"].items()
        )

    def fairness(self, numbers):
        """Returns Jain's index over the shares of runnable time with a CPU, in millionths."""
        shares = []
        for number in numbers:
            times = Counter()
            for start, end, state, _ in self.tasks[number].intervals:
                times[state] += self.log.cut(start, end)
            runnable = times["running"] + times["waiting"]
            if runnable > 0:
                shares.append(times["running"] / runnable)
        squares = sum(share * share for share in shares)
        if len(shares) < 2 or squares == 0:
            return None
        return Near(1e6 * sum(shares) ** 2 / (len(shares) * squares), 2)

    def plain(self):
        """Returns the tasks that are fair, of nice 0 and in no group, at their start."""

        def is_plain(number):
            spec = self.log.specs[self.log.forks[number]["spec"]]
            is_fair = spec["policy"] in (None, "Normal", "Batch")
            return is_fair and not spec["nice"] and spec["group"] is None and not spec["is_kthread"]

        return [number for number in self.log.forks if is_plain(number)]


class Residency:
    """Times of tasks by kind of CPU, frequency and fit."""

    def __init__(self, log, tasks, kind_of):
        self.log, self.kind_of = log, kind_of
        self.points, self.fits = defaultdict(Counter), defaultdict(Counter)
        speed_of = [speeds(log, cpu) for cpu in range(log.nr_cpus)]
        fit_changes = defaultdict(list)
        for event in log.of("fit"):
            fit_changes[log.task_of_index[event["index"]]].append((event["t"], event["fit"]))
        for number in log.forks:
            running = [span for span in tasks[number].intervals if span[2] == "running" and span[1] > span[0]]
            by_cpu = defaultdict(list)
            for start, end, _, cpu in running:
                by_cpu[cpu].append((start, end))
            for cpu, spans in by_cpu.items():
                for start, end, _, (speed,) in overlap(spans, speed_of[cpu]):
                    self.points[number][kind_of[cpu], speed] += log.cut(start, end)
            changes = fit_changes[number]
            ends = [t for t, _ in changes[1:]] + [log.end]
            fits = [(t, end, fit) for (t, fit), end in zip(changes, ends)]
            for start, end, _, (fit,) in overlap([(start, end) for start, end, *_ in running], fits):
                self.fits[number][fit] += log.cut(start, end)

    def row(self, numbers):
        points, fits = Counter(), Counter()
        for number in numbers:
            points.update(self.points[number])
            fits.update(self.fits[number])
        rows = {}
        for (cpus, speed), ns in points.items():
            power = power_at(self.log, cpus[0], speed)
            rows[cpus, *speed] = {"ns": ns, "uj": None if power is None else energy(power, ns)}
        built_in = self.log.machine["built_in"]
        return {
            "points": rows,
            "too_small_ns": fits["TooSmall"] if built_in else None,
            "too_large_ns": fits["TooLarge"] if built_in else None,
            "energy_uj": sum_or_none(row["uj"] for row in rows.values() if row["ns"] > 0),
        }


def of_energy(log, times):
    """Returns the energy of the domains with power values, None without any."""
    domains = {}
    for index, domain in enumerate(log.domains):
        if not domain["power_uw"]:
            continue
        own = [cpu["cpu"] for cpu in log.cpus if cpu["domain"] == index]
        opps = {}
        for khz, power in zip(domain["khz"], domain["power_uw"]):
            at = [(cpu, speed) for cpu in own for speed in times[cpu].frequencies if speed[0] == khz]
            idle_ns = sum(times[cpu].idle_at[speed] for cpu, speed in at)
            busy_ns = sum(times[cpu].frequencies[speed] for cpu, speed in at) - idle_ns
            opps[khz,] = {"busy_ns": busy_ns, "idle_ns": idle_ns, "busy_uj": energy(power, busy_ns)}
        states = defaultdict(int)
        for cpu in own:
            for place, state in enumerate(log.cpus[cpu]["idle_states"]):
                states[state["name"], state["power_uw"]] += times[cpu].idle_states[place]
        idle_states = {
            key: {"ns": ns, "uj": 0 if ns == 0 else None if key[1] is None else energy(key[1], ns)}
            for key, ns in states.items()
        }
        resting = sum(times[cpu].times["idle"] - times[cpu].kernel_in_idle for cpu in own)
        is_known = resting == sum(states.values())
        domains[tuple(own)] = {
            "busy_uj": sum(opp["busy_uj"] for opp in opps.values()),
            "idle_uj": sum_or_none(state["uj"] for state in idle_states.values()) if is_known else None,
            "opps": opps,
            "idle_states": idle_states,
        }
    if not domains:
        return None
    return {
        "busy_uj": sum(domain["busy_uj"] for domain in domains.values()),
        "idle_uj": sum_or_none(domain["idle_uj"] for domain in domains.values()),
        "domains": domains,
    }


def reach(event):
    """Returns how far the search of a placement went: None, "fast", "found" or "not found"."""
    rule = event["rule"]
    if rule == "Fallback":
        return "not found" if event["scanned"] > 0 or event["limit"] is not None else "fast"
    if rule in FAST:
        return "fast"
    return "found" if rule in FOUND else "not found" if rule in NOT_FOUND else None


def of_selection(log):
    columns = ["kind", "prev", "cpu", "rule", "scanned"]
    frame = log.frame("selection", columns)
    waking = frame.filter(pl.col("kind") == "Wakeup")
    return {
        "wakeups": waking.height,
        "forks": frame.filter(pl.col("kind") == "Fork").height,
        "execs": frame.filter(pl.col("kind") == "Exec").height,
        "stayed": waking.filter(pl.col("cpu") == pl.col("prev")).height,
        "scans": waking.filter(pl.col("scanned") > 0).height,
        "cpus_scanned": sum(waking["scanned"]),
        "by_rule": {(rule,): count for rule, count in Counter(frame["rule"]).items()},
    }


def of_balance(log):
    passes = log.of("pass", counted=True)
    verdicts = Counter(event["verdict"] for event in passes)
    return {
        "passes": len(passes),
        "moved": verdicts["Moved"],
        "tasks_moved": sum(event["moved"] for event in passes),
        "active": verdicts["ActiveBalance"],
        "failed": sum(verdicts[verdict] for verdict in FAILED),
        "kicks": sum(event["kicked"] for event in log.of("kick", counted=True)),
    }


def ratios(counters):
    """Returns the ratios of search counters in percent, 0 without searches."""

    def percent(part, whole):
        return 100 * part / whole if whole else 0.0

    fast = counters["sis_search"] - counters["sis_domain_search"]
    found = counters["sis_search"] - counters["sis_failed"]
    domain_found = counters["sis_domain_search"] - counters["sis_failed"]
    return {
        "se_eff%": percent(found, counters["sis_scanned"]),
        "dom_eff%": percent(domain_found, counters["sis_scanned"] - fast),
        "fast_rate%": percent(fast, counters["sis_search"]),
        "success_rate%": percent(found, counters["sis_search"]),
    }


def of_search(log):
    names = ("sis_search", "sis_domain_search", "sis_scanned", "sis_failed")
    per_cpu = {cpu: dict.fromkeys(names, 0) for cpu in range(log.nr_cpus)}
    for event in log.of("selection", counted=True):
        how_far, counters = reach(event), per_cpu[event["waker"]]
        if how_far is None:
            continue
        counters["sis_search"] += 1
        counters["sis_scanned"] += 1
        if how_far != "fast":
            counters["sis_domain_search"] += 1
            counters["sis_scanned"] += event["scanned"]
            counters["sis_failed"] += how_far == "not found"
    total = {name: sum(counters[name] for counters in per_cpu.values()) for name in names}
    searching = [ratios(counters) for counters in per_cpu.values() if counters["sis_search"]]
    mean = {name: sum(row[name] for row in searching) / len(searching) if searching else 0 for name in ratios(total)}
    return {"total": total, "ratios": ratios(total), "cpu_mean": mean, "per_cpu": per_cpu}


def of_kicks(log):
    kicks = defaultdict(lambda: {"calls": 0, "interrupts": 0, "nobody_idle": 0, "by_reason": Counter()})
    no_kicks = defaultdict(lambda: {"by_reason": Counter()})
    for event in log.of("kick", counted=True):
        if event["flags"] == 0:
            no_kicks[event["cpu"]]["by_reason"][event["reason"]] += 1
            continue
        row = kicks[event["cpu"]]
        row["calls"] += 1
        row["interrupts"] += event["kicked"]
        row["nobody_idle"] += event["target"] is None
        is_stats = event["flags"] & 2
        other = "BlockedLoad" if is_stats else "NextBalance"
        row["by_reason"][event["reason"] if event["reason"] in KICKS_FOR_BALANCE else other] += 1
    return kicks, no_kicks


def of_blocked(log, duration):
    rows = defaultdict(lambda: {"calls": 0, "cfs_rqs": 0})
    for event in log.of("blocked", counted=True):
        rows[event["caller"]]["calls"] += 1
        rows[event["caller"]]["cfs_rqs"] += event["cfs_rqs"]
    for row in rows.values():
        row["calls_per_s"] = row["calls"] * 1e9 / duration
    calls = sum(row["calls"] for row in rows.values())
    return {
        "calls": calls,
        "calls_per_s": calls * 1e9 / duration if duration else 0,
        "cfs_rqs": sum(row["cfs_rqs"] for row in rows.values()),
        "by_caller": dict(rows),
    }


def of_passes(log):
    groups = defaultdict(list)
    for event in log.of("pass", counted=True):
        groups[event["level"], IDLE_TYPES[event["idle"]]].append(event)
    rows = {}
    for key, events in groups.items():
        verdicts = Counter(event["verdict"] for event in events)
        sums = {name: sum(event[name] for event in events) for name in ("cpus", "locks", "redos", "emptied", "raced")}
        rows[key] = {
            "passes": len(events),
            "not_ours": verdicts["NotOurs"],
            "balanced": verdicts["NoBusiestGroup"],
            "moved": verdicts["Moved"],
            "active": verdicts["ActiveBalance"],
            "failed": sum(verdicts[verdict] for verdict in FAILED),
            "locked": sum(event["locks"] > 0 for event in events),
            "tasks_looked_at": sum(event["scanned"] for event in events),
            "tasks_moved": sum(event["moved"] for event in events),
            **sums,
        }
    return rows


def of_times(log):
    """Returns the durations of kernel paths. All phases of a call belong to one path on one CPU."""
    calls, open_calls, searched = defaultdict(list), defaultdict(lambda: [0, 0]), {}
    counted = {id(event) for event in log.counted}
    for event in log.of("phase", "selection"):
        if event["e"] == "selection":
            searched[event["waker"]] = reach(event) in ("found", "not found")
            continue
        call = open_calls[event["cpu"], event["path"]]
        call[0] += event["took"]
        call[1] += event["waited"]
        if not event["ends"]:
            continue
        whole = tuple(open_calls.pop((event["cpu"], event["path"])))
        is_search = event["path"] == "select" and searched.pop(event["cpu"], False)
        if id(event) in counted:
            calls[event["path"]].append(whole)
            if is_search:
                calls["select_idle_cpu"].append(whole)
    rows = {}
    for path, durations in calls.items():
        wholes = [took + waited for took, waited in durations]
        waits = [waited for _, waited in durations if waited > 0]
        buckets = Counter()
        for whole in wholes:
            us = whole // 1000
            buckets[0 if us == 0 else 1 << (us.bit_length() - 1)] += 1
        rows[path] = {
            "total_ns": sum(wholes),
            "call": latency(wholes),
            "waited_ns": sum(waits),
            "lock_wait": latency(waits),
            "usecs": {(least,): count for least, count in buckets.items()},
        }
    return rows


def of_warnings(log):
    rows = {}
    for event in log.of("warning", counted=True):
        row = rows.setdefault(event["cpu"], {"double_clock": 0, "resched_latency": 0, "worst_latency_ns": 0})
        if event["what"] == "DoubleClock":
            row["double_clock"] += 1
        else:
            latency_ns = int(event["what"].split("latency_ns: ")[1].split(",")[0])
            row["resched_latency"] += 1
            row["worst_latency_ns"] = max(row["worst_latency_ns"], latency_ns)
    return rows


def of_settling(log):
    """Returns when a run has settled whose tasks all start at its beginning."""
    window, nr_windows, start = 20_000_000, 5, log.machine["t"]
    times = {kind: sorted(event["t"] for event in log.of(kind)) for kind in ("switch", "wakeup", "migrate")}
    slack = 2 * len(log.specs)

    def count(kind, first, last):
        """Returns the number of events after the end of one window, up to the end of another."""
        return sum(start + first * window < t <= start + last * window for t in times[kind])

    def is_steady(last):
        for kind in times:
            before = count(kind, last - 2 * nr_windows, last - nr_windows)
            after = count(kind, last - nr_windows, last)
            if abs(after - before) > max(after, before) // 20 + slack:
                return False
        return True

    return {"after_ns": next(last for last in range(2 * nr_windows, 101) if is_steady(last)) * window}


def of_run(log):
    """Returns all metrics of a run."""
    duration = log.end - log.from_t
    cpus, times = of_cpus(log)
    families = Families(log)
    rows = families.rows()
    kicks, no_kicks = of_kicks(log)
    softirqs = {name: sum(cpu["softirqs"][name] for cpu in cpus.values()) for name in cpus[0]["softirqs"]}
    softirqs["longest_backlog"] = max(cpu["softirqs"]["longest_backlog"] for cpu in cpus.values())

    def of_all(rows, *names):
        return sum(row[name] for row in rows.values() for name in names)

    work = Counter()
    for event in log.of("ops", counted=True):
        work.update(event["counts"])
    found, log.unclear_findings = findings.of_run(log, rows)
    return {
        "duration_ns": duration,
        "totals": {
            "tasks": of_all(rows, "tasks"),
            "full_speed_ns": sum(row["work"]["full_speed_ns"] for row in rows.values()),
            "busy_ns": of_all(cpus, "busy_ns"),
            "idle_ns": of_all(cpus, "idle_ns"),
            "offline_ns": of_all(cpus, "offline_ns"),
            "wait_ns": of_all(rows, "wait_ns"),
            "throttled_ns": of_all(rows, "throttled_ns"),
            "fairness_ppm": families.fairness(families.plain()),
            "kernel_ns": of_all(cpus, "kernel_ns"),
            "switches": len(log.of("switch", counted=True)),
            "wakeups": of_all(rows, "wakeups"),
            "migrations": of_all(rows, "migrations"),
            "ticks": of_all(cpus, "ticks"),
            "ipis": of_all(cpus, "reschedule_ipis", "call_function_ipis"),
            "softirqs": softirqs,
        },
        "responses": responses.of_run(log),
        "families": rows,
        "findings": found,
        "cpus": cpus,
        "cgroups": groups.of_cgroups(log, families.tasks),
        "selection": of_selection(log),
        "balance": of_balance(log),
        "work": dict(work),
        "energy": of_energy(log, times),
        "measure": {
            "search": of_search(log),
            "kicks": kicks,
            "no_kicks": no_kicks,
            "blocked": of_blocked(log, duration),
            "passes": of_passes(log),
            "times": of_times(log),
            "complaints": of_warnings(log),
        },
    }
