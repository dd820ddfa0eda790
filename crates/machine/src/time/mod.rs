// SPDX-License-Identifier: GPL-2.0-or-later
//! Passing of time on the CPUs: work of tasks, speeds, idle states, kernel phases and waits for locks.
//!
//! The files use each other in this order: `work`, `speed`, `idle`, `phases`, `locks`. None calls the
//! scheduler's handlers.

mod idle;
mod locks;
mod phases;
mod speed;
mod work;
