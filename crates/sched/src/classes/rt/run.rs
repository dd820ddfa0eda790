// SPDX-License-Identifier: GPL-2.0-or-later
//! Execution of real-time tasks: pick, charging of time, and tick.
//!
//! Models `pick_next_task_rt()`, `set_next_task_rt()`, `put_prev_task_rt()`, `update_curr_rt()`,
//! `task_tick_rt()`, `yield_task_rt()` and `check_preempt_curr_rt()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::callbacks::BalanceCallback;
use crate::state::rq::Rq;
use crate::state::rt::cpupri::CpuLevel;
use crate::state::task::{Policy, SchedClass, Tasks};
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, TaskId};

impl State {
    /// Picks the first task of the highest priority, unless all are throttled. Waiting tasks may then be
    /// pushed.
    pub(crate) fn pick_next_task_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> Option<TaskId> {
        let task = self.rqs[cpu].rt.first_runnable()?;
        self.set_next_task_rt(cpu, task);
        let curr = self.rqs[cpu].curr;
        if self.tasks[curr].class != SchedClass::RealTime {
            self.rqs[cpu].update_rt_rq_load_avg(ctx, &self.tunables, false);
        }
        self.rqs[cpu].queue_push_tasks();
        Some(task)
    }

    /// Makes a task the running one.
    pub(crate) fn set_next_task_rt(&mut self, cpu: CpuId, task: TaskId) {
        let se = self.tasks[task].se;
        let rq = &mut self.rqs[cpu];
        self.fair.entities[se].exec_start = rq.clock_task;
        rq.dequeue_pushable_task(&mut self.rt_root, &self.rules, task);
    }

    /// Stops the running task. It becomes pushable if it is still runnable.
    pub(crate) fn put_prev_task_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        self.update_curr_rt(ctx, cpu);
        self.rqs[cpu].update_rt_rq_load_avg(ctx, &self.tunables, true);
        let p = &self.tasks[task];
        if p.rt.on_rq {
            self.rqs[cpu].enqueue_pushable_task(&mut self.rt_root, &self.rules, task, p);
        }
    }

    /// Handles the tick of a real-time task. A SCHED_RR task whose slice is over moves to the tail of its
    /// priority.
    pub(crate) fn task_tick_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        self.update_curr_rt(ctx, cpu);
        self.rqs[cpu].update_rt_rq_load_avg(ctx, &self.tunables, true);
        let slice = self.tunables.rr_timeslice_ticks(self.tick_ns);
        let p = &mut self.tasks[task];
        if !matches!(p.policy, Policy::RoundRobin(_)) {
            return;
        }
        p.rt.time_slice = p.rt.time_slice.saturating_sub(1);
        if p.rt.time_slice > 0 {
            return;
        }
        p.rt.time_slice = slice;
        let prio = p.prio();
        let rt = &mut self.rqs[cpu].rt;
        if !rt.queues.is_alone(prio) {
            rt.requeue(&mut self.tasks, task, false);
            self.resched_curr(ctx, cpu);
        }
    }

    /// Charges the running real-time task for the time since the last charge, and all real-time tasks of the
    /// CPU for their runtime limit.
    pub(crate) fn update_curr_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let rq = &self.rqs[cpu];
        let curr = &self.tasks[rq.curr];
        if curr.class != SchedClass::RealTime {
            return;
        }
        let se = &mut self.fair.entities[curr.se];
        let delta = rq.clock_task.wrapping_sub(se.exec_start);
        if delta as i64 <= 0 {
            return;
        }
        se.sum_exec_runtime += delta;
        se.exec_start = rq.clock_task;
        ctx.report_runtime(rq.curr, delta);
        self.account_rt_runtime(ctx, cpu, delta);
    }

    /// Reschedules if a woken real-time task preempts the running one: its priority is higher; or the
    /// priorities are equal, the woken task cannot run on another CPU at once, and the running one can.
    pub(crate) fn check_preempt_curr_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        let rq = &self.rqs[cpu];
        let (p, curr) = (&self.tasks[task], &self.tasks[rq.curr]);
        if p.prio() < curr.prio() {
            self.resched_curr(ctx, cpu);
            return;
        }
        if p.prio() > curr.prio() || rq.need_resched {
            return;
        }
        let level = CpuLevel::from_prio(curr.prio());
        let has_other = |allowed: &CpuMask| self.rt_root.cpupri.has_below(level, allowed);
        if curr.nr_cpus_allowed == 1 || !has_other(&curr.cpus_allowed) {
            return;
        }
        if p.nr_cpus_allowed != 1 && has_other(&p.cpus_allowed) {
            return;
        }
        self.rqs[cpu].rt.requeue(&mut self.tasks, task, true);
        self.resched_curr(ctx, cpu);
    }
}

impl Rq {
    /// Lets the running task yield: it moves to the tail of its priority.
    pub(crate) fn yield_task_rt(&mut self, tasks: &mut Tasks) {
        self.rt.requeue(tasks, self.curr, false);
    }

    /// Queues a callback that pushes waiting tasks, if there are any.
    pub(crate) fn queue_push_tasks(&mut self) {
        if self.rt.pushable().first().is_some() {
            self.callbacks.queue(BalanceCallback::RtPush);
        }
    }
}
