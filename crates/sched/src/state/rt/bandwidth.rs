// SPDX-License-Identifier: GPL-2.0-or-later
//! TODO

/// The timer of the period: `def_rt_bandwidth`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RtBandwidth {
    /// Whether it runs.
    pub(crate) active: bool,
    /// When it expires, or would, in ns. Periods go on from here while it does not run.
    pub(crate) expires: u64,
}
