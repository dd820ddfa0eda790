// SPDX-License-Identifier: GPL-2.0-or-later
//! What others do between the phases of a path is seen, and nothing else changes.

mod host;
mod interleavings;
mod races;
mod same;
mod searches;
