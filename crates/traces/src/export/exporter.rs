// SPDX-License-Identifier: GPL-2.0-or-later
//! Observer that turns the events of a run into records, for any number of traces.
//!
//! It derives what a kernel trace contains beyond the events themselves: the current task of each CPU, task
//! priorities, run times and runqueue latencies, the number of runnable tasks, and idle exits.

mod counters;
#[cfg(test)]
mod tests;

use super::record::{Counter, EventGroups, Group, Marker, RecordKind, TaskLag, TraceRecord};
use super::sink::{OpenedSink, TraceSink};
use super::thread::{ThreadId, ThreadTable};
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START};
use fairlab_measure::episodes::TaskActivity;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::{Event, RuntimeLimit, SchedObserver};
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_workload::step::LoopPlace;
use std::io;

/// State number of `cpu_idle` on a machine without idle states, as a kernel without cpuidle reports it.
const PLAIN_IDLE_STATE: u32 = 1;
struct ExportedCpu {
    current: ThreadId,
    asleep: Option<IdleKind>,
    counters: [Option<u64>; Counter::ALL.len()],
    nr_running: u64,
    /// Highest frequency in kHz; `None` for a CPU without a frequency domain.
    highest_khz: Option<u64>,
}

/// Kind of idling, which decides when the exit is reported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IdleKind {
    /// Idle state that the first interrupt ends. If no task becomes runnable, the CPU enters a state again.
    InState,
    /// Idling on a machine without idle states, which ends when a task runs.
    Plain,
}

#[derive(Clone, Copy, Default)]
struct ExporterThread {
    activity: TaskActivity,
    /// Length of the episodes that have ended since the thread began to wait.
    waited: Nanos,
    /// Whether the thread counts as one of the runnable tasks of its CPU. Stoppers, which no event wakes, do not.
    is_counted: bool,
    /// CPU to which the thread belongs, also while it sleeps.
    cpu: Option<CpuId>,
    place: Option<LoopPlace>,
    /// Whether the pending wake-up comes from an interrupt (timer or device).
    is_woken_by_interrupt: bool,
}

struct ActiveTrace {
    groups: EventGroups,
    sink: OpenedSink,
}

/// Observer of a run that writes traces of it.
pub struct Exporter {
    threads: ThreadTable,
    cpus: Vec<ExportedCpu>,
    tracks: Vec<ExporterThread>,
    /// Thread of each task, by the machine's task index.
    of_task: Vec<ThreadId>,
    traces: Vec<ActiveTrace>,
    groups: EventGroups,
    /// Frequency changes that the machine description schedules, the next one last.
    frequency_steps: Vec<(Nanos, CpuId, Capacity)>,
    has_markers: bool,
    has_clock_ref: bool,
    only: Option<String>,
}

impl Exporter {
    /// Creates an exporter for a machine whose run has not begun. `main` is the name of the process to which
    /// the workload's tasks belong, if they are its threads.
    pub fn new(machine: &Machine<impl Engine>, main: Option<&str>) -> Self {
        let threads = ThreadTable::new(machine, main);
        let (hardware, nr_threads) = (machine.hardware(), threads.iter().len());
        let cpus = machine.sched().cpu_ids().map(|cpu| {
            let domain = hardware.frequency_domains.iter().find(|domain| domain.contains(cpu));
            ExportedCpu {
                current: ThreadTable::idle(cpu),
                asleep: None,
                counters: Default::default(),
                nr_running: 0,
                highest_khz: domain.map(|domain| domain.highest_khz()),
            }
        });
        let mut frequency_steps = hardware.frequency_steps.clone();
        frequency_steps.sort_by_key(|&(at, ..)| at);
        frequency_steps.reverse();
        Self {
            cpus: cpus.collect(),
            tracks: vec![ExporterThread::default(); nr_threads],
            threads,
            of_task: Vec::new(),
            traces: Vec::new(),
            groups: EventGroups::default(),
            frequency_steps,
            has_markers: main == Some("rt-app"),
            has_clock_ref: false,
            only: None,
        }
    }

    /// Restricts formats that are added later and can do so to one task or family, given by name or pid.
    pub fn emit_only_for(&mut self, task: String) {
        self.only = Some(task);
    }

    pub(super) fn task_filter(&self) -> Option<&str> {
        self.only.as_deref()
    }

    /// Adds a trace. Must be called before the run begins.
    pub fn add(&mut self, groups: EventGroups, sink: Box<dyn TraceSink>) {
        self.add_opened(groups, OpenedSink::Events(sink));
    }

