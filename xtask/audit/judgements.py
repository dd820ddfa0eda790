# SPDX-License-Identifier: GPL-2.0-or-later
"""Recomputes what `fairlab compare --json` concludes from the values of its runs: tests, verdicts, and all notes.

The values themselves are recomputed in `comparisons.py`. A kind of note or judgement without a checker is a difference.
"""

import math
import statistics
from collections import Counter

SCENARIOS = "xtask/audit/compare"
# Comparisons for their conclusions: arguments of `compare`.
RUNS = [
    ["scenarios/eight-cpus.scn", "--for", "60ms", "--arm", "NO_GENTLE_FAIR_SLEEPERS", "--runs", "12"],
    ["scenarios/hello.json", "--for", "60ms", "--arm", "governor=performance", "--runs", "14"],
    ["scenarios/hello.json", "--for", "60ms", "--arm", "governor=performance", "--runs", "12", "--all", "--metric", "energy, busy"],
    ["scenarios/hello.json", "--for", "60ms", "--arm", "governor=performance", "--arm", "machine=xeon-2s-104", "--runs", "3"],
    ["scenarios/hello.json", "--for", "60ms", "--arm", "governor=performance", "--statistic", "mean", "--runs", "12"],
    ["scenarios/hello.json", "--for", "60ms", "--arm", "prices=zero", "--runs", "8", "--metric", "totals.migrations:less"],
    ["scenarios/hello.json", "--for", "60ms", "--arm", "governor=performance", "--runs", "1"],
    ["scenarios/fair-share.scn", "--for", "100ms", "--arm", "min_granularity_ns=9000000", "--runs", "10", "--matters", "40"],
    ["scenarios/fair-share.scn", "--for", "100ms", "--arm", "min_granularity_ns=1500000", "--until-significant", "--metric", "totals.switches:less"],
    [f"{SCENARIOS}/one-cpu.scn", "--arm", "base_slice_ns=9000000", "--runs", "6", "--hold-still"],
    [f"{SCENARIOS}/one-cpu.scn", "--arm", "base_slice_ns=9000000", "--runs", "1"],
    [f"{SCENARIOS}/one-cpu.scn", "--arm", "base_slice_ns=9000000", "--arm", "NO_RUN_TO_PARITY", "--runs", "9"],
    [f"{SCENARIOS}/quota-with-burst.scn", "--arm", "kernel=5.10", "--arm", "kernel=5.15", "--runs", "7"],
    [f"{SCENARIOS}/short.scn", "--arm", f"workload={SCENARIOS}/long.scn", "--runs", "12"],
    ["--bench", "netperf -t TCP_RR -l 1", "--machine", "xeon-2s-104", "--arm", "NO_SIS_UTIL", "--runs", "8", "--for", "20ms"],
    ["--machine", "studies/states/xeon-32.toml", "--prices", "xeon-1s-112", "--kernel", "5.19", "--warmup", "200ms", "--for", "20ms",
     "--arm", "shell: bench=netperf -t UDP_RR -l 1 --instances 40 --starts shell",
     "--arm", "at once: bench=netperf -t UDP_RR -l 1 --instances 40 --starts at-once", "--runs", "8"],
    ["--bench", "hackbench -g 1 -l 20", "--machine", "xeon-2s-104", "--arm", "NO_SIS_UTIL", "--runs", "12"],
]
# Comparison that is stopped by a signal after this time in s.
CUT_RUN = ["scenarios/hello.json", "--for", "2s", "--arm", "governor=performance", "--runs", "10000"]
CUT_AFTER = 1.5
KINDS = {
    *(f"verdict {kind}" for kind in ("identical", "too-few", "differs", "one-run", "no-variation", "negligible", "not-significant")),
    *(f"note {kind}" for kind in (
        "stopped", "repetitions", "missing-addition", "assumption", "zero-costs", "no-idle-energy", "identical-arms",
        "split-runs", "pair-ends", "per-second", "equal-work", "repeated-tests", "tests", "intervals", "too-few",
        "needed-repetitions", "partial",
    )),
}
RESOLUTIONS = {"ns": 100, "us": 0.1, "ms": 1e-4, "s": 1e-7, "": 1, "uJ": 1}
MAX_COUNTED = 60


