// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts the cost of an update of load tracking, plain and with scaled contributions; run it under an instruction counter.
//!
//! ```text
//! cargo build --release -p fairlab-sched --example price_pelt
//! for what in none plain scaled; do valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/price_pelt $what; done
//! ```
//! The difference between `plain` and `none`, over a million updates, is the instructions of an update; between `scaled` and
//! `plain` those of a scaling. The spans between updates are those of a task that runs and sleeps for microseconds.
#![allow(clippy::print_stdout, reason = "an example prints")]

use fairlab_sched::types::pelt::{Contribution, ContributionScale, SchedAvg};
use std::hint::black_box;

const UPDATES: u64 = 1_000_000;

fn main() {
    let what = std::env::args().nth(1).unwrap_or_default();
    // Frequency and capacity of each CPU, as a runqueue has them.
    let cpus = [(1024, 1024); 8];
    let mut avg = SchedAvg::default();
    let mut now = 0;
    for round in 0..UPDATES {
        // 2 to 17 us, as between the wake-ups, switches and blocks of a ping-pong.
        now += 2_000 + (round % 16) * 1_000;
        let contribution = Contribution { load: 1, runnable: 1, running: round % 2 == 0 };
        let cpu: usize = black_box(round as usize % 8);
        let (now, contribution) = black_box((now, contribution));
        match what.as_str() {
            "plain" => {
                avg.update(now, contribution, 1024, None);
            }
            "scaled" => {
                let (frequency, capacity) = cpus[cpu];
                avg.update(now, contribution, 1024, Some(ContributionScale { frequency, capacity }));
            }
            _ => {}
        }
    }
    println!("{what}: {UPDATES} updates, util_avg {}", avg.util_avg);
}
