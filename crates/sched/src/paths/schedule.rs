// SPDX-License-Identifier: GPL-2.0-or-later
//! The main function of the scheduler: which task runs next on a CPU, and the switch to it.
//!
//! Models `__schedule()`, `pick_next_task()`, `context_switch()` and the handlers around them (6.1).

use crate::classes::fair::enqueue::DequeueFlags;
use crate::interface::ctx::{Ctx, Effect, PrevState};
use crate::interface::probe::Event;
use crate::paths::newidle::{NewIdle, NewIdleSchedule, NewIdleSite};
use crate::paths::sched::Sched;
use crate::state::lock::RqGuard;
use crate::state::task::{SchedClass, TaskState};
use crate::types::ids::{CpuId, TaskId};
use crate::types::work::KernelOp;

impl Sched {
    /// The CPU that executes this has been told to reschedule. The idle task first serves what other CPUs have queued, and
    /// stays if that brings no work.
    pub fn handle_reschedule(&mut self, ctx: &mut Ctx<'_>) {
        if self.is_idle_task_running(ctx.cpu) {
            self.flush_call_queue(ctx);
            if !self.run_softirqs_before_schedule(ctx) {
                return;
            }
            if !self.rqs[ctx.cpu.index()].need_resched {
                return;
            }
        }
        self.schedule(ctx);
    }

    /// The running task blocks until it is woken.
    pub fn handle_block(&mut self, ctx: &mut Ctx<'_>) {
        let curr = self.rqs[ctx.cpu.index()].curr;
        self.tasks[curr.index()].state = TaskState::Interruptible;
        self.schedule(ctx);
    }

    /// The running task blocks until its input or output is done: `io_schedule()`. It counts as one that waits for that until
    /// it runs again, so each time that it is enqueued before it asks for a higher frequency.
    pub fn handle_block_io(&mut self, ctx: &mut Ctx<'_>) {
        let curr = self.rqs[ctx.cpu.index()].curr;
        self.tasks[curr.index()].in_iowait = true;
        self.handle_block(ctx);
    }

