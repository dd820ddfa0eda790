// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes while tasks run: attributes of tasks, groups and cpusets, CPU hotplug, frequency limits, steal
//! time.
//!
//! The parameter `cpu` of a function is the CPU on which a task makes the change. Functions that can fail return the error
//! number of the kernel if it rejects the change.

use super::{Object, TaskPolicy, c_cpu, raw_policy, to_result};
use std::ffi::{c_int, c_ulong};

impl Object {
    /// Creates a group below another one, and returns its number, from 1; 0 is the root.
    pub(crate) fn new_group(&self, cpu: u32, parent: u32) -> u32 {
        call!(self, fl_group_new(self.cpu(cpu), c_cpu(parent))) as u32
    }

    /// Sets the shares of a group.
    pub(crate) fn set_shares(&self, cpu: u32, group: u32, shares: u64) -> Result<(), i32> {
        to_result(call!(self, fl_group_shares(self.cpu(cpu), c_cpu(group), shares as c_ulong)))
    }

    /// Sets quota, period and burst of a group, in us; `None` is no quota.
    pub(crate) fn set_quota(
        &self,
        cpu: u32,
        group: u32,
        quota_us: Option<i64>,
        period_us: i64,
        burst_us: i64,
    ) -> Result<(), i32> {
        to_result(call!(self, fl_group_quota(self.cpu(cpu), c_cpu(group), quota_us.unwrap_or(-1), period_us, burst_us)))
    }

    /// Sets `cpu.idle` of a group.
    pub(crate) fn set_group_idle(&self, cpu: u32, group: u32, is_idle: bool) -> Result<(), i32> {
        to_result(call!(self, fl_group_idle(self.cpu(cpu), c_cpu(group), c_int::from(is_idle))))
    }

    /// Sets the CPUs that a task may use.
    pub(crate) fn set_affinity(&self, cpu: u32, task: u32, mask: &[u64]) -> Result<(), i32> {
        to_result(call!(self, fl_set_affinity(self.cpu(cpu), task, self.mask(mask).as_ptr().cast())))
    }

    /// Sets the nice value of a task.
    pub(crate) fn set_nice(&self, cpu: u32, task: u32, nice: i32) {
        call!(self, fl_set_nice(self.cpu(cpu), task, nice));
    }

    /// Sets the policy of a task.
    pub(crate) fn set_policy(&self, cpu: u32, task: u32, new: TaskPolicy) -> Result<(), i32> {
        let new = raw_policy(new);
        to_result(call!(self, fl_set_policy(self.cpu(cpu), task, &raw const new)))
    }

    /// Sets the slice of a task; 0 is that of the kernel.
    pub(crate) fn set_slice(&self, cpu: u32, task: u32, ns: u64) -> Result<(), i32> {
        to_result(call!(self, fl_set_slice(self.cpu(cpu), task, ns)))
    }

    /// Sets runtime and period of the fair server of the CPU `other`, in ns.
    pub(crate) fn set_fair_server(&self, cpu: u32, other: u32, runtime_ns: u64, period_ns: u64) -> Result<(), i32> {
        to_result(call!(self, fl_set_fair_server(self.cpu(cpu), self.cpu(other), runtime_ns, period_ns)))
    }

    /// Sets the utilisation clamps of a task.
    pub(crate) fn set_uclamp(&self, cpu: u32, task: u32, min: u32, max: u32) -> Result<(), i32> {
        to_result(call!(self, fl_set_uclamp(self.cpu(cpu), task, c_cpu(min), c_cpu(max))))
    }

    /// Moves a task to a group.
    pub(crate) fn move_to(&self, cpu: u32, task: u32, group: u32) {
        call!(self, fl_move(self.cpu(cpu), task, c_cpu(group)));
    }

    /// Returns the priority of a task among the waiters of a mutex, in the kernel's numbers. It is equal for all fair tasks.
    pub(crate) fn waiter_prio(&self, task: u32) -> i32 {
        call!(self, fl_waiter_prio(task))
    }

    /// Returns the deadline of a deadline task, in ns.
    pub(crate) fn deadline(&self, task: u32) -> u64 {
        call!(self, fl_deadline(task))
    }

    /// Gives a task the priority of its most important waiter, or its own again if it has no waiter.
    pub(crate) fn inherit_priority(&self, cpu: u32, task: u32, waiter: Option<u32>) {
        call!(self, fl_inherit(self.cpu(cpu), task, waiter.map_or(-1, c_cpu)));
    }

    /// Returns the lower and the upper clamp that a task has requested.
    pub(crate) fn uclamp(&self, task: u32) -> (u32, u32) {
        let both = call!(self, fl_uclamp(task));
        (both & 0xffff, both >> 16)
    }

    /// Whether a task may use all CPUs of its root domain, as deadline tasks must.
    pub(crate) fn spans_domain(&self, task: u32) -> bool {
        call!(self, fl_spans_domain(task)) != 0
    }

