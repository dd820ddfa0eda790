// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes of a task's attributes: nice value, policy, uclamp, allowed CPUs, group.
//!
//! Models `set_user_nice()`, `__sched_setscheduler()`, `set_cpus_allowed_ptr()`, `migration_cpu_stop()` and
//! `sched_move_task()` (6.1). A queued task is dequeued, changed, and enqueued again; a running one is put
//! and set again.

use crate::classes::deadline::admission::{PolicyError, check_policy};
use crate::classes::deadline::server::NoBandwidth;
use crate::classes::fair::cfs::place::Placement;
use crate::classes::fair::enqueue::{DequeueFlags, EnqueueFlags};
use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::paths::sched::Sched;
use crate::state::State;
use crate::state::lock::RqGuard;
use crate::state::new_task::weight_of;
use crate::state::prio::{NOT_INHERITED, Prio, class_of, normal_prio};
use crate::state::stop_work::StopWork;
use crate::state::task::{OnRq, Policy, SchedClass, TaskState, Uclamp};
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CfsRqId, CpuId, EntityId, GroupId, TaskId};
use crate::types::units::Nanos;
use core::ops::RangeInclusive;

/// The kernel's `-EINVAL`.
const EINVAL: i32 = -22;
/// The kernel's `-EBUSY`.
const EBUSY: i32 = -16;

/// Periods that a fair server may have, in ns.
const SERVER_PERIOD_NS: RangeInclusive<u64> = 100_000..=(1 << 22) * 1000;

/// Flags with which a task is enqueued after a change.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReenqueueFlags {
    /// At a new position; the task was dequeued with this flag as well.
    pub(crate) moved: bool,
    /// Ahead of the other tasks of its real-time priority.
    pub(crate) head: bool,
    /// With a new deadline budget.
    pub(crate) replenish: bool,
}

/// State of a task when it was dequeued for a change.
#[derive(Clone, Copy)]
pub(crate) struct DequeuedTask {
    queued: bool,
    running: bool,
}

impl Sched {
    /// Sets the nice value of a task, -20 to 19. A fair task loses a fair priority that it inherits (`effective_prio()`).
    pub fn set_nice(&mut self, ctx: &mut Ctx<'_>, task: TaskId, nice: i8) {
        self.finish_arrival(ctx, task);
        let p = &self.tasks[task];
        if p.nice == nice {
            return;
        }
        let cpu = p.cpu;
        let rq = self.rq_lock_clocked(ctx, cpu);
        let p = &mut self.tasks[task];
        if p.policy.class() != SchedClass::Fair {
            p.nice = nice;
            self.report_priority(ctx, task);
            return;
        }
        let (old_prio, class, se) = (p.prio(), p.class, p.se);
        let taken = self.sched_change_begin(ctx, &rq, task, false);
        let p = &mut self.tasks[task];
        p.nice = nice;
        if class == SchedClass::Fair {
            p.pi_prio = NOT_INHERITED;
        }
        let load = weight_of(p.policy, nice);
        self.report_priority(ctx, task);
        if class == SchedClass::Fair {
            self.reweight_task(ctx, task, load);
        } else {
            // The weight counts when the task is fair again, after the priority inheritance has ended.
            self.fair.entities[se].load = load;
        }
        self.sched_change_end(ctx, &rq, task, taken, ReenqueueFlags::default());
        self.prio_changed(ctx, &rq, task, old_prio);
    }

    /// Sets the policy of a task; its nice value stays.
    ///
    /// Rules, in order:
    /// 1. A deadline policy must have valid parameters, and its bandwidth must be available.
    /// 2. The task is dequeued, and enqueued with the new policy. It keeps its position if its priority stays
    ///    the same, and goes ahead of the others of its priority if its priority is lowered.
    /// 3. The old class handles the loss of the task and the new class its arrival, or the class handles the
    ///    new priority.
    /// 4. Deferred balance callbacks run.
    ///
    /// # Errors
    /// If deadline parameters are rejected. Then nothing has changed.
    pub fn set_policy(&mut self, ctx: &mut Ctx<'_>, task: TaskId, policy: Policy) -> Result<(), PolicyError> {
        self.finish_arrival(ctx, task);
        let policy = check_policy(policy)?;
        self.set_scheduler(ctx, task, policy, None)
    }

