// SPDX-License-Identifier: GPL-2.0-or-later
//! How time and memory of a run grow with the machine. Kernel paths are free, nothing is traced.
//!
//! Two kinds of work: every CPU is busy, and the same sixteen CPUs are busy on machines of all sizes. In the second all that
//! happens is local, so what an event of a task costs there beyond what it costs on sixteen CPUs is spent on the rest of the
//! machine. Costs are those of one more event: of the time and the events by which a longer run exceeds a shorter one, so that
//! making and booting the machine is no part of them. The operations that the scheduler counts tell where the rest goes.

use crate::programs::{self, Input, Summary};
use crate::{mixes, table};
use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::work::KernelOp;
use fairlab_workload::scenario;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(ClapArgs)]
pub(crate) struct BenchScaleArgs {
    /// Runs of each; the fastest counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Sizes, in CPUs, at least 16.
    #[arg(long, value_delimiter = ',', default_value = "16,64,256,1024,4096", value_parser = clap::value_parser!(u64).range(16..=4096))]
    cpus: Vec<u64>,
    /// Tasks of the largest run.
    #[arg(long, default_value_t = 100_000)]
    tasks: u64,
    /// Another fairlab to time than the plain release build.
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Write results as JSON.
    #[arg(long)]
    json: bool,
}

/// So many milliseconds of simulated time on a machine of one CPU; less on larger ones, but not less than the least.
const CPU_MS: u64 = 64_000;
const LEAST_MS: u64 = 30;
/// The longer run is so many times as long as the shorter one.
const LONGER: u64 = 3;
/// Simulated time of the run with most tasks, in milliseconds: most of them have slept and run.
const MANY_MS: u64 = 120;
/// Simulated time of the runs in which sixteen CPUs are busy, and of those whose operations are counted, in milliseconds.
const CORNER_MS: u64 = 200;
const COUNTED_MS: u64 = 50;
/// Tasks with which the memory of one is found; groups, and CPUs on each of which a group has something.
const MANY_TASKS: u64 = 20_000;
const MANY_GROUPS: u64 = 256;
const CPUS_OF_GROUPS: u64 = 256;

/// What a run has cost.
#[derive(Clone, Copy, Debug)]
struct Cost {
    wall_s: f64,
    rss: u64,
    /// Events of the machine; on large machines most are ticks of CPUs that have none.
    events: u64,
    /// What tasks have to do with: ticks that were served, wake-ups, switches and interrupts between CPUs.
    served: u64,
    switches: u64,
}

impl Cost {
    fn of(binary: &Path, root: &Path, text: &str) -> Result<Self> {
        let summary = Summary::of(binary, root, &Input::Text(text.to_owned()))?;
        let total = |name: &str| summary.whole(&format!("/totals/{name}"));
        Ok(Self {
            wall_s: summary.number("/speed/wall_s")?,
            rss: summary.whole("/speed/peak_rss_bytes")?,
            events: total("events")?,
            served: total("ticks")? + total("wakeups")? + total("switches")? + total("ipis")?,
            switches: total("switches")?,
        })
    }

    /// The fastest of several runs, and the least memory.
    fn best(runs: u32, binary: &Path, root: &Path, text: &str) -> Result<Self> {
        let mut best = Self::of(binary, root, text)?;
        for _ in 1..runs {
            let other = Self::of(binary, root, text)?;
            best = Self { wall_s: best.wall_s.min(other.wall_s), rss: best.rss.min(other.rss), ..best };
        }
        Ok(best)
    }
}

/// A workload on a machine of some size: a short run and a longer one.
#[derive(Clone, Copy, Debug)]
struct Growth {
    nr_cpus: u64,
    short: Cost,
    long: Cost,
}

impl Growth {
    /// Nanoseconds for one more of what is counted.
    fn ns_for(&self, count: impl Fn(&Cost) -> u64) -> f64 {
        let more = count(&self.long).saturating_sub(count(&self.short));
        (self.long.wall_s - self.short.wall_s) * 1e9 / more.max(1) as f64
    }
}

/// What is measured with.
struct Bench<'a> {
    root: &'a Path,
    binary: PathBuf,
    runs: u32,
}

