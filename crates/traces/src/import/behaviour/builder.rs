// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds a workload from the events of a trace, in one pass.

mod finish;
mod wakeups;

use super::cgroups::Cgroups;
use super::cpu_rates::CpuRates;
use super::gaps::Gaps;
use super::names;
use super::timers::Sleep;
use crate::import::event::{InternedName, Recording, ThreadRef, TraceEvent, TraceEventKind};
use crate::import::threads::TraceThreads;
use fairlab_machine::hardware::Hardware;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use fairlab_workload::recorded::{RecordedOp, RecordedPriority};
use std::collections::BTreeSet;

/// Units of work per nanosecond at full speed.
const FULL_SPEED: u128 = 1 << 20;

#[derive(Clone, Copy, Debug, Default)]
enum ThreadPhase {
    /// No event of the thread was seen yet.
    #[default]
    Unknown,
    Running {
        cpu: u32,
        since: u64,
    },
    Runnable,
    Blocked {
        since: u64,
    },
    Dead,
}

/// Operation of a task, or a sleep whose cause (timer or other) is decided at the end of the trace.
#[derive(Clone, Copy, Debug)]
enum DraftOp {
    Op(RecordedOp),
    Sleep(Sleep),
}

#[derive(Debug, Default)]
struct ImportedThread {
    state: ThreadPhase,
    drafts: Vec<DraftOp>,
    /// Work since the last operation, in units of 2^-20 ns.
    work: u128,
    prio: Option<i32>,
    first: RecordedPriority,
    /// First CPU and start time; `None` as the start time means that another thread forks it.
    cpu: Option<u32>,
    start_at: Option<u64>,
    is_placed: bool,
    /// Task group at the start, and now.
    first_group: Option<usize>,
    group: Option<usize>,
    cpus: BTreeSet<u32>,
}

impl ImportedThread {
    fn push(&mut self, op: RecordedOp) {
        self.flush();
        self.drafts.push(DraftOp::Op(op));
    }