    /// Adds a trace with the given groups of events and those that its format needs.
    pub(super) fn add_opened(&mut self, groups: EventGroups, sink: OpenedSink) {
        let groups = groups.or(sink.as_ref().needs());
        self.groups = self.groups.or(groups);
        self.traces.push(ActiveTrace { groups, sink });
    }

    /// All threads that have existed so far.
    pub fn threads(&self) -> &ThreadTable {
        &self.threads
    }

    /// Writes the state at the start of a run: frequencies, capacities and the start marker of rt-app.
    pub fn begin(&mut self, machine: &Machine<impl Engine>) {
        for cpu in machine.sched().cpu_ids() {
            let frequency = machine.frequency(cpu);
            self.frequency(START, cpu, frequency.part(), frequency.khz());
        }
        if self.has_markers {
            self.marker(START, CpuId(0), Marker::Main { starts: true });
        }
        self.sample(machine);
        self.traces.iter_mut().for_each(|trace| trace.sink.begin(machine.as_built_in()));
    }

    /// Marks the end of the warm-up.
    pub fn reset(&mut self) {
        self.traces.iter_mut().for_each(|trace| trace.sink.as_mut().reset());
    }

    /// Completes all traces.
    ///
    /// # Errors
    /// For the first trace that could not be written: its index in the order in which traces were
    /// added, and the error.
    pub fn finish(&mut self, machine: &Machine<impl Engine>) -> Result<(), (usize, io::Error)> {
        self.sample(machine);
        self.emit_open_waits(machine.now());
        if self.has_markers {
            // rt-app ends its threads when its run time is over.
            for thread in std::mem::take(&mut self.of_task) {
                if let Some(cpu) = self.tracks[thread.index()].cpu {
                    self.end_loops(machine.now(), cpu, thread);
                }
            }
            self.marker(machine.now(), CpuId(0), Marker::Main { starts: false });
        }
        self.emit(machine.now(), CpuId(0), RecordKind::End);
        self.finish_traces(machine.as_built_in())
    }

    fn finish_traces(&mut self, built_in: Option<&Machine>) -> Result<(), (usize, io::Error)> {
        let mut traces = self.traces.iter_mut().enumerate();
        traces.try_for_each(|(index, trace)| trace.sink.finish(built_in, &self.threads).map_err(|error| (index, error)))
    }

    /// Whether a trace could not be written, so that the rest of it is lost.
    pub fn has_failed(&self) -> bool {
        self.traces.iter().any(|trace| trace.sink.as_ref().has_failed())
    }

    #[inline]
    fn emit(&mut self, at: Nanos, cpu: CpuId, what: RecordKind<'_>) {
        self.emit_for(at, cpu, self.cpus[cpu.index()].current, what);
    }

    fn emit_for(&mut self, at: Nanos, cpu: CpuId, current: ThreadId, what: RecordKind<'_>) {
        let group = what.group();
        let record = TraceRecord { at, cpu, current, what };
        for trace in self.traces.iter_mut().filter(|trace| trace.groups.contains(group)) {
            trace.sink.as_mut().record(&self.threads, &record);
        }
    }

    fn marker(&mut self, now: Nanos, cpu: CpuId, marker: Marker) {
        let current = match marker {
            Marker::Main { .. } => ThreadId::MAIN,
            Marker::ClockRef { thread, .. } | Marker::Task { thread, .. } | Marker::Loop { thread, .. } => thread,
        };
        self.emit_for(now, cpu, current, RecordKind::Marker(marker));
    }

    /// Ends the idle state of a CPU that executes kernel code.
    #[inline]
    fn leave_idle_on_activity(&mut self, now: Nanos, cpu: CpuId) {
        if self.cpus[cpu.index()].asleep == Some(IdleKind::InState) {
            self.leave_idle_state(now, cpu);
        }
    }

    fn leave_idle_state(&mut self, now: Nanos, cpu_id: CpuId) {
        if self.cpus[cpu_id.index()].asleep.take().is_some() {
            self.emit(now, cpu_id, RecordKind::Idle { cpu_id, state: None });
        }
    }

    fn on_wakeup(&mut self, now: Nanos, thread: ThreadId, target_cpu: CpuId, is_new: bool, on: CpuId) {
        self.leave_idle_on_activity(now, on);
        let track = &mut self.tracks[thread.index()];
        track.cpu = Some(target_cpu);
        track.activity.wake(now, target_cpu, is_new);
        let was_counted = std::mem::replace(&mut track.is_counted, true);
        self.emit(now, on, RecordKind::Wakeup { thread, target_cpu, is_new });
        if !was_counted {
            self.add_runnable(now, target_cpu, 1);
        }
    }

