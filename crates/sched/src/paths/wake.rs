// SPDX-License-Identifier: GPL-2.0-or-later
//! Waking tasks.
//!
//! Models `try_to_wake_up()`, `ttwu_queue()`, `ttwu_do_activate()`, `sched_ttwu_pending()` and `ttwu_stat()` (6.1). Where a
//! task is to run is decided by its class; for the fair class in [`crate::rules::wakeup`]. A wake-up is a path
//! that pauses ([`super::walks`]): while it searches, before it takes the lock, before what it stores under the lock shows, and before
//! the interrupt that woke ends.

use crate::classes::fair::enqueue::EnqueueFlags;
use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::interface::wakeup::{WakeFlags, WakeRule, WakeupDecision};
use crate::paths::resumable::{CpuPathStack, PathKind, PhaseLock, Resumable, Step, YieldPoint, Yielded};
use crate::paths::sched::Sched;
use crate::rules::wakeup::search::{IdleScan, ScanBudget, Selection};
use crate::state::calls::CallFunction;
use crate::state::lock::RqGuard;
use crate::state::task::{OnRq, SchedClass, TaskState};
use crate::types::features::Feature;
use crate::types::ids::{CpuId, TaskId};
use crate::types::work::KernelOp;

/// A wake-up or a fork on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WakePath {
    /// The task.
    task: TaskId,
    /// An interrupt wakes it.
    in_interrupt: bool,
    stage: WakeStage,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant, reason = "a box would be made anew for each wake-up, and nothing may allocate")]
enum WakeStage {
    /// Look for an idle CPU.
    Search(IdleScan),
    /// Take the lock of the chosen CPU's runqueue and do what enqueueing needs before its stores, or leave the wake-up to that CPU.
    Enqueue(ChosenCpu),
    /// Enqueue the task, under that lock. Until then other CPUs do not see where it will be.
    Store(ChosenCpu),
    /// The interrupt ends: softirqs that are pending run.
    EndInterrupt,
}

/// A wake-up whose CPU is known.
#[derive(Clone, Copy, Debug)]
struct ChosenCpu {
    task: TaskId,
    cpu: CpuId,
    /// It comes from another CPU: WF_MIGRATED.
    migrated: bool,
    /// It is a new task: it was forked, not woken.
    is_new: bool,
}

/// Where a task is to run.
enum Target {
    /// There.
    Cpu(CpuId),
    /// That has to be searched for.
    Search(IdleScan),
}

impl WakePath {
    /// What is told of it while it pauses.
    pub(crate) fn path(&self) -> PathKind {
        match self.stage {
            WakeStage::Search(_) => PathKind::Search,
            WakeStage::Enqueue(_) | WakeStage::Store(_) => PathKind::Wakeup,
            WakeStage::EndInterrupt => PathKind::InterruptEnd,
        }
    }

    /// The search that is under way.
    #[cfg(test)]
    pub(crate) fn search(&mut self) -> Option<&mut IdleScan> {
        match &mut self.stage {
            WakeStage::Search(search) => Some(search),
            WakeStage::Enqueue(_) | WakeStage::Store(_) | WakeStage::EndInterrupt => None,
        }
    }
}

impl Resumable for WakePath {
    type Output = ();

    fn step(&mut self, sched: &mut Sched, ctx: &mut Ctx<'_>) -> Step<()> {
        match &mut self.stage {
            WakeStage::Search(search) if !search.is_over() => {
                let looks = sched.walks.uses_scan_budget();
                sched.resume_scan(ctx, search, looks);
            }
            &mut WakeStage::Search(search) => {
                let selection = sched.conclude_search(ctx, search);
                self.stage = match sched.target_of(ctx, selection) {
                    Target::Cpu(cpu) => WakeStage::Enqueue(sched.chosen(self.task, cpu)),
                    Target::Search(search) => WakeStage::Search(search),
                };
            }
            &mut WakeStage::Enqueue(chosen) if !sched.is_left_to_its_cpu(ctx.cpu, chosen) => {
                // The kernel counts a task in at the end of `enqueue_task()`: who looks meanwhile sees the runqueue without it.
                ctx.charge(KernelOp::Enqueue);
                ctx.work.touch_write(chosen.cpu);
                self.stage = WakeStage::Store(chosen);
                return Step::Pause(YieldPoint::with_lock_held(chosen.cpu));
            }
            &mut (WakeStage::Enqueue(chosen) | WakeStage::Store(chosen)) => {
                let is_queued = matches!(self.stage, WakeStage::Enqueue(_));
                sched.finish_wakeup(ctx, chosen, is_queued);
                if !self.in_interrupt || !sched.is_softirq_pending(ctx.cpu) {
                    return Step::Done(());
                }
                self.stage = WakeStage::EndInterrupt;
            }
            WakeStage::EndInterrupt => {
                sched.run_softirqs(ctx);
                return Step::Done(());
            }
        }
        Step::Pause(YieldPoint::FREE)
    }

