// SPDX-License-Identifier: GPL-2.0-or-later
//! WebAssembly module of the page in Node, beside native runs: digests, timelines and explanations must be equal.

use super::LabArgs;
use super::occupants::{Segment, occupants};
use crate::fuzz_oracle::draw;
use crate::requirement::skip_or_fail;
use anyhow::{Context, Result, bail, ensure};
use fairlab_board::preset_names;
use fairlab_explain::Question;
use fairlab_run::error::RequestError;
use fairlab_run::explain::explain_moment;
use fairlab_run::input::InputFile;
use fairlab_run::kernels::Kernel;
use fairlab_run::prepare::prepare;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Scenario that is run on each machine.
const HELLO: &str = "scenarios/hello.json";
/// Package of npm that checks types.
const TYPESCRIPT: &str = "typescript@5.9.3";
/// Random scenarios in CI.
const RANDOM_IN_CI: u64 = 20;
/// Number of steps of a run, about.
const NR_STEPS: u64 = 23;

/// Run that is compared.
#[derive(Serialize)]
struct Case {
    name: String,
    spec: RunSpec,
    step_ns: u64,
    questions: Vec<Moment>,
}

#[derive(Serialize)]
struct Moment {
    question: Question,
    at_ns: u64,
}

/// Line of the program in Node.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outcome {
    name: String,
    whole: String,
    steps: String,
    is_timeline_equal: bool,
    explanations: Vec<Value>,
    segments: Option<Vec<Vec<Segment>>>,
}

/// Checks the types of the page's modules with TypeScript's compiler, which npm loads.
pub(super) fn check_types(root: &Path, page: &Path, args: &LabArgs) -> Result<()> {
    let sources = root.join("crates/report/page");
    for (name, source) in [("tsconfig.json", "tsconfig.json"), ("codemirror.d.mts", "vendor/codemirror.d.mts")] {
        fs::copy(sources.join(source), page.join(name)).context(name)?;
    }
    let tsc = |words: &[&OsStr]| {
        let mut command = Command::new("npx");
        command.args(["--yes", "--package", TYPESCRIPT, "tsc"]).args(words);
        command
    };
    if !tsc(&["--version".as_ref()]).output().is_ok_and(|output| output.status.success()) {
        let message = format!("the types of the page are not checked: npx cannot load {TYPESCRIPT}");
        return skip_or_fail(args.ci, "typescript", &message);
    }
    let status = tsc(&["--project".as_ref(), page.as_ref()]).status().context("npx")?;
    ensure!(status.success(), "the modules of the page have wrong types");
    Ok(())
}

pub(super) fn check(root: &Path, page: &Path, args: &LabArgs) -> Result<()> {
    if Command::new("node").arg("--version").output().is_err() {
        return skip_or_fail(args.ci, "node", "the page's WebAssembly module is not checked: node is missing");
    }
    let cases = cases(root, if args.ci { RANDOM_IN_CI } else { args.random })?;
    let file = page.join("cases.json");
    fs::write(&file, serde_json::to_string(&cases)?).with_context(|| file.display().to_string())?;
    let node = Command::new("node")
        .arg(root.join("xtask/lab/check.mjs"))
        .args([page, &file])
        .stdout(Stdio::piped())
        .spawn()
        .context("node")?;
    let natives: Vec<Native> = cases.iter().map(Native::of).collect();
    let output = node.wait_with_output()?;
    ensure!(output.status.success(), "the module fails in Node");
    let lines = String::from_utf8(output.stdout)?;
    let outcomes = lines.lines().map(serde_json::from_str).collect::<Result<Vec<Outcome>, _>>()?;
    ensure!(outcomes.len() == cases.len(), "{} of {} cases were run", outcomes.len(), cases.len());
    let differences: Vec<String> =
        outcomes.iter().zip(&natives).flat_map(|(outcome, native)| native.differences(outcome)).collect();
    differences.iter().for_each(|difference| println!("{difference}"));
    let nr_explanations: usize = outcomes.iter().map(|outcome| outcome.explanations.len()).sum();
    let nr_rejected = natives.iter().filter(|native| native.segments.is_none()).count();
    println!(
        "{} runs, whole and in steps, {nr_rejected} of them rejected, and {nr_explanations} explanations in Node: \
         {} differences from native ones",
        cases.len(),
        differences.len()
    );
    if !differences.is_empty() {
        bail!("runs in Node differ from native ones");
    }
    super::comparison::check(root, page)
}

