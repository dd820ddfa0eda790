# SPDX-License-Identifier: GPL-2.0-or-later
"""Comparisons, sweeps on this machine and on a cluster, and evaluations for optimisers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import fairlab
import pytest


def plan(work: fairlab.Workload, points: int = 6) -> dict[str, Any]:
    return {
        "workload": work,
        "for": "50ms",
        "metrics": ["switches", "energy.busy_uj"],
        "base": {"machine": fairlab.Machine("hikey960")},
        "grid": {"SIS_UTIL": [True, False], "migration_cost_ns": list(range(points // 2))},
    }


def rows(table: fairlab.Table) -> list[dict[str, Any]]:
    return table.rows()


def test_an_experiment_tells_better_from_worse_in_all_forms(work: fairlab.Workload) -> None:
    found = fairlab.compare(
        work, arms={"now": {}, "slow": {"price.ContextSwitch": 300000}}, runs=8, for_="200ms", metric=["ui: wake to run p99"], jobs=2
    )
    assert found.arms == ["now", "slow"]
    assert found.verdict("ui: wake to run p99") == "worse"
    assert len(found.runs) == 16 and found.table.column("arm") == ["now", "slow"]
    assert "Amean" in found.text("mmtests") and "| metric" in found.text("markdown") and "<html" in found.text("html")
    assert str(found).startswith("<small>: on hikey960")
    with pytest.raises(fairlab.InputError, match="known formats: json, text"):
        found.text("pdf")


def test_arms_are_settings_or_words(work: fairlab.Workload) -> None:
    words = fairlab.compare(work, arms=["NO_SIS_UTIL,kernel=5.4"], for_="50ms")
    settings = fairlab.compare(work, arms=[{"SIS_UTIL": False, "kernel": "5.4"}], for_="50ms")
    assert words.arms == settings.arms == ["unchanged", "NO_SIS_UTIL,kernel=5.4"]
    assert words.data["comparison"] == settings.data["comparison"]


def test_a_benchmark_is_compared_by_its_own_figures() -> None:
    found = fairlab.compare(bench="hackbench -g 1 -f 2 -l 20", arms=["kernel=5.4"], runs=2)
    assert "time" in found.table.column("metric")


def test_a_sweep_has_a_row_for_each_point_and_goes_on_where_it_ended(work: fairlab.Workload, tmp_path: Path) -> None:
    store = tmp_path / "plan.sweep"
    first = fairlab.sweep(plan(work), store=store, shard="1/2")
    assert len(first.table) + first.missing == 6 and 0 < first.missing < 6
    whole = fairlab.sweep(plan(work), store=store)
    assert (len(whole.table), whole.missing, whole.failures) == (6, 0, [])
    assert rows(whole.table) == rows(fairlab.sweep(plan(work)).table)
    exported = fairlab.command("sweep", "export", store)
    assert exported.splitlines()[0] == "SIS_UTIL,migration_cost_ns,seed,switches,energy.busy_uj,digest"
    assert len(exported.splitlines()) == 7


def test_a_plan_may_be_a_file(tmp_path: Path, work: fairlab.Workload) -> None:
    work.write(tmp_path / "work.json")
    (tmp_path / "plan.toml").write_text("workload = 'work.json'\nfor = '20ms'\nseeds = 3\nmetrics = ['switches']\n")
    assert len(fairlab.sweep(tmp_path / "plan.toml").table) == 3
    assert (tmp_path / "plan.sweep").exists()
    with pytest.raises(fairlab.InputError, match="none.toml: cannot be read"):
        fairlab.sweep(tmp_path / "none.toml")
    with pytest.raises(fairlab.InputError, match="did you mean SIS_UTIL"):
        fairlab.sweep({"workload": work, "grid": {"SIS_UTL": [True]}})


def test_a_wrong_metric_is_found_before_the_first_point_runs(work: fairlab.Workload, tmp_path: Path) -> None:
    store = tmp_path / "plan.sweep"
    for metric, meant in (("switchs", "switches"), ("uii: wake to run p99", "ui: wake to run p99")):
        with pytest.raises(fairlab.InputError, match=f"did you mean `{meant}`"):
            fairlab.sweep({**plan(work), "metrics": [metric]}, store=store)
    assert not store.exists()


def test_columns_of_settings_have_the_types_of_the_plan(work: fairlab.Workload, tmp_path: Path) -> None:
    class Scalar:
        """A scalar of a library such as numpy."""

        def item(self) -> int:
            return 500_000

    settings: dict[str, list[Any]] = {
        "SIS_UTIL": [True, False],
        "migration_cost_ns": [0, Scalar()],
        "kernel": ["6.1", "6.12"],
    }
    points = {"workload": work, "for": "5ms", "metrics": ["switches"], "grid": settings}
    swept = fairlab.sweep(points)
    assert swept.failures == [] and len(swept.table) == 8
    types = {name: {type(value) for value in swept.table.column(name)} for name in swept.table.column_names}
    expected = {"SIS_UTIL": bool, "migration_cost_ns": int, "kernel": str}
    assert {name: types[name] for name in settings} == {name: {kind} for name, kind in expected.items()}
    assert (types["seed"], types["switches"], types["digest"]) == ({int}, {float}, {str})
    work.write(tmp_path / "work.json")
    (tmp_path / "plan.toml").write_text(
        "workload = 'work.json'\nfor = '5ms'\nmetrics = ['switches']\n[sample]\ndraws = 2\nmigration_cost_ns = { from = 0, to = 9 }\n"
    )
    column = fairlab.sweep(tmp_path / "plan.toml").table.column("migration_cost_ns")
    assert all(type(value) is int for value in column), column


def test_a_point_that_cannot_be_run_is_refused_before_the_first_one_runs(work: fairlab.Workload) -> None:
    with pytest.raises(fairlab.InputError, match="nowhere"):
        fairlab.sweep({"workload": work, "for": "10ms", "list": [{"machine": "hikey"}, {"machine": "nowhere"}]})


def test_a_cluster_gives_the_same_results_though_a_worker_is_lost(work: fairlab.Workload, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    points = plan(work, 80)
    here = fairlab.sweep(points)
    store = tmp_path / "cluster.sweep"
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            # A worker with a different task dies during the sweep, and its pending points are lost.
            address = sorted(client.scheduler_info()["workers"])[0]
            death = client.submit(_die, 0.3, workers=[address], allow_other_workers=False, pure=False, retries=0)
            swept = fairlab.sweep(points, store=store, client=client)
            death.cancel()
    assert (len(swept.table), swept.missing, swept.failures) == (80, 0, [])
    assert rows(swept.table) == rows(here.table)
    assert fairlab.sweep(points, store=store).missing == 0, "the command uses the same store"


def _die(after: float) -> None:
    import os

    time.sleep(after)
    os._exit(1)


def test_what_an_optimiser_asks_for_takes_less_than_a_second() -> None:
    work = fairlab.Workload.from_file(Path(__file__).resolve().parents[2] / "scenarios" / "hello.json")
    begun = time.monotonic()
    values = fairlab.evaluate({"SIS_UTIL": False, "base_slice_ns": 500_000}, workload=work, machine="hikey960", for_=2)
    assert time.monotonic() - begun < 1
    assert values["energy, busy"] > 0 and "display: wake to run p99" in values
    same = fairlab.evaluate({"SIS_UTIL": False, "base_slice_ns": 500_000}, workload=work, machine="hikey960", for_=2)
    assert same == values


def test_settings_of_an_optimiser_may_be_options_of_a_benchmark() -> None:
    values = [fairlab.evaluate({"groups": groups}, bench="hackbench -g {groups} -f 2 -l 10", metrics=["time"]) for groups in (1, 4)]
    assert values[0]["time"] < values[1]["time"]
