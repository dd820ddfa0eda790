// SPDX-License-Identifier: GPL-2.0-or-later
//! State of cpufreq: frequency domains with their governors, limits and energy models.

pub mod domain;
pub mod energy_model;
pub(crate) mod iowait;
pub mod limits;
pub(crate) mod sugov;

use crate::state::rq::Rqs;
use crate::types::arena::Arena;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use alloc::vec::Vec;
use domain::{FrequencyDomain, Governor};
use energy_model::PerfDomain;
use limits::FrequencyLimits;
use sugov::{SugovCpu, SugovPolicy};

/// State of all frequency domains and their governors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpufreq {
    /// Frequency domains, in the order in which they were set.
    pub policies: Vec<CpufreqPolicy>,
    /// Whether the governors run.
    pub(crate) is_started: bool,
    /// By CPU: index of the policy whose governor receives the CPU's updates; empty as long as no governor
    /// does.
    hooks: Arena<CpuId, Option<u32>>,
    /// By CPU: state of schedutil; empty as long as schedutil drives no domain.
    pub(crate) cpus: Arena<CpuId, SugovCpu>,
    /// Domains with an energy model, those of the highest-numbered CPUs first; empty if EAS is impossible.
    pub(crate) perf_domains: Vec<PerfDomain>,
}

impl Cpufreq {
    /// Policy whose governor receives the updates of a CPU.
    #[inline]
    pub(crate) fn hook(&self, cpu: CpuId) -> Option<usize> {
        self.hooks.get(cpu).copied().flatten().map(|policy| policy as usize)
    }

    /// Whether a CPU may change the frequency of a policy: it belongs to the policy, or has a governor itself
    /// (`cpufreq_this_cpu_can_update()`).
    pub(crate) fn can_update(&self, this_cpu: CpuId, policy: usize) -> bool {
        self.policies[policy].domain.contains(this_cpu) || self.hook(this_cpu).is_some()
    }

    /// Starts the governor of a policy.
    pub(crate) fn start_governor(&mut self, rqs: &mut Rqs, index: usize) {
        let policy = &mut self.policies[index];
        match policy.domain.governor() {
            Governor::Fixed { khz } => {
                policy.cur_khz = khz;
                for cpu in policy.domain.cpus() {
                    rqs[cpu].freq_capacity = policy.domain.capacity_at(khz);
                }
            }
            Governor::Schedutil(config) => {
                policy.sugov = Some(SugovPolicy::new(config));
                self.hooks.fill_up(rqs.len(), None);
                self.cpus.fill_up(rqs.len(), SugovCpu::default());
                for cpu in policy.domain.cpus() {
                    self.hooks[cpu] = Some(index as u32);
                }
            }
        }
    }

    /// Restarts the governor of a CPU's domain with the CPUs that are online now, after the CPU has gone
    /// offline or come online (`cpufreq_offline()`, `cpufreq_add_policy_cpu()`).
    pub(crate) fn restart_governor(&mut self, cpu: CpuId, online: &CpuMask) {
        let found = self.policies.iter_mut().enumerate().find(|(_, policy)| policy.domain.contains(cpu));
        let Some((index, policy)) = found else { return };
        let Governor::Schedutil(config) = policy.domain.governor() else { return };
        policy.sugov.insert(SugovPolicy::new(config)).set_limits_changed();
        for cpu in policy.domain.cpus() {
            self.cpus[cpu] = SugovCpu::default();
            self.hooks[cpu] = online.contains(cpu).then_some(index as u32);
        }
    }

    /// Removes a CPU that goes offline from its perf domain.
    pub(crate) fn leave_perf_domain(&mut self, cpu: CpuId) {
        for pd in &mut self.perf_domains {
            pd.cpus.retain(|&other| other != cpu);
        }
    }
}

/// A frequency domain with its state: the kernel's `struct cpufreq_policy`.
#[derive(Clone, Debug)]
pub(crate) struct CpufreqPolicy {
    pub domain: FrequencyDomain,
    /// Present frequency, in kHz.
    pub cur_khz: u64,
    /// Upper limits of the frequency.
    pub(crate) limits: FrequencyLimits,
    /// State of schedutil, if it is the governor.
    pub(crate) sugov: Option<SugovPolicy>,
}

impl CpufreqPolicy {
    /// State of schedutil, which is the governor.
    pub(crate) fn sugov_mut(&mut self) -> &mut SugovPolicy {
        self.sugov.as_mut().expect("only schedutil has hooks")
    }
}
