// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs, and what is found in them about newly-idle balancing.

use super::workload::Shape;
use crate::StudyError;
use crate::definition::ArmDefinition;
use crate::pool;
use crate::run::{Run, run};
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_observe::measure::kernel_time::KernelTimes;
use fairlab_sched::probe::{BalanceDecision, Event, Probe};
use fairlab_sched::topology::CpuIdleType;
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;

/// What a run has shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// The highest `max_newidle_lb_cost` of any domain.
    pub(super) largest_cost_ns: u64,
    /// The whole of newly-idle balancing: median, 99th percentile, maximum, in microseconds.
    pub(super) times_us: [f64; 3],
    /// Newly-idle passes across nodes: over the widest domain of which there were any.
    pub(super) across_nodes: Passes,
}

/// Newly-idle passes over domains of a level.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passes {
    /// All.
    pub(super) passes: u64,
    /// Those that locked a runqueue.
    pub(super) locked: u64,
    /// How often a runqueue had lost its tasks by then.
    pub(super) emptied: u64,
    /// How often passes started over.
    pub(super) redos: u64,
    /// How often because of that.
    pub(super) raced: u64,
}

impl Found {
    pub(super) fn largest_cost_us(&self) -> f64 {
        self.largest_cost_ns as f64 / 1000.0
    }
}

#[derive(Default)]
struct Watch {
    times: KernelTimes,
    by_level: BTreeMap<u32, Passes>,
}

impl Watch {
    fn balanced(&mut self, decision: &BalanceDecision) {
        if decision.idle != CpuIdleType::NewlyIdle {
            return;
        }
        let found = self.by_level.entry(decision.level).or_default();
        found.passes += 1;
        found.locked += u64::from(decision.nr_locks > 0);
        found.emptied += u64::from(decision.emptied);
        found.redos += u64::from(decision.redos);
        found.raced += u64::from(decision.raced);
    }
}

impl Probe for Watch {
    fn event(&mut self, _now: Nanos, event: &Event<'_>) {
        if let Event::BalanceDecision(decision) = event {
            self.balanced(decision);
        }
    }
}

impl Observer for Watch {
    fn machine_event(&mut self, _now: Nanos, event: &MachineEvent) {
        self.times.machine_event(event);
    }

    fn wants_kernel_paths(&self) -> bool {
        true
    }
}

/// Runs a workload under an arm, once for each seed.
pub(super) fn runs(
    arm: &ArmDefinition,
    hardware: &Hardware,
    shape: Shape,
    duration: Nanos,
    seeds: u64,
) -> Result<Vec<Found>, StudyError> {
    let one = |seed| {
        let workload = shape.workload(hardware.nr_cpus() as u32, seed)?;
        let mut watch = Watch::default();
        let setup = Run { hardware: hardware.clone(), workload, duration, snapshot_every: None };
        let machine = run(arm, setup, &mut watch)?;
        let domains = &machine.sched().domains().domains;
        let rows = watch.times.rows();
        let newidle = rows.iter().find(|row| row.path == "newidle");
        let (Some(newidle), Some((_, across_nodes))) = (newidle, watch.by_level.last_key_value()) else {
            return Err(StudyError::Measurement("no CPU ran out of work".to_owned()));
        };
        Ok::<_, StudyError>(Found {
            largest_cost_ns: domains.iter().map(|domain| domain.max_newidle_lb_cost).max().unwrap_or(0),
            times_us: [newidle.call.p50_ns, newidle.call.p99_ns, newidle.call.max_ns].map(|ns| ns as f64 / 1000.0),
            across_nodes: *across_nodes,
        })
    };
    pool::all((1..=seeds).collect(), one)
}
