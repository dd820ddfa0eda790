// SPDX-License-Identifier: GPL-2.0-or-later
//! Where records go: a format takes them one by one, and holds no more of a run than a buffer.

use super::record::{Groups, Record};
use super::thread::Threads;
use fairlab_machine::engine::Machine;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// So much is collected before it is handed on.
const FULL: usize = 1 << 17;

/// A trace in some format on its way to a file.
pub trait Sink {
    /// Groups of events without which it would tell what is not so, whatever was asked for.
    fn needs(&self) -> Groups {
        Groups::default()
    }

    /// The run begins.
    fn begin(&mut self, _machine: &Machine) {}

    /// The run is over; [`Sink::finish`] follows.
    fn end(&mut self, _machine: &Machine, _threads: &Threads) {}

    /// Writes a record. What cannot be written is told by [`Sink::has_failed`] and at the end.
    fn record(&mut self, threads: &Threads, record: &Record<'_>);

    /// Writes what is left.
    ///
    /// # Errors
    /// If anything could not be written, now or before.
    fn finish(&mut self, threads: &Threads) -> io::Result<()>;

    /// Whether something could not be written, so that the rest is lost.
    fn has_failed(&self) -> bool;
}

/// Bytes on their way. An error is kept until the end.
pub(super) struct Out<W: Write> {
    to: W,
    bytes: Vec<u8>,
    handed_on: u64,
    error: Option<io::Error>,
}

impl<W: Write> Out<W> {
    pub(super) fn new(to: W) -> Self {
        Self { to, bytes: Vec::with_capacity(FULL + FULL / 8), handed_on: 0, error: None }
    }

    /// Where the next bytes go. What was written so far is handed on once it is much.
    #[inline]
    pub(super) fn next(&mut self) -> &mut Vec<u8> {
        if self.bytes.len() >= FULL {
            self.hand_on();
        }
        &mut self.bytes
    }

    /// How many bytes were written in all.
    pub(super) fn len(&self) -> u64 {
        self.handed_on + self.bytes.len() as u64
    }

    #[cold]
    fn hand_on(&mut self) {
        if self.error.is_none() {
            self.error = self.to.write_all(&self.bytes).err();
        }
        self.handed_on += self.bytes.len() as u64;
        self.bytes.clear();
    }

    /// Whether something could not be written.
    pub(super) const fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Writes what is left.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.hand_on();
        self.error.take().map_or_else(|| self.to.flush(), Err)
    }
}

/// What has to wait for the end of a run, because a file needs something before it that is known only then: kept in a file that
/// has no name.
pub(super) struct Spool(Out<File>);

impl Spool {
    /// In a directory on a disk with room.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        Ok(Self(Out::new(tempfile::tempfile_in(directory)?)))
    }

    /// Where the next bytes go.
    #[inline]
    pub(super) fn next(&mut self) -> &mut Vec<u8> {
        self.0.next()
    }

    /// How many bytes are in it.
    pub(super) fn len(&self) -> u64 {
        self.0.len()
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.0.has_failed()
    }

    /// Copies all of it behind what is there.
    pub(super) fn copy_to<W: Write>(&mut self, out: &mut Out<W>) -> io::Result<()> {
        self.0.finish()?;
        let mut from = &self.0.to;
        from.seek(SeekFrom::Start(0))?;
        let mut chunk = vec![0; FULL];
        loop {
            let nr = from.read(&mut chunk)?;
            if nr == 0 {
                return Ok(());
            }
            out.next().extend_from_slice(&chunk[..nr]);
        }
    }

    /// Copies pieces of a length, in the order in which their places are given.
    pub(super) fn copy_pieces<W: Write>(
        &mut self,
        length: usize,
        places: impl Iterator<Item = u32>,
        out: &mut Out<W>,
    ) -> io::Result<()> {
        self.0.finish()?;
        let mut from = BufReader::with_capacity(FULL, &self.0.to);
        let mut at = 0;
        from.seek(SeekFrom::Start(0))?;
        for place in places {
            let offset = u64::from(place) * length as u64;
            // What is already in the buffer is not read again.
            from.seek_relative(i64::try_from(offset).expect("a file is not that long") - at)?;
            let bytes = out.next();
            let end = bytes.len();
            bytes.resize(end + length, 0);
            from.read_exact(&mut bytes[end..])?;
            at = i64::try_from(offset).expect("a file is not that long") + length as i64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_the_end_comes_out_whole_and_in_pieces_of_any_order() {
        let mut spool = Spool::new(&std::env::temp_dir()).expect("there is room for a file");
        for piece in 0..300_u32 {
            spool.next().extend(std::iter::repeat_n(piece as u8, 4096));
        }
        assert_eq!(spool.len(), 300 * 4096);
        let mut whole = Vec::new();
        let mut out = Out::new(&mut whole);
        spool.copy_to(&mut out).and_then(|()| out.finish()).expect("files can be read");
        assert_eq!(whole.len(), 300 * 4096);
        let mut pieces = Vec::new();
        let mut out = Out::new(&mut pieces);
        let order = [299, 0, 7];
        spool.copy_pieces(4096, order.into_iter(), &mut out).and_then(|()| out.finish()).expect("files can be read");
        let first: Vec<u8> = pieces.chunks(4096).map(|piece| piece[17]).collect();
        assert_eq!(first, [299_u32 as u8, 0, 7]);
    }
}
