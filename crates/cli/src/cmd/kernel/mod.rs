// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab kernel`: builds engines from kernel trees, and lists, shows and removes them.

pub(crate) mod bisect;
pub(crate) mod regressions;

use crate::args::kernel::{AddArgs, KernelArgs, KernelCommand};
use crate::output::table::Table;
use crate::output::{Output, figures, wrap};
use crate::values::error::CliError;
use crate::values::interrupt;
use fairlab_kernel::store::clear::{ListedKernel, RemovedKernel, is_own};
use fairlab_kernel::store::{Store, StoreEntry};

pub(crate) fn kernel(output: &mut Output, args: &KernelArgs) -> Result<(), CliError> {
    // Builds and runs end when a signal arrives.
    interrupt::install_handlers();
    let store = Store::for_user()?;
    match &args.what {
        KernelCommand::Add(add) => self::add(output, &store, add),
        KernelCommand::List { all } => list(output, &store, *all),
        KernelCommand::Show { name } => show(output, &store, &store.get(name)?),
        KernelCommand::Bisect(bisect) => bisect::kernel_bisect(output, bisect),
        KernelCommand::Regressions(args) => regressions::regressions(output, &store, args),
        KernelCommand::Remove { name } => print_removed(output, &store.remove(name)?, false),
        KernelCommand::Prune { dry_run } => print_removed(output, &store.prune(*dry_run)?, *dry_run),
    }
}

fn add(output: &mut Output, store: &Store, args: &AddArgs) -> Result<(), CliError> {
    if is_own(&args.name) {
        let help = "choose a different name: fairlab patch, kernel regressions and kernel bisect use these";
        return Err(CliError::with_help(
            format!("{}: this name is reserved for engines that commands build for themselves", args.name),
            help,
        ));
    }
    let mut printed = Ok(());
    let mut print_progress = |what: &str| printed = output.eprint(&format!("{}: {what}\n", args.name));
    let added = store.add(&args.name, &args.source, &args.patch, &args.config, &mut print_progress)?;
    printed?;
    let seconds = added.took_ms as f64 / 1000.0;
    let how = if added.is_new { "built" } else { "already built" };
    let (name, version) = (&args.name, &added.entry.version);
    output.json_or_text(&added, |_| {
        format!("{name}: Linux {version}, {how} ({seconds:.1} s)\nuse it: fairlab run FILE --engine kernel:{name}\n")
    })
}

fn list(output: &mut Output, store: &Store, all: bool) -> Result<(), CliError> {
    let mut entries = store.list_with_sizes()?;
    entries.retain(|listed| all || !listed.is_own);
    if output.is_json() {
        return output.json(&entries);
    }
    let mut page = String::new();
    if entries.is_empty() {
        page.push_str("no engines yet: fairlab kernel add NAME --source DIR\n");
    }
    for ListedKernel { entry, object_bytes, work_bytes, .. } in &entries {
        let StoreEntry { name, version, patches, bugs, .. } = entry;
        let several = |what: &str, nr: usize| match nr {
            0 => String::new(),
            1 => format!(", 1 {what}"),
            _ => format!(", {nr} {}", if what == "patch" { "patches" } else { "bugs" }),
        };
        let patched = several("patch", patches.len()) + &several("bug", bugs.len());
        let sizes = format!("{}, its folder {}", figures::bytes(*object_bytes), figures::bytes(*work_bytes));
        page.push_str(&wrap(&format!("{name}: Linux {version}, from {}{patched}; {sizes}", entry.origin()), 2));
    }
    let (root, whole) = (store.root().display(), figures::bytes(store.bytes()));
    page.push_str(&format!("{whole} in {root}; fairlab kernel prune removes files that none of these engines needs\n"));
    output.text(&page)
}

/// Prints the files that were removed, or would be in a dry run, with their sizes.
fn print_removed(output: &mut Output, gone: &[RemovedKernel], is_dry: bool) -> Result<(), CliError> {
    if output.is_json() {
        return output.json(&gone);
    }
    let mut table = Table::default().right(["size"]).left(["what"]);
    let is_large = |one: &&RemovedKernel| one.bytes >= 1 << 20;
    for one in gone.iter().filter(is_large) {
        table.row(vec![figures::bytes(one.bytes).into(), format!("{}: {}", one.what, one.path.display()).into()]);
    }
    let small = gone.iter().filter(|one| !is_large(one)).count();
    let bytes = figures::bytes(gone.iter().map(|one| one.bytes).sum());
    let page = if gone.iter().any(|one| is_large(&one)) { table.render(output.styles()) + "\n" } else { String::new() };
    let (what, freed) = if is_dry { ("would be removed", "would be freed") } else { ("removed", "freed") };
    let more = if small == 0 { String::new() } else { format!(", {small} of them smaller than 1 MB") };
    output.text(&format!("{page}{} files and folders {what}{more}; {bytes} {freed}\n", gone.len()))
}

fn show(output: &mut Output, store: &Store, entry: &StoreEntry) -> Result<(), CliError> {
    if output.is_json() {
        return output.json(entry);
    }
    let object = store.object_path(&entry.key).display().to_string();
    let several = |words: &[String]| if words.is_empty() { "none".to_owned() } else { words.join("\n          ") };
    output.text(&format!(
        "engine    {}\nkernel    Linux {}\nsource    {}\npatches   {}\nbugs      {}\nconfig    {}\ncompiler  {}\nkey       {}\nobject    {object}\n",
        entry.name,
        entry.version,
        entry.origin(),
        several(&entry.patches),
        several(&entry.bugs),
        several(&entry.config),
        entry.compiler,
        entry.key,
    ))
}