    /// Selects the clamps of new tasks and groups: those of a booted machine, or those of the scheduler
    /// alone.
    pub(crate) fn set_boot_clamps(&self, as_booted: bool) {
        call!(self, fl_first_clamps(c_int::from(as_booted)));
    }

    /// Sets the utilisation clamps of a group.
    pub(crate) fn set_group_uclamp(&self, group: u32, min: u32, max: u32) -> Result<(), i32> {
        to_result(call!(self, fl_group_uclamp(c_cpu(group), c_cpu(min), c_cpu(max))))
    }

    /// Creates a cpuset with these CPUs, and returns its number, from 1; 0 is the top cpuset.
    pub(crate) fn new_cpuset(&self, mask: &[u64]) -> u32 {
        call!(self, fl_cpuset_new(self.mask(mask).as_ptr().cast())) as u32
    }

    /// Sets the requested CPUs of a cpuset.
    pub(crate) fn set_cpuset_cpus(&self, cpuset: u32, mask: &[u64]) {
        call!(self, fl_cpuset_cpus(cpuset, self.mask(mask).as_ptr().cast()));
    }

    /// Updates the effective CPUs of a cpuset. Returns whether they have changed.
    pub(crate) fn update_cpuset(&self, cpuset: u32) -> bool {
        call!(self, fl_cpuset_update(cpuset)) != 0
    }

    /// Sets the affinity of a task to the CPUs of its cpuset.
    pub(crate) fn apply_cpuset(&self, cpu: u32, task: u32) {
        call!(self, fl_cpuset_follow(self.cpu(cpu), task));
    }

    /// Returns the number of the cpuset of a task.
    pub(crate) fn cpuset_of(&self, task: u32) -> u32 {
        call!(self, fl_cpuset_of(task))
    }

    /// Records the cpuset of a task, without a change of its affinity.
    pub(crate) fn record_cpuset(&self, task: u32, cpuset: u32) {
        call!(self, fl_cpuset_note(task, cpuset));
    }

    /// Limits the mask of a new task to its cpuset: to all of the cpuset if they have no CPU in common.
    pub(crate) fn limit_to_cpuset(&self, cpuset: u32, mask: &mut [u64]) {
        let _is_long_enough = self.mask(mask);
        call!(self, fl_cpuset_limit(cpuset, mask.as_mut_ptr().cast()));
    }

    /// Starts to take the CPU `other` offline, by a work for its stopper.
    pub(crate) fn take_offline(&self, cpu: u32, other: u32) -> Result<(), i32> {
        to_result(call!(self, fl_offline(self.cpu(cpu), self.cpu(other))))
    }

    /// Brings the CPU `other` online.
    pub(crate) fn bring_online(&self, cpu: u32, other: u32) {
        call!(self, fl_online(self.cpu(cpu), self.cpu(other)));
    }

    /// Whether a CPU is online (`cpu_online_mask`).
    pub(crate) fn is_online(&self, cpu: u32) -> bool {
        call!(self, fl_is_online(self.cpu(cpu))) != 0
    }

    /// Whether tasks may run on a CPU (`cpu_active_mask`).
    pub(crate) fn is_active(&self, cpu: u32) -> bool {
        call!(self, fl_is_active(self.cpu(cpu))) != 0
    }

    /// Limits the frequency of the CPU `other`, or of its domain, to a share of the highest, of 1024: as a
    /// cooling device or as the user.
    pub(crate) fn limit_frequency(&self, cpu: u32, other: u32, is_thermal: bool, part: u64) {
        call!(self, fl_limit(self.cpu(cpu), self.cpu(other), c_int::from(is_thermal), part as c_ulong));
    }

    /// Sets the exit latency of a CPU's idle state; `None` if it is in none.
    pub(crate) fn set_exit_latency(&self, cpu: u32, ns: Option<u64>) {
        call!(self, fl_exit_latency(self.cpu(cpu), ns.map_or(-1, |ns| ns as i64)));
    }

    /// Adds to the steal time of a CPU.
    pub(crate) fn steal(&self, cpu: u32, ns: u64) {
        call!(self, fl_steal(self.cpu(cpu), ns));
    }

    /// Whether the tree can leave out inefficient frequencies: those that cost no less than a higher one.
    pub(crate) fn skips_inefficient(&self) -> bool {
        call!(self, fl_skips_inefficient()) != 0
    }

    /// Begins a frequency transition in the thread of a governor. Returns the frequency to switch to, in kHz,
    /// if it differs.
    pub(crate) fn begin_transition(&self, domain: u32) -> Option<u32> {
        Some(call!(self, fl_begin_transition(domain))).filter(|&khz| khz != 0)
    }

    /// Completes the frequency transition of a domain.
    pub(crate) fn end_transition(&self, domain: u32, khz: u32) {
        call!(self, fl_end_transition(domain, khz));
    }
}
