// SPDX-License-Identifier: GPL-2.0-or-later
//! Input files: read once, and with a size limit.
//!
//! An input file may be a pipe, which can be read only once, or a device, which has no end.

use std::io::{self, Read};
use std::path::Path;

/// Returns all bytes of a reader, up to `most` bytes.
///
/// # Errors
/// If the reader fails or has more bytes.
pub fn read_all(reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("the input is longer than {} MiB", most >> 20)));
    }
    Ok(bytes)
}

/// Returns all bytes of a file, up to `most` bytes.
///
/// # Errors
/// If the file cannot be read or is longer.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.len() > most {
        return Err(io::Error::other(format!("the input is longer than {} MiB", most >> 20)));
    }
    read_all(file, most)
}
