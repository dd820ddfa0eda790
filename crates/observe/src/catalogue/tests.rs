// SPDX-License-Identifier: GPL-2.0-or-later
//! The catalogue has each number of the results once, and nothing else.

use super::*;
use std::collections::BTreeSet;

#[test]
fn each_number_in_a_result_is_a_metric_or_excluded_with_a_reason() {
    for (prefix, schema) in results() {
        for (path, _) in numbers_of(&schema) {
            assert!(is_known(&format!("{prefix}{path}")), "{prefix}{path} is neither a metric nor excluded");
        }
    }
}

#[test]
fn each_entry_is_a_number_in_a_result_and_occurs_once() {
    let numbers: BTreeSet<String> = results()
        .iter()
        .flat_map(|(prefix, schema)| numbers_of(schema).into_iter().map(move |(path, _)| format!("{prefix}{path}")))
        .collect();
    let mut seen = BTreeSet::new();
    for info in METRICS {
        assert!(seen.insert(info.path), "{} is there twice", info.path);
        let path = if info.is_latency { format!("{}.p50_ns", info.path) } else { info.path.to_owned() };
        assert!(numbers.contains(&path), "{path} is in no result");
    }
    for path in NO_METRICS.iter().flat_map(|(_, paths)| *paths) {
        assert!(seen.insert(path), "{path} is there twice");
        assert!(numbers.contains(*path), "{path} is in no result");
    }
}

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
