// SPDX-License-Identifier: GPL-2.0-or-later
//! What others do between the phases of a path is seen, and nothing else changes.

pub(crate) mod host;
pub(crate) mod interleavings;
pub(crate) mod races;
pub(crate) mod same;
pub(crate) mod searches;
