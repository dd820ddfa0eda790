// SPDX-License-Identifier: GPL-2.0-or-later
//! The timer of the period of real-time runtime: the kernel's `def_rt_bandwidth`.

/// The timer of the period: `def_rt_bandwidth`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RtBandwidth {
    /// Whether it runs.
    pub(crate) active: bool,
    /// When it expires, or would, in ns. Periods go on from here while it does not run.
    pub(crate) expires: u64,
}
