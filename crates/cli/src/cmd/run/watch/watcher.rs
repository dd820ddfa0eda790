// SPDX-License-Identifier: GPL-2.0-or-later
//! Observer of a watched run: decisions, and the idle states of CPUs.
//!
//! It keeps the last decisions, counts, and the data for explanations ([`History`]), so its memory does not
//! grow with the run.

use fairlab_explain::{History, Question};
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::Machine;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::wakeup::WakeupDecision;
use fairlab_sched::probe::{BalanceDecision, Event, KickDecision, SchedObserver};
use fairlab_sched::units::Nanos;
use std::collections::VecDeque;

/// Largest number of decisions that are kept.
const MAX_DECISIONS: usize = 32;

/// Kind of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecisionKind {
    /// CPU selection for a task.
    Wakeup,
    /// Pass of load balancing.
    Balance,
    /// Kick of a CPU to balance for tickless CPUs.
    Kick,
}
#[derive(Clone, Copy, Debug)]
pub(super) enum RecordedDecision {
    Wakeup(WakeupDecision),
    Balance(BalanceDecision),
    Kick(KickDecision),
}

/// Observer of a watched run.
pub(crate) struct Watcher {
    history: History,
    decisions: VecDeque<(Nanos, RecordedDecision)>,
    /// Number of decisions of each kind.
    seen: [u64; 3],
    /// Index of each CPU's idle state in its list of states; 0 for a CPU without a list.
    asleep: Vec<Option<usize>>,
    /// Index of each task in the machine, by its id in the scheduler.
    host_of: Vec<Option<usize>>,
}

impl Watcher {
    /// Creates the observer of a run that has not begun.
    pub(crate) fn new(machine: &Machine) -> Self {
        Self {
            history: History::new(machine),
            decisions: VecDeque::with_capacity(MAX_DECISIONS),
            seen: [0; 3],
            asleep: vec![None; machine.sched().nr_cpus()],
            host_of: Vec::new(),
        }
    }

    /// Returns the data for explanations.
    pub(super) const fn history(&self) -> &History {
        &self.history
    }

    /// Returns the last decisions, newest first.
    pub(super) fn decisions(&self) -> impl Iterator<Item = &(Nanos, RecordedDecision)> {
        self.decisions.iter().rev()
    }

    /// Returns the number of decisions, of one kind or of all.
    pub(super) fn nr_seen(&self, kind: Option<DecisionKind>) -> u64 {
        kind.map_or_else(|| self.seen.iter().sum(), |kind| self.seen[kind as usize])
    }

    /// Returns the index of a CPU's idle state.
    pub(super) fn idle_state(&self, cpu: CpuId) -> Option<usize> {
        self.asleep[cpu.index()]
    }

    /// Returns the index of a task in the machine.
    pub(super) fn sim_index(&self, task: TaskId) -> Option<usize> {
        self.host_of.get(task.index()).copied().flatten()
    }

    /// Returns the question about the last decision, for `fairlab explain`.
    pub(super) fn question(&self) -> Option<Question> {
        Some(match self.decisions.back()?.1 {
            RecordedDecision::Wakeup(decision) => Question::Task(self.pid_of(decision.task)?.to_string()),
            RecordedDecision::Balance(decision) => Question::Balance(decision.dst_cpu.0),
            RecordedDecision::Kick(decision) => Question::Cpu(decision.target.unwrap_or(decision.cpu).0),
        })
    }

    fn pid_of(&self, task: TaskId) -> Option<i32> {
        self.sim_index(task).map(|place| fairlab_workload::scenario::FIRST_PID as i32 + place as i32)
    }

    fn record_decision(&mut self, now: Nanos, kind: DecisionKind, decision: RecordedDecision) {
        self.seen[kind as usize] += 1;
        if self.decisions.len() == MAX_DECISIONS {
            self.decisions.pop_front();
        }
        self.decisions.push_back((now, decision));
    }
}

impl SchedObserver for Watcher {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.history.event(now, event);
        match *event {
            Event::Switch { cpu, .. } => self.asleep[cpu.index()] = None,
            Event::WakeupDecision(decision) => {
                self.record_decision(now, DecisionKind::Wakeup, RecordedDecision::Wakeup(*decision));
            }
            Event::BalanceDecision(decision) => {
                self.record_decision(now, DecisionKind::Balance, RecordedDecision::Balance(*decision));
            }
            // Most ticks only check whether a kick is needed; these are skipped.
            Event::KickDecision(decision) if decision.flags != 0 => {
                self.record_decision(now, DecisionKind::Kick, RecordedDecision::Kick(*decision));
            }
            _ => {}
        }
    }
}

impl Observer for Watcher {
    fn wants(&self) -> Interest {
        self.history.wants()
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        <History as Observer>::machine_event(&mut self.history, now, event);
        match *event {
            MachineEvent::IdleEnter { cpu, state } => self.asleep[cpu.index()] = Some(state.unwrap_or(0)),
            MachineEvent::Forked { task, id, .. } => {
                self.host_of.resize(self.host_of.len().max(id.index() + 1), None);
                self.host_of[id.index()] = Some(task);
            }
            _ => {}
        }
    }
}
