// SPDX-License-Identifier: GPL-2.0-or-later
//! Wake-ups and forks: which thread causes them, and the sleeps that end by themselves.

use super::{ThreadPhase, WorkloadBuilder};
use crate::import::behaviour::names;
use crate::import::event::{Context, ThreadRef, TraceEvent};
use fairlab_workload::recorded::{RecordedOp, is_governor_thread};

/// Longest time in ns between an idle exit and a wake-up that caused it.
const SOON_NS: u64 = 20_000;

impl WorkloadBuilder<'_> {
    pub(super) fn waking(&mut self, event: &TraceEvent, thread_ref: ThreadRef) {
        let Some(task) = self.threads.find(thread_ref.pid) else { return };
        match self.tasks[task].state {
            ThreadPhase::Blocked { since } => self.wake(event, task, since),
            ThreadPhase::Unknown | ThreadPhase::Dead => self.begin_task(task, event.at, None, thread_ref),
            // The thread was about to block, or does not block; the `sched_wakeup` event decides.
            ThreadPhase::Running { .. } | ThreadPhase::Runnable => {}
        }
    }

    pub(super) fn wakeup(&mut self, event: &TraceEvent, thread_ref: ThreadRef, cpu: u32, is_new: bool) {
        let Some(task) = self.threads.find(thread_ref.pid) else { return };
        match self.tasks[task].state {
            ThreadPhase::Blocked { since } => self.wake(event, task, since),
            ThreadPhase::Unknown | ThreadPhase::Dead if is_new => {
                self.fork_or_start(event, task, event.pid, thread_ref);
            }
            ThreadPhase::Unknown | ThreadPhase::Dead => self.begin_task(task, event.at, Some(cpu), thread_ref),
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

    pub(super) fn is_left_out(&self, task: usize) -> bool {
        names::is_stopper(self.recording.names.get(self.threads.list()[task].comm))
    }

    /// Whether the simulated machine may have its own thread instead, for which no thread may wait.
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

    pub(super) fn fork(&mut self, event: &TraceEvent, parent: i32, child: ThreadRef) {
        let Some(task) = self.threads.find(child.pid) else { return };
        self.fork_or_start(event, task, parent, child);
        // The thread becomes runnable at its first wake-up, which follows.
        self.tasks[task].state = ThreadPhase::Runnable;
    }

    /// Starts a new thread: forked by its parent if that runs, otherwise started at this time.
    fn fork_or_start(&mut self, event: &TraceEvent, task: usize, parent: i32, thread_ref: ThreadRef) {
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
        self.set_prio(task, thread_ref.prio);
    }
}
