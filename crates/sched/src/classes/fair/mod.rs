// SPDX-License-Identifier: GPL-2.0-or-later
//! The fair class: CFS ([`cfs`]) up to 6.5, here as in 6.1, and EEVDF ([`eevdf`]), here as in 6.12.
//!
//! Both have functions of the same names, but for a suffix; [`dispatch`] lists those that other code calls. What both
//! share is here, without a test of the kernel: entities that join and leave ([`enqueue`]) or run ([`curr`]), branches of
//! the group tree ([`branches`]), next buddies ([`buddies`]), the slice timer ([`hrtick`]), weights of groups
//! ([`shares`]), and limits of their runtime ([`bandwidth`]).

pub(crate) mod bandwidth;
pub(crate) mod branches;
pub(crate) mod buddies;
pub(crate) mod cfs;
pub(crate) mod curr;
pub(crate) mod dispatch;
pub(crate) mod eevdf;
pub(crate) mod enqueue;
#[cfg(test)]
mod golden_group_tests;
pub(crate) mod hrtick;
pub(crate) mod idle;
pub mod shares;
