// SPDX-License-Identifier: GPL-2.0-or-later
//! Layers of crates: each folder of a layered crate uses and calls only itself and the layers below it.
//!
//! Sources are read, not compiled, so a call is resolved by its name: it calls the file that defines the
//! name, if only one file does. Names are meant to be unique in the crate; names that several files define
//! are only covered by the check of imports. Tests are exempt.

mod calls;
mod cycles;
mod print;
mod references;
mod source;
#[cfg(test)]
mod tests;
mod tokens;

use anyhow::{Context, Result, bail};
use calls::Definers;
use clap::Args;
use references::Modules;
use source::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Layers of a crate, and the files and functions to which special rules apply.
#[derive(Clone, Copy, Default)]
struct CrateLayers {
    /// Name of the crate's directory.
    name: &'static str,
    /// Layers, from the lowest to the highest. A crate without layers is reported but not checked.
    layers: &'static [&'static str],
    /// Files that tests share. They belong to no layer.
    test_files: &'static [&'static str],
    /// Functions that only one file may call: `function` or `Type::function`, and the file.
    only_in: &'static [(&'static str, &'static str)],
    /// Types whose methods the report counts.
    counted_types: &'static [&'static str],
    /// Whether methods have names of their own, so that calls can be resolved by name. Without it only
    /// references are checked: a call upward needs one, for the function or for the type.
    has_unique_names: bool,
    /// Crates whose values it reads: a call of a method that one of them defines has no known definer.
    reads_values_of: &'static [&'static str],
}

/// Crate of the project's own commands, the only one outside `crates`.
const COMMANDS_CRATE: &str = "xtask";
/// File of a crate's root, which belongs to no layer.
const ROOT_FILE: &str = "lib.rs";

/// Crates with layers.
const LAYERED_CRATES: [CrateLayers; 3] = [
    CrateLayers {
        name: "sched",
        layers: &["types", "interface", "state", "track", "classes", "rules", "paths", "check"],
        test_files: &["test_machine.rs", "golden.rs", "recorded_states.rs"],
        only_in: &[("RqGuard::new", "track/lock.rs"), ("WarnState::begin_section", "track/lock.rs")],
        counted_types: &["Sched", "State"],
        has_unique_names: true,
        reads_values_of: &[],
    },
    CrateLayers {
        name: "machine",
        layers: &["base", "hardware", "interface", "parts", "state", "time", "calls", "programs", "sim"],
        test_files: &[],
        only_in: &[],
        counted_types: &["Machine"],
        has_unique_names: true,
        reads_values_of: &["board"],
    },
    CrateLayers {
        name: "cli",
        layers: &["values", "output", "args", "execution", "cmd", "embed"],
        test_files: &["documentation.rs", "main.rs"],
        only_in: &[],
        counted_types: &[],
        has_unique_names: false,
        reads_values_of: &[],
    },
];

/// Options of `cargo xtask layers`.
#[derive(Args)]
pub(crate) struct LayersArgs {
    /// Crate to report, such as `machine`; all crates if omitted.
    name: Option<String>,
    /// Print each cycle with its edges: which of its files use which.
    #[arg(long)]
    edges: bool,
}

/// Prints calls, references and cycles between the files of one crate or of all.
pub(crate) fn print(root: &Path, args: &LayersArgs) -> Result<()> {
    let names = crate_names(root)?;
    let wanted: Vec<&str> = match &args.name {
        Some(name) if names.contains(name) => vec![name],
        Some(name) => bail!("no crate is {name}; the crates are {}", names.join(", ")),
        None => names.iter().map(String::as_str).collect(),
    };
    let reports: Result<Vec<String>> =
        wanted.into_iter().map(|name| Ok(print::text(&ModuleGraph::read(root, name)?, args.edges))).collect();
    print!("{}", reports?.join("\n"));
    Ok(())
}

