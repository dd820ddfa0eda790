// SPDX-License-Identifier: GPL-2.0-or-later
//! Frequency domains, and the calls by which the scheduler requests a frequency.
//!
//! Models `cpufreq_update_util()` and its callers' conditions, `cpufreq_this_cpu_can_update()`, and the call
//! of a cpufreq driver. The time that a driver takes is decided by the machine. Leaves out drivers that take
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
use crate::state::cpufreq::domain::{FrequencyDomain, FrequencyDomainError, Governor};
use crate::state::cpufreq::limits::FrequencyLimits;
use crate::state::cpufreq::sugov::{SugovCpu, SugovPolicy};
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
        self.check_performance(&domain)?;
        let cur_khz = domain.highest_khz();
        let limits = FrequencyLimits::none(cur_khz);
        self.cpufreq.policies.push(CpufreqPolicy { domain, cur_khz, limits, sugov: None });
        if self.cpufreq.is_started {
            self.start_governor(self.cpufreq.policies.len() - 1);
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
            self.start_governor(policy);
        }
        self.build_perf_domains();
        // Schedutil has the sched domains rebuilt, and 6.12 does not count fair servers again (`dl_clear_root_domain()`).
        if self.rules.has_fair_server && self.cpufreq.policies.iter().any(|policy| policy.sugov.is_some()) {
            self.dl_root.forget_admitted();
        }
    }

    fn start_governor(&mut self, index: usize) {
        let nr_cpus = self.rqs.len();
        let policy = &mut self.cpufreq.policies[index];
        match policy.domain.governor() {
            Governor::Fixed { khz } => {
                policy.cur_khz = khz;
                for cpu in policy.domain.cpus() {
                    self.rqs[cpu].freq_capacity = policy.domain.capacity_at(khz);
                }
            }
            Governor::Schedutil(config) => {
                policy.sugov = Some(SugovPolicy::new(config));
                self.cpufreq.hooks.fill_up(nr_cpus, None);
                self.cpufreq.cpus.fill_up(nr_cpus, SugovCpu::default());
                for cpu in policy.domain.cpus() {
                    self.cpufreq.hooks[cpu] = Some(index as u32);
                }
            }
        }
    }

    /// Restarts the governor of a CPU's domain with the CPUs that are online now, after the CPU has gone
    /// offline or come online (`cpufreq_offline()`, `cpufreq_add_policy_cpu()`).
    pub(crate) fn restart_governor(&mut self, cpu: CpuId) {
        let Self { cpufreq, hotplug, .. } = self;
        let found = cpufreq.policies.iter_mut().enumerate().find(|(_, policy)| policy.domain.contains(cpu));
        let Some((index, policy)) = found else { return };
        let Governor::Schedutil(config) = policy.domain.governor() else { return };
        policy.sugov = Some(SugovPolicy { limits_changed: true, ..SugovPolicy::new(config) });
        for cpu in policy.domain.cpus() {
            cpufreq.cpus[cpu] = SugovCpu::default();
            cpufreq.hooks[cpu] = hotplug.online.contains(cpu).then_some(index as u32);
        }
    }

    /// Reports changed utilisation of a cfs_rq to the governor, if it is a root cfs_rq:
    /// `cfs_rq_util_change()`.
    #[inline]
    pub(crate) fn cfs_rq_util_change(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) {
        if id.index() < self.rqs.len() {
            let cpu = self.cfs_rqs[id].cpu;
            self.cpufreq_update_util(ctx, cpu);
        }
    }

    /// Calls the governor of a CPU, if it has one.
    #[inline]
    pub(crate) fn cpufreq_update_util(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if let Some(&Some(policy)) = self.cpufreq.hooks.get(cpu) {
            ctx.charge(KernelOp::CpufreqUpdate);
            self.sugov_update(ctx, policy as usize, cpu, false);
        }
    }

    /// Calls the governor of a CPU for a task that waited for I/O: SCHED_CPUFREQ_IOWAIT.
    #[inline]
    pub(crate) fn cpufreq_iowait(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if let Some(&Some(policy)) = self.cpufreq.hooks.get(cpu) {
            ctx.charge(KernelOp::CpufreqUpdate);
            self.sugov_update(ctx, policy as usize, cpu, true);
        }
    }

    /// Whether the executing CPU may change the frequency of a policy: it belongs to the policy, or has a
    /// governor itself.
    fn cpufreq_this_cpu_can_update(&self, ctx: &Ctx<'_>, policy: usize) -> bool {
        let this_cpu = ctx.cpu;
        self.cpufreq.policies[policy].domain.contains(this_cpu) || self.cpufreq.hooks[this_cpu].is_some()
    }

    /// Switches all CPUs of a policy to its lowest frequency that is not below `khz`, or to its highest:
    /// `cpufreq_driver_fast_switch()`.
    pub(crate) fn cpufreq_driver_fast_switch(&mut self, ctx: &mut Ctx<'_>, policy: usize, khz: u64) {
        let policy = &mut self.cpufreq.policies[policy];
        let khz = policy.resolve(khz, self.tunables.changes.energy_inefficient);
        if khz == policy.cur_khz {
            return;
        }
        policy.cur_khz = khz;
        let capacity = policy.domain.capacity_at(khz);
        debug_assert!(capacity <= SCHED_CAPACITY_SCALE, "the frequency is above the highest one of its domain");
        for cpu in policy.domain.cpus() {
            self.rqs[cpu].freq_capacity = capacity;
            ctx.emit(Effect::SetFrequency { cpu, capacity, khz });
            ctx.report(Event::Frequency { cpu, capacity, khz });
        }
    }
}
