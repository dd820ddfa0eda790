// SPDX-License-Identifier: GPL-2.0-or-later
//! JSON as rt-app's library reads it, with the place of every value.
//!
//! rt-app reads its files with libjson-c in its lenient mode, and people's files rely on that:
//! - `/* */` and `//` comments, trailing commas, single quotes;
//! - `true`, `null`, `NaN`, `Infinity` in any case; `010` is ten;
//! - what follows the outermost closing brace is ignored;
//! - of equal keys in an object the last value counts, at the place of the first. Since rt-app's events are keys, this
//!   drops events without a word; [`Document::duplicates`] remembers where.
//!
//! Values nest at most 32 levels deep, as there. Integers that do not fit into 64 bits become the nearest that does.

use crate::error::{ParseError, Source};
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// The way out of a placeholder.
pub(super) const TEMPLATE: &str = "this looks like a template, which a script completes; put a value in its place";

/// Events that people write without a value.
const BARE: &[&str] = &["suspend", "yield"];

/// The deepest nesting of objects and arrays that libjson-c accepts.
const MAX_DEPTH: usize = 32;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// rt-app has no use for numbers with a fraction, so theirs is not kept.
    Fraction,
    Text(String),
    Array(Vec<Node>),
    Object(Vec<Entry>),
}

impl Value {
    /// What kind of value it is, in words.
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

/// A value and the byte at which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) at: usize,
}

/// A key of an object with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_at: usize,
    pub(super) node: Node,
}

/// A key that an object has more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Duplicate {
    /// Where the object begins; equal for all of its duplicates.
    pub(super) object_at: usize,
    pub(super) key: String,
    /// Where the key stands that was not the first.
    pub(super) at: usize,
}

/// What a text says.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) root: Node,
    /// In the order of the text.
    pub(super) duplicates: Vec<Duplicate>,
}

/// What becomes of equal keys in an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicateKeys {
    /// As rt-app does: the last value, at the place of the first. Others are dropped, with a warning.
    #[default]
    LastValue,
    /// As rt-app's helper `workgen` does: all are kept, in their order.
    KeepAll,
}

/// Reads a text.
pub(super) fn read(source: Source<'_>, keys: DuplicateKeys) -> Result<Document, ParseError> {
    let mut reader = JsonReader { source, at: 0, depth: 0, keys, duplicates: Vec::new() };
    let root = reader.value()?;
    Ok(Document { root, duplicates: reader.duplicates })
}

struct JsonReader<'a> {
    source: Source<'a>,
    at: usize,
    depth: usize,
    keys: DuplicateKeys,
    duplicates: Vec<Duplicate>,
}

