// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the scheduler from outside.

mod properties;
mod topology;
