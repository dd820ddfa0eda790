// SPDX-License-Identifier: GPL-2.0-or-later
//! Period timer of real-time runtime: the kernel's `def_rt_bandwidth`.

/// State of the period timer of real-time runtime.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RtBandwidth {
    /// Whether the timer runs.
    pub(crate) active: bool,
    /// Expiry of the timer, in ns. Periods continue from here after the timer has stopped.
    pub(crate) expires: u64,
}
