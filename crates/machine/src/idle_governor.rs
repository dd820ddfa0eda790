// SPDX-License-Identifier: GPL-2.0-or-later
//! The idle governor of a CPU: one of those that kernels have.

use crate::hardware::{IdleGovernorKind, IdleState};
use crate::menu::{GovernorDecision, GovernorInput, Menu, WokenBy};
use crate::teo::Teo;
use fairlab_sched::units::Nanos;

/// What the governor of a CPU has learnt.
#[derive(Clone, Debug)]
pub(crate) enum IdleGovernor {
    Menu(Menu),
    Teo(Teo),
}

impl IdleGovernor {
    /// Of a CPU with so many states.
    pub(crate) fn new(kind: IdleGovernorKind, nr_states: usize) -> Self {
        match kind {
            IdleGovernorKind::Menu => Self::Menu(Menu::default()),
            IdleGovernorKind::Teo => Self::Teo(Teo::new(nr_states)),
        }
    }

    /// Chooses a state of those that a CPU has, from the shallowest to the deepest; there is at least one.
    pub(crate) fn select(&mut self, states: &[IdleState], known: GovernorInput) -> GovernorDecision {
        match self {
            Self::Menu(menu) => menu.select(states, known),
            Self::Teo(teo) => teo.select(states, known),
        }
    }

    /// Learns how long a CPU was in a state, its exit latency among it.
    pub(crate) fn reflect(&mut self, states: &[IdleState], state: usize, time: Nanos, woken_by: WokenBy, tick: Nanos) {
        match self {
            Self::Menu(menu) => menu.reflect(&states[state], time, woken_by, tick),
            Self::Teo(teo) => teo.reflect(states, state, time, woken_by, tick),
        }
    }
}
