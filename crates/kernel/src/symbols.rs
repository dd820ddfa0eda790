// SPDX-License-Identifier: GPL-2.0-or-later
//! Stubs for the rest of a kernel, derived from an object's undefined symbols and the table
//! `engine/symbols.txt`.
//!
//! A symbol that no object defines and the table does not list is an error, which names it and the objects
//! that use it. The return value of a stub is a decision and must not be guessed.

use crate::error::KernelError;
use fairlab_workload::message::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Replacement for an undefined symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stub {
    /// Function of the C library.
    Library,
    /// Symbol that the linker defines.
    Linker,
    /// Variable of this many bytes, all zero.
    Zeros(usize),
    /// Function that does nothing and returns this value.
    Answers(i64),
    /// Function that reports its name and ends the run.
    Forbidden,
}

/// Returns the table of stubs, by symbol.
///
/// # Panics
/// If the table is malformed; a test reads it.
pub fn table() -> BTreeMap<&'static str, Stub> {
    let mut table = BTreeMap::new();
    for entry in crate::table_lines(crate::embedded_text("symbols.txt")) {
        let words: Vec<&str> = entry.split_whitespace().collect();
        let standin = match words[..] {
            ["library", _] => Stub::Library,
            ["linker", _] => Stub::Linker,
            ["zeros", _, bytes] => Stub::Zeros(bytes.parse().expect("a number of bytes")),
            ["answers", _, value] => Stub::Answers(value.parse().expect("a number")),
            ["forbidden", _] => Stub::Forbidden,
            _ => panic!("symbols.txt: `{entry}` is not an entry"),
        };
        let old = table.insert(words[1], standin);
        assert!(old.is_none(), "symbols.txt: {} is there twice", words[1]);
    }
    table
}

/// Returns the undefined symbols of objects with the objects that use them, from the output of `nm -A -P`.
/// Weak symbols may stay undefined.
pub fn undefined(nm: &str) -> BTreeMap<String, BTreeSet<String>> {
    let (mut defined, mut used) = (BTreeSet::new(), BTreeMap::<String, BTreeSet<String>>::new());
    for line in nm.lines() {
        let Some((object, rest)) = line.split_once(": ") else { continue };
        let mut words = rest.split_whitespace();
        let (Some(symbol), Some(kind)) = (words.next(), words.next()) else { continue };
        match kind {
            "U" => {
                used.entry(symbol.to_owned()).or_default().insert(object.to_owned());
            }
            "w" | "v" => {}
            _ if kind.chars().all(|letter| letter.is_ascii_uppercase()) => {
                defined.insert(symbol.to_owned());
            }
            _ => {}
        }
    }
    used.retain(|symbol, _| !defined.contains(symbol));
    used
}

/// Returns the C source of the stubs for undefined symbols.
///
/// # Errors
/// If the table does not list some of them.
pub fn stub_source(undefined: &BTreeMap<String, BTreeSet<String>>, tree: &Path) -> Result<String, KernelError> {
    let table = table();
    let unknown: Vec<_> = undefined.iter().filter(|(symbol, _)| !table.contains_key(symbol.as_str())).collect();
    if !unknown.is_empty() {
        let mut message =
            format!("{}: the scheduler of this tree needs symbols that fairlab does not know:\n", tree.display());
        for (symbol, users) in unknown {
            let users: Vec<&str> = users.iter().map(String::as_str).collect();
            writeln!(message, "  {symbol}, used by {}", users.join(", ")).expect("a string takes text");
        }
        message.push_str(
            "help: add an entry for each to crates/kernel/engine/symbols.txt, with its return value or as `forbidden`",
        );
        return Err(KernelError::Drift(Message::new(message)));
    }
    let mut source = String::from("void __attribute__((noreturn)) fl_forbidden(const char *symbol);\n");
    for symbol in undefined.keys() {
        let line = match table[symbol.as_str()] {
            Stub::Library | Stub::Linker => continue,
            Stub::Zeros(bytes) => format!("char {symbol}[{bytes}] __attribute__((aligned(64)));\n"),
            Stub::Answers(value) => format!("long {symbol}(void) {{ return {value}; }}\n"),
            Stub::Forbidden => format!("long {symbol}(void) {{ fl_forbidden(\"{symbol}\"); }}\n"),
        };
        source.push_str(&line);
    }
    Ok(source)
}