/// Returns all scenarios, the first one on each machine, and random ones.
fn cases(root: &Path, random: u64) -> Result<Vec<Case>> {
    let record = root.join("golden/digests.txt");
    let record = fs::read_to_string(&record).with_context(|| record.display().to_string())?;
    let names = record.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_whitespace().last());
    let mut cases = Vec::new();
    for name in names {
        let text = fs::read_to_string(root.join(name)).with_context(|| name.to_owned())?;
        cases.push(Case::new(name.to_owned(), file_spec(name, text)));
    }
    let hello = fs::read_to_string(root.join(HELLO))?;
    for machine in preset_names() {
        let mut spec = file_spec(HELLO, hello.clone());
        spec.settings.machine = Some(InputFile::new(machine));
        cases.push(Case::new(format!("{HELLO} on {machine}"), spec));
    }
    for seed in 1..=random {
        let series = if seed % 2 == 0 { KernelSeries::V6_1 } else { KernelSeries::V6_12 };
        let name = format!("random-{seed}.scn");
        let mut spec = file_spec(&name, draw::scenario_with_extensions(seed, series));
        spec.settings.kernel = Kernel::from_name(&series.to_string());
        cases.push(Case::new(name, spec));
    }
    Ok(cases)
}

fn file_spec(name: &str, text: String) -> RunSpec {
    RunSpec::new(WorkloadSpec::File(InputFile::new(name).with_text(text)))
}

impl Case {
    fn new(name: String, spec: RunSpec) -> Self {
        let length = prepare(&spec).map_or(1, |run| run.setup.duration.0);
        let moment = |question, part| Moment { question, at_ns: length * part / 100 };
        let questions =
            vec![moment(Question::Cpu(0), 13), moment(Question::Cpu(1), 50), moment(Question::Balance(0), 61)];
        Self { name, spec, step_ns: (length / NR_STEPS).max(1), questions }
    }
}

/// Result of a native run.
struct Native {
    /// Digest, or the error.
    outcome: String,
    segments: Option<Vec<Vec<Segment>>>,
    explanations: Vec<Value>,
}

impl Native {
    fn of(case: &Case) -> Self {
        let error_text = |error: RequestError| Message::from(error).text;
        let (outcome, segments) = match occupants(&case.spec) {
            Ok((digest, segments)) => (digest, Some(segments)),
            Err(error) => (format!("error: {}", error_text(error)), None),
        };
        let explain = |moment: &Moment| {
            let mut machine = prepare(&case.spec)?.with_whole_workload()?.boot()?.machine;
            explain_moment(&mut machine, &moment.question, Nanos(moment.at_ns))
        };
        let explanations = case.questions.iter().map(|moment| match explain(moment) {
            Ok(explanation) => json!(explanation),
            Err(error) => json!({ "error": error_text(error) }),
        });
        Self { outcome, segments, explanations: explanations.collect() }
    }

    /// Returns how the run in Node differs, as sentences.
    fn differences(&self, outcome: &Outcome) -> Vec<String> {
        let Outcome { name, whole, steps, is_timeline_equal, explanations, segments } = outcome;
        let mut differences = Vec::new();
        for (how, in_node) in [("whole", whole), ("in steps", steps)] {
            if *in_node != self.outcome {
                differences.push(format!("{name}: {how} in Node {in_node}, native {}", self.outcome));
            }
        }
        if !is_timeline_equal {
            differences.push(format!("{name}: the timeline in steps differs from the whole one"));
        }
        if *segments != self.segments {
            let rows = segments.iter().flatten().zip(self.segments.iter().flatten());
            let first = rows.flat_map(|(page, native)| page.iter().zip(native)).find(|(page, native)| page != native);
            differences.push(format!("{name}: first segments that differ, of page and events: {first:?}"));
        }
        for (question, (in_node, native)) in explanations.iter().zip(&self.explanations).enumerate() {
            if in_node != native {
                differences.push(format!("{name}: question {question}: in Node {in_node}, native {native}"));
            }
        }
        differences
    }
}