    fn place(walks: &mut CpuPathStack) -> &mut Option<Yielded<Self>> {
        &mut walks.wake
    }
}

impl Sched {
    /// Wakes a task from the CPU that executes this; `sync` says that the waker is about to sleep. Returns whether the
    /// task slept; if so it may be on its way to its CPU until the path is over.
    pub fn handle_wakeup(&mut self, ctx: &mut Ctx<'_>, task: TaskId, sync: bool) -> bool {
        self.try_to_wake_up(ctx, task, WakeFlags { ttwu: true, sync, ..WakeFlags::default() })
    }

    /// An interrupt that wakes a task: a sleep is over, or something has arrived.
    pub fn handle_wakeup_interrupt(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        ctx.charge(KernelOp::IpiReceive);
        self.try_to_wake_up(ctx, task, WakeFlags { ttwu: true, in_interrupt: true, ..WakeFlags::default() })
    }

    /// The kernel itself wakes one of its threads, in the middle of something else: at once.
    pub(crate) fn wake_up_process(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        self.without_pauses(|sched| sched.handle_wakeup(ctx, task, false))
    }

    /// The CPU that is about to wake a task.
    pub fn waking_cpu(&self, task: TaskId) -> Option<CpuId> {
        if !self.tasks[task.index()].in_wakeup {
            return None;
        }
        let wakes = |cpu: &CpuId| {
            let wake = self.walks.of(*cpu).and_then(|walks| walks.wake.as_ref());
            wake.is_some_and(|wake| wake.walk.task == task)
        };
        self.cpu_ids().find(wakes)
    }

    fn try_to_wake_up(&mut self, ctx: &mut Ctx<'_>, task: TaskId, flags: WakeFlags) -> bool {
        let stage = self.select_for_wakeup(ctx, task, flags);
        let slept = stage.is_some();
        let in_interrupt = flags.in_interrupt;
        let rest = (in_interrupt && self.is_softirq_pending(ctx.cpu)).then_some(WakeStage::EndInterrupt);
        if let Some(stage) = stage.or(rest) {
            self.drive_after(ctx, WakePath { task, in_interrupt, stage }, YieldPoint::FREE);
        }
        slept
    }

    /// The first phase of a wake-up: a CPU is selected, or the search for one begins. `None` if the task does not sleep.
    fn select_for_wakeup(&mut self, ctx: &mut Ctx<'_>, task: TaskId, flags: WakeFlags) -> Option<WakeStage> {
        ctx.charge(KernelOp::Wakeup);
        let p = &self.tasks[task.index()];
        if p.state != TaskState::Interruptible {
            return None;
        }
        debug_assert!(p.on_rq == OnRq::No, "a sleeping task is on no runqueue: {p:?}");
        let (prev_cpu, own_cpu, is_on_cpu) = (p.wake_cpu, p.cpu, p.on_cpu);
        ctx.report(Event::Waking { task, cpu: own_cpu, on: ctx.cpu });
        self.tasks[task.index()].state = TaskState::Waking;
        // A CPU that has not switched away from it yet enqueues it itself when it has: nothing is selected.
        let target = if is_on_cpu { Target::Cpu(own_cpu) } else { self.select_task_rq(ctx, task, prev_cpu, flags) };
        self.tasks[task.index()].in_wakeup = true;
        Some(match target {
            Target::Cpu(cpu) => WakeStage::Enqueue(self.chosen(task, cpu)),
            Target::Search(search) => WakeStage::Search(search),
        })
    }

