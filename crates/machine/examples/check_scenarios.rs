// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs scenario files with all invariants checked after every event: `cargo run --profile sim -p
//! fairlab-machine --example check_scenarios -- FILE...`
//!
//! Prints a line for each file: digest, number of events, file name. A broken invariant ends the program.

use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let scenario = fairlab_workload::scenario::parse(&path, &text, KernelSeries::V6_1)?;
        let mut machine = Machine::new(Setup::from_scenario(scenario))?;
        machine.check_every_event(format!("check_scenarios {path}"));
        machine.run(&mut NoObserver)?;
        writeln!(std::io::stdout(), "{} {} {path}", machine.digest(), machine.counters().events)?;
    }
    Ok(())
}
