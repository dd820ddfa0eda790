// SPDX-License-Identifier: GPL-2.0-or-later
//! Destination and style of results, warnings and errors. Colours are used only on a terminal.

mod columns;
pub(crate) mod error;
pub(crate) mod experiment;
pub(crate) mod figures;
pub(crate) mod headline;
pub(crate) mod measure;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod residency;
pub(crate) mod table;

use crate::values::error::CliError;
use clap::ValueEnum;
use error::{ErrorOutput, usage_message};
use fairlab_workload::message::is_unsafe_to_print;
use serde::Serialize;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::process::ExitCode;

const MAX_WARNINGS: usize = 20;

/// Width of text, in columns, if the width of the terminal is unknown.
pub(crate) const WIDTH: usize = 80;

/// When to use colours: auto (on a terminal), always, never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// Whether text is coloured. An empty NO_COLOR has no effect; a dumb terminal has no colours.
    fn is_on(self, is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
        let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        let is_dumb = || variable("TERM").is_some_and(|term| term == "dumb");
        match self {
            Self::Auto => is_terminal && !is_set("NO_COLOR") && !is_dumb(),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// Destination of results and warnings.
enum Sink {
    /// Standard output for results, standard error for warnings.
    Standard(BufWriter<StdoutLock<'static>>),
    /// The embedding program: results and warnings, in pieces.
    Caller(Vec<String>, RefCell<Vec<String>>),
}

pub(crate) struct Output {
    sink: Sink,
    color: Color,
    json: bool,
}

/// Style of text: with or without escape sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Styles {
    pub(crate) on: bool,
}

impl Styles {
    fn styled(self, code: &str, text: &str) -> String {
        let text = sanitize(text);
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

    pub(crate) const fn for_caller(json: bool) -> Self {
        Self { sink: Sink::Caller(Vec::new(), RefCell::new(Vec::new())), color: Color::Never, json }
    }

    pub(crate) fn into_results(self) -> (Vec<String>, Vec<String>) {
        match self.sink {
            Sink::Standard(_) => (Vec::new(), Vec::new()),
            Sink::Caller(results, warnings) => (results, warnings.into_inner()),
        }
    }

    pub(crate) const fn is_json(&self) -> bool {
        self.json
    }

    /// Whether results are text for people, not JSON or values for an embedding program.
    pub(crate) const fn is_text(&self) -> bool {
        !self.json && matches!(self.sink, Sink::Standard(_))
    }

    pub(crate) fn styles(&self) -> Styles {
        self.styles_of(io::stdout().is_terminal())
    }

    pub(crate) fn stderr_styles(&self) -> Styles {
        self.styles_of(io::stderr().is_terminal())
    }

    fn styles_of(&self, is_terminal: bool) -> Styles {
        Styles { on: self.color.is_on(is_terminal, |name| std::env::var_os(name)) }
    }

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

    pub(crate) fn json(&mut self, data: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(data).map_err(CliError::failed)?;
        self.text(&(text + "\n"))
    }

    /// Prints data with `--json`, and without it their text.
    pub(crate) fn json_or_text(
        &mut self,
        data: &impl Serialize,
        text: impl FnOnce(Styles) -> String,
    ) -> Result<(), CliError> {
        if self.is_json() { self.json(data) } else { self.text(&text(self.styles())) }
    }

    /// Writes text that is not a result to standard error.
    pub(crate) fn eprint(&self, text: &str) -> Result<(), CliError> {
        if let Sink::Caller(_, warnings) = &self.sink {
            warnings.borrow_mut().push(text.trim_end().to_owned());
            return Ok(());
        }
        let mut stderr = io::stderr().lock();
        stderr.write_all(text.as_bytes()).map_err(|error| CliError::write("standard error", &error))
    }

    pub(crate) fn warn(&self, warning: &str) -> Result<(), CliError> {
        if matches!(self.sink, Sink::Caller(..)) {
            return self.eprint(&sanitize(warning));
        }
        let word = self.stderr_styles().warning("warning:");
        self.eprint(&wrap(&format!("{word} {}", sanitize(warning)), 2))
    }

    /// Writes warnings, at most [`MAX_WARNINGS`] of them, and the number of the rest.
    pub(crate) fn warn_all(&self, warnings: &[String]) -> Result<(), CliError> {
        for warning in warnings.iter().take(MAX_WARNINGS) {
            self.warn(warning)?;
        }
        match warnings.len().checked_sub(MAX_WARNINGS).filter(|&more| more > 0) {
            Some(more) => self.warn(&format!("and {} more; --json has all of them", figures::counted(more, "warning"))),
            None => Ok(()),
        }
    }
    pub(crate) fn flush(&mut self) -> Result<(), CliError> {
        match &mut self.sink {
            Sink::Standard(out) => out.flush().map_err(|error| CliError::write("standard output", &error)),
            Sink::Caller(..) => Ok(()),
        }
    }

    pub(crate) fn report_error(&self, error: CliError) {
        if self.json {
            let status = error.status();
            let _ = self.eprint(&ErrorOutput::new(status, &error.into()).line());
            return;
        }
        let word = self.stderr_styles().error("error:");
        let mut text = String::new();
        let error = error.to_string().lines().map(sanitize).collect::<Vec<_>>().join("\n");
        for line in format!("{word} {error}").lines() {
            // A line of a file with a caret below it keeps its layout.
            let is_excerpt = line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit()).starts_with('|');
            text.push_str(&if is_excerpt { format!("{}\n", clip(line)) } else { wrap(line, 2) });
        }
        // A failure to write has no remedy here.
        let _ = self.eprint(&text);
    }
}

/// Prints the requested help, or the error of the command line, and returns the exit status.
pub(crate) fn explain_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // A closed pipe is not an error.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let output = Output::new(Color::Auto, false);
    // The arguments cannot be parsed.
    if std::env::args_os().any(|word| word == "--json") {
        let _ = output.eprint(&ErrorOutput::new(2, &usage_message(error)).line());
        return ExitCode::from(2);
    }
    let text = error.render();
    let text = if output.stderr_styles().on { text.ansi().to_string() } else { text.to_string() };
    for line in text.lines() {
        let _ = output.eprint(&wrap(line, 2));
    }
    ExitCode::from(2)
}

/// Replaces characters that can control a terminal: names in files may contain any.
pub(crate) fn sanitize(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_unsafe_to_print) {
        Cow::Owned(text.replace(is_unsafe_to_print, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn clip(line: &str) -> String {
    line.chars().take(WIDTH).collect()
}

/// Breaks a line between words at the usual width; later lines are indented. Ends with a newline.
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

/// Returns the number of characters without escape sequences.
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
        assert_eq!(sanitize("a\u{1b}[31m\tb"), "a\u{fffd}[31m\u{fffd}b");
        assert_eq!(sanitize("t\u{e9}st"), "t\u{e9}st");
    }

    #[test]
    fn colours_need_a_terminal_that_has_them_and_no_objection() {
        let with = |name: &'static str, value: &'static str| move |asked: &str| (asked == name).then(|| value.into());
        assert!(Color::Auto.is_on(true, |_| None) && !Color::Auto.is_on(false, |_| None));
        assert!(Color::Auto.is_on(true, with("NO_COLOR", "")) && !Color::Auto.is_on(true, with("NO_COLOR", "1")));
        assert!(Color::Auto.is_on(true, with("TERM", "xterm")) && !Color::Auto.is_on(true, with("TERM", "dumb")));
        assert!(Color::Always.is_on(false, with("NO_COLOR", "1")) && !Color::Never.is_on(true, |_| None));
    }

    #[test]
    fn styles_have_no_width() {
        assert_eq!(visible_width(&Styles { on: true }.bold("abc")), 3);
    }
}
