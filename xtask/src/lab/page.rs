// SPDX-License-Identifier: GPL-2.0-or-later
//! Puts the page together: modules, the WebAssembly module and an example, in one file that opens from disk.

use super::wasm::WasmModule;
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fairlab_report::{EDITOR_MODULES, MODULES, Page, Simulator, WasmProgram};
use fairlab_run::input::InputFile;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Name of the page.
const PAGE: &str = "fairlab-lab.html";
/// Workload that the page starts with.
const EXAMPLE: &str = "scenarios/hello.json";

/// Writes the page to a directory, with its parts beside it for the check in Node. Returns the file of the page.
pub(super) fn write(root: &Path, directory: &Path, engine: &WasmModule, tools: &WasmModule) -> Result<PathBuf> {
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let write = |name: &str, content: &[u8]| {
        let file = directory.join(name);
        fs::write(&file, content).with_context(|| file.display().to_string()).map(|()| file)
    };
    for WasmModule { name, wasm, types, glue } in [engine, tools] {
        write(&format!("{name}.wasm"), wasm)?;
        write(&format!("{name}.d.mts"), types.as_bytes())?;
        write(&format!("{name}.mjs"), glue.as_bytes())?;
    }
    for (name, text) in MODULES.iter().chain(EDITOR_MODULES) {
        write(name, text.as_bytes())?;
    }
    let examples = examples(root)?;
    let example = examples.get(EXAMPLE).context(EXAMPLE)?;
    let spec = json!(RunSpec::new(WorkloadSpec::File(InputFile::new(EXAMPLE).with_text(example.as_str()))));
    let packed = |program: &WasmModule| Ok::<_, anyhow::Error>(BASE64_STANDARD.encode(gzip(&program.wasm)?));
    let simulator = Simulator {
        engine: &WasmProgram { wasm: packed(engine)?, glue: engine.glue.clone() },
        tools: &WasmProgram { wasm: packed(tools)?, glue: tools.glue.clone() },
        examples: &examples,
    };
    let page = Page { spec: Some(spec), ..Page::default() };
    write(PAGE, page.html(Some(simulator)).as_bytes())
}

/// Returns the texts of all scenarios and of the workloads of lessons, by their paths.
pub(crate) fn examples(root: &Path) -> Result<BTreeMap<String, String>> {
    let mut examples = BTreeMap::new();
    for folder in ["scenarios", "scenarios/switches", "lessons"] {
        for entry in fs::read_dir(root.join(folder)).context(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "scn" || extension == "json") {
                let name = format!("{folder}/{}", path.file_name().unwrap_or_default().to_string_lossy());
                examples.insert(name, fs::read_to_string(&path).with_context(|| path.display().to_string())?);
            }
        }
    }
    Ok(examples)
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}
