// SPDX-License-Identifier: GPL-2.0-or-later
//! Times at which boots and runs start.

use fairlab_sched::units::Nanos;

/// Start of a run, on every clock: 1 s.
pub const START: Nanos = Nanos(1_000_000_000);

/// Returns the start of the boot, which must end before [`START`]. Waking the stoppers takes 2 us for each
/// CPU.
pub(crate) const fn boot_start(nr_cpus: usize) -> Nanos {
    let needed = 3_000 * nr_cpus as u64;
    Nanos(START.0 - if needed > 1_000_000 { needed } else { 1_000_000 })
}
