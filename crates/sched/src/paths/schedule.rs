// SPDX-License-Identifier: GPL-2.0-or-later
//! Main function of the scheduler: selects the next task of a CPU and switches to it.
//!
//! Models `__schedule()`, `pick_next_task()`, `context_switch()` and their callers (6.1).

use crate::classes::deadline::server::fair_server;
use crate::classes::fair::enqueue::DequeueFlags;
use crate::interface::ctx::{Ctx, Effect, PrevState};
use crate::interface::eevdf::ServerStep;
use crate::interface::probe::{Event, LagMoment};
use crate::paths::newidle::{NewIdleResult, NewIdleSchedule, NewIdleSite};
use crate::paths::sched::Sched;
use crate::state::State;
use crate::state::lock::RqGuard;
use crate::state::task::{SchedClass, TaskState};
use crate::state::timers::Timer;
use crate::types::ids::{CfsRqId, CpuId, TaskId};
use crate::types::work::KernelOp;

impl Sched {
    /// Reschedules the executing CPU. The idle task first serves the call-function queue, and keeps running
    /// if that brings no work.
    pub fn handle_reschedule(&mut self, ctx: &mut Ctx<'_>) {
        if self.is_idle_task_running(ctx.cpu) {
            self.flush_call_queue(ctx);
            if !self.run_softirqs_before_schedule(ctx) {
                return;
            }
            if !self.rqs[ctx.cpu].need_resched {
                return;
            }
        }
        self.schedule(ctx);
    }

    /// Blocks the running task until it is woken.
    pub fn handle_block(&mut self, ctx: &mut Ctx<'_>) {
        let curr = self.rqs[ctx.cpu].curr;
        self.tasks[curr].state = TaskState::Interruptible;
        self.schedule(ctx);
    }

    /// Blocks the running task until its I/O is complete (`io_schedule()`).
    ///
    /// The task counts as waiting for I/O until it runs again. Each enqueue until then requests a higher
    /// frequency.
    pub fn handle_block_io(&mut self, ctx: &mut Ctx<'_>) {
        let curr = self.rqs[ctx.cpu].curr;
        self.tasks[curr].in_iowait = true;
        self.handle_block(ctx);
    }

