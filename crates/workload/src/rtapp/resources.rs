// SPDX-License-Identifier: GPL-2.0-or-later
//! The section `resources` of the old grammar. rt-app creates the objects that events name at their first
//! mention, and only checks the types in this section.

use super::json::{JsonEntry, JsonNode, JsonValue};
use crate::message::Message;
use crate::source_text::SourceText;
use crate::suggest;

/// Types that rt-app accepts in this section (`string_to_resource()`).
const TYPES: &[&str] = &["mutex", "signal", "wait", "broadcast", "sync", "sleep", "run", "timer"];

/// Makes the checks of rt-app. Returns a warning if the section is not empty, because it has no effect.
pub(super) fn check(source: SourceText<'_>, section: &JsonNode) -> Result<Option<String>, Message> {
    match &section.value {
        JsonValue::Object(entries) if entries.is_empty() => return Ok(None),
        JsonValue::Object(entries) => entries.iter().try_for_each(|entry| check_type(source, entry))?,
        // rt-app skips a section that is not an object.
        _ => {}
    }
    let place = source.location(section.at);
    Ok(Some(format!("{place}: \"resources\" is ignored: rt-app creates an object when an event first names it")))
}

fn check_type(source: SourceText<'_>, entry: &JsonEntry) -> Result<(), Message> {
    let key = &entry.key;
    let fields: &[JsonEntry] = if let JsonValue::Object(fields) = &entry.node.value { fields } else { &[] };
    let help = || format!("types: {}; or leave the section out, rt-app does not need it", TYPES.join(", "));
    let Some(node) = fields.iter().rev().find(|field| field.key == "type").map(|field| &field.node) else {
        let error =
            source.error(entry.node.at, format!("the resource \"{key}\" has no \"type\", and rt-app rejects it"));
        return Err(error.with_help(help()));
    };
    match &node.value {
        JsonValue::Text(name) if TYPES.contains(&name.as_str()) => Ok(()),
        JsonValue::Text(name) => {
            let error =
                source.error(node.at, format!("the resource \"{key}\" has the type \"{name}\", which rt-app rejects"));
            let meant = if name.starts_with("cond") { Some("wait") } else { suggest::nearest(name, TYPES) };
            let meant = meant.map_or_else(String::new, |meant| format!("did you mean \"{meant}\"? "));
            Err(error.with_help(meant + &help()))
        }
        other => {
            let message = format!("the \"type\" of the resource \"{key}\" must be a string, not {}", other.kind());
            Err(source.error(node.at, message).with_help(help()))
        }
    }
}
