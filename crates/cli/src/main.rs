// SPDX-License-Identifier: GPL-2.0-or-later
//! The `fairlab` program; `fairlab_cli` is what it does.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairlab_cli::main()
}
