// SPDX-License-Identifier: GPL-2.0-or-later
//! Units of work, and conversions between work and time.
//!
//! Work is counted exactly, in units of 2^-20 ns at full speed. A CPU of capacity C at a frequency of F /
//! 1024 does C * F units in 1 ns.

/// Units of work that a CPU of capacity 1024 does in 1 ns at its highest frequency.
pub(crate) const FULL_SPEED: u64 = 1024 * 1024;

/// Converts a time in picoseconds at a speed to work. 64 bits nearly always suffice.
#[inline]
pub(crate) fn work_in(ps: u64, speed: u64) -> u128 {
    match ps.checked_mul(speed) {
        Some(work) => u128::from(work / 1000),
        None => u128::from(ps) * u128::from(speed) / 1000,
    }
}

/// Returns `of / unit`, rounded down.
#[inline]
pub(crate) fn whole_units(of: u128, unit: u64) -> u64 {
    match u64::try_from(of) {
        Ok(of) => of / unit,
        Err(_) => (of / u128::from(unit)) as u64,
    }
}
