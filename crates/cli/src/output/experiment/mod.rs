// SPDX-License-Identifier: GPL-2.0-or-later
//! Output of experiments: their report, and the formats in which it is written.

pub(crate) mod formats;
pub(crate) mod report;
