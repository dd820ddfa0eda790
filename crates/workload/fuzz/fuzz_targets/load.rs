// SPDX-License-Identifier: GPL-2.0-or-later
//! Any bytes are a workload of some kind, or an error.
#![no_main]

use fairlab_sched::series::KernelSeries;
use fairlab_workload::source_text::utf8_text;
use fairlab_workload::load::load;
use fairlab_workload::rtapp::RtAppOptions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match utf8_text("file", bytes).and_then(|text| load("file", text, RtAppOptions::for_cpus(KernelSeries::V6_1, 4))) {
        Ok(loaded) => fairlab_workload_fuzz::ask(&loaded.into_workload()),
        Err(error) => assert!(error.to_string().starts_with("file:")),
    }
});
