// SPDX-License-Identifier: GPL-2.0-or-later
//! What is told to the outside: the context of a call with its effects, events for listeners, and the record of each decision.

pub mod balance;
pub mod blocked;
pub mod ctx;
pub mod probe;
pub mod wakeup;
pub mod warning;
