// SPDX-License-Identifier: GPL-2.0-or-later
//! Interfaces of a machine: to its engine, to its users and to their observers.

pub mod engine;
pub(crate) mod error;
pub(crate) mod observation;
pub(crate) mod setup;
pub mod snapshot;
