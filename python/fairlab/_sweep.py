# SPDX-License-Identifier: GPL-2.0-or-later
"""Sweeps: everything that a plan spans, on all cores of this machine or on a cluster of Dask, into one store."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from fairlab import _native
from fairlab._command import Texts, setting_word, warn
from fairlab._table import Table, table_of_rows

if TYPE_CHECKING:
    from distributed import Client

#: So many results are written at a time, at most, and no later than so many seconds after they came.
MOST_WAITING = 64
PATIENCE_S = 1.0


class Spec(NamedTuple):
    """A plan as it is sent to workers, with the texts that it needs."""

    name: str
    text: str
    is_json: bool
    directory: str
    texts: tuple[tuple[str, str], ...]

    def read(self) -> _native.Sweep:
        """Read the plan."""
        make = _native.Sweep.of_json if self.is_json else _native.Sweep
        return make(self.name, self.text, self.directory, list(self.texts))


@dataclass(frozen=True)
class Swept:
    """What a sweep has come to."""

    table: Table = field(repr=False)
    """A row for each point that is done: settings, seed, metrics, digest."""
    failures: list[str]
    """Points that have failed, and why."""
    missing: int
    """How many points are still to be done."""

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def spec_of(plan: str | os.PathLike[str] | Mapping[str, Any]) -> Spec:
    """Read the plan's file, or take a dictionary of its form."""
    if not isinstance(plan, Mapping):
        path = os.fspath(plan)
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            help = "give the path of a plan; `fairlab sweep --help` shows one"
            raise _native.InputError(f"{path}: cannot be read: {error.strerror}\nhelp: {help}") from error
        return Spec(path, text, False, os.path.dirname(os.path.abspath(path)), ())
    texts = Texts()

    def words(settings: Mapping[str, Any]) -> dict[str, Any]:
        plain = (bool, int, str)
        return {
            key: value if isinstance(value, plain) else setting_word(key, value, texts) for key, value in settings.items()
        }

    taken = dict(plan)
    settings = [taken.get("base", {}), taken.get("grid", {}), *taken.get("list", [])]
    if any("policy" in part for part in settings):
        help = "compare it, or run it with evaluate()"
        raise _native.InputError(f"a store cannot tell one policy from another of its name\nhelp: {help}")
    if "workload" in taken:
        taken["workload"] = texts.workload(taken["workload"])
    if "base" in taken:
        taken["base"] = words(taken["base"])
    if "grid" in taken:
        taken["grid"] = {
            key: [words({key: value})[key] for value in values] for key, values in taken["grid"].items()
        }
    if "list" in taken:
        taken["list"] = [words(row) for row in taken["list"]]
    return Spec("plan", json.dumps(taken), True, os.getcwd(), tuple(texts.named))


#: The plan of which this process ran a point last, read.
_last: dict[Spec, tuple[_native.Sweep, list[tuple[str, dict[str, str], int]]]] = {}


def _read(spec: Spec) -> tuple[_native.Sweep, list[tuple[str, dict[str, str], int]]]:
    read = _last.get(spec)
    if read is None:
        sweep = spec.read()
        read = sweep, sweep.points()
        _last.clear()
        _last[spec] = read
    return read


def run_point(spec: Spec, place: int) -> tuple[tuple[str, list[tuple[str, float]]] | None, str, int]:
    """Run a point of a plan, on a worker: what it told or why it failed, and how long it took."""
    sweep, points = _read(spec)
    _, settings, seed = points[place]
    begun = time.perf_counter_ns()
    try:
        told, why = sweep.run(settings, seed), ""
    except _native.Error as error:
        told, why = None, str(error)
    return told, why, time.perf_counter_ns() - begun


@contextmanager
def _store(path: str, sweep: _native.Sweep, retry: bool) -> Iterator[_native.Store]:
    store = _native.Store(path, sweep, retry)
    try:
        yield store
    finally:
        store.close()