    /// Sets the policy of a task, or only its slice: `__sched_setscheduler()`.
    fn set_scheduler(
        &mut self,
        ctx: &mut Ctx<'_>,
        task: TaskId,
        policy: Policy,
        slice: Option<Nanos>,
    ) -> Result<(), PolicyError> {
        let p = &self.tasks[task];
        let cpu = p.cpu;
        let (old_class, old_prio) = (p.class, p.prio());
        let inherited = self.inherited_prio(p.pi_top_task);
        let new_prio = normal_prio(policy, p.nice).min(inherited);
        let rq = self.rq_lock_clocked(ctx, cpu);
        // In 6.12, a fair policy without a slice resets the slice.
        let sets_slice = self.rules.has_task_slices && matches!(policy, Policy::Normal | Policy::Batch);
        let new_slice = slice.unwrap_or_default();
        let p = &self.tasks[task];
        // A slice is 0 if it was taken from a base slice of 0.
        let keeps_flags = !matches!(policy, Policy::Deadline { .. }) || p.dl.reclaims == p.dl.next_reclaims;
        let keeps_slice = !sets_slice || self.fair.entities[p.se].slice == new_slice.0;
        if p.policy == policy && keeps_flags && keeps_slice {
            return Ok(());
        }
        self.admit(ctx, task, policy)?;
        // A task that leaves the deadline class for itself, and stays in it for its waiter, takes the waiter's parameters.
        let inherits_deadline = new_prio < 0 && policy.class() != SchedClass::Deadline;
        let donated = self.tasks[task].pi_top_task.filter(|_| inherits_deadline);
        let donated = donated.map(|waiter| self.tasks[waiter].dl.effective());
        let (moved, head) = (new_prio != old_prio, old_prio < new_prio);
        let how = ReenqueueFlags { moved, head, replenish: donated.is_some() };
        self.end_delay_for_class(ctx, &rq, task, class_of(new_prio));
        let taken = self.sched_change_begin(ctx, &rq, task, how.moved);
        self.nr_attribute_changes += 1;
        let p = &mut self.tasks[task];
        (p.policy, p.pi_prio) = (policy, inherited);
        p.dl.inherited = donated.or(p.dl.inherited);
        if let Policy::Deadline { runtime, deadline, period } = policy {
            p.dl.set_parameters(runtime.0, deadline.0, period.0);
            p.dl.reclaims = core::mem::take(&mut p.dl.next_reclaims);
        }
        let (se, load) = (p.se, weight_of(policy, p.nice));
        if sets_slice {
            self.write_slice(se, new_slice);
        }
        if old_class == SchedClass::Fair {
            self.reweight_task(ctx, task, load);
        } else {
            self.fair.entities[se].load = load;
        }
        self.tasks[task].class = class_of(new_prio);
        if slice.is_none() {
            self.report_priority(ctx, task);
        }
        self.state.tasks[task].reset_uclamp(&self.state.rules);
        self.sched_change_end(ctx, &rq, task, taken, how);
        self.check_class_changed(ctx, &rq, task, old_class, old_prio);
        self.balance_callbacks(ctx, cpu);
        Ok(())
    }

    /// Returns the priority that a task inherits from its most important waiter.
    pub(crate) fn inherited_prio(&self, waiter: Option<TaskId>) -> Prio {
        waiter.map_or(NOT_INHERITED, |waiter| self.tasks[waiter].prio())
    }

    /// Reports the priority of a task that was set for itself to the observer.
    pub(crate) fn report_priority(&self, ctx: &mut Ctx<'_>, task: TaskId) {
        let prio = self.tasks[task].prio();
        ctx.report(Event::Priority { task, prio, is_inherited: false, on: ctx.cpu });
    }

