# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the data of the HTML page of `fairlab report` with an event log.

Not recomputed: the series of utilisation and of runnable tasks, and the wait before a segment, which are samples of
the scheduler's state.
"""

import base64
import json
import re
from collections import Counter, defaultdict

import findings
import registry
from log import replay_tasks
from metrics import Near


# Most waits that a page lists.
MAX_WAITS = 20


def read(path):
    """Returns the data of the only run of a page, and the names of the rules of CPU selection."""
    with open(path, encoding="utf-8") as file:
        page = file.read()

    def element(name):
        return json.loads(re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', page, re.S)[1])

    return element("input")["runs"][0], [name for name, _ in element("constants")["rules"]]


def numbers(text):
    """Returns the numbers that are encoded as LEB128 in base64."""
    value, shift = 0, 0
    for byte in base64.b64decode(text):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value, shift = 0, 0


def segments(run):
    """Returns the segments of each CPU: start, end, pid, number of merged segments, busy time, rule."""
    data = numbers(run["segments"])

    def number():
        return next(data)

    found = []
    for _ in run["cpus"]:
        own, last = [], 0
        for _ in range(number()):
            start = last + number()
            last = start + number()
            thread, merged = number(), number()
            busy = number() if merged > 1 else last - start
            # The waits before the segment.
            number(), number()
            own.append((start, last, run["threads"][thread]["pid"], merged, busy, number()))
        found.append(own)
    return found


def bucket(ns):
    """Returns the bucket of a latency: eight for each power of two, of equal width."""
    octave = max(ns, 1).bit_length() - 1
    return octave * 8 + (max(0, ns - (1 << octave)) * 8 >> octave)


def compare(comparison, run, rules, log):
    start = log.machine["t"]
    pids = {task: fork["pid"] for task, fork in log.forks.items()}

    def check(name, place, reported, recomputed):
        comparison.nr_compared += 1
        comparison.paths.add(f"page.{name}")
        agrees = recomputed.agrees(reported) if hasattr(recomputed, "agrees") else reported == recomputed
        if not agrees:
            comparison.differs(f"page.{name}", place, reported, recomputed)

    def check_counts(name, reported, recomputed):
        for key in reported.keys() | recomputed.keys():
            check(name, str(key), reported.get(key, 0), recomputed.get(key, 0))

    check("length_ns", "", run["length_ns"], log.end - start)
    scans = [event["scanned"] for event in log.of("selection", counted=True) if event["kind"] == "Wakeup"]
    check_counts("scanned", {int(nr): count for nr, count in run["scanned"].items()}, Counter(scans))
    per_cell = run["cpus_per_cell"]
    moves = Counter(
        (event["from"] // per_cell, event["to"] // per_cell) for event in log.of("migrate", counted=True)
    )
    check_counts("migrations", {(source, to): count for source, to, count in run["migrations"]}, moves)

    latencies, waits = defaultdict(Counter), []
    counted = {id(event) for event in log.counted}

    def wait(number, length, queued, is_open):
        family = log.family_of(number)
        if family is not None:
            waits.append((length, is_open))
            if queued is not None:
                latencies[family][bucket(queued)] += 1

    def on(kind, event, task):
        if kind not in ("in", "throttling") or task.state not in ("waiting", "throttled") or id(event) not in counted:
            return
        if kind == "in":
            wait(event["next"], event["t"] - task.since, task.queued_at(event["t"]), False)
        else:
            wait(event["task"], event["t"] - task.since, None, False)

    tasks = replay_tasks(log, on)
    for number in log.forks:
        task = tasks[number]
        if task.state_at_end in ("waiting", "throttled"):
            queued = task.queued_at_end if task.state_at_end == "waiting" else None
            wait(number, log.end - task.intervals[-1][0], queued, True)
    for family in latencies.keys() | run["latencies"].keys():
        own = {int(key): count for key, count in run["latencies"].get(family, {}).items()}
        check_counts("latencies", own, latencies[family])
    longest = sorted((wait for wait in waits if wait[0] > 0), reverse=True)[:MAX_WAITS]
    check("waits", "", [wait["length_ns"] for wait in run["waits"]], [length for length, _ in longest])
    is_open = {length for length, is_open in longest if is_open}
    check("waits", "open", all(wait["length_ns"] in is_open for wait in run["waits"] if wait["is_open"]), True)

    ran = defaultdict(list)
    for number, pid in pids.items():
        for begin, end, state, cpu in tasks[number].intervals:
            if state == "running" and end > begin:
                ran[cpu].append((begin - start, end - start, pid))
    own_pids = set(pids.values())
    for cpu, own in enumerate(segments(run)):
        if run["resolution_ns"] == 0:
            check("segments", f"CPU {cpu}", [row[:3] for row in own if row[2] in own_pids], sorted(ran[cpu]))
        check("segments", f"CPU {cpu} order", all(one[1] <= two[0] for one, two in zip(own, own[1:])), True)
        check("segments", f"CPU {cpu} rules", all(row[5] <= len(rules) for row in own), True)
    series(check, run, log)
    worst = [finding["worst_ns"] for finding in run["findings"] or [] if finding["rule"] in registry.with_rows()]
    recomputed, _ = findings.of_run(log, {})
    for (rule, family), row in recomputed.items():
        check("findings", f"{rule} of {family}", row["worst_ns"] in worst, True)


def frequencies(run):
    """Returns the average frequency of each CPU in each part of the run."""
    data = numbers(run["series"])
    nr_parts = next(data)
    for _ in run["cpus"]:
        of_cpu = []
        # Utilisation, frequency, runnable tasks, idle state: values, each with the number of parts that have it.
        for _ in range(4):
            values = []
            while len(values) < nr_parts:
                value = next(data)
                values += [value] * next(data)
            of_cpu.append(values)
        yield of_cpu[1]


def series(check, run, log):
    """Compares the averages of the frequency over the parts of the run."""
    start, length = log.machine["t"], run["series_ns"]
    for cpu, khz_of_parts in enumerate(frequencies(run)):
        if log.cpus[cpu]["khz"] is None:
            continue
        changes = [(start, log.cpus[cpu]["khz"])]
        changes += [(event["t"], event["khz"]) for event in log.of("speed") if event["cpu"] == cpu]
        ends = [t for t, _ in changes[1:]] + [log.end]
        nr_parts = len(khz_of_parts)
        width = max(1, length // nr_parts)
        for part in range(0, nr_parts, 40):
            low, high = -(-length * part // nr_parts), -(-length * (part + 1) // nr_parts)
            total = sum(
                khz * max(0, min(end - start, high) - max(t - start, low)) for (t, khz), end in zip(changes, ends)
            )
            check("khz", f"CPU {cpu} part {part}", khz_of_parts[part], Near(total / width, 1))
