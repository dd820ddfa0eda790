// SPDX-License-Identifier: GPL-2.0-or-later
//! JSON as rt-app's library reads it, with the byte offset of every value.
//!
//! rt-app reads its files with libjson-c in its lenient mode, and existing files rely on that:
//! - `/* */` and `//` comments, trailing commas, single quotes;
//! - `true`, `null`, `NaN`, `Infinity` in any case; `010` is ten;
//! - text after the outermost closing brace is ignored;
//! - of equal keys in an object the last value counts, at the position of the first. Since rt-app's events
//!   are keys, this drops events without a message; [`JsonDocument::duplicates`] records where.
//!
//! Values nest at most 32 levels deep, as in libjson-c. An integer that does not fit into 64 bits becomes the
//! nearest that does.

use crate::message::Message;
use crate::source_text::SourceText;
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// Help for a placeholder that a script should have replaced.
pub(super) const TEMPLATE_HELP: &str = "this looks like a template, which a script completes; put a value in its place";

/// Events that existing files contain without a value.
const KEYS_WITHOUT_VALUE: &[&str] = &["suspend", "yield"];

/// Deepest nesting of objects and arrays that libjson-c accepts.
const MAX_DEPTH: usize = 32;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum JsonValue {
    Null,
    Bool(bool),
    Int(i64),
    /// Number with a fraction. rt-app has no use for it, so its value is not kept.
    Fraction,
    Text(String),
    Array(Vec<JsonNode>),
    Object(Vec<JsonEntry>),
}

impl JsonValue {
    /// Kind of the value, for messages.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Int(_) => "a whole number",
            Self::Fraction => "a number with a fraction",
            Self::Text(_) => "a string",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// Value with the byte offset at which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonNode {
    pub(super) value: JsonValue,
    pub(super) at: usize,
}

/// Key of an object with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonEntry {
    pub(super) key: String,
    pub(super) key_at: usize,
    pub(super) node: JsonNode,
}

/// Key that an object has more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DuplicateKey {
    /// Byte offset of the object; equal for all of its duplicates.
    pub(super) object_at: usize,
    pub(super) key: String,
    /// Byte offset of a key after the first.
    pub(super) at: usize,
}

/// Root value of a text, and the keys that occurred more than once.
#[derive(Debug)]
pub(super) struct JsonDocument {
    pub(super) root: JsonNode,
    /// In the order of the text.
    pub(super) duplicates: Vec<DuplicateKey>,
}

/// Treatment of equal keys in an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicateKeys {
    /// As in rt-app: the last value, at the position of the first. Other values are dropped, with a warning.
    #[default]
    LastValue,
    /// As in rt-app's helper `workgen`: all values are kept, in their order.
    KeepAll,
}

/// Reads a text as JSON.
pub(super) fn read(source: SourceText<'_>, keys: DuplicateKeys) -> Result<JsonDocument, Message> {
    let mut reader = JsonReader { source, at: 0, depth: 0, keys, duplicates: Vec::new() };
    let root = reader.value()?;
    Ok(JsonDocument { root, duplicates: reader.duplicates })
}

struct JsonReader<'a> {
    source: SourceText<'a>,
    at: usize,
    depth: usize,
    keys: DuplicateKeys,
    duplicates: Vec<DuplicateKey>,
}

