// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab report`: a page about runs, as one file that needs no network.
//!
//! Like `export`, it repeats the runs from their directories.

use super::run::{RunObservers, simulate};
use crate::args::ReportArgs;
use crate::engine;
use crate::error::CliError;
use crate::exports::{Traces, process_of};
use crate::output::Output;
use crate::plan::Plan;
use crate::rerun;
use crate::whole_file::{WholeFile, refuse_to_replace};
use fairlab_machine::engine::Engine;
use fairlab_observe::export::Exporter;
use fairlab_observe::manifest::Manifest;
use fairlab_observe::page::{PageCollector, PageRun, page};
use fairlab_observe::summary::{EngineSummary, RunSummary};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What the page has of a run.
#[derive(Serialize)]
#[serde(untagged)]
enum ReportInput {
    /// With the built-in scheduler, which has run here.
    Here(Box<PageRun>),
    /// With an engine, which has run in its worker.
    There(Value),
}

/// Runs the command.
pub(crate) fn report(output: &mut Output, args: &ReportArgs) -> Result<(), CliError> {
    if args.engine_page {
        let dir = args.dirs.first().expect("the command line demands one");
        return engine::page_of_worker(output, dir, &rerun::read_manifest(dir)?);
    }
    for dir in &args.dirs {
        let files = rerun::files_of(dir, &rerun::read_manifest(dir)?);
        refuse_to_replace(&args.output, "-o", files.iter().map(PathBuf::as_path))?;
    }
    let runs: Vec<ReportInput> = args.dirs.iter().map(|dir| of_run(output, dir)).collect::<Result<_, _>>()?;
    let text = page(&runs);
    let name = args.output.display().to_string();
    let (whole, mut file) = WholeFile::create(&args.output).map_err(|error| {
        let help = "-o takes the name of a file that can be written";
        CliError::Input(format!("{name}: cannot be written: {error}\nhelp: {help}"))
    })?;
    file.write_all(text.as_bytes()).map_err(|error| CliError::write(&name, &error))?;
    whole.finish()?;
    if output.is_json() {
        return output.json(&json!({ "file": args.output, "bytes": text.len(), "runs": args.dirs }));
    }
    output.text(&format!("{}: {} kB; open it in a browser\n", args.output.display(), text.len().div_ceil(1000)))
}

fn of_run(output: &Output, dir: &Path) -> Result<ReportInput, CliError> {
    let manifest = rerun::read_manifest(dir)?;
    if let Some(engine) = &manifest.engine {
        return engine::page(output, dir, &engine.name).map(ReportInput::There);
    }
    let plan = rerun::repeat(dir, &manifest)?;
    repeat(output, dir, &manifest, plan, || Ok(None)).map(|page| ReportInput::Here(Box::new(page)))
}

/// Runs it again, with whichever engine, of which somebody tells afterwards.
pub(crate) fn repeat<E: Engine>(
    output: &Output,
    dir: &Path,
    manifest: &Manifest,
    mut plan: Plan<E>,
    engine: impl FnOnce() -> Result<Option<EngineSummary>, CliError>,
) -> Result<PageRun, CliError> {
    let collector = PageCollector::new(&plan.machine);
    let mut exporter = Exporter::new(&plan.machine, process_of(&plan.about.subject.kind));
    exporter.add(PageCollector::groups(), Box::new(collector.clone()));
    exporter.begin(&plan.machine);
    let mut listeners = RunObservers::recording(&plan.machine).and_exporting(Some(Traces::unnamed(exporter)));
    simulate(&mut plan.machine, &mut listeners).map_err(CliError::run)?;
    listeners.finish_traces(&plan.machine)?;
    if let Some(warning) = rerun::difference(&plan.machine, manifest, dir, "the page shows") {
        output.warn(&warning)?;
    }
    let recorder = listeners.recorder.expect("what a summary needs was recorded");
    // The workload as it was called then, not its copy.
    let mut subject = plan.about.subject;
    subject.workload.clone_from(&manifest.workload.given);
    let mut summary = RunSummary::new(subject, &plan.machine, &recorder);
    summary.engine = engine()?;
    let name = dir.file_name().map_or_else(|| dir.display().to_string(), |name| name.to_string_lossy().into_owned());
    Ok(PageRun::new(name, &summary, &plan.machine, &collector))
}
