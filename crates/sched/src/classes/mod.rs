// SPDX-License-Identifier: GPL-2.0-or-later
//! Scheduling classes: operations that dispatch to the class of a task (`struct sched_class`).

pub mod deadline;
pub mod fair;
pub(crate) mod rt;
pub mod snapshot;
pub(crate) mod throttling;

use crate::classes::deadline::server::fair_server;
use crate::classes::fair::enqueue::{DequeueFlags, EnqueueFlags};
use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::state::State;
use crate::state::lock::RqGuard;
use crate::state::task::{OnRq, SchedClass, TaskState};
use crate::types::ids::{CpuId, TaskId};

impl State {
    /// Enqueues a task on a runqueue whose clock is up to date (`activate_task()`).
    pub(crate) fn activate_task(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId, mut flags: EnqueueFlags) {
        flags.migrated |= self.tasks[task].is_migrating();
        self.enqueue_task(ctx, rq, task, flags);
        self.tasks[task].on_rq = OnRq::Queued;
    }

    /// Dequeues a task because it sleeps or migrates (`deactivate_task()`).
    ///
    /// In 6.12 a task that sleeps may stay queued; it leaves later.
    pub(crate) fn deactivate_task(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId, flags: DequeueFlags) {
        if flags.sleep && self.rules.delays_dequeue {
            if self.dequeue_task(ctx, rq, task, flags) {
                self.tasks[task].on_rq = OnRq::No;
            }
            return;
        }
        self.tasks[task].on_rq = if flags.sleep { OnRq::No } else { OnRq::Migrating };
        self.dequeue_task(ctx, rq, task, flags);
    }

    pub(crate) fn enqueue_task(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId, flags: EnqueueFlags) {
        rq.assert_is_of(self.tasks[task].cpu);
        let cpu = rq.cpu();
        let now = self.rqs[cpu].clock;
        let p = &mut self.tasks[task];
        if !flags.restore && p.info.last_queued == 0 {
            p.info.last_queued = now;
        }
        let class = p.class;
        // 6.12 counts the clamps of a task afterwards.
        let is_after = self.rules.counts_clamps_after_enqueue;
        if !is_after {
            self.rqs[cpu].uclamp_inc(&mut self.tasks[task], &self.fair.groups, self.uclamp_used);
        }
        match class {
            SchedClass::Fair => self.enqueue_task_fair(ctx, cpu, task, flags),
            SchedClass::RealTime => self.enqueue_task_rt(ctx, cpu, task, flags),
            SchedClass::Deadline => self.enqueue_task_dl(ctx, cpu, task, flags),
            SchedClass::Stop => self.rqs[cpu].add_nr_running(&mut self.lb_cache, &mut self.domains.root, 1),
            SchedClass::Idle => unreachable!("tasks of this class are never enqueued: {task:?}"),
        }
        if is_after && !self.fair.entities[self.tasks[task].se].is_delayed {
            self.rqs[cpu].uclamp_inc(&mut self.tasks[task], &self.fair.groups, self.uclamp_used);
        }
        if self.has_throttled {
            self.fair.report_throttling(ctx, &self.rqs, &mut self.tasks, task);
        }
    }

    /// Dequeues a task. Returns whether it has left: in 6.12 a task that sleeps may stay queued for a while.
    pub(crate) fn dequeue_task(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId, flags: DequeueFlags) -> bool {
        rq.assert_is_of(self.tasks[task].cpu);
        let cpu = rq.cpu();
        let rq = &mut self.rqs[cpu];
        let p = &mut self.tasks[task];
        if !flags.save && p.info.last_queued != 0 {
            let delay = rq.clock.wrapping_sub(core::mem::take(&mut p.info.last_queued));
            p.info.run_delay = p.info.run_delay.wrapping_add(delay);
            rq.stats.run_delay = rq.stats.run_delay.wrapping_add(delay);
        }
        let class = p.class;
        rq.uclamp_dec(p);
        match class {
            SchedClass::Fair => return self.dequeue_task_fair(ctx, cpu, task, flags),
            SchedClass::RealTime => self.dequeue_task_rt(ctx, cpu, task, flags),
            SchedClass::Deadline => self.dequeue_task_dl(ctx, cpu, task, flags),
            SchedClass::Stop => self.rqs[cpu].sub_nr_running(&mut self.lb_cache, 1),
            SchedClass::Idle => unreachable!("tasks of this class are never dequeued: {task:?}"),
        }
        true
    }

