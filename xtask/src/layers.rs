// SPDX-License-Identifier: GPL-2.0-or-later
//! The layers of the scheduler's crate: each folder uses and calls only itself and those below it.
//!
//! Sources are read, not compiled, so that a call is known by its name. Names are unique in the crate by intent: a call is one of
//! the file that defines the name if only one does. What several files define is left to the check of imports. Tests are
//! exempt.

mod calls;
mod cycles;
mod print;
mod source;
#[cfg(test)]
mod tests;
mod tokens;

use anyhow::{Context, Result};
use calls::Definers;
pub(crate) use print::print;
use source::Source;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Where the layers stand.
const FOLDER: &str = "crates/sched/src";
/// The layers, from the ground up.
const LAYERS: [&str; 8] = ["types", "interface", "state", "track", "classes", "rules", "paths", "check"];
/// Files beside the layers: the crate's root, and what tests share.
const BESIDE: [&str; 4] = ["lib.rs", "test_machine.rs", "golden.rs", "recorded_states.rs"];
/// Functions that only one file may call: `function` or `Type::function`, and the file.
const ONLY_IN: &[(&str, &str)] = &[("RqGuard::new", "track/lock.rs"), ("WarnState::begin_section", "track/lock.rs")];

/// What is wrong with the layers, in sentences with file and line.
pub(crate) fn wrong(root: &Path) -> Result<Vec<String>> {
    let house = ModuleGraph::read(root)?;
    Ok([house.strangers(), house.upward_names(), house.upward_calls(), house.forbidden_calls(ONLY_IN)].concat())
}

/// All sources of the crate that are no tests.
struct ModuleGraph {
    sources: Vec<Source>,
    /// Storeys by the names that the crate's root gives to what is in them.
    aliases: BTreeMap<String, usize>,
}

/// A call whose definer is known.
struct Resolved<'a> {
    caller: usize,
    definer: usize,
    name: &'a str,
    line: usize,
}

impl ModuleGraph {
    fn read(root: &Path) -> Result<Self> {
        let folder = root.join(FOLDER);
        let mut files = Vec::new();
        for path in super::tidy::source_files(root)? {
            if let Ok(name) = path.strip_prefix(&folder)
                && path.extension().is_some_and(|extension| extension == "rs")
            {
                files.push((name.display().to_string(), fs::read_to_string(&path)?));
            }
        }
        Self::of(files.iter().map(|(name, text)| (name.as_str(), text.as_str())))
    }

    /// The crate that files make, each given by its name below the crate's root and its text.
    fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut sources = Vec::new();
        let mut aliases = BTreeMap::new();
        for (name, text) in files {
            let source = Source::read(name, text).with_context(|| format!("{FOLDER}/{name}"))?;
            if name == "lib.rs" {
                aliases = aliases_of(&source);
            }
            sources.push(source);
        }
        let tests: Vec<Vec<String>> = sources.iter().flat_map(|source| source.test_modules.clone()).collect();
        sources.retain(|source| {
            let is_declared_test = tests.iter().any(|test| source.module.starts_with(test));
            !BESIDE.contains(&source.file.as_str()) && !is_declared_test && !is_test_file(&source.file)
        });
        Ok(Self { sources, aliases })
    }

    /// Files that stand neither in a layer nor among those beside them.
    fn strangers(&self) -> Vec<String> {
        let strangers = self.sources.iter().filter(|source| layer_of(&source.file).is_none());
        strangers.map(|source| format!("{FOLDER}/{}: belongs to no layer", source.file)).collect()
    }

    /// Imports and paths that name a layer above their own.
    fn upward_names(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for source in &self.sources {
            for named in &source.names {
                let target = named.segments.first().and_then(|first| self.layer_named(first));
                if is_upward(layer_of(&source.file), target) {
                    let path = named.segments.iter().take(2).map(String::as_str).collect::<Vec<_>>().join("::");
                    wrong.push(format!(
                        "{FOLDER}/{}:{}: names `crate::{path}`, which is higher up",
                        source.file, named.line
                    ));
                }
            }
        }
        wrong.dedup();
        wrong
    }

    /// Calls of functions that a layer above the caller's defines.
    fn upward_calls(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for call in self.resolved() {
            let (caller, definer) = (&self.sources[call.caller].file, &self.sources[call.definer].file);
            if is_upward(layer_of(caller), layer_of(definer)) {
                let Resolved { name, line, .. } = call;
                wrong.push(format!("{FOLDER}/{caller}:{line}: calls `{name}` of {definer}, which is higher up"));
            }
        }
        wrong.dedup();
        wrong
    }

    /// Calls from elsewhere of functions that only one file may call; and entries of that list that hold for nothing.
    fn forbidden_calls(&self, only_in: &[(&str, &str)]) -> Vec<String> {
        let definers = Definers::of(&self.sources);
        let mut wrong = Vec::new();
        for &(function, file) in only_in {
            if !definers.knows(function) {
                wrong.push(format!("ONLY_IN: no function is `{function}`"));
            }
            if !self.sources.iter().any(|source| source.file == file) {
                wrong.push(format!("ONLY_IN: no file is {file}"));
            }
            for source in self.sources.iter().filter(|source| source.file != file) {
                for call in source.calls.iter().filter(|call| definers.possible_definers(call, function)) {
                    let (caller, line) = (&source.file, call.line);
                    wrong.push(format!("{FOLDER}/{caller}:{line}: calls `{function}`, which only {file} may"));
                }
            }
        }
        wrong.dedup();
        wrong
    }

    /// All calls whose definer is known, ordered by caller.
    fn resolved(&self) -> Vec<Resolved<'_>> {
        let definers = Definers::of(&self.sources);
        let mut resolved = Vec::new();
        for (caller, source) in self.sources.iter().enumerate() {
            for call in &source.calls {
                if let Some(definer) = definers.definer(source, call) {
                    resolved.push(Resolved { caller, definer, name: &call.name, line: call.line });
                }
            }
        }
        resolved
    }

    fn layer_named(&self, name: &str) -> Option<usize> {
        layer_of(name).or_else(|| self.aliases.get(name).copied())
    }
}

/// The layer of a file or a module, by its name below the crate's root.
fn layer_of(name: &str) -> Option<usize> {
    let first = name.split('/').next().unwrap_or(name);
    let first = first.strip_suffix(".rs").unwrap_or(first);
    LAYERS.iter().position(|&layer| layer == first)
}

fn is_upward(from: Option<usize>, to: Option<usize>) -> bool {
    matches!((from, to), (Some(from), Some(to)) if from < to)
}

fn is_test_file(file: &str) -> bool {
    file.ends_with("_tests.rs") || file.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// What the crate's root gives names of its own: `pub use paths::boot` lets `crate::boot` stand for a part of `paths`.
fn aliases_of(root: &Source) -> BTreeMap<String, usize> {
    let imports = root.imports.iter();
    imports.filter_map(|import| Some((import.name.clone(), layer_of(import.segments.first()?)?))).collect()
}
