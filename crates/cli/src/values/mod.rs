// SPDX-License-Identifier: GPL-2.0-or-later
//! Values that all parts of the command share: errors, signals, whole files, arms, names for completion.

pub(crate) mod arms;
pub(crate) mod error;
pub(crate) mod expectation;
pub(crate) mod hints;
pub(crate) mod host;
pub(crate) mod interrupt;
pub(crate) mod whole_file;
