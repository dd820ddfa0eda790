// SPDX-License-Identifier: GPL-2.0-or-later
//! Hardware units as sets of CPUs: cores, clusters, caches, packages, nodes.

use crate::types::arena::Arena;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// All units of one kind. Each online CPU is in exactly one of them.
///
/// Units are sorted by their lowest CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuUnits {
    /// By CPU: index of its unit; [`OFFLINE`](Self::OFFLINE) for CPUs that are in none.
    unit_of: Arena<CpuId, u32>,
    masks: Vec<CpuMask>,
}

impl CpuUnits {
    const OFFLINE: u32 = u32::MAX;

    /// Groups the CPUs of `online` into units by a number that CPUs of one unit have in common.
    pub(crate) fn by_number(online: &CpuMask, number: impl Fn(CpuId) -> u32) -> Self {
        let mut places = BTreeMap::new();
        let mut units = Self { unit_of: Arena::filled(Self::OFFLINE, online.nr_cpus()), masks: Vec::new() };
        for cpu in online.iter() {
            let place = *places.entry(number(cpu)).or_insert_with(|| {
                units.masks.push(CpuMask::new(online.nr_cpus()));
                units.masks.len() - 1
            });
            units.masks[place].set(cpu);
            units.unit_of[cpu] = place as u32;
        }
        units
    }

    /// Returns units with the same assignment of CPUs but other masks. The masks need not be disjoint.
    pub(crate) fn with_masks(&self, masks: Vec<CpuMask>) -> Self {
        assert_eq!(masks.len(), self.masks.len(), "one mask for each unit");
        Self { unit_of: self.unit_of.clone(), masks }
    }

    /// Number of units of this kind.
    pub const fn len(&self) -> usize {
        self.masks.len()
    }

    /// Whether there is no unit, which is the case only without CPUs.
    pub const fn is_empty(&self) -> bool {
        self.masks.is_empty()
    }

    /// Index of the unit that contains the CPU.
    ///
    /// # Panics
    /// If the CPU is offline.
    pub fn place_of(&self, cpu: CpuId) -> usize {
        let place = self.unit_of[cpu];
        assert!(place != Self::OFFLINE, "cpu {} is offline and in no unit", cpu.0);
        place as usize
    }

    /// CPUs of the unit that contains the CPU.
    ///
    /// # Panics
    /// If the CPU is offline.
    pub fn mask_of(&self, cpu: CpuId) -> &CpuMask {
        &self.masks[self.place_of(cpu)]
    }

    /// CPUs of each unit.
    pub fn masks(&self) -> &[CpuMask] {
        &self.masks
    }
}
