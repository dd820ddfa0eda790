// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of resumable paths: changes by other CPUs between two phases have an effect, and yielding alone has
//! none.

pub(crate) mod host;
pub(crate) mod interleavings;
pub(crate) mod races;
pub(crate) mod same;
pub(crate) mod searches;
