// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading files that people give: once, and no more than a file of that kind can sensibly have.
//!
//! A file may be a pipe, which can be read only once, and a device or a mistake, which has no end.

use std::io::{self, Read};
use std::path::Path;

/// All bytes of a reader, if there are no more than `most`.
///
/// # Errors
/// If it cannot be read, or has more.
pub fn read_all(reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is longer than {} MiB", most >> 20)));
    }
    Ok(bytes)
}

/// All bytes of a file, if there are no more than `most`.
///
/// # Errors
/// If it cannot be read, or has more.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.len() > most {
        return Err(io::Error::other(format!("it is longer than {} MiB", most >> 20)));
    }
    read_all(file, most)
}
