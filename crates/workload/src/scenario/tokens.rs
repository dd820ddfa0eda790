// SPDX-License-Identifier: GPL-2.0-or-later
//! Words of a statement, and their values: numbers, CPUs, durations, names.

use crate::message::Message;
use crate::source_text::SourceText;
use crate::time::{TimeError, TimeFormat};
use fairlab_sched::units::Nanos;
use std::ops::RangeInclusive;

/// Word with its byte offset in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) offset: usize,
}

impl<'a> Token<'a> {
    /// Returns the part of the word from a byte on.
    fn suffix(self, start: usize) -> Self {
        Self { text: &self.text[start..], offset: self.offset + start }
    }

    /// Returns the part of the word before a byte.
    fn prefix(self, end: usize) -> Self {
        Self { text: &self.text[..end], offset: self.offset }
    }

    /// Returns the parts before and after the first `separator`.
    pub(crate) fn split_once(self, separator: char) -> Option<(Self, Self)> {
        let at = self.text.find(separator)?;
        Some((self.prefix(at), self.suffix(at + separator.len_utf8())))
    }

    /// Returns the value of a word `key=value`, unless its key differs.
    pub(crate) fn value_of(self, key: &str) -> Option<Self> {
        let (name, value) = self.split_once('=')?;
        (name.text == key).then_some(value)
    }

    /// Returns the value of an option that is known as `key=`, or the option itself if it is known as `key`
    /// and has no value.
    pub(crate) fn option(self, known: &str) -> Option<Self> {
        match known.strip_suffix('=') {
            Some(key) => self.value_of(key),
            None => (self.text == known).then_some(self),
        }
    }
}

/// Words of one statement, read from left to right.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    pub(crate) source: SourceText<'a>,
    rest: Token<'a>,
}

impl<'a> Tokens<'a> {
    /// Returns the words of a line that begins at a byte offset, without a comment that begins with `#`.
    pub(crate) fn from_line(source: SourceText<'a>, offset: usize, line: &'a str) -> Self {
        let code = line.split('#').next().unwrap_or_default();
        Self { source, rest: Token { text: code, offset } }
    }

    /// Returns an error at a word.
    pub(crate) fn error(&self, word: Token<'_>, message: impl Into<String>) -> Message {
        self.source.error(word.offset, message)
    }

    /// Returns a message with the place of a word.
    pub(crate) fn locate(&self, word: Token<'_>, message: Message) -> Message {
        Message { place: self.error(word, "").place, ..message }
    }

