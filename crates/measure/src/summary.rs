// SPDX-License-Identifier: GPL-2.0-or-later
//! Summary of a run: the data of all tables that `fairlab run` prints.
//!
//! Everything except [`SimulationSpeed`] is equal for equal runs, on every host.

use crate::cgroups::{self, CgroupSummary};
use crate::cpus::{CpuSummary, SoftirqCounts};
use crate::decisions::{BalanceSummary, SelectionSummary};
use crate::eas::EasStatus;
use crate::energy::EnergySummary;
use crate::families::FamilySummary;
use crate::measure::MeasureSummary;
use crate::measure::warnings::WarningRow;
use crate::residency::{self, FamilyResidency};
use crate::responses::ResponseSummary;
use crate::stall::Stall;
use crate::summary_observer::SummaryObserver;
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::{KernelOp, OpCounts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Version of the JSON form of a [`RunSummary`]. A new field does not change it; a field that is removed or
/// changes its meaning does.
pub const SCHEMA: &str = "run/3";

/// Input of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunSubject {
    /// Workload file, as it was given.
    pub workload: String,
    /// Kind of the file: `scenario` or `rt-app`.
    pub kind: String,
    /// Name of the machine; `scenario` for one that a scenario describes.
    pub machine: String,
    /// Name of the kernel.
    pub kernel: String,
}

/// Compiled-kernel engine of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EngineSummary {
    /// Name of the engine, with the prefix `kernel:`.
    pub name: String,
    /// Version of the kernel tree.
    pub version: String,
    /// Source of the kernel tree.
    pub source: String,
    /// File names of the patches on top of the tree.
    pub patches: Vec<String>,
    /// Lines that the kernel printed.
    pub log: Vec<KernelLogLine>,
    /// Counted functions that not all compiled kernels of the comparison have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncommon: Vec<UncommonCall>,
}

/// Counted function that only some of the compared kernels have. Its own calls cost nothing; see the setting `costs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UncommonCall {
    /// Name of the function.
    pub function: String,
    /// Operation as which it is counted.
    pub operation: String,
    /// Engines that have it.
    pub engines: Vec<String>,
    /// Function whose calls are charged with the cost in all kernels instead; null if nothing is charged.
    pub charged_to: Option<String>,
    /// Number of its calls in this run.
    pub calls: u64,
    /// Cost of one call on this machine, in picoseconds.
    pub cost_ps: u64,
}

impl RunSummary {
    /// Describes the counted functions that ran and that not all compiled kernels of the comparison have, with their
    /// costs.
    pub fn uncommon_costs(&self) -> Vec<String> {
        let uncommon = self.engine.iter().flat_map(|engine| &engine.uncommon).filter(|uncommon| uncommon.calls > 0);
        uncommon.map(|uncommon| uncommon.sentence(self.totals.kernel_ns)).collect()
    }
}

impl UncommonCall {
    /// Describes the function and its cost; `kernel_ns` is the time that all kernel code took.
    fn sentence(&self, kernel_ns: u64) -> String {
        let Self { function, operation, engines, charged_to, calls, cost_ps } = self;
        let ns = *cost_ps as f64 / 1e3;
        let only = format!("{function}() is only in {}", engines.join(" and "));
        match charged_to {
            Some(caller) => {
                format!("{only}: all kernels pay its cost ({operation}, {ns:.1} ns) once per call of {caller}()")
            }
            None => {
                let own_ns = (*calls * *cost_ps) as f64 / 1e3;
                let share = 100.0 * own_ns / (kernel_ns as f64 + own_ns).max(1.0);
                format!(
                    "{only}: no kernel pays its cost ({operation}, {ns:.1} ns per call, {share:.1} % of all costs of this run)"
                )
            }
        }
    }
}

/// Line of the kernel log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KernelLogLine {
    /// Time of the line on the machine's clock, in nanoseconds.
    pub at_ns: u64,
    /// CPU that printed the line.
    pub cpu: u32,
    /// Text of the line.
    pub text: String,
    /// Callers of a warning with their positions in the sources, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<String>,
}

/// End of a warm-up that lasted until the run had settled: context switches, wake-ups and migrations of 100 ms differed by
/// at most 5 % from those of the 100 ms before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settling {
    /// Time from the last start to the end of the warm-up, in nanoseconds.
    pub after_ns: u64,
    /// Whether the run had settled then; otherwise the warm-up ended at its limit.
    pub has_settled: bool,
}

