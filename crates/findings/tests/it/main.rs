// SPDX-License-Identifier: GPL-2.0-or-later
//! The catalogue has each number of the results once, and nothing else. Findings are the last result that joins them.

use fairlab_findings::Finding;
use fairlab_measure::catalogue::{METRICS, NO_METRICS, is_known, numbers_of, results};
use std::collections::BTreeSet;

/// Returns the paths of all numbers in the results of runs.
fn numbers() -> BTreeSet<String> {
    let all = results().into_iter().chain([Finding::schema()]);
    let paths = |(prefix, schema): (&'static str, _)| {
        numbers_of(&schema).into_iter().map(move |(path, _)| format!("{prefix}{path}"))
    };
    all.flat_map(paths).collect()
}

#[test]
fn each_number_in_a_result_is_a_metric_or_excluded_with_a_reason() {
    for path in numbers() {
        assert!(is_known(&path), "{path} is neither a metric nor excluded");
    }
}

#[test]
fn each_entry_is_a_number_in_a_result_and_occurs_once() {
    let numbers = numbers();
    let mut seen = BTreeSet::new();
    for info in METRICS {
        assert!(seen.insert(info.path), "{} is there twice", info.path);
        let path = if info.is_latency { format!("{}.p50_ns", info.path) } else { info.path.to_owned() };
        assert!(numbers.contains(&path), "{path} is in no result");
    }
    for path in NO_METRICS.iter().flat_map(|(_, paths)| *paths) {
        assert!(seen.insert(path), "{path} is there twice");
        let is_found = match path.strip_suffix("{}") {
            Some(map) => numbers.iter().any(|number| number.starts_with(map)),
            None => numbers.contains(*path),
        };
        assert!(is_found, "{path} is in no result");
    }
}
