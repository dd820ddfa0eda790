# SPDX-License-Identifier: GPL-2.0-or-later
"""Sweeps: run all points of a plan, on all cores of this machine or on a Dask cluster, into one store."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from fairlab import _native
from fairlab._command import MemoryFiles, setting_word, warn
from fairlab._table import Table, table_of_rows

if TYPE_CHECKING:
    from distributed import Client

#: Largest number of results that wait to be written.
MAX_PENDING_RESULTS = 64
#: Longest time between two writes, in seconds.
FLUSH_INTERVAL_S = 1.0
#: Conversions of stored settings, which are texts, by the type of a setting's values in the plan.
_CONVERSIONS: Mapping[str, Callable[[str], Any]] = {"switch": lambda text: text == "true", "integer": int, "number": float}


class PlanSpec(NamedTuple):
    """Plan in the form that is sent to workers, with its texts."""

    name: str
    text: str
    is_json: bool
    directory: str
    texts: tuple[tuple[str, str], ...]

    def read(self) -> _native.Sweep:
        """Parse the plan."""
        make = _native.Sweep.of_json if self.is_json else _native.Sweep
        return make(self.name, self.text, self.directory, list(self.texts))


@dataclass(frozen=True)
class Swept:
    """Result of a sweep."""

    table: Table = field(repr=False)
    """Table with one row for each completed point: settings with the types of the plan, seed, metrics, digest."""
    failures: list[str]
    """Failed points with their reasons."""
    missing: int
    """Number of points that have not been run."""

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def plan_spec(plan: str | os.PathLike[str] | Mapping[str, Any]) -> PlanSpec:
    """Read a plan file, or convert a dictionary in its format."""
    if not isinstance(plan, Mapping):
        path = os.fspath(plan)
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            help = "give the path of a plan; `fairlab sweep --help` shows one"
            raise _native.input_error(f"{path}: cannot be read: {error.strerror}", help) from error
        return PlanSpec(path, text, False, os.path.dirname(os.path.abspath(path)), ())
    texts = MemoryFiles()

    def words(settings: Mapping[str, Any]) -> dict[str, Any]:
        def word(key: str, value: Any) -> Any:
            # Scalars of numpy and the like become Python's.
            item = getattr(value, "item", None)
            plain = item() if callable(item) else value
            return plain if isinstance(plain, (bool, int, float, str)) else setting_word(key, plain, texts)

        return {key: word(key, value) for key, value in settings.items()}

    taken = dict(plan)
    settings = [taken.get("base", {}), taken.get("grid", {}), *taken.get("list", [])]
    if any("policy" in part for part in settings):
        help = "use compare() or evaluate()"
        raise _native.input_error("a store cannot distinguish two policies of the same name", help)
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
    return PlanSpec("plan", json.dumps(taken), True, os.getcwd(), tuple(texts.files))


#: Parsed plan of the point that this process ran last.
_last_plan: dict[PlanSpec, tuple[_native.Sweep, list[tuple[str, dict[str, str], int]]]] = {}


def _read_plan(spec: PlanSpec) -> tuple[_native.Sweep, list[tuple[str, dict[str, str], int]]]:
    read = _last_plan.get(spec)
    if read is None:
        sweep = spec.read()
        read = sweep, sweep.points()
        _last_plan.clear()
        _last_plan[spec] = read
    return read


def run_point(spec: PlanSpec, index: int) -> tuple[tuple[str, list[tuple[str, float]]] | None, str, int]:
    """Run a point of a plan on a worker; return its result or the reason of failure, and the wall-clock time in nanoseconds."""
    sweep, points = _read_plan(spec)
    _, settings, seed = points[index]
    begun = time.perf_counter_ns()
    try:
        result, why = sweep.run(settings, seed), ""
    except _native.Error as error:
        result, why = None, str(error)
    return result, why, time.perf_counter_ns() - begun


@contextmanager
def _open_store(path: str, sweep: _native.Sweep, retry: bool) -> Iterator[_native.Store]:
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
    """Run all points of a plan, as ``fairlab sweep`` does.

    Results are written to a store, one file, as they arrive. Repeat the call to continue after an interruption; the command uses the same
    stores.

    Parameters
    ----------
    plan
        Plan file, or a dictionary in its format, in which workloads and machines may be objects.
    store
        Path of the store. Default: ``PLAN.sweep`` beside the plan file; results of a dictionary are not stored.
    shard
        Run only the i-th of N shards of the points: ``"2/8"``.
    retry
        Repeat points that have failed.
    client
        Client of Dask distributed, whose workers run the points. Workers need fairlab, but no files for objects in the plan. They may join
        and leave during the sweep.
    retries
        Number of further attempts for a point on the cluster after an error outside the point.

    Raises
    ------
    InputError
        If the plan is wrong, names a metric that its first point lacks, or the store is not one. No point has been run then.
    RunError
        If results cannot be written, or the cluster has dropped points. Results in the store are kept.

    Examples
    --------
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=1))
    >>> plan = {"workload": work, "for": "50ms", "metrics": ["switches"], "grid": {"SIS_UTIL": [True, False]}}
    >>> fairlab.sweep(plan).table.column("SIS_UTIL")
    [True, False]
    """
    spec = plan_spec(plan)
    sweep = spec.read()
    sweep.check()
    with tempfile.TemporaryDirectory(prefix="fairlab-") as scratch:
        if store is not None:
            path = os.fspath(store)
        elif spec.is_json:
            path = os.path.join(scratch, "plan.sweep")
        else:
            path = os.path.splitext(spec.name)[0] + ".sweep"
        with _open_store(path, sweep, retry) as opened:
            if client is None:
                opened.run_pending(sweep, shard)
            else:
                _on_cluster(client, spec, sweep, opened, shard, retries)
            warn(sweep.warnings)
            results = opened.results()
            missing = len(opened.pending("1/1"))
    conversions = {key: _CONVERSIONS.get(kind, str) for key, kind in sweep.setting_types().items()}

    def typed(settings: Mapping[str, str]) -> dict[str, Any]:
        return {key: conversions.get(key, str)(text) for key, text in settings.items()}

    rows = [
        {**typed(settings), "seed": seed, **dict(result[1]), "digest": result[0]} for settings, seed, result, _ in results if result
    ]
    failures = [
        f"{' '.join(f'{key}={value}' for key, value in settings.items())} seed {seed}: {why}"
        for settings, seed, result, why in results
        if result is None
    ]
    return Swept(table_of_rows("sweep", rows), failures, missing)


def _on_cluster(
    client: Client, spec: PlanSpec, sweep: _native.Sweep, store: _native.Store, shard: str, retries: int
) -> None:
    import distributed

    # Dask's functions are mostly untyped.
    cluster: Any = client
    as_completed: Any = distributed.as_completed
    indices = {id: index for index, (id, _, _) in enumerate(sweep.points())}
    pending = [id for id, _, _ in store.pending(shard)]
    # The plan is sent once to each worker; a point is then the plan's key and an index.
    sent = cluster.scatter(spec, broadcast=True, hash=False)
    todo: dict[Any, str] = {
        cluster.submit(run_point, sent, indices[id], pure=False, retries=retries, key=f"fairlab-{id}"): id for id in pending
    }
    waiting: list[tuple[str, tuple[str, list[tuple[str, float]]] | None, str, int]] = []
    lost: list[str] = []
    written = time.monotonic()
    try:
        for future in as_completed(todo):
            id = todo.pop(future)
            # Dask computes the result of a lost worker again on a different worker.
            try:
                waiting.append((id, *future.result()))
            except Exception as error:
                lost.append(f"{id}: {error!r}")
            future.release()
            if len(waiting) >= MAX_PENDING_RESULTS or time.monotonic() - written > FLUSH_INTERVAL_S:
                store.put(waiting)
                waiting, written = [], time.monotonic()
    finally:
        store.put(waiting)
        cluster.cancel(list(todo))
    if lost:
        help = "check that the workers are alive and have fairlab, then repeat the call to continue"
        noun = "point" if len(lost) == 1 else "points"
        raise _native.run_error(f"the cluster has dropped {len(lost)} {noun}, such as {lost[0]}", help)
