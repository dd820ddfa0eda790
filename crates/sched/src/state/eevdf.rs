// SPDX-License-Identifier: GPL-2.0-or-later
//! Settings of EEVDF, which kernels before 6.6 do not have: features and the base slice, with the values of 6.12.

use crate::types::tunables::InitialValue;

/// Scheduler feature of EEVDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EevdfFeature {
    /// An entity gets back its lag when it joins.
    PlaceLag,
    /// A new task gets half a slice.
    PlaceDeadlineInitial,
    /// A deadline survives a migration.
    PlaceRelDeadline,
    /// A slice that has begun is not preempted while its entity is eligible.
    RunToParity,
    /// A wake-up with a shorter slice ends this protection.
    PreemptShort,
    /// The next buddy is picked if it is eligible.
    PickBuddy,
    /// An entity that goes to sleep without being eligible stays queued.
    DelayDequeue,
    /// Such an entity leaves with a lag of at most zero.
    DelayZero,
}

impl EevdfFeature {
    /// All features, with their names in the kernel. All are enabled by default.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::PlaceLag, "PLACE_LAG"),
        (Self::PlaceDeadlineInitial, "PLACE_DEADLINE_INITIAL"),
        (Self::PlaceRelDeadline, "PLACE_REL_DEADLINE"),
        (Self::RunToParity, "RUN_TO_PARITY"),
        (Self::PreemptShort, "PREEMPT_SHORT"),
        (Self::PickBuddy, "PICK_BUDDY"),
        (Self::DelayDequeue, "DELAY_DEQUEUE"),
        (Self::DelayZero, "DELAY_ZERO"),
    ];
}

/// Features and tunables of EEVDF.
#[derive(Clone, Copy, Debug)]
pub struct EevdfSettings {
    features: u8,
    /// Slice of a task without one of its own, in ns.
    pub base_slice_ns: u64,
}

impl EevdfSettings {
    /// Returns the defaults of 6.12 on a machine with this number of CPUs.
    pub fn for_cpus(nr_cpus: usize) -> Self {
        Self { features: u8::MAX, base_slice_ns: InitialValue::Scaled(700_000).for_nr_cpus(nr_cpus) as u64 }
    }

    /// Whether a feature is enabled.
    #[inline]
    pub const fn has(self, feature: EevdfFeature) -> bool {
        self.features & 1 << feature as u8 != 0
    }

    /// Enables or disables a feature.
    pub const fn set(&mut self, feature: EevdfFeature, on: bool) {
        let bit = 1 << feature as u8;
        self.features = if on { self.features | bit } else { self.features & !bit };
    }
}
