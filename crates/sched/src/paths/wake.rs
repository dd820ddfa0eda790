// SPDX-License-Identifier: GPL-2.0-or-later
//! Wake-ups of tasks, and enqueueing of new tasks.
//!
//! Models `try_to_wake_up()`, `ttwu_queue()`, `ttwu_do_activate()`, `sched_ttwu_pending()` and `ttwu_stat()`
//! (6.1). The task's class selects the CPU; [`crate::rules::wakeup`] does so for the fair class. A wake-up is
//! a resumable path ([`super::resumable`]). It yields during an idle scan, before it takes the runqueue lock,
//! between the cost of the enqueue and its effect, and before the interrupt that caused it ends.

use crate::classes::fair::enqueue::EnqueueFlags;
use crate::interface::ctx::Ctx;
use crate::interface::probe::{Event, LagMoment};
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

/// A wake-up or a fork in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WakePath {
    task: TaskId,
    /// The wake-up comes from an interrupt, so pending softirqs run at its end.
    in_interrupt: bool,
    stage: WakeStage,
}

/// Next phase of a wake-up.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant, reason = "boxing would allocate on each wake-up, which must not allocate")]
enum WakeStage {
    /// Scan for an idle CPU.
    Search(IdleScan),
    /// Take the runqueue lock of the chosen CPU and charge the enqueue, or leave the wake-up to that CPU.
    Enqueue(ChosenCpu),
    /// Enqueue the task, under the lock of the phase before. Until then other CPUs see the runqueue without
    /// the task.
    Store(ChosenCpu),
    /// End the interrupt: pending softirqs run.
    EndInterrupt,
}

/// CPU that is chosen for a wake-up or a new task.
#[derive(Clone, Copy, Debug)]
struct ChosenCpu {
    task: TaskId,
    cpu: CpuId,
    /// The task comes from another CPU (WF_MIGRATED).
    migrated: bool,
    /// The task was forked, not woken.
    is_new: bool,
}

/// Result of `select_task_rq()`: a CPU, or a scan to resume.
enum Target {
    Cpu(CpuId),
    Search(IdleScan),
}

impl WakePath {
    /// Returns the kind that [`Sched::yielded_path`] reports for the next phase.
    pub(crate) fn path_kind(&self) -> PathKind {
        match self.stage {
            WakeStage::Search(_) => PathKind::Search,
            WakeStage::Enqueue(_) | WakeStage::Store(_) => PathKind::Wakeup,
            WakeStage::EndInterrupt => PathKind::InterruptEnd,
        }
    }

    /// Returns the idle scan in progress.
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
                let budget = sched.path_stacks.scan_budget();
                sched.resume_scan(ctx, search, budget);
            }
            &mut WakeStage::Search(search) => {
                let selection = sched.conclude_search(ctx, search);
                self.stage = match sched.resolve_selection(ctx, selection) {
                    Target::Cpu(cpu) => WakeStage::Enqueue(sched.chosen_cpu(self.task, cpu)),
                    Target::Search(search) => WakeStage::Search(search),
                };
            }
            &mut WakeStage::Enqueue(chosen) if !sched.is_queued_on_cpu(ctx.cpu, chosen) => {
                // The kernel counts a task at the end of `enqueue_task()`: until then other CPUs see the
                // runqueue without it.
                ctx.charge(KernelOp::Enqueue);
                ctx.op_counts.touch_write(chosen.cpu);
                self.stage = WakeStage::Store(chosen);
                return Step::Yield(YieldPoint::with_lock_held(chosen.cpu));
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
        Step::Yield(YieldPoint::UNLOCKED)
    }

    fn slot(walks: &mut CpuPathStack) -> &mut Option<Yielded<Self>> {
        &mut walks.wake
    }
}

impl Sched {
    /// Wakes a task from the executing CPU. `sync`: the waker is about to sleep.
    ///
    /// Returns whether the task was asleep. With yielding the task can be on its way to a CPU until the path
    /// is complete.
    pub fn handle_wakeup(&mut self, ctx: &mut Ctx<'_>, task: TaskId, sync: bool) -> bool {
        self.try_to_wake_up(ctx, task, WakeFlags { ttwu: true, sync, ..WakeFlags::default() })
    }

