// SPDX-License-Identifier: GPL-2.0-or-later
//! Where results and complaints go, and how they look: colours on a terminal only.

mod columns;
pub(crate) mod figures;
pub(crate) mod measure;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod residency;
pub(crate) mod table;

use crate::args::Color;
use crate::error::CliError;
use fairlab_workload::error::steers;
use serde::Serialize;
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::process::ExitCode;

/// So many warnings are shown.
const MOST_WARNINGS: usize = 20;

/// Width of text where nothing says how wide the terminal is.
pub(crate) const WIDTH: usize = 80;

/// Where results and complaints go.
enum Sink {
    /// To standard output, and to standard error.
    Standard(BufWriter<StdoutLock<'static>>),
    /// To whoever called, piece by piece: results, and warnings.
    Caller(Vec<String>, RefCell<Vec<String>>),
}

/// Standard output and standard error, or what stands for them.
pub(crate) struct Output {
    sink: Sink,
    color: Color,
    json: bool,
}

/// Whether text is styled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Styles {
    pub(crate) on: bool,
}

impl Styles {
    fn styled(self, code: &str, text: &str) -> String {
        let text = plain(text);
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into_owned() }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.styled("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.styled("2", text)
    }

    fn error(self, text: &str) -> String {
        self.styled("1;31", text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.styled("1;33", text)
    }
}

impl Output {
    pub(crate) fn new(color: Color, json: bool) -> Self {
        Self { sink: Sink::Standard(BufWriter::new(io::stdout().lock())), color, json }
    }

    /// For a caller who takes results as values.
    pub(crate) const fn for_caller(json: bool) -> Self {
        Self { sink: Sink::Caller(Vec::new(), RefCell::new(Vec::new())), color: Color::Never, json }
    }

    /// What the caller gets: results as they were written, and warnings.
    pub(crate) fn into_results(self) -> (Vec<String>, Vec<String>) {
        match self.sink {
            Sink::Standard(_) => (Vec::new(), Vec::new()),
            Sink::Caller(results, warnings) => (results, warnings.into_inner()),
        }
    }

    /// Whether results are to be JSON.
    pub(crate) const fn is_json(&self) -> bool {
        self.json
    }

    /// How standard output is styled.
    pub(crate) fn styles(&self) -> Styles {
        self.styles_of(io::stdout().is_terminal())
    }

    /// How standard error is styled.
    pub(crate) fn stderr_styles(&self) -> Styles {
        self.styles_of(io::stderr().is_terminal())
    }

    fn styles_of(&self, is_terminal: bool) -> Styles {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let on = match self.color {
            Color::Auto => is_terminal && !is_set("NO_COLOR") && !is_dumb,
            Color::Always => true,
            Color::Never => false,
        };
        Styles { on }
    }

    /// Writes a result.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), CliError> {
        match &mut self.sink {
            Sink::Standard(out) => {
                out.write_all(text.as_bytes()).map_err(|error| CliError::write("standard output", &error))
            }
            Sink::Caller(results, _) => {
                results.push(text.to_owned());
                Ok(())
            }
        }
    }

    /// Writes a result as JSON.
    pub(crate) fn json(&mut self, data: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(data).map_err(CliError::run)?;
        self.text(&(text + "\n"))
    }

    /// Writes what is no result to standard error.
    pub(crate) fn eprint(&self, text: &str) -> Result<(), CliError> {
        if let Sink::Caller(_, warnings) = &self.sink {
            warnings.borrow_mut().push(text.trim_end().to_owned());
            return Ok(());
        }
        let mut stderr = io::stderr().lock();
        stderr.write_all(text.as_bytes()).map_err(|error| CliError::write("standard error", &error))
    }

    /// Warns on standard error.
    pub(crate) fn warn(&self, warning: &str) -> Result<(), CliError> {
        if matches!(self.sink, Sink::Caller(..)) {
            return self.eprint(&plain(warning));
        }
        let word = self.stderr_styles().warning("warning:");
        self.eprint(&wrap(&format!("{word} {}", plain(warning)), 2))
    }

