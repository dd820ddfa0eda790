// SPDX-License-Identifier: GPL-2.0-or-later
//! Reader for binary files. A read beyond the end is an error with its position, never a panic.

use super::error::{ReadError, ReadResult};

/// Remedy for a file that ends too early.
pub(super) const CUT: &str = "the file is truncated or damaged: copy it again, or record again";

/// Little-endian reader of a part of a file. `at` is its position in bytes in the whole file.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteReader<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> ByteReader<'a> {
    pub(super) const fn new(bytes: &'a [u8], from: usize) -> Self {
        Self { rest: bytes, at: from }
    }

    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn take(&mut self, nr: usize, what: &str) -> ReadResult<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(nr) else {
            let message = format!("{what} needs {nr} bytes; bytes left: {}", self.rest.len());
            return Err(ReadError::at(self.at, message, CUT));
        };
        (self.rest, self.at) = (rest, self.at + nr);
        Ok(taken)
    }

    pub(super) fn part(&mut self, nr: usize, what: &str) -> ReadResult<Self> {
        let at = self.at;
        Ok(Self::new(self.take(nr, what)?, at))
    }

    fn array<const N: usize>(&mut self, what: &str) -> ReadResult<[u8; N]> {
        Ok(self.take(N, what)?.try_into().expect("as many bytes as were taken"))
    }

    pub(super) fn u8(&mut self, what: &str) -> ReadResult<u8> {
        Ok(self.array::<1>(what)?[0])
    }

    pub(super) fn u16(&mut self, what: &str) -> ReadResult<u16> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, what: &str) -> ReadResult<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &str) -> ReadResult<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    pub(super) fn length(&mut self, what: &str) -> ReadResult<usize> {
        let at = self.at;
        let length = self.u64(what)?;
        usize::try_from(length).map_err(|_| ReadError::at(at, format!("{what} is too large: {length} bytes"), CUT))
    }

    /// Reads a text that ends with a zero byte.
    pub(super) fn text(&mut self, what: &str) -> ReadResult<&'a str> {
        let at = self.at;
        let Some(end) = self.rest.iter().position(|&byte| byte == 0) else {
            return Err(ReadError::at(at, format!("{what} has no terminating zero"), CUT));
        };
        let text = &self.take(end + 1, what)?[..end];
        std::str::from_utf8(text).map_err(|_| ReadError::at(at, format!("{what} is not valid UTF-8"), CUT))
    }

    /// Fails unless the next bytes are `bytes`.
    pub(super) fn expect(&mut self, bytes: &[u8], what: &str) -> ReadResult<()> {
        let at = self.at;
        if self.take(bytes.len(), what)? == bytes {
            return Ok(());
        }
        Err(ReadError::at(at, format!("{what} is missing at this position"), CUT))
    }
}

/// Returns a reader for `length` bytes at position `at` of a file.
pub(super) fn slice<'a>(file: &'a [u8], at: u64, length: u64, what: &str) -> ReadResult<ByteReader<'a>> {
    let [start, size] = [at, length].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let Some(bytes) = file.get(start..).and_then(|rest| rest.get(..size)) else {
        let message = format!("{what} ({length} bytes at byte {at}) is beyond the end of the file");
        return Err(ReadError::at(file.len(), message, CUT));
    };
    Ok(ByteReader::new(bytes, start))
}
