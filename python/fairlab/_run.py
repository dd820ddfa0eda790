# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs, and what can be asked of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from fairlab import _native
from fairlab._command import (
    Settings,
    Texts,
    Time,
    Variant,
    WorkloadLike,
    arm_word,
    option,
    time_word,
    variant_words,
    warn,
)
from fairlab._table import Table, table_of_rows

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Groups of events of which most tables are made. Averages are most of a trace, and have a table and a group of their own.
EVENTS = ["sched", "stat", "idle", "freq", "ipi", "counters", "decisions", "paths", "markers"]
AVERAGES = "averages"


class Run:
    """A run that is over. Only its summary is kept: who asks for a table of events or the page has it run again, the same in every event."""

    def __init__(self, native: _native.Run, policy: Any = None) -> None:
        self._native = native
        self.policy = policy
        """The copy of the policy that has made this run's decisions, with all that it has noted; ``None`` without one."""

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What it amounts to: what ``fairlab run --json`` tells. ``fairlab schema run`` is its schema."""
        summary: dict[str, Any] = json.loads(self._native.summary())
        return summary

    @property
    def digest(self) -> str:
        """The hash over all that the scheduler did: equal runs have equal digests."""
        return self._native.digest

    @property
    def warnings(self) -> list[str]:
        """What the run warned of."""
        return self._native.warnings

    def report(self) -> str:
        """Give the page of ``fairlab run``."""
        return self._native.report()

    def page(self, name: str = "run") -> str:
        """Give the page of ``fairlab report``: timeline, latencies, figures; one file of HTML that needs no network."""
        return self._native.page(name)

    def save_page(self, path: str | os.PathLike[str], name: str = "run") -> None:
        """Write that page."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.page(name))

    @cached_property
    def _events(self) -> dict[str, Table]:
        tables = {table.name: Table(table) for table in self._native.tables(EVENTS)}
        del tables[AVERAGES]
        return tables

    @cached_property
    def _averages(self) -> Table:
        return next(Table(table) for table in self._native.tables(["pelt"]) if table.name == AVERAGES)

    @property
    def table_names(self) -> list[str]:
        """The names of its tables."""
        return ["families", "cpus", *self._events, AVERAGES]

    def table(self, name: str) -> Table:
        """Give a table.

        Parameters
        ----------
        name
            ``families`` and ``cpus`` are rows of the summary. Others are events, the tables that ``fairlab export --format csv`` writes:
            ``tasks``, ``switches``, ``wakeups``, ``selections`` (which CPU was selected, by which rule, how many were looked at),
            ``passes`` of load balancing, ``migrations``, ``averages`` and so on; see :attr:`table_names`.

        Raises
        ------
        InputError
            If there is none of that name.

        Examples
        --------
        >>> run = fairlab.run(fairlab.Workload.of(fairlab.periodic("ui", period_ms=10, run_ms=2)), for_="100ms")
        >>> run.table("selections").column("comm").count("ui-0") > 9
        True
        """
        if name in ("families", "cpus"):
            return table_of_rows(name, self.summary[name])
        if name == AVERAGES:
            return self._averages
        if name not in self._events:
            raise _native.InputError(f"there is no table {name}\nhelp: there are {', '.join(self.table_names)}")
        return self._events[name]

    def __repr__(self) -> str:
        of = self.summary["run"]
        seconds = self.summary["duration_ns"] / 1e9
        return f"<Run {of['workload']} on {of['machine']}, kernel {of['kernel']}, {seconds:g} s, digest {self.digest}>"

    def __str__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        page = escape(self.page(self.summary["run"]["workload"]), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0"></iframe>'


def run(
    workload: WorkloadLike,
    *,
    price: Mapping[str, float] | None = None,
    for_: Time | None = None,
    seed: int | None = None,
    vary: bool = False,
    perturb: int | None = None,
    keep_duplicate_keys: bool = False,
    output: str | os.PathLike[str] | None = None,
    trace_jsonl: str | os.PathLike[str] | None = None,
    export: Mapping[str, str | os.PathLike[str]] | None = None,
    events: str | None = None,
    **variant: Unpack[Variant],
) -> Run:
    """Run a workload on a simulated machine: ``fairlab run``, whose options these are.

    The interpreter goes on meanwhile: other threads run. Ctrl-C ends the run.

    Parameters
    ----------
    workload
        A file, a dictionary in rt-app's form, or a :class:`Workload`.
    price
        Prices of single operations, in nanoseconds: ``{"ScanCpu": 17.5}``.
    for_
        How long to simulate: ``"500ms"``, or a number of seconds.
    seed
        Draws the scheduler's dice, and with ``vary`` what nobody holds still.
    vary
        Let starts and random lengths vary with the seed.
    perturb
        Permute what happens at one instant, another way for each number.
    keep_duplicate_keys
        Keep all of equal keys in an rt-app file.
    output
        Write a run directory.
    trace_jsonl
        Write every event as a line of JSON.
    export
        Write traces for other tools: ``{"perfetto": "run.pftrace"}``.
    events
        Which groups of events such traces have.
    **variant
        On what it runs: machine, kernel, engine, features, set, governor, cpu_dma_latency, prices, plain, policy; :class:`Variant` has what they
        mean.

    Raises
    ------
    InputError
        If something that was given is wrong, with the command's message.
    RunError
        If the run could not go on.

    Examples
    --------
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=10, run_ms=2), fairlab.hog(instance=8))
    >>> big, small = (fairlab.run(work, for_=0.2, features={"SIS_UTIL": on}) for on in (True, False))
    >>> big.digest == fairlab.run(work, for_=0.2).digest
    True
    """
    texts = Texts()
    prices = variant.get("prices")
    of_machine = prices is not None and prices not in ("machine", "zero")
    words = [texts.workload(workload)]
    words += variant_words(texts, {**variant, "prices": None} if of_machine else variant, "run")
    arm: Settings = {f"price.{operation}": ns for operation, ns in (price or {}).items()}
    if prices is not None and of_machine:
        arm = {"prices": texts.machine(prices), **arm}
    option(words, "--for", None if for_ is None else time_word(for_))
    option(words, "--seed", seed)
    option(words, "--vary", vary)
    option(words, "--perturb", perturb)
    option(words, "--keep-duplicate-keys", keep_duplicate_keys)
    option(words, "--output", None if output is None else os.fspath(output))
    option(words, "--trace-jsonl", None if trace_jsonl is None else os.fspath(trace_jsonl))
    for name, file in (export or {}).items():
        option(words, "--export", f"{name}={os.fspath(file)}")
    option(words, "--events", events)
    native = _native.Run(words, texts.named, arm_word(arm, texts) if arm else None, texts.policies)
    warn(native.warnings)
    return Run(native, texts.policies[0][1].made if texts.policies else None)
