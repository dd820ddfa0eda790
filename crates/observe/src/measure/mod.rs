// SPDX-License-Identifier: GPL-2.0-or-later
//! Measurements in the terms of published scheduler work: search counters, kicks, updates of blocked load, balancing
//! passes, time in kernel paths.
//!
//! All of it is counted in every run. A summary has it as data ([`MeasureSummary`]); [`text`] has the forms in which other
//! tools print the same.

pub mod blocked;
pub mod complaints;
pub mod histogram;
pub mod kernel_time;
pub mod kicks;
pub mod passes;
pub mod search;
pub mod text;

use blocked::{Blocked, BlockedSummary};
use complaints::{ComplaintRow, Complaints};
use fairlab_machine::engine::Machine;
use fairlab_machine::observer::MachineEvent;
use fairlab_machine::seam::Engine;
use fairlab_sched::probe::Event;
use fairlab_sched::units::Nanos;
use kernel_time::{KernelTimeRow, KernelTimes};
use kicks::{KickRow, Kicks, NoKickRow};
use passes::{PassRow, Passes};
use search::{Search, SearchSummary};
use serde::{Deserialize, Serialize};

/// What is measured of a run.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    search: Search,
    kicks: Kicks,
    blocked: Blocked,
    passes: Passes,
    times: KernelTimes,
    complaints: Complaints,
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
    pub complaints: Vec<ComplaintRow>,
}

impl Measures {
    /// Measures a machine that has not started.
    pub fn new(machine: &Machine<impl Engine>) -> Self {
        let nr_cpus = machine.hardware().nr_cpus();
        Self { search: Search::new(nr_cpus), kicks: Kicks::new(nr_cpus), ..Self::default() }
    }

    /// Forgets what was measured so far; paths that are under way go on.
    pub(crate) fn forget(&mut self, machine: &Machine<impl Engine>) {
        self.times.forget();
        *self = Self { times: std::mem::take(&mut self.times), ..Self::new(machine) };
    }

    /// The scheduler tells of something.
    #[inline]
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::WakeupDecision(decision) => {
                self.search.selected(decision);
                self.times.selected(decision);
            }
            Event::KickDecision(decision) => self.kicks.thought_of_kicking(decision),
            Event::BlockedUpdate(update) => self.blocked.updated(update),
            Event::BalanceDecision(decision) => self.passes.balanced(decision),
            Event::Warning { cpu, warning, .. } => self.complaints.warned(*cpu, *warning),
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
            complaints: self.complaints.rows(),
        }
    }
}