impl Bench<'_> {
    fn growth(&self, nr_cpus: u64, ms: u64, mix: impl Fn(&str) -> String) -> Result<Growth> {
        let cost = |ms: u64| Cost::best(self.runs, &self.binary, self.root, &mix(&format!("{ms}ms")));
        Ok(Growth { nr_cpus, short: cost(ms)?, long: cost(LONGER * ms)? })
    }

    fn rss(&self, text: &str) -> Result<u64> {
        Ok(Cost::of(&self.binary, self.root, text)?.rss)
    }
}

pub(crate) fn bench(root: &Path, args: &BenchScaleArgs) -> Result<()> {
    let binary = args.binary.clone().map_or_else(|| programs::plain(root), Ok)?;
    let bench = Bench { root, binary, runs: args.runs };
    let mut sizes = args.cpus.clone();
    sizes.sort_unstable();
    sizes.dedup();
    let largest = *sizes.last().context("--cpus names no size")?;
    let (mut crowded, mut corner) = (Vec::new(), Vec::new());
    for &nr_cpus in &sizes {
        eprintln!("{nr_cpus} CPUs");
        let ms = (CPU_MS / nr_cpus).max(LEAST_MS);
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
    println!("every CPU is busy, two tasks for each; last: {} tasks", args.tasks);
    print!("{}", crowded_table(&crowded, &many, args.tasks));
    println!("\nthe same sixteen CPUs are busy, all others are idle");
    print!("{}", corner_table(&corner));
    println!("\noperations of the scheduler for each served event, where sixteen CPUs are busy");
    print!("{}", ScaleOperations::table(&operations));
    println!(
        "\nmemory: {} bytes for a CPU, {} for a task, {} for each CPU of a group\n\
         served: ticks, wake-ups, switches and interrupts between CPUs; ns: of one more, the fastest of {} runs",
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

/// What things take, in bytes.
struct Memory {
    per_cpu: u64,
    per_task: u64,
    /// What a group has, for each CPU of the machine.
    per_group: u64,
}

impl Memory {
    fn measure(bench: &Bench<'_>, crowded: &[Growth]) -> Result<Self> {
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

/// What the scheduler counts on a machine of which sixteen CPUs are busy.
struct ScaleOperations {
    nr_cpus: u64,
    /// Served events, as in [`Cost`].
    served: u64,
    counts: Vec<u64>,
}

impl ScaleOperations {
    /// Counts are the same in every build, so they come from the library. The boot and the start of the tasks are no part.
    fn count(nr_cpus: u64) -> Result<Self> {
        let (short, long) = (Self::of_run(nr_cpus, COUNTED_MS)?, Self::of_run(nr_cpus, LONGER * COUNTED_MS)?);
        let counts = long.counts.iter().zip(&short.counts).map(|(long, short)| long - short).collect();
        Ok(Self { nr_cpus, served: long.served - short.served, counts })
    }

    fn of_run(nr_cpus: u64, ms: u64) -> Result<Self> {
        let scenario = scenario::parse("corner", &mixes::corner(nr_cpus, &format!("{ms}ms")))?;
        let mut machine = Machine::new(Setup::from_scenario(scenario))?;
        machine.run(&mut NoObserver)?;
        let counters = machine.counters();
        let of_cpus = counters.per_cpu.iter();
        let interrupts: u64 = of_cpus.map(|cpu| cpu.ticks + cpu.resched_ipis + cpu.call_ipis).sum();
        let served = counters.wakeups + counters.switches + interrupts;
        Ok(Self { nr_cpus, served, counts: machine.work().counts().to_vec() })
    }

    fn per_served(&self, op: KernelOp) -> f64 {
        self.counts[op as usize] as f64 / self.served.max(1) as f64
    }

    fn json(&self) -> Value {
        let counts = KernelOp::ALL.iter().map(|op| (op.name().to_owned(), json!(self.per_served(*op))));
        json!({ "cpus": self.nr_cpus, "served": self.served, "per_served": counts.collect::<serde_json::Map<_, _>>() })
    }

    /// The operations that happen, those that grow most first.
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
        let cost = |wall_s, events| Cost { wall_s, rss: 0, events, served: events / 2, switches: 0 };
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
