// SPDX-License-Identifier: GPL-2.0-or-later
//! Growth of a run's time and memory with the size of the machine, with zero-cost kernel code and without
//! traces.
//!
//! There are two workloads: one keeps every CPU busy, the other keeps sixteen CPUs busy on machines of all
//! sizes. All activity of the second is local, so the cost of a task's event beyond that on sixteen CPUs is
//! spent on the rest of the machine. Costs are those of one more event: a longer run minus a shorter one, so
//! that creating and booting the machine is excluded. Operation counts of the scheduler show the causes.

use crate::programs::{self, RunInput, SummaryJson};
use crate::{mixes, table};
use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::work::KernelOp;
use fairlab_workload::scenario;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(ClapArgs)]
pub(crate) struct BenchScaleArgs {
    /// Number of runs of each size; the fastest counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Sizes in CPUs, at least 16.
    #[arg(long, value_delimiter = ',', default_value = "16,64,256,1024,4096", value_parser = clap::value_parser!(u64).range(16..=4096))]
    cpus: Vec<u64>,
    /// Number of tasks of the largest run.
    #[arg(long, default_value_t = 100_000)]
    tasks: u64,
    /// Program to time instead of the plain release build.
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Write results as JSON.
    #[arg(long)]
    json: bool,
}

/// Simulated time on a machine of one CPU, in milliseconds. Larger machines get less, but at least `MIN_MS`.
const CPU_MS: u64 = 64_000;
const MIN_MS: u64 = 30;
/// Ratio of the longer run to the shorter one.
const LONG_RUN_FACTOR: u64 = 3;
/// Simulated time of the run with most tasks, in milliseconds; by then most of them have slept and run.
const MANY_MS: u64 = 120;
/// Simulated time of the runs with sixteen busy CPUs, and of those whose operations are counted, in
/// milliseconds.
const CORNER_MS: u64 = 200;
const COUNTED_MS: u64 = 50;
/// Numbers of tasks and of groups from which the memory of one is derived, and CPUs on each of which a group
/// has data.
const MANY_TASKS: u64 = 20_000;
const MANY_GROUPS: u64 = 256;
const CPUS_OF_GROUPS: u64 = 256;

/// Cost of a run.
#[derive(Clone, Copy, Debug)]
struct RunCost {
    wall_s: f64,
    rss: u64,
    /// Events of the machine; on large machines most are ticks of idle CPUs.
    events: u64,
    /// Events that serve tasks: handled ticks, wake-ups, switches and interprocessor interrupts.
    served: u64,
    switches: u64,
}

impl RunCost {
    fn measure_run(binary: &Path, root: &Path, text: &str) -> Result<Self> {
        let summary = SummaryJson::from_run(binary, root, &[], &RunInput::Text(text.to_owned()))?;
        let total = |name: &str| summary.whole(&format!("/totals/{name}"));
        Ok(Self {
            wall_s: summary.number("/speed/wall_s")?,
            rss: summary.whole("/speed/peak_rss_bytes")?,
            events: total("events")?,
            served: total("ticks")? + total("wakeups")? + total("switches")? + total("ipis")?,
            switches: total("switches")?,
        })
    }

    /// Returns the shortest time and the smallest memory of several runs.
    fn best(runs: u32, binary: &Path, root: &Path, text: &str) -> Result<Self> {
        let mut best = Self::measure_run(binary, root, text)?;
        for _ in 1..runs {
            let other = Self::measure_run(binary, root, text)?;
            best = Self { wall_s: best.wall_s.min(other.wall_s), rss: best.rss.min(other.rss), ..best };
        }
        Ok(best)
    }
}

/// A short and a longer run of a workload on a machine of a given size.
#[derive(Clone, Copy, Debug)]
struct Growth {
    nr_cpus: u64,
    short: RunCost,
    long: RunCost,
}

impl Growth {
    /// Returns the nanoseconds per additional counted event.
    fn ns_for(&self, count: impl Fn(&RunCost) -> u64) -> f64 {
        let more = count(&self.long).saturating_sub(count(&self.short));
        (self.long.wall_s - self.short.wall_s) * 1e9 / more.max(1) as f64
    }
}

/// Program and number of runs of the measurement.
struct ScaleBench<'a> {
    root: &'a Path,
    binary: PathBuf,
    runs: u32,
}

impl ScaleBench<'_> {
    fn growth(&self, nr_cpus: u64, ms: u64, mix: impl Fn(&str) -> String) -> Result<Growth> {
        let cost = |ms: u64| RunCost::best(self.runs, &self.binary, self.root, &mix(&format!("{ms}ms")));
        Ok(Growth { nr_cpus, short: cost(ms)?, long: cost(LONG_RUN_FACTOR * ms)? })
    }

    fn rss(&self, text: &str) -> Result<u64> {
        Ok(RunCost::measure_run(&self.binary, self.root, text)?.rss)
    }
}

