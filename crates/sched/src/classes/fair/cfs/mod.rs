// SPDX-License-Identifier: GPL-2.0-or-later
//! The fair class of 6.1: CFS. [`eevdf`](super::eevdf) has functions of the same names for 6.12.
//!
//! A task is placed ([`place`]) and enqueued ([`enqueue`]). It is preempted by wake-ups ([`preempt`]), or when its slice
//! ([`slice`]) is over. Then the entity with the smallest virtual runtime is picked ([`pick`]).

pub(crate) mod enqueue;
#[cfg(test)]
mod golden_tests;
pub(crate) mod pick;
pub(crate) mod place;
pub(crate) mod preempt;
pub(crate) mod slice;
