// SPDX-License-Identifier: GPL-2.0-or-later
//! Without code: see `Cargo.toml`.
