// SPDX-License-Identifier: GPL-2.0-or-later
//! The scheduler as the machine uses it.
//!
//! The machine calls the `handle_*` methods for events. They are in the modules of their paths:
//! [`super::wake`], [`super::fork`], [`super::schedule`], [`super::tick`], [`super::ipi`], [`super::timer`],
//! [`super::stopper`], [`super::idle`]. Commands are in [`super::change`], [`super::groups`],
//! [`super::cpusets`] and [`super::hotplug`]. Values are set in [`super::settings`] and read in [`super::queries`].

use super::resumable::PathStacks;
pub use crate::state::SchedConfig;
use crate::state::State;
use crate::state::topology::BuildError;
use core::ops::{Deref, DerefMut};

/// Scheduler of a machine: its state, and the yielded paths of its CPUs.
///
/// Dereferences to [`State`], so all getters of the state are available. Only `paths` and `check` see the
/// yielded paths; the layers below cannot depend on yield points.
#[derive(Clone, Debug)]
pub struct Sched {
    pub(crate) state: State,
    pub(crate) path_stacks: PathStacks,
}

impl Sched {
    /// Creates a scheduler whose CPUs are idle and have never run a task; [`Sched::boot`] usually follows.
    ///
    /// # Errors
    /// If no sched domains can be built on the machine.
    pub fn new(config: SchedConfig) -> Result<Self, BuildError> {
        Ok(Self { state: State::new(config)?, path_stacks: PathStacks::default() })
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
