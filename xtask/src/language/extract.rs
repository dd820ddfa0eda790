// SPDX-License-Identifier: GPL-2.0-or-later
//! Extracts the prose of a file: Markdown text, comments, and the strings that people read.
//!
//! Code spans in backticks, fenced code blocks, HTML comments and link targets are removed. Strings without a space are keys or
//! names, not prose.

/// Origin of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassageKind {
    /// A paragraph, table row or heading of a page.
    Page,
    /// A documentation comment of an item or module.
    Doc,
    Comment,
    /// A string literal: a message, a help text, a table title.
    Text,
}

/// A piece of prose.
#[derive(Clone, Debug)]
pub(crate) struct Passage {
    pub(crate) kind: PassageKind,
    /// Line number of the first line, from 1.
    pub(crate) line: usize,
    /// Number of source lines.
    pub(crate) nr_lines: usize,
    /// Text without comment markers; code spans are still in it.
    pub(crate) text: String,
}

/// Comment and string syntax of a language.
struct Syntax {
    line_comment: &'static str,
    has_block_comments: bool,
    quotes: &'static [&'static str],
    is_rust: bool,
}

const RUST: Syntax = Syntax { line_comment: "//", has_block_comments: true, quotes: &["\""], is_rust: true };
const SCRIPT: Syntax =
    Syntax { line_comment: "//", has_block_comments: true, quotes: &["\"", "'", "`"], is_rust: false };
const C: Syntax = Syntax { line_comment: "//", has_block_comments: true, quotes: &["\""], is_rust: false };
const PYTHON: Syntax =
    Syntax { line_comment: "#", has_block_comments: false, quotes: &["\"\"\"", "'''", "\"", "'"], is_rust: false };
const TOML: Syntax = PYTHON;
const SCENARIO: Syntax = Syntax { line_comment: "#", has_block_comments: false, quotes: &[], is_rust: false };

/// Returns the passages of a file, or `None` if its name does not end like a file with prose.
pub(crate) fn passages(name: &str, text: &str) -> Option<Vec<Passage>> {
    let (_, ending) = name.rsplit_once('.')?;
    Some(match ending {
        "md" => pages(text),
        "rs" => scan(text, &RUST),
        "js" => scan(text, &SCRIPT),
        "c" | "h" => scan(text, &C),
        "py" | "pyi" => scan(text, &PYTHON),
        "toml" => scan(text, &TOML),
        "scn" => scan(text, &SCENARIO),
        _ => return None,
    })
}

/// Splits a Markdown page into paragraphs, table rows, list items and headings.
fn pages(text: &str) -> Vec<Passage> {
    let mut found: Vec<Passage> = Vec::new();
    let (mut is_fenced, mut is_hidden, mut is_open) = (false, false, false);
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        let is_fence = trimmed.starts_with("```");
        is_fenced ^= is_fence;
        is_hidden |= !is_fenced && trimmed.starts_with("<!--");
        let is_prose = !is_fenced && !is_fence && !is_hidden && !trimmed.is_empty();
        is_hidden &= !trimmed.ends_with("-->");
        let is_start = ["#", "|", "- ", "* ", "> "].iter().any(|mark| trimmed.starts_with(mark));
        match found.last_mut() {
            Some(last) if is_open && is_prose && !is_start => extend(last, trimmed),
            _ if is_prose => {
                found.push(Passage { kind: PassageKind::Page, line: index + 1, nr_lines: 1, text: trimmed.to_owned() });
            }
            _ => {}
        }
        is_open = is_prose && !trimmed.starts_with('#') && !trimmed.starts_with('|');
    }
    found
}

fn extend(passage: &mut Passage, line: &str) {
    passage.nr_lines += 1;
    passage.text.push('\n');
    passage.text.push_str(line);
}

/// Returns comments, with consecutive lines of one kind joined, and strings with a space in them.
fn scan(text: &str, syntax: &Syntax) -> Vec<Passage> {
    let mut scanner = Scanner { rest: text, line: 1, is_line_start: true, found: Vec::new() };
    while !scanner.rest.is_empty() {
        scanner.step(syntax);
    }
    scanner.found
}

struct Scanner<'a> {
    rest: &'a str,
    line: usize,
    /// Whether only white space precedes on this line.
    is_line_start: bool,
    found: Vec<Passage>,
}

