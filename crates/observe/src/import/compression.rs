// SPDX-License-Identifier: GPL-2.0-or-later
//! Compressed parts of a `trace.dat`. Each block states its decompressed length; decompression uses no more
//! memory than that, up to [`MAX_BLOCK`].

use super::bytes::ByteReader;
use super::error::{ImportError, ReadResult};
use std::io::Read as _;

/// Largest decompressed block in bytes. Blocks of trace-cmd have about ten pages.
const MAX_BLOCK: usize = 256 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Zlib,
    Zstd,
}

/// Decompresses a block: compressed length, decompressed length, data.
pub(super) fn block(packing: Compression, at: &mut ByteReader<'_>) -> ReadResult<Vec<u8>> {
    let place = at.at();
    let packed = at.u32("the length of a compressed block")? as usize;
    let length = at.u32("the length of a block")? as usize;
    let packed = at.take(packed, "a compressed block")?;
    let damaged = |why: &str| {
        ImportError::at(
            place,
            format!("a compressed block {why}"),
            "the file is damaged: copy it again, or record again",
        )
    };
    if length > MAX_BLOCK {
        return Err(damaged(&format!("has a decompressed length of {length} bytes, above the limit")));
    }
    // One more byte detects a block that is longer than stated.
    let most = length as u64 + 1;
    let mut bytes = Vec::new();
    let unpacked = match packing {
        Compression::Zlib => flate2::read::ZlibDecoder::new(packed).take(most).read_to_end(&mut bytes).is_ok(),
        Compression::Zstd => ruzstd::decoding::StreamingDecoder::new(packed)
            .is_ok_and(|decoder| decoder.take(most).read_to_end(&mut bytes).is_ok()),
    };
    if !unpacked {
        return Err(damaged("cannot be decompressed"));
    }
    if bytes.len() != length {
        return Err(damaged(&format!("has {} bytes instead of {length}", bytes.len())));
    }
    Ok(bytes)
}

/// Decompresses a list of blocks. `each` receives the data and the position of the block in the file.
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
