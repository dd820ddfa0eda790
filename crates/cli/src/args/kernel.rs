// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab kernel`.

use super::kernel_bisect::KernelBisectArgs;
use super::regressions::RegressionsArgs;
use clap::{Args as ClapArgs, Subcommand, ValueHint};
use std::path::PathBuf;

const EXAMPLES: &str = "\
The tree is only read. Building needs gcc, make, flex, bison, bc, patch and xz; a missing program is reported with its \
package.

Examples:
  fairlab kernel add mine --source ~/linux
  fairlab kernel add mine+fix --source ~/linux --patch fix.diff
  fairlab kernel add 6.1 --source debian:6.1 --config CONFIG_HZ_1000=y
  fairlab run scenarios/fair-share.scn --engine kernel:mine";

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct KernelArgs {
    #[command(subcommand)]
    pub(crate) what: KernelCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KernelCommand {
    /// Build an engine from a tree, under a name; an existing build is reused
    Add(AddArgs),
    /// List engines with their size on disk
    List {
        /// Include engines that commands have built for themselves
        #[arg(long)]
        all: bool,
    },
    /// Show the tree, patches, configuration and compiler of an engine
    Show {
        /// Name of the engine
        name: String,
    },
    /// Find the commit of a tree that changed the result of a run
    Bisect(Box<KernelBisectArgs>),
    /// Put fixed bugs back into a tree, and check that scenarios detect them
    #[command(alias = "museum")]
    Regressions(RegressionsArgs),
    /// Remove an engine, and the files that no other engine needs
    Remove {
        /// Name of the engine
        name: String,
    },
    /// Remove files that no named engine needs: engines that commands have built for themselves, build
    /// folders, extracted trees
    Prune {
        /// List the files, and remove nothing
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AddArgs {
    /// Name of the engine
    pub(crate) name: String,
    /// Kernel tree: a folder, a tarball, or debian:VERSION for the package linux-source-VERSION
    #[arg(long, value_name = "DIR|TARBALL|debian:VERSION", value_hint = ValueHint::AnyPath)]
    pub(crate) source: String,
    /// Apply a patch (`git diff`, -p1) to a copy of the files that it names; may be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) patch: Vec<PathBuf>,
    /// Line for the configuration, such as CONFIG_HZ_1000=y; may be repeated
    #[arg(long, value_name = "CONFIG_X=VALUE")]
    pub(crate) config: Vec<String>,
}
