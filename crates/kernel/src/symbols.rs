// SPDX-License-Identifier: GPL-2.0-or-later
//! What an object needs of the rest of a kernel, and what it gets: derived from its undefined symbols and the table `engine/symbols.txt`.
//!
//! A symbol that nobody defines and the table does not know is an error that names it and the objects that use it: what a function is to
//! answer is a decision, not a guess.

use crate::error::KernelError;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// What stands for a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stub {
    /// The C library's own.
    Library,
    /// Made by the linker.
    Linker,
    /// So many bytes of zeros.
    Zeros(usize),
    /// A function that does nothing and answers this.
    Answers(i64),
    /// A function that names itself and ends the run.
    Forbidden,
}

/// The table, by symbol.
///
/// # Panics
/// If the table is malformed; a test reads it.
pub fn table() -> BTreeMap<&'static str, Stub> {
    let mut table = BTreeMap::new();
    for entry in crate::entries(crate::embedded("symbols.txt")) {
        let words: Vec<&str> = entry.split_whitespace().collect();
        let standin = match words[..] {
            ["library", _] => Stub::Library,
            ["linker", _] => Stub::Linker,
            ["zeros", _, bytes] => Stub::Zeros(bytes.parse().expect("a number of bytes")),
            ["answers", _, value] => Stub::Answers(value.parse().expect("a number")),
            ["forbidden", _] => Stub::Forbidden,
            _ => panic!("symbols.txt: `{entry}` is no entry"),
        };
        let old = table.insert(words[1], standin);
        assert!(old.is_none(), "symbols.txt: {} is there twice", words[1]);
    }
    table
}

/// Undefined symbols of objects with those that use them, from what `nm -A -P` says. Weak ones may stay undefined.
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

/// The source of what stands for the undefined symbols.
///
/// # Errors
/// If some of them are in no table.
pub fn standins(undefined: &BTreeMap<String, BTreeSet<String>>, tree: &Path) -> Result<String, KernelError> {
    let table = table();
    let unknown: Vec<_> = undefined.iter().filter(|(symbol, _)| !table.contains_key(symbol.as_str())).collect();
    if !unknown.is_empty() {
        let mut message = format!("{}: the scheduler of this tree needs what fairlab does not know:\n", tree.display());
        for (symbol, users) in unknown {
            let users: Vec<&str> = users.iter().map(String::as_str).collect();
            writeln!(message, "  {symbol}, used by {}", users.join(", ")).expect("a string takes text");
        }
        message.push_str(
            "help: each needs an entry in crates/kernel/engine/symbols.txt that says what it answers, or that it is forbidden",
        );
        return Err(KernelError::Drift(message));
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
