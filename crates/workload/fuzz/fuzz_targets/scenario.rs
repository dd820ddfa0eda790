// SPDX-License-Identifier: GPL-2.0-or-later
//! A scenario is read or refused, and its tasks can be asked for steps.
#![no_main]

use fairlab_workload::scn;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match scn::parse("file", text) {
        Ok(scenario) => fairlab_workload_fuzz::ask(&scenario.workload),
        Err(error) => assert!(error.to_string().starts_with("file:")),
    }
});
