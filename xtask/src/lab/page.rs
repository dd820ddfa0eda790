// SPDX-License-Identifier: GPL-2.0-or-later
//! Puts the page together: its modules, the WebAssembly module, and all of it in one file.

use super::wasm::WasmModule;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Sources of the page.
const SOURCES: &str = "crates/lab/page";

/// Writes the WebAssembly module and the modules of the page to a directory.
pub(super) fn write(root: &Path, directory: &Path, module: &WasmModule) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let write = |name: &str, content: &[u8]| {
        let file = directory.join(name);
        fs::write(&file, content).with_context(|| file.display().to_string())
    };
    write("lab.wasm", &module.wasm)?;
    write("lab.mjs", module.glue.as_bytes())?;
    for entry in fs::read_dir(root.join(SOURCES)).context(SOURCES)? {
        let path = entry?.path();
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        write(&name, &fs::read(&path).with_context(|| name.clone())?)?;
    }
    Ok(())
}
