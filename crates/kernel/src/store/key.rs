// SPDX-License-Identifier: GPL-2.0-or-later
//! Keys of engines: hashes of everything from which an engine is built.

use crate::compile::BuildRecipe;
use crate::error::{KernelError, io_error_at};
use crate::tree;
use sha2::{Digest, Sha256};
use std::fs;

/// Returns the hash of fairlab's own files in an engine.
pub fn own_hash() -> String {
    hash(crate::EMBEDDED_FILES.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]))[..16].to_owned()
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

/// Returns the key of a recipe: a hash of the contents of every file that may matter.
///
/// # Errors
/// If a file cannot be read.
pub fn key(recipe: &BuildRecipe, compiler: &str) -> Result<String, KernelError> {
    let mut pieces: Vec<Vec<u8>> = vec![compiler.into(), recipe.config.join("\n").into()];
    if recipe.is_covered {
        pieces.push(b"covered".to_vec());
    }
    for (name, text) in crate::EMBEDDED_FILES {
        pieces.extend([name.as_bytes().to_vec(), text.as_bytes().to_vec()]);
    }
    for patch in &recipe.patches {
        pieces.push(fs::read(patch).map_err(io_error_at(patch))?);
    }
    for script in &recipe.scripts {
        pieces.push(serde_json::to_vec(script).expect("a script is JSON"));
    }
    for name in tree::files(&recipe.tree)? {
        let path = recipe.tree.join(&name);
        let content = match fs::read(&path) {
            // A link that leads nowhere, or to a folder, is not a file.
            Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::IsADirectory) => {
                continue;
            }
            other => other.map_err(io_error_at(&path))?,
        };
        pieces.push(hash([name.as_bytes(), &content[..]]).into());
    }
    Ok(hash(pieces.iter().map(Vec::as_slice))[..32].to_owned())
}
