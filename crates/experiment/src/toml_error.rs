// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors of TOML texts.

use fairlab_workload::message::Message;
use fairlab_workload::source_text::error_at;
use fairlab_workload::suggest::reworded_toml_error;

/// Returns the error of a TOML text. `help` is the remedy of errors that neither have one nor name a key or value.
pub fn toml_error(file: &str, text: &str, error: &toml::de::Error, help: &str) -> Message {
    let offset = error.span().map_or(0, |span| span.start);
    let Message { text: problem, help: own_help, .. } = Message::from_display(error.message());
    let (problem, help) = match own_help {
        Some(help) => (problem, help),
        None => reworded_toml_error(&problem).unwrap_or_else(|| (problem.replace('\n', " "), help.to_owned())),
    };
    let mut message = error_at(file, text, offset, problem).with_help(help);
    // An error of a table is at its header, which is right.
    if let Some(place) = &mut message.place
        && place.source_line.as_ref().is_some_and(|line| line.starts_with('['))
    {
        (place.column, place.source_line) = (None, None);
    }
    message
}
