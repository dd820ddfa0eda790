// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds a workload from the events of a trace, in one pass.

use super::cgroups::Cgroups;
use super::cpu_rates::CpuRates;
use super::gaps::Gaps;
use super::timers::{self, Sleep};
use super::{ImportedWorkload, names};
use crate::import::event::{Context, InternedName, Recording, ThreadRef, ThreadState, TraceEvent, TraceEventKind};
use crate::import::threads::TraceThreads;
use fairlab_machine::hardware::Hardware;
use fairlab_sched::units::Nanos;
use fairlab_workload::recorded::{RecordedOp, RecordedPriority, RecordedTask, RecordedWorkload, is_governor_thread};
use fairlab_workload::workload::PolicySpec;
use std::collections::BTreeSet;

/// Units of work per nanosecond at full speed.
const FULL_SPEED: u128 = 1 << 20;
/// Time for which threads that run or wait at the end of the trace continue, so that they do not block before
/// it.
const BEHIND_THE_END: Nanos = Nanos(1);

/// State of a thread in the pass over the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadPhase {
    /// No event of the thread was seen yet.
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

/// Thread of the trace that becomes a task.
#[derive(Debug)]
struct ImportedThread {
    state: ThreadPhase,
    drafts: Vec<DraftOp>,
    /// Work since the last operation, in units of 2^-20 ns.
    work: u128,
    prio: Option<i32>,
    /// Priority at the start.
    first: RecordedPriority,
    /// First CPU and start time; `None` as the start time means that another thread forks it.
    cpu: Option<u32>,
    start_at: Option<u64>,
    is_placed: bool,
    /// Task group at the start, and now.
    first_group: Option<usize>,
    group: Option<usize>,
    /// CPUs on which the thread ran.
    cpus: BTreeSet<u32>,
    is_left_out: bool,
}

