// SPDX-License-Identifier: GPL-2.0-or-later
//! An object of the file as named fields, with the type checks that rt-app makes.

use super::json::{Entry, Node, Value};
use crate::error::{ParseError, Source};
use crate::suggest;

/// The fields of one object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    pub(super) source: Source<'a>,
    pub(super) entries: &'a [Entry],
    /// Where the object begins.
    pub(super) at: usize,
}

impl<'a> Fields<'a> {
    /// The fields of a node, which must be an object. `what` is its name in messages.
    pub(super) fn of(source: Source<'a>, node: &'a Node, what: &str) -> Result<Self, ParseError> {
        match &node.value {
            Value::Object(entries) => Ok(Self { source, entries, at: node.at }),
            other => Err(source.error(node.at, format!("{what} must be an object, not {}", other.kind()))),
        }
    }

    /// An error at a place of the file.
    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> ParseError {
        self.source.error(at, message)
    }

    /// The field of a name. A field that is null counts as missing, as in rt-app; of equal ones the last counts.
    pub(super) fn get(&self, key: &str) -> Option<&'a Node> {
        let entry = self.entries.iter().rev().find(|entry| entry.key == key)?;
        (entry.node.value != Value::Null).then_some(&entry.node)
    }

    /// A whole number of 32 bits.
    pub(super) fn int(&self, key: &str) -> Result<Option<i64>, ParseError> {
        self.get(key).map(|node| int_of(self.source, key, node)).transpose()
    }

    /// A whole number that must not be negative.
    pub(super) fn count(&self, key: &str) -> Result<Option<u64>, ParseError> {
        self.get(key).map(|node| count_of(self.source, key, node)).transpose()
    }

    /// A number of bytes, which may have more than 32 bits.
    pub(super) fn long(&self, key: &str) -> Result<Option<u64>, ParseError> {
        let Some(node) = self.get(key) else { return Ok(None) };
        match node.value {
            Value::Int(int) => {
                u64::try_from(int).map(Some).map_err(|_| self.error(node.at, format!("\"{key}\" must not be negative")))
            }
            _ => Err(wrong_type(self.source, key, node, "a whole number")),
        }
    }

    /// A string.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, ParseError> {
        self.get(key).map(|node| text_of(self.source, key, node)).transpose()
    }

    /// True or false.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, ParseError> {
        match self.get(key) {
            None => Ok(None),
            Some(Node { value: Value::Bool(flag), .. }) => Ok(Some(*flag)),
            Some(node) => Err(wrong_type(self.source, key, node, "true or false")),
        }
    }

    /// Warnings about fields that are not known: neither one of these keys, nor one that begins like an event.
    pub(super) fn unknown(&self, what: &str, known: &[&str], events: &[&str]) -> Vec<String> {
        let is_known = |key: &str| events.iter().any(|event| key.starts_with(event));
        let unknown = self.entries.iter().filter(|entry| !known.contains(&entry.key.as_str()) && !is_known(&entry.key));
        unknown
            .map(|entry| {
                let near = suggest::nearest(&entry.key, known).or_else(|| suggest::nearest(&entry.key, events));
                let hint = match near {
                    Some(name) => format!("; did you mean \"{name}\"?"),
                    None => String::new(),
                };
                let (place, key) = (self.source.place(entry.key_at), &entry.key);
                format!("{place}: unknown key \"{key}\" in {what} is ignored, as rt-app does{hint}")
            })
            .collect()
    }
}

/// The whole number of a node. rt-app keeps 32 bits.
pub(super) fn int_of(source: Source<'_>, key: &str, node: &Node) -> Result<i64, ParseError> {
    match node.value {
        Value::Int(int) if i32::try_from(int).is_ok() => Ok(int),
        Value::Int(_) => {
            Err(source.error(node.at, format!("\"{key}\" does not fit into 32 bits, which is what rt-app keeps")))
        }
        _ => Err(wrong_type(source, key, node, "a whole number")),
    }
}

/// The whole number of a node, which must not be negative.
pub(super) fn count_of(source: Source<'_>, key: &str, node: &Node) -> Result<u64, ParseError> {
    let int = int_of(source, key, node)?;
    u64::try_from(int).map_err(|_| source.error(node.at, format!("\"{key}\" must not be negative")))
}

/// The string of a node.
pub(super) fn text_of<'a>(source: Source<'_>, key: &str, node: &'a Node) -> Result<&'a str, ParseError> {
    match &node.value {
        Value::Text(text) => Ok(text),
        _ => Err(wrong_type(source, key, node, "a string")),
    }
}

fn wrong_type(source: Source<'_>, key: &str, node: &Node, wanted: &str) -> ParseError {
    source.error(node.at, format!("\"{key}\" must be {wanted}, not {}", node.value.kind()))
}