    /// Sets the utilisation clamps of a task. The task is dequeued for the change, as one that moves if it has lost an
    /// inherited priority by a new nice value.
    ///
    /// # Errors
    /// `-EBUSY` if the task inherits a deadline. Then nothing has changed.
    pub fn set_uclamp(&mut self, ctx: &mut Ctx<'_>, task: TaskId, clamps: Uclamp) -> Result<(), i32> {
        self.finish_arrival(ctx, task);
        self.uclamp_used = true;
        let p = &self.tasks[task];
        let (cpu, class, prio, policy) = (p.cpu, p.class, p.prio(), p.policy);
        let moved = normal_prio(policy, p.nice).min(self.inherited_prio(p.pi_top_task)) != prio;
        let rq = self.rq_lock_clocked(ctx, cpu);
        self.admit(ctx, task, policy).map_err(PolicyError::errno)?;
        let how = ReenqueueFlags { moved, ..ReenqueueFlags::default() };
        let taken = self.sched_change_begin(ctx, &rq, task, how.moved);
        let p = &mut self.tasks[task];
        (p.uclamp, p.has_uclamp) = (clamps, true);
        self.sched_change_end(ctx, &rq, task, taken, how);
        self.check_class_changed(ctx, &rq, task, class, prio);
        self.balance_callbacks(ctx, cpu);
        Ok(())
    }

    /// Moves a task to a group (`sched_move_task()`). A task that is already in this group is dequeued and
    /// enqueued all the same.
    pub fn move_to_group(&mut self, ctx: &mut Ctx<'_>, task: TaskId, group: GroupId) {
        self.finish_arrival(ctx, task);
        let cpu = self.tasks[task].cpu;
        let rq = self.rq_lock_clocked(ctx, cpu);
        let taken = self.sched_change_begin(ctx, &rq, task, true);
        if self.tasks[task].class == SchedClass::Fair && self.tasks[task].state != TaskState::New {
            self.detach_task_cfs_rq(ctx, task);
            let se = self.tasks[task].se;
            self.fair.entities[se].avg.last_update_time = 0;
            self.tasks[task].group = group;
            self.enter_group(ctx, task, cpu);
            self.attach_task_cfs_rq(ctx, task);
        } else {
            self.tasks[task].group = group;
            self.enter_group(ctx, task, cpu);
        }
        self.sched_change_end(ctx, &rq, task, taken, ReenqueueFlags { moved: true, ..ReenqueueFlags::default() });
        if taken.running {
            // After a change of group, another task may have to run.
            self.resched_curr(ctx, cpu);
        }
    }

    /// Sets the CPUs that a task may use. Returns whether the caller must wait until a stopper has moved the
    /// task.
    ///
    /// The stopper then wakes `waiter`. The waiter sleeps meanwhile, unless [`Sched::handle_awaited_stopper`]
    /// runs the stopper first.
    ///
    /// # Panics
    /// If the mask is empty.
    pub fn set_affinity(&mut self, ctx: &mut Ctx<'_>, task: TaskId, mask: &CpuMask, waiter: Option<TaskId>) -> bool {
        let limited = self.within_cpuset(task, mask);
        self.set_cpus_allowed_ptr(ctx, task, limited.as_ref().unwrap_or(mask), waiter)
    }

    /// Sets the CPUs that a task may use, regardless of its cpuset (`set_cpus_allowed_ptr()`). Returns
    /// whether the caller must wait for a stopper.
    pub(crate) fn set_cpus_allowed_ptr(
        &mut self,
        ctx: &mut Ctx<'_>,
        task: TaskId,
        mask: &CpuMask,
        waiter: Option<TaskId>,
    ) -> bool {
        self.finish_arrival(ctx, task);
        let cpu = self.tasks[task].cpu;
        let rq = self.rq_lock_clocked(ctx, cpu);
        if self.tasks[task].cpus_allowed == *mask {
            return false;
        }
        if !mask.intersects(&self.hotplug.active) {
            return false;
        }
        let to = self.pick_distributed(ctx, mask);
        self.do_set_cpus_allowed(ctx, &rq, task, mask);
        let p = &self.tasks[task];
        if mask.contains(p.cpu) {
            return false;
        }
        if p.on_cpu || p.state == TaskState::Waking {
            self.stop_one_cpu_nowait(ctx, cpu, StopWork::Migrate { task, to, waiter });
            return true;
        }
        if p.is_queued() {
            self.move_queued_task(ctx, rq, task, to);
        }
        false
    }

