// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab kernel`: engines that are built from kernel trees.

use super::museum::{self, MuseumArgs};
use crate::cmd::kernel_bisect::{KernelBisectArgs, kernel_bisect};
use crate::error::CliError;
use crate::output::{Output, wrap};
use clap::{Args as ClapArgs, Subcommand, ValueHint};
use fairlab_kernel::error::KernelError;
use fairlab_kernel::store::{Entry, Store};
use std::path::PathBuf;

const EXAMPLES: &str = "\
The tree is only read. Building needs gcc, make, flex, bison, bc, patch and xz; what is missing is named with its package.

Examples:
  fairlab kernel add mine --source ~/linux
  fairlab kernel add mine+fix --source ~/linux --patch fix.diff
  fairlab kernel add 6.1 --source debian:6.1 --config CONFIG_HZ_1000=y
  fairlab run scenarios/fair-share.scn --engine kernel:mine";

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct KernelArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Build an engine from a tree, under a name; what is already there is not built again
    Add(AddArgs),
    /// List engines
    List,
    /// Show what an engine was made of
    Show {
        /// The engine
        name: String,
    },
    /// Find the commit of a tree that changed what a run tells
    Bisect(Box<KernelBisectArgs>),
    /// Put bugs that are fixed back into a tree, and see them with scenarios
    Museum(MuseumArgs),
    /// Forget an engine
    Remove {
        /// The engine
        name: String,
    },
}

#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
struct AddArgs {
    /// Name of the engine
    name: String,
    /// The tree: a folder, a tarball, or debian:VERSION for the package linux-source-VERSION
    #[arg(long, value_name = "DIR|TARBALL|debian:VERSION", value_hint = ValueHint::AnyPath)]
    source: String,
    /// Apply a patch (`git diff`, -p1) to a copy of the files that it names; several times if need be
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    patch: Vec<PathBuf>,
    /// A line for the configuration, such as CONFIG_HZ_1000=y; several times if need be
    #[arg(long, value_name = "CONFIG_X=VALUE")]
    config: Vec<String>,
}

impl From<KernelError> for CliError {
    fn from(error: KernelError) -> Self {
        if error.is_input() { Self::input(error) } else { Self::run(error) }
    }
}

/// Runs the command.
pub(crate) fn kernel(output: &mut Output, args: &KernelArgs) -> Result<(), CliError> {
    let store = Store::of_user()?;
    match &args.what {
        What::Add(add) => self::add(output, &store, add),
        // Those that other commands have built for themselves are not the user's.
        What::List => {
            let all = store.list()?;
            let own: Vec<Entry> = all
                .into_iter()
                .filter(|entry| !["patch.", "museum", "bisect"].iter().any(|own| entry.name.starts_with(own)))
                .collect();
            list(output, &own)
        }
        What::Show { name } => show(output, &store, &store.get(name)?),
        What::Bisect(bisect) => kernel_bisect(output, bisect),
        What::Museum(museum) => museum::museum(output, &store, museum),
        What::Remove { name } => Ok(store.remove(name)?),
    }
}

fn add(output: &mut Output, store: &Store, args: &AddArgs) -> Result<(), CliError> {
    let mut told = Ok(());
    let mut say = |what: &str| told = output.note(&format!("{}: {what}\n", args.name));
    let added = store.add(&args.name, &args.source, &args.patch, &args.config, &mut say)?;
    told?;
    if output.is_json() {
        return output.json(&added);
    }
    let seconds = added.took_ms as f64 / 1000.0;
    let how = if added.is_new { "built" } else { "was there already" };
    output.text(&format!(
        "{}: Linux {}, {how} ({seconds:.1} s)\nuse it: fairlab run FILE --engine kernel:{}\n",
        args.name, added.entry.version, args.name
    ))
}

fn list(output: &mut Output, entries: &[Entry]) -> Result<(), CliError> {
    if output.is_json() {
        return output.json(&entries);
    }
    if entries.is_empty() {
        return output.text("no engines yet: fairlab kernel add NAME --source DIR\n");
    }
    let mut page = String::new();
    for entry in entries {
        let Entry { name, version, source, patches, bugs, .. } = entry;
        let several = |what: &str, nr: usize| if nr == 0 { String::new() } else { format!(", {nr} {what}") };
        let patched = several("patches", patches.len()) + &several("bugs of the museum", bugs.len());
        page.push_str(&wrap(&format!("{name}: Linux {version}, from {source}{patched}"), 2));
    }
    output.text(&page)
}

fn show(output: &mut Output, store: &Store, entry: &Entry) -> Result<(), CliError> {
    if output.is_json() {
        return output.json(entry);
    }
    let object = store.object(&entry.key).display().to_string();
    let several = |words: &[String]| if words.is_empty() { "none".to_owned() } else { words.join("\n          ") };
    output.text(&format!(
        "engine    {}\nkernel    Linux {}\nsource    {}\npatches   {}\nbugs      {}\nconfig    {}\ncompiler  {}\nkey       {}\nobject    {object}\n",
        entry.name,
        entry.version,
        entry.source,
        several(&entry.patches),
        several(&entry.bugs),
        several(&entry.config),
        entry.compiler,
        entry.key,
    ))
}
