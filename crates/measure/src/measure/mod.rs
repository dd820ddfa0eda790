// SPDX-License-Identifier: GPL-2.0-or-later
//! Measurements in the terms of published scheduler work: search counters, kicks, updates of blocked load,
//! balancing passes, and time in kernel paths.
//!
//! All of them are recorded in every run. [`MeasureSummary`] has them as data, and [`text`] formats them as
//! other tools print them.

pub mod blocked;
pub mod histogram;
pub mod kernel_time;
pub mod kicks;
pub mod passes;
pub mod search;
pub mod text;
pub mod warnings;

use crate::decisions::DecisionStats;
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

#[derive(Clone, Debug, Default)]
pub(crate) struct Measures {
    pub(crate) decisions: DecisionStats,
    search: SearchStats,
    kicks: KickStats,
    blocked: BlockedStats,
    passes: PassStats,
    times: KernelTimes,
    warnings: Warnings,
}

/// Measurements of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MeasureSummary {
    /// Searches for an idle CPU.
    pub search: SearchSummary,
    /// Calls of `kick_ilb()`, for each CPU that made any.
    pub kicks: Vec<KickRow>,
    /// Ticks that considered such a call and made none, for each CPU that has any.
    #[serde(default)]
    pub no_kicks: Vec<NoKickRow>,
    /// Calls of `update_blocked_averages()` and their callers.
    pub blocked: BlockedSummary,
    /// Passes of `load_balance()`, by level of the domain and idle type of the CPU.
    pub passes: Vec<PassRow>,
    /// Time in kernel paths; empty if kernel code has no costs.
    #[serde(default)]
    pub times: Vec<KernelTimeRow>,
    /// Warnings of the scheduler about itself, if the features that check for them are on.
    #[serde(default)]
    pub complaints: Vec<WarningRow>,
}

impl Measures {
    pub(crate) fn new(machine: &Machine<impl Engine>) -> Self {
        let nr_cpus = machine.hardware().nr_cpus();
        Self { search: SearchStats::new(nr_cpus), kicks: KickStats::new(nr_cpus), ..Self::default() }
    }

    /// Discards what was measured so far; kernel paths in progress continue.
    pub(crate) fn reset(&mut self, machine: &Machine<impl Engine>) {
        self.times.reset();
        *self = Self { times: std::mem::take(&mut self.times), ..Self::new(machine) };
    }

    #[inline]
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::WakeupDecision(decision) => {
                self.decisions.on_selection(decision);
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

    #[inline]
    pub(crate) fn machine_event(&mut self, event: &MachineEvent) {
        self.times.machine_event(event);
    }

    pub(crate) fn summary(&self, machine: &Machine<impl Engine>, measured: Nanos) -> MeasureSummary {
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
