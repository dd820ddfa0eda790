// SPDX-License-Identifier: GPL-2.0-or-later
//! Admission control of deadline bandwidth, and changes of a task to and from the deadline class.
//!
//! Models `__checkparam_dl()`, `sched_dl_overflow()`, `dl_change_utilization()`, `switched_from_dl()`,
//! `switched_to_dl()`, `prio_changed_dl()` and the deadline part of `__sched_setscheduler()` (6.1). Admitted
//! bandwidth is counted for the whole machine: all CPUs together provide the share that real-time tasks may
//! use.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::callbacks::BalanceCallback;
use crate::state::deadline::entity::{time_before, to_ratio};
use crate::state::rq::Rq;
use crate::state::task::{Policy, SchedClass, Tasks};
use crate::types::ids::{CpuId, TaskId};
use crate::types::kernel_rules::KernelRules;
use crate::types::tunables::Tunables;
use crate::types::units::{Capacity, SCHED_CAPACITY_SCALE, cap_scale};
use core::fmt;

/// Minimum runtime, in ns.
const MIN_RUNTIME_NS: u64 = 1 << 10;
/// Minimum period, in ns (`sched_deadline_period_min_us`).
const MIN_PERIOD_NS: u64 = 100_000;
/// Maximum period, in ns (`sched_deadline_period_max_us`).
const MAX_PERIOD_NS: u64 = (1 << 22) * 1000;

/// Reason why a task does not get a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyError {
    /// Runtime, deadline and period are not in ascending order, or out of range.
    BadParameters,
    /// Less bandwidth is free than the task needs.
    NoBandwidth,
    /// The affinity of the task excludes CPUs over which its bandwidth would be spread.
    RestrictedAffinity,
}

impl PolicyError {
    /// Returns the error number of `sched_setattr()`.
    pub const fn errno(self) -> i32 {
        match self {
            Self::BadParameters => -22,
            Self::NoBandwidth => -16,
            Self::RestrictedAffinity => -1,
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadParameters => {
                "deadline parameters must be 1024 ns <= runtime <= deadline <= period, the period 100 us to 4194.304 ms"
            }
            Self::NoBandwidth => "not enough deadline bandwidth is free; request less runtime in each period",
            Self::RestrictedAffinity => "a deadline task must be allowed on all CPUs; do not restrict its affinity",
        })
    }
}

impl core::error::Error for PolicyError {}

/// Checks the parameters of a policy. A period of 0 becomes the deadline.
pub(crate) fn check_policy(policy: Policy) -> Result<Policy, PolicyError> {
    let Policy::Deadline { runtime, deadline, period } = policy else { return Ok(policy) };
    let period = if period.0 == 0 { deadline } else { period };
    let is_ordered = MIN_RUNTIME_NS <= runtime.0 && runtime <= deadline && deadline <= period;
    if is_ordered && (MIN_PERIOD_NS..=MAX_PERIOD_NS).contains(&period.0) {
        Ok(Policy::Deadline { runtime, deadline, period })
    } else {
        Err(PolicyError::BadParameters)
    }
}

impl State {
    /// Checks that the affinity of a task permits a deadline policy: it must include all CPUs, as the system
    /// call requires.
    ///
    /// # Errors
    /// If the affinity excludes a CPU.
    pub fn check_deadline_affinity(&self, task: TaskId, policy: Policy) -> Result<(), PolicyError> {
        let is_restricted = (self.tasks[task].nr_cpus_allowed as usize) < self.rqs.len();
        let is_limited = self.tunables.rt_runtime_us >= 0;
        match policy {
            Policy::Deadline { .. } if is_limited && (is_restricted || self.tunables.rt_runtime_us == 0) => {
                Err(PolicyError::RestrictedAffinity)
            }
            _ => Ok(()),
        }
    }

    /// Admits the bandwidth of a task's new policy. Models `sched_dl_overflow()` (6.1). A task that leaves
    /// the class stays admitted until its zero-lag time. On a CPU that is offline, a sleeping task is in a root domain
    /// without active CPUs, which has no bandwidth.
    ///
    /// # Errors
    /// If not enough bandwidth is free.
    pub(crate) fn admit(&mut self, ctx: &mut Ctx<'_>, task: TaskId, policy: Policy) -> Result<(), PolicyError> {
        let p = &self.tasks[task];
        let has_dl_policy = p.policy.class() == SchedClass::Deadline;
        let Policy::Deadline { runtime, period, .. } = policy else {
            // The kernel counts a task that inherits a deadline as one without admitted bandwidth.
            let only_inherits = p.class == SchedClass::Deadline && !has_dl_policy;
            return if only_inherits { Err(PolicyError::NoBandwidth) } else { Ok(()) };
        };
        if p.dl.is_special {
            return Ok(());
        }
        let new_bw = to_ratio(period.0, runtime.0);
        let old_bw = p.dl.dl_bw;
        if has_dl_policy && new_bw == old_bw {
            return Ok(());
        }
        if self.tunables.rt_runtime_us >= 0 && !self.hotplug.active.contains(p.cpu) {
            return Err(PolicyError::NoBandwidth);
        }
        let replaced = if has_dl_policy { old_bw } else { 0 };
        let wanted = self.dl_root.total_bw().wrapping_sub(replaced).wrapping_add(new_bw);
        if self.dl_bandwidth_limit().is_some_and(|limit| limit < wanted) {
            return Err(PolicyError::NoBandwidth);
        }
        let is_still_admitted = has_dl_policy || p.dl.is_inactive_timer_active(&self.rqs, task);
        let released = if is_still_admitted { old_bw } else { 0 };
        self.dl_root.sub_admitted(released, &self.hotplug.active);
        self.dl_root.add_admitted(new_bw, &self.hotplug.active);
        // A queued task is dequeued and enqueued for the change anyway.
        if has_dl_policy && !p.is_queued() {
            self.replace_rq_bw(ctx, p.cpu, task, new_bw);
        }
        Ok(())
    }