def signed_rank(differences):
    """Returns the two-sided p-value of Wilcoxon's test, and whether the positive ranks weigh more."""
    ordered = sorted((abs(one), one > 0) for one in differences if one != 0)
    positions = {}
    for place, (size, _) in enumerate(ordered, 1):
        positions.setdefault(size, []).append(place)
    # Twice the mean rank of equal sizes is an integer.
    ranks = [(positions[size][0] + positions[size][-1], up) for size, up in ordered]
    total, up = sum(rank for rank, _ in ranks), sum(rank for rank, is_up in ranks if is_up)
    if len(ranks) > MAX_COUNTED:
        # The normal distribution, with a continuity correction of half a rank.
        deviation = math.sqrt(sum(rank**2 for rank, _ in ranks) / 4)
        away = min(0.0, (min(up, total - up) + 1 - total / 2) / deviation)
        return min(1.0, 2 * statistics.NormalDist().cdf(away)), up > total - up
    ways = Counter({0: 1})
    for rank, _ in ranks:
        ways += Counter({reached + rank: nr for reached, nr in ways.items()})
    tail = sum(nr for reached, nr in ways.items() if reached <= min(up, total - up))
    return min(1.0, 2 * tail / 2 ** len(ranks)), up > total - up


def holm(values):
    """Returns p-values after Holm's step-down correction."""
    corrected, last = [None] * len(values), 0.0
    for done, place in enumerate(sorted(range(len(values)), key=lambda place: values[place])):
        last = max(last, min(1.0, values[place] * (len(values) - done)))
        corrected[place] = last
    return corrected


def median_interval(changes, outside):
    """Returns the order statistics between which the median lies with the probability; None for too few changes."""
    ordered, nr = sorted(changes), len(changes)
    cut, below = 0, 0.0
    while True:
        below += math.comb(nr, cut) / 2**nr
        if 2 * below > outside:
            break
        cut += 1
    return [ordered[cut - 1], ordered[nr - cut]] if cut else None


def pair_difference(before, after, is_open_before, is_open_after):
    """Returns the difference of a pair; a lower bound beside a larger value, or beside a lower bound, is a tie."""
    if is_open_before and is_open_after:
        return 0.0
    if (is_open_before and before <= after) or (is_open_after and after <= before):
        return 0.0
    return after - before


