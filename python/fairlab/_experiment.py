# SPDX-License-Identifier: GPL-2.0-or-later
"""Benchmarks, comparisons with statistics, and evaluations for an optimiser."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from fairlab import _native
from fairlab._command import (
    MachineLike,
    MemoryFiles,
    Settings,
    Time,
    WorkloadLike,
    arm_word,
    option,
    setting_word,
    settings_of,
    time_word,
    warn,
)
from fairlab._settings import BenchOptions, RepeatOptions
from fairlab._table import Table, table_of_rows

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Output formats of a comparison.
FORMATS = ["json", "text", "std", "mmtests", "lkp", "markdown", "html", "junit"]


class Bench(dict[str, Any]):
    """Result of a benchmark, as ``fairlab bench --json`` writes it. The benchmark's metrics are ``["result"]``."""


def bench(
    line: str,
    **settings: Unpack[BenchOptions],
) -> Bench:
    """Run the model of a benchmark: ``fairlab bench``.

    Parameters
    ----------
    line
        Benchmark with its own options: ``"hackbench -g 4 -l 100"``.
    **settings
        Options of fairlab: :class:`BenchOptions`.

    Examples
    --------
    >>> result = fairlab.bench("perf sched pipe -l 1000")
    >>> result["bench"], result["machine"], result["result"]["time_s"] > 0
    ('perf bench sched pipe', 'hikey960', True)
    """
    texts = MemoryFiles()
    values = settings_of(texts, settings, BenchOptions, "bench")
    words = ["bench", *shlex.split(line), "--json"]
    results, warned = _native.command(words, texts.files, None, texts.policies, json.dumps(values))
    warn(warned)
    return Bench(json.loads("".join(results)))


