// SPDX-License-Identifier: GPL-2.0-or-later
//! Waking tasks.
//!
//! Models `try_to_wake_up()`, `ttwu_queue()`, `ttwu_do_activate()`, `sched_ttwu_pending()` and `ttwu_stat()` (6.1). Where a
//! task is to run is decided by its class; for the fair class in the modules below, from [`select`] downwards.

use crate::classes::fair::enqueue::EnqueueFlags;
use crate::state::calls::CallFunction;
use crate::state::sched::Sched;
use crate::state::task::{OnRq, SchedClass, TaskState};
use crate::told::ctx::Ctx;
use crate::told::probe::Event;
use crate::told::wakeup::{WakeFlags, WakeRule, WakeupDecision};
use crate::words::features::Feature;
use crate::words::ids::{CpuId, TaskId};
use crate::words::work::Op;

/// A wake-up between the choice of a CPU and the enqueueing there.
#[must_use = "a task that is being woken has to be enqueued"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingWakeup {
    pub(crate) task: TaskId,
    pub(crate) cpu: CpuId,
    /// It comes from another CPU: WF_MIGRATED.
    pub(crate) migrated: bool,
    /// It is a new task: it was forked, not woken.
    pub(crate) is_new: bool,
    /// A search for its CPU is under way: the CPU is not known yet.
    pub(crate) is_searching: bool,
}

impl PendingWakeup {
    pub(crate) const fn of_new_task(task: TaskId, cpu: CpuId) -> Self {
        Self { task, cpu, migrated: false, is_new: true, is_searching: false }
    }

    /// The task.
    pub const fn task(&self) -> TaskId {
        self.task
    }

    /// The CPU that was selected.
    pub const fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Whether no CPU is selected yet: [`Sched::search_on`] has to be called on the waker's CPU until there is.
    pub const fn is_searching(&self) -> bool {
        self.is_searching
    }
}

impl Sched {
    /// Wakes a task from the CPU that executes this; `sync` says that the waker is about to sleep. Returns whether the
    /// task slept.
    pub fn handle_wakeup(&mut self, ctx: &mut Ctx<'_>, task: TaskId, sync: bool) -> bool {
        self.try_to_wake_up(ctx, task, WakeFlags { ttwu: true, sync, ..WakeFlags::default() })
    }

    /// An interrupt that wakes a task: a sleep is over, or something has arrived.
    pub fn handle_wakeup_interrupt(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        ctx.charge(Op::IpiReceive);
        let slept =
            self.try_to_wake_up(ctx, task, WakeFlags { ttwu: true, in_interrupt: true, ..WakeFlags::default() });
        self.run_softirqs(ctx);
        slept
    }

    /// An interrupt that has woken a task in two phases ends: softirqs that are pending run.
    pub fn handle_interrupt_end(&mut self, ctx: &mut Ctx<'_>) {
        self.run_softirqs(ctx);
    }

    pub(crate) fn wake_up_process(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        self.handle_wakeup(ctx, task, false)
    }

    fn try_to_wake_up(&mut self, ctx: &mut Ctx<'_>, task: TaskId, flags: WakeFlags) -> bool {
        let pending = self.without_pauses(|sched| sched.select_for_wakeup(ctx, task, flags));
        let Some(pending) = pending else { return false };
        self.finish_wakeup(ctx, pending);
        true
    }

    /// The first phase of a wake-up: a CPU is selected. `None` if the task does not sleep.
    ///
    /// Until [`Sched::finish_wakeup`] other CPUs do not see where the task will be.
    pub fn begin_wakeup(&mut self, ctx: &mut Ctx<'_>, task: TaskId, sync: bool) -> Option<PendingWakeup> {
        self.select_for_wakeup(ctx, task, WakeFlags { ttwu: true, sync, ..WakeFlags::default() })
    }

