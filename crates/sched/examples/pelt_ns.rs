// SPDX-License-Identifier: GPL-2.0-or-later
//! Nanoseconds per update of an entity's averages: `cargo run --release -p fairlab-sched --example pelt_ns`
//!
//! The inputs are those of `pelt bench` of the program that holds the kernel's `pelt.c`, drawn from the same generator in
//! the same order, and so is the form of the output: run both one after the other to compare. `util_avg` at the end of each
//! mix says that both computed the same.

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

#[path = "../benches/mixes/mod.rs"]
mod mixes;

use mixes::{Mix, Mixes};

/// Rounds over the inputs of a mix in one measurement, and measurements.
const ROUNDS: usize = 4000;
const REPETITIONS: usize = 7;

fn main() -> std::io::Result<()> {
    let rounds = std::env::args().nth(1).map_or(ROUNDS, |rounds| rounds.parse().expect("a number of rounds"));
    let mut out = std::io::stdout().lock();
    for mix in Mixes::new() {
        let (mut best, mut sum, mut util_avg) = (f64::MAX, 0.0, 0);
        for _ in 0..REPETITIONS {
            let start = Instant::now();
            util_avg = run(&mix, rounds);
            let ns = start.elapsed().as_secs_f64() * 1e9 / (rounds * mix.inputs.len()) as f64;
            best = ns.min(best);
            sum += ns;
        }
        let mean = sum / REPETITIONS as f64;
        writeln!(
            out,
            "{{\"bench\":\"update_load_avg_se\",\"mix\":\"{}\",\"ns_best\":{best:.2},\"ns_mean\":{mean:.2},\"util_avg\":{util_avg}}}",
            mix.name
        )?;
    }
    Ok(())
}

/// Updates an entity with all inputs of a mix, again and again. Returns its utilisation.
fn run(mix: &Mix, rounds: usize) -> u64 {
    let mut entity = mixes::nice_0_entity();
    let mut now = 0;
    for _ in 0..rounds {
        for input in &mix.inputs {
            now += input.delta_ns;
            mixes::update(black_box(&mut entity), now, input);
        }
    }
    entity.avg.util_avg
}