class Comparison:
    """Result of an experiment: for each metric the values of all arms, their differences and verdicts."""

    def __init__(self, formats: dict[str, str]) -> None:
        self._formats = formats
        self.data: dict[str, Any] = json.loads(formats["json"])

    @property
    def arms(self) -> list[str]:
        """Names of the arms. The first one is the baseline."""
        arms: list[str] = self.data["arms"]
        return arms

    def text(self, form: str = "text") -> str:
        """Return the comparison as ``text``, ``std``, ``mmtests``, ``lkp``, ``markdown``, ``json``, ``html`` or ``junit``."""
        if form not in self._formats:
            raise _native.input_error(f"unknown format {form}", f"known formats: {', '.join(FORMATS)}")
        return self._formats[form]

    def verdict(self, metric: str, arm: str | None = None) -> str:
        """Return the verdict on a metric: ``better``, ``worse``, ``not-found``, ``too-few``, ``negligible``, ``identical``, ``untested`` or ``unjudged``."""
        place = self.arms.index(arm) if arm is not None else len(self.arms) - 1
        for row in self.data["comparison"]["rows"]:
            if row["name"] == metric:
                verdict: str = row["changes"][place - 1]["verdict"]
                return verdict
        known = ", ".join(row["name"] for row in self.data["comparison"]["rows"])
        raise _native.input_error(f"unknown metric {metric}", f"known metrics: {known}")

    @property
    def table(self) -> Table:
        """Table with one row for each metric and arm."""
        rows = [
            {
                "metric": row["name"],
                "unit": row["unit"],
                "arm": name,
                "value": figure["value"],
                "deviation": figure["deviation"],
                "percent": change.get("percent"),
                "p_corrected": change.get("p_corrected"),
                "verdict": change.get("verdict"),
            }
            for row in self.data["comparison"]["rows"]
            for name, figure, change in zip(self.arms, row["arms"], [{}, *row["changes"]])
        ]
        return table_of_rows("comparison", rows)

    @property
    def runs(self) -> Table:
        """Table of the values of all runs: metric, arm, repetition, value."""
        rows = [
            {"metric": row["name"], "arm": name, "repetition": place, "value": value}
            for row in self.data["comparison"]["rows"]
            for name, figure in zip(self.arms, row["arms"])
            for place, value in enumerate(figure["runs"])
        ]
        return table_of_rows("runs", rows)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Comparison of {' and '.join(self.arms)}>"

    def _repr_html_(self) -> str:
        page = escape(self.text("html"), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:480px;border:0"></iframe>'


def compare(
    workload: WorkloadLike | None = None,
    *,
    arms: Iterable[str | Settings] | Mapping[str, str | Settings],
    bench: str | None = None,
    runs: int | None = None,
    seed: int | None = None,
    vary: bool = False,
    hold_still: bool = False,
    until_significant: bool = False,
    budget: Time | None = None,
    statistic: str | None = None,
    metric: Iterable[str] = (),
    level: float | None = None,
    detect: float | None = None,
    matters: float | None = None,
    jobs: int | None = None,
    **settings: Unpack[RepeatOptions],
) -> Comparison:
    """Compare arms in an experiment with shared seeds, as ``fairlab compare --runs`` does.

    Parameters
    ----------
    workload, bench
        Workload, as in :func:`run`, or the line of a benchmark.
    arms
        Arms, as text in the format of ``--arm`` (``"NO_SIS_UTIL,kernel=5.4"``) or as settings (``{"SIS_UTIL": False, "kernel": "5.4"}``). A
        dictionary gives them names. A single arm is compared with the unchanged workload. The setting ``policy`` is a :class:`WakePolicy`.
    runs
        Number of runs of each arm. With one run, which is the default, an effect cannot be distinguished from an artefact.
    until_significant, budget
        Repeat until each metric has a significant difference or ``detect`` could have been detected, but no longer than the budget.
    hold_still
        Let repetitions differ only in the scheduler's random numbers.
    statistic, metric, level, detect, matters
        ``median`` (of the pairs' changes, the default) or ``mean``; metrics to report; significance level in percent; difference to detect,
        and smallest difference that matters, in percent.
    jobs
        Largest number of runs at a time. Default: one per core, and one with policies in Python.
    seed, vary
        As in :func:`run` and :func:`bench`, for all arms.
    **settings
        Settings of all arms: :class:`RepeatOptions`.

    Examples
    --------
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=1), fairlab.hog(instance=8))
    >>> found = fairlab.compare(work, arms={"as is": {}, "slow": {"machine": "hikey"}}, runs=3, for_="100ms")
    >>> found.arms
    ['as is', 'slow']
    """
    texts = MemoryFiles()
    words = ["compare"]
    if workload is not None:
        words.append(texts.workload(workload))
    option(words, "--bench", bench)
    named = arms.items() if isinstance(arms, Mapping) else [(None, arm) for arm in arms]
    for name, arm in named:
        changes = arm if isinstance(arm, str) else arm_word(arm, texts)
        words.append(f"--arm={changes}" if name is None else f"--arm={name}: {changes}")
    values = settings_of(texts, settings, RepeatOptions, "compare")
    option(words, "--budget", None if budget is None else time_word(budget))
    option(words, "--runs", runs)
    option(words, "--seed", seed)
    option(words, "--vary", vary)
    option(words, "--hold-still", hold_still)
    option(words, "--until-significant", until_significant)
    option(words, "--statistic", statistic)
    for asked in metric:
        option(words, "--metric", asked)
    option(words, "--level", level)
    option(words, "--detect", detect)
    option(words, "--matters", matters)
    words += [f"--format={form}" for form in FORMATS]
    if texts.policies:
        # The interpreter's lock serialises policies, so parallel runs would only wait for each other.
        jobs = jobs or 1
    results, warned = _native.command(words, texts.files, jobs, texts.policies, json.dumps(values))
    warn(warned)
    return Comparison(dict(zip(FORMATS, results)))


def evaluate(
    params: Settings | None = None,
    *,
    workload: WorkloadLike | None = None,
    bench: str | None = None,
    machine: MachineLike | None = None,
    kernel: str | None = None,
    for_: Time | None = None,
    warmup: Time | None = None,
    seed: int = 1,
    vary: bool = False,
    metrics: Iterable[str] = (),
) -> dict[str, float]:
    """Run once with the given settings and return the metrics, for an optimiser.

    Parameters
    ----------
    params
        Settings, as in arms: features (``{"SIS_UTIL": False}``), tunables (``{"migration_cost_ns": 0}``), ``kernel``, ``governor``,
        ``machine``, ``prices``, ``price.OPERATION``, ``fact.KEY``, ``policy``; and all names in braces in the benchmark's line.
    workload, bench
        Workload, or the line of a benchmark.
    metrics
        Names of metrics, or paths in the output of ``fairlab run --json``. Default: all known metrics.
    machine, kernel, for_, warmup, seed, vary
        As in :func:`run`.

    Returns
    -------
    dict
        Names and values of metrics.

    Examples
    --------
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=1))
    >>> values = fairlab.evaluate({"base_slice_ns": 700_000}, workload=work, for_="100ms", metrics=["switches", "energy.busy_uj"])
    >>> sorted(values)
    ['energy.busy_uj', 'switches']
    """
    texts = MemoryFiles()
    base = {key: value for key, value in (("machine", machine), ("kernel", kernel)) if value is not None}
    plan: dict[str, Any] = {"base": {key: setting_word(key, value, texts) for key, value in base.items()}, "vary": vary}
    if workload is not None:
        plan["workload"] = texts.workload(workload)
    if bench is not None:
        plan["bench"] = bench
    for key, time in (("for", for_), ("warmup", warmup)):
        if time is not None:
            plan[key] = time_word(time)
    settings = {key: setting_word(key, value, texts) for key, value in (params or {}).items()}
    plan["metrics"] = list(metrics)
    # The plan checks that each name in braces has a value, so its base contains the settings too.
    plan["base"].update(settings)
    sweep = _native.Sweep.of_json("evaluate", json.dumps(plan), ".", texts.files, texts.policies)
    return dict(sweep.run({}, seed)[1])
