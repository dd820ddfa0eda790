// SPDX-License-Identifier: GPL-2.0-or-later
//! `[channel_lines]`: number of cache lines of a channel that move when another CPU uses the channel than
//! before.
//!
//! The lines are the object with its lock and wait queue, the buffer, and the data of the waiting task that
//! are accessed. The costs of one line are `ChannelLine` and `ChannelLineRemote`.

use super::error::DescriptionFault;
use super::processor::Processor;
use super::raw::RawLineCount;
use super::suggest;
use super::values::number;
use fairlab_workload::workload::ChannelKind;
use std::collections::BTreeMap;
use toml::Spanned;

/// Kinds of channels whose lines are counted, by the names of their keys.
const KINDS: [(&str, ChannelKind); 4] = [
    ("Pipe", ChannelKind::Pipe),
    ("Socket", ChannelKind::Socket),
    ("Tcp", ChannelKind::Tcp),
    ("Udp", ChannelKind::Udp),
];

/// Maximum number of lines; larger values are taken for a mistake.
const MAX_LINES: u64 = 4096;

/// Default number of lines, as in `machines/xeon-1s-112.toml`.
const fn default_lines(kind: ChannelKind) -> u64 {
    match kind {
        ChannelKind::Queue => 0,
        ChannelKind::Pipe => 8,
        ChannelKind::Socket => 15,
        ChannelKind::Tcp | ChannelKind::Udp => 26,
    }
}

/// Number of lines of one kind of channel, with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineCount {
    pub(super) name: &'static str,
    kind: ChannelKind,
    pub(super) lines: u64,
    /// Source of the number; never empty.
    pub(super) source: String,
}

/// Numbers of lines in a machine file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelLines(Vec<LineCount>);

impl ChannelLines {
    /// Number of cache lines that a channel of this kind transfers with a message.
    pub fn by_kind(&self, kind: ChannelKind) -> u64 {
        self.0.iter().find(|count| count.kind == kind).map_or_else(|| default_lines(kind), |count| count.lines)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &LineCount> {
        self.0.iter()
    }
}

pub(super) fn from_raw(
    raw: &BTreeMap<Spanned<String>, Spanned<RawLineCount>>,
    processor: Option<&Processor>,
) -> Result<ChannelLines, DescriptionFault> {
    if let (Some(name), Some(_)) = (raw.keys().next(), processor) {
        return Err(super::costs::excluded(name));
    }
    if let Some(name) = raw.keys().find(|name| KINDS.iter().all(|(known, _)| known != name.get_ref())) {
        let message = format!("there is no channel `{}` that has lines", name.get_ref());
        return Err(DescriptionFault::from_value(
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
            assert_eq!(default_lines(kind) > 0, has_key, "{kind:?}");
        }
    }
}
