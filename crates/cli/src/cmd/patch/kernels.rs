// SPDX-License-Identifier: GPL-2.0-or-later
//! The two kernels of a comparison: existing engines, or engines built from a tree with and without a patch,
//! or from two commits.

use crate::args::patch::PatchArgs;
use crate::execution::kernel_tree::{commit, export_commit, subject};
use crate::output::Output;
use crate::values::error::CliError;
use fairlab_kernel::coverage::CoverageRun;
use fairlab_kernel::store::{BuildRequest, Store, StoreEntry};
use std::path::PathBuf;

/// Names under which engines are built for a comparison. The next comparison reuses their folders.
const ENGINE_NAMES: [&str; 2] = ["patch.base", "patch.patched"];

/// Base kernel and patched kernel.
pub(crate) struct KernelPair {
    pub(crate) kernels: [StoreEntry; 2],
    /// Whether the kernels were built from trees for this comparison.
    is_of_trees: bool,
}

/// Finds or builds the kernels. A built engine gets a name by its content, so that a command that builds
/// meanwhile cannot change it.
pub(crate) fn find_or_build_kernels(output: &Output, args: &PatchArgs) -> Result<KernelPair, CliError> {
    let store = Store::for_user()?;
    let named = |name: &str| name.strip_prefix("kernel:").map(|name| store.get_usable(name)).transpose();
    let are_named = args.base.starts_with("kernel:") && args.other.iter().any(|other| other.starts_with("kernel:"));
    if are_named && let Some(line) = args.config.first() {
        let help = "--config is for kernels that are built from a tree; build an engine with it: fairlab kernel add NAME --config";
        let (base, other) = (&args.base, args.other.as_deref().unwrap_or_default());
        return Err(CliError::with_help(format!("--config {line}: {base} and {other} are built already"), help));
    }
    if let (Some(base), Some(other)) = (named(&args.base)?, args.other.as_deref().map(named).transpose()?.flatten()) {
        return Ok(KernelPair { kernels: [base, other], is_of_trees: false });
    }
    if args.base.starts_with("kernel:") {
        let help = "name a second engine (kernel:NAME), or give the tree instead of the first";
        return Err(CliError::with_help(format!("{}: the second engine is missing", args.base), help));
    }
    let build = |which: usize, source: &str, title: Option<&str>, patches: &[PathBuf]| {
        let mut printed = Ok(());
        let mut print_progress = |what: &str| printed = output.eprint(&format!("{}: {what}\n", ENGINE_NAMES[which]));
        let (name, config) = (ENGINE_NAMES[which], &args.config[..]);
        let wish =
            BuildRequest { name, build_dir: name, source, title, patches, scripts: &[], config, is_covered: false };
        let added = store.build(&wish, &mut print_progress)?;
        printed?;
        Ok::<_, CliError>(store.pin(&added.entry)?)
    };
    let kernels = match &args.other {
        None => [build(0, &args.base, None, &[])?, build(1, &args.base, None, &args.patch)?],
        Some(range) => {
            let commits = commits(&args.base, range)?;
            let tree = |which: usize| {
                let (name, commit) = &commits[which];
                let source = export_commit(&store, &args.base, commit)?;
                let title = format!("{}, {name} ({})", args.base, subject(&args.base, commit)?);
                build(which, &source, Some(&title), &[])
            };
            [tree(0)?, tree(1)?]
        }
    };
    Ok(KernelPair { kernels, is_of_trees: true })
}

/// Name under which the patched kernel is built again with line coverage.
const COVERED_ENGINE_NAME: &str = "patch.covered";

/// Builds the patched kernel with line coverage, if both kernels were built for this comparison and no other
/// command measures coverage.
pub(crate) fn build_covered(
    output: &Output,
    args: &PatchArgs,
    kernels: &KernelPair,
) -> Result<Option<(StoreEntry, CoverageRun)>, CliError> {
    if args.no_coverage || !kernels.is_of_trees {
        return Ok(None);
    }
    let store = Store::for_user()?;
    let mut printed = Ok(());
    let mut print_progress = |what: &str| printed = output.eprint(&format!("{COVERED_ENGINE_NAME}: {what}\n"));
    let [base, patched] = &kernels.kernels;
    let covered = store.add_covered(COVERED_ENGINE_NAME, patched, base, &mut print_progress)?;
    printed?;
    if covered.is_none() {
        output.eprint("a second `fairlab patch` is measuring coverage: this one does not measure it\n")?;
    }
    Ok(covered)
}

/// Parses `BASE..HEAD`; returns both commits as given and as full hashes.
fn commits(tree: &str, range: &str) -> Result<[(String, String); 2], CliError> {
    let Some((from, to)) = range.split_once("..") else {
        let help = "write BASE..HEAD, two commits of the tree; or --patch FILE";
        return Err(CliError::with_help(format!("{range}: not two commits"), help));
    };
    let to = if to.is_empty() { "HEAD" } else { to.trim_start_matches('.') };
    Ok([(from.to_owned(), commit(tree, from)?), (to.to_owned(), commit(tree, to)?)])
}
