// SPDX-License-Identifier: GPL-2.0-or-later
//! HTML page about runs: one file that needs no network.
//!
//! The page starts with the verdict and the timelines of two runs, one above the other, then explanations and findings. A table
//! of metrics by task family follows, then charts: runqueue latency, CPU selection, load balancing, migrations, topology.
//!
//! A page shows recorded runs ([`PageRun`]), or runs of its own: with [`Simulator`], the file contains the scheduler and the
//! machine as WebAssembly. Both have the same data. The page is written as modules of JavaScript in `page/`.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests advance machines by hand"))]

mod collect;
mod diagnosis;
mod encode;
mod lags;
mod page;
mod segments;
mod stream;

pub use collect::PageCollector;
pub use diagnosis::{PageFinding, PageWait};
pub use page::{EDITOR_MODULES, MODULES, Page, RecordedRun, Simulator, WasmProgram, embedded_json};
pub use stream::{StreamPosition, TimelinePart};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use encode::segments_of;
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_measure::summary::RunSummary;
use fairlab_traces::export::thread::ThreadId;
use serde::Serialize;
use std::collections::BTreeMap;

/// Data of one run.
#[derive(Debug, Serialize)]
pub struct PageRun {
    name: String,
    summary: serde_json::Value,
    length_ns: u64,
    /// Segments shorter than this are merged with their neighbours; 0 if no segments are merged.
    resolution_ns: u64,
    threads: Vec<PageThread>,
    segments: String,
    series: String,
    /// Lags of tasks over time. `None` for a kernel without lags.
    lags: Option<PageLags>,
    /// Findings, worst first. `None`: findings need the built-in scheduler.
    findings: Option<Vec<PageFinding>>,
    #[serde(flatten)]
    details: PageDetails,
}

/// Thread of a timeline.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct PageThread {
    /// Number by which segments refer to the thread.
    pub index: usize,
    pub name: String,
    pub pid: i32,
    /// Family of a task of the workload.
    pub family: Option<String>,
    /// Whether the thread belongs to the kernel, or is a kernel thread of the workload.
    pub is_kernel: bool,
}

/// Data of a run below its timeline.
#[derive(Debug, Serialize)]
pub struct PageDetails {
    cpus: Vec<PageCpu>,
    /// Time that the parts of the series divide, in ns.
    series_ns: u64,
    /// Histograms of runqueue latencies by family: number of wake-ups by bucket.
    latencies: BTreeMap<String, BTreeMap<u32, u64>>,
    scanned: BTreeMap<u32, u64>,
    cpus_per_cell: u32,
    migrations: Vec<(u32, u32, u64)>,
    waits: Vec<PageWait>,
}

#[derive(Debug, Serialize)]
struct PageLags {
    /// Samples of a task that are closer together than this are merged; 0 if no samples are merged.
    resolution_ns: u64,
    samples: String,
}

#[derive(Debug, Serialize)]
struct PageCpu {
    capacity: u64,
    core: u32,
    llc: u32,
    node: u32,
    highest_khz: u64,
}

impl PageRun {
    /// Creates the data of a run that is over. [`PageRun::diagnose`] adds findings and explanations.
    pub fn new(name: String, summary: &RunSummary, machine: &Machine<impl Engine>, collector: &PageCollector) -> Self {
        let details = collector.details(machine);
        let threads = collector.threads_from(0, machine);
        let collected = collector.0.borrow();
        Self {
            name,
            summary: serde_json::to_value(summary).expect("a summary is valid JSON"),
            length_ns: collected.length,
            resolution_ns: collected.segments.resolution,
            threads,
            segments: BASE64_STANDARD.encode(segments_of(&collected.segments)),
            series: BASE64_STANDARD.encode(collected.series()),
            lags: (!collected.lags.is_empty()).then(|| PageLags {
                resolution_ns: collected.lags.resolution,
                samples: BASE64_STANDARD.encode(collected.lags.bytes()),
            }),
            findings: None,
            details,
        }
    }
}

impl PageCollector {
    /// Returns the threads of the timeline from an index on.
    pub fn threads_from(&self, first: usize, machine: &Machine<impl Engine>) -> Vec<PageThread> {
        let threads = &self.0.borrow().threads;
        if first == threads.len() {
            return Vec::new();
        }
        let specs = task_specs(machine, threads.len());
        let row = |(index, &(ref name, pid, is_kernel)): (usize, &(String, i32, bool))| {
            let task = specs[index].map(|spec| &machine.workload().tasks[spec]);
            PageThread {
                index,
                name: name.clone(),
                pid,
                family: task.map(|task| task.family.clone()),
                is_kernel: is_kernel || task.is_some_and(|task| task.is_kthread),
            }
        };
        threads.iter().enumerate().skip(first).map(row).collect()
    }

    /// Returns the data of a run that is over, without its timeline.
    pub fn details(&self, machine: &Machine<impl Engine>) -> PageDetails {
        let collected = self.0.borrow();
        let hardware = machine.hardware();
        let topology = &hardware.topology;
        let cpus = machine.sched().cpu_ids().map(|cpu| {
            let (place, index) = (topology.cpus[cpu.index()], cpu.index());
            let domain = hardware.frequency_domains.iter().find(|domain| domain.contains(cpu));
            PageCpu {
                capacity: topology.capacity[index],
                core: place.core,
                llc: place.llc,
                node: place.node,
                highest_khz: domain.map_or(0, |domain| domain.highest_khz()),
            }
        });
        let specs = task_specs(machine, collected.threads.len());
        let mut latencies: BTreeMap<String, BTreeMap<u32, u64>> = BTreeMap::new();
        for (thread, sizes) in &collected.latencies {
            let Some(spec) = specs[thread.index()] else { continue };
            let of_family = latencies.entry(machine.workload().tasks[spec].family.clone()).or_default();
            sizes.iter().for_each(|(&size, nr)| *of_family.entry(size).or_default() += nr);
        }
        let groups: Vec<String> = machine.workload().groups.iter().map(|group| group.name.clone()).collect();
        let waits = collected
            .longest_waits()
            .into_iter()
            .map(|wait| PageWait::new(wait, collected.threads[wait.thread].1, &groups))
            .collect();
        PageDetails {
            cpus: cpus.collect(),
            series_ns: collected.series_length,
            latencies,
            scanned: collected.scanned.clone(),
            cpus_per_cell: collected.per_cell,
            migrations: collected.migrations.iter().map(|(&(from, to), &nr)| (from, to, nr)).collect(),
            waits,
        }
    }
}

/// Returns for each thread the index of its task in the workload, if it has one.
fn task_specs(machine: &Machine<impl Engine>, nr_threads: usize) -> Vec<Option<usize>> {
    let mut specs = vec![None; nr_threads];
    for task in machine.tasks() {
        let Some(id) = task.id else { continue };
        if let Some(of_thread) = specs.get_mut(ThreadId::from_task(id).index()) {
            *of_thread = Some(task.spec);
        }
    }
    specs
}
