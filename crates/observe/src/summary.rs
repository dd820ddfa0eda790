// SPDX-License-Identifier: GPL-2.0-or-later
//! What a run amounts to: everything that its tables show, as data.
//!
//! All but [`SimulationSpeed`] is the same for equal runs, on every machine that they run on.

use crate::cgroups::{self, CgroupSummary};
use crate::cpus::{CpuSummary, SoftirqCounts};
use crate::decisions::{BalanceSummary, SelectionSummary};
use crate::eas::EasStatus;
use crate::energy::EnergySummary;
use crate::families::FamilySummary;
use crate::measure::MeasureSummary;
use crate::measure::warnings::WarningRow;
use crate::residency;
use crate::stall::Stall;
use crate::summary_observer::SummaryObserver;
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_sched::work::{KernelOp, OpCounts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The form in which a [`Summary`] is written. A new field leaves its number alone; one that goes or means something else does not.
pub const SCHEMA: &str = "run/1";

/// What was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunSubject {
    /// The workload's file, as it was given.
    pub workload: String,
    /// What kind of file: `scenario` or `rt-app`.
    pub kind: String,
    /// The machine's name; `scenario` for one that a scenario describes.
    pub machine: String,
    /// The kernel's name.
    pub kernel: String,
}

/// The engine of a kernel tree that decided in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EngineSummary {
    /// Its name, with `kernel:` before it.
    pub name: String,
    /// The tree's version.
    pub version: String,
    /// What it was built from.
    pub source: String,
    /// The patches on top of that, by the names of their files.
    pub patches: Vec<String>,
    /// What the kernel printed.
    pub log: Vec<KernelLogLine>,
}

/// A line that a kernel printed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KernelLogLine {
    /// When, on the machine's clock.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// What.
    pub text: String,
}

/// Sums over the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunTotals {
    /// Tasks that were forked.
    pub tasks: u64,
    /// Time that tasks had a CPU.
    pub busy_ns: u64,
    /// Time that CPUs had no task.
    pub idle_ns: u64,
    /// Time that tasks were runnable without a CPU.
    pub wait_ns: u64,
    /// Jain's index over all fair tasks of nice 0 that are in no group, in millionths: how evenly they got a CPU when they were runnable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness_ppm: Option<u64>,
    /// Work of kernel code, in nanoseconds at full capacity and frequency.
    pub kernel_ns: u64,
    /// Events of the machine.
    pub events: u64,
    /// Context switches, those of the kernel's own tasks among them.
    pub switches: u64,
    /// Wake-ups, without forks.
    pub wakeups: u64,
    /// Migrations.
    pub migrations: u64,
    /// Ticks that were served.
    pub ticks: u64,
    /// Inter-processor interrupts.
    pub ipis: u64,
    /// Packets, and threads ksoftirqd.
    #[serde(default)]
    pub softirqs: SoftirqCounts,
}

/// How fast the simulation was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SimulationSpeed {
    /// Seconds that it took.
    pub wall_s: f64,
    /// Events of the machine in a second.
    pub events_per_s: f64,
    /// Simulated seconds in a second.
    pub simulated_per_s: f64,
    /// The most memory that the program had, in bytes, where the system tells.
    pub peak_rss_bytes: Option<u64>,
}

/// What a run amounts to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunSummary {
    /// The form of this.
    #[serde(default)]
    pub schema: String,
    /// Version of fairlab.
    pub fairlab: String,
    /// What was run.
    pub run: RunSubject,
    /// Length of the run, or of what was measured of it.
    pub duration_ns: u64,
    /// The engine, if it is not the built-in one. It tells of no decisions: `placement`, `selection`, `balance`, `measure` and times on CPUs too
    /// small or too large are empty then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineSummary>,
    /// If somebody stopped the run: how long it was to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short_of_ns: Option<u64>,
    /// The hash over all that the scheduler did.
    pub digest: String,
    /// Sums.
    pub totals: RunTotals,
    /// Task families, in the order of the workload.
    pub families: Vec<FamilySummary>,
    /// CPUs, in their order.
    pub cpus: Vec<CpuSummary>,
    /// Cgroups with a quota, in the order of the workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cgroups: Vec<CgroupSummary>,
    /// Whether tasks were placed for the sake of energy.
    #[serde(default)]
    pub placement: EasStatus,
    /// How CPUs were selected.
    pub selection: SelectionSummary,
    /// What load balancing did.
    pub balance: BalanceSummary,
    /// How often kernel code did each of the operations that a machine's file may price; those that it never did are not there.
    #[serde(default)]
    pub work: BTreeMap<String, u64>,
    /// Energy; nothing is known of it unless the machine has powers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergySummary>,
    /// Measurements in the terms of published work.
    #[serde(default)]
    pub measure: MeasureSummary,
    /// What the workload's file leaves open and was taken for granted.
    #[serde(default)]
    pub assumptions: Vec<String>,
    /// What did not get on.
    #[serde(default)]
    pub standstill: Stall,
    /// What could not be honoured of the workload, what the scheduler complains of, and what did not get on.
    pub warnings: Vec<String>,
    /// How fast it was; left out where results are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<SimulationSpeed>,
}