    /// Wakes a task from an interrupt, for example because a sleep has ended or a packet has arrived. Returns
    /// whether the task was asleep.
    pub fn handle_wakeup_interrupt(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        ctx.charge(KernelOp::IpiReceive);
        self.try_to_wake_up(ctx, task, WakeFlags { ttwu: true, in_interrupt: true, ..WakeFlags::default() })
    }

    /// Wakes a kernel thread in the middle of another path, without yielding. Returns whether the thread was
    /// asleep.
    pub(crate) fn wake_up_process(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        self.without_yielding(|sched| sched.handle_wakeup(ctx, task, false))
    }

    /// Returns the CPU that is executing a wake-up of `task`.
    pub fn waking_cpu(&self, task: TaskId) -> Option<CpuId> {
        if !self.tasks[task].in_wakeup {
            return None;
        }
        let wakes = |cpu: &CpuId| {
            let wake = self.path_stacks.of(*cpu).and_then(|stack| stack.wake.as_ref());
            wake.is_some_and(|wake| wake.path.task == task)
        };
        self.cpu_ids().find(wakes)
    }

    fn try_to_wake_up(&mut self, ctx: &mut Ctx<'_>, task: TaskId, flags: WakeFlags) -> bool {
        let p = &self.tasks[task];
        let is_delayed = p.state == TaskState::Interruptible && p.on_rq != OnRq::No;
        let stage = if is_delayed { None } else { self.select_for_wakeup(ctx, task, flags) };
        if is_delayed {
            self.wake_delayed(ctx, task);
        }
        let slept = is_delayed || stage.is_some();
        let in_interrupt = flags.in_interrupt;
        let rest = (in_interrupt && self.is_softirq_pending(ctx.cpu)).then_some(WakeStage::EndInterrupt);
        if let Some(stage) = stage.or(rest) {
            self.run_path_after(ctx, WakePath { task, in_interrupt, stage }, YieldPoint::UNLOCKED);
        }
        slept
    }

    /// Runs the first phase of a wake-up: selects a CPU or begins a scan. Returns `None` if the task is not
    /// asleep.
    fn select_for_wakeup(&mut self, ctx: &mut Ctx<'_>, task: TaskId, flags: WakeFlags) -> Option<WakeStage> {
        ctx.charge(KernelOp::Wakeup);
        let p = &self.tasks[task];
        if p.state != TaskState::Interruptible {
            return None;
        }
        debug_assert!(p.on_rq == OnRq::No, "a sleeping task is on no runqueue: {p:?}");
        let (prev_cpu, own_cpu, is_on_cpu) = (p.wake_cpu, p.cpu, p.on_cpu);
        ctx.report(Event::Waking { task, cpu: own_cpu, on: ctx.cpu });
        self.tasks[task].state = TaskState::Waking;
        // A CPU that has not switched away from the task yet enqueues it itself afterwards, so no CPU is
        // selected.
        let target = if is_on_cpu { Target::Cpu(own_cpu) } else { self.select_task_rq(ctx, task, prev_cpu, flags) };
        self.tasks[task].in_wakeup = true;
        Some(match target {
            Target::Cpu(cpu) => WakeStage::Enqueue(self.chosen_cpu(task, cpu)),
            Target::Search(search) => WakeStage::Search(search),
        })
    }

    fn chosen_cpu(&self, task: TaskId, cpu: CpuId) -> ChosenCpu {
        ChosenCpu { task, cpu, migrated: self.tasks[task].cpu != cpu, is_new: false }
    }