impl Settling {
    /// Returns a sentence about the end of the warm-up.
    pub fn sentence(&self) -> String {
        let after = Nanos(self.after_ns);
        if self.has_settled {
            format!("settled {after} after the last start")
        } else {
            format!(
                "the run had not settled {after} after the last start, at the limit of its warm-up: its results may depend on the length of the run"
            )
        }
    }
}

/// Sums over the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunTotals {
    /// Number of forked tasks.
    pub tasks: u64,
    /// Sum of the CPUs' busy time, in nanoseconds.
    pub busy_ns: u64,
    /// CPU time that the work of all tasks takes on the fastest CPU at its highest frequency, in nanoseconds.
    #[serde(default)]
    pub full_speed_ns: u64,
    /// Sum of the CPUs' idle time, in nanoseconds.
    pub idle_ns: u64,
    /// Sum of the time in which CPUs were offline, in nanoseconds.
    #[serde(default)]
    pub offline_ns: u64,
    /// Sum of the time in which tasks waited for a CPU, in nanoseconds.
    pub wait_ns: u64,
    /// Sum of the time in which runnable tasks waited for runtime of their group or class, in nanoseconds.
    #[serde(default)]
    pub throttled_ns: u64,
    /// Jain's fairness index in millionths, over all fair tasks of nice 0 outside of task groups: how evenly
    /// they received CPU time while they were runnable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness_ppm: Option<u64>,
    /// Time in kernel code on all CPUs, including waits for locks, in nanoseconds.
    pub kernel_ns: u64,
    /// Number of simulation events of the machine.
    pub events: u64,
    /// Number of context switches, including those of the kernel's own threads.
    pub switches: u64,
    /// Number of wake-ups of blocked tasks, without forks.
    pub wakeups: u64,
    /// Number of migrations of tasks to another CPU.
    pub migrations: u64,
    /// Number of handled ticks.
    pub ticks: u64,
    /// Number of inter-processor interrupts.
    pub ipis: u64,
    /// Packets and wake-ups of ksoftirqd.
    #[serde(default)]
    pub softirqs: SoftirqCounts,
}

/// Speed of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SimulationSpeed {
    /// Wall-clock time of the simulation, in seconds.
    pub wall_s: f64,
    /// Simulation events per second of wall-clock time.
    pub events_per_s: f64,
    /// Simulated seconds per second of wall-clock time.
    pub simulated_per_s: f64,
    /// Peak memory of the process in bytes, if the operating system reports it.
    pub peak_rss_bytes: Option<u64>,
}

/// Summary of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunSummary {
    /// Version of this JSON form: `run/3`.
    #[serde(default)]
    pub schema: String,
    /// Version of fairlab that executed the run.
    pub fairlab: String,
    /// Input of the run.
    pub run: RunSubject,
    /// Length of the measured part of the run, in nanoseconds.
    pub duration_ns: u64,
    /// Compiled-kernel engine, if there was one. It reports no decisions: `placement`, `selection`,
    /// `balance`, `measure` and the times on too small or too large CPUs are then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineSummary>,
    /// Requested length in nanoseconds of a run that was stopped earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short_of_ns: Option<u64>,
    /// End of a warm-up that lasted until the run had settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settling: Option<Settling>,
    /// Digest over all events of the scheduler.
    pub digest: String,
    /// Sums over the whole machine.
    pub totals: RunTotals,
    /// Responses, in the order of their definitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responses: Vec<ResponseSummary>,
    /// Task families, in the order of the workload.
    pub families: Vec<FamilySummary>,
    /// CPUs, in ascending order.
    pub cpus: Vec<CpuSummary>,
    /// Cgroups, in the order of the workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cgroups: Vec<CgroupSummary>,
    /// State of energy-aware scheduling.
    #[serde(default)]
    pub placement: EasStatus,
    /// Wake-up placements by rule.
    pub selection: SelectionSummary,
    /// Load-balancing passes by outcome.
    pub balance: BalanceSummary,
    /// Number of executions of each kernel operation that a machine's cost model can list; operations that
    /// were never executed are absent.
    #[serde(default)]
    pub work: BTreeMap<String, u64>,
    /// Energy of the run; absent if the machine has no power values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergySummary>,
    /// Measurements in the terms of published scheduler work.
    #[serde(default)]
    pub measure: MeasureSummary,
    /// Assumptions about facts that the workload's file leaves open.
    #[serde(default)]
    pub assumptions: Vec<String>,
    /// Tasks that made no progress.
    #[serde(default)]
    pub standstill: Stall,
    /// Warnings: unsupported parts of the workload, warnings of the scheduler, and tasks that made no
    /// progress.
    pub warnings: Vec<String>,
    /// Speed of the simulation; absent where results are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<SimulationSpeed>,
}

