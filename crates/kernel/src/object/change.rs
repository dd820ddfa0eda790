// SPDX-License-Identifier: GPL-2.0-or-later
//! What others change while tasks run: attributes of tasks, groups and cpusets, CPUs, frequencies, time of a host.

use super::{Object, Policy, c, policy, result};
use std::ffi::{c_int, c_ulong};

impl Object {
    /// Somebody on a CPU makes a group below another; 0 is the root. Groups are numbered from 1.
    pub fn new_group(&self, cpu: u32, parent: u32) -> u32 {
        call!(self, fl_group_new(self.cpu(cpu), c(parent))) as u32
    }

    /// Somebody on a CPU sets shares of a group; the kernel's error number if it refuses.
    ///
    /// # Errors
    /// As the kernel.
    pub fn set_shares(&self, cpu: u32, group: u32, shares: u64) -> Result<(), i32> {
        result(call!(self, fl_group_shares(self.cpu(cpu), c(group), shares as c_ulong)))
    }

    /// Somebody on a CPU sets quota, if any, period and burst of a group, in us.
    ///
    /// # Errors
    /// As the kernel.
    pub fn set_quota(
        &self,
        cpu: u32,
        group: u32,
        quota_us: Option<i64>,
        period_us: i64,
        burst_us: i64,
    ) -> Result<(), i32> {
        result(call!(self, fl_group_quota(self.cpu(cpu), c(group), quota_us.unwrap_or(-1), period_us, burst_us)))
    }

    /// Somebody on a CPU sets `cpu.idle` of a group.
    ///
    /// # Errors
    /// As the kernel.
    pub fn set_group_idle(&self, cpu: u32, group: u32, is_idle: bool) -> Result<(), i32> {
        result(call!(self, fl_group_idle(self.cpu(cpu), c(group), c_int::from(is_idle))))
    }

    /// Somebody on a CPU changes what a task may use.
    ///
    /// # Errors
    /// As the kernel.
    pub fn set_affinity(&self, cpu: u32, task: u32, mask: &[u64]) -> Result<(), i32> {
        result(call!(self, fl_set_affinity(self.cpu(cpu), task, self.mask(mask).as_ptr().cast())))
    }

    /// Somebody on a CPU changes a task's nice value.
    pub fn set_nice(&self, cpu: u32, task: u32, nice: i32) {
        call!(self, fl_set_nice(self.cpu(cpu), task, nice));
    }

    /// Somebody on a CPU changes a task's policy.
    ///
    /// # Errors
    /// As the kernel.
    pub fn set_policy(&self, cpu: u32, task: u32, new: Policy) -> Result<(), i32> {
        let new = policy(new);
        result(call!(self, fl_set_policy(self.cpu(cpu), task, &raw const new)))
    }

    /// Somebody on a CPU changes a task's clamps.
    ///
    /// # Errors
    /// As the kernel.
    pub fn set_uclamp(&self, cpu: u32, task: u32, min: u32, max: u32) -> Result<(), i32> {
        result(call!(self, fl_set_uclamp(self.cpu(cpu), task, c(min), c(max))))
    }

    /// Somebody on a CPU puts a task into another group.
    pub fn move_to(&self, cpu: u32, task: u32, group: u32) {
        call!(self, fl_move(self.cpu(cpu), task, c(group)));
    }

    /// Whether one task goes before another that waits for the same.
    pub fn waits_before(&self, one: u32, other: u32) -> bool {
        call!(self, fl_waits_before(one, other)) != 0
    }

    /// Somebody on a CPU lets a task inherit the priority of the most important one that waits for it, if one does any more.
    pub fn inherit(&self, cpu: u32, task: u32, waiter: Option<u32>) {
        call!(self, fl_inherit(self.cpu(cpu), task, waiter.map_or(-1, c)));
    }

    /// The clamps that a task asked for: the lower and the upper one.
    pub fn uclamp(&self, task: u32) -> (u32, u32) {
        let both = call!(self, fl_uclamp(task));
        (both & 0xffff, both >> 16)
    }

    /// Whether a task may use all CPUs of its root domain, as deadline tasks have to.
    pub fn spans_domain(&self, task: u32) -> bool {
        call!(self, fl_spans_domain(task)) != 0
    }

