// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors in machine files, with their positions.

use fairlab_workload::message::{Message, Place};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error at a position of the text that is being read; [`Source`] converts it to a [`Message`].
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

    /// Description of the error.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Adds a hint with the unit of the key if the value is not a number. The unit follows from the end of
    /// the key.
    pub(super) fn with_unit(mut self, text: &str) -> Self {
        let needs_number = self.message.starts_with("invalid type") && self.message.contains("expected u64");
        let before = text.get(..self.at.start).filter(|_| needs_number).unwrap_or_default();
        let key = before.rsplit(['\n', '{', ',']).next().unwrap_or_default().trim().trim_end_matches('=').trim();
        let units = [("_ns", "nanoseconds"), ("_us", "microseconds"), ("_ms", "milliseconds"), ("khz", "kilohertz")];
        if let Some((_, unit)) = units.iter().find(|(end, _)| key.ends_with(end)) {
            self.help = format!("write a whole number of {unit}: {key} = 2000");
        }
        self
    }

    /// Returns an error for one value.
    pub(super) fn from_value<T>(value: &Spanned<T>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(value.span(), message, help)
    }
}

/// A text and its name, to locate errors.
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

/// Text of a base, with its position among the texts of a file and its bases.
pub(super) struct InheritedText {
    /// Name in the file that inherits.
    pub(super) name: String,
    /// Position of the name in the file, or in the previous base.
    pub(super) named_at: Range<usize>,
    /// Start of the base's text. The space before it stands for the files that inherit from it.
    pub(super) start: usize,
    pub(super) text: String,
}

impl Source<'_> {
    /// Returns the error for a fault in the text or in an inherited text.
    ///
    /// The text names the key, from the outermost table to the innermost, with tables of an array counted from 1:
    /// `frequency_domain 2: khz: ...`.
    pub(super) fn error(&self, fault: DescriptionFault, inherited: &[InheritedText]) -> Message {
        let base = inherited.iter().rev().find(|base| base.start <= fault.at.start);
        let (text, skipped) = base.map_or((self.text, 0), |base| (base.text.as_str(), 1));
        let start = fault.at.start.min(text.len());
        let line = 1 - skipped + text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count();
        let table = DeTable::parse(text).ok();
        let key_path = table.map(|table| key_path(table.get_ref(), &fault.at));
        let (file, text, help) = match base {
            Some(base) => {
                let key = key_path.as_deref().and_then(|path| path.split([':', ' ']).next()).unwrap_or_default();
                let help = format!("the inherited `{key}` does not fit the machine; add `{key}` to the file");
                (format!("base {}", base.name), format!("{} (inherited by {})", fault.message, self.file), help)
            }
            None => (self.file.to_owned(), fault.message, fault.help),
        };
        let place = Place { file, line: u32::try_from(line).ok(), ..Place::default() };
        let message = Message { place: Some(place), ..Message::new(text).with_help(help) };
        match key_path {
            Some(path) => message.about(path),
            None => message,
        }
    }
}

/// Returns the keys that lead to the smallest key or value around a span; `the file` if none does.
fn key_path(table: &DeTable<'_>, at: &Range<usize>) -> String {
    let mut best = None;
    search_table(table, at, &mut Vec::new(), &mut best);
    best.map_or_else(|| "the file".to_owned(), |(_, place)| place)
}

type BestMatch = Option<(usize, String)>;

fn search_table(table: &DeTable<'_>, at: &Range<usize>, path: &mut Vec<String>, best: &mut BestMatch) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        keep_smallest(&key.span(), at, path, best);
        search_value(value, at, path, best);
        path.pop();
    }
}

fn search_value(value: &Spanned<DeValue<'_>>, at: &Range<usize>, path: &mut Vec<String>, best: &mut BestMatch) {
    keep_smallest(&value.span(), at, path, best);
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
fn keep_smallest(span: &Range<usize>, at: &Range<usize>, path: &[String], best: &mut BestMatch) {
    let size = span.end.saturating_sub(span.start);
    if span.start <= at.start && at.end <= span.end && best.as_ref().is_none_or(|(smallest, _)| size <= *smallest) {
        *best = Some((size, path.join(": ")));
    }
}
