// SPDX-License-Identifier: GPL-2.0-or-later
//! Weights of tasks and groups, and scaling of time by weights.
//!
//! Models `sched_prio_to_weight`, `sched_prio_to_wmult`, `__calc_delta()` and related functions (6.1, 64
//! bits: weights have ten more bits of resolution than `cpu.shares`).

#[cfg(test)]
mod golden_tests;

use crate::types::units::SCHED_CAPACITY_SHIFT;

/// Weight of a nice-0 task at full resolution (`NICE_0_LOAD`).
pub const NICE_0_LOAD: u64 = 1 << (10 + SCHED_CAPACITY_SHIFT);
/// Weight of a SCHED_IDLE task, without the extra resolution.
pub const WEIGHT_IDLEPRIO: u64 = 3;
/// Permitted values of `cpu.shares` (`MIN_SHARES` to `MAX_SHARES`), without the extra resolution.
pub const SHARES_RANGE: core::ops::RangeInclusive<u64> = 2..=262_144;

/// Weights of nice -20 to 19. One step changes the CPU share between two tasks by about 10 %.
const NICE_TO_WEIGHT: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501,
    1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// Inverses of the weights as in the kernel: 2^32 / weight, some rounded up and some down.
const NICE_TO_INVERSE: [u32; 40] = [
    48388, 59856, 76040, 92818, 118348, 147320, 184698, 229616, 287308, 360437, 449829, 563644, 704093, 875809,
    1099582, 1376151, 1717300, 2157191, 2708050, 3363326, 4194304, 5237765, 6557202, 8165337, 10153587, 12820798,
    15790321, 19976592, 24970740, 31350126, 39045157, 49367440, 61356676, 76695844, 95443717, 119304647, 148102320,
    186737708, 238609294, 286331153,
];
/// Inverse of the weight of SCHED_IDLE.
const INVERSE_IDLEPRIO: u32 = 1_431_655_765;

/// Converts a weight to full resolution.
#[inline]
pub const fn scale_load(weight: u64) -> u64 {
    weight << SCHED_CAPACITY_SHIFT
}

/// Converts a weight from full resolution. A nonzero weight yields at least 2.
#[inline]
pub const fn scale_load_down(weight: u64) -> u64 {
    if weight == 0 {
        return 0;
    }
    let down = weight >> SCHED_CAPACITY_SHIFT;
    if down < 2 { 2 } else { down }
}

/// A weight with its cached inverse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadWeight {
    /// Weight at full resolution.
    pub weight: u64,
    /// Inverse 2^32 / weight (not at full resolution); 0 if it must be computed.
    pub inv_weight: u32,
}

impl LoadWeight {
    /// Returns a weight whose inverse is not computed yet.
    pub const fn new(weight: u64) -> Self {
        Self { weight, inv_weight: 0 }
    }

    /// Returns the weight of a nice value, -20 to 19.
    ///
    /// # Panics
    /// If the value is out of range.
    pub fn from_nice(nice: i8) -> Self {
        let level = usize::try_from(i32::from(nice) + 20).expect("nice is at least -20");
        Self { weight: scale_load(u64::from(NICE_TO_WEIGHT[level])), inv_weight: NICE_TO_INVERSE[level] }
    }

    /// Returns the weight of SCHED_IDLE.
    pub const fn idle_policy() -> Self {
        Self { weight: scale_load(WEIGHT_IDLEPRIO), inv_weight: INVERSE_IDLEPRIO }
    }

    /// Adds a weight to a sum.
    pub const fn add(&mut self, weight: u64) {
        self.weight += weight;
        self.inv_weight = 0;
    }

    /// Subtracts a weight from a sum. A sum below zero wraps, as in the kernel.
    pub const fn sub(&mut self, weight: u64) {
        self.weight = self.weight.wrapping_sub(weight);
        self.inv_weight = 0;
    }

    /// Returns the inverse, from the cache or computed. The computed one is that of the largest 32-bit
    /// number, not of 2^32.
    fn inverse(&mut self) -> u32 {
        if self.inv_weight == 0 {
            self.inv_weight = match scale_load_down(self.weight) {
                0 => u32::MAX,
                weight if weight >= u64::from(u32::MAX) => 1,
                weight => (u64::from(u32::MAX) / weight) as u32,
            };
        }
        self.inv_weight
    }
}

/// Returns `delta_ns * weight / load`, computed with the inverse of the load and a factor of at most 32 bits.
///
/// Models `__calc_delta()` (6.1). Rules:
/// 1. The factor is the weight (without the extra resolution) times the inverse of the load.
/// 2. Bits above 32 are shifted out: of the weight before the multiplication, and of the product after it.
/// 3. The result is the product of delta and factor, shifted right by the rest of 32 bits.
pub fn calc_delta(delta_ns: u64, weight: u64, load: &mut LoadWeight) -> u64 {
    let mut factor = scale_load_down(weight);
    let mut shift = 32;
    let mut drop_high_bits = |factor: &mut u64| {
        let excess = u64::BITS - (*factor >> 32).leading_zeros();
        *factor >>= excess;
        shift -= excess;
    };
    drop_high_bits(&mut factor);
    factor *= u64::from(load.inverse());
    drop_high_bits(&mut factor);
    ((u128::from(delta_ns) * u128::from(factor)) >> shift) as u64
}

/// Returns the virtual time of `delta_ns` of runtime for an entity of this weight.
#[inline]
pub fn calc_delta_fair(delta_ns: u64, load: &mut LoadWeight) -> u64 {
    if load.weight == NICE_0_LOAD { delta_ns } else { calc_delta(delta_ns, NICE_0_LOAD, load) }
}
