// SPDX-License-Identifier: GPL-2.0-or-later
//! A file of rt-app is read or rejected, with the last and with all of equal keys, and its threads yield
//! steps.
#![no_main]

use fairlab_sched::series::KernelSeries;
use fairlab_workload::rtapp::{DuplicateKeys, RtAppOptions, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for duplicate_keys in [DuplicateKeys::LastValue, DuplicateKeys::KeepAll] {
        match parse("file", text, RtAppOptions { duplicate_keys, ..RtAppOptions::for_cpus(KernelSeries::V6_1, 4) }) {
            Ok(workload) => fairlab_workload_fuzz::ask(&workload),
            Err(error) => assert!(error.to_string().starts_with("file:")),
        }
    }
});
