// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors of TOML texts.

use fairlab_workload::message::Message;
use fairlab_workload::source_text::error_at;
use fairlab_workload::suggest;

/// Returns the error of a TOML text. `help` is the remedy of errors that neither have one nor name a key or value.
pub fn toml_error(file: &str, text: &str, error: &toml::de::Error, help: &str) -> Message {
    let offset = error.span().map_or(0, |span| span.start);
    let Message { text: problem, help: own_help, .. } = Message::from_display(error.message());
    let (problem, help) = match own_help {
        Some(help) => (problem, help),
        None => explain(&problem).unwrap_or_else(|| (problem.replace('\n', " "), help.to_owned())),
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

/// Rewords the messages of the `toml` crate about missing fields, unknown keys and unknown values, and
/// suggests the nearest known name.
///
/// Returns `None` for every other message.
fn explain(message: &str) -> Option<(String, String)> {
    let quoted = |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    if let Some(rest) = message.strip_prefix("missing field ") {
        let name = quoted(rest).into_iter().next()?;
        return Some((format!("there is no `{name}`"), format!("add it: {name} = ...")));
    }
    let (kind, what) = [("unknown field ", "key"), ("unknown variant ", "value")]
        .into_iter()
        .find(|(prefix, _)| message.starts_with(prefix))?;
    let mut names = quoted(&message[kind.len()..]).into_iter();
    let name = names.next()?;
    let known: Vec<String> = names.collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let problem = if what == "key" { format!("unknown key `{name}`") } else { format!("unknown variant `{name}`") };
    Some((problem, suggest::help(&name, &format!("{what}s here"), &known)))
}
