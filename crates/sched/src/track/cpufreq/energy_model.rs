// SPDX-License-Identifier: GPL-2.0-or-later
//! The energy model: what utilisation costs in each frequency domain.
//!
//! Models `em_create_perf_table()`, `em_dev_register_perf_domain()`'s conditions, `em_pd_get_efficient_state()`,
//! `em_cpu_energy()` (`kernel/power/energy_model.c` and its header, 6.1) and `build_perf_domains()` (`topology.c`). Leaves
//! out models with artificial costs.

use crate::state::State;
use crate::state::cpufreq::domain::{FrequencyDomain, Governor};
use crate::state::cpufreq::energy_model::{EM_MAX_COMPLEXITY, EM_MAX_POWER_UW, PerfDomain, perf_table};
use crate::types::ids::CpuId;
use alloc::vec::Vec;
impl State {
    /// Whether tasks are placed for the sake of energy: `sched_energy_enabled()`.
    #[inline]
    pub fn sched_energy_enabled(&self) -> bool {
        !self.cpufreq.perf_domains.is_empty() && self.tunables.energy_aware
    }

    /// The perf domains, if tasks may be placed for the sake of energy; in the order in which they are looked at.
    pub fn perf_domains(&self) -> &[PerfDomain] {
        &self.cpufreq.perf_domains
    }

    /// Builds the perf domains; none if energy-aware placement is impossible.
    ///
    /// Rules, in order:
    /// 1. Capacities differ, and no core has more than one CPU.
    /// 2. Every CPU is in a frequency domain that schedutil drives and that has an energy model.
    /// 3. There are not so many domains and frequencies that a wake-up would take too long.
    ///
    /// A domain goes before those of lower CPUs, as in the kernel's list. CPUs that are not active do not count, and domains have only CPUs that work.
    pub(crate) fn build_perf_domains(&mut self) {
        self.cpufreq.perf_domains.clear();
        let Some(first) = self.hotplug.active.first() else { return };
        if self.domains.cpus[first.index()].sd_asym_cpucapacity.is_none() || self.domains.smt_present {
            return;
        }
        let mut perf_domains: Vec<PerfDomain> = Vec::new();
        for cpu in self.hotplug.active.iter() {
            if perf_domains.iter().any(|pd| pd.cpus.contains(&cpu)) {
                continue;
            }
            let policy = self.cpufreq.policies.iter().find(|policy| policy.domain.contains(cpu));
            let Some(perf_domain) = policy.and_then(|policy| self.perf_domain(&policy.domain)) else { return };
            perf_domains.push(perf_domain);
        }
        let nr_states: usize = perf_domains.iter().map(|pd| pd.table.len()).sum();
        if perf_domains.len() * (nr_states + self.hotplug.active.weight()) <= EM_MAX_COMPLEXITY {
            perf_domains.reverse();
            self.cpufreq.perf_domains = perf_domains;
        }
    }

    /// The energy model of a frequency domain, if schedutil drives it and its powers and capacities are plausible.
    fn perf_domain(&self, domain: &FrequencyDomain) -> Option<PerfDomain> {
        let capacity_of = |cpu: CpuId| self.rqs[cpu.index()].cpu_capacity_orig;
        let capacity = domain.cpus().next().map(capacity_of)?;
        let is_plausible = !domain.power_uw().is_empty()
            && domain.power_uw().iter().all(|&power| power <= EM_MAX_POWER_UW)
            && domain.cpus().all(|cpu| capacity_of(cpu) == capacity);
        let is_driven = matches!(domain.governor(), Governor::Schedutil(_));
        (is_plausible && is_driven).then(|| PerfDomain {
            cpus: domain.cpus().filter(|&cpu| self.is_online(cpu)).collect(),
            table: perf_table(domain.khz(), domain.power_uw()),
            skips_inefficient: domain.skips_inefficient(),
            capacity,
        })
    }

    /// A CPU does not work any more.
    pub(crate) fn leave_perf_domain(&mut self, cpu: CpuId) {
        for pd in &mut self.cpufreq.perf_domains {
            pd.cpus.retain(|&other| other != cpu);
        }
    }
}
