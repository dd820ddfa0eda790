// SPDX-License-Identifier: GPL-2.0-or-later
//! The fair class of 6.12: EEVDF, earliest eligible virtual deadline first.
//!
//! An entity is eligible while it has received no more service than it is due: its virtual runtime does not exceed the
//! virtual time of its cfs_rq ([`crate::state::rq::virtual_time`]). Of the eligible entities the one with the earliest
//! virtual deadline runs ([`pick`]). The difference to the virtual time, the lag ([`lag`]), is kept while an entity is
//! off the cfs_rq, and decides where it is placed ([`place`]). A deadline is a slice away ([`deadline`]); slices also
//! decide which wake-ups preempt ([`preempt`]). A change of weight keeps the lag ([`reweight`]).
//!
//! An entity that sleeps with a negative lag stays queued until it is eligible ([`delay`]). The fair server, which protects
//! fair tasks from starvation, is a deadline entity ([`crate::classes::deadline::server`]).

pub(crate) mod curr;
pub(crate) mod deadline;
pub(crate) mod delay;
pub(crate) mod enqueue;
#[cfg(test)]
mod golden_tests;
pub(crate) mod hrtick;
pub(crate) mod lag;
pub(crate) mod pick;
pub(crate) mod place;
pub(crate) mod preempt;
pub(crate) mod report;
pub(crate) mod reweight;
pub(crate) mod shares;
pub(crate) mod slice;
pub(crate) mod throttle;
pub(crate) mod tick;