    /// Sets the CPUs that a task may use, under the lock of its runqueue (`do_set_cpus_allowed()`). The task
    /// is not moved.
    pub(crate) fn do_set_cpus_allowed(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId, mask: &CpuMask) {
        let taken = self.sched_change_begin(ctx, rq, task, false);
        self.nr_attribute_changes += 1;
        let p = &mut self.tasks[task];
        p.cpus_allowed.copy_from(mask);
        p.nr_cpus_allowed = mask.weight() as u32;
        if p.class == SchedClass::Fair {
            let State { tasks, domains, rqs, .. } = &mut self.state;
            tasks[task].set_max_allowed_capacity(domains, rqs);
        }
        self.sched_change_end(ctx, rq, task, taken, ReenqueueFlags::default());
    }

    /// Moves a task to an allowed CPU, in the stopper of its CPU (`migration_cpu_stop()`).
    pub(crate) fn migration_cpu_stop(&mut self, ctx: &mut Ctx<'_>, task: TaskId, to: CpuId) {
        self.flush_call_queue(ctx);
        self.finish_arrival(ctx, task);
        let p = &self.tasks[task];
        if p.cpu == ctx.cpu && !p.cpus_allowed.contains(p.cpu) {
            self.migrate_from_here(ctx, task, to);
        }
    }

    /// Moves a task of the executing CPU, in its stopper (`__migrate_task()`). A task that is not queued
    /// moves at its next wake-up.
    pub(crate) fn migrate_from_here(&mut self, ctx: &mut Ctx<'_>, task: TaskId, to: CpuId) {
        if self.tasks[task].is_queued() {
            if self.is_cpu_allowed(task, to) {
                let rq = self.rq_lock_clocked(ctx, ctx.cpu);
                self.move_queued_task(ctx, rq, task, to);
            }
        } else {
            self.tasks[task].wake_cpu = to;
        }
    }

    pub(crate) fn move_queued_task(&mut self, ctx: &mut Ctx<'_>, from: RqGuard, task: TaskId, to: CpuId) {
        self.deactivate_task(ctx, &from, task, DequeueFlags::default());
        self.set_task_cpu(ctx, task, to);
        let to = self.rq_lock_clocked(ctx, to);
        self.activate_task(ctx, &to, task, EnqueueFlags::default());
        self.check_preempt_curr(ctx, &to, task, false);
    }

    /// Returns an allowed active CPU, a different one each time (`cpumask_any_and_distribute()`).
    fn pick_distributed(&mut self, ctx: &Ctx<'_>, mask: &CpuMask) -> CpuId {
        let nr_cpus = self.nr_cpus();
        let State { rqs, hotplug, .. } = &mut self.state;
        let this_rq = &mut rqs[ctx.cpu];
        let start = this_rq.distribution_start(nr_cpus);
        let cpu = mask.iter_and_wrap_from(&hotplug.active, start).next().expect("some CPU of them is active");
        this_rq.distribute_prev = cpu;
        cpu
    }

    /// Dequeues a task whose dequeue was delayed, if it is about to enter another class.
    pub(crate) fn end_delay_for_class(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId, class: SchedClass) {
        let p = &self.tasks[task];
        if p.class != class && self.fair.entities[p.se].is_delayed {
            let flags = DequeueFlags { sleep: true, delayed: true, ..DequeueFlags::default() };
            self.dequeue_task(ctx, rq, task, flags);
        }
    }

    pub(crate) fn sched_change_begin(
        &mut self,
        ctx: &mut Ctx<'_>,
        rq: &RqGuard,
        task: TaskId,
        moved: bool,
    ) -> DequeuedTask {
        rq.assert_is_of(self.tasks[task].cpu);
        let p = &self.tasks[task];
        let running = self.rqs[rq.cpu()].curr == task;
        let taken = DequeuedTask { queued: p.on_rq == OnRq::Queued, running };
        if taken.queued {
            let flags = DequeueFlags { save: true, moved, ..DequeueFlags::default() };
            self.dequeue_task(ctx, rq, task, flags);
        }
        if taken.running {
            self.put_prev_task(ctx, rq, task);
        }
        taken
    }

