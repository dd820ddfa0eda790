# SPDX-License-Identifier: GPL-2.0-or-later
"""Recomputes the results of `fairlab bench --json` from event logs, as the benchmarks define them."""

import re
from collections import Counter, defaultdict
from pathlib import Path

from metrics import Near, latency

# The page of the book with examples of each benchmark, of which the first is run.
PAGE = Path(__file__).resolve().parents[2] / "docs/book/src/reference/benchmarks.md"
EXAMPLES = re.findall(r"^```sh\nfairlab bench (.*?) (--machine .*)$", PAGE.read_text(), re.MULTILINE)
# Runs of all benchmarks: the benchmark's command, and options of fairlab.
RUNS = [
    *EXAMPLES,
    ("netperf -t UDP_RR --instances 8", "--machine xeon-2s-104 --for 8ms --warmup 4ms"),
    ("tbench 2", "--machine laptop-8 --prices zero --for 10ms --warmup 5ms"),
    ("stress-ng --sock 2", "--machine hikey960 --for 10ms --warmup 5ms"),
    ("schbench --release 2016 -m 2 -t 3", "--machine sc7180 --for 200ms"),
    ("schbench --release 2020 -m 1 -t 4", "--machine hikey960 --for 200ms --warmup 100ms"),
    ("schbench -m 1 -t 1", "--machine hikey960 --for 2100ms --warmup 300ms"),
    ("cyclictest -t 2 -p 80 --hogs 9", "--machine hikey960 --for 100ms --warmup 100ms"),
    ("hackbench -g 1 -f 2 -l 5", "--machine hikey960 --seed 4 --vary"),
    ("hackbench -g 1 -f 4 -l 10 --pipe --threads", "--machine xeon-2s-104"),
    ("perf sched pipe -l 100", "--machine hikey960 --seed 3 --vary"),
    ("micro sleep-200us --rounds 50", "--machine epyc-16llc"),
    ("micro messaging-unix --rounds 3", "--machine hikey960"),
]


class Marks:
    """Marks of a benchmark's tasks, and the rounds that end with them."""

    def __init__(self, log, first_end):
        self.log = log
        self.spec_of = {event["index"]: event["spec"] for event in log.of("fork")}
        counted = {id(event) for event in log.counted}
        since = {}
        self.rounds = []
        for event in log.of("fork", "mark"):
            began = since.get(event["index"])
            since[event["index"]] = event["t"]
            if event["e"] == "mark" and event["phase"] >= first_end and id(event) in counted:
                self.rounds.append((event["index"], event["phase"], event["t"] - began))

    def latencies(self):
        return [length for _, _, length in self.rounds]


class Histogram:
    """Percentiles of schbench: values in buckets of 8 bits, as fio has them."""

    def __init__(self, values):
        self.values = sorted(values)
        self.buckets = Counter(self.bucket(value) for value in values)

    @staticmethod
    def bucket(value):
        """Returns the middle of the bucket of a value."""
        shift = max(0, value.bit_length() - 9)
        return value if shift == 0 else ((value >> shift) << shift) + (1 << (shift - 1))

    def row(self, percents):
        rows, total, counted, place = {}, 0, 0, 0
        for middle in sorted(self.buckets):
            total += self.buckets[middle]
            while place < len(percents) and total >= percents[place] / 100 * len(self.values):
                rows[percents[place]] = {"value": middle, "samples": total - counted}
                counted, place = total, place + 1
        return {
            "samples": len(self.values),
            "percentiles": rows,
            "min": self.values[0] if self.values else 0,
            "max": self.values[-1] if self.values else 0,
        }


def seconds(log):
    return (log.end - log.from_t) / 1e9


def netperf(log, _reported, _words):
    marks = Marks(log, 1)
    by_spec = Counter(marks.spec_of[index] for index, _, _ in marks.rounds)
    elapsed = seconds(log)
    return {
        "elapsed_s": elapsed,
        "per_instance": {
            place: by_spec[spec] / elapsed
            for place, spec in enumerate(spec["spec"] for spec in log.specs if spec["family"] == "netperf")
        },
        "sum": len(marks.rounds) / elapsed,
        **places(log, marks),
        "latency": latency(marks.latencies()),
    }


