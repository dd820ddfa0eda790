// SPDX-License-Identifier: GPL-2.0-or-later
//! Energy model of a frequency domain: the cost of utilisation at each frequency.
//!
//! Models `em_create_perf_table()`, `em_pd_get_efficient_state()` and `em_cpu_energy()`
//! (`kernel/power/energy_model.c` and its header, 6.1 and 6.12).

use crate::types::ids::CpuId;
use crate::types::tunables::PublishedChanges;
use crate::types::units::Capacity;
use alloc::vec::Vec;

/// Utilisation with a quarter added as headroom: `map_util_perf()`.
pub(crate) const fn map_util_perf(util: u64) -> u64 {
    util + (util >> 2)
}

/// Highest power that the kernel accepts, in microwatts: `EM_MAX_POWER`.
pub(crate) const EM_MAX_POWER_UW: u64 = 64_000_000;

/// Highest complexity of one CPU selection with which the kernel still uses EAS: `EM_MAX_COMPLEXITY`.
pub(crate) const EM_MAX_COMPLEXITY: usize = 2048;

/// Frequency with its power and cost: the kernel's `struct em_perf_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmPerfState {
    /// Frequency of the state, in kHz.
    pub khz: u64,
    /// Power of a busy CPU, in microwatts.
    pub power_uw: u64,
    /// Power for as much work as the highest frequency does, in microwatts: `power * highest frequency /
    /// frequency`.
    pub cost: u64,
    /// `cost` in whole milliwatts, as kernels before 6.0 computed it.
    pub cost_mw: u64,
    /// Whether a higher frequency costs no more.
    pub is_inefficient: bool,
    /// Capacity of a CPU at this frequency; 0 before 6.9, which computes with frequencies.
    pub performance: Capacity,
}

/// Frequency domain with an energy model: the kernel's `struct em_perf_domain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfDomain {
    /// CPUs of the domain, ascending.
    pub cpus: Vec<CpuId>,
    /// Frequencies of the domain with their costs, ascending.
    pub table: Vec<EmPerfState>,
    /// Whether inefficient frequencies are never used (`EM_PERF_DOMAIN_SKIP_INEFFICIENCIES`).
    pub skips_inefficient: bool,
    /// Capacity of each CPU of the domain.
    pub capacity: Capacity,
}

impl PerfDomain {
    /// Estimates the power of the domain: `em_cpu_energy()`. Every CPU runs at the frequency that the busiest
    /// one needs, for as long as it has work.
    ///
    /// Returns microwatts, or milliwatts with the tunable `energy_mw`. `max_util` is the highest utilisation
    /// of a CPU, `sum_util` that of all CPUs together, `allowed_capacity` the capacity that thermal pressure
    /// leaves of a CPU.
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
        if self.uses_performance() {
            return self.state_by_performance(max_util.min(allowed_capacity)).cost * sum_util;
        }
        let highest = self.table.last().expect("an energy model has frequencies").khz;
        let util = map_util_perf(max_util).min(allowed_capacity);
        let skips = self.skips_inefficient && !changes.energy_inefficient;
        let state = self.state_for(highest * util / self.capacity, skips);
        (if changes.energy_mw { state.cost_mw } else { state.cost }) * sum_util / self.capacity
    }

    /// Whether the states have a performance: since 6.9.
    fn uses_performance(&self) -> bool {
        self.table.last().is_some_and(|state| state.performance > 0)
    }

    /// Returns the lowest state that provides a utilisation and is not to be skipped, or the highest one
    /// (`em_pd_get_efficient_state()`, 6.12).
    fn state_by_performance(&self, util: u64) -> &EmPerfState {
        let skips = self.skips_inefficient;
        let is_good = |state: &&EmPerfState| state.performance >= util && !(skips && state.is_inefficient);
        self.table.iter().find(is_good).or_else(|| self.table.last()).expect("an energy model has frequencies")
    }

    /// Returns the lowest state that is fast enough and not to be skipped, or the highest one.
    pub(crate) fn state_for(&self, khz: u64, skips_inefficient: bool) -> &EmPerfState {
        let is_good = |state: &&EmPerfState| state.khz >= khz && !(skips_inefficient && state.is_inefficient);
        self.table.iter().find(is_good).or_else(|| self.table.last()).expect("an energy model has frequencies")
    }
}

/// Computes the costs of frequencies from their power values; both ascend.
///
/// A frequency is inefficient if a higher one costs no more.
pub(crate) fn perf_table(khz: &[u64], power_uw: &[u64]) -> Vec<EmPerfState> {
    let highest = khz.last().copied().unwrap_or(0);
    let state = |(&khz, &power_uw)| EmPerfState {
        khz,
        power_uw,
        cost: highest * power_uw / khz,
        cost_mw: highest * (power_uw / 1000) / khz,
        is_inefficient: false,
        performance: 0,
    };
    let mut table: Vec<EmPerfState> = khz.iter().zip(power_uw).map(state).collect();
    mark_inefficient(&mut table);
    table
}

/// Computes the costs of frequencies on a CPU of a capacity, as since 6.9: ten times the power by performance.
pub(crate) fn perf_table_by_performance(khz: &[u64], power_uw: &[u64], capacity: Capacity) -> Vec<EmPerfState> {
    let highest = khz.last().copied().unwrap_or(0);
    let mut table = perf_table(khz, power_uw);
    for state in &mut table {
        state.performance = capacity * state.khz / highest;
        state.cost = state.power_uw * 10 / state.performance;
    }
    mark_inefficient(&mut table);
    table
}

/// Marks the states for which a higher frequency costs no more.
fn mark_inefficient(table: &mut [EmPerfState]) {
    let mut least = u64::MAX;
    for state in table.iter_mut().rev() {
        state.is_inefficient = state.cost >= least;
        least = least.min(state.cost);
    }
}
