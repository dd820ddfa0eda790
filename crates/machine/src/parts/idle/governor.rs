// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle governor of a CPU: menu or TEO.

use super::menu::{GovernorDecision, GovernorInput, Menu, WokenBy};
use super::teo::Teo;
use crate::hardware::{IdleGovernorKind, IdleState};
use fairlab_sched::units::Nanos;

/// State of a CPU's governor.
#[derive(Clone, Debug)]
pub(crate) enum IdleGovernor {
    Menu(Menu),
    Teo(Teo),
}

impl IdleGovernor {
    /// Returns the initial governor of a CPU with `nr_states` idle states.
    pub(crate) fn new(kind: IdleGovernorKind, nr_states: usize) -> Self {
        match kind {
            IdleGovernorKind::Menu => Self::Menu(Menu::default()),
            IdleGovernorKind::Teo => Self::Teo(Teo::new(nr_states)),
        }
    }

    /// Chooses one of the CPU's states, which are ordered from the shallowest to the deepest. There is at
    /// least one.
    pub(crate) fn select(&mut self, states: &[IdleState], known: GovernorInput) -> GovernorDecision {
        match self {
            Self::Menu(menu) => menu.select(states, known),
            Self::Teo(teo) => teo.select(states, known),
        }
    }

    /// Records the time that a CPU spent in a state, including the exit latency.
    pub(crate) fn reflect(&mut self, states: &[IdleState], state: usize, time: Nanos, woken_by: WokenBy, tick: Nanos) {
        match self {
            Self::Menu(menu) => menu.reflect(&states[state], time, woken_by, tick),
            Self::Teo(teo) => teo.reflect(states, state, time, woken_by, tick),
        }
    }
}
