// SPDX-License-Identifier: GPL-2.0-or-later
//! Execution of runs: here or in a worker, once or repeatedly, with the files that they write.

pub(crate) mod check;
pub(crate) mod execute;
pub(crate) mod exports;
pub(crate) mod kernel_tree;
pub(crate) mod page;
pub(crate) mod recording;
pub(crate) mod rerun;
pub(crate) mod switches;
pub(crate) mod trial;
pub(crate) mod trial_arms;
pub(crate) mod worker;
