# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables: equal rows for all readers, without copies."""

from __future__ import annotations

import fairlab
import pytest

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def run() -> fairlab.Run:
    return fairlab.run(
        fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=1), fairlab.hog(instance=9)), for_="200ms", machine="hikey960"
    )


def test_rows_are_what_the_summary_counts(run: fairlab.Run) -> None:
    totals = run.summary["totals"]
    assert len(run.table("switches")) == totals["switches"]
    assert len(run.table("migrations")) == totals["migrations"]
    assert len(run.table("selections")) == run.summary["selection"]["wakeups"] + run.summary["selection"]["forks"]
    assert len(run.table("cpus")) == 8 and run.table("families").column("name")[:2] == ["ui", "hog"]
    assert len(run.table("averages")) > 0
    with pytest.raises(fairlab.InputError, match="known tables: families, cpus, tasks, switches"):
        run.table("swtiches")


def test_lags_are_those_of_a_kernel_with_eevdf() -> None:
    hogs = fairlab.Workload.of(fairlab.hog(instance=3))
    assert len(fairlab.run(hogs, for_="100ms", machine="uniprocessor", kernel="6.1").table("lags")) == 0
    lags = fairlab.run(hogs, for_="100ms", machine="uniprocessor").table("lags")
    assert {"wakeup", "switch_from", "switch_to"} == set(lags.column("moment"))
    rows = list(zip(lags.column("avg_vruntime"), lags.column("vruntime"), lags.column("lag"), lags.column("deadline")))
    assert any(lag != 0 for _, _, lag, _ in rows)
    assert all(average - vruntime == lag for average, vruntime, lag, deadline in rows if deadline is not None)


def test_numbers_are_handed_over_where_they_are(run: fairlab.Run) -> None:
    table = run.table("switches")

    def addresses() -> list[int]:
        return [buffer.address for column in pa.table(table)["t_ns"].chunks for buffer in column.buffers() if buffer]

    assert addresses() == addresses(), "both readers use the same memory"
    pl = pytest.importorskip("polars")
    numbers = pl.DataFrame(table)["t_ns"].to_numpy(allow_copy=False)
    assert [numbers.__array_interface__["data"][0]] == addresses()
    assert pa.table(table)["next_comm"].type == pa.dictionary(pa.int32(), pa.string())


def test_every_reader_has_the_same_rows(run: fairlab.Run) -> None:
    pl = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    pd = pytest.importorskip("pandas")
    selections = table = run.table("selections")
    arrow = pa.table(table)
    expected = table.column("t_ns")
    assert arrow["t_ns"].to_pylist() == expected
    assert pl.DataFrame(table)["t_ns"].to_list() == expected
    assert pd.DataFrame.from_arrow(table)["t_ns"].tolist() == expected
    assert duckdb.sql("select sum(nr_scanned) from selections").fetchall() == [(sum(selections.column("nr_scanned")),)]
    assert pl.DataFrame(table)["comm"].to_list() == table.column("comm") == arrow["comm"].to_pylist()


def test_what_is_not_known_is_null(run: fairlab.Run) -> None:
    limits = run.table("selections").column("nr_idle_scan")
    assert pa.table(run.table("selections"))["nr_idle_scan"].null_count == limits.count(None) > 0


def test_memory_outlives_the_table(run: fairlab.Run) -> None:
    arrow = pa.table(run.table("cpus"))
    before = arrow.to_pylist()
    del run._events
    assert arrow.to_pylist() == before and before[0]["cpu"] == 0
    assert len(run.table("switches")) == run.summary["totals"]["switches"], "the run is repeated"


def test_a_table_shows_itself(run: fairlab.Run) -> None:
    html = run.table("switches")._repr_html_()
    assert html.count("<tr>") == 11 and "more rows" in html
    assert repr(run.table("exits")).startswith("<Table exits: 0 rows of t_ns, cpu")
    assert run.table("switches").rows(0, 1)[0]["t_ns"] == run.table("switches").column("t_ns")[0]
    with pytest.raises(fairlab.InputError, match="has no column x"):
        run.table("switches").column("x")
