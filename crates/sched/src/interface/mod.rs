// SPDX-License-Identifier: GPL-2.0-or-later
//! What is told to the outside: the context of a call with its effects, events for listeners, and the record of each decision;
//! and who is asked from there, if there is somebody: a [`policy`].

pub mod balance;
pub mod blocked;
pub mod ctx;
pub mod policy;
pub mod probe;
pub mod wakeup;
pub mod warning;