impl JsonReader<'_> {
    fn value(&mut self) -> Result<JsonNode, Message> {
        self.blanks()?;
        let at = self.at;
        let value = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(quote @ (b'"' | b'\'')) => JsonValue::Text(self.text(quote)?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.word()?,
            Some(b'_') => {
                return Err(self.error(at, "a value was expected, not a placeholder").with_help(TEMPLATE_HELP));
            }
            Some(_) => return Err(self.error(at, format!("a value was expected, not {}", self.found_char()))),
            None => return Err(self.end_error("a value")),
        };
        Ok(JsonNode { value, at })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<JsonValue, Message>) -> Result<JsonValue, Message> {
        if self.depth + 1 >= MAX_DEPTH {
            return Err(self.error(self.at, format!("objects and lists nest at most {MAX_DEPTH} levels deep")));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<JsonValue, Message> {
        let object_at = self.at - 1;
        let (mut entries, mut places) = (Vec::new(), BTreeMap::new());
        loop {
            self.blanks()?;
            if self.take(b'}') {
                return Ok(JsonValue::Object(entries));
            }
            let key_at = self.at;
            let key = match self.peek() {
                Some(quote @ (b'"' | b'\'')) => self.text(quote)?,
                Some(_) => return Err(self.missing_key_error()),
                None => return Err(self.end_error("a key or `}`")),
            };
            self.blanks()?;
            let node = if self.take(b':') {
                self.value()?
            } else if self.may_omit_value(&key) {
                JsonNode { value: JsonValue::Text(String::new()), at: key_at }
            } else {
                return Err(self.missing_value_error(key_at, &key));
            };
            self.insert(&mut entries, &mut places, object_at, JsonEntry { key, key_at, node });
            self.separator(b'}')?;
        }
    }

    /// Whether a key may have no value: where rt-app's helper workgen would insert an empty one.
    fn may_omit_value(&self, key: &str) -> bool {
        let is_bare = matches!(self.peek(), Some(b',' | b'}'));
        is_bare && self.keys == DuplicateKeys::KeepAll && KEYS_WITHOUT_VALUE.iter().any(|event| key.starts_with(event))
    }

    /// Appends an entry, or replaces the value of an equal key. `places` maps keys to their index in
    /// `entries`.
    fn insert(
        &mut self,
        entries: &mut Vec<JsonEntry>,
        places: &mut BTreeMap<String, usize>,
        object_at: usize,
        entry: JsonEntry,
    ) {
        if self.keys == DuplicateKeys::LastValue {
            if let Some(&first) = places.get(&entry.key) {
                self.duplicates.push(DuplicateKey { object_at, key: entry.key, at: entry.key_at });
                entries[first].node = entry.node;
                return;
            }
            places.insert(entry.key.clone(), entries.len());
        }
        entries.push(entry);
    }

    fn array(&mut self) -> Result<JsonValue, Message> {
        let mut nodes = Vec::new();
        loop {
            self.blanks()?;
            if self.take(b']') {
                return Ok(JsonValue::Array(nodes));
            }
            nodes.push(self.value()?);
            self.separator(b']')?;
        }
    }

    /// Skips a comma, or stops before the closing bracket.
    fn separator(&mut self, close: u8) -> Result<(), Message> {
        let value_end = self.at;
        self.blanks()?;
        let closes = char::from(close);
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(byte) if byte == close => {}
            Some(_) if self.source.text[value_end..self.at].contains('\n') => {
                let message = format!("`,` or `{closes}` is missing at the end of this line");
                return Err(self
                    .error(value_end, message)
                    .with_help(format!("the next value begins with {}", self.found_char())));
            }
            Some(_) => {
                return Err(self.error(self.at, format!("`,` or `{closes}` was expected, not {}", self.found_char())));
            }
            None => return Err(self.end_error(&format!("`,` or `{closes}`"))),
        }
        Ok(())
    }

    fn text(&mut self, quote: u8) -> Result<String, Message> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            // Quotes and backslashes are ASCII, so the pieces between them end on characters.
            let piece = self.at;
            while self.peek().is_some_and(|byte| byte != quote && byte != b'\\') {
                self.at += 1;
            }
            text.push_str(&self.source.text[piece..self.at]);
            match self.peek() {
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => {
                    self.at += 1;
                    return Ok(text);
                }
                None => return Err(self.error(start, "the string that begins here does not end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Message> {
        let at = self.at;
        self.at += 2;
        let byte = self.source.text.as_bytes().get(at + 1).copied();
        Ok(match byte {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'u') => {
                let digits = self.source.text.get(at + 2..at + 6).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                self.at += 4;
                let code = code.ok_or_else(|| self.error(at, "`\\u` needs four hexadecimal digits"))?;
                // Halves of surrogate pairs become the replacement character; no name in a workload needs
                // them.
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Err(self.error(at, "unknown escape in a string")),
        })
    }

    fn number(&mut self) -> Result<JsonValue, Message> {
        let start = self.at;
        let negative = self.take(b'-');
        if negative && self.peek().is_some_and(|byte| byte.eq_ignore_ascii_case(&b'i')) {
            return self.word();
        }
        let digits = self.digits();
        let mut whole = true;
        let mut well_formed = !digits.is_empty();
        if self.take(b'.') {
            whole = false;
            self.digits();
        }
        if self.take(b'e') || self.take(b'E') {
            whole = false;
            let _sign = self.take(b'+') || self.take(b'-');
            well_formed &= !self.digits().is_empty();
        }
        if !well_formed {
            return Err(self.error(start, "this is not a number"));
        }
        if !whole {
            return Ok(JsonValue::Fraction);
        }
        let text = &self.source.text[start..self.at];
        Ok(JsonValue::Int(text.parse().unwrap_or(if negative { i64::MIN } else { i64::MAX })))
    }

    fn digits(&mut self) -> &str {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        &self.source.text[start..self.at]
    }

    fn word(&mut self) -> Result<JsonValue, Message> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
        let word = &self.source.text[start..self.at];
        match word.to_ascii_lowercase().as_str() {
            "true" => Ok(JsonValue::Bool(true)),
            "false" => Ok(JsonValue::Bool(false)),
            "null" => Ok(JsonValue::Null),
            "nan" | "infinity" => Ok(JsonValue::Fraction),
            _ => {
                let is_placeholder = word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
                let quoted = format!("a string needs quotes: \"{word}\"");
                let help = if is_placeholder { TEMPLATE_HELP.to_owned() } else { quoted };
                Err(self.error(start, format!("`{word}` is not a value")).with_help(help))
            }
        }
    }

    /// Skips blanks and comments.
    fn blanks(&mut self) -> Result<(), Message> {
        loop {
            let rest = &self.source.text[self.at..];
            if self.peek().is_some_and(|byte| byte.is_ascii_whitespace() || byte == 0x0b) {
                self.at += 1;
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let end = rest.find("*/").ok_or_else(|| self.error(self.at, "the comment does not end"))?;
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.source.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Returns the current character, for messages.
    fn found_char(&self) -> String {
        match self.source.text[self.at..].chars().next() {
            Some(c) if c.is_control() => format!("the control character {:#04x}", u32::from(c)),
            Some(c) => format!("`{c}`"),
            None => "the end of the file".to_owned(),
        }
    }

    fn missing_key_error(&self) -> Message {
        let error = self.error(self.at, format!("a key in quotes or `}}` was expected, not {}", self.found_char()));
        if self.peek() == Some(b',') { error.with_help("remove the extra comma") } else { error }
    }

    fn missing_value_error(&self, key_at: usize, key: &str) -> Message {
        if matches!(self.peek(), Some(b',' | b'}')) {
            let message = format!("the key \"{key}\" has no value; rt-app itself rejects such a file as well");
            let help = match key {
                _ if KEYS_WITHOUT_VALUE.iter().any(|event| key.starts_with(event)) => {
                    format!(
                        "write \"{key}\" : \"\", or use --keep-duplicate-keys, which reads the file as rt-app's helper workgen does"
                    )
                }
                _ => format!("write \"{key}\" : VALUE"),
            };
            return self.error(key_at, message).with_help(help);
        }
        self.error(self.at, format!("`:` was expected behind the key \"{key}\", not {}", self.found_char()))
    }

    fn end_error(&self, missing: &str) -> Message {
        self.error(self.source.text.trim_end().len(), format!("the file ends where {missing} was expected"))
    }

    fn error(&self, at: usize, message: impl Into<String>) -> Message {
        self.source.error(at, message)
    }
}