impl<'a> Scanner<'a> {
    fn step(&mut self, syntax: &Syntax) {
        if self.rest.starts_with(syntax.line_comment) {
            return self.line_comment(syntax);
        }
        if syntax.has_block_comments && self.rest.starts_with("/*") {
            return self.block_comment();
        }
        if syntax.is_rust && self.try_skip_rust_literal() {
            return;
        }
        if let Some(quote) = syntax.quotes.iter().find(|quote| self.rest.starts_with(**quote)) {
            return self.string(quote, !syntax.is_rust && quote.len() == 3);
        }
        let first = self.rest.chars().next().expect("the rest is not empty");
        self.is_line_start = first == '\n' || self.is_line_start && first.is_whitespace();
        self.take(first.len_utf8());
    }

    /// Advances, and counts lines.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn line_comment(&mut self, syntax: &Syntax) {
        let (line, is_whole) = (self.line, self.is_line_start);
        let length = self.rest.find('\n').unwrap_or(self.rest.len());
        let body = &self.take(length)[syntax.line_comment.len()..];
        let (kind, body) = match body.strip_prefix(['/', '!']) {
            Some(rest) if syntax.is_rust => (PassageKind::Doc, rest),
            _ => (PassageKind::Comment, body),
        };
        let body = body.strip_prefix(' ').unwrap_or(body).trim_end();
        match self.found.last_mut() {
            Some(last) if is_whole && last.kind == kind && last.line + last.nr_lines == line => extend(last, body),
            _ => self.found.push(Passage { kind, line, nr_lines: 1, text: body.to_owned() }),
        }
    }

    fn block_comment(&mut self) {
        let line = self.line;
        let length = self.rest.find("*/").map_or(self.rest.len(), |end| end + 2);
        let body = self.take(length);
        let text: Vec<&str> = body.lines().map(|line| line.trim().trim_matches(['/', '*']).trim()).collect();
        self.found.push(Passage { kind: PassageKind::Comment, line, nr_lines: text.len(), text: text.join("\n") });
    }

    /// Skips a lifetime or character literal, and reads a raw string. Returns false if neither begins here.
    fn try_skip_rust_literal(&mut self) -> bool {
        let is_raw = self.rest.starts_with("r\"") || self.rest.starts_with("r#") || self.rest.starts_with("br#");
        if is_raw {
            let from_r = self.rest.trim_start_matches('b');
            let nr_hashes = from_r[1..].chars().take_while(|letter| *letter == '#').count();
            if from_r[1 + nr_hashes..].starts_with('"') {
                let opening = self.rest.len() - from_r.len() + 1 + nr_hashes + 1;
                let closing = format!("\"{}", "#".repeat(nr_hashes));
                let line = self.line;
                self.take(opening);
                let length = self.rest.find(&closing).unwrap_or(self.rest.len());
                let body = self.take(length);
                self.take(closing.len().min(self.rest.len()));
                self.push_string(line, body, false);
                return true;
            }
        }
        if !self.rest.starts_with('\'') {
            return false;
        }
        let mut letters = self.rest[1..].chars();
        let length = match (letters.next(), letters.next()) {
            (Some('\\'), _) => self.rest[2..].find('\'').map_or(1, |end| if end == 0 { 4 } else { end + 3 }),
            (Some(letter), Some('\'')) => letter.len_utf8() + 2,
            _ => 1,
        };
        self.take(length.min(self.rest.len()));
        self.is_line_start = false;
        true
    }

    fn string(&mut self, quote: &str, is_long: bool) {
        let line = self.line;
        let is_doc = is_long && self.is_line_start;
        self.take(quote.len());
        let mut length = 0;
        while length < self.rest.len() && !self.rest[length..].starts_with(quote) {
            let letter = self.rest[length..].chars().next().expect("within the rest");
            // Only a string in triple quotes, a raw or a template string goes over the end of a line without a backslash.
            length += letter.len_utf8();
            if letter == '\\' {
                length += self.rest[length..].chars().next().map_or(0, char::len_utf8);
            }
        }
        let body = self.take(length);
        self.take(quote.len().min(self.rest.len()));
        self.is_line_start = false;
        self.push_string(line, body, is_doc);
    }

    fn push_string(&mut self, line: usize, body: &str, is_doc: bool) {
        if body.trim().contains(' ') {
            let kind = if is_doc { PassageKind::Doc } else { PassageKind::Text };
            let nr_lines = body.lines().count();
            let text = body.replace("\\n", "  ");
            self.found.push(Passage { kind, line, nr_lines, text });
        }
    }
}