impl JsonReader<'_> {
    fn value(&mut self) -> Result<Node, ParseError> {
        self.blanks()?;
        let at = self.at;
        let value = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(quote @ (b'"' | b'\'')) => Value::Text(self.text(quote)?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.word()?,
            Some(b'_') => return Err(self.error(at, "a value was expected, not a placeholder").with_help(TEMPLATE)),
            Some(_) => return Err(self.error(at, format!("a value was expected, not {}", self.found()))),
            None => return Err(self.ends("a value")),
        };
        Ok(Node { value, at })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, ParseError>) -> Result<Value, ParseError> {
        if self.depth + 1 >= MAX_DEPTH {
            return Err(self.error(self.at, format!("objects and lists nest at most {MAX_DEPTH} levels deep")));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, ParseError> {
        let object_at = self.at - 1;
        let (mut entries, mut places) = (Vec::new(), BTreeMap::new());
        loop {
            self.blanks()?;
            if self.take(b'}') {
                return Ok(Value::Object(entries));
            }
            let key_at = self.at;
            let key = match self.peek() {
                Some(quote @ (b'"' | b'\'')) => self.text(quote)?,
                Some(_) => return Err(self.no_key()),
                None => return Err(self.ends("a key or `}`")),
            };
            self.blanks()?;
            let node = if self.take(b':') {
                self.value()?
            } else if self.stands_for_itself(&key) {
                Node { value: Value::Text(String::new()), at: key_at }
            } else {
                return Err(self.no_value(key_at, &key));
            };
            self.insert(&mut entries, &mut places, object_at, Entry { key, key_at, node });
            self.separator(b'}')?;
        }
    }

    /// Whether a key may do without a value: where rt-app's helper workgen would give it an empty one.
    fn stands_for_itself(&self, key: &str) -> bool {
        let is_bare = matches!(self.peek(), Some(b',' | b'}'));
        is_bare && self.keys == DuplicateKeys::KeepAll && BARE.iter().any(|event| key.starts_with(event))
    }

    /// `places` are those of keys among the entries.
    fn insert(
        &mut self,
        entries: &mut Vec<Entry>,
        places: &mut BTreeMap<String, usize>,
        object_at: usize,
        entry: Entry,
    ) {
        if self.keys == DuplicateKeys::LastValue {
            if let Some(&first) = places.get(&entry.key) {
                self.duplicates.push(Duplicate { object_at, key: entry.key, at: entry.key_at });
                entries[first].node = entry.node;
                return;
            }
            places.insert(entry.key.clone(), entries.len());
        }
        entries.push(entry);
    }

    fn array(&mut self) -> Result<Value, ParseError> {
        let mut nodes = Vec::new();
        loop {
            self.blanks()?;
            if self.take(b']') {
                return Ok(Value::Array(nodes));
            }
            nodes.push(self.value()?);
            self.separator(b']')?;
        }
    }

    /// Goes past a comma, or stops before the bracket that closes.
    fn separator(&mut self, close: u8) -> Result<(), ParseError> {
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
                    .with_help(format!("what follows begins with {}", self.found())));
            }
            Some(_) => return Err(self.error(self.at, format!("`,` or `{closes}` was expected, not {}", self.found()))),
            None => return Err(self.ends(&format!("`,` or `{closes}`"))),
        }
        Ok(())
    }

    fn text(&mut self, quote: u8) -> Result<String, ParseError> {
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

    fn escape(&mut self) -> Result<char, ParseError> {
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
                // Halves of surrogate pairs become the replacement character; no name in a workload needs them.
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Err(self.error(at, "unknown escape in a string")),
        })
    }

    fn number(&mut self) -> Result<Value, ParseError> {
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
            return Ok(Value::Fraction);
        }
        let text = &self.source.text[start..self.at];
        Ok(Value::Int(text.parse().unwrap_or(if negative { i64::MIN } else { i64::MAX })))
    }

    fn digits(&mut self) -> &str {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        &self.source.text[start..self.at]
    }

    fn word(&mut self) -> Result<Value, ParseError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
        let word = &self.source.text[start..self.at];
        match word.to_ascii_lowercase().as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "null" => Ok(Value::Null),
            "nan" | "infinity" => Ok(Value::Fraction),
            _ => {
                let is_placeholder = word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
                let quoted = format!("a string needs quotes: \"{word}\"");
                let help = if is_placeholder { TEMPLATE.to_owned() } else { quoted };
                Err(self.error(start, format!("`{word}` is not a value")).with_help(help))
            }
        }
    }

    /// Goes past blanks and comments.
    fn blanks(&mut self) -> Result<(), ParseError> {
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

    /// The character at which the reader stands, for messages.
    fn found(&self) -> String {
        match self.source.text[self.at..].chars().next() {
            Some(c) if c.is_control() => format!("the control character {:#04x}", u32::from(c)),
            Some(c) => format!("`{c}`"),
            None => "the end of the file".to_owned(),
        }
    }

    fn no_key(&self) -> ParseError {
        let error = self.error(self.at, format!("a key in quotes or `}}` was expected, not {}", self.found()));
        if self.peek() == Some(b',') { error.with_help("there is a comma too many") } else { error }
    }

    fn no_value(&self, key_at: usize, key: &str) -> ParseError {
        if matches!(self.peek(), Some(b',' | b'}')) {
            let message = format!("the key \"{key}\" has no value; rt-app itself refuses such a file as well");
            let help = match key {
                _ if BARE.iter().any(|event| key.starts_with(event)) => {
                    format!(
                        "write \"{key}\" : \"\", or use --keep-duplicate-keys, which does what rt-app's helper workgen does"
                    )
                }
                _ => format!("write \"{key}\" : VALUE"),
            };
            return self.error(key_at, message).with_help(help);
        }
        self.error(self.at, format!("`:` was expected behind the key \"{key}\", not {}", self.found()))
    }

    fn ends(&self, missing: &str) -> ParseError {
        self.error(self.source.text.trim_end().len(), format!("the file ends where {missing} was expected"))
    }

    fn error(&self, at: usize, message: impl Into<String>) -> ParseError {
        self.source.error(at, message)
    }
}
