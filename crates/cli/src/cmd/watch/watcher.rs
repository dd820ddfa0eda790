// SPDX-License-Identifier: GPL-2.0-or-later
//! What has to be listened to while a run is watched: decisions, and in which idle states CPUs are.
//!
//! It holds the last decisions and counts, and what explanations need ([`History`]); so its memory does not grow with the run.

use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::Machine;
use fairlab_observe::explain::{History, Question};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::wakeup::WakeupDecision;
use fairlab_sched::probe::{BalanceDecision, Event, KickDecision, Probe};
use fairlab_sched::units::Nanos;
use std::collections::VecDeque;

/// So many decisions are kept.
const KEPT: usize = 32;

/// A kind of decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecisionKind {
    /// A CPU was selected for a task.
    Wakeup,
    /// A pass of load balancing.
    Balance,
    /// Somebody was asked to balance for tickless CPUs.
    Kick,
}

/// A decision.
#[derive(Clone, Copy, Debug)]
pub(super) enum ShownDecision {
    Wakeup(WakeupDecision),
    Balance(BalanceDecision),
    Kick(KickDecision),
}

/// Listens.
pub(crate) struct Watcher {
    history: History,
    decisions: VecDeque<(Nanos, ShownDecision)>,
    /// How many decisions of each kind there were.
    seen: [u64; 3],
    /// The idle state of each CPU, by its place among the CPU's; 0 where there are none.
    asleep: Vec<Option<usize>>,
    /// Places of tasks among the machine's, by their names in the scheduler.
    host_of: Vec<Option<usize>>,
}

impl Watcher {
    /// What it listens to.
    pub(crate) const WANTS: Interest = Interest { events: true, details: false, pelt: false };

    /// Of a machine whose run has not begun.
    pub(crate) fn new(machine: &Machine) -> Self {
        Self {
            history: History::new(machine),
            decisions: VecDeque::with_capacity(KEPT),
            seen: [0; 3],
            asleep: vec![None; machine.sched().nr_cpus()],
            host_of: Vec::new(),
        }
    }

    /// What explanations need.
    pub(super) const fn history(&self) -> &History {
        &self.history
    }

    /// The last decisions, the newest first.
    pub(super) fn decisions(&self) -> impl Iterator<Item = &(Nanos, ShownDecision)> {
        self.decisions.iter().rev()
    }

    /// How many decisions there were, of a kind or of all.
    pub(super) fn seen(&self, kind: Option<DecisionKind>) -> u64 {
        kind.map_or_else(|| self.seen.iter().sum(), |kind| self.seen[kind as usize])
    }

    /// The idle state of a CPU.
    pub(super) fn asleep(&self, cpu: CpuId) -> Option<usize> {
        self.asleep[cpu.index()]
    }

    /// A task's place among the machine's.
    pub(super) fn host_of(&self, task: TaskId) -> Option<usize> {
        self.host_of.get(task.index()).copied().flatten()
    }

    /// The question that `fairlab explain` answers about the last decision.
    pub(super) fn question(&self) -> Option<Question> {
        Some(match self.decisions.back()?.1 {
            ShownDecision::Wakeup(decision) => Question::Task(self.pid_of(decision.task)?.to_string()),
            ShownDecision::Balance(decision) => Question::Balance(decision.dst_cpu.0),
            ShownDecision::Kick(decision) => Question::Cpu(decision.target.unwrap_or(decision.cpu).0),
        })
    }

    fn pid_of(&self, task: TaskId) -> Option<i32> {
        self.host_of(task).map(|place| fairlab_workload::scenario::FIRST_PID as i32 + place as i32)
    }

    fn decided(&mut self, now: Nanos, kind: DecisionKind, decision: ShownDecision) {
        self.seen[kind as usize] += 1;
        if self.decisions.len() == KEPT {
            self.decisions.pop_front();
        }
        self.decisions.push_back((now, decision));
    }
}

impl Probe for Watcher {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.history.event(now, event);
        match *event {
            Event::Switch { cpu, .. } => self.asleep[cpu.index()] = None,
            Event::WakeupDecision(decision) => {
                self.decided(now, DecisionKind::Wakeup, ShownDecision::Wakeup(*decision))
            }
            Event::BalanceDecision(decision) => {
                self.decided(now, DecisionKind::Balance, ShownDecision::Balance(*decision))
            }
            // Most ticks only look whether there is something to do.
            Event::KickDecision(decision) if decision.flags != 0 => {
                self.decided(now, DecisionKind::Kick, ShownDecision::Kick(*decision));
            }
            _ => {}
        }
    }
}

impl Observer for Watcher {
    fn wants(&self) -> Interest {
        Self::WANTS
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