/// Returns the number of operations since `before`, by name.
fn work_since(before: &OpCounts, now: &OpCounts) -> BTreeMap<String, u64> {
    let since = KernelOp::ALL.iter().map(|&op| (op.name().to_owned(), now.get(op) - before.get(op)));
    since.filter(|(_, count)| *count > 0).collect()
}

impl RunSummary {
    /// Creates the summary of a run that has ended, since its start or since the observer was reset.
    pub fn new(run: RunSubject, machine: &Machine<impl Engine>, recorder: &SummaryObserver) -> Self {
        let forgotten = &recorder.baseline;
        let measured = machine.duration().saturating_since(forgotten.elapsed);
        let measure = recorder.measures.summary(machine, measured);
        let complaints = measure.complaints.iter().flat_map(WarningRow::sentences);
        let standstill = Stall::from_machine(machine);
        let workload = machine.workload().warnings.iter().cloned();
        let refused = recorder.rejected.sentences(machine);
        // Warnings about the run come before those about its file, of which there may be many.
        let warnings = standstill.sentences().into_iter().chain(refused).chain(complaints).chain(workload).collect();
        let mut families = recorder.families.summaries(machine.now());
        let mut residency = residency::of_families(machine, &forgotten.residency);
        for family in &mut families {
            family.residency = residency.remove(&family.name);
            // Run lengths that do not depend on the CPU are work at full speed.
            let scaled = family.residency.as_ref().filter(|_| machine.hardware().scale_work);
            family.work.full_speed_ns = scaled.map_or(family.run_ns, FamilyResidency::full_speed_ns);
        }
        let cpus = recorder.cpus.summaries(machine);
        let counters = machine.counters();
        let of_cpus = |what: fn(&CpuSummary) -> u64| cpus.iter().map(what).sum::<u64>();
        let of_families = |what: fn(&FamilySummary) -> u64| families.iter().map(what).sum::<u64>();
        let totals = RunTotals {
            tasks: of_families(|family| family.tasks),
            busy_ns: of_cpus(|cpu| cpu.busy_ns),
            full_speed_ns: of_families(|family| family.work.full_speed_ns),
            idle_ns: of_cpus(|cpu| cpu.idle_ns),
            offline_ns: of_cpus(|cpu| cpu.offline_ns),
            wait_ns: of_families(|family| family.wait_ns),
            throttled_ns: of_families(|family| family.throttled_ns),
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
        let summary = Self {
            schema: SCHEMA.to_owned(),
            fairlab: env!("CARGO_PKG_VERSION").to_owned(),
            run,
            duration_ns: measured.0,
            digest: machine.digest().to_string(),
            totals,
            cgroups: cgroups::of(machine, &forgotten.quotas, &recorder.families.group_times(machine.now())),
            responses: recorder.responses.as_ref().map_or_else(Vec::new, |responses| responses.summaries(machine)),
            placement: EasStatus::from_machine(machine),
            selection: recorder.measures.decisions.selections(),
            balance: BalanceSummary::new(&measure),
            work: work_since(&forgotten.work, &machine.total_ops()),
            energy: EnergySummary::new(machine.hardware(), &cpus),
            measure,
            assumptions: machine.workload().assumptions.clone(),
            standstill,
            warnings,
            families,
            cpus,
            ..Self::default()
        };
        debug_assert_eq!(summary.broken_sums(), [""; 0], "sums of a summary must be equal");
        summary
    }

    /// Adds the end of a warm-up that lasted until the run had settled, with a warning if it had not.
    pub fn add_settling(&mut self, settling: Option<Settling>) {
        self.settling = settling;
        let warning = settling.filter(|settling| !settling.has_settled).map(|settling| settling.sentence());
        self.warnings.splice(..0, warning);
    }

    /// Adds the speed, from the wall-clock time and peak memory of the run.
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