/// Operations that came after others, by name.
fn work_since(before: &OpCounts, now: &OpCounts) -> BTreeMap<String, u64> {
    let since = KernelOp::ALL.iter().map(|&op| (op.name().to_owned(), now.of(op) - before.of(op)));
    since.filter(|(_, count)| *count > 0).collect()
}

impl RunSummary {
    /// What a recorder found, after the end of a run: since its start, or since the recorder forgot what was before.
    pub fn new(run: RunSubject, machine: &Machine<impl Engine>, recorder: &SummaryObserver) -> Self {
        let forgotten = &recorder.baseline;
        let measured = machine.duration().saturating_since(forgotten.elapsed);
        let measure = recorder.measures.summary(machine, measured);
        let complaints = measure.complaints.iter().flat_map(WarningRow::sentences);
        let standstill = Stall::from_machine(machine);
        let workload = machine.workload().warnings.iter().cloned();
        let refused = recorder.rejected.sentences(machine);
        // What concerns the run before what concerns its file, of which there may be much.
        let warnings = standstill.sentences().into_iter().chain(refused).chain(complaints).chain(workload).collect();
        let mut families = recorder.families.summaries(machine.now());
        let mut residency = residency::of_families(machine, &forgotten.residency);
        for family in &mut families {
            family.residency = residency.remove(&family.name);
        }
        let cpus = recorder.cpus.summaries(machine);
        let counters = machine.counters();
        let of_cpus = |what: fn(&CpuSummary) -> u64| cpus.iter().map(what).sum::<u64>();
        let of_families = |what: fn(&FamilySummary) -> u64| families.iter().map(what).sum::<u64>();
        let totals = RunTotals {
            tasks: of_families(|family| family.tasks),
            busy_ns: of_cpus(|cpu| cpu.busy_ns),
            idle_ns: of_cpus(|cpu| cpu.idle_ns),
            wait_ns: of_families(|family| family.wait_ns),
            fairness_ppm: recorder.families.fairness_ppm(machine.now()),
            kernel_ns: of_cpus(|cpu| cpu.kernel_ns),
            events: counters.events - forgotten.events,
            switches: counters.switches - forgotten.switches,
            wakeups: of_families(|family| family.wakeups),
            migrations: of_families(|family| family.migrations),
            ticks: of_cpus(|cpu| cpu.ticks),
            ipis: of_cpus(|cpu| cpu.reschedule_ipis + cpu.call_function_ipis),
            softirqs: cpus.iter().map(|cpu| cpu.softirqs).fold(SoftirqCounts::default(), SoftirqCounts::combined),
        };
        Self {
            schema: SCHEMA.to_owned(),
            fairlab: env!("CARGO_PKG_VERSION").to_owned(),
            run,
            duration_ns: measured.0,
            engine: None,
            cut_short_of_ns: None,
            digest: machine.digest().to_string(),
            totals,
            cgroups: cgroups::of(machine, &forgotten.quotas),
            placement: EasStatus::from_machine(machine),
            selection: recorder.decisions.selections(),
            balance: recorder.decisions.balancing(),
            work: work_since(&forgotten.work, &machine.work()),
            energy: EnergySummary::new(machine.hardware(), &cpus),
            measure,
            assumptions: machine.workload().assumptions.clone(),
            standstill,
            warnings,
            families,
            cpus,
            speed: None,
        }
    }

    /// The same with how long it took.
    #[must_use]
    pub fn with_speed(mut self, wall: Duration, peak_rss_bytes: Option<u64>) -> Self {
        let wall_s = wall.as_secs_f64().max(1e-9);
        self.speed = Some(SimulationSpeed {
            wall_s,
            events_per_s: self.totals.events as f64 / wall_s,
            simulated_per_s: self.duration_ns as f64 / 1e9 / wall_s,
            peak_rss_bytes,
        });
        self
    }
}
