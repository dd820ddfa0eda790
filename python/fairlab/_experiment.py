# SPDX-License-Identifier: GPL-2.0-or-later
"""Benchmarks, comparisons with statistics, and what an optimiser asks for."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from fairlab import _native
from fairlab._command import (
    MachineLike,
    Settings,
    Texts,
    Time,
    Variant,
    WorkloadLike,
    arm_word,
    option,
    setting_word,
    time_word,
    variant_words,
    warn,
)
from fairlab._table import Table, table_of_rows

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Forms in which a comparison is written.
FORMS = ["json", "text", "std", "mmtests", "lkp", "markdown", "html", "junit"]


class Bench(dict[str, Any]):
    """What a benchmark told: what ``fairlab bench --json`` writes. Its own figures are ``["result"]``."""


def bench(
    line: str,
    *,
    for_: Time | None = None,
    warmup: Time | None = None,
    seed: int | None = None,
    perturb: int | None = None,
    **variant: Unpack[Variant],
) -> Bench:
    """Run the model of a benchmark: ``fairlab bench``.

    Parameters
    ----------
    line
        The benchmark with its own options: ``"hackbench -g 4 -l 100"``.
    for_, seed, perturb
        As of :func:`run`.
    warmup
        Simulate for as long before anything is measured.
    **variant
        On what it runs: :class:`Variant`.

    Examples
    --------
    >>> told = fairlab.bench("perf sched pipe -l 1000")
    >>> told["bench"], told["machine"], told["result"]["time_s"] > 0
    ('perf bench sched pipe', 'hikey960', True)
    """
    texts = Texts()
    words = ["bench", *shlex.split(line)]
    words += variant_words(texts, variant, "bench")
    option(words, "--for", None if for_ is None else time_word(for_))
    option(words, "--warmup", None if warmup is None else time_word(warmup))
    option(words, "--seed", seed)
    option(words, "--perturb", perturb)
    results, warned = _native.command([*words, "--json"], texts.named, None, texts.policies)
    warn(warned)
    return Bench(json.loads("".join(results)))


class Comparison:
    """An experiment that was made: arms, and of each metric what they come to and what their difference is worth."""

    def __init__(self, forms: dict[str, str]) -> None:
        self._forms = forms
        self.data: dict[str, Any] = json.loads(forms["json"])

    @property
    def arms(self) -> list[str]:
        """Names of the arms, the first of which others are compared with."""
        arms: list[str] = self.data["arms"]
        return arms

    def text(self, form: str = "text") -> str:
        """Write it: ``text``, ``std``, ``mmtests``, ``lkp``, ``markdown``, ``json``, ``html`` or ``junit``."""
        if form not in self._forms:
            raise _native.InputError(f"there is no such form; there are {', '.join(FORMS)}")
        return self._forms[form]

    def verdict(self, metric: str, arm: str | None = None) -> str:
        """Say of a metric what became of it: ``better``, ``worse``, ``not-found``, ``too-few``, ``identical``, ``untested`` or ``unjudged``."""
        place = self.arms.index(arm) if arm is not None else len(self.arms) - 1
        for row in self.data["comparison"]["rows"]:
            if row["name"] == metric:
                verdict: str = row["changes"][place - 1]["verdict"]
                return verdict
        known = ", ".join(row["name"] for row in self.data["comparison"]["rows"])
        raise _native.InputError(f"there is no metric {metric}\nhelp: there are {known}")

    @property
    def table(self) -> Table:
        """Its rows, one for each metric and arm."""
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
        """Every value of every run: metric, arm, repetition, value."""
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
    for_: Time | None = None,
    warmup: Time | None = None,
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
    jobs: int | None = None,
    **variant: Unpack[Variant],
) -> Comparison:
    """Make an experiment: arms, repeated with seeds that all of them share. ``fairlab compare --runs``, whose options these are.

    Parameters
    ----------
    workload, bench
        What is run: a workload as of :func:`run`, or the line of a benchmark.
    arms
        What is compared: words as of ``--arm`` (``"NO_SIS_UTIL,kernel=5.4"``), or settings (``{"SIS_UTIL": False, "kernel": "5.4"}``); in a
        dictionary each has a name. A single arm is compared with the workload as it is. A setting ``policy`` is a :class:`WakePolicy`.
    runs
        How often each arm is run; once without it, and then nothing tells an effect from an accident.
    until_significant, budget
        Repeat until of each metric a difference is found or could have been, but no longer than this.
    hold_still
        Let repetitions differ in the scheduler's dice alone.
    statistic, metric, level, detect
        ``mean`` or ``median``; metrics that are looked at; how many percent of experiments may find a difference where there is none; the
        difference in percent that is worth finding.
    jobs
        At most so many runs at a time; one with policies of one's own, unless it is given.
    for_, warmup, seed, vary
        As of :func:`run` and :func:`bench`, for all arms.
    **variant
        On what all arms run: :class:`Variant`.

    Examples
    --------
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=1), fairlab.hog(instance=8))
    >>> found = fairlab.compare(work, arms={"as is": {}, "slow": {"machine": "hikey"}}, runs=3, for_="100ms")
    >>> found.arms
    ['as is', 'slow']
    """
    texts = Texts()
    words = ["compare"]
    if workload is not None:
        words.append(texts.workload(workload))
    option(words, "--bench", bench)
    named = arms.items() if isinstance(arms, Mapping) else [(None, arm) for arm in arms]
    for name, arm in named:
        changes = arm if isinstance(arm, str) else arm_word(arm, texts)
        words.append(f"--arm={changes}" if name is None else f"--arm={name}: {changes}")
    words += variant_words(texts, variant, "compare")
    for option_name, time in (("--for", for_), ("--warmup", warmup), ("--budget", budget)):
        option(words, option_name, None if time is None else time_word(time))
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
    words += [f"--format={form}" for form in FORMS]
    if texts.policies:
        # The interpreter's lock lets one run on at a time; more of them would only wait for each other.
        jobs = jobs or 1
    results, warned = _native.command(words, texts.named, jobs, texts.policies)
    warn(warned)
    return Comparison(dict(zip(FORMS, results)))


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
    """Run once with some settings and give its metrics: what an optimiser asks for, again and again.

    Parameters
    ----------
    params
        Settings, as of arms: features (``{"SIS_UTIL": False}``), tunables (``{"migration_cost_ns": 0}``), ``kernel``, ``governor``,
        ``machine``, ``prices``, ``price.OPERATION``, ``policy``; and whatever stands in braces in the benchmark's line.
    workload, bench
        What is run.
    metrics
        Names of metrics, or paths in what ``fairlab run --json`` tells; all that are known without it.
    machine, kernel, for_, warmup, seed, vary
        As of :func:`run`.

    Returns
    -------
    dict
        Names and values of metrics.

    Examples
    --------
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=1))
    >>> told = fairlab.evaluate({"wakeup_granularity_ns": 0}, workload=work, for_="100ms", metrics=["switches", "energy.busy_uj"])
    >>> sorted(told)
    ['energy.busy_uj', 'switches']
    """
    texts = Texts()
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
    # A key in braces has no value in the plan itself, which looks at its points: so the plan has them too.
    plan["base"].update(settings)
    sweep = _native.Sweep.of_json("evaluate", json.dumps(plan), ".", texts.named, texts.policies)
    return dict(sweep.run({}, seed)[1])