    pub(crate) fn sched_change_end(
        &mut self,
        ctx: &mut Ctx<'_>,
        rq: &RqGuard,
        task: TaskId,
        taken: DequeuedTask,
        how: ReenqueueFlags,
    ) {
        if taken.queued {
            let ReenqueueFlags { moved, head, replenish } = how;
            let flags = EnqueueFlags { restore: true, moved, head, replenish, ..EnqueueFlags::default() };
            self.enqueue_task(ctx, rq, task, flags);
        }
        if taken.running {
            self.set_next_task(ctx, rq, task);
        }
    }

    /// Handles a changed weight or priority of a fair task (`prio_changed_fair()`). A positive `change` means
    /// lower importance.
    fn prio_changed_fair(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId, change: i32) {
        let cpu = rq.cpu();
        let p = &self.tasks[task];
        if !p.is_queued() || self.fair.cfs_rqs[CfsRqId::root(cpu)].nr_running == 1 {
            return;
        }
        if self.rqs[cpu].curr != task {
            self.check_preempt_curr(ctx, rq, task, false);
        } else if change > 0 {
            self.resched_curr(ctx, cpu);
        }
    }

    /// Lets the classes handle a change of class or priority (`check_class_changed()`).
    pub(crate) fn check_class_changed(
        &mut self,
        ctx: &mut Ctx<'_>,
        rq: &RqGuard,
        task: TaskId,
        old_class: SchedClass,
        old_prio: Prio,
    ) {
        let p = &self.tasks[task];
        let (class, prio) = (p.class, p.prio());
        if class != old_class {
            match old_class {
                SchedClass::Fair => self.detach_task_cfs_rq(ctx, task),
                SchedClass::RealTime => {
                    let p = &self.state.tasks[task];
                    self.state.rqs[p.cpu].switched_from_rt(p);
                }
                SchedClass::Deadline => self.switched_from_dl(ctx, task),
                SchedClass::Stop | SchedClass::Idle => {}
            }
            match class {
                SchedClass::Fair => self.switched_to_fair(ctx, rq, task),
                SchedClass::RealTime => self.switched_to_rt(ctx, task),
                SchedClass::Deadline => self.switched_to_dl(ctx, task),
                SchedClass::Stop | SchedClass::Idle => {}
            }
        } else if prio != old_prio || class == SchedClass::Deadline {
            self.prio_changed(ctx, rq, task, old_prio);
        }
    }

    /// Lets the class of a task handle a change of its priority.
    fn prio_changed(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId, old_prio: Prio) {
        let p = &self.tasks[task];
        match p.class {
            SchedClass::Fair => self.prio_changed_fair(ctx, rq, task, p.prio() - old_prio),
            SchedClass::RealTime => {
                let State { rqs, tasks, .. } = &mut self.state;
                if rqs[rq.cpu()].prio_changed_rt(tasks, task, old_prio) {
                    self.resched_curr(ctx, rq.cpu());
                }
            }
            SchedClass::Deadline => {
                let State { rqs, tasks, rules, .. } = &mut self.state;
                if rqs[rq.cpu()].prio_changed_dl(rules, tasks, task) {
                    self.resched_curr(ctx, rq.cpu());
                }
            }
            SchedClass::Stop | SchedClass::Idle => {}
        }
    }

    /// Handles the arrival of a task in the fair class: attaches its averages. A running task is rescheduled,
    /// because other tasks may be waiting; a queued one may preempt.
    fn switched_to_fair(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId) {
        self.attach_task_cfs_rq(ctx, task);
        let State { tasks, domains, rqs, .. } = &mut self.state;
        tasks[task].set_max_allowed_capacity(domains, rqs);
        let cpu = rq.cpu();
        if !self.tasks[task].is_queued() {
            return;
        }
        if self.rqs[cpu].curr == task {
            self.resched_curr(ctx, cpu);
        } else {
            self.check_preempt_curr(ctx, rq, task, false);
        }
    }

