// SPDX-License-Identifier: GPL-2.0-or-later
//! Geometric series of load tracking.
//!
//! Models `decay_load()` and `__accumulate_pelt_segments()` (6.1). Time is divided into periods of 1024 units
//! of 1024 ns. The weight of a contribution is multiplied by y with each later period, where y^32 = 1/2.

/// Number of periods after which the weight of a contribution is halved.
pub const LOAD_AVG_PERIOD: u64 = 32;

/// Limit of the series for a constant contribution of 1024 in each period.
pub const LOAD_AVG_MAX: u32 = 47742;

/// Smallest divider of a sum: the share of complete periods in the series.
pub const MIN_DIVIDER: u32 = LOAD_AVG_MAX - 1024;

/// Fractions y^n for n from 0 to 31, as floor(2^32 * y^n); y^0 is the largest 32-bit number.
const Y_TO_N: [u32; LOAD_AVG_PERIOD as usize] = [
    0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb, 0xdbfbb796, 0xd744fcc9,
    0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9, 0xbd08a39e, 0xb8fbaf46, 0xb504f333, 0xb123f581,
    0xad583ee9, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef5325f, 0x9b8d39b9, 0x9837f050, 0x94f4efa8, 0x91c3d373,
    0x8ea4398a, 0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
];

/// Returns `value * y^periods`, rounded down; 0 after more than 63 half-lives.
#[inline]
pub fn decay_load(value: u64, periods: u64) -> u64 {
    if periods > LOAD_AVG_PERIOD * 63 {
        return 0;
    }
    let halved = value >> (periods / LOAD_AVG_PERIOD);
    ((u128::from(halved) * u128::from(Y_TO_N[(periods % LOAD_AVG_PERIOD) as usize])) >> 32) as u64
}

/// Returns the contribution of a time span that completes a period, covers `periods - 1` whole ones and
/// begins another.
///
/// `first` is the span's share of the oldest period (up to 1024), `last` that of the newest; both in units of
/// 1024 ns. The whole periods in between are the difference of two tails of the series.
#[inline]
pub fn accumulate_segments(periods: u64, first: u32, last: u32) -> u32 {
    let oldest = decay_load(u64::from(first), periods) as u32;
    let whole = LOAD_AVG_MAX - decay_load(u64::from(LOAD_AVG_MAX), periods) as u32 - 1024;
    oldest.wrapping_add(whole).wrapping_add(last)
}
