// SPDX-License-Identifier: GPL-2.0-or-later
//! A scenario is read or rejected, and its tasks yield steps.
#![no_main]

use fairlab_sched::series::KernelSeries;
use fairlab_workload::scenario;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match scenario::parse("file", text, KernelSeries::V6_1) {
        Ok(scenario) => fairlab_workload_fuzz::ask(&scenario.workload),
        Err(error) => assert!(error.to_string().starts_with("file:")),
    }
});