    /// Turns the work since the last operation into a `Run` operation.
    fn flush(&mut self) {
        let work = u64::try_from(std::mem::take(&mut self.work) / FULL_SPEED).unwrap_or(u64::MAX);
        if work > 0 {
            self.drafts.push(DraftOp::Op(RecordedOp::Run(Nanos(work))));
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct ImportedCpu {
    current: Option<usize>,
    /// Whether the current thread, or that none runs, is known.
    is_known: bool,
    last: u64,
    /// Current idle state, and the time of its entry.
    idle: Option<(u32, u64)>,
    /// Last idle state that was left, the time of the exit, and the time spent in the state.
    left: Option<(u32, u64, u64)>,
    has_lost: bool,
}

pub(super) struct WorkloadBuilder<'a> {
    recording: &'a Recording,
    has_machine: bool,
    rates: CpuRates,
    threads: TraceThreads,
    tasks: Vec<ImportedThread>,
    cpus: Vec<ImportedCpu>,
    gaps: Gaps,
    start: u64,
    frequency_steps: Vec<(Nanos, u32, u64)>,
    cgroups: Cgroups,
}

impl<'a> WorkloadBuilder<'a> {
    pub(super) fn new(recording: &'a Recording, machine: Option<&Hardware>) -> Self {
        Self {
            recording,
            has_machine: machine.is_some(),
            rates: CpuRates::new(recording, machine),
            threads: TraceThreads::default(),
            tasks: Vec::new(),
            cpus: vec![ImportedCpu::default(); recording.nr_cpus as usize],
            gaps: Gaps::default(),
            start: recording.span().map_or(0, |(first, _)| first),
            frequency_steps: Vec::new(),
            cgroups: Cgroups::from_recording(recording),
        }
    }

    pub(super) fn event(&mut self, event: &TraceEvent) {
        self.threads.register_threads(event);
        self.tasks.resize_with(self.threads.list().len(), ImportedThread::default);
        match event.kind {
            TraceEventKind::Switch { prev, state, next } => self.switch(event, prev, state, next),
            TraceEventKind::Waking { thread_ref } => self.waking(event, thread_ref),
            TraceEventKind::Wakeup { thread_ref, cpu, is_new } => self.wakeup(event, thread_ref, cpu, is_new),
            TraceEventKind::Fork { parent, child } => self.fork(event, parent, child),
            TraceEventKind::Exec { pid } => {
                if let Some(task) = self.settle_if_current(event.at, event.cpu, pid) {
                    self.tasks[task].push(RecordedOp::Exec);
                }
            }
            TraceEventKind::Frequency { cpu, .. } => {
                self.settle(event.at, cpu);
                if let Some((cpu, part)) = self.rates.change(event) {
                    self.frequency_steps.push((Nanos(event.at - self.start), cpu, part));
                }
            }
            TraceEventKind::Attach { pid, root, path } => self.attach(pid, root, path),
            TraceEventKind::Idle { cpu, state } => self.idle(event.at, cpu, state),
            TraceEventKind::Lost { nr } => self.lost(event, nr),
            TraceEventKind::Migrate { .. } | TraceEventKind::Exit { .. } | TraceEventKind::Rename { .. } => {}
        }
        self.threads.remove_dead(event);
        if let Some(cpu) = self.cpus.get_mut(event.cpu as usize) {
            cpu.last = event.at;
        }
    }

    /// Accounts the work of a CPU's current thread up to now.
    fn settle(&mut self, now: u64, cpu: u32) {
        let Some(Some(current)) = self.cpus.get(cpu as usize).map(|cpu| cpu.current) else { return };
        let task = &mut self.tasks[current];
        let ThreadPhase::Running { cpu: on, since } = &mut task.state else { return };
        if *on != cpu {
            return;
        }
        let time = now.saturating_sub(std::mem::replace(since, now));
        task.work += u128::from(time) * u128::from(self.rates.speed(cpu));
        if self.rates.is_frequency_unknown(cpu) {
            self.gaps.unknown_frequency_ns += time;
        }
    }

    /// Returns the task of `pid` if it runs on this CPU, with its work accounted up to now.
    fn settle_if_current(&mut self, now: u64, cpu: u32, pid: i32) -> Option<usize> {
        let task = self.threads.find(pid)?;
        let is_current = self.cpus.get(cpu as usize).is_some_and(|cpu| cpu.current == Some(task));
        if !is_current || !matches!(self.tasks[task].state, ThreadPhase::Running { .. }) {
            return None;
        }
        self.settle(now, cpu);
        Some(task)
    }

    fn switch(&mut self, event: &TraceEvent, prev: ThreadRef, state: PrevState, next: ThreadRef) {
        let TraceEvent { at, cpu, .. } = *event;
        let host = self.cpus.get(cpu as usize).copied().unwrap_or_default();
        match host.current {
            Some(current) if self.threads.find(prev.pid) != Some(current) => {
                self.switch_out_unseen(cpu, current, host.last);
            }
            _ => self.settle(at, cpu),
        }
        if let Some(task) = self.threads.find(prev.pid) {
            self.switch_out(at, cpu, task, prev, state);
        }
        let current = self.threads.find(next.pid);
        if let Some(task) = current {
            self.switch_in(at, cpu, task, next);
        }
        if let Some(host) = self.cpus.get_mut(cpu as usize) {
            (host.current, host.is_known) = (current, true);
        }
    }

    /// Handles a missing switch. The running thread is assumed to run until the CPU's last event, and to sleep
    /// until its next event.
    fn switch_out_unseen(&mut self, cpu: u32, task: usize, last: u64) {
        self.gaps.unseen_switches += 1;
        self.settle(last, cpu);
        self.tasks[task].flush();
        self.tasks[task].state = ThreadPhase::Blocked { since: last };
        self.cpus[cpu as usize].current = None;
    }

    fn switch_out(&mut self, at: u64, cpu: u32, task: usize, thread_ref: ThreadRef, state: PrevState) {
        let host = self.cpus.get(cpu as usize).copied().unwrap_or_default();
        match self.tasks[task].state {
            ThreadPhase::Running { cpu: on, .. } if on == cpu => {}
            ThreadPhase::Unknown => {
                self.begin_task(task, self.start, Some(cpu), thread_ref);
                // First event of this CPU: the thread has run since the start of the trace.
                if !host.is_known && !host.has_lost {
                    self.tasks[task].state = ThreadPhase::Running { cpu, since: self.start };
                    self.tasks[task].cpus.insert(cpu);
                    if let Some(host) = self.cpus.get_mut(cpu as usize) {
                        host.current = Some(task);
                    }
                    self.settle(at, cpu);
                } else {
                    self.gaps.unknown_runs += 1;
                }
            }
            ThreadPhase::Blocked { since } => {
                self.gaps.unknown_runs += 1;
                self.push_sleep(task, since, at, 0);
            }
            _ => self.gaps.unknown_runs += 1,
        }
        self.set_prio(task, thread_ref.prio);
        let task = &mut self.tasks[task];
        task.state = match state {
            PrevState::Runnable => ThreadPhase::Runnable,
            PrevState::Blocked => {
                task.flush();
                ThreadPhase::Blocked { since: at }
            }
            PrevState::Dead => {
                task.push(RecordedOp::Exit);
                ThreadPhase::Dead
            }
        };
    }

    fn switch_in(&mut self, at: u64, cpu: u32, task: usize, thread_ref: ThreadRef) {
        match self.tasks[task].state {
            ThreadPhase::Runnable => {}
            ThreadPhase::Unknown | ThreadPhase::Dead => {
                self.gaps.unseen_wakeups += 1;
                self.begin_task(task, at, Some(cpu), thread_ref);
            }
            ThreadPhase::Blocked { since } => {
                self.gaps.unseen_wakeups += 1;
                self.push_sleep(task, since, at, 0);
            }
            ThreadPhase::Running { .. } => self.gaps.unknown_runs += 1,
        }
        self.set_prio(task, thread_ref.prio);
        let task = &mut self.tasks[task];
        task.cpu.get_or_insert(cpu);
        task.cpus.insert(cpu);
        task.state = ThreadPhase::Running { cpu, since: at };
    }

    /// Starts a thread that existed before the trace, at its first event.
    fn begin_task(&mut self, task: usize, at: u64, cpu: Option<u32>, thread_ref: ThreadRef) {
        let task = &mut self.tasks[task];
        task.start_at = Some(at - self.start);
        task.is_placed = true;
        task.cpu = cpu;
        task.state = ThreadPhase::Runnable;
        task.prio = thread_ref.prio;
        if !names::is_stopper(self.recording.names.get(thread_ref.comm)) {
            self.gaps.there_before += 1;
        }
        if let Some(priority) = thread_ref.prio.and_then(|prio| priority(&mut self.gaps, prio)) {
            task.first = priority;
        }
    }

    /// Stores the kernel priority of a thread, and adds an operation if it changed.
    fn set_prio(&mut self, task: usize, prio: Option<i32>) {
        let Some(prio) = prio else { return };
        let before = self.tasks[task].prio.replace(prio);
        if before == Some(prio) {
            return;
        }
        let Some(new) = priority(&mut self.gaps, prio) else { return };
        let task = &mut self.tasks[task];
        match before {
            // First known priority, before any operation: the thread starts with it.
            None if task.drafts.is_empty() && task.work == 0 => task.first = new,
            None if task.first == new => {}
            _ => task.push(RecordedOp::Priority(new)),
        }
    }

    fn push_sleep(&mut self, task: usize, since: u64, until: u64, exit_ns: u64) {
        let until = until.saturating_sub(exit_ns).max(since);
        self.gaps.sleeps += 1;
        let sleep = Sleep { from: since - self.start, to: until - self.start };
        self.tasks[task].drafts.push(DraftOp::Sleep(sleep));
    }

    /// Moves a thread to a cgroup: the thread is in that group when it next runs.
    fn attach(&mut self, pid: i32, root: i32, path: InternedName) {
        let Some(task) = self.threads.find(pid).filter(|_| self.cgroups.uses_hierarchy(root)) else {
            self.gaps.attachments_unused += 1;
            return;
        };
        let group = self.cgroups.group(self.recording.names.get(path));
        let task = &mut self.tasks[task];
        self.gaps.attachments += 1;
        task.group = group;
        if matches!(task.state, ThreadPhase::Unknown) {
            task.first_group = group;
        } else {
            task.push(RecordedOp::Group(group));
        }
    }

    fn idle(&mut self, at: u64, cpu: u32, state: Option<u32>) {
        let Some(host) = self.cpus.get_mut(cpu as usize) else { return };
        if let Some(state) = state {
            host.idle = Some((state, at));
        } else if let Some((state, since)) = host.idle.take() {
            host.left = Some((state, at, at - since));
        }
    }

    /// Handles lost events of a CPU: the current thread and its run time since the last event are unknown.
    fn lost(&mut self, event: &TraceEvent, nr: Option<u64>) {
        self.gaps.losses += 1;
        self.gaps.lost_events = self.gaps.lost_events.saturating_add(nr.unwrap_or(0));
        let Some(host) = self.cpus.get_mut(event.cpu as usize) else { return };
        let last = host.last;
        host.has_lost = true;
        if let Some(current) = host.current {
            self.settle(last.max(self.start), event.cpu);
            self.tasks[current].flush();
            // The next event of the thread ends this assumed sleep.
            self.tasks[current].state = ThreadPhase::Blocked { since: last };
            self.cpus[event.cpu as usize].current = None;
        }
    }
}

fn priority(gaps: &mut Gaps, prio: i32) -> Option<RecordedPriority> {
    if prio < 0 {
        gaps.deadline_threads += 1;
        return Some(RecordedPriority { policy: Policy::Fifo(99), nice: 0 });
    }
    RecordedPriority::from_prio(prio)
}
