// SPDX-License-Identifier: GPL-2.0-or-later
//! Measurements in the terms of published scheduler work: search counters, kicks, updates of blocked load, balancing
//! passes, time in kernel paths.
//!
//! All of it is counted in every run. A summary has it as data ([`MeasureSummary`]); [`text`] has the forms in which other
//! tools print the same.

pub mod blocked;
pub mod histogram;
pub mod kernel_time;
pub mod kicks;
pub mod passes;
pub mod search;
pub mod text;
pub mod warnings;

use blocked::{BlockedStats, BlockedSummary};
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::MachineEvent;
use fairlab_machine::sim::Machine;
use fairlab_sched::probe::Event;
use fairlab_sched::units::Nanos;
use kernel_time::{KernelTimeRow, KernelTimes};
use kicks::{KickRow, KickStats, NoKickRow};
use passes::{PassRow, PassStats};
use search::{SearchStats, SearchSummary};
use serde::{Deserialize, Serialize};
use warnings::{WarningRow, Warnings};

/// What is measured of a run.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    search: SearchStats,
    kicks: KickStats,
    blocked: BlockedStats,
    passes: PassStats,
    times: KernelTimes,
    warnings: Warnings,
}

/// What was measured of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MeasureSummary {
    /// The search for an idle CPU.
    pub search: SearchSummary,
    /// Calls of `kick_ilb()`, of the CPUs that made any.
    pub kicks: Vec<KickRow>,
    /// Ticks that thought of such a call and made none.
    #[serde(default)]
    pub no_kicks: Vec<NoKickRow>,
    /// Calls of `update_blocked_averages()`.
    pub blocked: BlockedSummary,
    /// Passes of `load_balance()`, by level of the domain and state of the CPU.
    pub passes: Vec<PassRow>,
    /// Time in paths of the kernel; empty without prices.
    #[serde(default)]
    pub times: Vec<KernelTimeRow>,
    /// Complaints of the scheduler about itself, if it was told to complain.
    #[serde(default)]
    pub complaints: Vec<WarningRow>,
}

impl Measures {
    /// Measures a machine that has not started.
    pub fn new(machine: &Machine<impl Engine>) -> Self {
        let nr_cpus = machine.hardware().nr_cpus();
        Self { search: SearchStats::new(nr_cpus), kicks: KickStats::new(nr_cpus), ..Self::default() }
    }

    /// Forgets what was measured so far; paths that are under way go on.
    pub(crate) fn reset(&mut self, machine: &Machine<impl Engine>) {
        self.times.reset();
        *self = Self { times: std::mem::take(&mut self.times), ..Self::new(machine) };
    }

    /// The scheduler tells of something.
    #[inline]
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::WakeupDecision(decision) => {
                self.search.on_selection(decision);
                self.times.on_selection(decision);
            }
            Event::KickDecision(decision) => self.kicks.on_kick_decision(decision),
            Event::BlockedUpdate(update) => self.blocked.on_update(update),
            Event::BalanceDecision(decision) => self.passes.on_balance(decision),
            Event::Warning { cpu, warning, .. } => self.warnings.on_warning(*cpu, *warning),
            _ => {}
        }
    }

    /// The machine tells of something.
    #[inline]
    pub fn machine_event(&mut self, event: &MachineEvent) {
        self.times.machine_event(event);
    }

    /// What was found, after the end of a run of which so much was measured.
    pub fn summary(&self, machine: &Machine<impl Engine>, measured: Nanos) -> MeasureSummary {
        MeasureSummary {
            search: self.search.summary(),
            kicks: self.kicks.rows(),
            no_kicks: self.kicks.rows_without(),
            blocked: self.blocked.summary(measured),
            passes: self.passes.rows(machine),
            times: self.times.rows(),
            complaints: self.warnings.rows(),
        }
    }
}