    /// Warns of all of these, or of the first ones and how many more there are.
    pub(crate) fn warn_all(&self, warnings: &[String]) -> Result<(), CliError> {
        for warning in warnings.iter().take(MOST_WARNINGS) {
            self.warn(warning)?;
        }
        match warnings.len().checked_sub(MOST_WARNINGS).filter(|&more| more > 0) {
            Some(more) => self.warn(&format!("and {more} more warnings; --json has them all")),
            None => Ok(()),
        }
    }

    /// Writes what is left.
    pub(crate) fn flush(&mut self) -> Result<(), CliError> {
        match &mut self.sink {
            Sink::Standard(out) => out.flush().map_err(|error| CliError::write("standard output", &error)),
            Sink::Caller(..) => Ok(()),
        }
    }

    /// Says why the command failed.
    pub(crate) fn complain(&self, error: &CliError) {
        let word = self.stderr_styles().error("error:");
        let mut text = String::new();
        let error = error.to_string().lines().map(plain).collect::<Vec<_>>().join("\n");
        for line in format!("{word} {error}").lines() {
            // A line of a file with a caret under it stays as it is.
            let is_excerpt =
                line.trim_start_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']).starts_with('|');
            text.push_str(&if is_excerpt { format!("{}\n", clip(line)) } else { wrap(line, 2) });
        }
        // If nobody can be told, nothing more can be done.
        let _ = self.eprint(&text);
    }
}

/// Shows the help that was asked for, or says what is wrong with the command line.
pub(crate) fn explain_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // A reader who has had enough is no error.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let output = Output::new(Color::Auto, false);
    let text = error.render();
    let text = if output.stderr_styles().on { text.ansi().to_string() } else { text.to_string() };
    for line in text.lines() {
        let _ = output.eprint(&wrap(line, 2));
    }
    ExitCode::from(2)
}

/// A text whose characters cannot steer a terminal: names in files may have any.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.chars().any(steers) { Cow::Owned(text.replace(steers, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// The beginning of a line, if it is too long.
fn clip(line: &str) -> String {
    line.chars().take(WIDTH).collect()
}

/// Breaks a line between words, at the usual width; following lines are indented. Ends with a newline.
pub(crate) fn wrap(line: &str, indent: usize) -> String {
    let mut text = String::new();
    let start: String = line.chars().take_while(|c| *c == ' ').collect();
    let mut width = start.len();
    text.push_str(&start);
    let mut is_first = true;
    for word in line.split_whitespace() {
        let length = visible_width(word);
        if !is_first && width + 1 + length > WIDTH {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            width = indent;
        } else if !is_first {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += length;
        is_first = false;
    }
    text.push('\n');
    text
}

/// Number of characters without styles.
fn visible_width(text: &str) -> usize {
    let mut is_code = false;
    let visible = text.chars().filter(|&c| {
        let was_code = is_code || c == '\x1b';
        is_code = was_code && c != 'm';
        !was_code
    });
    visible.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_between_words_and_are_indented() {
        let line = format!("  {}", "word ".repeat(40));
        let wrapped = wrap(&line, 4);
        assert!(wrapped.lines().all(|line| line.len() <= WIDTH));
        assert!(wrapped.lines().nth(1).expect("there is a second line").starts_with("    word"));
        assert_eq!(wrap("", 2), "\n");
    }

    #[test]
    fn what_steers_a_terminal_is_replaced() {
        assert_eq!(plain("a\u{1b}[31m\tb"), "a\u{fffd}[31m\u{fffd}b");
        assert_eq!(plain("t\u{e9}st"), "t\u{e9}st");
    }

    #[test]
    fn styles_have_no_width() {
        assert_eq!(visible_width(&Styles { on: true }.bold("abc")), 3);
    }
}
