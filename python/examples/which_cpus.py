# SPDX-License-Identifier: GPL-2.0-or-later
"""Which CPUs does my wake-up scan?

A server of 112 CPUs, half of them busy with workers that sleep and wake. Each selection of a CPU is a row: the rule that decided, how many CPUs
were looked at, and how many SIS_UTIL would have allowed.
"""

# %%
import fairlab
import polars as pl

work = fairlab.Workload.of(
    fairlab.hog(instance=56),
    fairlab.periodic("worker", period_ms=2, run_ms=0.4, instance=56),
)

# %% The kernel's search, with its limit and without.
runs = {
    name: fairlab.run(work, machine="xeon-1s-112", for_="100ms", features={"SIS_UTIL": is_on})
    for name, is_on in (("SIS_UTIL", True), ("NO_SIS_UTIL", False))
}

# %% How far it looked, by the rule that decided in the end.
for name, run in runs.items():
    chosen = pl.DataFrame(run.table("selections")).filter(pl.col("kind") == "wakeup")
    print(name)
    print(
        chosen.group_by(pl.col("rule").cast(pl.String))
        .agg(pl.len().alias("wakeups"), pl.col("nr_scanned").mean().round(2), pl.col("nr_idle_scan").mean().round(1))
        .sort("wakeups", "rule", descending=True)
    )

# %% And what it is good for: what tasks waited.
for name, run in runs.items():
    waits = pl.DataFrame(run.table("waits"))["delay_ns"]
    print(f"{name}: {len(waits)} waits, p99 {(waits.quantile(0.99) or 0) / 1e3:.1f} us")