    fn on_migrate(&mut self, now: Nanos, thread: ThreadId, orig_cpu: CpuId, dest_cpu: CpuId, on: CpuId) {
        self.leave_idle_on_activity(now, on);
        self.emit(now, on, RecordKind::Migrate { thread, orig_cpu, dest_cpu });
        let track = &mut self.tracks[thread.index()];
        track.cpu = Some(dest_cpu);
        track.activity.migrate(dest_cpu);
        if track.is_counted {
            self.add_runnable(now, orig_cpu, -1);
            self.add_runnable(now, dest_cpu, 1);
        }
    }

    fn on_switch(&mut self, now: Nanos, cpu: CpuId, prev: ThreadId, next: ThreadId, prev_state: PrevState) {
        self.leave_idle_state(now, cpu);
        if prev_state == PrevState::Dead {
            self.end_loops(now, cpu, prev);
            self.emit(now, cpu, RecordKind::Exit { thread: prev });
        }
        let before = self.tracks[next.index()].activity.switch_in(now, cpu);
        let waited = std::mem::take(&mut self.tracks[next.index()].waited);
        if let Some(episode) = before.filter(|_| !self.threads.is_idle(next)) {
            self.emit(now, cpu, RecordKind::Wait { thread: next, episode });
            // The kernel does not stop this time while a task is throttled.
            self.emit(now, cpu, RecordKind::StatWait { thread: next, delay: waited + episode.length() });
        }
        self.emit(now, cpu, RecordKind::Switch { prev, prev_state, next });
        self.cpus[cpu.index()].current = next;
        let track = &mut self.tracks[prev.index()];
        track.activity.switch_out(now, cpu, prev_state);
        if prev_state != PrevState::Runnable && std::mem::take(&mut track.is_counted) {
            self.add_runnable(now, cpu, -1);
        }
    }

    fn on_throttling(&mut self, now: Nanos, thread: ThreadId, limit: Option<RuntimeLimit>) {
        let track = &mut self.tracks[thread.index()];
        if let Some(episode) = track.activity.throttle(now, limit) {
            track.waited += episode.length();
            self.emit(now, episode.cpu, RecordKind::Wait { thread, episode });
        }
    }

    /// Emits the waits that have not ended.
    fn emit_open_waits(&mut self, now: Nanos) {
        for index in 0..self.tracks.len() {
            let thread = ThreadId::from_index(index);
            let open = self.tracks[index].activity.episode(now).filter(|_| !self.threads.is_idle(thread));
            if let Some(episode) = open {
                self.emit(now, episode.cpu, RecordKind::Wait { thread, episode });
            }
        }
    }

    /// Writes the markers for the beginning of an rt-app loop, and for the thread's start before its first one.
    fn begin_loop(&mut self, now: Nanos, thread: ThreadId, place: LoopPlace) {
        let track = &mut self.tracks[thread.index()];
        let before = track.place.replace(place);
        let cpu = track.cpu.expect("a thread that runs was woken");
        match before {
            Some(place) => self.marker(now, cpu, Marker::Loop { thread, starts: false, place }),
            None => {
                if !std::mem::replace(&mut self.has_clock_ref, true) {
                    self.marker(now, cpu, Marker::ClockRef { thread, time: now });
                }
                self.marker(now, cpu, Marker::Task { thread, starts: true });
            }
        }
        self.marker(now, cpu, Marker::Loop { thread, starts: true, place });
    }

    fn end_loops(&mut self, now: Nanos, cpu: CpuId, thread: ThreadId) {
        if let Some(place) = self.tracks[thread.index()].place.take() {
            self.marker(now, cpu, Marker::Loop { thread, starts: false, place });
            self.marker(now, cpu, Marker::Task { thread, starts: false });
        }
    }
}

