// SPDX-License-Identifier: GPL-2.0-or-later
//! Layers of the scheduler's crate: each folder uses and calls only itself and the layers below it.
//!
//! Sources are read, not compiled, so a call is resolved by its name: it calls the file that defines the
//! name, if only one file does. Names are meant to be unique in the crate; names that several files define
//! are only covered by the check of imports. Tests are exempt.

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

/// Directory of the layers.
const CRATE_DIR: &str = "crates/sched/src";
/// Layers, from the lowest to the highest.
const LAYERS: [&str; 8] = ["types", "interface", "state", "track", "classes", "rules", "paths", "check"];
/// Files outside the layers: the crate's root, and files that tests share.
const UNLAYERED_FILES: [&str; 4] = ["lib.rs", "test_machine.rs", "golden.rs", "recorded_states.rs"];
/// Functions that only one file may call: `function` or `Type::function`, and the file.
const ONLY_IN: &[(&str, &str)] = &[("RqGuard::new", "track/lock.rs"), ("WarnState::begin_section", "track/lock.rs")];

/// Returns violations of the layers, as sentences with file and line.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let house = ModuleGraph::read(root)?;
    Ok([house.unassigned_files(), house.upward_names(), house.upward_calls(), house.forbidden_calls(ONLY_IN)].concat())
}

/// All sources of the crate except tests.
struct ModuleGraph {
    sources: Vec<Source>,
    /// Layers by the names that the crate's root re-exports from them.
    aliases: BTreeMap<String, usize>,
}

/// Call whose definer is known.
struct ResolvedCall<'a> {
    caller: usize,
    definer: usize,
    name: &'a str,
    line: usize,
}

impl ModuleGraph {
    fn read(root: &Path) -> Result<Self> {
        let folder = root.join(CRATE_DIR);
        let mut files = Vec::new();
        for path in super::tidy::source_files(root)? {
            if let Ok(name) = path.strip_prefix(&folder)
                && path.extension().is_some_and(|extension| extension == "rs")
            {
                files.push((name.display().to_string(), fs::read_to_string(&path)?));
            }
        }
        Self::from_files(files.iter().map(|(name, text)| (name.as_str(), text.as_str())))
    }

    /// Parses files into a graph. Each file is given by its name below the crate's root and its text.
    fn from_files<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut sources = Vec::new();
        let mut aliases = BTreeMap::new();
        for (name, text) in files {
            let source = Source::read(name, text).with_context(|| format!("{CRATE_DIR}/{name}"))?;
            if name == "lib.rs" {
                aliases = aliases_of(&source);
            }
            sources.push(source);
        }
        let tests: Vec<Vec<String>> = sources.iter().flat_map(|source| source.test_modules.clone()).collect();
        sources.retain(|source| {
            let is_declared_test = tests.iter().any(|test| source.module.starts_with(test));
            !UNLAYERED_FILES.contains(&source.file.as_str()) && !is_declared_test && !is_test_file(&source.file)
        });
        Ok(Self { sources, aliases })
    }

    /// Returns files that belong to no layer and are not among the unlayered files.
    fn unassigned_files(&self) -> Vec<String> {
        let strangers = self.sources.iter().filter(|source| layer_of(&source.file).is_none());
        strangers.map(|source| format!("{CRATE_DIR}/{}: belongs to no layer", source.file)).collect()
    }

    /// Returns imports and paths that name a higher layer.
    fn upward_names(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for source in &self.sources {
            for named in &source.names {
                let target = named.segments.first().and_then(|first| self.layer_named(first));
                if is_upward(layer_of(&source.file), target) {
                    let path = named.segments.iter().take(2).map(String::as_str).collect::<Vec<_>>().join("::");
                    wrong.push(format!(
                        "{CRATE_DIR}/{}:{}: names `crate::{path}`, which is higher up",
                        source.file, named.line
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
            if is_upward(layer_of(caller), layer_of(definer)) {
                let ResolvedCall { name, line, .. } = call;
                wrong.push(format!("{CRATE_DIR}/{caller}:{line}: calls `{name}` of {definer}, which is higher up"));
            }
        }
        wrong.dedup();
        wrong
    }

    /// Returns calls of a restricted function from a different file, and entries of the list that match
    /// nothing.
    fn forbidden_calls(&self, only_in: &[(&str, &str)]) -> Vec<String> {
        let definers = Definers::of(&self.sources);
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
                    let (caller, line) = (&source.file, call.line);
                    wrong.push(format!("{CRATE_DIR}/{caller}:{line}: calls `{function}`, which only {file} may"));
                }
            }
        }
        wrong.dedup();
        wrong
    }

    /// Returns all calls whose definer is known, ordered by caller.
    fn resolved(&self) -> Vec<ResolvedCall<'_>> {
        let definers = Definers::of(&self.sources);
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

    fn layer_named(&self, name: &str) -> Option<usize> {
        layer_of(name).or_else(|| self.aliases.get(name).copied())
    }
}

/// Returns the layer of a file or module, by its name below the crate's root.
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

/// Returns the layers of re-exported names: with `pub use paths::boot`, `crate::boot` belongs to `paths`.
fn aliases_of(root: &Source) -> BTreeMap<String, usize> {
    let imports = root.imports.iter();
    imports.filter_map(|import| Some((import.name.clone(), layer_of(import.segments.first()?)?))).collect()
}
