// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs random scenarios on machines of 1 to 256 CPUs with all invariants checked after every event: `cargo
//! run --profile sim -p fairlab-machine --example swarm -- FIRST LAST [FOLDER]`
//!
//! Each seed determines one scenario. With FOLDER, its text is written there first. Scenarios with an odd
//! seed run with a random cost model, those with an even seed with zero-cost kernel code. Every second pair of seeds runs
//! with the rules of 6.12. A broken invariant
//! ends the program with the seed; the line with the number of scenarios of each size appears only if no
//! invariant was broken.

#[path = "swarm/scenario.rs"]
mod scenario;

use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_machine::streams::RandomStream;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::work::KernelOp;
use fairlab_workload::scenario::parse;
use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

/// Upper bounds of the size classes that are counted.
const SIZES: [u32; 5] = [1, 4, 16, 64, 256];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [first, last, folder @ ..] = arguments.as_slice() else {
        return Err("usage: swarm FIRST LAST [FOLDER]".into());
    };
    let seeds: RangeInclusive<u64> = first.parse()?..=last.parse()?;
    let counts = Counts::default();
    let next = AtomicU64::new(*seeds.start());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..std::thread::available_parallelism().map_or(1, usize::from))
            .map(|_| scope.spawn(|| work(&next, *seeds.end(), folder.first().map(String::as_str), &counts)))
            .collect();
        for worker in workers {
            worker.join().expect("a scenario has broken an invariant");
        }
    });
    let mut out = std::io::stdout();
    for (series, by_size) in KernelSeries::ALL.into_iter().zip(&counts.by_series) {
        for (size, (scenarios, events)) in SIZES.iter().zip(by_size) {
            let (scenarios, events) = (scenarios.load(Ordering::Relaxed), events.load(Ordering::Relaxed));
            writeln!(out, "{series:4}, up to {size:3} CPUs: {scenarios:5} scenarios, {events:9} events")?;
        }
    }
    writeln!(out, "every invariant held after every event")?;
    Ok(())
}

#[derive(Default)]
struct Counts {
    by_series: [[(AtomicU64, AtomicU64); SIZES.len()]; KernelSeries::ALL.len()],
}

fn work(next: &AtomicU64, last: u64, folder: Option<&str>, counts: &Counts) {
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed > last {
            return;
        }
        let series = if seed % 4 < 2 { KernelSeries::V6_1 } else { KernelSeries::V6_12 };
        let (nr_cpus, text) = scenario::text(seed, series);
        if let Some(folder) = folder {
            std::fs::write(format!("{folder}/{seed}.scn"), &text).expect("the folder can be written");
        }
        let events = run(seed, series, &text);
        let class = SIZES.iter().position(|&size| nr_cpus <= size).expect("256 CPUs are the most");
        let by_size = &counts.by_series[series as usize][class];
        by_size.0.fetch_add(1, Ordering::Relaxed);
        by_size.1.fetch_add(events, Ordering::Relaxed);
    }
}

fn run(seed: u64, series: KernelSeries, text: &str) -> u64 {
    let scenario = parse("swarm", text, series).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    let mut setup = Setup::from_scenario(scenario);
    if seed % 2 == 1 {
        let mut prices = RandomStream::new(seed, "prices", 0);
        for &op in KernelOp::ALL {
            setup.hardware.costs.set_op(op, prices.draw() % 200_000);
        }
    }
    let mut machine = Machine::new(setup).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    machine.seed(seed);
    machine.check_every_event(format!("swarm {seed} {seed}"));
    machine.run(&mut NoObserver).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    machine.counters().events
}