    /// Whether new tasks and groups have the clamps that they have on a machine that has booted, or those that the scheduler alone leaves them.
    pub fn clamp_as_booted(&self, as_booted: bool) {
        call!(self, fl_first_clamps(c_int::from(as_booted)));
    }

    /// Clamps of a group.
    ///
    /// # Errors
    /// As the kernel.
    pub fn set_group_uclamp(&self, group: u32, min: u32, max: u32) -> Result<(), i32> {
        result(call!(self, fl_group_uclamp(c(group), c(min), c(max))))
    }

    /// A cpuset with these CPUs. They are numbered from 1; 0 is the top one.
    pub fn new_cpuset(&self, mask: &[u64]) -> u32 {
        call!(self, fl_cpuset_new(self.mask(mask).as_ptr().cast())) as u32
    }

    /// A cpuset is to have other CPUs.
    pub fn set_cpuset_cpus(&self, cpuset: u32, mask: &[u64]) {
        call!(self, fl_cpuset_cpus(cpuset, self.mask(mask).as_ptr().cast()));
    }

    /// What of it is active: whether that has changed.
    pub fn update_cpuset(&self, cpuset: u32) -> bool {
        call!(self, fl_cpuset_update(cpuset)) != 0
    }

    /// Somebody on a CPU gives a task the CPUs of its cpuset.
    pub fn follow_cpuset(&self, cpu: u32, task: u32) {
        call!(self, fl_cpuset_follow(self.cpu(cpu), task));
    }

    /// The cpuset of a task.
    pub fn cpuset_of(&self, task: u32) -> u32 {
        call!(self, fl_cpuset_of(task))
    }

    /// A task belongs to a cpuset.
    pub fn record_cpuset(&self, task: u32, cpuset: u32) {
        call!(self, fl_cpuset_note(task, cpuset));
    }

    /// What a new task of a cpuset may use of a mask: all of the cpuset if that is nothing.
    pub fn limit_to_cpuset(&self, cpuset: u32, mask: &mut [u64]) {
        let _is_long_enough = self.mask(mask);
        call!(self, fl_cpuset_limit(cpuset, mask.as_mut_ptr().cast()));
    }

    /// Somebody on a CPU takes another one offline: its stopper is told to.
    ///
    /// # Errors
    /// As the kernel.
    pub fn take_offline(&self, cpu: u32, other: u32) -> Result<(), i32> {
        result(call!(self, fl_offline(self.cpu(cpu), self.cpu(other))))
    }

    /// Somebody on a CPU brings another one back.
    pub fn bring_online(&self, cpu: u32, other: u32) {
        call!(self, fl_online(self.cpu(cpu), self.cpu(other)));
    }

    /// Whether a CPU works.
    pub fn is_online(&self, cpu: u32) -> bool {
        call!(self, fl_is_online(self.cpu(cpu))) != 0
    }

    /// Whether tasks may run on a CPU.
    pub fn is_active(&self, cpu: u32) -> bool {
        call!(self, fl_is_active(self.cpu(cpu))) != 0
    }

    /// Somebody on a CPU limits the frequency of another one, or of its domain, to a part of the highest, of 1024: a cooling device or the user.
    pub fn limit_frequency(&self, cpu: u32, other: u32, is_thermal: bool, part: u64) {
        call!(self, fl_limit(self.cpu(cpu), self.cpu(other), c_int::from(is_thermal), part as c_ulong));
    }

    /// How long a CPU needs to come out of its idle state, if it is in one.
    pub fn set_exit_latency(&self, cpu: u32, ns: Option<u64>) {
        call!(self, fl_exit_latency(self.cpu(cpu), ns.map_or(-1, |ns| ns as i64)));
    }

    /// A host has taken time of a CPU.
    pub fn steal(&self, cpu: u32, ns: u64) {
        call!(self, fl_steal(self.cpu(cpu), ns));
    }

    /// Whether frequencies that cost no less than a higher one can be left out.
    pub fn skips_inefficient(&self) -> bool {
        call!(self, fl_skips_inefficient()) != 0
    }

    /// The thread of a governor begins: the frequency to which its driver has to switch.
    pub fn begin_transition(&self, domain: u32) -> Option<u32> {
        Some(call!(self, fl_begin_transition(domain))).filter(|&khz| khz != 0)
    }

    /// The driver of a domain has switched.
    pub fn end_transition(&self, domain: u32, khz: u32) {
        call!(self, fl_end_transition(domain, khz));
    }
}