pub(crate) fn bench(root: &Path, args: &BenchScaleArgs) -> Result<()> {
    let binary = args.binary.clone().map_or_else(|| programs::build_program(root), Ok)?;
    let bench = ScaleBench { root, binary, runs: args.runs };
    let mut sizes = args.cpus.clone();
    sizes.sort_unstable();
    sizes.dedup();
    let largest = *sizes.last().context("--cpus names no size")?;
    let (mut crowded, mut corner) = (Vec::new(), Vec::new());
    for &nr_cpus in &sizes {
        eprintln!("{nr_cpus} CPUs");
        let ms = (CPU_MS / nr_cpus).max(MIN_MS);
        crowded.push(bench.growth(nr_cpus, ms, |length| mixes::crowded(nr_cpus, length))?);
        corner.push(bench.growth(nr_cpus, CORNER_MS, |length| mixes::corner(nr_cpus, length))?);
    }
    eprintln!("{largest} CPUs, {} tasks", args.tasks);
    let many = bench.growth(largest, MANY_MS, |length| mixes::many_tasks(largest, args.tasks, length))?;
    let memory = Memory::measure(&bench, &crowded)?;
    eprintln!("operations");
    let operations = sizes.iter().map(|nr_cpus| ScaleOperations::count(*nr_cpus)).collect::<Result<Vec<_>>>()?;
    if args.json {
        let json = json!({
            "every_cpu_busy": crowded.iter().map(json_of).collect::<Vec<_>>(),
            "sixteen_cpus_busy": corner.iter().map(json_of).collect::<Vec<_>>(),
            "many_tasks": { "tasks": args.tasks, "run": json_of(&many) },
            "bytes": { "cpu": memory.per_cpu, "task": memory.per_task, "group": memory.per_group },
            "operations": operations.iter().map(ScaleOperations::json).collect::<Vec<_>>(),
        });
        println!("{}", serde_json::to_string_pretty(&json)?);
        return Ok(());
    }
    println!("every CPU is busy, with two tasks per CPU; last row: {} tasks", args.tasks);
    print!("{}", crowded_table(&crowded, &many, args.tasks));
    println!("\nsixteen CPUs are busy on every machine, all others are idle");
    print!("{}", corner_table(&corner));
    println!("\noperations of the scheduler per served event, with sixteen busy CPUs");
    print!("{}", ScaleOperations::table(&operations));
    println!(
        "\nmemory: {} bytes per CPU, {} per task, {} per group and CPU\n\
         served: ticks, wake-ups, switches and interprocessor interrupts; ns: per additional event, the fastest of {} runs",
        memory.per_cpu, memory.per_task, memory.per_group, args.runs
    );
    Ok(())
}

fn json_of(growth: &Growth) -> Value {
    json!({
        "cpus": growth.nr_cpus,
        "events": growth.long.events,
        "served": growth.long.served,
        "switches": growth.long.switches,
        "wall_s": growth.long.wall_s,
        "ns_per_event": growth.ns_for(|cost| cost.events),
        "ns_per_served": growth.ns_for(|cost| cost.served),
        "ns_per_switch": growth.ns_for(|cost| cost.switches),
        "rss_bytes": growth.long.rss,
    })
}

fn crowded_table(rows: &[Growth], many: &Growth, nr_tasks: u64) -> String {
    let row = |growth: &Growth, nr_tasks: u64| {
        vec![
            growth.nr_cpus.to_string(),
            nr_tasks.to_string(),
            growth.long.events.to_string(),
            format!("{:.0}", growth.ns_for(|cost| cost.events)),
            format!("{:.0}", growth.ns_for(|cost| cost.served)),
            format!("{:.0}", growth.ns_for(|cost| cost.switches)),
            format!("{:.1}", growth.long.rss as f64 / f64::from(1 << 20)),
        ]
    };
    let mut cells: Vec<_> = rows.iter().map(|growth| row(growth, 2 * growth.nr_cpus)).collect();
    cells.push(row(many, nr_tasks));
    table::render(0, &["CPUs", "tasks", "events", "ns/event", "ns/served", "ns/switch", "RSS, MiB"], &cells)
}

fn corner_table(rows: &[Growth]) -> String {
    let served = |growth: &Growth| growth.ns_for(|cost| cost.served);
    let cells: Vec<_> = rows
        .iter()
        .map(|growth| {
            vec![
                growth.nr_cpus.to_string(),
                growth.long.events.to_string(),
                growth.long.served.to_string(),
                format!("{:.0}", growth.ns_for(|cost| cost.events)),
                format!("{:.0}", served(growth)),
                format!("{:.2}", served(growth) / served(&rows[0])),
            ]
        })
        .collect();
    table::render(0, &["CPUs", "events", "served", "ns/event", "ns/served", "ratio"], &cells)
}

/// Memory use, in bytes.
struct Memory {
    per_cpu: u64,
    per_task: u64,
    /// Memory of a group for each CPU of the machine.
    per_group: u64,
}