/// Returns a passage without code spans, code blocks, HTML comments and link targets.
pub(crate) fn without_code(text: &str) -> String {
    let mut kept = String::new();
    let mut is_fenced = false;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        if !is_fenced && !is_fence {
            kept.push_str(line);
        }
        kept.push('\n');
    }
    let mut clean = String::new();
    for (index, part) in without_placeholders(&kept).replace("``", "`").split('`').enumerate() {
        clean.push_str(if index % 2 == 0 { part } else { "_" });
    }
    without_between(&without_between(&clean, "<!--", "-->"), "](", ")")
}

/// A text without `{name}` and `{name:?}`, which stand for values in messages.
fn without_placeholders(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        kept.push_str(before);
        let length = after.find(|letter: char| !letter.is_alphanumeric() && !"_.:?#<>^$".contains(letter));
        match length {
            Some(length) if after[length..].starts_with('}') => rest = &after[length + 1..],
            _ => {
                kept.push('{');
                rest = after;
            }
        }
    }
    kept + rest
}

fn without_between(text: &str, begin: &str, end: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(begin) {
        kept.push_str(before);
        let hidden = after.split_once(end).map_or(after, |(hidden, _)| hidden);
        kept.push_str(&"\n".repeat(hidden.matches('\n').count()));
        rest = after.split_once(end).map_or("", |(_, rest)| rest);
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(name: &str, text: &str) -> Vec<(PassageKind, usize, String)> {
        let passages = passages(name, text).expect("the file has prose");
        passages.into_iter().map(|passage| (passage.kind, passage.line, passage.text)).collect()
    }

    #[test]
    fn comments_docs_and_messages_of_rust_are_found() {
        let source = "//! Head.\n//! More.\nfn f<'a>(c: char) { let x = '\"'; // after \"code\"\n bail!(\"no such file\"); key(\"a\"); r#\"a \"raw\" one\"# }\n";
        let wanted = [
            (PassageKind::Doc, 1, "Head.\nMore."),
            (PassageKind::Comment, 3, "after \"code\""),
            (PassageKind::Text, 4, "no such file"),
            (PassageKind::Text, 4, "a \"raw\" one"),
        ];
        assert_eq!(texts("a.rs", source), wanted.map(|(kind, line, text)| (kind, line, text.to_owned())));
    }

    #[test]
    fn characters_and_lifetimes_do_not_open_strings() {
        let source = "f('\\'', '\\\\', '\\u{1F}', b'\"', &'static str) \"one two\"";
        assert_eq!(texts("a.rs", source), [(PassageKind::Text, 1, "one two".to_owned())]);
    }

    #[test]
    fn pages_are_split_into_paragraphs_without_code_blocks() {
        let page = "<!-- head -->\n# Title\n\nOne\ntwo.\n\n```sh\ncode here\n```\n| a | b |\n- item\n  goes on\n";
        let wanted = [(2, "# Title"), (4, "One\ntwo."), (10, "| a | b |"), (11, "- item\ngoes on")];
        assert_eq!(texts("a.md", page), wanted.map(|(line, text)| (PassageKind::Page, line, text.to_owned())));
    }

    #[test]
    fn docstrings_and_comments_of_python_are_found() {
        let source = "def f():\n    \"\"\"Return it.\n\n    More.\"\"\"\n    x = 'a b'  # why\n";
        let wanted = [
            (PassageKind::Doc, 2, "Return it.\n\n    More."),
            (PassageKind::Text, 5, "a b"),
            (PassageKind::Comment, 5, "why"),
        ];
        assert_eq!(texts("a.py", source), wanted.map(|(kind, line, text)| (kind, line, text.to_owned())));
    }

    #[test]
    fn code_and_link_targets_are_no_prose() {
        assert_eq!(without_code("a {place:?} ``told``"), "a  _\n");
        assert_eq!(without_code("a `told` [b](told.md) <!-- told -->c"), "a _ [b c\n");
    }
}
