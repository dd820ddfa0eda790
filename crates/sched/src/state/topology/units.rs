// SPDX-License-Identifier: GPL-2.0-or-later
//! Units of hardware as sets of CPUs: cores, clusters, caches, packages, nodes.

use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// One kind of unit: each online CPU is in exactly one of them.
///
/// Units stand in the order of their lowest CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuUnits {
    /// The place of each CPU's unit; [`OFFLINE`](Self::OFFLINE) for CPUs that are in none.
    unit_of: Vec<u32>,
    masks: Vec<CpuMask>,
}

impl CpuUnits {
    const OFFLINE: u32 = u32::MAX;

    /// Puts the CPUs of `online` into units by a number that CPUs of one unit have in common.
    pub(crate) fn by_number(online: &CpuMask, number: impl Fn(CpuId) -> u32) -> Self {
        let mut places = BTreeMap::new();
        let mut units = Self { unit_of: alloc::vec![Self::OFFLINE; online.nr_cpus()], masks: Vec::new() };
        for cpu in online.iter() {
            let place = *places.entry(number(cpu)).or_insert_with(|| {
                units.masks.push(CpuMask::new(online.nr_cpus()));
                units.masks.len() - 1
            });
            units.masks[place].set(cpu);
            units.unit_of[cpu.index()] = place as u32;
        }
        units
    }

    /// Puts each CPU where `self` has it, with other masks for the places. The masks need not be disjoint.
    pub(crate) fn with_masks(&self, masks: Vec<CpuMask>) -> Self {
        assert_eq!(masks.len(), self.masks.len(), "one mask for each unit");
        Self { unit_of: self.unit_of.clone(), masks }
    }

    /// How many units there are.
    pub const fn len(&self) -> usize {
        self.masks.len()
    }

    /// Whether there is no unit, which is so only without CPUs.
    pub const fn is_empty(&self) -> bool {
        self.masks.is_empty()
    }

    /// The place of the CPU's unit.
    ///
    /// # Panics
    /// If the CPU is offline.
    pub fn place_of(&self, cpu: CpuId) -> usize {
        let place = self.unit_of[cpu.index()];
        assert!(place != Self::OFFLINE, "cpu {} is offline and in no unit", cpu.0);
        place as usize
    }

    /// The CPUs of the unit that the CPU is in.
    ///
    /// # Panics
    /// If the CPU is offline.
    pub fn mask_of(&self, cpu: CpuId) -> &CpuMask {
        &self.masks[self.place_of(cpu)]
    }

    /// The CPUs of each unit.
    pub fn masks(&self) -> &[CpuMask] {
        &self.masks
    }
}
