// SPDX-License-Identifier: GPL-2.0-or-later
//! Texts of files, and messages about places in them.
//!
//! Every importer reports its first error as a [`Message`]. Parsers pass byte offsets; this module turns them into lines and
//! columns.

use crate::message::{Message, Place};

/// Index of a text for fast conversion of many byte offsets to lines and columns.
#[derive(Debug)]
pub(crate) struct LineIndex {
    /// Byte offsets at which lines begin, without the first line.
    lines: Vec<usize>,
    /// Number of characters before each block of [`BLOCK`] bytes.
    characters: Vec<usize>,
}

/// Size of a block of [`LineIndex::characters`], in bytes.
const BLOCK: usize = 4096;

/// Number of characters that begin in these bytes.
fn nr_characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

impl LineIndex {
    pub(crate) fn from_text(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let mut sum = 0;
        let before = text.as_bytes().chunks(BLOCK).map(|block| {
            sum += nr_characters(block);
            sum - nr_characters(block)
        });
        Self { characters: before.collect(), lines: newlines.map(|(at, _)| at + 1).collect() }
    }

    fn characters_before(&self, text: &str, offset: usize) -> usize {
        let block = (offset / BLOCK).min(self.characters.len().saturating_sub(1));
        let before = self.characters.get(block).copied().unwrap_or(0);
        before + nr_characters(&text.as_bytes()[block * BLOCK..offset])
    }

    /// Returns line and column, from 1, of a byte offset that lies between characters.
    fn locate(&self, text: &str, offset: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|&start| start <= offset);
        let start = line.checked_sub(1).map_or(0, |before| self.lines[before]);
        (line + 1, self.characters_before(text, offset) - self.characters_before(text, start) + 1)
    }
}

/// Text with the name of its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceText<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    /// Set by parsers that convert many offsets.
    places: Option<&'a LineIndex>,
}

impl<'a> SourceText<'a> {
    pub(crate) const fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, places: None }
    }

    /// Returns a source that converts offsets by means of `places`, an index of `text`.
    pub(crate) const fn with_line_index(file: &'a str, text: &'a str, places: &'a LineIndex) -> Self {
        Self { file, text, places: Some(places) }
    }

    /// Returns an error at a byte offset; an offset behind the end means the end.
    pub(crate) fn error(&self, offset: usize, text: impl Into<String>) -> Message {
        let (line, column, source_line) = self.locate(offset);
        let place = Place {
            file: self.file.to_owned(),
            line: Some(line),
            column: Some(column),
            source_line: Some(source_line.to_owned()),
        };
        Message { place: Some(place), ..Message::new(text) }
    }

    /// Returns `file:line:column` of a byte offset, for warnings.
    pub(crate) fn location(&self, offset: usize) -> String {
        let (line, column) = match self.places {
            Some(places) => places.locate(self.text, self.text.floor_char_boundary(offset)),
            None => {
                let (line, column, _) = self.locate(offset);
                (line as usize, column as usize)
            }
        };
        format!("{}:{line}:{column}", self.file)
    }

    fn locate(&self, offset: usize) -> (u32, u32, &'a str) {
        let offset = self.text.floor_char_boundary(offset);
        let before = &self.text[..offset];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        let column = self.text[start..offset].chars().count() + 1;
        let whole = self.text[start..].split('\n').next().unwrap_or_default();
        (saturate(line), saturate(column), whole.trim_end_matches('\r'))
    }
}

fn saturate(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Returns an error at a byte offset of a file's text; an offset behind the end means the end.
pub fn error_at(file: &str, text: &str, offset: usize, message: impl Into<String>) -> Message {
    SourceText::new(file, text).error(offset, message)
}

/// Returns bytes as text.
///
/// # Errors
/// If the bytes are not UTF-8; the error is at the first invalid byte.
pub fn utf8_text<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, Message> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = &bytes[..error.valid_up_to()];
        let readable = String::from_utf8_lossy(valid);
        let source = SourceText::new(file, &readable);
        source
            .error(readable.len(), "the file is not text: this byte is not UTF-8")
            .with_help("scenario files and rt-app files are plain text; make a workload of a trace: `fairlab import TRACE -o WORKLOAD`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::SHOWN_WIDTH;

    #[test]
    fn an_error_shows_place_line_caret_and_remedy() {
        let source = SourceText::new("a.scn", "cpus 4\ntask\tx rum 1ms\n");
        let error = source.error(14, "unknown word `rum`").with_help("did you mean `run`?");
        let expected = [
            "a.scn:2:8: unknown word `rum`",
            "    2 | task x rum 1ms",
            "      |        ^",
            "help: did you mean `run`?",
        ];
        assert_eq!(error.to_string().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn places_are_those_that_counting_from_the_start_gives() {
        let text = "a\n\u{e9}\u{4e16}b\n".repeat(700) + "x\ny";
        let places = LineIndex::from_text(&text);
        for offset in (0..text.len()).filter(|&offset| text.is_char_boundary(offset)).chain([text.len()]) {
            let (line, column, _) = SourceText::new("f", &text).locate(offset);
            assert_eq!(places.locate(&text, offset), (line as usize, column as usize), "at {offset}");
        }
        assert_eq!(LineIndex::from_text("").locate("", 0), (1, 1));
    }

    #[test]
    fn an_error_at_the_end_of_an_empty_file_shows_no_line() {
        assert_eq!(SourceText::new("a", "").error(7, "nothing here").to_string(), "a:1:1: nothing here");
    }

    #[test]
    fn a_long_line_is_cut_around_the_caret() {
        let text = "x".repeat(5000);
        let shown = SourceText::new("a", &text).error(3000, "here").to_string();
        assert!(shown.lines().all(|line| line.len() < 130));
        assert_eq!(shown.lines().nth(2).map(str::len), Some(8 + SHOWN_WIDTH / 2 + 1));
    }

    #[test]
    fn a_caret_stands_under_what_is_shown_and_both_fit_into_eighty_columns() {
        let text: String = (0..300).map(|place| char::from(b'a' + (place % 26) as u8)).collect();
        for column in [1, 60, 61, 70, 71, 75, 76, 80, 81, 200, 299] {
            let shown = SourceText::new("a", &text).error(column - 1, "here").to_string();
            let lines: Vec<&str> = shown.lines().collect();
            assert!(lines.iter().all(|line| line.chars().count() <= 80), "{column}: {shown}");
            let caret = lines[2].find('^').expect("there is a caret");
            assert_eq!(lines[1].as_bytes().get(caret), text.as_bytes().get(column - 1), "{column}: {shown}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_refused_with_their_place() {
        let error = utf8_text("a", b"cpus 4\nta\xff").expect_err("not UTF-8");
        assert_eq!(error.position(), Some((2, 3)));
    }
}
