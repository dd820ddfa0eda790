// SPDX-License-Identifier: GPL-2.0-or-later
//! The page of `fairlab lab`: its WebAssembly module, its editor, and the check of the module in Node.

mod comparison;
mod node;
pub(crate) mod occupants;
mod page;
mod vendor;
mod wasm;

use crate::programs;
use anyhow::Result;
use clap::{Args as ClapArgs, Subcommand};
pub(crate) use page::examples;
use std::path::{Path, PathBuf};

#[derive(ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    command: Option<LabCommand>,
    /// Compare runs and explanations of the WebAssembly module in Node with native ones, and check types.
    #[arg(long)]
    check: bool,
    /// Number of random scenarios to compare.
    #[arg(long, default_value_t = 500, requires = "check")]
    random: u64,
    /// Compare fewer random scenarios, report a missing Node as SKIPPED and succeed.
    #[arg(long, requires = "check")]
    ci: bool,
}

#[derive(Subcommand)]
enum LabCommand {
    /// Bundle the editor of the page with npm and esbuild, and write it into the sources.
    Vendor,
}

pub(crate) fn run(root: &Path, args: &LabArgs) -> Result<()> {
    if let Some(LabCommand::Vendor) = args.command {
        return vendor::write(root);
    }
    let file = build(root)?;
    if args.check {
        node::check_types(root, &directory(root), args)?;
        return node::check(root, &directory(root), args);
    }
    let kilobytes = std::fs::metadata(&file)?.len().div_ceil(1000);
    println!("{}: {kilobytes} kB; open it in a browser", file.display());
    Ok(())
}

/// Builds the page and returns its file.
pub(crate) fn build(root: &Path) -> Result<PathBuf> {
    page::write(root, &directory(root), &wasm::build(root, &wasm::ENGINE)?, &wasm::build(root, &wasm::TOOLS)?)
}

fn directory(root: &Path) -> PathBuf {
    programs::target(root).join("page")
}
