// SPDX-License-Identifier: GPL-2.0-or-later
//! Messages for people: what is wrong, where, and a remedy.
//!
//! All errors about input are a [`Message`]; other crates put it into enums that say how a command ends. Its display form fits
//! on one screen: the place, the text, the line with a caret under the word, and the remedy.

use std::error::Error;
use std::fmt;
use std::path::Path;

/// Longest part of a source line that a message shows, in characters; with its line number it fits into 80
/// columns.
pub(crate) const SHOWN_WIDTH: usize = 70;

/// Text before the remedy.
const HELP_MARK: &str = concat!("\n", "help: ");

/// Text with a place and a remedy.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Message {
    /// Description of the problem, in lower case and without a full stop.
    pub text: String,
    /// Remedy, if there is one.
    pub help: Option<String>,
    /// Place in a file, if the text is about one.
    pub place: Option<Place>,
}

/// Place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Place {
    /// Name of the file, as it was given.
    pub file: String,
    /// Number of the line, from 1.
    pub line: Option<u32>,
    /// Column, from 1, in characters.
    pub column: Option<u32>,
    /// Content of the line.
    pub source_line: Option<String>,
}

/// Whether a character would control a terminal or change the direction of the text around it.
pub fn is_unsafe_to_print(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Message {
    /// Returns a message without place and remedy.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), help: None, place: None }
    }

    /// Returns a message about a file as a whole.
    pub fn in_file(file: impl AsRef<Path>, text: impl Into<String>) -> Self {
        let file = file.as_ref().display().to_string();
        Self { place: Some(Place { file, ..Place::default() }), ..Self::new(text) }
    }

    /// Returns the message whose display form is a text, without place: a library has made text of it.
    pub fn from_display(text: &str) -> Self {
        match text.split_once(HELP_MARK) {
            Some((text, help)) => Self::new(text).with_help(help),
            None => Self::new(text),
        }
    }

    /// Returns the message with a remedy.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Returns the message with a remedy, unless it has one.
    #[must_use]
    pub fn or_help(self, help: impl Into<String>) -> Self {
        Self { help: self.help.or_else(|| Some(help.into())), ..self }
    }

    /// Returns the message with a place, unless it has one.
    #[must_use]
    pub fn with_file(self, file: &str) -> Self {
        let place = || Place { file: file.to_owned(), ..Place::default() };
        Self { place: self.place.or_else(|| Some(place())), ..self }
    }

    /// Returns the message with its subject in front of the text: `arm 2: ...`.
    #[must_use]
    pub fn about(self, subject: impl fmt::Display) -> Self {
        Self { text: format!("{subject}: {}", self.text), ..self }
    }

    /// Returns place, text and remedy on one line, without the line of the file.
    pub fn one_line(&self) -> String {
        let place = self.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
        let help = self.help.as_ref().map_or_else(String::new, |help| format!(" help: {help}"));
        format!("{place}{}{help}", self.text).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns line and column of the place, if it has both.
    pub fn position(&self) -> Option<(u32, u32)> {
        let place = self.place.as_ref()?;
        place.line.zip(place.column)
    }
}

impl Place {
    /// Returns the part of the line that is shown, and the number of characters before the caret in it.
    fn excerpt(&self) -> Option<(u32, String, usize)> {
        let (line, source_line) = (self.line?, self.source_line.as_ref()?);
        let caret = self.column?.saturating_sub(1) as usize;
        let skipped = if caret + 10 > SHOWN_WIDTH { caret - SHOWN_WIDTH / 2 } else { 0 };
        let shown = source_line.chars().skip(skipped).take(SHOWN_WIDTH);
        // A caret can only stand under a character of one column, and a file must not control the terminal.
        let clean = shown.map(|c| match c {
            '\t' => ' ',
            c if is_unsafe_to_print(c) => '\u{fffd}',
            c => c,
        });
        Some((line, clean.collect(), caret - skipped))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.text)?;
        if let Some((number, line, caret)) = self.place.as_ref().and_then(Place::excerpt)
            && !line.trim().is_empty()
        {
            write!(f, "\n{number:>5} | {}\n      | {:caret$}^", line.trim_end(), "")?;
        }
        if let Some(help) = &self.help {
            write!(f, "{HELP_MARK}{help}")?;
        }
        Ok(())
    }
}

impl Error for Message {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_shows_what_it_has() {
        let message = Message::new("no such arm");
        assert_eq!(message.to_string(), "no such arm");
        let message = message.about("arm 2").with_help("choose one").with_file("a.toml");
        assert_eq!(message.to_string().lines().collect::<Vec<_>>(), ["a.toml: arm 2: no such arm", "help: choose one"]);
        assert_eq!(message.one_line(), "a.toml: arm 2: no such arm help: choose one");
        assert_eq!(Message::from_display(&message.to_string()).help, message.help);
        assert_eq!(message.clone().or_help("add one").help, message.help);
        assert_eq!(Message::new("no such arm").or_help("add one").help.as_deref(), Some("add one"));
        assert_eq!(message.with_file("b.toml").place.map(|place| place.file), Some("a.toml".to_owned()));
    }
}