    /// The same from an interrupt; [`Sched::finish_wakeup`] has to be called before the interrupt ends, and then
    /// [`Sched::handle_interrupt_end`].
    pub fn begin_wakeup_interrupt(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> Option<PendingWakeup> {
        self.select_for_wakeup(ctx, task, WakeFlags { ttwu: true, in_interrupt: true, ..WakeFlags::default() })
    }

    fn select_for_wakeup(&mut self, ctx: &mut Ctx<'_>, task: TaskId, flags: WakeFlags) -> Option<PendingWakeup> {
        ctx.charge(Op::Wakeup);
        let p = &self.tasks[task.index()];
        if p.state != TaskState::Interruptible {
            return None;
        }
        debug_assert!(p.on_rq == OnRq::No, "a sleeping task is on no runqueue: {p:?}");
        let (prev_cpu, own_cpu, is_on_cpu) = (p.wake_cpu, p.cpu, p.on_cpu);
        self.tasks[task.index()].state = TaskState::Waking;
        if is_on_cpu {
            // Its CPU has not switched away from it yet: nothing is selected, that CPU enqueues it when it has.
            self.tasks[task.index()].in_wakeup = true;
            return Some(PendingWakeup { task, cpu: own_cpu, migrated: false, is_new: false, is_searching: false });
        }
        let cpu = self.select_task_rq(ctx, task, prev_cpu, flags);
        self.tasks[task.index()].in_wakeup = true;
        if self.is_searching(ctx.cpu) {
            return Some(PendingWakeup { task, cpu: prev_cpu, migrated: false, is_new: false, is_searching: true });
        }
        Some(self.pending_wakeup(task, cpu))
    }

    /// A wake-up whose CPU is known.
    pub(crate) fn pending_wakeup(&self, task: TaskId, cpu: CpuId) -> PendingWakeup {
        let migrated = self.tasks[task.index()].cpu != cpu;
        PendingWakeup { task, cpu, migrated, is_new: false, is_searching: false }
    }

    /// The second phase of a wake-up: the task is enqueued on its CPU, or queued for being enqueued there.
    pub fn finish_wakeup(&mut self, ctx: &mut Ctx<'_>, pending: PendingWakeup) {
        let PendingWakeup { task, cpu, migrated, is_new, .. } = pending;
        self.tasks[task.index()].in_wakeup = false;
        if is_new {
            return self.enqueue_new_task(ctx, task, cpu);
        }
        if migrated {
            self.set_task_cpu(ctx, task, cpu);
        }
        if self.is_wakeup_queued(ctx.cpu, &pending) {
            self.tasks[task.index()].remote_wakeup = migrated;
            self.rqs[cpu.index()].ttwu_pending = true;
            ctx.work.touch_write(cpu);
            self.queue_call(ctx, cpu, CallFunction::Wake(task));
        } else {
            self.release_rq_locks();
            self.update_rq_clock(ctx, cpu);
            self.ttwu_do_activate(ctx, cpu, task, migrated);
        }
        self.ttwu_stat(ctx, self.tasks[task.index()].cpu);
    }

    /// The runqueue whose lock [`Sched::finish_wakeup`] will take if it is called now on a CPU; none if the wake-up is left to the
    /// task's CPU.
    pub fn wakeup_lock(&self, on: CpuId, pending: &PendingWakeup) -> Option<CpuId> {
        (pending.is_new || !self.is_wakeup_queued(on, pending)).then_some(pending.cpu)
    }

    /// Whether a wake-up is left to the task's CPU: `ttwu_queue_cond()`.
    ///
    /// Rules: always to a CPU that has not switched away from the task yet. With TTWU_QUEUE, always to one that shares no
    /// cache with this one; within the cache only to one without work (with the tunable `wakelist_far`, as before 6.0, to
    /// none), and never to this one.
    //
    // DIFFERS: the kernel spins until a CPU has switched away from the task that is woken, if that CPU has got other work
    // meanwhile or TTWU_QUEUE is off.
    fn is_wakeup_queued(&self, this_cpu: CpuId, pending: &PendingWakeup) -> bool {
        let &PendingWakeup { task, cpu, .. } = pending;
        if self.tasks[task.index()].on_cpu {
            return true;
        }
        let may_wait = self.features.has(Feature::TtwuQueue) && self.hotplug.active.contains(cpu);
        if !may_wait || !self.tasks[task.index()].cpus_allowed.contains(cpu) {
            return false;
        }
        if !self.domains.cpus_share_cache(this_cpu, cpu) {
            return true;
        }
        cpu != this_cpu && self.rqs[cpu.index()].nr_running == 0 && !self.tunables.changes.wakelist_far
    }

    /// Activates the tasks whose wake-ups other CPUs have queued here: `sched_ttwu_pending()`.
    pub(crate) fn activate_queued_wakeups(&mut self, ctx: &mut Ctx<'_>) {
        let cpu = ctx.cpu;
        if self.rqs[cpu.index()].call_queue.is_empty() {
            return;
        }
        self.rqs[cpu.index()].ttwu_pending = false;
        self.release_rq_locks();
        self.update_rq_clock(ctx, cpu);
        while let Some(CallFunction::Wake(task)) = self.rqs[cpu.index()].call_queue.pop_front() {
            let migrated = self.tasks[task.index()].remote_wakeup;
            self.ttwu_do_activate(ctx, cpu, task, migrated);
        }
    }

    fn ttwu_do_activate(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, migrated: bool) {
        let flags = EnqueueFlags { wakeup: true, migrated, ..EnqueueFlags::default() };
        self.activate_task(ctx, cpu, task, flags);
        self.check_preempt_curr(ctx, cpu, task, false);
        self.tasks[task.index()].state = TaskState::Running;
        ctx.report(Event::Wakeup { task, cpu, is_new: false, on: ctx.cpu });
        self.task_woken(ctx, cpu, task);
        self.end_idle_period(cpu);
    }

    /// Wakes a task that was about to sleep and is still on its runqueue: nothing is selected or enqueued.
    pub(crate) fn ttwu_runnable(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        ctx.charge(Op::Wakeup);
        let cpu = self.tasks[task.index()].cpu;
        self.release_rq_locks();
        self.update_rq_clock(ctx, cpu);
        self.check_preempt_curr(ctx, cpu, task, false);
        ctx.report(Event::Wakeup { task, cpu, is_new: false, on: ctx.cpu });
        self.task_woken(ctx, cpu, task);
        self.end_idle_period(cpu);
        self.ttwu_stat(ctx, self.tasks[task.index()].cpu);
    }

    /// An idle CPU has been given work: its idle time goes into the averages.
    fn end_idle_period(&mut self, cpu: CpuId) {
        let jiffies = self.jiffies;
        let rq = &mut self.rqs[cpu.index()];
        if rq.idle_stamp == 0 {
            return;
        }
        let idle_ns = rq.clock.wrapping_sub(rq.idle_stamp);
        // A moving average with a weight of one in eight for the newest.
        let diff = idle_ns.wrapping_sub(rq.avg_idle) as i64;
        rq.avg_idle = rq.avg_idle.wrapping_add((diff / 8) as u64).min(2 * rq.max_idle_balance_cost);
        rq.wake_stamp = jiffies;
        rq.wake_avg_idle = rq.avg_idle / 2;
        rq.idle_stamp = 0;
    }

    /// Counts a wake-up for schedstat.
    fn ttwu_stat(&mut self, ctx: &Ctx<'_>, cpu: CpuId) {
        let this_cpu = ctx.cpu;
        let stats = &mut self.rqs[this_cpu.index()].stats;
        stats.ttwu_count += 1;
        if cpu == this_cpu {
            stats.ttwu_local += 1;
            return;
        }
        let common = self.domains.chain(this_cpu).find(|&sd| self.domains.domains[sd].span.contains(cpu));
        if let Some(sd) = common {
            self.domains.domains[sd].stats.ttwu_wake_remote += 1;
        }
    }

    /// Chooses a CPU for a task, by its class. A task that may use only one has no choice.
    pub(crate) fn select_task_rq(&mut self, ctx: &mut Ctx<'_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> CpuId {
        let p = &self.tasks[task.index()];
        if p.class == SchedClass::Fair {
            let decision = self.decide_fair(ctx, task, prev, flags);
            return if self.is_searching(ctx.cpu) { prev } else { self.decided(ctx, decision) };
        }
        let cpu = if p.nr_cpus_allowed > 1 {
            match p.class {
                SchedClass::RealTime => self.select_task_rq_rt(ctx, task, prev, flags),
                SchedClass::Deadline => self.select_task_rq_dl(ctx, task, prev, flags),
                SchedClass::Fair | SchedClass::Stop | SchedClass::Idle => p.cpu,
            }
        } else {
            p.cpus_allowed.first().expect("every task may use some CPU")
        };
        if self.is_cpu_allowed(task, cpu) {
            return cpu;
        }
        let home = self.tasks[task.index()].cpu;
        self.select_fallback_rq(ctx, home, task)
    }

    fn decide_fair(&mut self, ctx: &mut Ctx<'_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> WakeupDecision {
        let p = &self.tasks[task.index()];
        if p.nr_cpus_allowed > 1 {
            return self.select_task_rq_fair(ctx, task, prev, flags);
        }
        let mut decision = WakeupDecision::new(task, prev, ctx.cpu, flags);
        decision.choose(p.cpus_allowed.first().expect("every task may use some CPU"), WakeRule::PinnedToOne);
        decision
    }

    /// Ends the selection of a CPU for a fair task: one that it may not use is replaced.
    pub(crate) fn decided(&mut self, ctx: &mut Ctx<'_>, mut decision: WakeupDecision) -> CpuId {
        let task = decision.task;
        if !self.is_cpu_allowed(task, decision.cpu) {
            let home = self.tasks[task.index()].cpu;
            decision.choose(self.select_fallback_rq(ctx, home, task), WakeRule::Fallback);
        }
        ctx.report(Event::WakeupDecision(&decision));
        decision.cpu
    }
}
