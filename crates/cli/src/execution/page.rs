// SPDX-License-Identifier: GPL-2.0-or-later
//! Pages: data of a run, and the page that contains the simulator.
//!
//! `cargo xtask lab` builds the page with the simulator. Commands write it with other data in the element that contains them.

use super::execute::drive_shown;
use super::worker;
use crate::output::progress::Progress;
use crate::values::error::CliError;
use crate::values::whole_file::AtomicFile;
use fairlab_findings::Limits;
use fairlab_machine::engine::Engine;
use fairlab_measure::summary::EngineSummary;
use fairlab_report::{Page, PageCollector, PageRun, RecordedRun, embedded_json};
use fairlab_run::drive::{drive_on, drive_to, find};
use fairlab_run::job::Job;
use fairlab_run::observers::RunObservers;
use fairlab_run::prepare::{ReadyRun, prepare};
use fairlab_run::spec::RunSpec;
use fairlab_traces::export::Exporter;
use fairlab_workload::message::Message;
use serde::Deserialize;
use std::borrow::Cow;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Page of the program.
#[cfg(feature = "page")]
const PAGE: Option<&str> = Some(include_str!(env!("FAIRLAB_PAGE")));
#[cfg(not(feature = "page"))]
const PAGE: Option<&str> = None;

/// Element of the page that contains its data.
const INPUT: (&str, &str) = (r#"<script id="input" type="application/json">"#, "</script>");

/// Page with the simulator.
pub(crate) struct SimulatorPage {
    before: String,
    after: String,
    /// Run with which the page starts.
    pub(crate) example: RunSpec,
}

/// Data of the page as it is built.
#[derive(Deserialize)]
struct BuiltInput {
    spec: RunSpec,
}

impl SimulatorPage {
    /// Reads the page from a file, or from the program.
    pub(crate) fn read(file: Option<&Path>) -> Result<Self, CliError> {
        let page = page(file)?;
        let not_a_page = || {
            let name = file.map_or_else(|| "the page".to_owned(), |page| page.display().to_string());
            CliError::Input(
                Message::in_file(name, "is no page of `fairlab lab`").with_help("`cargo xtask lab` writes the page"),
            )
        };
        let (before, rest) = page.split_once(INPUT.0).ok_or_else(not_a_page)?;
        let (input, after) = rest.split_once(INPUT.1).ok_or_else(not_a_page)?;
        let BuiltInput { spec: example } = serde_json::from_str(input).map_err(|_| not_a_page())?;
        Ok(Self { before: before.to_owned(), after: after.to_owned(), example })
    }

    /// Returns the page with its data.
    pub(crate) fn with_input(&self, input: &Page<'_>) -> String {
        [&self.before, INPUT.0, &embedded_json(input), INPUT.1, &self.after].concat()
    }
}

/// Writes a page to the file of `-o`.
pub(crate) fn write_page(file: &Path, text: &str) -> Result<(), CliError> {
    let name = file.display().to_string();
    let (whole, mut file) = AtomicFile::create(file).map_err(|error| {
        let help = "-o takes the name of a file that can be written";
        CliError::Input(Message::in_file(&name, format!("cannot be written: {error}")).with_help(help))
    })?;
    file.write_all(text.as_bytes()).map_err(|error| CliError::write(&name, &error))?;
    whole.finish()
}

/// Returns the page: of a file, or of the program.
fn page(file: Option<&Path>) -> Result<Cow<'static, str>, CliError> {
    let Some(file) = file else {
        let help = "build it with `cargo xtask lab`, and name the file that the command prints with --page";
        let missing =
            || CliError::Input(Message::new("this build of fairlab does not contain the page").with_help(help));
        return PAGE.map(Cow::Borrowed).ok_or_else(missing);
    };
    let text = fs::read_to_string(file).map_err(|error| {
        let message = Message::in_file(file.display().to_string(), format!("cannot be read: {error}"));
        CliError::Input(message.with_help("--page takes the file that `cargo xtask lab` writes"))
    })?;
    Ok(Cow::Owned(text))
}

/// Repeats a run of known length and returns its data, and its digest. The built-in scheduler's run is repeated three times: for
/// the timeline, for the findings, and for the explanations.
pub(crate) fn record(spec: &RunSpec, name: String) -> Result<(RecordedRun, String), CliError> {
    if let Some(engine) = spec.settings.kernel_engine() {
        let job = Job::Page { spec: worker::portable(spec)?, name };
        let (page, digest) = worker::run_captured(engine, &job, None)?;
        return Ok((RecordedRun::Sent(page), digest));
    }
    let (mut page, digest) = page_of(prepare(spec)?.boot()?, name, || Ok(None))?;
    diagnose(&mut page, spec)?;
    Ok((RecordedRun::Here(Box::new(page)), digest))
}

/// Adds findings and explanations.
fn diagnose(page: &mut PageRun, spec: &RunSpec) -> Result<(), CliError> {
    let mut run = prepare(spec)?.boot()?;
    let limits = Limits::of(&run.machine);
    let mut progress = Progress::new("looking for findings", run.machine.duration());
    let findings = find(&mut run, limits, &mut |elapsed| progress.show(elapsed));
    progress.clear();
    let mut has_started = false;
    let diagnosed = page.diagnose(
        &findings.map_err(CliError::run)?,
        &mut prepare(spec)?.boot()?.machine,
        &mut |machine, history, until| match std::mem::replace(&mut has_started, true) {
            false => drive_to(machine, history, until),
            true => drive_on(machine, history, until).map(drop),
        },
    );
    diagnosed.map_err(CliError::run)
}

/// Runs a machine and returns the data of its page, and its digest. `engine` returns the record of a
/// compiled-kernel engine, once the run is over.
pub(crate) fn page_of<E: Engine>(
    ready: ReadyRun<E>,
    name: String,
    engine: impl FnOnce() -> Result<Option<EngineSummary>, CliError>,
) -> Result<(PageRun, String), CliError> {
    let ReadyRun { mut machine, about, .. } = ready;
    let mut exporter = Exporter::new(&machine, about.process());
    let collector = PageCollector::add_to(&mut exporter, &machine);
    exporter.begin(&machine);
    let mut observers = RunObservers::for_summary(&machine).with_exporter(exporter);
    drive_shown(&mut machine, &mut observers, &about).map_err(CliError::run)?;
    let exporter = observers.exporter_mut().expect("it was there before the run");
    exporter.finish(&machine).map_err(|(_, error)| CliError::failed(error))?;
    let mut summary = observers.summary_of(about.subject, &machine).expect("it was there before the run");
    summary.engine = engine()?;
    Ok((PageRun::new(name, &summary, &machine, &collector), machine.digest().to_string()))
}
