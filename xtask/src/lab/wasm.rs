// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds crates for WebAssembly, each with the module of JavaScript that loads it.

use crate::programs;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use wasm_bindgen_cli_support::Bindgen;

const TARGET: &str = "wasm32-unknown-unknown";
const PROFILE: &str = "lab";

/// Crate of the project that becomes a module of the page, and the name of the module.
pub(crate) struct ModuleCrate {
    pub(crate) package: &'static str,
    pub(crate) name: &'static str,
}

/// The simulator, which is loaded with the page.
pub(crate) const ENGINE: ModuleCrate = ModuleCrate { package: "fairlab-lab", name: "lab" };
/// Statistics, which are loaded when the reader asks for them.
pub(crate) const TOOLS: ModuleCrate = ModuleCrate { package: "fairlab-lab-tools", name: "lab-tools" };

/// Program of the page.
pub(crate) struct WasmModule {
    /// Name of its files, without an extension.
    pub(crate) name: &'static str,
    pub(crate) wasm: Vec<u8>,
    /// ES module that exports `initSync` and the classes of the program.
    pub(crate) glue: String,
    /// Types of that module.
    pub(crate) types: String,
}

/// Builds a module.
pub(crate) fn build(root: &Path, &ModuleCrate { package, name }: &ModuleCrate) -> Result<WasmModule> {
    let status = programs::cargo()
        .args(["rustc", "--quiet", "--package", package, "--lib", "--crate-type", "cdylib"])
        .args(["--target", TARGET, "--profile", PROFILE])
        .current_dir(root)
        .status()
        .context("cargo cannot be started")?;
    ensure!(status.success(), "{package} cannot be built\nhelp: `rustup target add {TARGET}` installs the target");
    let file = programs::target(root).join(TARGET).join(PROFILE).join(package.replace('-', "_") + ".wasm");
    let mut bindgen = Bindgen::new();
    bindgen.input_path(&file).typescript(true).omit_default_module_path(true);
    bindgen.remove_name_section(true).remove_producers_section(true);
    let mut output = bindgen.web(true)?.generate_output().with_context(|| file.display().to_string())?;
    let (glue, types) = (output.js().to_owned(), output.ts().unwrap_or_default().to_owned());
    Ok(WasmModule { name, glue, types, wasm: output.wasm_mut().emit_wasm() })
}
