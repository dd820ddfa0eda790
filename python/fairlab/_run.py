# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs and their results."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from fairlab import _native
from fairlab._command import MemoryFiles, WorkloadLike, settings_of, warn
from fairlab._settings import RunOptions
from fairlab._table import Table, table_of_rows

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Groups of events for most tables.
EVENTS = ["sched", "stat", "idle", "freq", "ipi", "counters", "decisions", "paths", "markers"]
#: Tables that would make up most of a trace, with their groups of events. Each is collected on its own.
LARGE_TABLES = {"averages": "pelt", "lags": "lags"}


class Run:
    """Completed run. Only the summary is stored: for tables of events and the HTML report the run is repeated, with identical events."""

    def __init__(self, native: _native.Run, policy: Any = None) -> None:
        self._native = native
        self._large_tables: dict[str, Table] = {}
        self.policy = policy
        """Copy of the policy that made this run's decisions, with its recorded data; ``None`` without a policy."""

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Summary of the run, as ``fairlab run --json`` writes it. ``fairlab schema run`` prints the schema."""
        summary: dict[str, Any] = json.loads(self._native.summary())
        return summary

    @property
    def digest(self) -> str:
        """Hash over all actions of the scheduler: equal runs have equal digests."""
        return self._native.digest

    @property
    def warnings(self) -> list[str]:
        """Warnings of the run."""
        return self._native.warnings

    def report(self) -> str:
        """Return the run summary that ``fairlab run`` prints."""
        return self._native.report()

    def page(self, name: str = "run") -> str:
        """Return the report of ``fairlab report``: timeline, latencies, metrics. It is one HTML file that needs no network."""
        return self._native.page(name)

    def save_page(self, path: str | os.PathLike[str], name: str = "run") -> None:
        """Write the report of :meth:`page` to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.page(name))

    @cached_property
    def _events(self) -> dict[str, Table]:
        tables = {table.name: Table(table) for table in self._native.tables(EVENTS)}
        for name in LARGE_TABLES:
            del tables[name]
        return tables

    def _large_table(self, name: str) -> Table:
        if name not in self._large_tables:
            tables = self._native.tables([LARGE_TABLES[name]])
            self._large_tables[name] = next(Table(table) for table in tables if table.name == name)
        return self._large_tables[name]

    @property
    def table_names(self) -> list[str]:
        """Names of the tables."""
        return [*self._summary_tables, *self._events, *LARGE_TABLES]

    @property
    def _summary_tables(self) -> list[str]:
        return [name for name in ("responses", "families", "cpus") if name in self.summary]

    def table(self, name: str) -> Table:
        """Return a table.

        Parameters
        ----------
        name
            ``families``, ``cpus`` and, if the workload defines responses, ``responses`` are rows of the summary. Others contain events, as ``fairlab export --format csv`` writes them:
            ``tasks``, ``switches``, ``wakeups``, ``selections`` (selected CPU, rule, number of scanned CPUs),
            ``passes`` of load balancing, ``migrations``, ``averages``, ``lags`` (virtual times of EEVDF) and so on; see
            :attr:`table_names`.

        Raises
        ------
        InputError
            If the table does not exist.

        Examples
        --------
        >>> run = fairlab.run(fairlab.Workload.of(fairlab.periodic("ui", period_ms=10, run_ms=2)), for_="100ms")
        >>> run.table("selections").column("comm").count("ui-0") > 9
        True
        """
        if name in self._summary_tables:
            return table_of_rows(name, self.summary[name])
        if name in LARGE_TABLES:
            return self._large_table(name)
        if name not in self._events:
            raise _native.input_error(f"unknown table {name}", f"known tables: {', '.join(self.table_names)}")
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
    output: str | os.PathLike[str] | None = None,
    trace_jsonl: str | os.PathLike[str] | None = None,
    event_log: str | os.PathLike[str] | None = None,
    export: Mapping[str, str | os.PathLike[str]] | None = None,
    events: str | None = None,
    **settings: Unpack[RunOptions],
) -> Run:
    """Run a workload on a simulated machine, as ``fairlab run`` does.

    Other threads continue during the run. Ctrl-C ends the run.

    Parameters
    ----------
    workload
        File, dictionary in the format of rt-app files, or a :class:`Workload`.
    price
        Costs of single operations, in nanoseconds: ``{"ScanCpu": 17.5}``.
    output
        Write a run directory.
    trace_jsonl
        Write every event as a line of JSON.
    event_log
        Write all events of the scheduler and the machine, unprocessed, as lines of JSON.
    export
        Write traces for other tools: ``{"perfetto": "run.pftrace"}``.
    events
        Groups of events in these traces.
    **settings
        All other options of the command: :class:`RunOptions`, which contains those of :class:`Variant`. The option ``--for`` is ``for_``.

    Raises
    ------
    InputError
        If the input is wrong, with the command's message.
    RunError
        If the run could not continue.

    Examples
    --------
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=10, run_ms=2), fairlab.hog(instance=8))
    >>> big, small = (fairlab.run(work, for_=0.2, features={"SIS_UTIL": on}) for on in (True, False))
    >>> big.digest == fairlab.run(work, for_=0.2).digest
    True
    """
    texts = MemoryFiles()
    values = settings_of(texts, settings, RunOptions, "run")
    if price:
        values["prices"] = [*values.get("prices", []), *(f"{operation}={ns}" for operation, ns in price.items())]
    spec = {"workload": {"file": texts.workload(workload)}, "settings": values}
    outputs = {
        "trace": None if trace_jsonl is None else os.fspath(trace_jsonl),
        "event_log": None if event_log is None else os.fspath(event_log),
        "exports": [{"format": name, "file": os.fspath(file)} for name, file in (export or {}).items()],
        "events": events.split(",") if events else [],
    }
    native = _native.Run(json.dumps(spec), texts.files, json.dumps(outputs), output, texts.policies)
    warn(native.warnings)
    return Run(native, texts.policies[0][1].instance if texts.policies else None)
