// SPDX-License-Identifier: GPL-2.0-or-later
//! The section `resources`, which the grammar of old needed: rt-app makes what events name when they name it, and only looks at
//! the types.

use super::json::{Entry, Node, Value};
use crate::error::{ParseError, Source};
use crate::suggest;

/// Types that rt-app knows here (`string_to_resource()`).
const TYPES: &[&str] = &["mutex", "signal", "wait", "broadcast", "sync", "sleep", "run", "timer"];

/// Checks what rt-app checks. The answer is a warning if the section says anything, because nothing becomes of it.
pub(super) fn check(source: Source<'_>, section: &Node) -> Result<Option<String>, ParseError> {
    match &section.value {
        Value::Object(entries) if entries.is_empty() => return Ok(None),
        Value::Object(entries) => entries.iter().try_for_each(|entry| check_type(source, entry))?,
        // rt-app passes over a section that is no object.
        _ => {}
    }
    let place = source.place(section.at);
    Ok(Some(format!("{place}: \"resources\" is ignored: what events name is made when they name it")))
}

fn check_type(source: Source<'_>, entry: &Entry) -> Result<(), ParseError> {
    let key = &entry.key;
    let fields: &[Entry] = if let Value::Object(fields) = &entry.node.value { fields } else { &[] };
    let help = || format!("types: {}; or leave the section out, rt-app does not need it", TYPES.join(", "));
    let Some(node) = fields.iter().rev().find(|field| field.key == "type").map(|field| &field.node) else {
        let error =
            source.error(entry.node.at, format!("the resource \"{key}\" has no \"type\", which rt-app refuses"));
        return Err(error.with_help(help()));
    };
    match &node.value {
        Value::Text(name) if TYPES.contains(&name.as_str()) => Ok(()),
        Value::Text(name) => {
            let error =
                source.error(node.at, format!("the resource \"{key}\" has the type \"{name}\", which rt-app refuses"));
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
