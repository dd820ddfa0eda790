// SPDX-License-Identifier: GPL-2.0-or-later
//! Any text gives a machine, or an error with a line. A written machine reads back as the same machine.
#![no_main]

use fairlab_board::{describe, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match parse("fuzz.toml", text) {
        Ok(machine) => {
            assert!(!describe(&machine).is_empty());
            assert_eq!(parse("again.toml", &machine.to_toml()), Ok(machine));
        }
        Err(error) => assert!(error.place.is_some() && !error.text.is_empty() && error.help.is_some()),
    }
});
