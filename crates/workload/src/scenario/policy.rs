// SPDX-License-Identifier: GPL-2.0-or-later
//! A scheduling policy as one word, such as `batch` or `fifo=P`: see [`PolicyKind`].

use super::tokens::{Token, Tokens};
use crate::error::ParseError;
use crate::policy::PolicyKind;
use crate::workload::Policy;

/// The kernel's shortest runtime of a deadline task, in ns (`DL_SCALE`).
const MIN_DL_RUNTIME_NS: u64 = 1024;

/// The longest value of `dl=`, in bytes.
const MAX_DL_LEN: usize = 127;

/// The policy that a word names, or nothing if it is another word.
pub(crate) fn policy_of(words: &Tokens<'_>, word: Token<'_>) -> Result<Option<Policy>, ParseError> {
    let named = PolicyKind::ALL.iter().find_map(|kind| Some((kind, word.option(kind.word())?)));
    let Some((kind, value)) = named else { return Ok(None) };
    let priority = || words.small(value, 1..=99).map(|p| u8::try_from(p).expect("a priority below 100"));
    Ok(Some(match kind {
        PolicyKind::Normal => Policy::Normal,
        PolicyKind::Batch => Policy::Batch,
        PolicyKind::Idle => Policy::Idle,
        PolicyKind::Fifo => Policy::Fifo(priority()?),
        PolicyKind::RoundRobin => Policy::RoundRobin(priority()?),
        PolicyKind::Deadline => deadline_of(words, word, value)?,
    }))
}

/// All policies, as they are written.
pub(super) fn policies() -> String {
    PolicyKind::ALL.iter().map(|kind| kind.syntax()).collect::<Vec<_>>().join(", ")
}

fn deadline_of(words: &Tokens<'_>, word: Token<'_>, value: Token<'_>) -> Result<Policy, ParseError> {
    let malformed = || words.error(word, format!("`{}` is not dl=RUNTIME/DEADLINE/PERIOD", word.text));
    if value.text.len() > MAX_DL_LEN {
        return Err(malformed());
    }
    let (runtime, rest) = value.split_once('/').ok_or_else(malformed)?;
    let (deadline, period) = rest.split_once('/').ok_or_else(malformed)?;
    let (runtime, deadline) = (words.duration_of(runtime)?, words.duration_of(deadline)?);
    let period = words.duration_of(period)?;
    if runtime.0 < MIN_DL_RUNTIME_NS || runtime > deadline || deadline > period {
        let rule = format!("`{}` breaks {MIN_DL_RUNTIME_NS} ns <= runtime <= deadline <= period", word.text);
        return Err(words.error(value, rule));
    }
    Ok(Policy::Deadline { runtime, deadline, period })
}
