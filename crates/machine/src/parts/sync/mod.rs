// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects that tasks share. They decide who gets an object and who waits; waking and blocking is left to the
//! caller.
//!
//! Waiting works as in glibc on futexes: a woken waiter tries again, so another task may take the mutex in
//! between. Waiters are woken in order of arrival.

mod action;
mod blocked;
mod channel;
mod futex;
mod mutex;
mod objects;

pub(crate) use action::{ResumeAction, StepOutcome};
pub use blocked::BlockedOn;
pub(crate) use mutex::{Mutex, Waiter};
pub(crate) use objects::SyncObjects;
