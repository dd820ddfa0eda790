// SPDX-License-Identifier: GPL-2.0-or-later
//! A file of rt-app is read or refused, as it stands and with all keys kept, and its threads can be asked for steps.
#![no_main]

use fairlab_workload::rtapp::{DuplicateKeys, Options, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for duplicate_keys in [DuplicateKeys::LastValue, DuplicateKeys::KeepAll] {
        match parse("file", text, Options { duplicate_keys, ..Options::for_cpus(4) }) {
            Ok(workload) => fairlab_workload_fuzz::ask(&workload),
            Err(error) => assert!(error.to_string().starts_with("file:")),
        }
    }
});
