// SPDX-License-Identifier: GPL-2.0-or-later
//! Observer that collects the data of a run summary, by passing each event to the counters of one subject.

use crate::cgroups;
use crate::cpus::CpuStats;
use crate::families::FamilyStats;
use crate::measure::Measures;
use crate::rejected::RejectedChanges;
use crate::responses::ResponseStats;
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, Residency, START};
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::state::group::bandwidth::BandwidthStats;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::OpCounts;

/// Observer of a whole run; the source of a [`crate::summary::RunSummary`].
#[derive(Clone, Debug)]
pub struct SummaryObserver {
    /// Times, latencies and switches by task family.
    pub families: FamilyStats,
    pub(crate) cpus: CpuStats,
    pub(crate) measures: Measures,
    /// Changes to tasks, groups or CPUs that the scheduler rejected.
    pub rejected: RejectedChanges,
    /// Responses; `None` if the workload defines none.
    pub(crate) responses: Option<Box<ResponseStats>>,
    /// Counters of the machine at the end of the warm-up; zero without one.
    pub(crate) baseline: Baseline,
}

/// Counters that the machine itself keeps and never resets, as they were at the end of the warm-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline {
    pub(crate) elapsed: Nanos,
    pub(crate) events: u64,
    pub(crate) switches: u64,
    /// Bandwidth statistics of the task groups, in the order of the workload.
    pub(crate) quotas: Vec<BandwidthStats>,
    /// Residency of the tasks, by their index in the machine.
    pub(crate) residency: Vec<Residency>,
    pub(crate) work: OpCounts,
}

impl SummaryObserver {
    /// Creates the observer of a machine that has not started.
    pub fn new(machine: &Machine<impl Engine>) -> Self {
        Self {
            families: FamilyStats::new(machine),
            cpus: CpuStats::new(machine),
            measures: Measures::new(machine),
            rejected: RejectedChanges::default(),
            responses: ResponseStats::new(machine),
            baseline: Baseline::default(),
        }
    }

    /// Discards what was measured before `at`, the end of the warm-up. Activities in progress count from `at`.
    pub fn reset(&mut self, machine: &Machine<impl Engine>, at: Nanos) {
        self.families.reset(at);
        self.cpus.reset(machine, at);
        self.measures.reset(machine);
        if let Some(responses) = &mut self.responses {
            responses.reset(at);
        }
        let counters = machine.counters();
        self.baseline = Baseline {
            elapsed: at - START,
            events: counters.events,
            switches: counters.switches,
            quotas: cgroups::counters(machine),
            residency: (0..machine.tasks().len()).map(|task| machine.residency(task, at)).collect(),
            work: machine.total_ops(),
        };
    }
}

impl SchedObserver for SummaryObserver {
    #[inline]
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        match *event {
            Event::Wakeup { task, cpu, is_new, .. } => self.families.on_wakeup(now, task, cpu, is_new),
            Event::Switch { cpu, prev, next, prev_state } => {
                self.families.on_switch(now, cpu, prev, next, prev_state);
                self.cpus.on_switch(now, cpu, next);
                if let Some(responses) = &mut self.responses {
                    responses.on_switch(now, prev, next);
                }
            }
            Event::Migrate { task, .. } => self.families.on_migrate(task),
            Event::Throttling { task, limit } => self.families.on_throttling(now, task, limit),
            _ => self.measures.event(event),
        }
    }
}

impl<E: Engine> Observer<E> for SummaryObserver {
    fn wants_kernel_paths(&self) -> bool {
        true
    }

    fn wants(&self) -> Interest {
        Interest { activities: self.responses.is_some(), ..Interest::EVENTS }
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        match *event {
            MachineEvent::Forked { task, id, spec, .. } => {
                self.families.on_fork(task, id, spec);
                if let Some(responses) = &mut self.responses {
                    responses.machine_event(now, event);
                }
            }
            MachineEvent::Activity(_) => {
                if let Some(responses) = &mut self.responses {
                    responses.machine_event(now, event);
                }
            }
            MachineEvent::Waking { task, since, .. } => self.families.on_waking(task, since),
            MachineEvent::Kernel { cpu, took, .. } => {
                self.measures.machine_event(event);
                self.families.on_kernel_busy(cpu, now + took);
            }
            MachineEvent::Hotplug { .. } | MachineEvent::Cpuset { .. } | MachineEvent::Changed { .. } => {
                self.rejected.machine_event(now, event);
                self.cpus.machine_event(now, event);
            }
            MachineEvent::Moved { task, group } => self.families.on_move(now, task, group),
            MachineEvent::Shares { group, shares } => self.families.on_shares(now, group, shares),
            MachineEvent::Quota { group, quota, period } => self.families.on_quota(now, group, quota, period),
            MachineEvent::LoopBegins { task, .. } => self.families.on_loop(task),
            MachineEvent::TimerWoke { task, expired } => self.families.on_timer(now, task, expired),
            _ => self.cpus.machine_event(now, event),
        }
    }
}