class Judgements:
    """Conclusions from the values of a comparison. `digests` and `summaries` are by arm and repetition."""

    def __init__(self, reported, digests, summaries, options):
        self.reported, self.digests, self.summaries, self.options = reported, digests, summaries, options
        self.table, self.arms = reported["comparison"], reported["arms"]
        self.rows = self.table["rows"]
        self.failures, self.checked = [], Counter()

    def expect(self, place, found, expected):
        is_close = isinstance(found, (int, float)) and isinstance(expected, (int, float)) and not isinstance(found, bool)
        if is_close and found is not None and math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12):
            return
        if found != expected:
            self.failures.append((place, found, expected))

    def check(self):
        distinct = self.distinct()
        table = self.table
        self.expect("distinct", table["distinct"], len(distinct))
        self.same_events = [all(self.digests[arm][run] == self.digests[0][run] for run in distinct) for arm in range(len(self.arms))]
        tested = [(row, arm) for row in self.rows for arm in range(1, len(self.arms)) if self.is_tested(row, arm)]
        self.expect("tests", table["tests"], len(tested))
        nr = max(1, len(tested))
        enough = next((pairs for pairs in range(2, MAX_COUNTED) if nr * 2 * 0.5**pairs <= table["level"]), MAX_COUNTED)
        self.expect("enough", table["enough"], enough)
        ranks = [signed_rank(self.differences(row, arm)) for row, arm in tested]
        corrected = holm([p for p, _ in ranks])
        of_test = {(row["name"], arm): (rank, p) for (row, arm), rank, p in zip(tested, ranks, corrected)}
        self.too_few = bool(tested) and len(distinct) < enough
        for row in self.rows:
            for arm in range(1, len(self.arms)):
                self.check_change(row, arm, of_test.get((row["name"], arm)), enough)
        for arm, verdict in enumerate(self.reported["verdicts"], 1):
            self.check_verdict(arm, verdict)
        self.expect("verdicts", len(self.reported["verdicts"]), len(self.arms) - 1)
        self.check_notes()

    def distinct(self):
        """Returns the repetitions that are not the same as an earlier one, by the digests of all arms."""
        first = {}
        for run in range(self.table["repetitions"]):
            first.setdefault(tuple(digests[run] for digests in self.digests), run)
        return sorted(first.values())

    def is_same(self, row, arm):
        return row["arms"][arm]["runs"] == row["arms"][0]["runs"]

    def is_tested(self, row, arm):
        if self.is_same(row, arm) or row["better"] == "neither" or not row["is_tested"]:
            return False
        return self.table["distinct"] > 1

    def differences(self, row, arm):
        first, other = row["arms"][0], row["arms"][arm]
        opens = [figure.get("lower_bounds") or [False] * len(figure["runs"]) for figure in (first, other)]
        return [pair_difference(*pair) for pair in zip(first["runs"], other["runs"], *opens)]

    def check_change(self, row, arm, test, enough):
        change, place = row["changes"][arm - 1], f"{row['name']}, arm {arm}"
        before, after = row["arms"][0]["runs"], row["arms"][arm]["runs"]
        has_percent = min(before) > 0
        percents = [100 * (b / a - 1) for a, b in zip(before, after)] if has_percent else None
        amounts = [b - a for a, b in zip(before, after)]
        if self.table["statistic"] == "mean":
            means = statistics.fmean(before), statistics.fmean(after)
            self.expect(f"{place}: difference", change["difference"], means[1] - means[0])
            self.expect(f"{place}: percent", change["percent"], 100 * (means[1] / means[0] - 1) if has_percent else None)
        else:
            self.expect(f"{place}: difference", change["difference"], statistics.median(amounts))
            self.expect(f"{place}: percent", change["percent"], statistics.median(percents) if has_percent else None)
            self.expect_interval(f"{place}: interval", change["interval"], median_interval(amounts, 0.05))
            self.expect_interval(f"{place}: percents", change["percent_interval"], percents and median_interval(percents, 0.05))
        (p, goes_up), corrected = test if test else ((None, None), None)
        self.expect(f"{place}: p", change["p"], p)
        self.expect(f"{place}: corrected p", change["p_corrected"], corrected)
        is_open = any(figure["is_lower_bound"] for figure in (row["arms"][0], row["arms"][arm]))
        self.expect(f"{place}: open", change["rests_on_open_waits"], is_open)
        self.expect(f"{place}: verdict", change["verdict"], self.verdict(row, arm, change, corrected, goes_up, enough))

    def expect_interval(self, place, found, expected):
        self.expect(f"{place} exists", found is not None, expected is not None)
        for one, other in zip(found or [], expected or []):
            self.expect(place, one, other)

    def verdict(self, row, arm, change, corrected, goes_up, enough):
        if corrected is None:
            if self.same_events[arm] and self.is_same(row, arm):
                return "identical"
            if row["better"] == "neither" or not row["is_tested"]:
                return "unjudged"
            return "untested" if self.table["distinct"] < 2 else "negligible"
        low, high = change["interval"] or (None, None)
        side = None
        if corrected <= self.table["level"] and low is not None:
            near, far = (low, high) if goes_up else (-high, -low)
            side = "beyond" if near > 0 else "from zero" if near == 0 and far > 0 else None
        has_small_interval = low is not None and all(self.is_small(row, arm, change, bound) for bound in (0, 1))
        if side is not None:
            by_mean = side == "from zero" and not has_small_interval
            if self.is_small(row, arm, change, None) and (not by_mean or self.is_mean_small(row, arm)):
                return "negligible"
            return "better" if goes_up == (row["better"] == "more") else "worse"
        if self.table["distinct"] < enough:
            return "too-few"
        return "negligible" if has_small_interval and self.is_mean_small(row, arm) else "not-found"

    def is_small(self, row, arm, change, bound):
        """Whether a change (None), or a bound of its interval, does not matter."""
        pick = lambda value, interval: change[value] if bound is None else change[interval] and change[interval][bound]
        amount, percent = pick("difference", "interval"), pick("percent", "percent_interval")
        if abs(amount) < RESOLUTIONS.get(row["unit"], 0):
            return True
        if percent is None:
            return abs(amount) < self.table["matters_percent"] / 100 * max(abs(row["arms"][0]["value"]), abs(row["arms"][arm]["value"]))
        return abs(percent / (1 + percent / 100) if percent > 0 else percent) < self.table["matters_percent"]

    def is_mean_small(self, row, arm):
        means = [statistics.fmean(row["arms"][which]["runs"]) for which in (0, arm)]
        least = self.table["matters_percent"] / 100 * max(map(abs, means))
        return abs(means[1] - means[0]) < max(least, RESOLUTIONS.get(row["unit"], 0))

    def check_verdict(self, arm, verdict):
        place, judgement = f"verdict on arm {arm}", verdict["judgement"]
        self.checked[f"verdict {judgement['kind']}"] += 1
        self.expect(f"{place}: names", (verdict["arm"], verdict["first"]), (self.arms[arm], self.arms[0]))
        size = lambda change: math.inf if change["percent"] is None else abs(change["percent"])
        self.expect(f"{place}: work", verdict["work_changes"], sorted(self.table["work_changes"][arm - 1], key=size, reverse=True))
        self.expect(f"{place}: equal work", verdict["has_equal_work"], any("at equal work" in row["name"] for row in self.rows))
        with_verdict = lambda wanted: [row for row in self.rows if row["changes"][arm - 1]["verdict"] == wanted]
        worse, better = with_verdict("worse"), with_verdict("better")
        nr_tested = sum(row["changes"][arm - 1]["p"] is not None for row in self.rows)
        if self.is_identical(arm):
            expected = {"kind": "identical"}
        elif self.too_few:
            expected = {"kind": "too-few", **self.too_few_fields()}
        elif worse or better:
            expected = {"kind": "differs", "worse": self.most(worse, arm), "better": self.most(better, arm)}
        elif with_verdict("untested"):
            expected = {"kind": "one-run" if self.table["repetitions"] == 1 else "no-variation"}
        elif with_verdict("not-found"):
            expected = {"kind": "not-significant", "nr_tested": nr_tested}
        else:
            expected = {"kind": "negligible", "matters_percent": self.table["matters_percent"], "nr_metrics": len(with_verdict("negligible"))}
        self.expect(f"{place}: judgement", judgement, expected)

    def is_identical(self, arm):
        """Whether all runs of an arm have the events and values of the first arm's."""
        return self.same_events[arm] and all(self.is_same(row, arm) for row in self.rows)

    def most(self, rows, arm):
        if not rows:
            return None
        row = max(rows, key=lambda row: (row.get("is_goal", False), abs(row["changes"][arm - 1]["percent"] or 0)))
        change = row["changes"][arm - 1]
        return {
            "nr_metrics": len(rows), "metric": row["name"], "is_goal": row.get("is_goal", False), "percent": change["percent"],
            "rests_on_open_waits": change["rests_on_open_waits"],
        }

    def too_few_fields(self):
        table = self.table
        return {
            "distinct": table["distinct"], "has_duplicates": table["distinct"] < table["repetitions"],
            "nr_tests": table["tests"], "level_percent": 100 * table["level"], "enough": table["enough"],
        }

    def check_notes(self):
        notes = [{key: value for key, value in note.items() if key != "text"} for note in self.reported["notes"]]
        for note in notes:
            self.checked[f"note {note['kind']}"] += 1
        expected = list(self.notes())
        for note in notes:
            if note not in expected:
                same = [other for other in expected if other["kind"] == note["kind"]]
                self.expect("note", note, same[0] if same else f"no note of this kind, or a checker for {note['kind']}")
        for note in expected:
            if note not in notes:
                self.expect("note", f"no {note['kind']} note", note)

    def notes(self):
        """Yields the notes that the comparison must have."""
        table, arms, runs = self.table, self.arms, [run for runs in self.summaries for run in runs]
        is_varied = table["repetitions"] > 1 and "--hold-still" not in self.options
        requested = int(self.options[self.options.index("--runs") + 1]) if "--runs" in self.options else None
        if requested is not None and table["repetitions"] < requested:
            yield {"kind": "stopped", "done": table["repetitions"], "requested": requested}
        yield {
            "kind": "repetitions", "repetitions": table["repetitions"], "distinct": table["distinct"],
            "first_seed": 1 if table["repetitions"] > 1 else None, "is_varied": is_varied,
        }
        for arm, missing in zip(arms, self.reported["missing"]):
            for addition in missing:
                yield {"kind": "missing-addition", "arm": arm, **addition}
        for assumption in sorted({text for run in runs for text in run["assumptions"]}):
            yield {"kind": "assumption", "assumption": assumption}
        free = [arm for arm, runs in zip(arms, self.summaries) if not any(run["totals"]["kernel_ns"] for run in runs)]
        if free:
            yield {"kind": "zero-costs", "arms": free, "is_everywhere": len(free) == len(arms)}
        if any(run.get("energy") and run["energy"]["idle_uj"] is None for run in runs):
            yield {"kind": "no-idle-energy"}
        for arm in range(1, len(arms)):
            if self.is_identical(arm):
                yield {"kind": "identical-arms", "arm": arms[arm], "first": arms[0]}
        yield from self.split_runs()
        pairs = next((row for row in self.rows if row["name"] == "on one CPU"), None)
        if pairs is not None:
            shares = [arm["value"] for arm in pairs["arms"]]
            of_arms = [{"arm": arm, "share": share} for arm, share in zip(arms, shares)]
            yield {"kind": "pair-ends", "shares": of_arms, "are_apart": max(shares) - min(shares) >= 0.25}
        if len({run["duration_ns"] for run in runs}) > 1 and self.reported["subjects"][0]["kind"] in ("scenario", "rt-app"):
            yield {"kind": "per-second"}
        if any("at equal work" in row["name"] for row in self.rows):
            yield {"kind": "equal-work", "first": arms[0]}
        if self.reported["looks"] is not None:
            nr_times, is_out_of_time = self.reported["looks"]
            yield {"kind": "repeated-tests", "nr_times": nr_times, "is_out_of_time": is_out_of_time}
        if table["tests"] > 0:
            has_abbreviations = "--all" in self.options or table["repetitions"] == 1
            yield {"kind": "tests", "nr_tests": table["tests"], "level_percent": 100 * table["level"], "has_abbreviations": has_abbreviations}
            method = "bootstrap" if table["statistic"] == "mean" else "order-statistics"
            yield {"kind": "intervals", "method": method, "nr_pairs": table["distinct"]}
            if self.too_few:
                yield {"kind": "too-few", **self.too_few_fields()}
            needed = [
                (max(numbers), row["name"]) for row in self.rows
                if (numbers := [change["needed"] for change in row["changes"] if change["needed"] is not None])
            ]
            if needed:
                (least, easy), (most, hard) = min(needed), max(needed)
                yield {
                    "kind": "needed-repetitions", "detect_percent": table["detect_percent"], "nr_metrics": len(needed),
                    "least": {"runs": least, "metric": easy}, "most": {"runs": most, "metric": hard},
                }
        if table["partial"]:
            yield {"kind": "partial", "metrics": [row["name"] for row in table["partial"]]}

    def split_runs(self):
        """Yields a note for each arm with a rate whose values have one wide gap."""
        for arm, name in enumerate(self.arms):
            for row in self.rows:
                values = sorted(row["arms"][arm]["runs"])
                if row["better"] != "more" or row["unit"] != "/s" or len(values) < 8:
                    continue
                _, cut = max((values[cut] - values[cut - 1], cut) for cut in range(2, len(values) - 1))
                low, high = values[:cut], values[cut:]
                gap, inside = high[0] - low[-1], max(low[-1] - low[0], high[-1] - high[0])
                if gap > 0 and gap >= 0.25 * statistics.fmean(low) and gap >= 3 * inside:
                    states = [{"nr_runs": len(part), "mean": statistics.fmean(part)} for part in (low, high)]
                    yield {"kind": "split-runs", "arm": name, "metric": row["name"], "unit": row["unit"], "states": states}
                    break