def sweep(
    plan: str | os.PathLike[str] | Mapping[str, Any],
    *,
    store: str | os.PathLike[str] | None = None,
    shard: str = "1/1",
    retry: bool = False,
    client: Client | None = None,
    retries: int = 2,
) -> Swept:
    """Run whatever a plan spans: ``fairlab sweep``.

    Results go into a store, one file, as they come. The same call again goes on where the last one ended, however it ended; so does the
    command, whose store this is.

    Parameters
    ----------
    plan
        A plan's file, or a dictionary of its form, in which workloads and machines may be objects.
    store
        Where results are kept: ``PLAN.sweep`` beside the plan's file without it, and nowhere for a dictionary.
    shard
        Run only the i-th of N parts of the points: ``"2/8"``.
    retry
        Run points again that have failed.
    client
        A client of Dask distributed, whose workers run the points. They need fairlab, but no file that the plan's dictionary has as an
        object. Workers may come and go.
    retries
        How often a point is tried again there if something other than the point fails.

    Raises
    ------
    InputError
        If the plan is wrong, or the store is not one.
    RunError
        If results cannot be written, or the cluster has given points up. What was written is safe.

    Examples
    --------
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=1))
    >>> plan = {"workload": work, "for": "50ms", "metrics": ["switches"], "grid": {"SIS_UTIL": [True, False]}}
    >>> fairlab.sweep(plan).table.column("SIS_UTIL")
    ['true', 'false']
    """
    spec = spec_of(plan)
    sweep = spec.read()
    sweep.check()
    with tempfile.TemporaryDirectory(prefix="fairlab-") as scratch:
        if store is not None:
            path = os.fspath(store)
        elif spec.is_json:
            path = os.path.join(scratch, "plan.sweep")
        else:
            path = os.path.splitext(spec.name)[0] + ".sweep"
        with _store(path, sweep, retry) as opened:
            if client is None:
                opened.run_pending(sweep, shard)
            else:
                _on_cluster(client, spec, sweep, opened, shard, retries)
            warn(sweep.warnings)
            results = opened.results()
            missing = len(opened.pending("1/1"))
    rows = [
        {**settings, "seed": seed, **dict(told[1]), "digest": told[0]} for settings, seed, told, _ in results if told
    ]
    failures = [
        f"{' '.join(f'{key}={value}' for key, value in settings.items())} seed {seed}: {why}"
        for settings, seed, told, why in results
        if told is None
    ]
    return Swept(table_of_rows("sweep", rows), failures, missing)


def _on_cluster(
    client: Client, spec: Spec, sweep: _native.Sweep, store: _native.Store, shard: str, retries: int
) -> None:
    import distributed

    # Dask's own functions say little of their types.
    cluster: Any = client
    as_completed: Any = distributed.as_completed
    places = {id: place for place, (id, _, _) in enumerate(sweep.points())}
    pending = [id for id, _, _ in store.pending(shard)]
    # The plan travels once to each worker; a point is then the plan's key and a number.
    sent = cluster.scatter(spec, broadcast=True, hash=False)
    todo: dict[Any, str] = {
        cluster.submit(run_point, sent, places[id], pure=False, retries=retries, key=f"fairlab-{id}"): id for id in pending
    }
    waiting: list[tuple[str, tuple[str, list[tuple[str, float]]] | None, str, int]] = []
    lost: list[str] = []
    written = time.monotonic()
    try:
        for future in as_completed(todo):
            id = todo.pop(future)
            # A result that was on a lost worker is computed again elsewhere, and waited for.
            try:
                waiting.append((id, *future.result()))
            except Exception as error:
                lost.append(f"{id}: {error!r}")
            future.release()
            if len(waiting) >= MOST_WAITING or time.monotonic() - written > PATIENCE_S:
                store.put(waiting)
                waiting, written = [], time.monotonic()
    finally:
        store.put(waiting)
        cluster.cancel(list(todo))
    if lost:
        help = "are the workers alive, and do they have fairlab? The same call goes on"
        raise _native.RunError(f"the cluster has given up {len(lost)} points, such as {lost[0]}\nhelp: {help}")
