// SPDX-License-Identifier: GPL-2.0-or-later
//! Buffered output with bounded memory, whose errors are returned at the end.

use std::io::{self, Write};

/// Number of buffered bytes from which the buffer is written.
pub(crate) const MAX_BUFFERED_BYTES: usize = 1 << 17;

/// Output buffer. After a write error further bytes are discarded, and [`BufferedOut::finish`] returns the error.
pub(crate) struct BufferedOut<W: Write> {
    to: W,
    bytes: Vec<u8>,
    handed_on: u64,
    error: Option<io::Error>,
}

impl<W: Write> BufferedOut<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, bytes: Vec::with_capacity(MAX_BUFFERED_BYTES + MAX_BUFFERED_BYTES / 8), handed_on: 0, error: None }
    }

    /// Returns the buffer for the next bytes, after writing it out if it has reached [`MAX_BUFFERED_BYTES`].
    #[inline]
    pub(crate) fn next(&mut self) -> &mut Vec<u8> {
        if self.bytes.len() >= MAX_BUFFERED_BYTES {
            self.write_buffer();
        }
        &mut self.bytes
    }

    pub(crate) const fn get_ref(&self) -> &W {
        &self.to
    }

    pub(crate) fn len(&self) -> u64 {
        self.handed_on + self.bytes.len() as u64
    }

    #[cold]
    fn write_buffer(&mut self) {
        if self.error.is_none() {
            self.error = self.to.write_all(&self.bytes).err();
        }
        self.handed_on += self.bytes.len() as u64;
        self.bytes.clear();
    }

    pub(crate) const fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Writes the buffer and flushes. Returns the first error of this or an earlier write.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.write_buffer();
        self.error.take().map_or_else(|| self.to.flush(), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writer that rejects all bytes.
    struct ClosedWriter;

    impl Write for ClosedWriter {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn put_line(out: &mut BufferedOut<impl Write>, number: u32) {
        writeln!(out.next(), "{number}").expect("memory can be written");
    }

    #[test]
    fn all_lines_arrive_in_their_order_and_the_buffer_stays_as_large_as_it_was() {
        let mut out = Vec::new();
        let mut lines = BufferedOut::new(&mut out);
        let capacity = lines.bytes.capacity();
        for number in 0..100_000_u32 {
            put_line(&mut lines, number);
        }
        assert_eq!(lines.bytes.capacity(), capacity);
        lines.finish().expect("memory can be written");
        let expected: String = (0..100_000).map(|number| format!("{number}\n")).collect();
        assert_eq!(String::from_utf8(out).expect("JSON is text"), expected);
    }

    #[test]
    fn a_write_error_is_returned_at_the_end_and_while_lines_are_added() {
        let mut lines = BufferedOut::new(ClosedWriter);
        for number in 0..100_000_u32 {
            put_line(&mut lines, number);
        }
        assert!(lines.has_failed());
        assert_eq!(lines.finish().expect_err("it is closed").kind(), io::ErrorKind::BrokenPipe);
        let mut short = BufferedOut::new(ClosedWriter);
        put_line(&mut short, 1);
        assert!(!short.has_failed(), "nothing was handed on yet");
        assert!(short.finish().is_err());
    }
}
