// SPDX-License-Identifier: GPL-2.0-or-later
//! Embeds the files under `engine/` and `regressions/` in the program, so that an installed fairlab can build
//! engines and reintroduce bugs.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    embed("engine", "embedded.rs")?;
    embed("regressions", "regressions.rs")
}

/// Writes a list of the names and texts of all files under a folder.
fn embed(folder: &str, list: &str) -> io::Result<()> {
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
    for path in files {
        let name = path.strip_prefix(&root).expect("found under the root").display().to_string();
        writeln!(text, "    ({name:?}, include_str!({:?})),", path.display().to_string()).expect("a string takes text");
    }
    text.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join(list), text)
}
