// SPDX-License-Identifier: GPL-2.0-or-later
//! What can be wrong with a machine file, and where.

use std::fmt;
use std::io;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Something is wrong in a machine file: where, what, and the way out.
///
/// Displays as `machines/x.toml:12: frequency_domain 2: khz: ...` with a second line `  help: ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescriptionError {
    file: String,
    line: usize,
    place: String,
    message: String,
    help: String,
}

impl DescriptionError {
    /// The name of the file, as it was given.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line at fault, counted from 1.
    pub const fn line(&self) -> usize {
        self.line
    }

    /// The key at fault, from the outermost table inwards and with tables of an array counted from 1; empty where the
    /// file is not TOML.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The way out.
    pub fn help(&self) -> &str {
        &self.help
    }
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        write!(f, "{}\n  help: {}", self.message, self.help)
    }
}

impl std::error::Error for DescriptionError {}

/// A machine could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The name is neither a preset nor the path of a file.
    #[error("there is no machine `{name}`\n  help: {help}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Names like it, or all names.
        help: String,
    },
    /// The file cannot be read.
    #[error("{path}: cannot be read: {cause}\n  help: give the path of a machine file, or a preset's name")]
    Read {
        /// The path as it was given.
        path: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The file says something impossible.
    #[error(transparent)]
    Invalid(#[from] DescriptionError),
}

/// Something wrong at a place of the text that is being read; [`Source`] makes a [`DescriptionError`] of it.
#[derive(Clone, Debug)]
pub(super) struct DescriptionFault {
    at: Range<usize>,
    message: String,
    help: String,
}

impl DescriptionFault {
    pub(super) fn new(at: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { at, message: message.into(), help: help.into() }
    }

    /// What is wrong.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// The same where a number is needed and there is something else: with the unit in which the key of that line of the file ends.
    pub(super) fn in_units(mut self, text: &str) -> Self {
        let needs_number = self.message.starts_with("invalid type") && self.message.contains("expected u64");
        let before = text.get(..self.at.start).filter(|_| needs_number).unwrap_or_default();
        let key = before.rsplit(['\n', '{', ',']).next().unwrap_or_default().trim().trim_end_matches('=').trim();
        let units = [("_ns", "nanoseconds"), ("_us", "microseconds"), ("_ms", "milliseconds"), ("khz", "kilohertz")];
        if let Some((_, unit)) = units.iter().find(|(end, _)| key.ends_with(end)) {
            self.help = format!("write a whole number of {unit}: {key} = 2000");
        }
        self
    }

    /// A fault of one value.
    pub(super) fn of<T>(value: &Spanned<T>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(value.span(), message, help)
    }
}

/// A text and its name, to say where a fault is.
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

/// A base, with its place among the texts of a file and its bases.
pub(super) struct Inherited {
    /// As the file names it.
    pub(super) name: String,
    /// Where the file, or the base before this one, names it.
    pub(super) named_at: Range<usize>,
    /// Where its text begins; what is before stands for the files that inherit from it.
    pub(super) start: usize,
    pub(super) text: String,
}

impl Source<'_> {
    /// The error for a fault in the text, or in what it inherits.
    pub(super) fn error(&self, fault: DescriptionFault, inherited: &[Inherited]) -> DescriptionError {
        let base = inherited.iter().rev().find(|base| base.start <= fault.at.start);
        let (text, skipped) = base.map_or((self.text, 0), |base| (base.text.as_str(), 1));
        let start = fault.at.start.min(text.len());
        let line = 1 - skipped + text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count();
        let table = DeTable::parse(text).ok();
        let place = table.map_or_else(String::new, |table| place_of(table.get_ref(), &fault.at));
        let (file, message) = match base {
            Some(base) => {
                let key = place.split([':', ' ']).next().unwrap_or_default();
                let help = format!("what is inherited does not fit; give the file a `{key}` of its own");
                let message = format!("{} (inherited by {})", fault.message, self.file);
                return DescriptionError { file: format!("base {}", base.name), line, place, message, help };
            }
            None => (self.file.to_owned(), fault.message),
        };
        DescriptionError { file, line, place, message, help: fault.help }
    }
}

/// The keys that lead to the smallest key or value around a span; `the file` if none does.
fn place_of(table: &DeTable<'_>, at: &Range<usize>) -> String {
    let mut best = None;
    search_table(table, at, &mut Vec::new(), &mut best);
    best.map_or_else(|| "the file".to_owned(), |(_, place)| place)
}

type BestMatch = Option<(usize, String)>;

fn search_table(table: &DeTable<'_>, at: &Range<usize>, path: &mut Vec<String>, best: &mut BestMatch) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        offer(&key.span(), at, path, best);
        search_value(value, at, path, best);
        path.pop();
    }
}

fn search_value(value: &Spanned<DeValue<'_>>, at: &Range<usize>, path: &mut Vec<String>, best: &mut BestMatch) {
    offer(&value.span(), at, path, best);
    match value.get_ref() {
        DeValue::Table(table) => search_table(table, at, path, best),
        DeValue::Array(items) => {
            let name = path.pop().unwrap_or_default();
            for (index, item) in items.iter().enumerate() {
                path.push(format!("{name} {}", index + 1));
                search_value(item, at, path, best);
                path.pop();
            }
            path.push(name);
        }
        _ => {}
    }
}

/// Keeps `path` if `span` contains `at` and is no larger than the best so far.
fn offer(span: &Range<usize>, at: &Range<usize>, path: &[String], best: &mut BestMatch) {
    let size = span.end.saturating_sub(span.start);
    if span.start <= at.start && at.end <= span.end && best.as_ref().is_none_or(|(smallest, _)| size <= *smallest) {
        *best = Some((size, path.join(": ")));
    }
}