    /// The running task ends.
    pub fn handle_exit(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::Exit);
        let curr = self.rqs[ctx.cpu.index()].curr;
        self.tasks[curr.index()].state = TaskState::Dead;
        self.schedule(ctx);
    }

    /// The running task gives way to others: `sched_yield()`.
    pub fn handle_yield(&mut self, ctx: &mut Ctx<'_>) {
        let guard = self.rq_lock(ctx.cpu);
        let rq = &mut self.rqs[ctx.cpu.index()];
        rq.stats.yld_count += 1;
        let curr = rq.curr;
        match self.tasks[curr.index()].class {
            SchedClass::Fair => self.yield_task_fair(ctx, &guard),
            SchedClass::RealTime => self.yield_task_rt(ctx.cpu),
            SchedClass::Deadline => self.yield_task_dl(ctx, &guard),
            SchedClass::Stop | SchedClass::Idle => {}
        }
        self.schedule(ctx);
    }

    /// Whether the balancing softirq is pending on a CPU.
    pub fn is_softirq_pending(&self, cpu: CpuId) -> bool {
        self.rqs[cpu.index()].sched_softirq
    }

    /// Picks the next task on the CPU that executes this, and switches to it; again while rescheduling is due.
    pub(crate) fn schedule(&mut self, ctx: &mut Ctx<'_>) {
        loop {
            if !self.schedule_once(ctx) || !self.rqs[ctx.cpu.index()].need_resched {
                return;
            }
        }
    }

    /// Returns whether it is over.
    fn schedule_once(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let cpu = ctx.cpu;
        let prev = self.rqs[cpu.index()].curr;
        self.rqs[cpu.index()].stats.sched_count += 1;
        if self.uses_hrtick() {
            self.hrtick_clear(ctx, cpu);
        }
        let rq = self.rq_lock(cpu);
        self.begin_clock_skip(cpu);
        self.update_rq_clock(ctx, &rq);
        if self.tasks[prev.index()].state != TaskState::Running {
            let flags = DequeueFlags { sleep: true, ..DequeueFlags::default() };
            self.deactivate_task(ctx, &rq, prev, flags);
        }
        ctx.charge(KernelOp::PickNext);
        let Some(next) = self.pick_next_task(ctx, &rq, prev) else { return false };
        self.switch_to(ctx, cpu, prev, next);
        true
    }

    /// Goes on after a pause of newly-idle balancing.
    pub(crate) fn resume_schedule(&mut self, ctx: &mut Ctx<'_>, walk: NewIdleSchedule) {
        let cpu = ctx.cpu;
        let NewIdleSchedule { prev, site, .. } = walk;
        let Some(result) = self.drive(ctx, walk) else { return };
        let rq = self.rq_lock(cpu);
        let next = match site {
            NewIdleSite::Fair => self.pick_fair_or_balance(ctx, &rq, prev, Some(result)),
            NewIdleSite::Classes => {
                self.put_prev_task(ctx, &rq, prev);
                Some(self.pick_by_class(ctx, cpu))
            }
        };
        let Some(next) = next else { return };
        self.switch_to(ctx, cpu, prev, next);
        if self.rqs[cpu.index()].need_resched {
            self.schedule(ctx);
        }
    }

    fn switch_to(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, prev: TaskId, next: TaskId) {
        self.rqs[cpu.index()].need_resched = false;
        self.clear_resched_latency(cpu);
        // If it has waited for I/O, that is over.
        self.tasks[next.index()].in_iowait = false;
        if next == prev {
            self.end_clock_skip(cpu);
            self.balance_callbacks(ctx, cpu);
        } else {
            self.context_switch(ctx, cpu, prev, next);
        }
    }

    fn context_switch(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, prev: TaskId, next: TaskId) {
        ctx.charge(KernelOp::ContextSwitch);
        self.rqs[cpu.index()].nr_switches += 1;
        self.set_curr(cpu, next);
        self.sched_info_switch(cpu, prev, next);
        self.end_clock_skip(cpu);
        self.tasks[prev.index()].on_cpu = false;
        self.tasks[next.index()].on_cpu = true;
        let prev_state = match self.tasks[prev.index()].state {
            TaskState::Dead => PrevState::Dead,
            TaskState::Interruptible => PrevState::Blocked,
            _ => PrevState::Runnable,
        };
        ctx.report(Event::Switch { cpu, prev, next, prev_state });
        ctx.emit(Effect::Switch { cpu, prev, next, prev_state });
        self.balance_callbacks(ctx, cpu);
        if prev_state == PrevState::Dead && self.tasks[prev.index()].class == SchedClass::Fair {
            let se = self.tasks[prev.index()].se;
            self.remove_entity_load_avg(ctx, se);
        }
    }

    /// Picks the next task, or pauses on the way. Models `__pick_next_task()`.
    ///
    /// Rules, in order:
    /// 1. If no class above the fair one has work, the fair class picks; with nothing to pick it balances first, and
    ///    if that brings nothing either the CPU goes idle.
    /// 2. Otherwise the classes from the running task's downwards may pull work, until one has some; then the highest
    ///    class with work picks.
    fn pick_next_task(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, prev: TaskId) -> Option<TaskId> {
        let cpu = rq.cpu();
        let prev_class = self.tasks[prev.index()].class;
        let only_fair = self.rqs[cpu.index()].nr_running == self.cfs_rqs[cpu.index()].h_nr_running;
        if prev_class <= SchedClass::Fair && only_fair {
            return self.pick_fair_or_balance(ctx, rq, prev, None);
        }
        self.pick_among_classes(ctx, rq, prev)
    }

    /// Rule 1 of [`Sched::pick_next_task`], perhaps with what newly-idle balancing has brought.
    fn pick_fair_or_balance(
        &mut self,
        ctx: &mut Ctx<'_>,
        rq: &RqGuard,
        prev: TaskId,
        mut brought: Option<NewIdle>,
    ) -> Option<TaskId> {
        let cpu = rq.cpu();
        loop {
            match brought {
                Some(NewIdle::Retry) => return self.pick_among_classes(ctx, rq, prev),
                Some(NewIdle::Nothing) => {
                    self.put_prev_task(ctx, rq, prev);
                    return Some(self.pick_idle(cpu));
                }
                Some(NewIdle::Pulled) | None => {}
            }
            if self.cfs_rqs[cpu.index()].nr_running > 0 {
                if self.tasks[prev.index()].class != SchedClass::Fair {
                    self.put_prev_task(ctx, rq, prev);
                    return Some(self.pick_next_task_fair_fresh(ctx, cpu));
                }
                if let Some(next) = self.pick_next_task_fair_from(ctx, rq, prev) {
                    return Some(next);
                }
            }
            brought = Some(self.sched_balance_newidle(ctx, cpu, prev, NewIdleSite::Fair)?);
        }
    }

    /// Rule 2 of [`Sched::pick_next_task`].
    fn pick_among_classes(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, prev: TaskId) -> Option<TaskId> {
        let cpu = rq.cpu();
        if !self.balance_classes(ctx, cpu, prev) {
            return None;
        }
        self.put_prev_task(ctx, rq, prev);
        Some(self.pick_by_class(ctx, cpu))
    }

    /// Lets the classes look for work, from the running task's class downwards, until one has some. Returns whether that is
    /// over.
    fn balance_classes(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, prev: TaskId) -> bool {
        let prev_class = self.tasks[prev.index()].class;
        let has_stop = |sched: &Self| sched.tasks[sched.rqs[cpu.index()].stop.index()].is_queued();
        if prev_class == SchedClass::Stop && has_stop(self) {
            return true;
        }
        if prev_class >= SchedClass::Deadline && self.balance_dl(ctx, cpu, prev) {
            return true;
        }
        if prev_class >= SchedClass::RealTime && (self.balance_rt(ctx, cpu, prev) || has_stop(self)) {
            return true;
        }
        prev_class < SchedClass::Fair
            || self.rqs[cpu.index()].nr_running > 0
            || self.sched_balance_newidle(ctx, cpu, prev, NewIdleSite::Classes).is_some()
    }

    /// Newly-idle balancing. None if it pauses: then `schedule()` goes on from that site later.
    pub(crate) fn sched_balance_newidle(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        prev: TaskId,
        site: NewIdleSite,
    ) -> Option<NewIdle> {
        match self.begin_newidle(ctx, cpu) {
            Err(result) => Some(result),
            Ok(walk) => {
                let before = walk.begins_with();
                self.drive_after(ctx, NewIdleSchedule { prev, site, walk }, before)
            }
        }
    }

    fn pick_by_class(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> TaskId {
        let stop = self.rqs[cpu.index()].stop;
        if self.tasks[stop.index()].is_queued() {
            let se = self.tasks[stop.index()].se;
            self.entities[se.index()].exec_start = self.rqs[cpu.index()].clock_task;
            return stop;
        }
        if let Some(task) = self.pick_next_task_dl(ctx, cpu) {
            return task;
        }
        if let Some(task) = self.pick_next_task_rt(ctx, cpu) {
            return task;
        }
        if self.cfs_rqs[cpu.index()].nr_running > 0 {
            return self.pick_next_task_fair_fresh(ctx, cpu);
        }
        self.pick_idle(cpu)
    }

    /// The CPU goes idle. Models `set_next_task_idle()`.
    fn pick_idle(&mut self, cpu: CpuId) -> TaskId {
        self.update_idle_core(cpu);
        self.rqs[cpu.index()].stats.sched_goidle += 1;
        self.update_idle_rq_clock_pelt(cpu);
        self.rqs[cpu.index()].idle
    }
}
