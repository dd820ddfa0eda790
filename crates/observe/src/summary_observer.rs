// SPDX-License-Identifier: GPL-2.0-or-later
//! The observer behind a summary: hands each event to those that count it.

use crate::cgroups;
use crate::cpus::CpuStats;
use crate::decisions::DecisionStats;
use crate::families::FamilyStats;
use crate::measure::Measures;
use crate::rejected::RejectedChanges;
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, Residency, START};
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::state::group::bandwidth::BandwidthStats;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::OpCounts;

/// Measures a run.
#[derive(Clone, Debug)]
pub struct SummaryObserver {
    /// Tasks.
    pub families: FamilyStats,
    /// CPUs.
    pub cpus: CpuStats,
    /// Reasons.
    pub decisions: DecisionStats,
    /// Measurements in the terms of published work.
    pub measures: Measures,
    /// Changes that were refused.
    pub rejected: RejectedChanges,
    /// What came before that, since it was told to forget.
    pub(crate) baseline: Baseline,
}

/// What a machine itself counts and does not forget, as it was when a recorder forgot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline {
    /// Length of the run until then.
    pub(crate) elapsed: Nanos,
    /// Events.
    pub(crate) events: u64,
    /// Context switches.
    pub(crate) switches: u64,
    /// What became of the quotas of groups, by their places.
    pub(crate) quotas: Vec<BandwidthStats>,
    /// Where tasks had run, by their places.
    pub(crate) residency: Vec<Residency>,
    /// Operations of kernel code.
    pub(crate) work: OpCounts,
}

impl SummaryObserver {
    /// For a machine that has not started.
    pub fn new(machine: &Machine<impl Engine>) -> Self {
        Self {
            families: FamilyStats::new(machine),
            cpus: CpuStats::new(machine),
            decisions: DecisionStats::default(),
            measures: Measures::new(machine),
            rejected: RejectedChanges::default(),
            baseline: Baseline::default(),
        }
    }

    /// Forgets what was measured before a time, to which the machine has been advanced: a warm-up is over. What runs, waits or is under
    /// way goes on, and counts from then. What the machine itself accounts (idle states, frequencies, kernel time) counts from its
    /// last event before.
    pub fn reset(&mut self, machine: &Machine<impl Engine>, at: Nanos) {
        self.families.reset(at);
        self.cpus.reset(machine, at);
        self.decisions = DecisionStats::default();
        self.measures.reset(machine);
        let counters = machine.counters();
        self.baseline = Baseline {
            elapsed: at - START,
            events: counters.events,
            switches: counters.switches,
            quotas: cgroups::counters(machine),
            residency: machine.tasks().iter().map(|task| task.residency.clone()).collect(),
            work: machine.work(),
        };
    }
}

impl Probe for SummaryObserver {
    #[inline]
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.measures.event(event);
        match *event {
            Event::Wakeup { task, is_new, .. } => self.families.on_wakeup(now, task, is_new),
            Event::Switch { cpu, prev, next, prev_state } => {
                self.families.on_switch(now, cpu, prev, next, prev_state);
                self.cpus.on_switch(now, cpu, next);
            }
            Event::Migrate { task, .. } => self.families.on_migrate(task),
            Event::WakeupDecision(decision) => self.decisions.on_selection(decision),
            Event::BalanceDecision(decision) => self.decisions.on_balance(decision),
            Event::KickDecision(decision) => self.decisions.on_kick_decision(decision),
            _ => {}
        }
    }
}

impl<E: Engine> Observer<E> for SummaryObserver {
    fn wants_kernel_paths(&self) -> bool {
        true
    }

    fn wants(&self) -> Interest {
        Interest { events: true, ..Interest::NOTHING }
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        self.measures.machine_event(event);
        self.rejected.machine_event(now, event);
        match *event {
            MachineEvent::Forked { task, id, spec, .. } => self.families.on_fork(task, id, spec),
            MachineEvent::Waking { task, since, .. } => self.families.on_waking(task, since),
            MachineEvent::Kernel { cpu, took, .. } => self.families.on_kernel_busy(cpu, now + took),
            MachineEvent::TimerWoke { task, expired } => self.families.on_timer(now, task, expired),
            _ => {}
        }
    }
}
