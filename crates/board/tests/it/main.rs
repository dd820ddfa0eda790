// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of machine files.

mod errors;
mod files;
