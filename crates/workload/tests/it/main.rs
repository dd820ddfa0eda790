// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of readers.

mod malformed;
mod never_panics;
mod rtapp_files;
