// SPDX-License-Identifier: GPL-2.0-or-later
//! Embeds the files under `engine/` and `regressions/` in the program, so that an installed fairlab can build
//! engines and reintroduce bugs.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let hash = embed("engine", "embedded.rs")?;
    println!("cargo::rustc-env=FAIRLAB_ENGINE_FILES_HASH={hash}");
    embed("regressions", "regressions.rs").map(drop)
}

/// Writes a list of the names and texts of all files under a folder, and returns its hash in hexadecimal.
fn embed(folder: &str, list: &str) -> io::Result<String> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join(folder);
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let mut text = String::from("&[\n");
    let mut hash = Sha256::new();
    for path in files {
        let name = path.strip_prefix(&root).expect("found under the root").display().to_string();
        // The lengths come first, so that no two lists are the same bytes.
        for piece in [name.as_bytes(), &fs::read(&path)?] {
            hash.update((piece.len() as u64).to_le_bytes());
            hash.update(piece);
        }
        writeln!(text, "    ({name:?}, include_str!({:?})),", path.display().to_string()).expect("a string takes text");
    }
    text.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join(list), text)?;
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
