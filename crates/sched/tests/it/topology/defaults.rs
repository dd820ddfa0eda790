// SPDX-License-Identifier: GPL-2.0-or-later
//! Tunables and features of Debian's kernel 6.1.192 after its boot, on every recorded machine.

use super::machine::names;
use super::recorded::load;
use fairlab_sched::features::{Feature, FeatureSet};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::tunables::{TUNABLES, Tunables};

/// Names of tunables: fairlab's, and the recording's.
const RECORDED: [(&str, &str); 11] = [
    ("latency_ns", "latency_ns"),
    ("min_granularity_ns", "min_granularity_ns"),
    ("idle_min_granularity_ns", "idle_min_granularity_ns"),
    ("wakeup_granularity_ns", "wakeup_granularity_ns"),
    ("migration_cost_ns", "migration_cost_ns"),
    ("nr_migrate", "nr_migrate"),
    ("child_runs_first", "sched_child_runs_first"),
    ("cfs_bandwidth_slice_us", "sched_cfs_bandwidth_slice_us"),
    ("rr_timeslice_ms", "sched_rr_timeslice_ms"),
    ("rt_period_us", "sched_rt_period_us"),
    ("rt_runtime_us", "sched_rt_runtime_us"),
];

#[test]
fn tunables_have_the_values_of_a_booted_kernel_for_each_number_of_cpus() {
    let (mut compared, mut sizes) = (0, Vec::new());
    for kernel in ["6.1", "6.1-arm64"] {
        for name in names(&format!("recorded/{kernel}"), ".json.zst") {
            let recording = load(kernel, &name);
            let nr_cpus = recording["cpus"].as_array().expect("cpus").len();
            let actual = Tunables::of_machine(KernelSeries::V6_1, nr_cpus);
            for (tunable, recorded) in RECORDED {
                let info = TUNABLES.iter().find(|info| info.name == tunable).expect("the table has it");
                let value = recording["tunables"][recorded].as_i64();
                assert_eq!(Some(info.get(&actual)), value, "{kernel}/{name}: {tunable}");
                compared += 1;
            }
            sizes.push(nr_cpus);
        }
    }
    sizes.sort_unstable();
    sizes.dedup();
    assert!(sizes.starts_with(&[1, 2, 4]), "the sizes by which values are scaled: {sizes:?}");
    assert_eq!(compared, 26 * RECORDED.len());
}

#[test]
fn features_are_those_of_a_booted_kernel_in_its_order() {
    let text =
        |feature: Feature| format!("{}{}", if FeatureSet::default().has(feature) { "" } else { "NO_" }, feature.name());
    let kernels = [("6.1", KernelSeries::V6_1), ("6.1-arm64", KernelSeries::V6_1), ("6.12", KernelSeries::V6_12)];
    for (kernel, series) in kernels {
        let actual: Vec<String> = Feature::of_series(series).map(text).collect();
        for name in names(&format!("recorded/{kernel}"), ".json.zst") {
            let recording = load(kernel, &name);
            let recorded: Vec<&str> = recording["tunables"]["features"]
                .as_array()
                .expect("features")
                .iter()
                .filter_map(|f| f.as_str())
                .collect();
            assert_eq!(actual, recorded, "{kernel}/{name}");
        }
    }
}
