// SPDX-License-Identifier: GPL-2.0-or-later
//! Priority at which each CPU runs, and the CPUs on which a real-time task would run at once.
//!
//! Models `cpupri.c` (6.1): one set of CPUs for each priority, so that the CPUs of the lowest priority are
//! found without reading every runqueue.

use crate::state::prio::{MAX_RT_PRIO, Prio};
use crate::types::arena::Arena;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use alloc::vec;
use alloc::vec::Vec;

/// Levels: 0 for CPUs without real-time work, 1 to 99 for SCHED_FIFO and SCHED_RR priorities, 100 for deadline work.
const NR_LEVELS: usize = MAX_RT_PRIO as usize + 1;

/// Level of a CPU: the kernel's `CPUPRI_*`. A higher one is more important.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CpuLevel(u8);

impl CpuLevel {
    /// Level of an offline CPU: `CPUPRI_INVALID`.
    pub(crate) const INVALID: Self = Self(u8::MAX);
    /// Level of a CPU without real-time work: `CPUPRI_NORMAL`.
    pub(crate) const NORMAL: Self = Self(0);
    /// Level of a CPU with deadline work, above all real-time priorities: `CPUPRI_HIGHER`.
    pub(crate) const HIGHER: Self = Self(MAX_RT_PRIO as u8);

    /// Level of a priority; all fair priorities are normal: `convert_prio()`.
    pub(crate) fn from_prio(prio: Prio) -> Self {
        Self((MAX_RT_PRIO - 1 - prio).clamp(0, MAX_RT_PRIO) as u8)
    }
}

/// CPUs by priority level: the kernel's `struct cpupri`.
#[derive(Clone, Debug)]
pub(crate) struct CpuPri {
    cpus: Vec<CpuMask>,
    /// Number of CPUs in each set of `cpus`.
    counts: Vec<u32>,
    levels: Arena<CpuId, CpuLevel>,
}

impl CpuPri {
    /// Creates the state in which all CPUs run normal work.
    pub(crate) fn new(nr_cpus: usize) -> Self {
        let (mut cpus, mut counts) = (vec![CpuMask::new(nr_cpus); NR_LEVELS], vec![0; NR_LEVELS]);
        cpus[0].set_all();
        counts[0] = nr_cpus as u32;
        Self { cpus, counts, levels: Arena::filled(CpuLevel::NORMAL, nr_cpus) }
    }

    /// Marks all CPUs as offline.
    pub(crate) fn clear(&mut self) {
        for cpu in (0..self.levels.len()).map(CpuId::from_index) {
            self.set(cpu, CpuLevel::INVALID);
        }
    }

    pub(crate) fn level(&self, cpu: CpuId) -> CpuLevel {
        self.levels[cpu]
    }

    /// Sets the level of a CPU: `cpupri_set()`.
    pub(crate) fn set(&mut self, cpu: CpuId, level: CpuLevel) {
        let old = core::mem::replace(&mut self.levels[cpu], level);
        if old == level {
            return;
        }
        if level != CpuLevel::INVALID {
            self.cpus[usize::from(level.0)].set(cpu);
            self.counts[usize::from(level.0)] += 1;
        }
        if old != CpuLevel::INVALID {
            self.counts[usize::from(old.0)] -= 1;
            self.cpus[usize::from(old.0)].clear(cpu);
        }
    }

    /// Whether an allowed CPU runs below a level: `cpupri_find()` without a mask.
    pub(crate) fn has_below(&self, level: CpuLevel, allowed: &CpuMask) -> bool {
        self.occupied_below(level).any(|cpus| cpus.intersects(allowed))
    }

    /// Finds the allowed CPUs of the lowest level, if that is below `level`: `cpupri_find()`. Returns whether
    /// there are any; if not, `lowest` is meaningless.
    pub(crate) fn find(&self, level: CpuLevel, allowed: &CpuMask, lowest: &mut CpuMask) -> bool {
        let found = self.occupied_below(level).find(|cpus| cpus.intersects(allowed));
        found.inspect(|cpus| lowest.assign_and(allowed, cpus)).is_some()
    }

