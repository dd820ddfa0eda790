// SPDX-License-Identifier: GPL-2.0-or-later
//! The page of `fairlab lab`: its WebAssembly module, and the check of the module in Node.

mod node;
mod page;
mod wasm;

use crate::programs;
use anyhow::Result;
use clap::Args as ClapArgs;
use std::path::Path;

#[derive(ClapArgs)]
pub(crate) struct LabArgs {
    /// Compare runs and explanations of the WebAssembly module in Node with native ones.
    #[arg(long)]
    check: bool,
    /// Number of random scenarios to compare.
    #[arg(long, default_value_t = 500, requires = "check")]
    random: u64,
    /// Compare fewer random scenarios, report a missing Node as SKIPPED and succeed.
    #[arg(long, requires = "check")]
    ci: bool,
}

pub(crate) fn run(root: &Path, args: &LabArgs) -> Result<()> {
    let module = wasm::build(root)?;
    let directory = programs::target(root).join("page");
    page::write(root, &directory, &module)?;
    if args.check {
        return node::check(root, &directory, args);
    }
    Ok(())
}
