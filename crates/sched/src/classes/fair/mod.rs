// SPDX-License-Identifier: GPL-2.0-or-later
//! The fair class: CFS up to 6.5, and EEVDF ([`eevdf`]), here as in 6.12.
//!
//! In CFS, a task is placed ([`place`]), enqueued ([`enqueue`]) and charged while it runs ([`curr`]). It is preempted
//! ([`preempt`]) by wake-ups, or at a tick ([`tick`]) when its slice ([`mod@slice`], [`hrtick`]) is over.
//! Then the next task is picked ([`pick`]). In both, the weight of groups is divided by [`shares`], and
//! their runtime is limited by [`bandwidth`].

pub(crate) mod bandwidth;
pub(crate) mod cfs;
pub(crate) mod curr;
pub(crate) mod eevdf;
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