    /// Ends the running task.
    pub fn handle_exit(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::Exit);
        let curr = self.rqs[ctx.cpu].curr;
        self.tasks[curr].state = TaskState::Dead;
        self.schedule(ctx);
    }

    /// Lets the running task yield to others (`sched_yield()`).
    pub fn handle_yield(&mut self, ctx: &mut Ctx<'_>) {
        let guard = self.rq_lock(ctx.cpu);
        let rq = &mut self.rqs[ctx.cpu];
        rq.stats.yld_count += 1;
        let curr = rq.curr;
        match self.tasks[curr].class {
            SchedClass::Fair => self.yield_task_fair(ctx, &guard),
            SchedClass::RealTime => self.state.rqs[ctx.cpu].yield_task_rt(&mut self.state.tasks),
            SchedClass::Deadline => self.yield_task_dl(ctx, &guard),
            SchedClass::Stop | SchedClass::Idle => {}
        }
        self.schedule(ctx);
    }

    /// Whether the balancing softirq is pending on a CPU.
    pub fn is_softirq_pending(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].sched_softirq
    }

    /// Picks the next task on the executing CPU and switches to it, and repeats while rescheduling is due.
    pub(crate) fn schedule(&mut self, ctx: &mut Ctx<'_>) {
        loop {
            if !self.schedule_once(ctx) || !self.rqs[ctx.cpu].need_resched {
                return;
            }
        }
    }

    /// Runs one round of [`Sched::schedule`]. Returns false if the path has yielded.
    fn schedule_once(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let cpu = ctx.cpu;
        if self.features.uses_hrtick() {
            self.rqs[cpu].timers.cancel(ctx, cpu, Timer::Hrtick);
        }
        let guard = self.rq_lock(cpu);
        let rq = &mut self.rqs[cpu];
        let prev = rq.curr;
        rq.stats.sched_count += 1;
        rq.begin_clock_skip();
        self.update_rq_clock(ctx, &guard);
        let State { rqs, rules, tasks, .. } = &mut self.state;
        let rq = &mut rqs[cpu];
        if rules.ends_clock_skip_early {
            rq.end_clock_skip();
        }
        // Only 6.12 lets the idle task go on before it picks a task, without newly-idle balancing (`SM_IDLE`).
        if rules.idle_reenters_early && rq.is_idle_task_running() && rq.nr_running == 0 {
            self.switch_to(ctx, cpu, prev, prev);
            return true;
        }
        let state = tasks[prev].state;
        if state != TaskState::Running {
            let flags = DequeueFlags { sleep: true, special: state == TaskState::Dead, ..DequeueFlags::default() };
            self.deactivate_task(ctx, &guard, prev, flags);
        }
        ctx.charge(KernelOp::PickNext);
        let Some(next) = self.pick_next_task(ctx, &guard, prev) else { return false };
        self.switch_to(ctx, cpu, prev, next);
        true
    }

    /// Resumes `schedule()` after newly-idle balancing has yielded.
    pub(crate) fn resume_schedule(&mut self, ctx: &mut Ctx<'_>, path: NewIdleSchedule) {
        let cpu = ctx.cpu;
        let NewIdleSchedule { prev, site, .. } = path;
        let Some(result) = self.run_path(ctx, path) else { return };
        let rq = self.rq_lock(cpu);
        let next = match site {
            NewIdleSite::Fair => self.pick_fair_or_balance(ctx, &rq, prev, Some(result)),
            NewIdleSite::Classes => Some(self.pick_after_balance(ctx, &rq, prev)),
        };
        let Some(next) = next else { return };
        self.switch_to(ctx, cpu, prev, next);
        if self.rqs[cpu].need_resched {
            self.schedule(ctx);
        }
    }

    fn switch_to(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, prev: TaskId, next: TaskId) {
        let rq = &mut self.rqs[cpu];
        rq.need_resched = false;
        rq.warn.end_resched();
        // An I/O wait of the task is over.
        self.tasks[next].in_iowait = false;
        if next == prev {
            let has_ended = self.rules.ends_clock_skip_early;
            self.rqs[cpu].end_clock_skip_unless(has_ended);
            self.balance_callbacks(ctx, cpu);
        } else {
            self.context_switch(ctx, cpu, prev, next);
        }
    }

    fn context_switch(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, prev: TaskId, next: TaskId) {
        ctx.charge(KernelOp::ContextSwitch);
        let State { rqs, tasks, lb_cache, rules, .. } = &mut self.state;
        let rq = &mut rqs[cpu];
        rq.nr_switches += 1;
        rq.set_curr(lb_cache, next);
        rq.sched_info_switch(tasks, prev, next);
        rq.end_clock_skip_unless(rules.ends_clock_skip_early);
        tasks[next].on_cpu = true;
        let old = &mut tasks[prev];
        old.on_cpu = false;
        let (class, se) = (old.class, old.se);
        let prev_state = match old.state {
            TaskState::Dead => PrevState::Dead,
            TaskState::Interruptible => PrevState::Blocked,
            _ => PrevState::Runnable,
        };
        ctx.report(Event::Switch { cpu, prev, next, prev_state });
        if ctx.wants_lags {
            self.report_lags(ctx, prev, LagMoment::SwitchFrom);
            self.report_lags(ctx, next, LagMoment::SwitchTo);
        }
        ctx.emit(Effect::Switch { cpu, prev, next, prev_state });
        self.balance_callbacks(ctx, cpu);
        if prev_state == PrevState::Dead && class == SchedClass::Fair {
            self.fair.remove_entity_load_avg(ctx, se);
        }
    }

    /// Picks the next task (`__pick_next_task()`). Returns `None` if the path has yielded.
    ///
    /// Rules, in order:
    /// 1. If no class above the fair one has work, the fair class picks. Without a task it balances first,
    ///    and if that brings no task the CPU goes idle.
    /// 2. Otherwise the classes from the running task's downwards may pull work, until one has some. Then the
    ///    highest class with work picks.
    fn pick_next_task(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, prev: TaskId) -> Option<TaskId> {
        let cpu = rq.cpu();
        let prev_class = self.tasks[prev].class;
        let only_fair = self.rqs[cpu].nr_running == self.fair.cfs_rqs[CfsRqId::root(cpu)].h_nr_running;
        if prev_class <= SchedClass::Fair && only_fair {
            return self.pick_fair_or_balance(ctx, rq, prev, None);
        }
        self.pick_among_classes(ctx, rq, prev)
    }

    /// Applies rule 1 of [`Sched::pick_next_task`]. `brought` is the result of newly-idle balancing, if it
    /// has already run.
    fn pick_fair_or_balance(
        &mut self,
        ctx: &mut Ctx<'_>,
        rq: &RqGuard,
        prev: TaskId,
        mut brought: Option<NewIdleResult>,
    ) -> Option<TaskId> {
        let cpu = rq.cpu();
        loop {
            match brought {
                Some(NewIdleResult::Retry) => return self.pick_among_classes(ctx, rq, prev),
                Some(NewIdleResult::Nothing) => {
                    if self.rules.picks_before_put && prev == self.rqs[cpu].idle {
                        return Some(prev);
                    }
                    self.put_prev_task(ctx, rq, prev);
                    return Some(self.pick_idle(cpu));
                }
                Some(NewIdleResult::Pulled) | None => {}
            }
            if let Some(next) = self.pick_next_task_fair(ctx, rq, prev) {
                return Some(next);
            }
            brought = Some(self.sched_balance_newidle(ctx, cpu, prev, NewIdleSite::Fair)?);
        }
    }

    /// Applies rule 2 of [`Sched::pick_next_task`].
    fn pick_among_classes(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, prev: TaskId) -> Option<TaskId> {
        self.balance_classes(ctx, rq.cpu(), prev).then(|| self.pick_after_balance(ctx, rq, prev))
    }

    /// Picks a task after the classes have tried to pull work.
    fn pick_after_balance(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, prev: TaskId) -> TaskId {
        if self.rules.picks_before_put
            && let Some(next) = self.pick_without_put(ctx, rq, prev)
        {
            return next;
        }
        self.put_prev_task(ctx, rq, prev);
        self.pick_by_class(ctx, rq.cpu())
    }

    /// Picks a task of 6.12 before the old one is put: the old one again, which is neither stopped nor started, or a fair
    /// one.
    ///
    /// A fair server that is first picks a fair task, or is stopped if there is none.
    #[inline(never)]
    fn pick_without_put(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, prev: TaskId) -> Option<TaskId> {
        let cpu = rq.cpu();
        loop {
            match self.first_above_fair(cpu) {
                None => {
                    let is_idle = prev == self.rqs[cpu].idle;
                    let next = self.pick_next_task_fair(ctx, rq, prev);
                    return if is_idle { Some(next.unwrap_or(prev)) } else { next };
                }
                Some(server) if server == fair_server(cpu) => {
                    if let Some(task) = self.pick_task_eevdf(ctx, cpu) {
                        self.state.tasks[fair_server(cpu)].dl.report_server(ctx, cpu, ServerStep::Picked);
                        self.start_fair_task(ctx, rq, prev, task);
                        return Some(task);
                    }
                    self.dl_server_stop(ctx, cpu);
                }
                Some(above) => return Some(above).filter(|&next| next == prev),
            }
        }
    }

    /// Returns the task that the classes above the fair one would pick. The idle task stands for the fair server.
    fn first_above_fair(&self, cpu: CpuId) -> Option<TaskId> {
        let rq = &self.rqs[cpu];
        let stop = Some(rq.stop).filter(|stop| self.tasks[*stop].is_queued());
        let real_time = || rq.rt.first_runnable();
        stop.or_else(|| rq.dl.tasks.first().map(|(_, task)| task)).or_else(real_time)
    }

    /// Lets the classes pull work, from the running task's class downwards, until one has some. Returns false
    /// if the path has yielded.
    fn balance_classes(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, prev: TaskId) -> bool {
        let prev_class = self.tasks[prev].class;
        let has_stop = |sched: &Self| sched.tasks[sched.rqs[cpu].stop].is_queued();
        if prev_class == SchedClass::Stop && has_stop(self) {
            return true;
        }
        if prev_class >= SchedClass::Deadline && self.balance_dl(ctx, cpu, prev) {
            return true;
        }
        if prev_class >= SchedClass::RealTime
            && (self.balance_rt(ctx, cpu, prev) || has_stop(self) || self.rqs[cpu].dl.nr_running() > 0)
        {
            return true;
        }
        let has_work = if self.rules.fair_balance_counts_fair_only {
            self.fair.cfs_rqs[CfsRqId::root(cpu)].nr_running > 0
        } else {
            self.rqs[cpu].nr_running > 0
        };
        prev_class < SchedClass::Fair
            || has_work
            || self.sched_balance_newidle(ctx, cpu, prev, NewIdleSite::Classes).is_some()
    }

    /// Runs newly-idle balancing. Returns `None` if the path has yielded; `schedule()` then continues from
    /// `site` later.
    pub(crate) fn sched_balance_newidle(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        prev: TaskId,
        site: NewIdleSite,
    ) -> Option<NewIdleResult> {
        match self.begin_newidle(ctx, cpu) {
            Err(result) => Some(result),
            Ok(path) => {
                let before = path.first_yield_point();
                self.run_path_after(ctx, NewIdleSchedule { prev, site, newidle: path }, before)
            }
        }
    }

    fn pick_by_class(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> TaskId {
        let stop = self.rqs[cpu].stop;
        if self.tasks[stop].is_queued() {
            let se = self.tasks[stop].se;
            self.fair.entities[se].exec_start = self.rqs[cpu].clock_task;
            return stop;
        }
        if let Some(task) = self.pick_next_task_dl(ctx, cpu) {
            return task;
        }
        if let Some(task) = self.pick_next_task_rt(ctx, cpu) {
            return task;
        }
        // In 6.12, `pick_without_put` has found any fair task.
        if self.fair.cfs_rqs[CfsRqId::root(cpu)].nr_running > 0 {
            return self.pick_first_task(ctx, cpu);
        }
        self.pick_idle(cpu)
    }

    /// Picks the idle task (`set_next_task_idle()`).
    fn pick_idle(&mut self, cpu: CpuId) -> TaskId {
        self.state.domains.update_idle_core(&self.state.rqs, &self.state.hotplug.active, cpu);
        self.rqs[cpu].stats.sched_goidle += 1;
        self.state.rqs[cpu].update_idle_rq_clock_pelt(self.state.fair.root_cfs_rq(cpu));
        let idle = self.rqs[cpu].idle;
        if self.rules.has_fair_server {
            let se = self.tasks[idle].se;
            self.fair.entities[se].exec_start = self.rqs[cpu].clock_task;
        }
        idle
    }
}
