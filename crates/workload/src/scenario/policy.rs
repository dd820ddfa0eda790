// SPDX-License-Identifier: GPL-2.0-or-later
//! Scheduling policies as one word, such as `batch` or `fifo=P`: see [`PolicyKind`].

use super::tokens::{Token, Tokens};
use crate::message::Message;
use crate::policy::PolicyKind;
use fairlab_sched::task::Policy;

/// Shortest runtime of a deadline task that the kernel accepts, in ns (`1 << DL_SCALE`).
const MIN_DL_RUNTIME_NS: u64 = 1024;

/// Longest value of `dl=`, in bytes.
const MAX_DL_LEN: usize = 127;

/// Returns the policy that a word names, or `None` if the word is no policy.
pub(crate) fn parse_policy(words: &Tokens<'_>, word: Token<'_>) -> Result<Option<Policy>, Message> {
    let named = PolicyKind::ALL.iter().find_map(|kind| Some((kind, word.option(kind.keyword())?)));
    let Some((kind, value)) = named else { return Ok(None) };
    let priority = || words.parse_small(value, 1..=99).map(|p| u8::try_from(p).expect("a priority below 100"));
    Ok(Some(match kind {
        PolicyKind::Normal => Policy::Normal,
        PolicyKind::Batch => Policy::Batch,
        PolicyKind::Idle => Policy::Idle,
        PolicyKind::Fifo => Policy::Fifo(priority()?),
        PolicyKind::RoundRobin => Policy::RoundRobin(priority()?),
        PolicyKind::Deadline => parse_deadline(words, word, value)?,
    }))
}

/// Returns the syntax of all policies, separated by commas.
pub(super) fn policies() -> String {
    PolicyKind::ALL.iter().map(|kind| kind.syntax()).collect::<Vec<_>>().join(", ")
}

fn parse_deadline(words: &Tokens<'_>, word: Token<'_>, value: Token<'_>) -> Result<Policy, Message> {
    let malformed = || words.error(word, format!("`{}` is not dl=RUNTIME/DEADLINE/PERIOD", word.text));
    if value.text.len() > MAX_DL_LEN {
        return Err(malformed());
    }
    let (runtime, rest) = value.split_once('/').ok_or_else(malformed)?;
    let (deadline, period) = rest.split_once('/').ok_or_else(malformed)?;
    let (runtime, deadline) = (words.parse_duration(runtime)?, words.parse_duration(deadline)?);
    let period = words.parse_duration(period)?;
    if runtime.0 < MIN_DL_RUNTIME_NS || runtime > deadline || deadline > period {
        let rule = format!("`{}` breaks {MIN_DL_RUNTIME_NS} ns <= runtime <= deadline <= period", word.text);
        return Err(words.error(value, rule));
    }
    Ok(Policy::Deadline { runtime, deadline, period })
}
