// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab report`: an HTML page about runs, as one file that needs no network.
//!
//! Like `export`, the command repeats the runs from their directories: once for the data of the page, once for the findings,
//! once for the explanations.

use super::run::{RunObservers, simulate};
use crate::args::ReportArgs;
use crate::engine;
use crate::error::CliError;
use crate::exports::{ExportWriters, process_name};
use crate::output::Output;
use crate::output::progress::Progress;
use crate::plan::Plan;
use crate::rerun;
use crate::whole_file::{AtomicFile, refuse_to_replace};
use fairlab_machine::engine::Engine;
use fairlab_observe::export::Exporter;
use fairlab_observe::findings::{Limits, find};
use fairlab_observe::manifest::Manifest;
use fairlab_observe::page::{PageCollector, PageRun, page};
use fairlab_observe::summary::{EngineSummary, RunSummary};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Data of one run for the page.
#[derive(Serialize)]
#[serde(untagged)]
enum ReportInput {
    /// Run of the built-in scheduler, repeated in this process.
    Here(Box<PageRun>),
    /// Run of a compiled-kernel engine, repeated in its worker process.
    There(Value),
}

/// Runs `fairlab report`: repeats recorded runs and writes an HTML page about them.
pub(crate) fn report(output: &mut Output, args: &ReportArgs) -> Result<(), CliError> {
    if args.engine_page {
        let dir = args.dirs.first().expect("the command line demands one");
        return engine::page_of_worker(output, dir, &rerun::read_manifest(dir)?);
    }
    for dir in &args.dirs {
        let files = rerun::input_files(dir, &rerun::read_manifest(dir)?);
        refuse_to_replace(&args.output, "-o", files.iter().map(PathBuf::as_path))?;
    }
    let runs: Vec<ReportInput> = args.dirs.iter().map(|dir| read_run(output, dir)).collect::<Result<_, _>>()?;
    let text = page(&runs);
    let name = args.output.display().to_string();
    let (whole, mut file) = AtomicFile::create(&args.output).map_err(|error| {
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

fn read_run(output: &Output, dir: &Path) -> Result<ReportInput, CliError> {
    let manifest = rerun::read_manifest(dir)?;
    if let Some(engine) = &manifest.engine {
        return engine::page(output, dir, &engine.name).map(ReportInput::There);
    }
    let plan = rerun::repeat(dir, &manifest)?;
    let mut page = repeat(output, dir, &manifest, plan, || Ok(None))?;
    diagnose(&mut page, dir, &manifest)?;
    Ok(ReportInput::Here(Box::new(page)))
}

/// Adds findings and explanations. For each of the two the run is repeated once more.
fn diagnose(page: &mut PageRun, dir: &Path, manifest: &Manifest) -> Result<(), CliError> {
    let mut machine = rerun::repeat(dir, manifest)?.machine;
    let limits = Limits::of(&machine);
    let mut progress = Progress::new("looking for findings", machine.duration());
    let findings = find(&mut machine, limits, &mut |elapsed| progress.show(elapsed));
    progress.clear();
    let (findings, _) = findings.map_err(CliError::run)?;
    page.diagnose(&findings, &mut rerun::repeat(dir, manifest)?.machine).map_err(CliError::run)
}

/// Repeats a run and collects its page data. `engine` returns the record of a compiled-kernel engine, once the run is over.
pub(crate) fn repeat<E: Engine>(
    output: &Output,
    dir: &Path,
    manifest: &Manifest,
    mut plan: Plan<E>,
    engine: impl FnOnce() -> Result<Option<EngineSummary>, CliError>,
) -> Result<PageRun, CliError> {
    let collector = PageCollector::new(&plan.machine);
    let mut exporter = Exporter::new(&plan.machine, process_name(&plan.about.subject.kind));
    exporter.add(PageCollector::groups(), Box::new(collector.clone()));
    exporter.begin(&plan.machine);
    let mut listeners =
        RunObservers::for_summary(&plan.machine).with_traces(Some(ExportWriters::without_files(exporter)));
    simulate(&mut plan.machine, &mut listeners).map_err(CliError::run)?;
    listeners.finish_traces(&plan.machine)?;
    if let Some(warning) = rerun::digest_warning(&plan.machine, manifest, dir, "the page shows") {
        output.warn(&warning)?;
    }
    let recorder = listeners.recorder.expect("what a summary needs was recorded");
    // The page shows the name that the command line gave, not that of the copy in the run directory.
    let mut subject = plan.about.subject;
    subject.workload.clone_from(&manifest.workload.given);
    let mut summary = RunSummary::new(subject, &plan.machine, &recorder);
    summary.engine = engine()?;
    let name = dir.file_name().map_or_else(|| dir.display().to_string(), |name| name.to_string_lossy().into_owned());
    Ok(PageRun::new(name, &summary, &plan.machine, &collector))
}
