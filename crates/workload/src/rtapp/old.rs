// SPDX-License-Identifier: GPL-2.0-or-later
//! Files that are not rt-app's of today: the grammar of before September 2014, and those of programs that were made from rt-app.
//!
//! They are refused or warned of in words that name what they are. What the old grammar had: `exec`, `lock_order` and
//! `resources` in tasks, and lists of locks. rt-app 1.0 runs such tasks, and does nothing in them; a task without events is
//! refused since January 2018, and an event whose value is of another type since February 2021.

use super::events::EventInfo;
use super::fields::Fields;
use super::json::{Entry, Value};

/// The key with which locks were listed.
pub(super) const LOCK_ORDER: &str = "lock_order";

/// Keys of tasks that only the old grammar has.
const OLD_KEYS: &[&str] = &["exec", LOCK_ORDER, "resources"];

/// What a list of locks is taken for.
pub(super) const OLD_LOCKS: &str = "is of the grammar before rt-app 1.0, which takes it for an event \"lock\" that does nothing; newer ones refuse it. Write \
                                    \"lock\", \"run\" and \"unlock\", one after the other";

/// What a task looks like.
pub(super) const EXAMPLE: &str =
    "a task looks like this: \"t0\" : { \"run\" : 2000, \"timer\" : { \"ref\" : \"unique\", \"period\" : 10000 } }";

const OLD_GRAMMAR: &str = "\"exec\", \"lock_order\" and \"resources\" belong to the grammar of rt-app before 1.0; write events such as \"run\"";

/// As many keys that nobody knows are named.
const MOST_NAMED: usize = 3;

/// Whether an event's value is a list of locks.
pub(super) fn is_list_of_locks(entry: &Entry) -> bool {
    entry.key.starts_with("lock") && matches!(entry.node.value, Value::Array(_))
}

/// The way out for a list of locks that is refused.
pub(super) const HELP_FOR_LOCKS: &str = "a list of locks is of the grammar of rt-app before 1.0, as \"exec\" and \"resources\" in tasks are. Write \"lock\" : \"m1\", \
                                         \"run\" : 2000 and \"unlock\" : \"m1\", one after the other";

/// The way out for a task or a phase without events. `known` are keys that are none.
pub(super) fn help_without_events(fields: Fields<'_>, known: &[&str]) -> String {
    if OLD_KEYS.iter().any(|key| fields.get(key).is_some()) {
        return OLD_GRAMMAR.to_owned();
    }
    let is_known = |key: &str| known.contains(&key) || EventInfo::of_key(key).is_some();
    let unknown: Vec<&str> =
        fields.entries.iter().map(|entry| entry.key.as_str()).filter(|key| !is_known(key)).collect();
    if unknown.is_empty() {
        return EXAMPLE.to_owned();
    }
    let named = unknown[..unknown.len().min(MOST_NAMED)].join("\", \"");
    let more = if unknown.len() > MOST_NAMED { " and others" } else { "" };
    format!(
        "rt-app does not know \"{named}\"{more}: is this a file for a program made from rt-app, or of the grammar before \
         rt-app 1.0? Write events such as \"run\"; {EXAMPLE}"
    )
}

/// Whether a key is an event only because of how it begins, and looks like a word of its own: `memory` and `running`, but not
/// `run0`, `run_b` or `runB`.
pub(super) fn looks_like_another_word(key: &str, prefix: &str) -> bool {
    let rest = key.strip_prefix(prefix).unwrap_or_default().as_bytes();
    rest.len() >= 2 && rest[..2].iter().all(u8::is_ascii_lowercase)
}