impl ImportedThread {
    fn new() -> Self {
        Self {
            state: ThreadPhase::Unknown,
            drafts: Vec::new(),
            work: 0,
            prio: None,
            first: RecordedPriority::default(),
            cpu: None,
            start_at: None,
            is_placed: false,
            first_group: None,
            group: None,
            cpus: BTreeSet::new(),
            is_left_out: false,
        }
    }

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

/// State of a CPU in the pass over the trace.
#[derive(Clone, Copy, Debug, Default)]
struct ImportedCpu {
    current: Option<usize>,
    /// Whether the current thread, or that none runs, is known.
    is_known: bool,
    /// Time of the last event.
    last: u64,
    /// Current idle state, and the time of its entry.
    idle: Option<(u32, u64)>,
    /// Last idle state that was left, the time of the exit, and the time spent in the state.
    left: Option<(u32, u64, u64)>,
    has_lost: bool,
}

/// Pass over the events of a trace that builds its workload.
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
        self.tasks.resize_with(self.threads.list().len(), ImportedThread::new);
        match event.kind {
            TraceEventKind::Switch { prev, state, next } => self.switch(event, prev, state, next),
            TraceEventKind::Waking { who } => self.waking(event, who),
            TraceEventKind::Wakeup { who, cpu, is_new } => self.wakeup(event, who, cpu, is_new),
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

    fn switch(&mut self, event: &TraceEvent, prev: ThreadRef, state: ThreadState, next: ThreadRef) {
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
        if let Some(task) = self.threads.find(next.pid) {
            self.switch_in(at, cpu, task, next);
        }
        let current = self.threads.find(next.pid);
        if let Some(host) = self.cpus.get_mut(cpu as usize) {
            (host.current, host.is_known) = (current, true);
        }
    }

    /// Handles a missing switch: another thread leaves the CPU than the one that runs there. The running
    /// thread is assumed to run until the CPU's last event, and to sleep until its next event.
    fn switch_out_unseen(&mut self, cpu: u32, task: usize, last: u64) {
        self.gaps.unseen_switches += 1;
        self.settle(last, cpu);
        self.tasks[task].flush();
        self.tasks[task].state = ThreadPhase::Blocked { since: last };
        self.cpus[cpu as usize].current = None;
    }

    fn switch_out(&mut self, at: u64, cpu: u32, task: usize, who: ThreadRef, state: ThreadState) {
        let host = self.cpus.get(cpu as usize).copied().unwrap_or_default();
        match self.tasks[task].state {
            ThreadPhase::Running { cpu: on, .. } if on == cpu => {}
            ThreadPhase::Unknown => {
                self.begin_task(task, self.start, Some(cpu), who);
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
        self.set_prio(task, who.prio);
        let task = &mut self.tasks[task];
        task.state = match state {
            ThreadState::Runnable => ThreadPhase::Runnable,
            ThreadState::Blocked => {
                task.flush();
                ThreadPhase::Blocked { since: at }
            }
            ThreadState::Dead => {
                task.push(RecordedOp::Exit);
                ThreadPhase::Dead
            }
        };
    }

    fn switch_in(&mut self, at: u64, cpu: u32, task: usize, who: ThreadRef) {
        match self.tasks[task].state {
            ThreadPhase::Runnable => {}
            ThreadPhase::Unknown | ThreadPhase::Dead => {
                self.gaps.unseen_wakeups += 1;
                self.begin_task(task, at, Some(cpu), who);
            }
            ThreadPhase::Blocked { since } => {
                self.gaps.unseen_wakeups += 1;
                self.push_sleep(task, since, at, 0);
            }
            ThreadPhase::Running { .. } => self.gaps.unknown_runs += 1,
        }
        self.set_prio(task, who.prio);
        let task = &mut self.tasks[task];
        task.cpu.get_or_insert(cpu);
        task.cpus.insert(cpu);
        task.state = ThreadPhase::Running { cpu, since: at };
    }

    /// Starts a thread that existed before the trace, at its first event.
    fn begin_task(&mut self, task: usize, at: u64, cpu: Option<u32>, who: ThreadRef) {
        let task = &mut self.tasks[task];
        task.start_at = Some(at - self.start);
        task.is_placed = true;
        task.cpu = cpu;
        task.state = ThreadPhase::Runnable;
        task.prio = who.prio;
        if !names::is_stopper(self.recording.names.get(who.comm)) {
            self.gaps.there_before += 1;
        }
        if let Some(priority) = who.prio.and_then(|prio| priority(&mut self.gaps, prio)) {
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

    fn waking(&mut self, event: &TraceEvent, who: ThreadRef) {
        let Some(task) = self.threads.find(who.pid) else { return };
        match self.tasks[task].state {
            ThreadPhase::Blocked { since } => self.wake(event, task, since),
            ThreadPhase::Unknown | ThreadPhase::Dead => self.begin_task(task, event.at, None, who),
            // The thread was about to block, or does not block; the `sched_wakeup` event decides.
            ThreadPhase::Running { .. } | ThreadPhase::Runnable => {}
        }
    }

    fn wakeup(&mut self, event: &TraceEvent, who: ThreadRef, cpu: u32, is_new: bool) {
        let Some(task) = self.threads.find(who.pid) else { return };
        match self.tasks[task].state {
            ThreadPhase::Blocked { since } => self.wake(event, task, since),
            ThreadPhase::Unknown | ThreadPhase::Dead if is_new => self.fork_or_start(event, task, event.pid, who),
            ThreadPhase::Unknown | ThreadPhase::Dead => self.begin_task(task, event.at, Some(cpu), who),
            ThreadPhase::Running { .. } | ThreadPhase::Runnable => {}
        }
        if let ThreadPhase::Runnable = self.tasks[task].state {
            self.tasks[task].cpu.get_or_insert(cpu);
        }
    }

    /// Wakes a blocked thread: by the running thread, or, in interrupt context, by the end of a sleep.
    fn wake(&mut self, event: &TraceEvent, task: usize, since: u64) {
        let by_thread = match event.context {
            Context::Thread | Context::Unknown => self
                .settle_if_current(event.at, event.cpu, event.pid)
                .filter(|&waker| waker != task && !self.is_optional(waker)),
            Context::Interrupt | Context::Softirq => None,
        };
        if event.context == Context::Unknown && by_thread.is_some() {
            self.gaps.wakeups_without_context += 1;
        }
        if event.context == Context::Softirq {
            self.gaps.softirq_wakeups += 1;
        }
        match by_thread {
            Some(waker) => {
                self.gaps.edges += 1;
                self.tasks[waker].push(RecordedOp::Wake(task));
                self.tasks[task].push(RecordedOp::Wait);
            }
            None => {
                let exit = self.exit_ns(event);
                self.push_sleep(task, since, event.at, exit);
            }
        }
        self.tasks[task].state = ThreadPhase::Runnable;
    }

    fn is_left_out(&self, task: usize) -> bool {
        names::is_stopper(self.recording.names.get(self.threads.list()[task].comm))
    }

    /// Whether the simulated machine may have its own thread instead, so that no other thread may wait for
    /// this one.
    fn is_optional(&self, task: usize) -> bool {
        self.is_left_out(task) || is_governor_thread(self.recording.names.get(self.threads.list()[task].comm))
    }

    /// Time in ns that the CPU of a wake-up took to leave its idle state.
    fn exit_ns(&self, event: &TraceEvent) -> u64 {
        let host = self.cpus.get(event.cpu as usize).copied().unwrap_or_default();
        if host.current.is_some() {
            return 0;
        }
        match (host.left, host.idle) {
            // Only the interrupt lies between the idle exit and the wake-up.
            (Some((state, at, time)), None) if event.at - at <= SOON_NS => {
                self.rates.exit_ns(event.cpu, state).min(time)
            }
            // The wake-up is recorded before the idle exit.
            (_, Some((state, since))) => self.rates.exit_ns(event.cpu, state).min(event.at - since),
            _ => 0,
        }
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
        match state {
            Some(state) => host.idle = Some((state, at)),
            None => {
                if let Some((state, since)) = host.idle.take() {
                    host.left = Some((state, at, at - since));
                }
            }
        }
    }

    fn fork(&mut self, event: &TraceEvent, parent: i32, child: ThreadRef) {
        let Some(task) = self.threads.find(child.pid) else { return };
        self.fork_or_start(event, task, parent, child);
        // The thread becomes runnable at its first wake-up, which follows.
        self.tasks[task].state = ThreadPhase::Runnable;
    }

    /// Starts a new thread: forked by its parent if that runs, otherwise started at this time.
    fn fork_or_start(&mut self, event: &TraceEvent, task: usize, parent: i32, who: ThreadRef) {
        let parent = self
            .settle_if_current(event.at, event.cpu, parent)
            .filter(|&parent| parent != task && !self.is_left_out(parent));
        match parent {
            Some(parent) => {
                self.tasks[parent].push(RecordedOp::Fork(task));
                let group = self.tasks[parent].group;
                (self.tasks[task].first_group, self.tasks[task].group) = (group, group);
            }
            None => self.tasks[task].start_at = Some(event.at - self.start),
        }
        let child = &mut self.tasks[task];
        child.cpu = Some(event.cpu);
        child.state = ThreadPhase::Runnable;
        self.set_prio(task, who.prio);
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

    pub(super) fn finish(mut self) -> ImportedWorkload {
        let (start, end) = self.recording.span().unwrap_or_default();
        for cpu in 0..self.recording.nr_cpus {
            self.settle(end, cpu);
        }
        for task in &mut self.tasks {
            let has_more = matches!(task.state, ThreadPhase::Running { .. } | ThreadPhase::Runnable);
            self.gaps.cut_at_the_end += u64::from(has_more);
            if has_more {
                task.work += u128::from(BEHIND_THE_END.0) * FULL_SPEED;
                task.flush();
            }
        }
        let (tasks, task_of) = self.take_tasks();
        let mut recorded = RecordedWorkload {
            nr_cpus: self.recording.nr_cpus.max(1),
            capacities: self.rates.capacities(),
            frequency_steps: std::mem::take(&mut self.frequency_steps),
            end: Nanos(end - start),
            tasks,
            groups: self.cgroups.into_paths(),
            notes: Vec::new(),
        };
        if recorded.capacities.iter().all(|&capacity| capacity == 1024) {
            recorded.capacities.clear();
        }
        recorded.notes = self.gaps.notes(self.recording, self.has_machine);
        ImportedWorkload { recorded, task_of, gaps: self.gaps }
    }

    /// Returns the tasks in the order of their threads, without omitted threads, and the task of each thread.
    fn take_tasks(&mut self) -> (Vec<RecordedTask>, Vec<Option<usize>>) {
        let mut task_of = Vec::new();
        let mut nr = 0;
        for thread in 0..self.tasks.len() {
            let task = &self.tasks[thread];
            let is_stopper = self.is_left_out(thread);
            self.gaps.stoppers += u64::from(is_stopper);
            let never_began = task.cpu.is_none();
            self.tasks[thread].is_left_out = is_stopper || never_began;
            task_of.push((!self.tasks[thread].is_left_out).then_some(nr));
            nr += usize::from(!self.tasks[thread].is_left_out);
        }
        let mut taken = BTreeSet::new();
        let mut all = Vec::new();
        for (place, task) in std::mem::take(&mut self.tasks).into_iter().enumerate() {
            if task.is_left_out {
                continue;
            }
            let thread = self.threads.list()[place];
            let comm = self.recording.names.get(thread.comm);
            let word = names::word(comm, thread.pid);
            let cpu = task.cpu.unwrap_or(0).min(self.recording.nr_cpus.saturating_sub(1));
            let own = names::cpu_of(comm)
                .filter(|&own| task.cpus.iter().all(|&cpu| cpu == own) && own < self.recording.nr_cpus);
            self.gaps.per_cpu_threads += u64::from(own.is_some());
            let ops = self.ops_of(&task, &task_of);
            all.push(RecordedTask {
                name: names::unique(&word, thread.pid, &mut taken),
                family: word,
                cpu: own.unwrap_or(cpu),
                start_at: task.start_at.map(Nanos),
                is_placed: task.is_placed,
                priority: task.first,
                mask: own.map(|cpu| (cpu, cpu)),
                group: task.first_group,
                ops,
            });
        }
        (all, task_of)
    }

    fn ops_of(&mut self, task: &ImportedThread, task_of: &[Option<usize>]) -> Vec<RecordedOp> {
        let sleeps: Vec<Sleep> = task
            .drafts
            .iter()
            .filter_map(|draft| if let DraftOp::Sleep(sleep) = draft { Some(*sleep) } else { None })
            .collect();
        let has_timer = timers::period_of(&sleeps).is_some();
        let ops = task.drafts.iter().filter_map(|draft| {
            Some(match *draft {
                DraftOp::Sleep(sleep) if has_timer => {
                    self.gaps.timer_sleeps += 1;
                    RecordedOp::Until(Nanos(sleep.to))
                }
                DraftOp::Sleep(sleep) => RecordedOp::Sleep(Nanos(sleep.to - sleep.from)),
                DraftOp::Op(RecordedOp::Wake(thread)) => RecordedOp::Wake(task_of[thread]?),
                DraftOp::Op(RecordedOp::Fork(thread)) => RecordedOp::Fork(task_of[thread]?),
                DraftOp::Op(op) => op,
            })
        });
        ops.collect()
    }
}

/// Longest time in ns between an idle exit and a wake-up that caused it.
const SOON_NS: u64 = 20_000;

/// Returns the policy and nice value of a kernel priority.
fn priority(gaps: &mut Gaps, prio: i32) -> Option<RecordedPriority> {
    if prio < 0 {
        gaps.deadline_threads += 1;
        return Some(RecordedPriority { policy: PolicySpec::Fifo(99), nice: 0 });
    }
    RecordedPriority::from_prio(prio)
}