    /// Finds the CPUs of the lowest level among those that fit the task, or among all if none fits:
    /// `cpupri_find_fitness()`.
    ///
    /// Priority goes before fitness, so that a more important task runs even on a CPU that is too small for
    /// it.
    pub(crate) fn find_fitting(
        &self,
        level: CpuLevel,
        allowed: &CpuMask,
        lowest: &mut CpuMask,
        fits: impl Fn(CpuId) -> bool,
    ) -> bool {
        for cpus in self.occupied_below(level) {
            lowest.assign_and(allowed, cpus);
            let mut next = lowest.first();
            while let Some(cpu) = next {
                if !fits(cpu) {
                    lowest.clear(cpu);
                }
                next = lowest.next_from(CpuId(cpu.0 + 1));
            }
            if !lowest.is_empty() {
                return true;
            }
        }
        self.find(level, allowed, lowest)
    }

    fn occupied_below(&self, level: CpuLevel) -> impl Iterator<Item = &CpuMask> {
        let below = usize::from(level.0);
        self.cpus[..below].iter().zip(&self.counts).filter(|&(_, &count)| count > 0).map(|(cpus, _)| cpus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(priorities: [Prio; 4]) -> CpuPri {
        let mut cpupri = CpuPri::new(4);
        for (cpu, prio) in priorities.into_iter().enumerate() {
            cpupri.set(CpuId::from_index(cpu), CpuLevel::from_prio(prio));
        }
        cpupri
    }

    #[test]
    fn what_is_below_real_time_is_normal_and_deadlines_are_above() {
        assert_eq!(CpuLevel::from_prio(99), CpuLevel::NORMAL);
        assert_eq!(CpuLevel::from_prio(120), CpuLevel::NORMAL);
        assert_eq!(CpuLevel::from_prio(98), CpuLevel(1));
        assert_eq!(CpuLevel::from_prio(0), CpuLevel(99));
        assert_eq!(CpuLevel::from_prio(-1), CpuLevel::HIGHER);
    }

    #[test]
    fn the_allowed_cpus_of_the_lowest_level_are_found() {
        let cpupri = levels([50, 60, 99, 60]);
        let mut lowest = CpuMask::new(4);
        assert!(cpupri.find(CpuLevel::from_prio(40), &CpuMask::full(4), &mut lowest));
        assert_eq!(lowest, CpuMask::from_cpus(4, [CpuId(2)]));
        let allowed = CpuMask::from_cpus(4, [CpuId(0), CpuId(1), CpuId(3)]);
        assert!(cpupri.find(CpuLevel::from_prio(40), &allowed, &mut lowest));
        assert_eq!(lowest, CpuMask::from_cpus(4, [CpuId(1), CpuId(3)]));
    }

    #[test]
    fn a_cpu_of_equal_priority_is_no_place_to_go() {
        let cpupri = levels([50, 50, 50, 50]);
        assert!(!cpupri.has_below(CpuLevel::from_prio(50), &CpuMask::full(4)));
        assert!(cpupri.has_below(CpuLevel::from_prio(49), &CpuMask::full(4)));
    }

    #[test]
    fn a_fitting_cpu_of_higher_level_goes_before_a_small_one() {
        let cpupri = levels([99, 99, 60, 60]);
        let mut lowest = CpuMask::new(4);
        let find = |lowest: &mut CpuMask, fits: fn(CpuId) -> bool| {
            cpupri.find_fitting(CpuLevel::from_prio(40), &CpuMask::full(4), lowest, fits)
        };
        assert!(find(&mut lowest, |cpu| cpu.0 >= 2));
        assert_eq!(lowest, CpuMask::from_cpus(4, [CpuId(2), CpuId(3)]));
        assert!(find(&mut lowest, |_| false));
        assert_eq!(lowest, CpuMask::from_cpus(4, [CpuId(0), CpuId(1)]));
    }
}
