// SPDX-License-Identifier: GPL-2.0-or-later
//! The `fairlab` program; the crate `fairlab_cli` implements it.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairlab_cli::main()
}