    fn chosen(&self, task: TaskId, cpu: CpuId) -> ChosenCpu {
        ChosenCpu { task, cpu, migrated: self.tasks[task.index()].cpu != cpu, is_new: false }
    }

    /// Puts a new task on its CPU, as the second phase of a fork.
    pub(crate) fn wake_up_new_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let parent_cpu = self.tasks[task.index()].cpu;
        let flags = WakeFlags { fork: true, ..WakeFlags::default() };
        let Target::Cpu(cpu) = self.select_task_rq(ctx, task, parent_cpu, flags) else {
            unreachable!("a new task goes to the idlest CPU, which is found at once")
        };
        self.place_task_on(ctx, task, cpu);
        self.tasks[task.index()].in_wakeup = true;
        let stage = WakeStage::Enqueue(ChosenCpu { task, cpu, migrated: false, is_new: true });
        self.drive_after(ctx, WakePath { task, in_interrupt: false, stage }, YieldPoint::FREE);
    }

    /// Whether a wake-up ends with its task's being queued for a CPU, which then enqueues it itself.
    fn is_left_to_its_cpu(&self, this_cpu: CpuId, chosen: ChosenCpu) -> bool {
        !chosen.is_new && self.is_wakeup_queued(this_cpu, chosen.task, chosen.cpu)
    }

    /// What others see of a wake-up: the task is enqueued on its CPU, or queued for being enqueued there.
    fn finish_wakeup(&mut self, ctx: &mut Ctx<'_>, chosen: ChosenCpu, is_queued: bool) {
        let ChosenCpu { task, cpu, migrated, is_new } = chosen;
        self.tasks[task.index()].in_wakeup = false;
        if is_new {
            return self.enqueue_new_task(ctx, task, cpu);
        }
        if migrated {
            self.set_task_cpu(ctx, task, cpu);
        }
        if is_queued {
            self.tasks[task.index()].remote_wakeup = migrated;
            self.set_ttwu_pending(cpu, true);
            ctx.work.touch_write(cpu);
            self.queue_call(ctx, cpu, CallFunction::Wake(task));
        } else {
            let rq = self.rq_lock_clocked(ctx, cpu);
            let flags = EnqueueFlags { migrated, is_paid: true, ..EnqueueFlags::default() };
            self.ttwu_do_activate(ctx, &rq, task, flags);
        }
        self.ttwu_stat(ctx, self.tasks[task.index()].cpu);
    }

    /// The lock of the next phase of the wake-up on a CPU if it goes on now; none if it is left to the task's CPU.
    pub(crate) fn lock_of_wakeup(&self, on: CpuId) -> PhaseLock {
        let wake = self.walks.of(on).and_then(|walks| walks.wake.as_ref());
        match wake.map(|wake| wake.walk.stage) {
            Some(WakeStage::Store(chosen)) => PhaseLock::Held(chosen.cpu),
            Some(WakeStage::Enqueue(chosen)) if !self.is_left_to_its_cpu(on, chosen) => PhaseLock::Rq(chosen.cpu),
            _ => PhaseLock::None,
        }
    }

    /// Ends the looks of all searches at once: the domains in which they look are about to go. Their wake-ups go on as ever.
    pub(crate) fn finish_searches(&mut self, ctx: &mut Ctx<'_>) {
        for cpu in self.cpu_ids() {
            let Some(wake) = self.walks.of_mut(cpu).and_then(|walks| walks.wake.as_mut()) else { continue };
            if let WakeStage::Search(search) = &mut wake.walk.stage
                && !search.is_over()
            {
                self.state.resume_scan(ctx, search, ScanBudget::ALL);
            }
        }
    }

    /// Whether a wake-up is left to the task's CPU: `ttwu_queue_cond()`.
    ///
    /// Rules: always to a CPU that has not switched away from the task yet. With TTWU_QUEUE, always to one that shares no
    /// cache with this one; within the cache only to one without work (with the tunable `wakelist_far`, as before 6.0, to
    /// none), and never to this one.
    //
    // DIFFERS: the kernel spins until a CPU has switched away from the task that is woken, if that CPU has got other work
    // meanwhile or TTWU_QUEUE is off.
    pub(crate) fn is_wakeup_queued(&self, this_cpu: CpuId, task: TaskId, cpu: CpuId) -> bool {
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
        self.set_ttwu_pending(cpu, false);
        let rq = self.rq_lock_clocked(ctx, cpu);
        while let Some(CallFunction::Wake(task)) = self.rqs[cpu.index()].call_queue.pop_front() {
            let migrated = self.tasks[task.index()].remote_wakeup;
            self.ttwu_do_activate(ctx, &rq, task, EnqueueFlags { migrated, ..EnqueueFlags::default() });
        }
    }

    fn ttwu_do_activate(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId, flags: EnqueueFlags) {
        let cpu = rq.cpu();
        self.activate_task(ctx, rq, task, EnqueueFlags { wakeup: true, ..flags });
        self.check_preempt_curr(ctx, rq, task, false);
        self.tasks[task.index()].state = TaskState::Running;
        ctx.report(Event::Wakeup { task, cpu, is_new: false, on: ctx.cpu });
        self.task_woken(ctx, cpu, task);
        self.end_idle_period(cpu);
    }

    /// Wakes a task that was about to sleep and is still on its runqueue: nothing is selected or enqueued.
    pub(crate) fn ttwu_runnable(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        ctx.charge(KernelOp::Wakeup);
        let cpu = self.tasks[task.index()].cpu;
        ctx.report(Event::Waking { task, cpu, on: ctx.cpu });
        let rq = self.rq_lock_clocked(ctx, cpu);
        self.check_preempt_curr(ctx, &rq, task, false);
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
    fn select_task_rq(&mut self, ctx: &mut Ctx<'_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> Target {
        let p = &self.tasks[task.index()];
        let cpu = match p.class {
            SchedClass::Fair => {
                let selection = self.decide_fair(ctx, task, prev, flags);
                return self.target_of(ctx, selection);
            }
            _ if p.nr_cpus_allowed <= 1 => p.cpus_allowed.first().expect("every task may use some CPU"),
            SchedClass::RealTime => self.select_task_rq_rt(ctx, task, prev, flags),
            SchedClass::Deadline => self.select_task_rq_dl(ctx, task, prev, flags),
            SchedClass::Stop | SchedClass::Idle => p.cpu,
        };
        if self.is_cpu_allowed(task, cpu) {
            return Target::Cpu(cpu);
        }
        let home = self.tasks[task.index()].cpu;
        Target::Cpu(self.select_fallback_rq(ctx, home, task))
    }

    fn decide_fair(&mut self, ctx: &mut Ctx<'_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> Selection {
        let p = &self.tasks[task.index()];
        if p.nr_cpus_allowed > 1 {
            return self.select_task_rq_fair(ctx, task, prev, flags);
        }
        let mut decision = WakeupDecision::new(task, prev, ctx.cpu, flags);
        decision.choose(p.cpus_allowed.first().expect("every task may use some CPU"), WakeRule::PinnedToOne);
        Selection::Chosen(decision)
    }

    /// What a selection for a fair task means. A CPU that the task may not use is replaced.
    fn target_of(&mut self, ctx: &mut Ctx<'_>, selection: Selection) -> Target {
        let mut decision = match selection {
            Selection::Search(search) => return Target::Search(search),
            Selection::Chosen(decision) => decision,
        };
        let task = decision.task;
        if !self.is_cpu_allowed(task, decision.cpu) {
            let home = self.tasks[task.index()].cpu;
            decision.choose(self.select_fallback_rq(ctx, home, task), WakeRule::Fallback);
        }
        ctx.report(Event::WakeupDecision(&decision));
        Target::Cpu(decision.cpu)
    }

    /// Chooses a CPU for a task at once.
    #[cfg(test)]
    pub(crate) fn select_at_once(&mut self, ctx: &mut Ctx<'_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> CpuId {
        let mut target = self.select_task_rq(ctx, task, prev, flags);
        loop {
            match target {
                Target::Cpu(cpu) => return cpu,
                Target::Search(search) => {
                    let decision = self.search_at_once(ctx, Selection::Search(search));
                    target = self.target_of(ctx, Selection::Chosen(decision));
                }
            }
        }
    }
}
