// SPDX-License-Identifier: GPL-2.0-or-later
//! Frequency domains, and the calls by which the scheduler requests a frequency.
//!
//! Models `cpufreq_update_util()` and its callers' conditions, and the call of a cpufreq driver. The time that a driver takes is decided by the machine. Leaves out drivers that take
//! utilisation instead of frequencies (`adjust_perf`).
//!
//! - [`schedutil`]: the governor
//! - [`effective`]: utilisation that counts for a frequency
//! - [`energy_model`]: domains that EAS may use
//! - [`limits`]: effects of frequency limits
//! - [`crate::state::cpufreq`]: the state of all of these

pub(crate) mod effective;
pub mod energy_model;
#[cfg(test)]
mod energy_tests;
pub mod limits;
pub(crate) mod schedutil;
#[cfg(test)]
mod tests;

use crate::interface::ctx::{Ctx, Effect};
use crate::interface::probe::Event;
use crate::state::State;
use crate::state::cpufreq::CpufreqPolicy;
use crate::state::cpufreq::domain::{FrequencyDomain, FrequencyDomainError};
use crate::state::cpufreq::limits::FrequencyLimits;
use crate::state::rq::Rqs;
use crate::types::ids::{CfsRqId, CpuId};
use crate::types::units::SCHED_CAPACITY_SCALE;
use crate::types::work::KernelOp;
pub(crate) use effective::UtilType;

impl State {
    /// Adds a frequency domain. It has its highest frequency until its governor starts: at boot, or at once
    /// after boot.
    ///
    /// # Errors
    /// If a CPU of the domain does not exist or is in another frequency domain. With 6.12 also if the energy model
    /// would divide by zero.
    pub fn set_frequency_domain(&mut self, domain: FrequencyDomain) -> Result<(), FrequencyDomainError> {
        for cpu in domain.cpus() {
            if cpu.index() >= self.rqs.len() {
                return Err(FrequencyDomainError::NoSuchCpu(cpu));
            }
            if self.cpufreq.policies.iter().any(|policy| policy.domain.contains(cpu)) {
                return Err(FrequencyDomainError::CpuInTwo(cpu));
            }
        }
        domain.check_performance(&self.rqs, &self.rules)?;
        let cur_khz = domain.highest_khz();
        let limits = FrequencyLimits::none(cur_khz);
        self.cpufreq.policies.push(CpufreqPolicy { domain, cur_khz, limits, sugov: None });
        if self.cpufreq.is_started {
            self.cpufreq.start_governor(&mut self.rqs, self.cpufreq.policies.len() - 1);
            self.build_perf_domains();
        }
        Ok(())
    }

    /// Frequency of a CPU in kHz, if it is in a frequency domain.
    pub fn frequency_khz(&self, cpu: CpuId) -> Option<u64> {
        self.cpufreq.policies.iter().find(|policy| policy.domain.contains(cpu)).map(|policy| policy.cur_khz)
    }

    /// Starts all governors, in the order in which their domains were set, and then builds the perf domains
    /// for EAS.
    pub(crate) fn start_governors(&mut self) {
        self.cpufreq.is_started = true;
        for policy in 0..self.cpufreq.policies.len() {
            self.cpufreq.start_governor(&mut self.rqs, policy);
        }
        self.build_perf_domains();
        // Schedutil has the sched domains rebuilt, and 6.12 does not count fair servers again (`dl_clear_root_domain()`).
        if self.rules.has_fair_server && self.cpufreq.policies.iter().any(|policy| policy.sugov.is_some()) {
            self.dl_root.forget_admitted();
        }
    }

    /// Reports changed utilisation of a cfs_rq to the governor, if it is a root cfs_rq:
    /// `cfs_rq_util_change()`.
    #[inline]
    pub(crate) fn cfs_rq_util_change(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) {
        if id.index() < self.rqs.len() {
            let cpu = self.fair.cfs_rqs[id].cpu;
            self.cpufreq_update_util(ctx, cpu);
        }
    }

    /// Calls the governor of a CPU, if it has one.
    #[inline]
    pub(crate) fn cpufreq_update_util(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if let Some(policy) = self.cpufreq.hook(cpu) {
            ctx.charge(KernelOp::CpufreqUpdate);
            self.sugov_update(ctx, policy, cpu, false);
        }
    }

    /// Calls the governor of a CPU for a task that waited for I/O: SCHED_CPUFREQ_IOWAIT.
    #[inline]
    pub(crate) fn cpufreq_iowait(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if let Some(policy) = self.cpufreq.hook(cpu) {
            ctx.charge(KernelOp::CpufreqUpdate);
            self.sugov_update(ctx, policy, cpu, true);
        }
    }
}

impl CpufreqPolicy {
    /// Switches all CPUs of the policy to its lowest frequency that is not below `khz`, or to its highest:
    /// `cpufreq_driver_fast_switch()`. With `all`, inefficient frequencies are in use too.
    pub(crate) fn fast_switch(&mut self, ctx: &mut Ctx<'_>, rqs: &mut Rqs, khz: u64, all: bool) {
        let khz = self.resolve(khz, all);
        if khz == self.cur_khz {
            return;
        }
        self.cur_khz = khz;
        let capacity = self.domain.capacity_at(khz);
        debug_assert!(capacity <= SCHED_CAPACITY_SCALE, "the frequency is above the highest one of its domain");
        for cpu in self.domain.cpus() {
            rqs[cpu].freq_capacity = capacity;
            ctx.emit(Effect::SetFrequency { cpu, capacity, khz });
            ctx.report(Event::Frequency { cpu, capacity, khz });
        }
    }
}