def repetition_of(arguments, seed):
    """Returns the arguments of one repetition of a comparison."""
    kept, skip = [], 0
    for word in arguments:
        if skip:
            skip -= 1
        elif word in ("--runs", "--metric", "--statistic", "--matters"):
            skip = 1
        elif word not in ("--hold-still", "--until-significant", "--all"):
            kept.append(word)
    vary = [] if "--hold-still" in arguments else ["--vary"]
    return [*kept, *vary, "--runs", "1", "--seed", str(seed)]


def audit(comparison, arguments, fairlab):
    """Compares the conclusions of a comparison; returns the number of checked ones by kind. `fairlab` runs it."""
    reported, error = fairlab(["compare", *arguments, "--json"], CUT_AFTER if arguments == CUT_RUN else None)
    if reported is None:
        raise ValueError(error.strip()[:300])
    nr = reported["comparison"]["repetitions"]
    repeat = lambda seed: fairlab(["compare", *repetition_of(arguments, seed), "--json"], None)[0]["results"]
    runs = [repeat(seed) for seed in range(1, nr + 1)]
    if nr == 1:
        runs = [reported["results"]]
    by_arm = list(zip(*runs))
    digests = [[run["digest"] for run in of_arm] for of_arm in by_arm]
    judgements = Judgements(reported, digests, by_arm, arguments)
    judgements.check()
    for place, found, expected in judgements.failures:
        comparison.differs("comparison", place, str(found)[:300], str(expected)[:300])
    comparison.nr_compared += 1
    return judgements.checked
