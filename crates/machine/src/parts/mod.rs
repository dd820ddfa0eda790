// SPDX-License-Identifier: GPL-2.0-or-later
//! Parts of a machine. Each owns its state and offers methods on it; none knows the machine or its engine.

pub(crate) mod background;
pub(crate) mod counters;
pub(crate) mod cpu;
pub(crate) mod idle;
pub(crate) mod kernel;
pub(crate) mod lines;
pub(crate) mod locks;
pub(crate) mod net;
pub(crate) mod policy;
pub(crate) mod residency;
pub(crate) mod speed;
pub(crate) mod sync;
pub(crate) mod tasks;
pub(crate) mod threads;
pub(crate) mod tracer;
pub(crate) mod units;
