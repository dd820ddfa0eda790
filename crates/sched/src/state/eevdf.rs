// SPDX-License-Identifier: GPL-2.0-or-later
//! Tunables of EEVDF, which kernels before 6.6 do not have, with the values of 6.12.

use crate::types::tunables::InitialValue;

/// Tunables of EEVDF.
#[derive(Clone, Copy, Debug)]
pub struct EevdfSettings {
    /// Slice of a task without one of its own, in ns.
    pub base_slice_ns: u64,
}

impl EevdfSettings {
    /// Returns the defaults of 6.12 on a machine with this number of CPUs.
    pub fn for_cpus(nr_cpus: usize) -> Self {
        Self { base_slice_ns: InitialValue::Scaled(700_000).for_nr_cpus(nr_cpus) as u64 }
    }
}
