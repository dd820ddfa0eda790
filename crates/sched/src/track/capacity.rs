// SPDX-License-Identifier: GPL-2.0-or-later
//! Capacity of CPUs and groups for fair tasks.
//!
//! Models `scale_rt_capacity()`, `update_cpu_capacity()`, `update_group_capacity()` and
//! `check_cpu_capacity()` (6.1 and 6.12).

use crate::state::State;
use crate::state::rq::{Rq, Rqs};
use crate::state::topology::{CapacityId, DomainId, SchedDomain, SchedGroup, SdFlags};
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use crate::types::kernel_rules::KernelRules;
use crate::types::units::{Capacity, msecs_to_jiffies};

/// Capacity of a set of CPUs: the sum, and the weakest and strongest CPU.
#[derive(Clone, Copy, Debug)]
struct CapacitySum {
    capacity: Capacity,
    min: Capacity,
    max: Capacity,
}

impl CapacitySum {
    const NONE: Self = Self { capacity: 0, min: Capacity::MAX, max: 0 };

    fn of_cpus(rqs: &Rqs, cpus: &CpuMask) -> Self {
        let capacities = cpus.iter().map(|cpu| rqs[cpu].cpu_capacity);
        capacities.fold(Self::NONE, |sum, capacity| sum.with(capacity, capacity, capacity))
    }

    fn with(self, capacity: Capacity, min: Capacity, max: Capacity) -> Self {
        Self { capacity: self.capacity + capacity, min: self.min.min(min), max: self.max.max(max) }
    }
}

impl Rq {
    /// Returns the capacity that pressure leaves of a CPU: `get_actual_cpu_capacity()` (6.12).
    pub(crate) fn actual_capacity(&self) -> Capacity {
        self.cpu_capacity_orig - self.avg_thermal.load_avg.max(self.cpufreq_pressure)
    }
}

/// Returns the capacity that interrupts, other classes and thermal pressure leave of a CPU, of 1024; at least
/// 1.
///
/// Interrupt time reduces everything else in proportion, because the clocks of the other averages do not
/// include it.
pub(crate) fn scale_rt_capacity(rq: &Rq, rules: KernelRules) -> Capacity {
    if rules.uses_actual_capacity {
        let max = rq.actual_capacity();
        let irq = rq.avg_irq.util_avg;
        let used = rq.avg_rt.util_avg + rq.avg_dl.util_avg;
        return if irq >= max || used >= max { 1 } else { ((max - used) * (max - irq) / max).max(1) };
    }
    let max = rq.cpu_capacity_orig;
    let irq = rq.avg_irq.util_avg;
    let used = rq.avg_rt.util_avg + rq.avg_dl.util_avg + rq.avg_thermal.load_avg;
    if irq >= max || used >= max {
        return 1;
    }
    ((max - used) * (max - irq) / max).max(1)
}

/// Whether the remaining capacity of a CPU is reduced by more than the domain's margin.
pub(crate) fn check_cpu_capacity(rq: &Rq, sd: &SchedDomain) -> bool {
    rq.cpu_capacity * u64::from(sd.imbalance_pct) < rq.cpu_capacity_orig * 100
}

impl State {
    /// Sums the capacity of a group over its CPUs.
    pub(crate) fn sum_group_capacity(&mut self, group: &SchedGroup) {
        let sum = CapacitySum::of_cpus(&self.rqs, &group.span);
        self.store_group_capacity(group.capacity, group.span.weight() as u64, sum);
    }

    /// Sets the capacity of groups, which is due again after the balance interval of their domain.
    fn store_group_capacity(&mut self, id: CapacityId, interval_ms: u64, sum: CapacitySum) {
        let interval = msecs_to_jiffies(interval_ms, self.hz);
        let next_update = self.jiffies + interval.clamp(1, self.max_balance_interval);
        let capacity = &mut self.domains.capacities[id];
        capacity.next_update = next_update;
        (capacity.capacity, capacity.min_capacity, capacity.max_capacity) = (sum.capacity, sum.min, sum.max);
    }

    /// Recomputes the capacity of the CPU's own group in a domain.
    ///
    /// Rules, in order:
    /// 1. In the lowest domain, it is the capacity of the CPU itself.
    /// 2. Above a domain whose groups overlap, it is summed over the CPUs of the group.
    /// 3. Above any other domain, it is summed over the groups of that domain.
    pub(crate) fn update_group_capacity(&mut self, sd: DomainId, cpu: CpuId) {
        let domain = &self.domains.domains[sd];
        let interval_ms = u64::from(domain.balance_interval);
        let group = &self.domains.groups[domain.groups];
        let id = group.capacity;
        let sum = match domain.child {
            None => {
                let capacity = scale_rt_capacity(&self.rqs[cpu], self.rules);
                self.rqs[cpu].set_cpu_capacity(&mut self.lb_cache, capacity);
                CapacitySum::NONE.with(capacity, capacity, capacity)
            }
            Some(child) if self.domains.domains[child].flags.contains(SdFlags::OVERLAP) => {
                CapacitySum::of_cpus(&self.rqs, &group.span)
            }
            Some(child) => {
                let parts = self.domains.ring(child).map(|group| {
                    let group = &self.domains.groups[group];
                    &self.domains.capacities[group.capacity]
                });
                parts.fold(CapacitySum::NONE, |sum, part| sum.with(part.capacity, part.min_capacity, part.max_capacity))
            }
        };
        self.store_group_capacity(id, interval_ms, sum);
    }
}
