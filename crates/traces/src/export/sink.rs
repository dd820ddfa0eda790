// SPDX-License-Identifier: GPL-2.0-or-later
//! Interface of trace formats, and temporary files.
//!
//! A [`TraceSink`] receives records one by one. [`BufferedOut`] and [`Spool`] write them in large chunks, so
//! a format holds no more of a run in memory than a buffer.

use super::record::{EventGroups, TraceRecord};
use super::thread::ThreadTable;
use crate::buffered::MAX_BUFFERED_BYTES;
use fairlab_machine::sim::Machine;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

pub(super) use crate::buffered::BufferedOut;

/// Writer of one trace in one format.
pub trait TraceSink {
    /// Groups of events that the format needs, which are recorded even if the user did not request them.
    fn needs(&self) -> EventGroups {
        EventGroups::default()
    }

    /// Writes a record. A write error is kept: [`TraceSink::has_failed`] is true from then on, and
    /// [`TraceSink::finish`] returns it.
    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>);

    /// Called at the end of the warm-up. Traces contain the warm-up; what is counted from records does not.
    fn reset(&mut self) {}

    /// Writes buffered data and completes the file.
    ///
    /// # Errors
    /// If this write or an earlier one failed.
    fn finish(&mut self, _threads: &ThreadTable) -> io::Result<()> {
        Ok(())
    }

    /// Whether a write failed, so that the rest of the trace is lost. Sinks in memory do not fail.
    fn has_failed(&self) -> bool {
        false
    }
}

/// Writer of state of the built-in scheduler, which no other engine has.
pub trait StateSink: TraceSink {
    /// Called at the start of a run, before the first record.
    fn begin(&mut self, _machine: &Machine) {}

    /// Called at the end of a run, before [`TraceSink::finish`].
    fn end(&mut self, machine: &Machine, threads: &ThreadTable);
}

pub(super) enum OpenedSink {
    Events(Box<dyn TraceSink>),
    State(Box<dyn StateSink>),
}

impl OpenedSink {
    pub(super) fn as_ref(&self) -> &dyn TraceSink {
        match self {
            Self::Events(sink) => &**sink,
            Self::State(sink) => &**sink,
        }
    }

    #[inline]
    pub(super) fn as_mut(&mut self) -> &mut dyn TraceSink {
        match self {
            Self::Events(sink) => &mut **sink,
            Self::State(sink) => &mut **sink,
        }
    }

    /// Passes the state at the start of a run on; `None` for another engine than the built-in scheduler.
    pub(super) fn begin(&mut self, built_in: Option<&Machine>) {
        if let (Self::State(sink), Some(machine)) = (self, built_in) {
            sink.begin(machine);
        }
    }

    /// Passes the state at the end of a run on and completes the trace.
    ///
    /// # Errors
    /// If a write failed, or the trace is one of state that the engine does not have.
    pub(super) fn finish(&mut self, built_in: Option<&Machine>, threads: &ThreadTable) -> io::Result<()> {
        if let Self::State(sink) = self {
            let lacking = "the trace contains state of the built-in scheduler, which this engine does not have";
            sink.end(built_in.ok_or_else(|| io::Error::other(lacking))?, threads);
        }
        self.as_mut().finish(threads)
    }
}

pub(super) fn put_u16(bytes: &mut Vec<u8>, number: u16) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

pub(super) fn put_u32(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

pub(super) fn put_u64(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

/// Unnamed temporary file for data that follows a part of the file known only at the end of the run.
pub(super) struct Spool(BufferedOut<File>);

impl Spool {
    /// Creates the temporary file in `directory`, whose disk needs room for it.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        Ok(Self(BufferedOut::new(tempfile::tempfile_in(directory)?)))
    }

    #[inline]
    pub(super) fn next(&mut self) -> &mut Vec<u8> {
        self.0.next()
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len()
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.0.has_failed()
    }

    pub(super) fn copy_to<W: Write>(&mut self, out: &mut BufferedOut<W>) -> io::Result<()> {
        self.0.finish()?;
        let mut from = self.0.get_ref();
        from.seek(SeekFrom::Start(0))?;
        let mut chunk = vec![0; MAX_BUFFERED_BYTES];
        loop {
            match from.read(&mut chunk)? {
                0 => return Ok(()),
                nr => out.next().extend_from_slice(&chunk[..nr]),
            }
        }
    }

    /// Appends pieces of `length` bytes to `out`, in the order of their indices in `places`.
    pub(super) fn copy_pieces<W: Write>(
        &mut self,
        length: usize,
        places: impl Iterator<Item = u32>,
        out: &mut BufferedOut<W>,
    ) -> io::Result<()> {
        self.0.finish()?;
        let mut from = BufReader::with_capacity(MAX_BUFFERED_BYTES, self.0.get_ref());
        let mut at = 0;
        from.seek(SeekFrom::Start(0))?;
        for place in places {
            let offset = i64::from(place) * length as i64;
            // A relative seek keeps the bytes that are already in the buffer.
            from.seek_relative(offset - at)?;
            let bytes = out.next();
            let end = bytes.len();
            bytes.resize(end + length, 0);
            from.read_exact(&mut bytes[end..])?;
            at = offset + length as i64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_the_end_comes_out_whole_and_in_pieces_of_any_order() {
        let mut spool = Spool::new(&std::env::temp_dir()).expect("a temporary file can be created");
        for piece in 0..300_u32 {
            spool.next().extend(std::iter::repeat_n(piece as u8, 4096));
        }
        assert_eq!(spool.len(), 300 * 4096);
        let mut whole = Vec::new();
        let mut out = BufferedOut::new(&mut whole);
        spool.copy_to(&mut out).and_then(|()| out.finish()).expect("files can be read");
        assert_eq!(whole.len(), 300 * 4096);
        let mut pieces = Vec::new();
        let mut out = BufferedOut::new(&mut pieces);
        let order = [299, 0, 7];
        spool.copy_pieces(4096, order.into_iter(), &mut out).and_then(|()| out.finish()).expect("files can be read");
        let first: Vec<u8> = pieces.chunks(4096).map(|piece| piece[17]).collect();
        assert_eq!(first, [299_u32 as u8, 0, 7]);
    }
}
