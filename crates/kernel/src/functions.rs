// SPDX-License-Identifier: GPL-2.0-or-later
//! Functions of an object: their addresses and their sources. Both are files beside the object.
//!
//! The compiler instruments functions that are not `inline`: only those can be counted. From the source come the
//! body of each function, by which a renamed one is recognised, and the functions that it calls.

use crate::c::{CSource, is_word};
use crate::error::{KernelError, io_error_at};
use crate::store::hash;
use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Words of C that are followed by a bracket like a call.
const KEYWORDS: [&str; 8] = ["if", "for", "while", "switch", "return", "sizeof", "typeof", "do"];

/// Sources outside `kernel/sched` with functions that are counted.
const OTHER_SOURCES: [&str; 1] = ["lib/find_bit.c"];

/// End of the name of an object for traces.
const TRACED_SUFFIX: &str = "-traced";

/// Source of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionSource {
    /// Hash of the tokens of its body, without the names of the functions that it calls.
    pub body: String,
    /// Functions and macros that it calls, in order.
    pub calls: Vec<String>,
}

/// Functions of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectFunctions {
    /// Addresses by name.
    pub addresses: BTreeMap<String, u64>,
    /// Sources by name: functions of the scheduler, whether the object has them or not.
    pub sources: BTreeMap<String, FunctionSource>,
}

impl ObjectFunctions {
    /// Reads the addresses of an object's functions.
    ///
    /// # Errors
    /// If the file beside the object cannot be read.
    pub fn of_object(object: &Path) -> Result<Self, KernelError> {
        Ok(Self { addresses: addresses_by_name(object)?, sources: BTreeMap::new() })
    }

    /// Reads the sources of an object's functions.
    ///
    /// # Errors
    /// If the file beside the object cannot be read.
    pub fn read_sources(&mut self, object: &Path) -> Result<(), KernelError> {
        let path = source_file(object);
        let text = fs::read(&path).map_err(io_error_at(&path))?;
        self.sources = serde_json::from_slice(&text)
            .map_err(|error| KernelError::Load(Message::in_file(&path, error.to_string())))?;
        Ok(())
    }

    /// Whether entries of a function can be counted: the object has it as a function, not inlined.
    pub fn has(&self, name: &str) -> bool {
        self.addresses.contains_key(name)
    }

    /// Returns the functions that call a function directly.
    pub fn callers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let is_caller =
            move |(_, source): &(&String, &FunctionSource)| source.calls.iter().any(|called| called == name);
        self.sources.iter().filter(is_caller).map(|(caller, _)| caller.as_str())
    }
}

/// Returns the path of the object beside an engine's object that reports all functions that are entered.
///
/// The object also has hooks in functions that are not counted (`engine/uncounted.txt`). They cost a third of a run's time.
pub fn traced_object(object: &Path) -> PathBuf {
    let stem = object.file_stem().unwrap_or_default().to_string_lossy();
    object.with_file_name(format!("{stem}{TRACED_SUFFIX}.so"))
}

/// Returns the texts that no counted function's name contains and that leave a function without hooks.
pub(crate) fn uncounted() -> impl Iterator<Item = &'static str> {
    crate::table_lines(crate::embedded_text("uncounted.txt"))
}

/// Returns the path of the file beside an object that lists the addresses of its functions.
pub fn symbol_file(object: &Path) -> PathBuf {
    object.with_extension("functions")
}

/// Returns the path of the file beside an object with the sources of its functions. The object for traces has the
/// same sources.
pub(crate) fn source_file(object: &Path) -> PathBuf {
    let stem = object.file_stem().unwrap_or_default().to_string_lossy();
    object.with_file_name(format!("{}.sources", stem.strip_suffix(TRACED_SUFFIX).unwrap_or(&stem)))
}

/// Returns the contents of [`symbol_file`], the name and address of each function, from the output of `nm -P`.
pub fn function_list(nm: &str) -> String {
    let mut text = String::new();
    for line in nm.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some("T" | "t" | "W"), Some(place)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        writeln!(text, "{name} {place}").expect("a string takes text");
    }
    text
}

/// Writes the sources of a tree's functions beside an object.
pub(crate) fn write_sources(tree: &Path, object: &Path) -> Result<(), KernelError> {
    let folder = tree.join("kernel/sched");
    let mut files = BTreeSet::from(OTHER_SOURCES.map(|name| tree.join(name)));
    for entry in fs::read_dir(&folder).map_err(io_error_at(&folder))? {
        let path = entry.map_err(io_error_at(&folder))?.path();
        if path.extension().is_some_and(|ending| ending == "c" || ending == "h") {
            files.insert(path);
        }
    }
    let mut sources = BTreeMap::new();
    for file in files {
        // Trees do not have all of these files, and not every file is text.
        let text = fs::read(&file).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
        add_sources(&text, &mut sources);
    }
    let path = source_file(object);
    fs::write(&path, serde_json::to_vec(&sources).expect("sources are JSON")).map_err(io_error_at(&path))
}

