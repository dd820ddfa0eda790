// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab report`: an HTML page about runs, as one file that needs no network.
//!
//! Like `export`, the command repeats the runs from their directories: once for the data of the page, once for the findings,
//! once for the explanations.

use crate::args::ReportArgs;
use crate::execution::page::page_of;
use crate::execution::{rerun, worker};
use crate::output::Output;
use crate::output::progress::Progress;
use crate::values::error::CliError;
use crate::values::whole_file::{AtomicFile, refuse_to_replace};
use fairlab_findings::Limits;
use fairlab_report::{PageRun, page};
use fairlab_run::drive::{drive_on, drive_to, find};
use fairlab_run::job::Job;
use fairlab_run::manifest::Manifest;
use fairlab_run::prepare::{prepare, with_known_length};
use fairlab_workload::message::Message;
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
    for dir in &args.dirs {
        Manifest::read(dir)?;
        refuse_to_replace(&args.output, "-o", rerun::input_files(dir).iter().map(PathBuf::as_path))?;
    }
    let runs: Vec<ReportInput> = args.dirs.iter().map(|dir| read_run(output, dir)).collect::<Result<_, _>>()?;
    let text = page(&runs);
    let name = args.output.display().to_string();
    let (whole, mut file) = AtomicFile::create(&args.output).map_err(|error| {
        let help = "-o takes the name of a file that can be written";
        CliError::Input(Message::in_file(&name, format!("cannot be written: {error}")).with_help(help))
    })?;
    file.write_all(text.as_bytes()).map_err(|error| CliError::write(&name, &error))?;
    whole.finish()?;
    output.json_or_text(&json!({ "file": args.output, "bytes": text.len(), "runs": args.dirs }), |_| {
        format!("{}: {} kB; open it in a browser\n", args.output.display(), text.len().div_ceil(1000))
    })
}

fn read_run(output: &Output, dir: &Path) -> Result<ReportInput, CliError> {
    let manifest = Manifest::read(dir)?;
    let name = dir.file_name().map_or_else(|| dir.display().to_string(), |name| name.to_string_lossy().into_owned());
    let mut spec = with_known_length(rerun::spec(&manifest), manifest.result.settling.as_ref())?;
    let (input, digest) = match spec.settings.kernel_engine().map(str::to_owned) {
        Some(engine) => {
            spec = worker::portable(&spec)?;
            let (page, digest): (Value, String) = worker::run_captured(&engine, &Job::Page { spec, name }, None)?;
            (ReportInput::There(page), digest)
        }
        None => {
            let (mut page, digest) = page_of(prepare(&spec)?.boot()?, name, || Ok(None))?;
            diagnose(&mut page, &manifest)?;
            (ReportInput::Here(Box::new(page)), digest)
        }
    };
    if let Some(warning) = rerun::digest_warning(&digest, &manifest, dir, "the page shows") {
        output.warn(&warning)?;
    }
    Ok(input)
}

/// Adds findings and explanations. For each of the two the run is repeated once more.
fn diagnose(page: &mut PageRun, manifest: &Manifest) -> Result<(), CliError> {
    let mut run = rerun::repeat(manifest)?;
    let limits = Limits::of(&run.machine);
    let mut progress = Progress::new("looking for findings", run.machine.duration());
    let findings = find(&mut run, limits, &mut |elapsed| progress.show(elapsed));
    progress.clear();
    let mut has_started = false;
    let diagnosed = page.diagnose(
        &findings.map_err(CliError::run)?,
        &mut rerun::repeat(manifest)?.machine,
        &mut |machine, history, until| match std::mem::replace(&mut has_started, true) {
            false => drive_to(machine, history, until),
            true => drive_on(machine, history, until).map(drop),
        },
    );
    diagnosed.map_err(CliError::run)
}
