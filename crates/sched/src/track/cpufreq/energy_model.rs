// SPDX-License-Identifier: GPL-2.0-or-later
//! Perf domains: the frequency domains whose energy models EAS uses.
//!
//! Models the conditions of `em_dev_register_perf_domain()` (`kernel/power/energy_model.c`, 6.1) and
//! `build_perf_domains()` (`topology.c`). [`crate::state::cpufreq::energy_model`] has the energy model
//! itself. Leaves out models with artificial costs.

use crate::state::State;
use crate::state::cpufreq::domain::{FrequencyDomain, FrequencyDomainError, Governor};
use crate::state::cpufreq::energy_model::{
    EM_MAX_COMPLEXITY, EM_MAX_POWER_UW, PerfDomain, perf_table, perf_table_by_performance,
};
use crate::state::rq::Rqs;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use crate::types::kernel_rules::KernelRules;
use crate::types::units::Capacity;
use alloc::vec::Vec;

impl State {
    /// Whether energy-aware scheduling (EAS) is in effect: `sched_energy_enabled()`.
    #[inline]
    pub fn sched_energy_enabled(&self) -> bool {
        !self.cpufreq.perf_domains.is_empty() && self.tunables.energy_aware
    }

    /// Builds the perf domains; none if EAS is impossible.
    ///
    /// Rules, in order:
    /// 1. Capacities differ, and no core has more than one CPU.
    /// 2. Every CPU is in a frequency domain that schedutil drives and that has an energy model.
    /// 3. The number of domains and frequencies does not exceed the complexity limit of a wake-up, before 6.7.
    ///
    /// Domains are in descending order of their CPUs, as in the kernel's list. CPUs that are not active do
    /// not count, and domains contain only online CPUs.
    pub(crate) fn build_perf_domains(&mut self) {
        self.cpufreq.perf_domains.clear();
        let Some(first) = self.hotplug.active.first() else { return };
        let has_asym = |cpu: CpuId| self.domains.cpus[cpu].sd_asym_cpucapacity.is_some();
        let differs =
            if self.rules.eas_needs_one_asym_cpu { self.hotplug.active.iter().any(has_asym) } else { has_asym(first) };
        if !differs || self.domains.smt_present {
            return;
        }
        let mut perf_domains: Vec<PerfDomain> = Vec::new();
        for cpu in self.hotplug.active.iter() {
            if perf_domains.iter().any(|pd| pd.cpus.contains(&cpu)) {
                continue;
            }
            let policy = self.cpufreq.policies.iter().find(|policy| policy.domain.contains(cpu));
            let Some(perf_domain) =
                policy.and_then(|policy| policy.domain.perf_domain(&self.rqs, &self.rules, &self.hotplug.online))
            else {
                return;
            };
            perf_domains.push(perf_domain);
        }
        let nr_states: usize = perf_domains.iter().map(|pd| pd.table.len()).sum();
        let complexity = perf_domains.len() * (nr_states + self.hotplug.active.weight());
        if self.rules.eas_is_unlimited || complexity <= EM_MAX_COMPLEXITY {
            perf_domains.reverse();
            self.cpufreq.perf_domains = perf_domains;
        }
    }
}

impl FrequencyDomain {
    /// Returns the capacity of the domain's CPUs, if its power values and capacities are plausible.
    fn capacity_for_model(&self, rqs: &Rqs) -> Option<Capacity> {
        let capacity_of = |cpu: CpuId| rqs[cpu].cpu_capacity_orig;
        let capacity = self.cpus().next().map(capacity_of)?;
        let is_plausible = !self.power_uw().is_empty()
            && self.power_uw().iter().all(|&power| power <= EM_MAX_POWER_UW)
            && self.cpus().all(|cpu| capacity_of(cpu) == capacity);
        is_plausible.then_some(capacity)
    }

    /// Checks that the energy model of the domain can be computed.
    pub(super) fn check_performance(&self, rqs: &Rqs, rules: &KernelRules) -> Result<(), FrequencyDomainError> {
        let Some(capacity) = self.capacity_for_model(rqs).filter(|_| rules.em_has_performance) else {
            return Ok(());
        };
        match self.khz() {
            &[khz, ..] if capacity * khz < self.highest_khz() => {
                Err(FrequencyDomainError::NoPerformance { khz, capacity })
            }
            _ => Ok(()),
        }
    }

    /// Returns the energy model of the domain, if schedutil drives it and its power values and
    /// capacities are plausible.
    fn perf_domain(&self, rqs: &Rqs, rules: &KernelRules, online: &CpuMask) -> Option<PerfDomain> {
        let capacity = self.capacity_for_model(rqs)?;
        matches!(self.governor(), Governor::Schedutil(_)).then(|| PerfDomain {
            cpus: self.cpus().filter(|&cpu| online.contains(cpu)).collect(),
            table: if rules.em_has_performance {
                perf_table_by_performance(self.khz(), self.power_uw(), capacity)
            } else {
                perf_table(self.khz(), self.power_uw())
            },
            skips_inefficient: self.skips_inefficient(),
            capacity,
        })
    }
}