impl Memory {
    fn measure(bench: &ScaleBench<'_>, crowded: &[Growth]) -> Result<Self> {
        let per = |many: u64, few: u64, number: u64| many.saturating_sub(few) / number.max(1);
        let few = bench.rss(&mixes::sleepers(1))?;
        let per_task = per(bench.rss(&mixes::sleepers(MANY_TASKS))?, few, MANY_TASKS - 1);
        let with_groups = |nr_groups: u64| bench.rss(&mixes::groups(CPUS_OF_GROUPS, nr_groups));
        let per_group = per(with_groups(MANY_GROUPS)?, with_groups(1)?, (MANY_GROUPS - 1) * CPUS_OF_GROUPS);
        let (small, large) = (&crowded[0], &crowded[crowded.len() - 1]);
        let more = large.nr_cpus - small.nr_cpus;
        let per_cpu = per(large.short.rss.saturating_sub(2 * more * per_task), small.short.rss, more);
        Ok(Self { per_cpu, per_task, per_group })
    }
}

/// Operation counts of the scheduler on a machine with sixteen busy CPUs.
struct ScaleOperations {
    nr_cpus: u64,
    /// Served events, as in [`RunCost`].
    served: u64,
    counts: Vec<u64>,
}

impl ScaleOperations {
    /// Counts operations without the boot and the start of the tasks. Counts are equal in every build, so the
    /// library is used.
    fn count(nr_cpus: u64) -> Result<Self> {
        let (short, long) = (Self::of_run(nr_cpus, COUNTED_MS)?, Self::of_run(nr_cpus, LONG_RUN_FACTOR * COUNTED_MS)?);
        let counts = long.counts.iter().zip(&short.counts).map(|(long, short)| long - short).collect();
        Ok(Self { nr_cpus, served: long.served - short.served, counts })
    }

    fn of_run(nr_cpus: u64, ms: u64) -> Result<Self> {
        let scenario = scenario::parse("corner", &mixes::corner(nr_cpus, &format!("{ms}ms")), KernelSeries::V6_1)?;
        let mut machine = Machine::new(Setup::from_scenario(scenario))?;
        machine.run(&mut NoObserver)?;
        let counters = machine.counters();
        let of_cpus = counters.per_cpu.iter();
        let interrupts: u64 = of_cpus.map(|cpu| cpu.ticks + cpu.resched_ipis + cpu.call_ipis).sum();
        let served = counters.wakeups + counters.switches + interrupts;
        Ok(Self { nr_cpus, served, counts: machine.total_ops().counts().to_vec() })
    }

    fn per_served(&self, op: KernelOp) -> f64 {
        self.counts[op as usize] as f64 / self.served.max(1) as f64
    }

    fn json(&self) -> Value {
        let counts = KernelOp::ALL.iter().map(|op| (op.name().to_owned(), json!(self.per_served(*op))));
        json!({ "cpus": self.nr_cpus, "served": self.served, "per_served": counts.collect::<serde_json::Map<_, _>>() })
    }

    /// Returns the table of operations that occur; those with the largest growth come first.
    fn table(sizes: &[Self]) -> String {
        let (small, large) = (&sizes[0], &sizes[sizes.len() - 1]);
        let growth = |op: KernelOp| large.per_served(op) - small.per_served(op);
        let mut ops: Vec<KernelOp> =
            KernelOp::ALL.iter().copied().filter(|op| large.per_served(*op) >= 0.005).collect();
        ops.sort_by(|a, b| growth(*b).total_cmp(&growth(*a)));
        let cpus: Vec<String> = sizes.iter().map(|size| size.nr_cpus.to_string()).collect();
        let header: Vec<&str> = std::iter::once("operation").chain(cpus.iter().map(String::as_str)).collect();
        let row = |op: &KernelOp| {
            let figures = sizes.iter().map(|size| format!("{:.2}", size.per_served(*op)));
            std::iter::once(op.name().to_owned()).chain(figures).collect()
        };
        table::render(1, &header, &ops.iter().map(row).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_one_more_event_has_no_part_of_the_boot() {
        let cost = |wall_s, events| RunCost { wall_s, rss: 0, events, served: events / 2, switches: 0 };
        let growth = Growth { nr_cpus: 16, short: cost(10.0, 1000), long: cost(10.2, 3000) };
        assert!((growth.ns_for(|cost| cost.events) - 100_000.0).abs() < 1e-3);
        assert!((growth.ns_for(|cost| cost.served) - 200_000.0).abs() < 1e-3);
    }

    #[test]
    fn operations_of_two_sizes_are_counted_for_the_same_work() {
        let [small, large] = [16, 64].map(|nr_cpus| ScaleOperations::count(nr_cpus).expect("it runs"));
        assert!(small.per_served(KernelOp::ContextSwitch) > 0.0 && large.served > 0);
        assert!(ScaleOperations::table(&[small, large]).contains("ContextSwitch"));
    }
}