def places(log, marks):
    """Returns how often client and server had last run on one CPU, and how often a task moved."""
    index_of = {spec: index for index, spec in marks.spec_of.items()}
    counted, cpu_of, shared, moves = {id(event) for event in log.counted}, {}, 0, 0
    by_ms = defaultdict(list)
    for event in log.of("switch", "mark"):
        if event["e"] == "switch":
            last = cpu_of.get(event["next"], event["cpu"])
            moves += id(event) in counted and last != event["cpu"]
            cpu_of[event["next"]] = event["cpu"]
        elif id(event) in counted:
            server = index_of[marks.spec_of[event["index"]] - 1]
            is_shared = cpu_of[log.task_of_index[event["index"]]] == cpu_of.get(log.task_of_index[server])
            shared += is_shared
            by_ms[event["t"] // 1_000_000].append(is_shared)
    nr_rounds = max(1, len(marks.rounds))
    return {"on_one_cpu": shared / nr_rounds, "moves_per_transaction": moves / nr_rounds, **states(by_ms)}


def states(by_ms):
    """Returns the shares of the quarters, and since when the pairs are stacked."""
    first, last = min(by_ms), max(by_ms) + 1
    length = last - first
    quarters = {}
    if length >= 4:
        bounds = [first + quarter * length // 4 for quarter in range(5)]
        for quarter in range(4):
            transactions = [shared for ms in range(*bounds[quarter : quarter + 2]) for shared in by_ms.get(ms, [])]
            quarters[quarter] = sum(transactions) / max(1, len(transactions))
    stacked = last
    while stacked > first and 4 * sum(by_ms.get(stacked - 1, [])) >= 3 * len(by_ms.get(stacked - 1, [])):
        stacked -= 1
    since = {} if stacked == last else {"stacked_after_ns": (stacked - first) * 1_000_000}
    return {"on_one_cpu_quarters": quarters, **since}


# Operations of tbench in the order of their marks, with the bytes that count for the throughput.
TBENCH = [
    ("ReadX", 4096), ("ReadX", 61_440), ("NTCreateX", 0), ("Qpathinfo", 0), ("Close", 0), ("WriteX", 65_536),
    ("WriteX", 4096), ("WriteX", 1), ("Find", 0), ("Unlink", 0), ("Qfsinfo", 0), ("Qfileinfo", 0),
    ("Sfileinfo", 0), ("Flush", 0), ("Rename", 0), ("Rmdir", 0),
]


def tbench(log, _reported, _words):
    marks = Marks(log, 1)
    operations, data = Counter(), 0
    for _, phase, _ in marks.rounds:
        name, size = TBENCH[phase - 1]
        operations[name,] += 1
        data += size
    return {
        "max_latency_ms": max(marks.latencies(), default=0) / 1e6,
        "operations": dict(operations),
        "throughput_mb_s": data / 2**20 / seconds(log),
    }


def oltp(log, _reported, _words):
    marks = Marks(log, 1)
    lengths, elapsed = sorted(marks.latencies()), seconds(log)
    p95 = lengths[-(-95 * len(lengths) // 100) - 1] / 1e6 if lengths else 0
    mean = sum(lengths) // len(lengths) / 1e6 if lengths else 0
    return {
        "transactions": len(lengths),
        "per_s": len(lengths) / elapsed,
        "total_time_s": elapsed,
        "latency_ms": {0: lengths[0] / 1e6, 1: mean, 2: lengths[-1] / 1e6, 3: Near(p95, p95 / 500)} if lengths else {},
    }


def stress_ng(log, _reported, _words):
    marks = Marks(log, 1)
    switches = log.of("switch", counted=True)
    return {
        "bogo_ops": len(marks.rounds),
        "real_time_s": seconds(log),
        "bogo_ops_per_s": len(marks.rounds) / seconds(log),
        "switches": len(switches),
        "involuntary": sum(event["state"] == "R" and event["prev"] in log.forks for event in switches),
    }


def wake_latencies(log, phase, once):
    """Returns the latencies in us from the waker's time stamp to a mark; 0 counts as none."""
    counted, since, found = {id(event) for event in log.counted}, {}, []
    for event in log.of("time_recorded", "mark"):
        if event["e"] == "time_recorded":
            since[event["index"]] = event["t"]
        elif event["phase"] == phase and event["index"] in since:
            began = since.pop(event["index"]) if once else since[event["index"]]
            if id(event) in counted and microseconds(began, event["t"]) > 0:
                found.append(microseconds(began, event["t"]))
    return found


def microseconds(since, until):
    """Returns the difference of two times of `gettimeofday()`, which are whole microseconds."""
    return until // 1000 - since // 1000


def schbench(log, reported, words):
    if "average_rps" in reported:
        return schbench_rps(log)
    row = Histogram(wake_latencies(log, 1, False)).row((50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9))
    return {
        "runtime_s": int(seconds(log)),
        "samples": row["samples"],
        "percentiles": row["percentiles"],
        "min_us": row["min"],
        "max_us": row["max"],
    }


def schbench_rps(log):
    counted, began, requests, ends = {id(event) for event in log.counted}, {}, [], []
    for event in log.of("mark"):
        if event["phase"] == 2:
            began[event["index"]] = event["t"]
        elif event["phase"] == 3 and id(event) in counted:
            ends.append(event["t"])
            if microseconds(began[event["index"]], event["t"]) > 0:
                requests.append(microseconds(began[event["index"]], event["t"]))
    # A sample of the rate is a full second of the measured time that a request has ended after.
    start = log.machine["t"]
    by_second = Counter((t - start) // 10**9 for t in ends)
    first = (log.from_t - start) // 10**9
    whole = range(first + (log.from_t > start), max(by_second, default=0))
    rates = [by_second[second] for second in whole]
    return {
        "runtime_s": int(seconds(log)),
        "wakeup_latency_us": Histogram(wake_latencies(log, 1, True)).row((50.0, 90.0, 99.0, 99.9)),
        "request_latency_us": Histogram(requests).row((50.0, 90.0, 99.0, 99.9)),
        "rps": Histogram(rates).row((20.0, 50.0, 90.0)),
        "average_rps": len(ends) / seconds(log),
    }


def cyclictest(log, reported, _words):
    counted, expired, by_task = {id(event) for event in log.counted}, {}, defaultdict(list)
    for event in log.of("timer", "mark"):
        if event["e"] == "timer":
            expired[event["index"]] = event["expired"]
        elif event["phase"] == 1 and id(event) in counted:
            by_task[event["index"]].append(event["t"] - expired[event["index"]])
    threads = {
        row["thread"]: {"last_ns": by_task[row["thread"]][-1], "latency": latency(by_task[row["thread"]])}
        for row in reported["threads"]
        if by_task[row["thread"]]
    }
    return {"threads": threads, "latency": latency([value for values in by_task.values() for value in values])}


def elapsed(log, reported, words):
    began = next(event["t"] for event in log.of("fork") if event["spec"] == 0)
    ended = [event["t"] for event in log.of("switch") if event["state"] == "X"]
    until = ended[-1] if reported["is_done"] else log.end
    result = {"time_s": (until - began) / 1e9}
    if "pipe" in words and words[0] == "perf":
        loops = int(words[words.index("-l") + 1])
        result["usecs_per_op"] = (until - began) / 1e3 / loops
        result["ops_per_s"] = 1e6 / result["usecs_per_op"]
    if words[0] == "micro" and reported["is_done"]:
        # Ten senders send each message to ten receivers; a sleep counts without its 200 us.
        rounds = int(words[words.index("--rounds") + 1])
        per_round = 100 if words[1].startswith("messaging") else 1
        requested_ns = 200_000 if words[1] == "sleep-200us" else 0
        result["ns_per_op"] = (until - began) / rounds / per_round - requested_ns
    return result


# Functions for benchmarks with results of their own; all others measure the time until they end.
RECOMPUTED = {
    "netperf": netperf,
    "tbench": tbench,
    "oltp": oltp,
    "stress-ng": stress_ng,
    "schbench": schbench,
    "cyclictest": cyclictest,
}


def of_run(log, command, reported):
    words = command.split()
    return {"bench": RECOMPUTED.get(words[0], elapsed)(log, reported, words)}
