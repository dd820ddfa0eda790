// SPDX-License-Identifier: GPL-2.0-or-later
//! Detection of files that current versions of rt-app reject: the grammar before September 2014, and files of
//! programs derived from rt-app.
//!
//! Errors and warnings about them name the kind of file. The old grammar had `exec`, `lock_order` and
//! `resources` in tasks, and lists of locks. rt-app 1.0 runs such tasks and does nothing in them. Since
//! January 2018 it rejects a task without events, and since February 2021 an event whose value has the wrong
//! type.

use super::events::EventInfo;
use super::fields::Fields;
use super::json::{JsonEntry, JsonValue};

/// Key that lists locks in the old grammar.
pub(super) const LOCK_ORDER: &str = "lock_order";

/// Keys of tasks that only the old grammar has.
const OLD_KEYS: &[&str] = &["exec", LOCK_ORDER, "resources"];

/// Warning text about a list of locks.
pub(super) const OLD_LOCKS: &str = "is of the grammar before rt-app 1.0, which reads it as an event \"lock\" without effect; newer versions reject it. Write \
                                    \"lock\", \"run\" and \"unlock\", one after the other";

/// Example of a task, for help texts.
pub(super) const EXAMPLE: &str =
    "a task looks like this: \"t0\" : { \"run\" : 2000, \"timer\" : { \"ref\" : \"unique\", \"period\" : 10000 } }";

const OLD_GRAMMAR: &str = "\"exec\", \"lock_order\" and \"resources\" belong to the grammar of rt-app before 1.0; write events such as \"run\"";

/// Number of unknown keys that a message names.
const MAX_NAMED_KEYS: usize = 3;

/// Whether an event's value is a list of locks.
pub(super) fn is_list_of_locks(entry: &JsonEntry) -> bool {
    entry.key.starts_with("lock") && matches!(entry.node.value, JsonValue::Array(_))
}

/// Help for a list of locks that is rejected.
pub(super) const HELP_FOR_LOCKS: &str = "a list of locks is of the grammar of rt-app before 1.0, as \"exec\" and \"resources\" in tasks are. Write \"lock\" : \"m1\", \
                                         \"run\" : 2000 and \"unlock\" : \"m1\", one after the other";

/// Returns the help for a task or a phase without events. `known` are keys that are not events.
pub(super) fn help_without_events(fields: Fields<'_>, known: &[&str]) -> String {
    if OLD_KEYS.iter().any(|key| fields.get(key).is_some()) {
        return OLD_GRAMMAR.to_owned();
    }
    let is_known = |key: &str| known.contains(&key) || EventInfo::from_key(key).is_some();
    let unknown: Vec<&str> =
        fields.entries.iter().map(|entry| entry.key.as_str()).filter(|key| !is_known(key)).collect();
    if unknown.is_empty() {
        return EXAMPLE.to_owned();
    }
    let named = unknown[..unknown.len().min(MAX_NAMED_KEYS)].join("\", \"");
    let more = if unknown.len() > MAX_NAMED_KEYS { " and others" } else { "" };
    format!(
        "rt-app does not know \"{named}\"{more}: is this a file for a program made from rt-app, or of the grammar before \
         rt-app 1.0? Write events such as \"run\"; {EXAMPLE}"
    )
}

/// Whether a key has the prefix of an event but looks like a different word: `memory` and `running`, but not
/// `run0`, `run_b` or `runB`.
pub(super) fn is_likely_other_word(key: &str, prefix: &str) -> bool {
    let rest = key.strip_prefix(prefix).unwrap_or_default().as_bytes();
    rest.len() >= 2 && rest[..2].iter().all(u8::is_ascii_lowercase)
}
