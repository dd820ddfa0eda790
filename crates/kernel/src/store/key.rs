// SPDX-License-Identifier: GPL-2.0-or-later
//! Hashes of what engines are built from.

use crate::compile;
use sha2::{Digest, Sha256};

/// Number of the way in which engines are built and named. Objects before 1 may be those of an earlier build.
pub const BUILD_FORMAT: u32 = 1;

/// Hash of the names and texts of fairlab's own files in an engine. The build computes it, because each run with an
/// engine needs it.
const FILES_HASH: &str = env!("FAIRLAB_ENGINE_FILES_HASH");

/// Returns the hash of fairlab's own part of an engine: its files, and how they are built.
pub fn own_hash() -> String {
    let flags = compile::FLAGS.iter().copied().flatten().map(|flag| flag.as_bytes());
    hash([&BUILD_FORMAT.to_le_bytes()[..]].into_iter().chain([FILES_HASH.as_bytes()]).chain(flags))[..16].to_owned()
}

/// Returns the hash of a list of pieces, in hexadecimal.
pub(crate) fn hash<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for piece in pieces {
        // The length comes first, so that no two lists of pieces are the same bytes.
        hash.update((piece.len() as u64).to_le_bytes());
        hash.update(piece);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
