// SPDX-License-Identifier: GPL-2.0-or-later
//! The fair class at work: CFS.
//!
//! A task is placed ([`place`]) and enqueued ([`enqueue`]), charged while it runs ([`curr`]), preempted ([`preempt`]) when its slice
//! ([`mod@slice`], [`hrtick`]) is over at a tick ([`tick`]), and the next one is picked ([`pick`]). Groups divide weight by [`shares`] and
//! are limited by [`bandwidth`].

pub(crate) mod bandwidth;
pub(crate) mod curr;
pub(crate) mod enqueue;
#[cfg(test)]
mod golden_group_tests;
#[cfg(test)]
mod golden_tests;
pub(crate) mod hrtick;
pub(crate) mod pick;
pub(crate) mod place;
pub(crate) mod preempt;
pub mod shares;
pub(crate) mod slice;
pub(crate) mod tick;