    /// Takes the next word, if there is one.
    pub(crate) fn next_optional(&mut self) -> Option<Token<'a>> {
        let is_blank = |c: char| c == ' ' || c == '\t';
        let start = self.rest.text.find(|c| !is_blank(c))?;
        let word = self.rest.suffix(start);
        let end = word.text.find(is_blank).unwrap_or(word.text.len());
        self.rest = word.suffix(end);
        Some(word.prefix(end))
    }

    /// Returns the next word without taking it.
    pub(crate) fn peek(&self) -> Option<Token<'a>> {
        Self { ..*self }.next_optional()
    }

    /// Takes the next word; `what` names the missing value in the error if there is none.
    pub(crate) fn word(&mut self, what: &str) -> Result<Token<'a>, Message> {
        let end = self.rest.offset + self.rest.text.trim_end().len();
        self.next_optional()
            .ok_or_else(|| self.source.error(end, format!("something is missing at the end of the line: {what}")))
    }

    /// Takes the next word as a number.
    pub(crate) fn number(&mut self, what: &str, range: RangeInclusive<i64>) -> Result<i64, Message> {
        let word = self.word(what)?;
        self.parse_number(word, range)
    }

    /// Converts a word to a number of a range that fits into `u32`.
    pub(crate) fn parse_small(&self, word: Token<'_>, range: RangeInclusive<u32>) -> Result<u32, Message> {
        let number = self.parse_number(word, i64::from(*range.start())..=i64::from(*range.end()))?;
        Ok(u32::try_from(number).expect("a number of a range of u32"))
    }

    /// Takes the next word as a number of a range that fits into `u32`.
    pub(crate) fn next_small(&mut self, what: &str, range: RangeInclusive<u32>) -> Result<u32, Message> {
        let word = self.word(what)?;
        self.parse_small(word, range)
    }

    /// Takes the next word, which must be 0 or 1.
    pub(crate) fn flag(&mut self, what: &str) -> Result<bool, Message> {
        Ok(self.next_small(what, 0..=1)? == 1)
    }

    /// Converts a word to a number. A number that does not fit into 64 bits counts as the nearest that does,
    /// as with `strtol()`.
    pub(crate) fn parse_number(&self, word: Token<'_>, range: RangeInclusive<i64>) -> Result<i64, Message> {
        let digits = word.text.strip_prefix(['+', '-']).unwrap_or(word.text);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(self.hint(word, self.error(word, format!("`{}` is not a number", word.text))));
        }
        let overflow = if word.text.starts_with('-') { i64::MIN } else { i64::MAX };
        let value = word.text.parse().unwrap_or(overflow);
        if range.contains(&value) {
            return Ok(value);
        }
        Err(self.error(word, format!("{} is not in {}..{}", word.text, range.start(), range.end())))
    }

    /// Converts a word to a duration: a decimal number and a unit. The result is exact; fractions of 1 ns are
    /// cut off.
    pub(crate) fn parse_duration(&self, word: Token<'_>) -> Result<Nanos, Message> {
        TimeFormat::SCENARIO.parse(word.text).map_err(|error| match error {
            TimeError::Malformed => {
                let error = self.error(word, format!("`{}` is not a duration", word.text));
                self.hint(word, error.with_help("a duration is a number with ns, us, ms or s, such as 250us or 1.5ms"))
            }
            TimeError::TooLong => self.error(word, format!("`{}` is too long: at most 10^18 ns", word.text)),
        })
    }

    /// Takes the next word as a duration.
    pub(crate) fn duration(&mut self, what: &str) -> Result<Nanos, Message> {
        let word = self.word(what)?;
        self.parse_duration(word)
    }

    /// Converts a word to a CPU of the machine.
    pub(crate) fn parse_cpu(&self, word: Token<'_>, nr_cpus: u32) -> Result<u32, Message> {
        self.parse_small(word, 0..=nr_cpus - 1)
            .map_err(|error| error.with_help(format!("the machine has {nr_cpus} CPUs, numbered from 0")))
    }

    /// Converts a word, `LO-HI` or one CPU, to a range of CPUs.
    pub(crate) fn parse_cpus(&self, word: Token<'_>, nr_cpus: u32) -> Result<RangeInclusive<u32>, Message> {
        let (low, high) = word.split_once('-').map_or((word, None), |(low, high)| (low, Some(high)));
        let low = self.parse_cpu(low, nr_cpus).map_err(|mut error| {
            if word.text.starts_with('-') {
                error.text = format!("`{}` is not a CPU or a range of CPUs", word.text);
            }
            error
        })?;
        match high {
            Some(high) => Ok(low..=self.parse_small(high, low..=nr_cpus - 1)?),
            None => Ok(low..=low),
        }
    }

    /// Takes the next word as a range of CPUs.
    pub(crate) fn cpus(&mut self, nr_cpus: u32) -> Result<RangeInclusive<u32>, Message> {
        let word = self.word("CPUs, LO-HI or one")?;
        self.parse_cpus(word, nr_cpus)
    }

    /// Takes the next word as a name of limited length.
    pub(crate) fn name(&mut self, what: &str, longest: usize) -> Result<Token<'a>, Message> {
        let word = self.word(what)?;
        if word.text.len() <= longest {
            return Ok(word);
        }
        Err(self.error(word, format!("the name `{}` is too long: at most {longest} characters", word.text)))
    }

    /// Adds a cause that a user cannot see to the error: a carriage return at the end of the line.
    fn hint(&self, word: Token<'_>, error: Message) -> Message {
        if word.text.ends_with('\r') {
            return error.with_help("the line ends with CR LF; scenario files need LF alone (dos2unix)");
        }
        error
    }
}
