// SPDX-License-Identifier: GPL-2.0-or-later
//! The geometric series under load tracking.
//!
//! Models `decay_load()` and `__accumulate_pelt_segments()` (6.1). Time is cut into periods of 1024 units of 1024 ns.
//! What a period contributed is worth y of that one period later, where y^32 = 1/2.

/// Periods after which a contribution is worth half: the kernel's `LOAD_AVG_PERIOD`.
pub const HALF_LIFE: u64 = 32;

/// The sum of the series for something that is always there: the kernel's `LOAD_AVG_MAX`.
pub const LOAD_AVG_MAX: u32 = 47742;

/// The least that the current sum can be divided by: the part of the series that complete periods make up.
pub const MIN_DIVIDER: u32 = LOAD_AVG_MAX - 1024;

/// y^n as a fraction of 2^32 - 1, for n from 0 to 31: floor(2^32 * y^n), with y^0 as the largest 32-bit number.
const Y_TO_N: [u32; HALF_LIFE as usize] = [
    0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb, 0xdbfbb796, 0xd744fcc9,
    0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9, 0xbd08a39e, 0xb8fbaf46, 0xb504f333, 0xb123f581,
    0xad583ee9, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef5325f, 0x9b8d39b9, 0x9837f050, 0x94f4efa8, 0x91c3d373,
    0x8ea4398a, 0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
];

/// `value * y^periods`, rounded down; nothing is left after 63 half-lives.
#[inline]
pub fn decay_load(value: u64, periods: u64) -> u64 {
    if periods > HALF_LIFE * 63 {
        return 0;
    }
    let halved = value >> (periods / HALF_LIFE);
    ((u128::from(halved) * u128::from(Y_TO_N[(periods % HALF_LIFE) as usize])) >> 32) as u64
}

/// What a span of time contributes that fills up a period, covers `periods - 1` whole ones and begins another.
///
/// `first` is the part of the oldest period (up to 1024), `last` that of the youngest; both in units of 1024 ns.
/// The whole periods between are the difference of two ends of the series.
#[inline]
pub fn accumulate_segments(periods: u64, first: u32, last: u32) -> u32 {
    let oldest = decay_load(u64::from(first), periods) as u32;
    let whole = LOAD_AVG_MAX - decay_load(u64::from(LOAD_AVG_MAX), periods) as u32 - 1024;
    oldest.wrapping_add(whole).wrapping_add(last)
}
