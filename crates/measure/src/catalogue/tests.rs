// SPDX-License-Identifier: GPL-2.0-or-later
//! Metrics have one unit and direction, and are found by their paths.

use super::*;

#[test]
fn names_have_one_unit_and_one_direction() {
    let of = |metric: &NamedMetric| (metric.info().unit, metric.info().better);
    for metric in NAMED {
        for other in NAMED.iter().filter(|other| other.name == metric.name) {
            assert_eq!(of(metric), of(other), "{}", metric.name);
        }
    }
}

#[test]
fn paths_with_selectors_are_found() {
    let info = |path: &str| MetricInfo::from_path(path);
    assert_eq!(info("cpus[cpu=0-3].busy_ns").map(|info| info.path), Some("cpus[].busy_ns"));
    assert_eq!(info("families[name=a.b].wake_to_run.p99_ns").map(|info| info.unit), Some("ns"));
    assert_eq!(info("families[0].wake_to_run.count").map(|info| info.unit), Some(""));
    assert_eq!(info("measure.kicks[0].by_reason.Misfit?").map(|info| info.path), Some("measure.kicks[].by_reason{}"));
    assert_eq!(info("work.ScanCpu").map(|info| info.combination), Some(Combination::Sum));
    assert_eq!(info("families[0].wake_to_run.max_ns").map(|info| info.combination), Some(Combination::Max));
    assert_eq!(info("families[0].wake_to_run.p50_ns").map(|info| info.combination), Some(Combination::No));
    assert_eq!(info("totals.busy"), None);
}
