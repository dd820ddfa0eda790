// SPDX-License-Identifier: GPL-2.0-or-later
//! How time and memory of a run grow with the machine: two tasks for each CPU, kernel paths free, nothing traced.

use crate::oracle::build_release;
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

#[derive(ClapArgs)]
pub(crate) struct Args {
    /// Runs of each; the fastest counts.
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// Sizes, in CPUs.
    #[arg(long, value_delimiter = ',', default_value = "16,64,256,1024,4096")]
    cpus: Vec<u64>,
}

/// So many milliseconds of simulated time on a machine of one CPU; less on larger ones, but not less than the least.
const CPU_MS: u64 = 64_000;
const LEAST_MS: u64 = 30;
/// Tasks with which the memory of one task is found.
const MANY_TASKS: u64 = 20_000;

/// What a run has cost.
struct Cost {
    events: u64,
    switches: u64,
    wall_s: f64,
    rss: u64,
}

pub(crate) fn bench(root: &Path, args: &Args) -> Result<()> {
    let binary = build_release(root)?;
    let folder = root.join("target/bench-scale");
    fs::create_dir_all(&folder)?;
    println!(
        "{:>5} {:>6} {:>9} {:>11} {:>9} {:>9} {:>9} {:>9}",
        "CPUs", "tasks", "simulated", "events", "events/s", "ns/event", "ns/switch", "RSS, MiB"
    );
    let mut memory = Vec::new();
    for &nr_cpus in &args.cpus {
        let ms = (CPU_MS / nr_cpus).max(LEAST_MS);
        let path = folder.join(format!("{nr_cpus}.scn"));
        fs::write(&path, scenario(nr_cpus, ms))?;
        let mut best: Option<Cost> = None;
        for _ in 0..args.runs.max(1) {
            let cost = run(&binary, &path)?;
            if best.as_ref().is_none_or(|best| cost.wall_s < best.wall_s) {
                best = Some(cost);
            }
        }
        let cost = best.expect("there is one run at least");
        println!(
            "{nr_cpus:>5} {:>6} {:>6} ms {:>11} {:>9.0} {:>9.0} {:>9.0} {:>9.1}",
            2 * nr_cpus,
            ms,
            cost.events,
            cost.events as f64 / cost.wall_s,
            cost.wall_s * 1e9 / cost.events as f64,
            cost.wall_s * 1e9 / cost.switches as f64,
            cost.rss as f64 / f64::from(1 << 20)
        );
        memory.push((nr_cpus, cost.rss));
    }
    let path = folder.join("many-tasks.scn");
    let few = run_with_tasks(&binary, &path, 1)?;
    let many = run_with_tasks(&binary, &path, MANY_TASKS)?;
    let per_task = many.saturating_sub(few) / (MANY_TASKS - 1);
    println!("a task takes {per_task} bytes ({MANY_TASKS} tasks on 16 CPUs against one)");
    if let (Some(&(small, low)), Some(&(large, high))) = (memory.first(), memory.last())
        && large > small
    {
        let tasks = 2 * (large - small) * per_task;
        let per_cpu = high.saturating_sub(low).saturating_sub(tasks) / (large - small);
        println!("a CPU takes {per_cpu} bytes ({large} CPUs against {small}, less their tasks)");
    }
    Ok(())
}

/// Half of the tasks are periodic with random times, half are pairs that wake each other.
fn scenario(nr_cpus: u64, ms: u64) -> String {
    let half = nr_cpus / 2;
    format!(
        "cpus {nr_cpus}\ntopo smt=2 llc=16 pkg=64\nlevels SMPA\nend {ms}ms\n\
         task per n={nr_cpus} runr 500us 4ms sleepr 1ms 12ms\ntask pa n={half} loop run 50us wakesync pb wait\n\
         task pb n={half} loop wait run 60us wake pa\n"
    )
}

fn run_with_tasks(binary: &Path, path: &Path, nr_tasks: u64) -> Result<u64> {
    fs::write(path, format!("cpus 16\nend 20ms\ntask t n={nr_tasks} run 10us sleep 10ms\n"))?;
    Ok(run(binary, path)?.rss)
}

fn run(binary: &Path, scenario: &Path) -> Result<Cost> {
    let output = Command::new(binary).args(["run", "--json"]).arg(scenario).output()?;
    if !output.status.success() {
        bail!("{}: {}", scenario.display(), String::from_utf8_lossy(&output.stderr));
    }
    let summary: Value = serde_json::from_slice(&output.stdout).context("the summary is JSON")?;
    let number = |place: &str| summary.pointer(place).with_context(|| format!("the summary has no {place}"));
    let whole = |place: &str| number(place)?.as_u64().with_context(|| format!("{place} is no number"));
    Ok(Cost {
        events: whole("/totals/events")?,
        switches: whole("/totals/switches")?,
        wall_s: number("/speed/wall_s")?.as_f64().context("a time is a number")?,
        rss: whole("/speed/peak_rss_bytes")?,
    })
}
