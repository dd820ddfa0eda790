// SPDX-License-Identifier: GPL-2.0-or-later
//! A page about runs: one file of HTML that needs no network.
//!
//! It has what ran, key figures side by side, the timeline of CPUs, utilisation and frequency over time, wake-up latencies, how CPUs were
//! selected, what balancing did, and migrations. What is shown is data in the file (JSON, and the segments of the timeline as bytes in
//! base64); `page.js` draws it, `page.css` says how it looks.

mod collect;
mod encode;
mod segments;

pub use collect::PageCollector;

use crate::summary::RunSummary;
use encode::{base64, segments_of};
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_sched::interface::wakeup::WakeRule;
use serde::Serialize;
use std::collections::BTreeMap;

const HEAD: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("page.js"), include_str!("figures.js"));

/// A run as the page knows it.
#[derive(Serialize)]
pub struct PageRun {
    /// What it is called.
    name: String,
    summary: serde_json::Value,
    length_ns: u64,
    /// Segments that are shorter became one with their neighbours; 0: all are there.
    resolution_ns: u64,
    cpus: Vec<PageCpu>,
    /// Name, pid, whether it belongs to the kernel.
    threads: Vec<(String, i32, bool)>,
    /// Families by the names of their threads.
    families: Vec<String>,
    family_of: Vec<i64>,
    /// Latencies by family: size and number.
    latencies: BTreeMap<String, BTreeMap<u32, u64>>,
    scanned: BTreeMap<u32, u64>,
    cpus_per_cell: u32,
    migrations: Vec<(u32, u32, u64)>,
    segments: String,
}

/// A CPU of it.
#[derive(Serialize)]
struct PageCpu {
    capacity: u64,
    core: u32,
    llc: u32,
    node: u32,
    highest_khz: u64,
    /// Averages over parts of the run.
    util: Vec<u64>,
    khz: Vec<u64>,
    nr_running: Vec<u64>,
}

impl PageRun {
    /// Of a run that is over.
    pub fn new(name: String, summary: &RunSummary, machine: &Machine<impl Engine>, collector: &PageCollector) -> Self {
        let collected = collector.0.borrow();
        let hardware = machine.hardware();
        let topology = &hardware.topology;
        let part = (collected.length / collect::NR_PARTS as u64).max(1);
        let average = |sums: &[u64]| sums.iter().map(|sum| (sum + part / 2) / part).collect::<Vec<u64>>();
        let cpus = machine.sched().cpu_ids().map(|cpu| {
            let (place, index) = (topology.cpus[cpu.index()], cpu.index());
            let domain = hardware.frequency_domains.iter().find(|domain| domain.contains(cpu));
            PageCpu {
                capacity: topology.capacity[index],
                core: place.core,
                llc: place.llc,
                node: place.node,
                highest_khz: domain.map_or(0, |domain| domain.highest_khz()),
                util: average(&collected.util[index].sums),
                khz: average(&collected.khz[index].sums),
                nr_running: average(&collected.nr_running[index].sums.iter().map(|sum| sum * 100).collect::<Vec<_>>()),
            }
        });
        let workload = machine.workload();
        let mut families: Vec<String> = Vec::new();
        let mut family_of = vec![-1; collected.threads.len()];
        for task in machine.tasks() {
            let Some(id) = task.id else { continue };
            let family = &workload.tasks[task.spec].family;
            let place = families.iter().position(|own| own == family).unwrap_or_else(|| {
                families.push(family.clone());
                families.len() - 1
            });
            family_of[crate::export::thread::ThreadId::from_task(id).index()] = place as i64;
        }
        let mut latencies: BTreeMap<String, BTreeMap<u32, u64>> = BTreeMap::new();
        for (thread, sizes) in &collected.latencies {
            let Ok(family) = usize::try_from(family_of[thread.index()]) else { continue };
            let of_family = latencies.entry(families[family].clone()).or_default();
            sizes.iter().for_each(|(&size, nr)| *of_family.entry(size).or_default() += nr);
        }
        Self {
            name,
            summary: serde_json::to_value(summary).expect("a summary can be told as JSON"),
            length_ns: collected.length,
            resolution_ns: collected.segments.resolution,
            cpus: cpus.collect(),
            threads: collected.threads.clone(),
            families,
            family_of,
            latencies,
            scanned: collected.scanned.clone(),
            cpus_per_cell: collected.per_cell(),
            migrations: collected.migrations.iter().map(|(&(from, to), &nr)| (from, to, nr)).collect(),
            segments: base64(&segments_of(&collected.segments)),
        }
    }
}

/// Everything that the script reads.
#[derive(Serialize)]
struct PageInput<'a, R> {
    fairlab: &'static str,
    /// Rules of selections: name and meaning, in the order of their numbers from 1.
    rules: Vec<(&'static str, &'static str)>,
    parts: usize,
    per_octave: u32,
    runs: &'a [R],
}

/// The page about some runs, the first of which others are compared with. A run is a [`PageRun`], or what one was written as.
pub fn page<R: Serialize>(runs: &[R]) -> String {
    let page = PageInput {
        fairlab: env!("CARGO_PKG_VERSION"),
        rules: WakeRule::ALL.iter().map(|rule| (rule.name(), rule.meaning())).collect(),
        parts: collect::NR_PARTS,
        per_octave: collect::PER_OCTAVE,
        runs,
    };
    // What ends a script must not stand in its data.
    let data = serde_json::to_string(&page).expect("a page can be told as JSON").replace('<', "\\u003c");
    HEAD.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT).replace("/*DATA*/", &data)
}
