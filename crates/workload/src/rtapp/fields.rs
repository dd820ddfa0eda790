// SPDX-License-Identifier: GPL-2.0-or-later
//! Object of the file as named fields, with the type checks of rt-app.

use super::json::{JsonEntry, JsonNode, JsonValue};
use crate::message::Message;
use crate::source_text::SourceText;
use crate::suggest;

#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    pub(super) source: SourceText<'a>,
    pub(super) entries: &'a [JsonEntry],
    /// Byte offset at which the object begins.
    pub(super) at: usize,
}

impl<'a> Fields<'a> {
    /// Returns the fields of a node, which must be an object. `what` is its name in messages.
    pub(super) fn from_node(source: SourceText<'a>, node: &'a JsonNode, what: &str) -> Result<Self, Message> {
        match &node.value {
            JsonValue::Object(entries) => Ok(Self { source, entries, at: node.at }),
            other => Err(source.error(node.at, format!("{what} must be an object, not {}", other.kind()))),
        }
    }

    /// Returns an error at a byte offset of the file.
    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> Message {
        self.source.error(at, message)
    }

    /// Returns the field with a name. A field that is null counts as missing, as in rt-app; of equal keys the
    /// last counts.
    pub(super) fn get(&self, key: &str) -> Option<&'a JsonNode> {
        let entry = self.entries.iter().rev().find(|entry| entry.key == key)?;
        (entry.node.value != JsonValue::Null).then_some(&entry.node)
    }

    /// Reads an integer of 32 bits.
    pub(super) fn int(&self, key: &str) -> Result<Option<i64>, Message> {
        self.get(key).map(|node| parse_int(self.source, key, node)).transpose()
    }

    /// Reads an integer of 32 bits that must not be negative.
    pub(super) fn count(&self, key: &str) -> Result<Option<u64>, Message> {
        self.get(key).map(|node| parse_count(self.source, key, node)).transpose()
    }

    /// Reads a number of bytes, which may have more than 32 bits.
    pub(super) fn bytes(&self, key: &str) -> Result<Option<u64>, Message> {
        let Some(node) = self.get(key) else { return Ok(None) };
        match node.value {
            JsonValue::Int(int) => {
                u64::try_from(int).map(Some).map_err(|_| self.error(node.at, format!("\"{key}\" must not be negative")))
            }
            _ => Err(wrong_type(self.source, key, node, "a whole number")),
        }
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, Message> {
        self.get(key).map(|node| parse_text(self.source, key, node)).transpose()
    }

    /// Reads `true` or `false`.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, Message> {
        match self.get(key) {
            None => Ok(None),
            Some(JsonNode { value: JsonValue::Bool(flag), .. }) => Ok(Some(*flag)),
            Some(node) => Err(wrong_type(self.source, key, node, "true or false")),
        }
    }

    /// Returns warnings about unknown fields: neither one of the known keys, nor a key with the prefix of an
    /// event.
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
                let (place, key) = (self.source.location(entry.key_at), &entry.key);
                format!("{place}: unknown key \"{key}\" in {what} is ignored, as rt-app does{hint}")
            })
            .collect()
    }
}

/// Returns the integer of a node. rt-app keeps 32 bits.
pub(super) fn parse_int(source: SourceText<'_>, key: &str, node: &JsonNode) -> Result<i64, Message> {
    match node.value {
        JsonValue::Int(int) if i32::try_from(int).is_ok() => Ok(int),
        JsonValue::Int(_) => {
            Err(source.error(node.at, format!("\"{key}\" does not fit into the 32 bits that rt-app keeps")))
        }
        _ => Err(wrong_type(source, key, node, "a whole number")),
    }
}

/// Returns the integer of a node, which must not be negative.
pub(super) fn parse_count(source: SourceText<'_>, key: &str, node: &JsonNode) -> Result<u64, Message> {
    let int = parse_int(source, key, node)?;
    u64::try_from(int).map_err(|_| source.error(node.at, format!("\"{key}\" must not be negative")))
}

/// Returns the string of a node.
pub(super) fn parse_text<'a>(source: SourceText<'_>, key: &str, node: &'a JsonNode) -> Result<&'a str, Message> {
    match &node.value {
        JsonValue::Text(text) => Ok(text),
        _ => Err(wrong_type(source, key, node, "a string")),
    }
}

fn wrong_type(source: SourceText<'_>, key: &str, node: &JsonNode, wanted: &str) -> Message {
    source.error(node.at, format!("\"{key}\" must be {wanted}, not {}", node.value.kind()))
}
