// SPDX-License-Identifier: GPL-2.0-or-later
//! Order of events in a file: position, kind of time stamp, and the absolute times between deltas.
//!
//! Readers record it while they read. [`super::leaps`] compares time stamps with their neighbours in this
//! order, before the events are sorted by time.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimeStamp {
    /// The event has a time of its own.
    Absolute,
    /// The time is a sum of deltas since the last [`Anchor`], in this column of the CPU's events. A damaged
    /// delta displaces all later events up to the next anchor.
    Delta(u8),
    /// The file reports no time, as for lost events in text. The time is that of another event.
    Borrowed,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct EventSource {
    pub(crate) position: usize,
    pub(crate) stamp: TimeStamp,
}

/// Absolute time from which deltas count: the header of a page, or the first row of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor {
    pub(crate) cpu: u32,
    pub(crate) stamp: TimeStamp,
    /// Time in ns. Later events of the CPU and column are not earlier, earlier ones not later.
    pub(crate) at: u64,
    pub(crate) index: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PositionUnit {
    #[default]
    Byte,
    Line,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct FileOrder {
    pub(crate) unit: PositionUnit,
    /// Whether positions are those of decompressed content.
    pub(crate) is_decompressed: bool,
    pub(crate) sources: Vec<EventSource>,
    pub(crate) anchors: Vec<Anchor>,
    /// Time in ns at the end of the recording, if the file reports it.
    pub(crate) end_of_recording: Option<u64>,
}

impl FileOrder {
    pub(crate) fn place(&self, position: usize) -> String {
        let of = if self.is_decompressed { " of the decompressed content" } else { "" };
        match self.unit {
            PositionUnit::Byte => format!("byte {position}{of}"),
            PositionUnit::Line => format!("line {position}{of}"),
        }
    }
}
