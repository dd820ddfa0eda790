// SPDX-License-Identifier: GPL-2.0-or-later
//! Foundations: random numbers, the digest of a run, the event queue, the clock.

pub(crate) mod clock;
pub mod digest;
pub mod event;
pub mod streams;
