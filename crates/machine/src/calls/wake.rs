// SPDX-License-Identifier: GPL-2.0-or-later
//! Wake-ups and blocking.
//!
//! A step that wakes many tasks wakes them one after the other, because each wake-up is a path of the
//! scheduler that takes time. The rest of the step, such as blocking, follows the wake-ups.

use crate::engine::Engine;
use crate::interface::observation::{Activity, KeepingObject, KernelPath, MachineEvent};
use crate::observer::Observer;
use crate::parts::kernel::{KernelWork, WakeSource};
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::KernelOp;

impl<E: Engine> Machine<E> {
    /// Blocks the running task now.
    pub(crate) fn block_now(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) {
        let for_io = core::mem::take(&mut self.tasks[task].waits_for_io);
        self.enter(observer, cpu, KernelPath::Schedule, |sched, ctx| {
            if for_io { sched.handle_block_io(ctx) } else { sched.handle_block(ctx) }
        });
    }

    /// Wakes a task whose awaited event has come. The wake-up is not remembered if the task is awake.
    pub(crate) fn wake(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, target: usize, sync: bool) {
        self.wake_from(observer, cpu, target, sync, WakeSource::Object);
    }

    /// Wakes a task that waits for a futex, and charges the futex's cache lines if the task has waited on another CPU.
    pub(crate) fn wake_by_futex(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, target: usize) {
        let last = self.tasks[target].cpu;
        if let Some(calls) = self.hardware.costs.calls().filter(|_| last != cpu)
            && let Some(waker) = self.running_task(cpu)
        {
            self.tasks[waker].after_call_ps += calls.futex_lines_ps[self.hardware.distance(last, cpu)];
        }
        self.wake(observer, cpu, target, false);
    }

    /// Executes a wake step. A wake-up of an awake target is remembered; a wake-up of a target that was not
    /// forked is lost.
    pub(crate) fn wake_by_step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, target: usize, sync: bool) {
        self.wake_from(observer, cpu, target, sync, WakeSource::Step);
    }

    fn wake_from(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, target: usize, sync: bool, source: WakeSource) {
        if self.interest.events {
            observer
                .machine_event(self.now, &MachineEvent::Waking { task: target, since: self.now, by_interrupt: false });
        }
        if self.has_work(cpu) || self.resume_irqs_off_paths(observer, cpu) {
            self.push_work(cpu, KernelWork::Wake { target, sync, source });
            self.run_pending_wakeups(observer, cpu);
        } else {
            self.wake_now(observer, cpu, target, sync, source);
        }
    }

    /// Executes the wake-ups at the head of a CPU's work queue until the CPU is busy.
    fn run_pending_wakeups(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        while let Some(&KernelWork::Wake { target, sync, source }) = self.cpus[cpu.index()].kernel.first_work()
            && !self.resume_irqs_off_paths(observer, cpu)
        {
            self.cpus[cpu.index()].kernel.pop_work();
            self.wake_now(observer, cpu, target, sync, source);
        }
    }

    /// Wakes a task from a running task.
    pub(crate) fn wake_now(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        target: usize,
        sync: bool,
        source: WakeSource,
    ) {
        let Some(id) = self.tasks[target].id else {
            if self.interest.activities && source == WakeSource::Step {
                self.report_wakeup(observer, cpu, target, false);
            }
            return;
        };
        let is_woken = self.enter(observer, cpu, KernelPath::Select, |sched, ctx| sched.handle_wakeup(ctx, id, sync));
        if self.interest.activities && source == WakeSource::Step {
            self.report_wakeup(observer, cpu, target, is_woken);
        }
        if is_woken {
            // If the task slept until a time, that sleep is over.
            let host = &mut self.tasks[target];
            host.cancel_sleep();
            host.unblock(self.now);
        } else {
            self.tasks[target].handle_already_awake(source != WakeSource::Object);
        }
    }

    /// Reports what becomes of a wake step: the target has it, or keeps it for its next wait, or it is lost, because it
    /// merges with an earlier one or the target does not exist.
    #[cold]
    fn report_wakeup(&self, observer: &mut dyn Observer<E>, cpu: CpuId, target: usize, is_woken: bool) {
        let (host, waker) = (&self.tasks[target], self.running_task(cpu));
        let activity = if is_woken || (host.will_block && !host.is_woken_early) {
            Activity::Hand { task: waker, to: Some(target) }
        } else if host.will_block || host.is_wake_pending || host.is_dead || host.id.is_none() {
            Activity::Hand { task: waker, to: None }
        } else {
            Activity::Put { task: waker, object: KeepingObject::Wakeup(target) }
        };
        self.report_activity(observer, activity);
    }

    /// Reports an activity to observers that want activities.
    #[inline]
    pub(crate) fn report_activity(&self, observer: &mut dyn Observer<E>, activity: Activity) {
        if self.interest.activities {
            observer.machine_event(self.now, &MachineEvent::Activity(activity));
        }
    }

    /// Wakes a task from an interrupt.
    pub(crate) fn wake_by_interrupt(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, target: usize) {
        let id = self.tasks.id(target);
        if self.enter(observer, cpu, KernelPath::Select, |sched, ctx| sched.handle_wakeup_interrupt(ctx, id)) {
            self.tasks[target].unblock(self.now);
        } else {
            self.tasks[target].handle_already_awake(false);
        }
    }

    /// Ends a sleep: an interrupt on the CPU on which the sleep began wakes the task.
    pub(crate) fn end_sleep(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) {
        let host = &mut self.tasks[task];
        host.cancel_sleep();
        // The CPU may have been busy with interrupts off since then, or in an idle state.
        let since = host.sleeps_until.unwrap_or(self.now);
        if self.interest.events {
            observer.machine_event(self.now, &MachineEvent::Waking { task, since, by_interrupt: true });
        }
        self.wake_by_interrupt(observer, cpu, task);
    }

    /// Reports that a softirq is about to wake a task for an event of the time `since`.
    pub(crate) fn emit_waking(&self, observer: &mut dyn Observer<E>, task: usize, since: Nanos) {
        if self.interest.events {
            observer.machine_event(self.now, &MachineEvent::Waking { task, since, by_interrupt: true });
        }
    }

    /// Handles the interrupt by which a governor wakes the thread of a domain (`sugov_irq_work()`). A thread
    /// with a transition in progress checks for a new request afterwards.
    pub(crate) fn wake_governor_thread(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, domain: usize) {
        let Some(task) = self.governor_threads[domain].task else { return };
        if self.governor_threads[domain].khz.is_some() {
            self.tasks[task].is_wake_pending = true;
            self.enter(observer, cpu, KernelPath::Interrupt, |_, ctx| ctx.charge(KernelOp::IpiReceive));
            return;
        }
        let id = self.tasks.id(task);
        let is_woken = self.enter(observer, cpu, KernelPath::Select, |sched, ctx| {
            ctx.charge(KernelOp::IpiReceive);
            sched.handle_wakeup_interrupt(ctx, id)
        });
        if is_woken {
            self.tasks[task].unblock(self.now);
        } else {
            self.tasks[task].handle_already_awake(true);
        }
    }
}