/// Adds the functions of a file. A function with several definitions, of which the configuration chooses one, has
/// the tokens and calls of all.
fn add_sources(text: &str, sources: &mut BTreeMap<String, FunctionSource>) {
    let code = CSource::from_text(text);
    for (name, body) in code.functions() {
        let source: &mut FunctionSource = sources.entry(name.to_owned()).or_default();
        let mut tokens = vec![source.body.as_str()];
        for at in body {
            let is_call = code.text(at + 1) == "(" && is_word(code.text(at)) && !KEYWORDS.contains(&code.text(at));
            if is_call {
                source.calls.push(code.text(at).to_owned());
            }
            tokens.push(if is_call { "()" } else { code.text(at) });
        }
        source.body = hash(tokens.into_iter().map(str::as_bytes))[..16].to_owned();
    }
}

/// Returns the addresses of an object's functions by their names.
///
/// # Errors
/// If the file beside the object cannot be read.
pub fn addresses_by_name(object: &Path) -> Result<BTreeMap<String, u64>, KernelError> {
    let path = symbol_file(object);
    let text = fs::read_to_string(&path).map_err(io_error_at(&path))?;
    Ok(text.lines().filter_map(name_and_address).collect())
}

/// Names of functions by their addresses in an object.
pub type NamesByAddress = BTreeMap<u64, String>;

/// Returns the names of an object's functions by their addresses. Parts that the compiler split off have the
/// name of their function.
///
/// # Errors
/// If the file beside the object cannot be read.
pub fn names_by_address(object: &Path) -> Result<NamesByAddress, KernelError> {
    let whole = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
    Ok(addresses_by_name(object)?.into_iter().map(|(name, place)| (place, whole(&name))).collect())
}

fn name_and_address(line: &str) -> Option<(String, u64)> {
    let (name, place) = line.split_once(' ')?;
    Some((name.to_owned(), u64::from_str_radix(place, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_that_is_counted_has_hooks() {
        let entries = crate::operations::table();
        let names = entries.iter().flat_map(|entry| [Some(&entry.function), entry.within.as_ref()]).flatten();
        let names: Vec<&str> = names.flat_map(|names| names.0.iter().copied()).chain(crate::engine::MARKED).collect();
        for text in uncounted() {
            assert!(!names.iter().any(|name| name.contains(text)), "{text} hides one of {names:?}");
        }
    }

    #[test]
    fn the_object_for_traces_has_functions_of_its_own_and_the_sources_of_the_engine() {
        let traced = traced_object(Path::new("/k/engine.so"));
        assert_eq!(traced, Path::new("/k/engine-traced.so"));
        assert_eq!(symbol_file(&traced), Path::new("/k/engine-traced.functions"));
        assert_eq!(source_file(&traced), source_file(Path::new("/k/engine.so")));
    }

    #[test]
    fn the_list_has_functions_and_neither_data_nor_undefined_symbols() {
        let nm = "cpu_runnable_without t 1a0 20\nother T 500 8\nweak W 600 8\ndata D 600\nmissing U\n";
        assert_eq!(function_list(nm), "cpu_runnable_without 1a0\nother 500\nweak 600\n");
        assert_eq!(name_and_address("other 500"), Some(("other".to_owned(), 0x500)));
    }

    fn sources(text: &str) -> BTreeMap<String, FunctionSource> {
        let mut found = BTreeMap::new();
        add_sources(text, &mut found);
        found
    }

    #[test]
    fn a_body_does_not_depend_on_names_comments_or_lines() {
        let plain = sources("int idle(int cpu)\n{\n\tif (!check(cpu))\n\t\treturn 0;\n\treturn 1;\n}\n");
        let renamed = sources("int quiet(int cpu) {\n\t/* why */\n\tif (!test(cpu)) return 0;\n\treturn 1;\n}\n");
        assert_eq!(plain["idle"].body, renamed["quiet"].body);
        assert_eq!(
            (&plain["idle"].calls[..], &renamed["quiet"].calls[..]),
            (&["check".to_owned()][..], &["test".to_owned()][..])
        );
        let other = sources("int idle(int cpu)\n{\n\tif (!check(cpu))\n\t\treturn 1;\n\treturn 1;\n}\n");
        assert_ne!(plain["idle"].body, other["idle"].body);
    }
}
