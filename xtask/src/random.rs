// SPDX-License-Identifier: GPL-2.0-or-later
//! Random draws that depend only on their seeds.

/// SplitMix64.
pub(crate) struct DrawRng(u64);

impl DrawRng {
    pub(crate) fn new(seeds: &[String]) -> Self {
        let bytes = seeds.join(" ").into_bytes();
        Self(
            bytes
                .into_iter()
                .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)),
        )
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).expect("less than the bound")
    }
}
