// SPDX-License-Identifier: GPL-2.0-or-later
//! Comparison of repeated runs and saved traces by the page's modules in Node, beside native ones: they must be equal, byte for
//! byte.
//!
//! Tests of the command compare native answers with `fairlab compare --json` and `fairlab run --export perfetto=FILE`.

use anyhow::{Context, Result, ensure};
use fairlab_lab::LabService;
use fairlab_lab_tools::LabTools;
use serde::Serialize;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Scenarios, each with the change of arm B.
const COMPARED: [(&str, &str, i64); 2] =
    [("scenarios/hello.json", "base_slice_ns", 400_000), ("scenarios/eevdf.scn", "base_slice_ns", 6_000_000)];
/// Seeds of each comparison, from 1.
const NR_SEEDS: u64 = 8;

/// Arms that are compared.
#[derive(Serialize)]
struct ComparedArms {
    specs: [Value; 2],
    names: [String; 2],
    nr_seeds: u64,
}

pub(super) fn check(root: &Path, page: &Path) -> Result<()> {
    let cases = COMPARED.map(|(name, tunable, value)| ComparedArms::new(root, name, tunable, value));
    let cases = cases.into_iter().collect::<Result<Vec<_>>>()?;
    let file = page.join("comparisons.json");
    fs::write(&file, serde_json::to_string(&cases)?).with_context(|| file.display().to_string())?;
    let node = Command::new("node")
        .arg(root.join("xtask/lab/compare.mjs"))
        .args([page, &file])
        .stdout(Stdio::piped())
        .spawn()
        .context("node")?;
    let natives = cases.iter().map(ComparedArms::native).collect::<Result<Vec<_>>>()?.concat();
    let output = node.wait_with_output()?;
    ensure!(output.status.success(), "the modules fail in Node");
    let lines = String::from_utf8(output.stdout)?;
    let answers: Vec<&str> = lines.lines().collect();
    ensure!(answers.len() == natives.len(), "{} of {} answers were printed", answers.len(), natives.len());
    let names = COMPARED.iter().flat_map(|(name, ..)| [name; 2]);
    for ((in_node, native), name) in answers.into_iter().zip(&natives).zip(names) {
        let at = in_node.bytes().zip(native.bytes()).position(|(page, native)| page != native);
        let around =
            |text: &str, at: usize| text.get(at.saturating_sub(80)..(at + 80).min(text.len())).map(str::to_owned);
        ensure!(
            in_node == native,
            "{name}: the answer in Node has {:?}, the native one {:?}",
            at.and_then(|at| around(in_node, at)),
            at.and_then(|at| around(native, at))
        );
    }
    println!(
        "{} comparisons of {NR_SEEDS} seeds and as many traces in Node: equal to native ones, byte for byte",
        cases.len()
    );
    Ok(())
}

impl ComparedArms {
    fn new(root: &Path, name: &str, tunable: &str, value: i64) -> Result<Self> {
        let text = fs::read_to_string(root.join(name)).with_context(|| name.to_owned())?;
        let spec =
            |settings: Value| json!({ "workload": { "file": { "given": name, "text": text } }, "settings": settings });
        let specs = [spec(json!({})), spec(json!({ "tunables": { tunable: value } }))];
        Ok(Self { specs, names: ["unchanged".to_owned(), format!("{tunable}={value}")], nr_seeds: NR_SEEDS })
    }

    /// Returns the answer of the same code in this program, and the digest of the trace of arm B.
    fn native(&self) -> Result<[String; 2]> {
        let (mut service, mut tools) = (LabService::default(), LabTools::default());
        for repetition in 0..self.nr_seeds {
            for (arm, spec) in self.specs.iter().enumerate() {
                let request = json!({ "measure": { "run": 1, "spec": spec, "seed": repetition + 1 } });
                let measured = service.ask(&request.to_string()).json;
                let request = json!({ "add-run": { "arm": arm, "repetition": repetition } });
                let added = tools.ask(&request.to_string(), measured.as_bytes());
                ensure!(added == r#"{"added":{}}"#, "{added}");
            }
        }
        let request = json!({ "compare": { "arms": self.names, "first_seed": 1, "command": [] } });
        let compared = tools.ask(&request.to_string(), &[]);
        let request = json!({ "save-trace": { "run": 1, "spec": self.specs[1] } });
        let trace = service.ask(&request.to_string()).trace;
        ensure!(!trace.is_empty(), "no trace was saved");
        Ok([compared, fairlab_workload::sha256::hex_digest(&trace)])
    }
}
