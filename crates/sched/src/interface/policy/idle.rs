// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests to a custom policy about idle states, and its choices. The machine sends these requests, because
//! idle states belong to the machine.

use crate::types::ids::CpuId;
use crate::types::units::Nanos;
use alloc::string::String;

/// An idle state, as a governor sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleStateInfo {
    /// Maximum time from an interrupt until the CPU executes instructions.
    pub exit_latency: Nanos,
    /// Minimum residency for which the state saves energy.
    pub target_residency: Nanos,
    /// Whether the CPU polls for work instead of waiting for an interrupt.
    pub polls: bool,
}

/// An idle CPU that is about to choose an idle state.
#[derive(Clone, Copy, Debug)]
pub struct IdleRequest<'a> {
    /// Simulated time of the choice.
    pub now: Nanos,
    /// CPU that is about to idle.
    pub cpu: CpuId,
    /// Idle states of the CPU, from the shallowest to the deepest.
    pub states: &'a [IdleStateInfo],
    /// Time to the next timer that is not the tick; [`Nanos::NEVER`] if there is none.
    pub to_timer: Nanos,
    /// Maximum permitted exit latency; [`Nanos::NEVER`] without a limit.
    pub latency_limit: Nanos,
    /// State that the kernel's governor would choose.
    pub kernel: usize,
}

/// Choice of a policy for an idle CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdleChoice {
    /// Enter this state. The tick stops, unless that is not worthwhile.
    State(usize),
    /// Leave the decision to the kernel's governor.
    Kernel,
    /// End the run with this error.
    Fail(String),
}