    /// Sets the slice of a fair task (`sched_setattr()`, 6.12); 0 is that of the kernel. Clamps that the task has not
    /// set for itself become the defaults. Kernels before 6.12 ignore it.
    ///
    /// # Errors
    /// `-EINVAL` if the task has another policy than SCHED_NORMAL and SCHED_BATCH, `-EBUSY` if it inherits a deadline.
    pub fn set_slice(&mut self, ctx: &mut Ctx<'_>, task: TaskId, slice: Nanos) -> Result<(), i32> {
        if !self.rules.has_task_slices {
            return Ok(());
        }
        let policy = self.tasks[task].policy;
        if !matches!(policy, Policy::Normal | Policy::Batch) {
            return Err(EINVAL);
        }
        self.finish_arrival(ctx, task);
        self.set_scheduler(ctx, task, policy, Some(slice)).map_err(PolicyError::errno)
    }

    /// Gives an entity a slice of its own, or with 0 that of the kernel (`__setparam_fair()`).
    fn write_slice(&mut self, se: EntityId, slice: Nanos) {
        self.nr_attribute_changes += 1;
        let base_slice_ns = self.tunables.base_slice_ns;
        let entity = &mut self.fair.entities[se];
        if slice > Nanos::ZERO {
            entity.set_custom_slice(slice);
        } else {
            (entity.has_custom_slice, entity.slice) = (false, base_slice_ns);
        }
    }

    /// Sets runtime and period of the fair server of a CPU (6.12), which is stopped for the change. A runtime of 0
    /// switches it off. Kernels before 6.12 ignore it.
    ///
    /// # Errors
    /// `-EINVAL` if the kernel does not accept the values, `-EBUSY` if the CPU is offline or less bandwidth is free.
    pub fn set_fair_server(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, runtime: Nanos, period: Nanos) -> Result<(), i32> {
        if !self.rules.has_fair_server {
            return Ok(());
        }
        if runtime > period || !SERVER_PERIOD_NS.contains(&period.0) {
            return Err(EINVAL);
        }
        if !self.hotplug.online.contains(cpu) {
            return Err(EBUSY);
        }
        let _rq = self.rq_lock_clocked(ctx, cpu);
        self.dl_server_stop(ctx, cpu);
        let result = self.apply_server_parameters(ctx, cpu, runtime.0, period.0, false);
        if self.fair.cfs_rqs[CfsRqId::root(cpu)].h_nr_running > 0 {
            self.dl_server_start(ctx, cpu);
        }
        result.map_err(|NoBandwidth| EBUSY)
    }

    /// Whether a task's virtual runtime is relative to `min_vruntime` (`vruntime_normalized()`).
    fn is_vruntime_relative(&self, task: TaskId) -> bool {
        let p = &self.tasks[task];
        p.on_rq != OnRq::No
            || self.fair.entities[p.se].sum_exec_runtime == 0
            || (p.state == TaskState::Waking && p.remote_wakeup)
    }

    fn detach_task_cfs_rq(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let se = self.tasks[task].se;
        let cfs_rq = self.fair.entities[se].cfs_rq;
        if !self.rules.keeps_vruntime_absolute && !self.is_vruntime_relative(task) {
            self.place_entity_cfs(cfs_rq, se, Placement::Wakeup);
            let fair = &mut self.fair;
            fair.entities[se].make_vruntime_relative(fair.cfs_rqs[cfs_rq].min_vruntime);
        }
        self.detach_entity_cfs_rq(ctx, se);
    }

    fn attach_task_cfs_rq(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let se = self.tasks[task].se;
        self.attach_entity_cfs_rq(ctx, se);
        if !self.rules.keeps_vruntime_absolute && !self.is_vruntime_relative(task) {
            let (cfs_rq, fair) = (self.fair.entities[se].cfs_rq, &mut self.fair);
            fair.entities[se].make_vruntime_absolute(fair.cfs_rqs[cfs_rq].min_vruntime);
        }
    }

    fn enter_group(&mut self, ctx: &mut Ctx<'_>, task: TaskId, cpu: CpuId) {
        let wake_cpu = self.tasks[task].wake_cpu;
        self.state.fair.place_task_on(ctx, self.state.features, &mut self.state.tasks[task], cpu);
        self.tasks[task].wake_cpu = wake_cpu;
    }
}

#[cfg(test)]
mod tests;
