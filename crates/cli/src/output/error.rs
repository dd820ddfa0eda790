// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors as JSON: with `--json`, one line on standard error.

use fairlab_workload::message::Message;
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) const SCHEMA: &str = "error/1";

/// Error of a command with `--json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Error")]
pub(crate) struct ErrorOutput<'a> {
    /// Name and version of this format: `error/1`.
    schema: &'static str,
    /// Exit status: 1 for a failed run, 2 for wrong input, 3 for a condition that does not hold.
    status: u8,
    #[serde(flatten)]
    message: &'a Message,
}

impl<'a> ErrorOutput<'a> {
    pub(crate) const fn new(status: u8, message: &'a Message) -> Self {
        Self { schema: SCHEMA, status, message }
    }

    /// Returns the error as one line.
    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).expect("an error is JSON") + "\n"
    }
}

/// Returns the error of a command line, whose usage is left out.
pub(crate) fn usage_message(error: &clap::Error) -> Message {
    let text = error.to_string();
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default().trim_start_matches("error: ").trim_end();
    let tip = paragraphs.find_map(|paragraph| paragraph.trim_start().strip_prefix("tip: "));
    let message = Message::from_display(first);
    match (&message.help, tip) {
        (Some(_), _) => message,
        (None, Some(tip)) => message.with_help(tip.trim_end()),
        (None, None) => message.with_help("--help lists the options"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use clap::Parser;

    fn of(words: &[&str]) -> Message {
        usage_message(&Args::try_parse_from([&["fairlab"], words].concat()).expect_err("it is wrong"))
    }

    #[test]
    fn an_error_of_the_command_line_has_text_and_remedy() {
        let unknown = of(&["run", "x.scn", "--machin", "y"]);
        assert_eq!(unknown.text, "unexpected argument '--machin' found");
        assert_eq!(unknown.help.as_deref(), Some("a similar argument exists: '--machine'"));
        let value = of(&["run", "x.scn", "--for", "5parsecs"]);
        assert!(value.text.starts_with("invalid value '5parsecs' for '--for <TIME>'"), "{value}");
        assert!(value.help.is_some());
        assert_eq!(of(&["run"]).help.as_deref(), Some("--help lists the options"));
    }

    #[test]
    fn an_error_is_one_line_of_json_with_its_parts() {
        let message = Message::in_file("a.scn", "cannot be read").with_help("give a file");
        assert_eq!(
            ErrorOutput::new(2, &message).line(),
            "{\"schema\":\"error/1\",\"status\":2,\"text\":\"cannot be read\",\"help\":\"give a file\",\
             \"place\":{\"file\":\"a.scn\",\"line\":null,\"column\":null,\"source_line\":null}}\n"
        );
    }
}
