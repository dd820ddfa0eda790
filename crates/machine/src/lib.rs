// SPDX-License-Identifier: GPL-2.0-or-later
//! Simulated machines, which own the simulated time.
//!
//! [`description`] reads machine files, [`sim`] runs a workload on a machine, and [`engine`] is the interface
//! to the scheduler.

pub mod capture;
pub mod costs;
pub mod description;
pub mod digest;
pub mod engine;
pub mod event;
mod exits;
pub mod files;
pub mod hardware;
mod idle_governor;
mod menu;
pub mod observer;
pub mod sim;
pub mod snapshot;
pub mod streams;
mod teo;
pub mod vary;