impl SchedObserver for Exporter {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.step_frequencies(now);
        match *event {
            Event::Waking { task, cpu, on } => {
                self.leave_idle_on_activity(now, on);
                let thread = ThreadId::from_task(task);
                let by_interrupt = std::mem::take(&mut self.tracks[thread.index()].is_woken_by_interrupt);
                self.emit(now, on, RecordKind::Waking { thread, target_cpu: cpu, by_interrupt });
            }
            Event::Wakeup { task, cpu, is_new, on } => self.on_wakeup(now, ThreadId::from_task(task), cpu, is_new, on),
            Event::Switch { cpu, prev, next, prev_state } => {
                self.on_switch(now, cpu, ThreadId::from_task(prev), ThreadId::from_task(next), prev_state);
            }
            Event::Migrate { task, from, to, on } => self.on_migrate(now, ThreadId::from_task(task), from, to, on),
            Event::Priority { task, prio, is_inherited, on } => {
                let thread = ThreadId::from_task(task);
                let oldprio = self.threads.set_prio(thread, prio);
                if is_inherited {
                    self.emit(now, on, RecordKind::Setprio { thread, oldprio, newprio: prio });
                }
            }
            Event::Frequency { cpu, capacity, khz } => {
                self.frequency(now, cpu, capacity, (khz > 0).then_some(khz));
            }
            Event::Ipi { cpu, kind, on } => self.emit(now, on, RecordKind::Ipi { target: cpu, kind }),
            Event::WakeupDecision(decision) => {
                let (thread, waker) = (ThreadId::from_task(decision.task), decision.waker);
                self.leave_idle_on_activity(now, waker);
                self.emit(now, waker, RecordKind::Selected { thread, decision });
            }
            Event::BalanceDecision(decision) => self.emit(now, decision.on, RecordKind::BalancedReason(decision)),
            Event::KickDecision(decision) => self.emit(now, decision.cpu, RecordKind::Kicked(decision)),
            Event::Runtime { task, on, runtime } => {
                self.emit(now, on, RecordKind::StatRuntime { thread: ThreadId::from_task(task), runtime });
            }
            Event::PeltEntity { task, cpu, avg, .. } => {
                self.emit(now, cpu, RecordKind::PeltSe { thread: task.map(ThreadId::from_task), of: cpu, avg });
            }
            Event::PeltCfsRq { cpu, is_root, avg } => {
                self.emit(now, cpu, RecordKind::PeltCfs { of: cpu, is_root, avg });
                if is_root && self.groups.contains(Group::Counters) {
                    self.set_counter(now, cpu, Counter::UtilAvg, avg.util_avg);
                }
            }
            Event::Lag { moment, entity, queue } => {
                if let Some(task) = entity.task.filter(|_| self.groups.contains(Group::Lags)) {
                    let lag = TaskLag::new(moment, entity, queue);
                    self.emit(now, entity.cpu, RecordKind::Lag { thread: ThreadId::from_task(task), lag });
                }
            }
            Event::Throttling { task, limit } => self.on_throttling(now, ThreadId::from_task(task), limit),
            Event::GroupThrottling { .. }
            | Event::GroupRefill { .. }
            | Event::DomainStat { .. }
            | Event::Overutilized { .. }
            | Event::BlockedUpdate(_)
            | Event::Eevdf(_)
            | Event::Warning { .. } => {}
        }
    }
}

impl<E: Engine> Observer<E> for Exporter {
    fn wants(&self) -> Interest {
        let accounting = [Group::Stat, Group::Pelt, Group::Counters].iter().any(|&group| self.groups.contains(group));
        let [details, lags] = [Group::Ipi, Group::Lags].map(|group| self.groups.contains(group));
        Interest { events: true, details, accounting, lags, activities: false }
    }

    fn wants_kernel_paths(&self) -> bool {
        true
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        self.step_frequencies(now);
        match *event {
            MachineEvent::Forked { task, id, pid, spec, on } => {
                let (thread, is_started) = self.threads.forked(id, pid, spec);
                self.of_task.resize(task + 1, thread);
                self.of_task[task] = thread;
                self.tracks.push(ExporterThread::default());
                self.leave_idle_on_activity(now, on);
                let parent = if is_started { ThreadId::MAIN } else { self.cpus[on.index()].current };
                self.emit(now, on, RecordKind::Fork { parent, child: thread });
            }
            MachineEvent::Waking { task, by_interrupt, .. } => {
                // A task that has not been forked yet has no thread to wake.
                if let Some(&thread) = self.of_task.get(task) {
                    self.tracks[thread.index()].is_woken_by_interrupt = by_interrupt;
                }
            }
            MachineEvent::TurboFrequency { cpu, khz } => {
                self.emit(now, cpu, RecordKind::Frequency { cpu_id: cpu, khz });
            }
            MachineEvent::IdleEnter { cpu, state } => {
                self.leave_idle_state(now, cpu);
                let asleep = if state.is_some() { IdleKind::InState } else { IdleKind::Plain };
                self.cpus[cpu.index()].asleep = Some(asleep);
                let state = state.map_or(PLAIN_IDLE_STATE, |state| state as u32);
                self.emit(now, cpu, RecordKind::Idle { cpu_id: cpu, state: Some(state) });
            }
            MachineEvent::Kernel { cpu, path, began, took, waited, ends } => {
                self.leave_idle_on_activity(now, cpu);
                self.emit(now, cpu, RecordKind::Path { path, began, took, waited, ends });
            }
            MachineEvent::LoopBegins { task, place } => self.begin_loop(now, self.of_task[task], place),
            _ => {}
        }
    }
}