/// Returns violations of the layers, as sentences with file and line.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for rules in LAYERED_CRATES {
        let graph = ModuleGraph::read(root, rules.name)?;
        wrong.extend(graph.unassigned_files());
        wrong.extend(graph.upward_names());
        if rules.has_unique_names {
            wrong.extend(graph.upward_calls());
        }
        wrong.extend(graph.forbidden_calls(rules.only_in));
    }
    Ok(wrong)
}

/// Returns the names of the crates of the workspace, in alphabetical order.
fn crate_names(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("crates");
    let mut names = vec![COMMANDS_CRATE.to_owned()];
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.join("src").is_dir() {
            names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

/// Returns the directory of a crate's sources, from the root of the workspace.
fn source_directory(name: &str) -> String {
    if name == COMMANDS_CRATE { format!("{name}/src") } else { format!("crates/{name}/src") }
}

/// All sources of a crate except tests.
struct ModuleGraph {
    rules: CrateLayers,
    /// Directory of the sources, from the root of the workspace.
    directory: String,
    sources: Vec<Source>,
    /// Layers by the names that the crate's root re-exports from them.
    aliases: BTreeMap<String, usize>,
    /// Names of methods that other crates define.
    foreign_methods: BTreeSet<String>,
}

/// Call whose definer is known.
struct ResolvedCall<'a> {
    caller: usize,
    definer: usize,
    name: &'a str,
    line: usize,
}

impl ModuleGraph {
    /// Reads the sources of a crate.
    fn read(root: &Path, name: &str) -> Result<Self> {
        let folder = root.join(source_directory(name));
        let mut files = Vec::new();
        for path in super::tidy::source_files(root)? {
            if let Ok(name) = path.strip_prefix(&folder)
                && path.extension().is_some_and(|extension| extension == "rs")
            {
                files.push((name.display().to_string(), fs::read_to_string(&path)?));
            }
        }
        let mut graph = Self::from_files(name, files.iter().map(|(name, text)| (name.as_str(), text.as_str())))?;
        for foreign in graph.rules.reads_values_of {
            let functions = Self::read(root, foreign)?.sources.into_iter().flat_map(|source| source.functions);
            graph
                .foreign_methods
                .extend(functions.filter(|function| function.has_receiver).map(|function| function.name));
        }
        Ok(graph)
    }

    /// Parses the files of a crate into a graph. Each file is given by its name below `src` and its text.
    fn from_files<'a>(crate_name: &str, files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let rules = LAYERED_CRATES.into_iter().find(|rules| rules.name == crate_name).unwrap_or_default();
        let directory = source_directory(crate_name);
        let mut sources = Vec::new();
        for (name, text) in files {
            sources.push(Source::read(name, text).with_context(|| format!("{directory}/{name}"))?);
        }
        let tests: Vec<Vec<String>> = sources.iter().flat_map(|source| source.test_modules.clone()).collect();
        sources.retain(|source| {
            let is_declared_test = tests.iter().any(|test| source.module.starts_with(test));
            let is_shared_by_tests = rules.test_files.contains(&source.file.as_str());
            !is_shared_by_tests && !is_declared_test && !is_test_file(&source.file)
        });
        let root = sources.iter().find(|source| source.file == ROOT_FILE);
        let aliases = root.map(|root| rules.aliases_of(root)).unwrap_or_default();
        Ok(Self { rules, directory, sources, aliases, foreign_methods: BTreeSet::new() })
    }

    /// Returns files that belong to no layer, except the crate's root.
    fn unassigned_files(&self) -> Vec<String> {
        let below_root = self.sources.iter().filter(|source| source.file != ROOT_FILE);
        let strangers = below_root.filter(|source| self.rules.layer_of(&source.file).is_none());
        strangers.map(|source| format!("{}/{}: belongs to no layer", self.directory, source.file)).collect()
    }

    /// Returns imports and paths that name a higher layer.
    fn upward_names(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for source in &self.sources {
            for named in &source.names {
                let target = named.segments.first().and_then(|first| self.layer_named(first));
                if is_upward(self.rules.layer_of(&source.file), target) {
                    let path = named.segments.iter().take(2).map(String::as_str).collect::<Vec<_>>().join("::");
                    wrong.push(format!(
                        "{}/{}:{}: names `crate::{path}`, which is higher up",
                        self.directory, source.file, named.line
                    ));
                }
            }
        }
        wrong.dedup();
        wrong
    }

    /// Returns calls of functions that a higher layer defines.
    fn upward_calls(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for call in self.resolved() {
            let (caller, definer) = (&self.sources[call.caller].file, &self.sources[call.definer].file);
            if is_upward(self.rules.layer_of(caller), self.rules.layer_of(definer)) {
                let (ResolvedCall { name, line, .. }, directory) = (call, &self.directory);
                wrong.push(format!("{directory}/{caller}:{line}: calls `{name}` of {definer}, which is higher up"));
            }
        }
        wrong.dedup();
        wrong
    }

    /// Returns calls of a restricted function from a different file, and entries of the list that match
    /// nothing.
    fn forbidden_calls(&self, only_in: &[(&str, &str)]) -> Vec<String> {
        let definers = Definers::of(&self.sources, &self.foreign_methods);
        let mut wrong = Vec::new();
        for &(function, file) in only_in {
            if !definers.has_function(function) {
                wrong.push(format!("ONLY_IN: no function is `{function}`"));
            }
            if !self.sources.iter().any(|source| source.file == file) {
                wrong.push(format!("ONLY_IN: no file is {file}"));
            }
            for source in self.sources.iter().filter(|source| source.file != file) {
                for call in source.calls.iter().filter(|call| definers.may_call(call, function)) {
                    let (directory, caller, line) = (&self.directory, &source.file, call.line);
                    wrong.push(format!("{directory}/{caller}:{line}: calls `{function}`, which only {file} may"));
                }
            }
        }
        wrong.dedup();
        wrong
    }

    /// Returns all calls whose definer is known, ordered by caller.
    fn resolved(&self) -> Vec<ResolvedCall<'_>> {
        let definers = Definers::of(&self.sources, &self.foreign_methods);
        let mut resolved = Vec::new();
        for (caller, source) in self.sources.iter().enumerate() {
            for call in &source.calls {
                if let Some(definer) = definers.definer(source, call) {
                    resolved.push(ResolvedCall { caller, definer, name: &call.name, line: call.line });
                }
            }
        }
        resolved
    }

    /// Returns the pairs of different files of which the first names an item that the second defines.
    fn references(&self) -> BTreeSet<(usize, usize)> {
        let modules = Modules::of(&self.sources);
        let mut references = BTreeSet::new();
        for (file, source) in self.sources.iter().enumerate() {
            let definers = source.paths.iter().filter_map(|path| modules.definer(file, path));
            references.extend(definers.filter(|&definer| definer != file).map(|definer| (file, definer)));
        }
        references
    }

    fn layer_named(&self, name: &str) -> Option<usize> {
        self.rules.layer_of(name).or_else(|| self.aliases.get(name).copied())
    }
}

impl CrateLayers {
    /// Returns the layer of a file or module, by its name below `src`.
    fn layer_of(&self, name: &str) -> Option<usize> {
        let first = name.split('/').next().unwrap_or(name);
        let first = first.strip_suffix(".rs").unwrap_or(first);
        self.layers.iter().position(|&layer| layer == first)
    }

    /// Returns the layers of re-exported names: with `pub use paths::boot`, `crate::boot` belongs to `paths`.
    fn aliases_of(&self, root: &Source) -> BTreeMap<String, usize> {
        let imports = root.imports.iter();
        imports.filter_map(|import| Some((import.name.clone(), self.layer_of(import.segments.first()?)?))).collect()
    }
}

fn is_upward(from: Option<usize>, to: Option<usize>) -> bool {
    matches!((from, to), (Some(from), Some(to)) if from < to)
}

fn is_test_file(file: &str) -> bool {
    file.ends_with("_tests.rs") || file.split('/').any(|part| part == "tests" || part == "tests.rs")
}
