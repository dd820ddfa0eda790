// SPDX-License-Identifier: GPL-2.0-or-later
//! Foundations: random numbers, the digest of a run, bounded reading of files, the event queue, the clock.

pub(crate) mod clock;
pub mod digest;
pub mod event;
pub mod files;
pub mod streams;
