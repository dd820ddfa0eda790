// SPDX-License-Identifier: GPL-2.0-or-later
//! The energy model: what utilisation costs in each frequency domain.
//!
//! Models `em_create_perf_table()`, `em_dev_register_perf_domain()`'s conditions, `em_pd_get_efficient_state()`,
//! `em_cpu_energy()` (`kernel/power/energy_model.c` and its header, 6.1) and `build_perf_domains()` (`topology.c`). Leaves
//! out models with artificial costs.

use super::domain::{FrequencyDomain, Governor};
use super::schedutil::map_util_perf;
use crate::ids::CpuId;
use crate::sched::Sched;
use crate::tunables::PublishedChanges;
use crate::units::Capacity;
use alloc::vec::Vec;

/// The highest power that the kernel takes for possible, in microwatts: `EM_MAX_POWER`.
const EM_MAX_POWER_UW: u64 = 64_000_000;
/// The most that one selection of a CPU may have to look at: `EM_MAX_COMPLEXITY`.
const EM_MAX_COMPLEXITY: usize = 2048;

/// A frequency with its cost: the kernel's `struct em_perf_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmPerfState {
    /// Frequency, in kHz.
    pub khz: u64,
    /// Power of a busy CPU, in microwatts.
    pub power_uw: u64,
    /// Power for as much work as the highest frequency does: what utilisation costs.
    pub cost: u64,
    /// The same in whole milliwatts, as it was computed before 6.0.
    pub cost_mw: u64,
    /// A higher frequency costs no more.
    pub is_inefficient: bool,
}

/// A frequency domain with an energy model: the kernel's `struct em_perf_domain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfDomain {
    /// Its CPUs, ascending.
    pub cpus: Vec<CpuId>,
    /// Its frequencies, ascending.
    pub table: Vec<EmPerfState>,
    /// Inefficient frequencies are never used (`EM_PERF_DOMAIN_SKIP_INEFFICIENCIES`).
    pub skips_inefficient: bool,
    /// Capacity of each of its CPUs.
    pub capacity: Capacity,
}

impl PerfDomain {
    /// Estimates the power of the domain: every CPU runs at the frequency that the busiest one needs, for as long as it has
    /// work. In the unit of costs, microwatts; with the tunable `energy_mw` milliwatts.
    ///
    /// `max_util` is the highest utilisation of a CPU, `sum_util` that of all, `allowed_capacity` what heat leaves of a CPU.
    pub(crate) fn energy(
        &self,
        changes: &PublishedChanges,
        max_util: u64,
        sum_util: u64,
        allowed_capacity: Capacity,
    ) -> u64 {
        if sum_util == 0 {
            return 0;
        }
        let highest = self.table.last().expect("an energy model has frequencies").khz;
        let util = map_util_perf(max_util).min(allowed_capacity);
        let skips = self.skips_inefficient && !changes.energy_inefficient;
        let state = self.state_for(highest * util / self.capacity, skips);
        (if changes.energy_mw { state.cost_mw } else { state.cost }) * sum_util / self.capacity
    }

    /// The lowest state that is fast enough and not to be skipped, or the highest.
    pub(super) fn state_for(&self, khz: u64, skips_inefficient: bool) -> &EmPerfState {
        let is_good = |state: &&EmPerfState| state.khz >= khz && !(skips_inefficient && state.is_inefficient);
        self.table.iter().find(is_good).or_else(|| self.table.last()).expect("an energy model has frequencies")
    }
}

/// Costs of frequencies with these powers; both ascend.
///
/// A frequency is inefficient if a higher one costs no more.
pub(super) fn perf_table(khz: &[u64], power_uw: &[u64]) -> Vec<EmPerfState> {
    let highest = khz.last().copied().unwrap_or(0);
    let state = |(&khz, &power_uw)| EmPerfState {
        khz,
        power_uw,
        cost: highest * power_uw / khz,
        cost_mw: highest * (power_uw / 1000) / khz,
        is_inefficient: false,
    };
    let mut table: Vec<EmPerfState> = khz.iter().zip(power_uw).map(state).collect();
    let mut least = u64::MAX;
    for state in table.iter_mut().rev() {
        state.is_inefficient = state.cost >= least;
        least = least.min(state.cost);
    }
    table
}

impl Sched {
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
    /// A domain goes before those of lower CPUs, as in the kernel's list.
    pub(super) fn build_perf_domains(&mut self) {
        self.cpufreq.perf_domains.clear();
        let Some(first) = self.cpu_ids().next() else { return };
        if self.domains.cpus[first.index()].sd_asym_cpucapacity.is_none() || self.domains.smt_present {
            return;
        }
        let mut perf_domains: Vec<PerfDomain> = Vec::new();
        for cpu in self.cpu_ids() {
            if perf_domains.iter().any(|pd| pd.cpus.contains(&cpu)) {
                continue;
            }
            let policy = self.cpufreq.policies.iter().find(|policy| policy.domain.contains(cpu));
            let Some(perf_domain) = policy.and_then(|policy| self.perf_domain(&policy.domain)) else { return };
            perf_domains.push(perf_domain);
        }
        let nr_states: usize = perf_domains.iter().map(|pd| pd.table.len()).sum();
        if perf_domains.len() * (nr_states + self.rqs.len()) <= EM_MAX_COMPLEXITY {
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
            cpus: domain.cpus().collect(),
            table: perf_table(domain.khz(), domain.power_uw()),
            skips_inefficient: domain.skips_inefficient(),
            capacity,
        })
    }
}
