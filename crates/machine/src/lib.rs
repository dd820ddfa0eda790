// SPDX-License-Identifier: GPL-2.0-or-later
//! Simulated machines: the hardware under the scheduler, and the only owner of time.

pub mod description;
