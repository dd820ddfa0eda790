// SPDX-License-Identifier: GPL-2.0-or-later
//! The fair class of 6.1: CFS. [`eevdf`](super::eevdf) has functions of the same names for 6.12.
//!
//! A task is enqueued ([`enqueue`]) where [`place`] puts it, and charged while it runs ([`curr`]). It is preempted by
//! wake-ups ([`preempt`]), or at a tick ([`tick`]) when its slice ([`slice`], [`hrtick`]) is over. Then the entity with
//! the smallest virtual runtime is picked ([`pick`]).

pub(crate) mod curr;
pub(crate) mod enqueue;
#[cfg(test)]
mod golden_tests;
pub(crate) mod hrtick;
pub(crate) mod pick;
pub(crate) mod place;
pub(crate) mod preempt;
pub(crate) mod shares;
pub(crate) mod slice;
pub(crate) mod tick;
