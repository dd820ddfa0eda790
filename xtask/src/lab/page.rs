// SPDX-License-Identifier: GPL-2.0-or-later
//! Puts the page together: modules, the WebAssembly module and an example, in one file that opens from disk.

use super::wasm::WasmModule;
use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fairlab_report::embedded_json;
use fairlab_run::input::InputFile;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Sources of the page.
const SOURCES: &str = "crates/lab/page";
/// Name of the page.
const PAGE: &str = "fairlab-lab.html";
/// Name of the module that `wasm-bindgen` writes.
const GLUE: &str = "lab.mjs";
/// Workload that the page starts with.
const EXAMPLE: &str = "scenarios/hello.json";

/// Module of JavaScript.
struct PageModule {
    name: String,
    text: String,
}

impl PageModule {
    /// Returns the names of the modules that this one imports.
    fn imports(&self) -> impl Iterator<Item = &str> {
        self.text.split("from \"./").skip(1).filter_map(|rest| rest.split_once('"')).map(|(name, _)| name)
    }
}

/// Writes the page to a directory, with its parts beside it for the check in Node. Returns the file of the page.
pub(super) fn write(root: &Path, directory: &Path, wasm: &WasmModule) -> Result<PathBuf> {
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let write = |name: &str, content: &[u8]| {
        let file = directory.join(name);
        fs::write(&file, content).with_context(|| file.display().to_string()).map(|()| file)
    };
    let source = |name: &str| fs::read_to_string(root.join(SOURCES).join(name)).with_context(|| name.to_owned());
    let modules = modules(root, wasm)?;
    write("lab.wasm", &wasm.wasm)?;
    write("lab.d.mts", wasm.types.as_bytes())?;
    for module in &modules {
        write(&module.name, module.text.as_bytes())?;
    }
    let examples = examples(root)?;
    let example = examples.get(EXAMPLE).context(EXAMPLE)?;
    let input = json!(RunSpec::new(WorkloadSpec::File(InputFile::new(EXAMPLE).with_text(example.as_str()))));
    let list: Vec<Value> = modules.iter().map(|module| json!({ "name": module.name, "text": module.text })).collect();
    let (style, start) = (source("style.css")?, source("start.js")?);
    let page = source("index.html")?
        .replace("/*POLICY*/", &policy(&start, &style))
        .replace("/*STYLE*/", &style)
        .replace("/*START*/", &start)
        .replace("/*EXAMPLES*/", &embedded_json(&json!(examples)))
        .replace("/*INPUT*/", &embedded_json(&input))
        .replace("/*MODULES*/", &embedded_json(&json!(list)))
        .replace("/*WASM*/", &BASE64_STANDARD.encode(gzip(&wasm.wasm)?));
    write(PAGE, page.as_bytes())
}

/// Returns the texts of all scenarios, by their paths.
fn examples(root: &Path) -> Result<BTreeMap<String, String>> {
    let mut examples = BTreeMap::new();
    for folder in ["scenarios", "scenarios/switches"] {
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

/// Returns the content security policy: code of the page alone, and nothing from elsewhere.
fn policy(script: &str, style: &str) -> String {
    let [script, style] = [script, style].map(|text| BASE64_STANDARD.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; script-src 'sha256-{script}' blob: 'wasm-unsafe-eval'; worker-src blob:; style-src 'sha256-{style}'; \
         img-src data:; base-uri 'none'; form-action 'none'"
    )
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Returns the modules of the page, each after those that it imports.
fn modules(root: &Path, wasm: &WasmModule) -> Result<Vec<PageModule>> {
    let mut waiting = vec![PageModule { name: GLUE.to_owned(), text: wasm.glue.clone() }];
    for entry in fs::read_dir(root.join(SOURCES)).context(SOURCES)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "mjs") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).with_context(|| name.clone())?;
            waiting.push(PageModule { name, text });
        }
    }
    waiting.sort_by(|one, other| one.name.cmp(&other.name));
    let mut ordered: Vec<PageModule> = Vec::new();
    while !waiting.is_empty() {
        let is_ready =
            |module: &PageModule| module.imports().all(|import| ordered.iter().any(|earlier| earlier.name == import));
        let Some(ready) = waiting.iter().position(is_ready) else {
            let names: Vec<&str> = waiting.iter().map(|module| module.name.as_str()).collect();
            bail!("modules import each other, or one that does not exist: {}", names.join(", "));
        };
        ordered.push(waiting.remove(ready));
    }
    Ok(ordered)
}
