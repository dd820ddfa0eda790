// SPDX-License-Identifier: GPL-2.0-or-later
//! Execution of deadline tasks: enqueue, pick, consumption of budgets and dequeue.
//!
//! Models `enqueue_task_dl()`, `dequeue_task_dl()`, `update_curr_dl()`, `yield_task_dl()`,
//! `check_preempt_curr_dl()`, `pick_next_task_dl()`, `set_next_task_dl()`, `put_prev_task_dl()` and
//! `task_tick_dl()` (6.1).

use crate::classes::fair::enqueue::{DequeueFlags, EnqueueFlags};
use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::callbacks::BalanceCallback;
use crate::state::deadline::entity::time_before;
use crate::state::lock::RqGuard;
use crate::state::rq::Rqs;
use crate::state::task::{SchedClass, Task};
use crate::types::features::Feature;
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::cap_scale;
use crate::types::work::KernelOp;

impl State {
    /// Enqueues a deadline task. It is pushable while it does not run.
    pub(crate) fn enqueue_task_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, flags: EnqueueFlags) {
        flags.charge(ctx);
        if self.tasks[task].prepare_dl_enqueue(ctx, &mut self.rqs, task)
            && self.enqueue_dl_entity(ctx, cpu, task, flags)
            && self.rqs[cpu].curr != task
        {
            self.rqs[cpu].add_pushable_dl(&mut self.dl_root, &self.rules, task, &mut self.tasks[task]);
        }
    }

    /// Enqueues a deadline task or a fair server. Returns whether it is queued. Rules, in order:
    /// 1. A task that comes between its deadline and the end of its period is throttled.
    /// 2. A task that migrates or returns after a change brings its bandwidth with it.
    /// 3. A throttled task is not queued, unless it is being replenished; if it wakes up it becomes active.
    /// 4. Budget and deadline are checked or renewed.
    /// 5. A server that waits until its tasks starve is not queued.
    pub(crate) fn enqueue_dl_entity(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        task: TaskId,
        flags: EnqueueFlags,
    ) -> bool {
        let p = &self.tasks[task];
        let is_migrating = p.is_migrating();
        if !p.dl.is_throttled && !p.dl.is_implicit() {
            self.check_constrained_dl(ctx, cpu, task);
        }
        if is_migrating || flags.restore {
            self.rqs[cpu].dl.add_rq_bw(self.tasks[task].dl.dl_bw);
            self.add_running_bw(ctx, cpu, task);
        }
        if flags.wakeup {
            self.task_contending(ctx, cpu, task, flags);
        }
        let now = self.rqs[cpu].clock;
        let dl = &mut self.tasks[task].dl;
        if dl.is_throttled && !flags.replenish && !dl.server.defers {
            return false;
        }
        if flags.wakeup {
            dl.update(now);
        } else if flags.replenish {
            dl.replenish(now);
        } else if flags.restore && dl.inherited.is_none() && time_before(dl.deadline, now) {
            dl.setup_new(now);
        }
        if dl.is_throttled {
            if self.start_dl_timer(ctx, task) {
                return false;
            }
            let dl = &mut self.tasks[task].dl;
            dl.cancel_dl_timer(ctx, &mut self.rqs, task);
            dl.end_wait();
        }
        self.queue_dl(cpu, task);
        true
    }

    pub(crate) fn dequeue_task_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, flags: DequeueFlags) {
        ctx.charge(KernelOp::Dequeue);
        self.update_curr_dl(ctx, cpu);
        self.unqueue_dl(cpu, task);
        if self.tasks[task].is_migrating() || flags.save {
            self.sub_running_bw(ctx, cpu, task);
            self.rqs[cpu].dl.sub_rq_bw(self.tasks[task].dl.dl_bw);
        }
        if flags.sleep {
            self.task_non_contending(ctx, task);
        }
    }

    /// Gives up the rest of the running task's budget. The task waits for its next period.
    pub(crate) fn yield_task_dl(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard) {
        let cpu = rq.cpu();
        let curr = self.rqs[cpu].curr;
        self.tasks[curr].dl.has_yielded = true;
        self.update_rq_clock(ctx, rq);
        self.update_curr_dl(ctx, cpu);
        self.rqs[cpu].skip_clock_update();
    }

    /// Reschedules if a task has an earlier deadline than the running one. With equal deadlines it does so
    /// only if the running task can continue on another CPU and the new one cannot.
    pub(crate) fn check_preempt_curr_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        let curr = self.rqs[cpu].curr;
        let (new, old) = (&self.tasks[task], &self.tasks[curr]);
        if new.dl.preempts(&old.dl) {
            self.resched_curr(ctx, cpu);
        } else if new.dl.deadline == old.dl.deadline && !self.rqs[cpu].need_resched {
            let can_leave = old.nr_cpus_allowed > 1 && self.dl_root.has_later_cpu(old);
            let must_stay = new.nr_cpus_allowed == 1 || !self.dl_root.has_later_cpu(new);
            if can_leave && must_stay {
                self.resched_curr(ctx, cpu);
            }
        }
    }

    pub(crate) fn pick_next_task_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> Option<TaskId> {
        let (_, task) = self.rqs[cpu].dl.tasks.first()?;
        self.set_next_task_dl(ctx, cpu, task, true);
        Some(task)
    }

    /// Starts a task: it was picked (`is_first`), or it continues after a change.
    pub(crate) fn set_next_task_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, is_first: bool) {
        let (rq, p) = (&mut self.rqs[cpu], &mut self.tasks[task]);
        self.fair.entities[p.se].exec_start = rq.clock_task;
        rq.remove_pushable_dl(&mut self.dl_root, &self.rules, task, p);
        if !is_first {
            return;
        }
        // 6.12 starts the timer last.
        let (uses_hrtick, is_last) = (self.features.has(Feature::HrtickDl), self.rules.starts_hrtick_dl_last);
        if uses_hrtick && !is_last {
            self.hrtick_start(ctx, cpu, self.tasks[task].dl.remaining());
        }
        let rq = &mut self.rqs[cpu];
        if !rq.dl.pushable().is_empty() {
            rq.callbacks.queue(BalanceCallback::DlPush);
        }
        if self.tasks[rq.curr].class != SchedClass::Deadline {
            self.rqs[cpu].update_dl_rq_load_avg(ctx, &self.tunables, false);
        }
        if uses_hrtick && is_last {
            self.hrtick_start(ctx, cpu, self.tasks[task].dl.remaining());
        }
    }

    pub(crate) fn put_prev_task_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        self.update_curr_dl(ctx, cpu);
        self.rqs[cpu].update_dl_rq_load_avg(ctx, &self.tunables, true);
        let p = &mut self.tasks[task];
        if p.dl.is_queued {
            self.rqs[cpu].add_pushable_dl(&mut self.dl_root, &self.rules, task, p);
        }
    }

    /// Handles the tick, or the end of a budget by timer (`is_budget_end`).
    pub(crate) fn task_tick_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, is_budget_end: bool) {
        self.update_curr_dl(ctx, cpu);
        self.rqs[cpu].update_dl_rq_load_avg(ctx, &self.tunables, true);
        let has_budget = !self.tasks[task].dl.is_exhausted();
        if is_budget_end && has_budget && self.features.has(Feature::HrtickDl) && self.rqs[cpu].dl.is_leftmost(task) {
            self.hrtick_start(ctx, cpu, self.tasks[task].dl.remaining());
        }
    }

    /// Charges the running task for the time since the last charge.
    ///
    /// The budget is work at full speed, so it lasts longer on a slower CPU or at a lower frequency. A task
    /// that has exhausted it or has yielded is throttled until the next period, or replenished at once if
    /// that has begun. The time of a reclaiming task is scaled by [`super::reclaim`] instead. A governor's
    /// thread has no budget.
    pub(crate) fn update_curr_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let rq = &self.rqs[cpu];
        let (curr, now) = (rq.curr, rq.clock_task);
        let p = &mut self.tasks[curr];
        if p.class != SchedClass::Deadline || !p.dl.is_queued {
            return;
        }
        let se = &mut self.fair.entities[p.se];
        let delta = now.wrapping_sub(se.exec_start);
        if delta as i64 > 0 {
            se.sum_exec_runtime += delta;
            se.exec_start = now;
            ctx.report_runtime(curr, delta);
            if p.dl.is_special {
                return;
            }
            let work = if p.dl.reclaims {
                rq.dl.grub_reclaim(&self.dl_root, &self.tunables, &self.rules, p.dl.dl_bw, delta)
            } else {
                cap_scale(cap_scale(delta, rq.freq_capacity), rq.cpu_capacity_orig)
            };
            p.dl.runtime = p.dl.runtime.wrapping_sub(work as i64);
        } else if !p.dl.has_yielded {
            return;
        }
        if p.dl.is_exhausted() || p.dl.has_yielded {
            self.throttle_curr_dl(ctx, cpu, curr);
        }
        // Without an active replenishment timer, the charge to the real-time runtime stops at the limit.
        let rt = &mut self.rqs[cpu].rt;
        if self.tunables.limits_rt_runtime(&self.rules) && self.rt_root.bandwidth.may_charge(rt, &self.tunables) {
            rt.charge(delta);
        }
    }

    fn throttle_curr_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, curr: TaskId) {
        self.tasks[curr].dl.is_throttled = true;
        self.has_throttled = true;
        self.unqueue_dl(cpu, curr);
        if self.tasks[curr].dl.inherited.is_some() || !self.start_dl_timer(ctx, curr) {
            self.enqueue_task_dl(ctx, cpu, curr, EnqueueFlags { replenish: true, ..EnqueueFlags::default() });
        }
        self.fair.report_throttling(ctx, &self.rqs, &mut self.tasks, curr);
        if !self.rqs[cpu].dl.is_leftmost(curr) {
            self.resched_curr(ctx, cpu);
        }
    }

    /// Adds a task to the queue of its CPU.
    pub(super) fn queue_dl(&mut self, cpu: CpuId, task: TaskId) {
        let rq = &mut self.rqs[cpu];
        rq.queue_dl(&mut self.dl_root, &mut self.rt_root, task, &mut self.tasks[task]);
        rq.add_nr_running(&mut self.lb_cache, &mut self.domains.root, 1);
        rq.update_dl_overload(&mut self.dl_root, &self.rules);
    }

    /// Removes a task from the queue of its CPU, if it is queued (`__dequeue_task_dl()`).
    pub(super) fn unqueue_dl(&mut self, cpu: CpuId, task: TaskId) {
        let (rq, p) = (&mut self.rqs[cpu], &mut self.tasks[task]);
        if rq.unqueue_dl(&mut self.dl_root, &mut self.rt_root, task, p) {
            rq.sub_nr_running(&mut self.lb_cache, 1);
            rq.update_dl_overload(&mut self.dl_root, &self.rules);
        }
        rq.remove_pushable_dl(&mut self.dl_root, &self.rules, task, p);
    }
}

impl Task {
    /// Prepares the enqueue of a task that inherits, which is not throttled. Returns false for a task of
    /// another class that has just stopped inheriting; such a task is not enqueued here.
    fn prepare_dl_enqueue(&mut self, ctx: &mut Ctx<'_>, rqs: &mut Rqs, task: TaskId) -> bool {
        if self.dl.inherited.is_some() {
            if core::mem::take(&mut self.dl.is_throttled) {
                self.dl.cancel_dl_timer(ctx, rqs, task);
            }
            return true;
        }
        let is_of_class = self.policy.class() == SchedClass::Deadline;
        self.dl.is_throttled &= is_of_class;
        is_of_class
    }
}
