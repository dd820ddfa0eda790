// SPDX-License-Identifier: GPL-2.0-or-later
//! The scheduler, as the machine meets it.
//!
//! What happens to it comes through the `handle_*` methods, which stand in the modules of their paths: [`super::wake`],
//! [`super::fork`], [`super::schedule`], [`super::tick`], [`super::ipi`], [`super::timer`], [`super::stopper`], [`super::idle`];
//! commands in [`super::change`], [`super::groups`], [`super::cpusets`] and [`super::hotplug`].

use super::resumable::PathStacks;
pub use crate::state::SchedConfig;
use crate::state::State;
use crate::state::topology::BuildError;
use core::ops::{Deref, DerefMut};

/// The scheduler of a machine: its state, and what its CPUs are in the middle of.
///
/// Whatever can be asked of the state can be asked of it. Only paths see the rest, so that nothing below them can depend on where
/// they pause.
#[derive(Clone, Debug)]
pub struct Sched {
    pub(crate) state: State,
    pub(crate) walks: PathStacks,
}

impl Sched {
    /// A scheduler whose CPUs all idle and have never run anything; see [`Sched::boot`] for what usually follows.
    ///
    /// # Errors
    /// If no sched domains can be built on the machine.
    pub fn new(config: SchedConfig) -> Result<Self, BuildError> {
        Ok(Self { state: State::new(config)?, walks: PathStacks::default() })
    }
}

impl Deref for Sched {
    type Target = State;

    #[inline]
    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Sched {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}
