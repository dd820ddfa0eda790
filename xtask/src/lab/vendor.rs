// SPDX-License-Identifier: GPL-2.0-or-later
//! Editor of the page: CodeMirror in one module, which is part of the sources, so that builds need no npm.
//!
//! The directory has the entry, the exact versions with their hashes (`package-lock.json`), the module, its record with the
//! module's own hash, and the licences, which the module repeats in its head.

use crate::programs;
use anyhow::{Context, Result, ensure};
use fairlab_workload::sha256::hex_digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Directory of the module in the sources.
const DIRECTORY: &str = "crates/report/page/vendor";
/// Files that decide the content of the module.
const INPUTS: [&str; 3] = ["entry.mjs", "package.json", "package-lock.json"];
const MODULE: &str = "codemirror.mjs";
const RECORD: &str = "codemirror.json";
const LICENCES: &str = "LICENCES.txt";
/// Licence that all packages must have.
const LICENCE: &str = "MIT";
const OPTIONS: [&str; 8] = [
    "entry.mjs",
    "--bundle",
    "--minify",
    "--format=esm",
    "--target=es2022",
    "--charset=utf8",
    "--legal-comments=none",
    "--metafile=meta.json",
];

/// Content of the module, as it is recorded.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BundleRecord {
    sha256: String,
    bundler: String,
    licence: String,
    /// Versions of the packages that the module contains.
    packages: BTreeMap<String, String>,
}

/// Loads the packages and writes the module, its record and the licences.
pub(super) fn write(root: &Path) -> Result<()> {
    let (source, work) = (root.join(DIRECTORY), programs::target(root).join("vendor"));
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
    for name in INPUTS {
        fs::copy(source.join(name), work.join(name)).context(name)?;
    }
    run(&work, "npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund"])?;
    run(&work, "node_modules/.bin/esbuild", &[&OPTIONS[..], &["--outfile=module.mjs"]].concat())?;
    let packages = packages(&work)?;
    let licences = licences(&work, &packages)?;
    let code = read(&work.join("module.mjs"))?;
    let module = format!("/* SPDX-License-Identifier: {LICENCE}\n{licences}*/\n{code}");
    let bundler = format!("esbuild {}", manifest(&work, "esbuild")?.1);
    let record = BundleRecord {
        sha256: hex_digest(module.as_bytes()),
        bundler,
        licence: LICENCE.to_owned(),
        packages: packages.iter().map(|name| Ok((name.clone(), manifest(&work, name)?.1))).collect::<Result<_>>()?,
    };
    fs::write(source.join(MODULE), &module).context(MODULE)?;
    fs::write(source.join(RECORD), serde_json::to_string_pretty(&record)? + "\n").context(RECORD)?;
    fs::write(source.join(LICENCES), licences).context(LICENCES)?;
    println!("{DIRECTORY}/{MODULE}: {} kB, SHA-256 {}", module.len().div_ceil(1000), record.sha256);
    Ok(())
}

fn run(directory: &Path, program: &str, args: &[&str]) -> Result<()> {
    let status = Command::new(program).args(args).current_dir(directory).status();
    ensure!(status.with_context(|| program.to_owned())?.success(), "{program} fails in {}", directory.display());
    Ok(())
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| file.display().to_string())
}

/// Returns the names of the packages that the module contains, from the record of the bundler.
fn packages(work: &Path) -> Result<BTreeSet<String>> {
    let meta: Value = serde_json::from_str(&read(&work.join("meta.json"))?)?;
    let inputs = meta["inputs"].as_object().context("the bundler lists its inputs")?;
    let names = inputs.keys().filter_map(|path| path.strip_prefix("node_modules/")).map(|path| {
        let parts = if path.starts_with('@') { 2 } else { 1 };
        path.split('/').take(parts).collect::<Vec<_>>().join("/")
    });
    Ok(names.collect())
}

/// Returns licence and version of a package.
fn manifest(work: &Path, package: &str) -> Result<(String, String)> {
    let manifest: Value = serde_json::from_str(&read(&work.join("node_modules").join(package).join("package.json"))?)?;
    let text = |key: &str| manifest[key].as_str().map(str::to_owned).with_context(|| format!("{package} has no {key}"));
    Ok((text("license")?, text("version")?))
}

/// Returns the texts of the licences, each with the packages that have it.
fn licences(work: &Path, packages: &BTreeSet<String>) -> Result<String> {
    let mut by_text: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let (licence, _) = manifest(work, package)?;
        ensure!(licence == LICENCE, "{package} has the licence {licence}, not {LICENCE}");
        let text = read(&work.join("node_modules").join(package).join("LICENSE"))?;
        ensure!(!text.contains("*/"), "the licence of {package} would end the comment of the module");
        by_text.entry(text.trim().to_owned()).or_default().push(package);
    }
    let mut licences = String::new();
    for (text, packages) in by_text {
        writeln!(licences, "\n{}:\n\n{text}", packages.join(", "))?;
    }
    Ok(licences)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str) -> String {
        read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(DIRECTORY).join(name))
            .expect("it is in the sources")
    }

    fn record() -> BundleRecord {
        serde_json::from_str(&source(RECORD)).expect("the record can be read")
    }

    #[test]
    fn the_module_is_the_recorded_one_and_contains_its_licences() {
        let module = source(MODULE);
        assert_eq!(hex_digest(module.as_bytes()), record().sha256);
        assert!(module.contains(&source(LICENCES)));
    }

    #[test]
    fn the_recorded_packages_are_those_of_the_lock_file() {
        let lock: Value = serde_json::from_str(&source("package-lock.json")).expect("it is JSON");
        for (name, version) in record().packages {
            let package = &lock["packages"][format!("node_modules/{name}")];
            assert_eq!(package["version"], version, "{name}");
            assert_eq!(package["license"], LICENCE, "{name}");
            assert!(package["integrity"].is_string(), "{name}");
        }
    }
}
