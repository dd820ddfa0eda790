// SPDX-License-Identifier: GPL-2.0-or-later
//! The observer behind a summary: hands each event to those that count it.

use crate::cgroups;
use crate::cpus::Cpus;
use crate::decisions::Decisions;
use crate::families::Families;
use crate::measure::Measures;
use crate::refused::Refused;
use fairlab_machine::engine::{Machine, Residency, START};
use fairlab_machine::observer::{MachineEvent, Observer, Wants};
use fairlab_machine::seam::Engine;
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::state::group::bandwidth::BandwidthStats;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::WorkMeter;

/// Measures a run.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// Tasks.
    pub families: Families,
    /// CPUs.
    pub cpus: Cpus,
    /// Reasons.
    pub decisions: Decisions,
    /// Measurements in the terms of published work.
    pub measures: Measures,
    /// Changes that were refused.
    pub refused: Refused,
    /// What came before that, since it was told to forget.
    pub(crate) forgotten: Forgotten,
}

/// What a machine itself counts and does not forget, as it was when a recorder forgot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forgotten {
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
    pub(crate) work: WorkMeter,
}

impl Recorder {
    /// For a machine that has not started.
    pub fn new(machine: &Machine<impl Engine>) -> Self {
        Self {
            families: Families::new(machine),
            cpus: Cpus::new(machine),
            decisions: Decisions::default(),
            measures: Measures::new(machine),
            refused: Refused::default(),
            forgotten: Forgotten::default(),
        }
    }

    /// Forgets what was measured before a time, to which the machine has been advanced: a warm-up is over. What runs, waits or is under
    /// way goes on, and counts from then. What the machine itself accounts (idle states, frequencies, kernel time) counts from its
    /// last event before.
    pub fn forget(&mut self, machine: &Machine<impl Engine>, at: Nanos) {
        self.families.forget(at);
        self.cpus.forget(machine, at);
        self.decisions = Decisions::default();
        self.measures.forget(machine);
        let counters = machine.counters();
        self.forgotten = Forgotten {
            elapsed: at - START,
            events: counters.events,
            switches: counters.switches,
            quotas: cgroups::counters(machine),
            residency: machine.tasks().iter().map(|task| task.residency.clone()).collect(),
            work: machine.work(),
        };
    }
}

impl Probe for Recorder {
    #[inline]
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.measures.event(event);
        match *event {
            Event::Wakeup { task, is_new, .. } => self.families.woke(now, task, is_new),
            Event::Switch { cpu, prev, next, prev_state } => {
                self.families.switched(now, cpu, prev, next, prev_state);
                self.cpus.switched(now, cpu, next);
            }
            Event::Migrate { task, .. } => self.families.migrated(task),
            Event::WakeupDecision(decision) => self.decisions.selected(decision),
            Event::BalanceDecision(decision) => self.decisions.balanced(decision),
            Event::KickDecision(decision) => self.decisions.thought_of_kicking(decision),
            _ => {}
        }
    }
}

impl<E: Engine> Observer<E> for Recorder {
    fn wants_kernel_paths(&self) -> bool {
        true
    }

    fn wants(&self) -> Wants {
        Wants { events: true, ..Wants::NOTHING }
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        self.measures.machine_event(event);
        self.refused.machine_event(now, event);
        match *event {
            MachineEvent::Forked { task, id, spec, .. } => self.families.forked(task, id, spec),
            MachineEvent::Waking { task, since, .. } => self.families.waking(task, since),
            MachineEvent::Kernel { cpu, took, .. } => self.families.busy_until(cpu, now + took),
            MachineEvent::TimerWoke { task, expired } => self.families.reached_timer(now, task, expired),
            _ => {}
        }
    }
}