    /// Returns the bandwidth that all deadline tasks together may have, in units of 2^-20 of a CPU. `None`
    /// without a limit of real-time runtime. Slower CPUs contribute less; before 5.9 all CPUs contribute the
    /// same.
    pub(crate) fn dl_bandwidth_limit(&self) -> Option<u64> {
        let counts_all = self.tunables.changes.dl_any_cpu;
        let capacity = |cpu| if counts_all { SCHED_CAPACITY_SCALE } else { self.rqs[cpu].cpu_capacity_orig };
        self.tunables.dl_bandwidth_of(self.hotplug.active.iter().map(capacity).sum())
    }

    /// Replaces the bandwidth of a task or server on its CPU (`dl_rq_change_utilization()`).
    pub(super) fn replace_rq_bw(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, new_bw: u64) {
        if self.tasks[task].dl.is_non_contending {
            self.sub_running_bw(ctx, cpu, task);
            self.tasks[task].dl.clear_non_contending(ctx, &mut self.rqs, task);
        }
        let dl = &mut self.rqs[cpu].dl;
        dl.sub_rq_bw(self.tasks[task].dl.dl_bw);
        dl.add_rq_bw(new_bw);
    }

    /// Handles a task that has left the class. Its bandwidth stays admitted until its zero-lag time. If it
    /// was the last deadline task of the CPU, a task may be pulled from another CPU.
    pub(crate) fn switched_from_dl(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let p = &self.tasks[task];
        let (cpu, is_queued) = (p.cpu, p.is_queued());
        if is_queued && p.dl.dl_runtime > 0 {
            self.task_non_contending(ctx, task);
        }
        if !is_queued {
            if self.tasks[task].dl.is_non_contending {
                self.sub_running_bw(ctx, cpu, task);
            }
            self.rqs[cpu].dl.sub_rq_bw(self.tasks[task].dl.dl_bw);
        }
        self.tasks[task].dl.is_non_contending = false;
        let rq = &mut self.rqs[cpu];
        if is_queued && rq.dl.nr_running() == 0 {
            rq.callbacks.queue(BalanceCallback::DlPull);
        }
    }

    /// Handles a task that has entered the class: it may preempt, and tasks are pushed away if its CPU is
    /// overloaded.
    pub(crate) fn switched_to_dl(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let p = &self.tasks[task];
        p.dl.cancel_inactive_timer(ctx, &mut self.rqs, task);
        let cpu = p.cpu;
        let rq = &mut self.rqs[cpu];
        if !p.is_queued() {
            rq.dl.add_rq_bw(p.dl.dl_bw);
            return;
        }
        let curr = rq.curr;
        if curr == task {
            self.rqs[cpu].update_dl_rq_load_avg(ctx, &self.tunables, false);
            return;
        }
        if p.nr_cpus_allowed > 1 && rq.dl.overloaded() && !rq.dl.pushable().is_empty() {
            rq.callbacks.queue(BalanceCallback::DlPush);
        }
        if self.tasks[curr].class == SchedClass::Deadline {
            self.check_preempt_curr_dl(ctx, cpu, task);
        } else {
            self.resched_curr(ctx, cpu);
        }
    }
}

impl Rq {
    /// Handles changed parameters of a task of the class, whose deadline may now be later than others. Returns whether
    /// the CPU must reschedule.
    pub(crate) fn prio_changed_dl(&mut self, rules: &KernelRules, tasks: &Tasks, task: TaskId) -> bool {
        let p = &tasks[task];
        let is_current = self.curr == task;
        if !p.is_queued() && (rules.dl_change_reschedules_others || !is_current) {
            return false;
        }
        if !self.dl.overloaded() {
            self.callbacks.queue(BalanceCallback::DlPull);
        }
        if rules.dl_change_reschedules_others && !is_current {
            let curr = &tasks[self.curr];
            curr.class != SchedClass::Deadline || time_before(p.dl.deadline, curr.dl.deadline)
        } else {
            time_before(self.dl.earliest_curr(), p.dl.deadline)
        }
    }
}

impl Tunables {
    /// Returns the bandwidth that deadline tasks may have on CPUs of this capacity; `None` without a limit.
    pub(crate) fn dl_bandwidth_of(&self, capacity: Capacity) -> Option<u64> {
        let runtime_us = u64::try_from(self.rt_runtime_us).ok()?;
        Some(cap_scale(to_ratio(self.rt_period_ns(), runtime_us * 1000), capacity))
    }
}