    /// Places a new task on its CPU, as the second phase of a fork.
    pub(crate) fn wake_up_new_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let parent_cpu = self.tasks[task].cpu;
        let flags = WakeFlags { fork: true, ..WakeFlags::default() };
        let Target::Cpu(cpu) = self.select_task_rq(ctx, task, parent_cpu, flags) else {
            unreachable!("fork selects the idlest CPU, which needs no scan")
        };
        self.state.fair.place_task_on(ctx, self.state.features, &mut self.state.tasks[task], cpu);
        self.tasks[task].in_wakeup = true;
        let stage = WakeStage::Enqueue(ChosenCpu { task, cpu, migrated: false, is_new: true });
        self.run_path_after(ctx, WakePath { task, in_interrupt: false, stage }, YieldPoint::UNLOCKED);
    }

    /// Whether the wake-up ends in the call-function queue of the chosen CPU, which then enqueues the task
    /// itself.
    fn is_queued_on_cpu(&self, this_cpu: CpuId, chosen: ChosenCpu) -> bool {
        !chosen.is_new && self.is_wakeup_queued(this_cpu, chosen.task, chosen.cpu)
    }

    /// Makes the wake-up visible to other CPUs: enqueues the task, or adds it to the call-function queue of
    /// the chosen CPU.
    fn finish_wakeup(&mut self, ctx: &mut Ctx<'_>, chosen: ChosenCpu, is_queued: bool) {
        let ChosenCpu { task, cpu, migrated, is_new } = chosen;
        self.tasks[task].in_wakeup = false;
        if is_new {
            return self.enqueue_new_task(ctx, task, cpu);
        }
        if migrated {
            self.set_task_cpu(ctx, task, cpu);
        }
        if is_queued {
            self.tasks[task].remote_wakeup = migrated;
            self.state.rqs[cpu].set_ttwu_pending(&mut self.state.lb_cache, true);
            ctx.op_counts.touch_write(cpu);
            self.state.rqs[cpu].queue_call(ctx, CallFunction::Wake(task), self.state.polling_idle);
        } else {
            let rq = self.rq_lock_clocked(ctx, cpu);
            let flags = EnqueueFlags { migrated, is_paid: true, ..EnqueueFlags::default() };
            self.ttwu_do_activate(ctx, &rq, task, flags);
        }
        self.ttwu_stat(ctx, self.tasks[task].cpu);
    }

    /// Returns the lock that the next phase of the CPU's wake-up takes: none if the task goes to a
    /// call-function queue.
    pub(crate) fn wakeup_lock(&self, on: CpuId) -> PhaseLock {
        let wake = self.path_stacks.of(on).and_then(|stack| stack.wake.as_ref());
        match wake.map(|wake| wake.path.stage) {
            Some(WakeStage::Store(chosen)) => PhaseLock::Held(chosen.cpu),
            Some(WakeStage::Enqueue(chosen)) if !self.is_queued_on_cpu(on, chosen) => PhaseLock::Rq(chosen.cpu),
            _ => PhaseLock::None,
        }
    }

    /// Completes the scans of all wake-ups at once, because the domains that they scan are about to be freed.
    /// The wake-ups resume later.
    pub(crate) fn finish_searches(&mut self, ctx: &mut Ctx<'_>) {
        for cpu in self.cpu_ids() {
            let Some(wake) = self.path_stacks.of_mut(cpu).and_then(|stack| stack.wake.as_mut()) else { continue };
            if let WakeStage::Search(search) = &mut wake.path.stage
                && !search.is_over()
            {
                self.state.resume_scan(ctx, search, ScanBudget::ALL);
            }
        }
    }

    /// Whether a wake-up goes to the call-function queue of `cpu` (`ttwu_queue_cond()`).
    ///
    /// Rules, in order:
    /// 1. A CPU that has not switched away from the task yet always gets it this way.
    /// 2. Without TTWU_QUEUE, or if the CPU is inactive or not allowed for the task, no. In 6.12 no stopper either.
    /// 3. A CPU that shares no cache with `this_cpu`: yes.
    /// 4. Another CPU of this cache: only if it has no work. With the tunable `wakelist_far`, as before 6.0,
    ///    no.
    //
    // DIFFERS: A wake-up of a task that its CPU is still switching away from is always queued on that CPU.
    // The kernel spins until the switch is complete if that CPU has other work by then, or if TTWU_QUEUE is
    // off.
    pub(crate) fn is_wakeup_queued(&self, this_cpu: CpuId, task: TaskId, cpu: CpuId) -> bool {
        if self.tasks[task].on_cpu {
            return true;
        }
        let may_wait = self.features.has(Feature::TtwuQueue) && self.hotplug.active.contains(cpu);
        if !may_wait || !self.tasks[task].cpus_allowed.contains(cpu) {
            return false;
        }
        let is_stopper = || self.tasks[task].class == SchedClass::Stop && self.rules.wakes_stoppers_directly;
        if !self.domains.cpus_share_cache(this_cpu, cpu) {
            return !is_stopper();
        }
        cpu != this_cpu && self.rqs[cpu].nr_running == 0 && !self.tunables.changes.wakelist_far && !is_stopper()
    }

    /// Activates the tasks whose wake-ups other CPUs have queued on this CPU (`sched_ttwu_pending()`).
    pub(crate) fn activate_queued_wakeups(&mut self, ctx: &mut Ctx<'_>) {
        let cpu = ctx.cpu;
        if self.rqs[cpu].call_queue.is_empty() {
            return;
        }
        // 6.12 clears it at the end, so that the CPU does not count as idle meanwhile.
        let is_last = self.rules.clears_ttwu_pending_last;
        if !is_last {
            self.state.rqs[cpu].set_ttwu_pending(&mut self.state.lb_cache, false);
        }
        let rq = self.rq_lock_clocked(ctx, cpu);
        while let Some(CallFunction::Wake(task)) = self.rqs[cpu].call_queue.pop_front() {
            let migrated = self.tasks[task].remote_wakeup;
            self.ttwu_do_activate(ctx, &rq, task, EnqueueFlags { migrated, ..EnqueueFlags::default() });
        }
        if is_last {
            self.state.rqs[cpu].set_ttwu_pending(&mut self.state.lb_cache, false);
        }
    }

    fn ttwu_do_activate(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId, flags: EnqueueFlags) {
        let cpu = rq.cpu();
        self.activate_task(ctx, rq, task, EnqueueFlags { wakeup: true, ..flags });
        self.check_preempt_curr(ctx, rq, task, false);
        self.tasks[task].state = TaskState::Running;
        ctx.report(Event::Wakeup { task, cpu, is_new: false, on: ctx.cpu });
        self.report_lags(ctx, task, LagMoment::Wakeup);
        self.task_woken(ctx, cpu, task);
        self.end_idle_period(cpu);
    }

    /// Wakes the tasks with delayed dequeue that were woken on their way to a runqueue, and have arrived.
    pub(crate) fn finish_wakeups_of_migrating(&mut self, ctx: &mut Ctx<'_>) {
        let has_arrived = |sched: &Self, &(task, _): &(TaskId, CpuId)| !sched.tasks[task].is_migrating();
        while let Some(index) = self.path_stacks.wakeups_of_migrating.iter().position(|wake| has_arrived(self, wake)) {
            let (task, waker) = self.path_stacks.wakeups_of_migrating.remove(index);
            self.tasks[task].state = TaskState::Interruptible;
            ctx.on_cpu(waker, |ctx| self.wake_delayed(ctx, task));
        }
    }

    /// Wakes a task whose dequeue was delayed, where it is queued. If load balancing is moving the task, the wake-up
    /// completes after that.
    // DIFFERS: A wake-up of a task of 6.12 that sleeps, is still queued and is just being moved by load balancing does not
    // keep the waker busy until the task arrives.
    #[inline(never)]
    fn wake_delayed(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        if self.tasks[task].is_migrating() {
            self.tasks[task].state = TaskState::Waking;
            self.path_stacks.wakeups_of_migrating.push((task, ctx.cpu));
            return;
        }
        ctx.charge(KernelOp::Wakeup);
        let cpu = self.tasks[task].cpu;
        ctx.report(Event::Waking { task, cpu, on: ctx.cpu });
        let rq = self.rq_lock_clocked(ctx, cpu);
        self.enqueue_task(ctx, &rq, task, EnqueueFlags { delayed: true, ..EnqueueFlags::default() });
        if !self.tasks[task].on_cpu {
            self.check_preempt_curr(ctx, &rq, task, false);
        }
        self.tasks[task].state = TaskState::Running;
        ctx.report(Event::Wakeup { task, cpu, is_new: false, on: ctx.cpu });
        self.report_lags(ctx, task, LagMoment::Wakeup);
        self.ttwu_stat(ctx, cpu);
    }

    /// Wakes a task that is about to sleep and is still on its runqueue: selects no CPU and enqueues nothing.
    pub(crate) fn ttwu_runnable(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        ctx.charge(KernelOp::Wakeup);
        let cpu = self.tasks[task].cpu;
        ctx.report(Event::Waking { task, cpu, on: ctx.cpu });
        let rq = self.rq_lock_clocked(ctx, cpu);
        let is_trimmed = self.rules.trims_runnable_wakeup;
        // 6.12 does no more for a task that still runs.
        if !is_trimmed || !self.tasks[task].on_cpu {
            self.check_preempt_curr(ctx, &rq, task, false);
        }
        ctx.report(Event::Wakeup { task, cpu, is_new: false, on: ctx.cpu });
        self.report_lags(ctx, task, LagMoment::Wakeup);
        if !is_trimmed {
            self.task_woken(ctx, cpu, task);
            self.end_idle_period(cpu);
        }
        self.ttwu_stat(ctx, self.tasks[task].cpu);
    }

    /// Ends the idle period of a CPU that has received work, and adds its length to the average idle time
    /// (`avg_idle`).
    fn end_idle_period(&mut self, cpu: CpuId) {
        let jiffies = self.jiffies;
        let rq = &mut self.rqs[cpu];
        if rq.idle_stamp == 0 {
            return;
        }
        let idle_ns = rq.clock.wrapping_sub(rq.idle_stamp);
        // Moving average; the newest period has a weight of 1/8.
        let diff = idle_ns.wrapping_sub(rq.avg_idle) as i64;
        rq.avg_idle = rq.avg_idle.wrapping_add((diff / 8) as u64).min(2 * rq.max_idle_balance_cost);
        rq.wake_stamp = jiffies;
        rq.wake_avg_idle = rq.avg_idle / 2;
        rq.idle_stamp = 0;
    }

    /// Counts a wake-up for schedstat (`ttwu_stat()`); `cpu` is the CPU of the woken task.
    fn ttwu_stat(&mut self, ctx: &Ctx<'_>, cpu: CpuId) {
        let this_cpu = ctx.cpu;
        let stats = &mut self.rqs[this_cpu].stats;
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

    /// Chooses a CPU for a task, by its class. A task with one allowed CPU gets that CPU.
    fn select_task_rq(&mut self, ctx: &mut Ctx<'_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> Target {
        let p = &self.tasks[task];
        let cpu = match p.class {
            SchedClass::Fair => {
                let selection = self.decide_fair(ctx, task, prev, flags);
                return self.resolve_selection(ctx, selection);
            }
            _ if p.nr_cpus_allowed <= 1 => p.cpus_allowed.first().expect("every task may use some CPU"),
            SchedClass::RealTime => self.select_task_rq_rt(ctx, task, prev, flags),
            SchedClass::Deadline => self.select_task_rq_dl(ctx, task, prev, flags),
            SchedClass::Stop | SchedClass::Idle => p.cpu,
        };
        if self.is_cpu_allowed(task, cpu) {
            return Target::Cpu(cpu);
        }
        let home = self.tasks[task].cpu;
        Target::Cpu(self.select_fallback_rq(ctx, home, task))
    }

    fn decide_fair(&mut self, ctx: &mut Ctx<'_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> Selection {
        let p = &self.tasks[task];
        if p.nr_cpus_allowed > 1 {
            return self.select_task_rq_fair(ctx, task, prev, flags);
        }
        let mut decision = WakeupDecision::new(task, prev, ctx.cpu, flags);
        decision.choose(p.cpus_allowed.first().expect("every task may use some CPU"), WakeRule::PinnedToOne);
        Selection::Chosen(decision)
    }

    /// Converts a fair selection to a CPU or a scan. A CPU that the task may not use is replaced by the
    /// fallback.
    fn resolve_selection(&mut self, ctx: &mut Ctx<'_>, selection: Selection) -> Target {
        let mut decision = match selection {
            Selection::Search(search) => return Target::Search(search),
            Selection::Chosen(decision) => decision,
        };
        let task = decision.task;
        if !self.is_cpu_allowed(task, decision.cpu) {
            let home = self.tasks[task].cpu;
            decision.choose(self.select_fallback_rq(ctx, home, task), WakeRule::Fallback);
        }
        ctx.report(Event::WakeupDecision(&decision));
        Target::Cpu(decision.cpu)
    }

    /// Chooses a CPU for a task without yielding.
    #[cfg(test)]
    pub(crate) fn select_at_once(&mut self, ctx: &mut Ctx<'_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> CpuId {
        let mut target = self.select_task_rq(ctx, task, prev, flags);
        loop {
            match target {
                Target::Cpu(cpu) => return cpu,
                Target::Search(search) => {
                    let decision = self.finish_selection(ctx, Selection::Search(search));
                    target = self.resolve_selection(ctx, Selection::Chosen(decision));
                }
            }
        }
    }
}
