// SPDX-License-Identifier: GPL-2.0-or-later
//! Compressed parts of a trace.dat. Each block says how long it becomes; no more memory than that is used, and no more than a limit.

use super::bytes::ByteReader;
use super::error::{ReadError, ReadResult};
use std::io::Read as _;

/// No block becomes longer than this: trace-cmd's have some ten pages.
const MAX_BLOCK: usize = 256 << 20;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Zlib,
    Zstd,
}

impl Compression {
    /// The one of this name in a file.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "zlib" => Some(Self::Zlib),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Unpacks a block: its length, the length it becomes, and its bytes.
pub(super) fn block(packing: Compression, at: &mut ByteReader<'_>) -> ReadResult<Vec<u8>> {
    let place = at.at();
    let packed = at.u32("the length of a compressed block")? as usize;
    let length = at.u32("the length of a block")? as usize;
    let packed = at.take(packed, "a compressed block")?;
    let damaged = |why: &str| {
        ReadError::at(place, format!("a compressed block {why}"), "the file is damaged: copy it again, or record again")
    };
    if length > MAX_BLOCK {
        return Err(damaged(&format!("would have {length} bytes")));
    }
    // One more byte shows a block that is longer than it says.
    let most = length as u64 + 1;
    let mut bytes = Vec::new();
    let unpacked = match packing {
        Compression::Zlib => flate2::read::ZlibDecoder::new(packed).take(most).read_to_end(&mut bytes).is_ok(),
        Compression::Zstd => match ruzstd::decoding::StreamingDecoder::new(packed) {
            Ok(decoder) => decoder.take(most).read_to_end(&mut bytes).is_ok(),
            Err(_) => false,
        },
    };
    if !unpacked {
        return Err(damaged("cannot be unpacked"));
    }
    if bytes.len() != length {
        return Err(damaged(&format!("has {} bytes and not {length}", bytes.len())));
    }
    Ok(bytes)
}

/// Unpacks a list of blocks, one after the other. `each` gets the bytes and the place of the block in the file.
pub(super) fn chunks(
    packing: Compression,
    mut at: ByteReader<'_>,
    each: &mut dyn FnMut(&[u8], usize),
) -> ReadResult<()> {
    let nr = at.u32("the number of compressed blocks")?;
    for _ in 0..nr {
        let place = at.at();
        let bytes = block(packing, &mut at)?;
        each(&bytes, place);
    }
    Ok(())
}
