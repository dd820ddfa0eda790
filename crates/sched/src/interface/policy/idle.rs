// SPDX-License-Identifier: GPL-2.0-or-later
//! How deep an idle CPU is to sleep. The machine asks, since idle states are its affair.

use crate::types::ids::CpuId;
use crate::types::units::Nanos;
use alloc::string::String;

/// An idle state, as a governor knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleStateInfo {
    /// The longest time from an interrupt until the CPU executes.
    pub exit_latency: Nanos,
    /// For how long it must last to be worth it.
    pub target_residency: Nanos,
    /// The CPU looks for work all the time instead of waiting for it.
    pub polls: bool,
}

/// A CPU that has nothing to do.
#[derive(Clone, Copy, Debug)]
pub struct IdleRequest<'a> {
    /// The time.
    pub now: Nanos,
    /// Which CPU.
    pub cpu: CpuId,
    /// Its states, from the shallowest to the deepest.
    pub states: &'a [IdleStateInfo],
    /// How long until the next timer that is not the tick; [`Nanos::NEVER`] if there is none.
    pub to_timer: Nanos,
    /// Exits that take longer than this are forbidden; [`Nanos::NEVER`] if all are allowed.
    pub latency_limit: Nanos,
    /// The state that the kernel's governor would choose.
    pub kernel: usize,
}

/// What a policy answers to that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdleChoice {
    /// It sleeps in this state, and its tick stops unless that is not worth it.
    State(usize),
    /// The kernel's governor is to decide.
    Kernel,
    /// It cannot go on, for this reason: the run ends.
    Fail(String),
}