    /// Stops the running task (`put_prev_task()`).
    pub(crate) fn put_prev_task(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId) {
        rq.assert_is_of(self.tasks[task].cpu);
        let cpu = rq.cpu();
        match self.tasks[task].class {
            SchedClass::Fair => self.put_prev_task_fair(ctx, task),
            SchedClass::RealTime => self.put_prev_task_rt(ctx, cpu, task),
            SchedClass::Deadline => self.put_prev_task_dl(ctx, cpu, task),
            SchedClass::Stop => {
                let now = self.rqs[cpu].clock_task;
                let se = &mut self.fair.entities[self.tasks[task].se];
                se.sum_exec_runtime += now.saturating_sub(se.exec_start);
                se.exec_start = now;
            }
            SchedClass::Idle => {
                if self.rules.has_fair_server {
                    let se = &mut self.fair.entities[self.tasks[task].se];
                    let server = &mut self.tasks[fair_server(cpu)].dl;
                    server.charge_idle_time(self.rqs[cpu].clock_task, &mut se.exec_start);
                }
            }
        }
    }

    /// Makes a task that was dequeued briefly for a change the running one again (`set_next_task()`).
    pub(crate) fn set_next_task(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId) {
        rq.assert_is_of(self.tasks[task].cpu);
        let cpu = rq.cpu();
        match self.tasks[task].class {
            SchedClass::Fair => self.set_next_task_fair(ctx, task),
            SchedClass::RealTime => self.set_next_task_rt(cpu, task),
            SchedClass::Deadline => self.set_next_task_dl(ctx, cpu, task, false),
            SchedClass::Stop | SchedClass::Idle => {}
        }
    }

    /// Reschedules if a task that has become runnable preempts the running one. A higher class always
    /// preempts; within a class the class decides.
    pub(crate) fn check_preempt_curr(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId, is_fork: bool) {
        rq.assert_is_of(self.tasks[task].cpu);
        let cpu = rq.cpu();
        let curr = self.rqs[cpu].curr;
        let (class, curr_class) = (self.tasks[task].class, self.tasks[curr].class);
        if class > curr_class {
            self.resched_curr(ctx, cpu);
        } else if class == curr_class {
            match class {
                SchedClass::Fair => self.check_preempt_wakeup(ctx, cpu, task, is_fork),
                SchedClass::RealTime => self.check_preempt_curr_rt(ctx, cpu, task),
                SchedClass::Deadline => self.check_preempt_curr_dl(ctx, cpu, task),
                SchedClass::Idle => self.resched_curr(ctx, cpu),
                SchedClass::Stop => {}
            }
        }
        // Rescheduling follows at once, so its clock update would find no new time.
        if self.tasks[curr].is_queued() && self.rqs[cpu].need_resched {
            self.rqs[cpu].skip_clock_update();
        }
    }

    /// Assigns a task to another CPU (`set_task_cpu()`).
    ///
    /// The virtual runtime of a woken fair task becomes relative, and its averages are recorded as removed on
    /// the old CPU.
    pub(crate) fn set_task_cpu(&mut self, ctx: &mut Ctx<'_>, task: TaskId, to: CpuId) {
        let p = &self.tasks[task];
        let (from, se, class, state, is_migrating) = (p.cpu, p.se, p.class, p.state, p.is_migrating());
        ctx.report(Event::Migrate { task, from, to, on: ctx.cpu });
        if from != to && class == SchedClass::Fair {
            if state == TaskState::Waking && !self.rules.keeps_vruntime_absolute {
                let entity = &mut self.fair.entities[se];
                entity.make_vruntime_relative(self.fair.cfs_rqs[entity.cfs_rq].min_vruntime);
            }
            if !is_migrating {
                ctx.op_counts.touch_write(from);
                self.fair.remove_entity_load_avg(ctx, se);
                self.fair.migrate_se_pelt_lag(ctx, &self.rqs[from], se);
            }
            self.fair.entities[se].avg.last_update_time = 0;
        }
        if from != to && class == SchedClass::Deadline {
            self.migrate_task_rq_dl(ctx, task);
        }
        self.fair.place_task_on(ctx, self.features, &mut self.tasks[task], to);
    }
}
