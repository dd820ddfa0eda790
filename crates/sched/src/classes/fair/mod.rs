// SPDX-License-Identifier: GPL-2.0-or-later
//! The fair class: CFS ([`cfs`]) up to 6.5, here as in 6.1, and EEVDF ([`eevdf`]), here as in 6.12.
//!
//! A task is enqueued ([`enqueue`]) and charged while it runs ([`curr`]), until a wake-up, the tick ([`tick`]) or the slice
//! timer ([`hrtick`]) reschedules. Next buddies ([`buddies`]) are preferred. The weight of groups is divided by [`shares`],
//! and their runtime is limited by [`bandwidth`].

pub(crate) mod bandwidth;
pub(crate) mod branches;
pub(crate) mod buddies;
pub(crate) mod cfs;
pub(crate) mod curr;
pub(crate) mod eevdf;
pub(crate) mod enqueue;
#[cfg(test)]
mod golden_group_tests;
pub(crate) mod hrtick;
pub(crate) mod idle;
pub mod shares;
pub(crate) mod tick;
