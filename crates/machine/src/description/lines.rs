// SPDX-License-Identifier: GPL-2.0-or-later
//! `[channel_lines]`: how many cache lines of a channel come along when another CPU uses it than the one before.
//!
//! They are the object with its lock and wait queue, the buffer, and what of the waiting task is read and written. What one line takes
//! are the prices `ChannelLine` and `ChannelLineRemote`.

use super::error::DescriptionFault;
use super::raw::RawLineCount;
use super::read::number;
use super::suggest;
use fairlab_workload::workload::ChannelKind;
use std::collections::BTreeMap;
use toml::Spanned;

/// Kinds of channels whose lines count, by the names of their keys.
const KINDS: [(&str, ChannelKind); 4] = [
    ("Pipe", ChannelKind::Pipe),
    ("Socket", ChannelKind::Socket),
    ("Tcp", ChannelKind::Tcp),
    ("Udp", ChannelKind::Udp),
];

/// More than a page of them is a slip.
const MAX_LINES: u64 = 4096;

/// How many lines there are if a file does not say: what `machines/xeon-1s-112.toml` says.
const fn default_of(kind: ChannelKind) -> u64 {
    match kind {
        ChannelKind::Queue => 0,
        ChannelKind::Pipe => 8,
        ChannelKind::Socket => 15,
        ChannelKind::Tcp | ChannelKind::Udp => 26,
    }
}

/// How many lines one kind of channel has, and how one knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineCount {
    pub(super) name: &'static str,
    kind: ChannelKind,
    pub(super) lines: u64,
    /// Where the figure comes from; never empty.
    pub(super) source: String,
}

/// The numbers of lines that a file gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelLines(Vec<LineCount>);

impl ChannelLines {
    /// How many cache lines of a channel of this kind move with it.
    pub fn of(&self, kind: ChannelKind) -> u64 {
        self.0.iter().find(|count| count.kind == kind).map_or_else(|| default_of(kind), |count| count.lines)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &LineCount> {
        self.0.iter()
    }
}

pub(super) fn understand(
    raw: &BTreeMap<Spanned<String>, Spanned<RawLineCount>>,
) -> Result<ChannelLines, DescriptionFault> {
    if let Some(name) = raw.keys().find(|name| KINDS.iter().all(|(known, _)| known != name.get_ref())) {
        let message = format!("there is no channel `{}` that has lines", name.get_ref());
        return Err(DescriptionFault::of(
            name,
            message,
            suggest::did_you_mean(name.get_ref(), KINDS.map(|(known, _)| known)),
        ));
    }
    let mut counts = Vec::with_capacity(raw.len());
    for (name, kind) in KINDS {
        let Some(raw) = raw.iter().find(|(key, _)| key.get_ref() == name).map(|(_, raw)| raw.get_ref()) else {
            continue;
        };
        let lines = number(&raw.lines, 0..=MAX_LINES, "lines")?;
        counts.push(LineCount { name, kind, lines, source: super::costs::source(&raw.source, "a number of lines")? });
    }
    Ok(ChannelLines(counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_channel_that_has_lines_has_a_key() {
        use ChannelKind::{Pipe, Queue, Socket, Tcp, Udp};
        for kind in [Pipe, Socket, Tcp, Udp, Queue] {
            let has_key = KINDS.iter().any(|&(_, known)| known == kind);
            assert_eq!(default_of(kind) > 0, has_key, "{kind:?}");
        }
    }
}
