// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs that are measured only in a window after a warm-up, in which tasks are created and load averages
//! settle.
//!
//! Benchmarks with published results of 100 s runs spend nearly all of that time in a steady state, so a few
//! milliseconds of it suffice for a measurement.

use crate::definition::ArmDefinition;
use crate::error::StudyError;
use crate::run::setup;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::{Interest, KernelPath, MachineEvent, NoObserver, Observer};
use fairlab_machine::sim::{Machine, START};
use fairlab_measure::latency::Latency;
use fairlab_measure::measure::histogram::PowerHistogram;
use fairlab_measure::measure::search::{SearchCounters, SearchStats, searches_domain};
use fairlab_measure::slot_mut;
use fairlab_run::drive::{drive_on, drive_to};
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::units::Nanos;
use fairlab_workload::workload::Workload;
use std::collections::BTreeMap;

/// Lengths of the warm-up and of the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowSpan {
    pub(crate) warm_up: Nanos,
    pub(crate) window: Nanos,
}

/// Counters and histograms of the measured window.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowCounts {
    pub(crate) window: Nanos,
    /// Number of passes of each mark, by the mark's number.
    pub(crate) marks: BTreeMap<u32, u64>,
    /// Intervals between consecutive marks of a task.
    pub(crate) between_marks: Latency,
    /// Latencies from the time noted for a task to its next mark.
    pub(crate) since_noted: Latency,
    /// Counters of searches for an idle CPU.
    pub(crate) search: SearchCounters,
    /// Number of switches away from a runnable task.
    pub(crate) preemptions: u64,
    /// Number of waits for runqueue locks.
    pub(crate) lock_waits: u64,
    /// Total time of the waits for runqueue locks.
    pub(crate) lock_waiting: Nanos,
    /// Sum of `util_avg` of all CPUs at the end of the window, in percent of 1024 per CPU.
    pub(crate) util_percent: f64,
    /// Times of task placements that searched a domain, in microseconds.
    pub(crate) search_usecs: PowerHistogram,
}

/// Observer that counts during the window.
struct WindowObserver {
    marks: BTreeMap<u32, u64>,
    last_mark: Vec<Option<Nanos>>,
    noted: Vec<Option<Nanos>>,
    between_marks: Latency,
    since_noted: Latency,
    search: SearchStats,
    preemptions: u64,
    /// Index of the first workload task: idle tasks and stoppers have smaller ones.
    first_task: usize,
    /// Whether the last selection on each CPU searched a domain.
    searched: Vec<bool>,
    /// Time that the current selection on each CPU has taken so far.
    selecting: Vec<Nanos>,
    search_usecs: PowerHistogram,
}

impl WindowObserver {
    fn new(machine: &Machine) -> Self {
        let nr_cpus = machine.hardware().nr_cpus();
        let nr_tasks = machine.tasks().len();
        Self {
            marks: BTreeMap::new(),
            last_mark: vec![None; nr_tasks],
            noted: vec![None; nr_tasks],
            between_marks: Latency::default(),
            since_noted: Latency::default(),
            search: SearchStats::new(nr_cpus),
            preemptions: 0,
            first_task: 2 * nr_cpus,
            searched: vec![false; nr_cpus],
            selecting: vec![Nanos::ZERO; nr_cpus],
            search_usecs: PowerHistogram::default(),
        }
    }

    fn on_mark(&mut self, now: Nanos, task: usize, phase: u32) {
        *self.marks.entry(phase).or_default() += 1;
        if let Some(last) = slot_mut(&mut self.last_mark, task).replace(now) {
            self.between_marks.record((now - last).0);
        }
        if let Some(noted) = slot_mut(&mut self.noted, task).take() {
            self.since_noted.record((now - noted).0);
        }
    }
}

impl SchedObserver for WindowObserver {
    #[inline]
    fn event(&mut self, _now: Nanos, event: &Event<'_>) {
        match event {
            Event::WakeupDecision(decision) => {
                self.search.on_selection(decision);
                self.searched[decision.waker.index()] = searches_domain(decision);
            }
            Event::Switch { prev, prev_state, .. } if prev.index() >= self.first_task => {
                self.preemptions += u64::from(*prev_state == PrevState::Runnable);
            }
            _ => {}
        }
    }
}

impl Observer for WindowObserver {
    fn wants(&self) -> Interest {
        Interest::EVENTS
    }

    fn wants_kernel_paths(&self) -> bool {
        true
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        match *event {
            MachineEvent::Mark { task, phase } => self.on_mark(now, task, phase),
            MachineEvent::TimeRecorded { task } => {
                if let Some(noted) = self.noted.get_mut(task) {
                    *noted = Some(now);
                }
            }
            MachineEvent::Kernel { cpu, path: KernelPath::Select, took, waited, ends, .. } => {
                self.selecting[cpu.index()] += took + waited;
                if !ends {
                    return;
                }
                let time = std::mem::take(&mut self.selecting[cpu.index()]);
                if std::mem::take(&mut self.searched[cpu.index()]) {
                    self.search_usecs.record(time.0 / 1000);
                }
            }
            _ => {}
        }
    }
}

/// Observer of the warm-up, which does nothing. It requests kernel paths, because the machine asks only once
/// whether an observer wants them.
struct WarmUpObserver;

impl SchedObserver for WarmUpObserver {}

impl Observer for WarmUpObserver {
    fn wants(&self) -> Interest {
        Interest::NONE
    }

    fn wants_kernel_paths(&self) -> bool {
        true
    }
}

/// Number and total time of the waits for runqueue locks, over all CPUs.
fn lock_waits(machine: &Machine) -> (u64, Nanos) {
    let counters = &machine.counters().per_cpu;
    (counters.iter().map(|cpu| cpu.lock_waits).sum(), Nanos(counters.iter().map(|cpu| cpu.lock_wait_time.0).sum()))
}

/// Runs a workload under an arm for a warm-up and a window, and returns the counts of the window.
///
/// Seed 0 leaves the machine's random streams as they are without a seed.
pub(crate) fn run_window(
    arm: &ArmDefinition,
    hardware: Hardware,
    workload: Workload,
    span: WindowSpan,
    seed: u64,
) -> Result<WindowCounts, StudyError> {
    let mut machine = Machine::new(setup(arm, hardware, workload, span.warm_up + span.window)?)?;
    if seed > 0 {
        machine.seed(seed);
    }
    drive_to(&mut machine, &mut WarmUpObserver, START + span.warm_up)?;
    let (waits, waiting) = lock_waits(&machine);
    let mut listener = WindowObserver::new(&machine);
    drive_on(&mut machine, &mut listener, Nanos(u64::MAX))?;
    machine.finish(&mut NoObserver);
    let (waits_at_end, waiting_at_end) = lock_waits(&machine);
    let nr_cpus = machine.hardware().nr_cpus();
    let util: u64 = (0..nr_cpus).map(|cpu| machine.sched().snapshot(CpuId(cpu as u32)).cfs_avg.util_avg).sum();
    Ok(WindowCounts {
        window: span.window,
        marks: listener.marks,
        between_marks: listener.between_marks,
        since_noted: listener.since_noted,
        search: listener.search.summary().total,
        preemptions: listener.preemptions,
        lock_waits: waits_at_end - waits,
        lock_waiting: waiting_at_end - waiting,
        util_percent: 100.0 * util as f64 / (1024.0 * nr_cpus as f64),
        search_usecs: listener.search_usecs,
    })
}
