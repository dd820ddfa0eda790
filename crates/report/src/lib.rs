// SPDX-License-Identifier: GPL-2.0-or-later
//! HTML page about runs: one file that needs no network.
//!
//! The page starts with the verdict, the findings and the timeline. A table of metrics by task family follows, then charts:
//! utilisation and frequency over time, runqueue latency, CPU selection, load balancing, migrations, topology.
//!
//! The file contains its data as JSON, with the timeline segments as bytes in base64. `page.js` has the state and the lists,
//! `timeline.js` the timeline, `lags.js` the lag of a task over time, `figures.js` the tables and charts.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests advance machines by hand"))]

mod collect;
mod diagnosis;
mod encode;
mod lags;
mod segments;
mod stream;

pub use collect::PageCollector;
pub use stream::{StreamPosition, TimelinePart};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use diagnosis::{PageFinding, PageWait};
use encode::segments_of;
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_measure::summary::RunSummary;
use fairlab_sched::interface::wakeup::WakeRule;
use fairlab_traces::export::thread::ThreadId;
use serde::Serialize;
use std::collections::BTreeMap;

const HEAD: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(
    include_str!("page.js"),
    include_str!("timeline.js"),
    include_str!("lags.js"),
    include_str!("figures.js"),
    "start();\n"
);

/// Data of one run.
#[derive(Serialize)]
pub struct PageRun {
    name: String,
    summary: serde_json::Value,
    length_ns: u64,
    /// Segments shorter than this are merged with their neighbours; 0 if no segments are merged.
    resolution_ns: u64,
    cpus: Vec<PageCpu>,
    threads: Vec<(String, i32, bool)>,
    families: Vec<String>,
    /// Index of each thread's family; -1 if the thread belongs to none.
    family_of: Vec<i64>,
    /// Histograms of runqueue latencies by family: number of wake-ups by bucket.
    latencies: BTreeMap<String, BTreeMap<u32, u64>>,
    scanned: BTreeMap<u32, u64>,
    cpus_per_cell: u32,
    migrations: Vec<(u32, u32, u64)>,
    segments: String,
    /// Lags of tasks over time. `None` for a kernel without lags.
    lags: Option<PageLags>,
    /// Findings, worst first. `None`: findings need the built-in scheduler.
    findings: Option<Vec<PageFinding>>,
    waits: Vec<PageWait>,
}

#[derive(Serialize)]
struct PageLags {
    /// Samples of a task that are closer together than this are merged; 0 if no samples are merged.
    resolution_ns: u64,
    samples: String,
}

#[derive(Serialize)]
struct PageCpu {
    capacity: u64,
    core: u32,
    llc: u32,
    node: u32,
    highest_khz: u64,
    /// Averages over the parts of the run; `nr_running` in hundredths.
    util: Vec<u64>,
    khz: Vec<u64>,
    nr_running: Vec<u64>,
}

impl PageRun {
    /// Creates the data of a run that is over. [`PageRun::diagnose`] adds findings and explanations.
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
        let (families, family_of) = thread_families(machine, collected.threads.len());
        let mut latencies: BTreeMap<String, BTreeMap<u32, u64>> = BTreeMap::new();
        for (thread, sizes) in &collected.latencies {
            let Ok(family) = usize::try_from(family_of[thread.index()]) else { continue };
            let of_family = latencies.entry(families[family].clone()).or_default();
            sizes.iter().for_each(|(&size, nr)| *of_family.entry(size).or_default() += nr);
        }
        let groups: Vec<String> = machine.workload().groups.iter().map(|group| group.name.clone()).collect();
        let waits = collected
            .longest_waits()
            .into_iter()
            .map(|wait| PageWait::new(wait, collected.threads[wait.thread].1, &groups))
            .collect();
        Self {
            name,
            summary: serde_json::to_value(summary).expect("a summary is valid JSON"),
            length_ns: collected.length,
            resolution_ns: collected.segments.resolution,
            cpus: cpus.collect(),
            threads: collected.threads.clone(),
            families,
            family_of,
            latencies,
            scanned: collected.scanned.clone(),
            cpus_per_cell: collected.per_cell,
            migrations: collected.migrations.iter().map(|(&(from, to), &nr)| (from, to, nr)).collect(),
            segments: BASE64_STANDARD.encode(segments_of(&collected.segments)),
            lags: (!collected.lags.is_empty()).then(|| PageLags {
                resolution_ns: collected.lags.resolution,
                samples: BASE64_STANDARD.encode(collected.lags.bytes()),
            }),
            findings: None,
            waits,
        }
    }
}

/// Returns the names of families that have tasks, and the index of each thread's family; -1 if the thread belongs to none.
pub fn thread_families(machine: &Machine<impl Engine>, nr_threads: usize) -> (Vec<String>, Vec<i64>) {
    let mut families: Vec<String> = Vec::new();
    let mut family_of = vec![-1; nr_threads];
    for task in machine.tasks() {
        let Some(id) = task.id else { continue };
        let family = &machine.workload().tasks[task.spec].family;
        let place = families.iter().position(|own| own == family).unwrap_or_else(|| {
            families.push(family.clone());
            families.len() - 1
        });
        if let Some(of_thread) = family_of.get_mut(ThreadId::from_task(id).index()) {
            *of_thread = place as i64;
        }
    }
    (families, family_of)
}

/// Data that the scripts of the page read.
#[derive(Serialize)]
struct PageInput<'a, R> {
    fairlab: &'static str,
    /// Name and meaning of the rules of CPU selection. Segments refer to them by position, counted from 1.
    rules: Vec<(&'static str, &'static str)>,
    parts: usize,
    per_octave: u32,
    runs: &'a [R],
}

/// Returns the HTML page about some runs. The first run is the base of comparisons. A run is a [`PageRun`], or its JSON.
pub fn page<R: Serialize>(runs: &[R]) -> String {
    let page = PageInput {
        fairlab: env!("CARGO_PKG_VERSION"),
        rules: WakeRule::ALL.iter().map(|rule| (rule.name(), rule.meaning())).collect(),
        parts: collect::NR_PARTS,
        per_octave: collect::PER_OCTAVE,
        runs,
    };
    HEAD.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT).replace("/*DATA*/", &embedded_json(&page))
}

/// Returns JSON for a `<script>` element of a page: `</script>` in a task name does not end the element.
///
/// # Panics
/// If the data has no JSON form.
pub fn embedded_json(data: &impl Serialize) -> String {
    serde_json::to_string(data).expect("page data is valid JSON").replace('<', "\\u003c")
}
