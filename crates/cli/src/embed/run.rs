// SPDX-License-Identifier: GPL-2.0-or-later
//! A run of `fairlab run` with its tables and its HTML report. Only the summary is stored: for tables and
//! reports the run is repeated, with identical events.

use super::{CallError, CallOutput, EmbeddedCall, MemoryTexts, read_value};
use crate::args::exports::events_from_name;
use crate::cmd::run::{FinishedRun, RunRequest, RunTables, execute, summary_text};
use crate::execution::execute::refuse_engine;
use crate::execution::worker;
use crate::output::{Output, Styles};
use crate::values::error::CliError;
use crate::values::interrupt;
use fairlab_machine::sim::Machine;
use fairlab_measure::summary::RunSummary;
use fairlab_report::{Page, PageCollector, PageRun, RecordedRun};
use fairlab_run::drive::drive;
use fairlab_run::job::RunOutputs;
use fairlab_run::manifest;
use fairlab_run::observers::RunObservers;
use fairlab_run::prepare::{ReadyRun, prepare, with_known_length};
use fairlab_run::spec::RunSpec;
use fairlab_traces::export::Exporter;
use fairlab_traces::export::columns::{CollectedTable, TableCollector};
use fairlab_traces::export::record::EventGroups;
use fairlab_workload::message::Message;
use std::path::PathBuf;

/// Completed run that can be repeated for its tables and its report.
pub struct EmbeddedRun {
    summary: RunSummary,
    report: String,
    /// The run, with the texts of its files.
    spec: RunSpec,
}

impl EmbeddedRun {
    /// Runs a spec, a [`RunSpec`] as JSON, and writes the files of `outputs`, [`RunOutputs`] as JSON. Both may
    /// have placeholders for texts and policies.
    ///
    /// # Errors
    /// If a value is wrong, a file cannot be read or written, or the run cannot go on.
    pub fn new(
        spec: &str,
        outputs: Option<&str>,
        directory: Option<PathBuf>,
        texts: &MemoryTexts,
    ) -> Result<(Self, CallOutput), CallError> {
        let spec: RunSpec = read_value(spec, texts)?;
        let words = ["run".to_owned(), spec.workload.name().to_owned()].into_iter();
        let words: Vec<String> = words.chain(spec.settings.command_words()).collect();
        let call = EmbeddedCall::new(&words, texts);
        let spec = manifest::resolve(spec).map_err(CliError::from)?;
        refuse_engine(&spec.settings)?;
        let outputs: RunOutputs = outputs.map_or_else(|| Ok(RunOutputs::default()), |json| read_value(json, texts))?;
        let outputs = RunOutputs { summary: true, findings: true, ..outputs };
        let output = Output::for_caller(false);
        let finished = execute(&output, RunRequest { spec, directory, outputs, is_watched: false });
        let FinishedRun { spec, executed, summary } = call.end(finished)?;
        let summary = summary.expect("a run that is wanted has a summary");
        let report = summary_text(&executed, &summary, Styles { on: false }, RunTables::default());
        // Texts of the caller are released, so that the next text with such a name can have it.
        let run = Self { report, spec: worker::portable(&spec)?, summary };
        let (results, warnings) = output.into_results();
        Ok((run, CallOutput { results, warnings }))
    }

    /// Returns the summary, as `fairlab run --json` writes it.
    pub fn summary(&self) -> &RunSummary {
        &self.summary
    }

    /// Returns the text of the run summary.
    pub fn report(&self) -> &str {
        &self.report
    }

    /// Returns the events of these groups as tables. The run is repeated.
    ///
    /// # Errors
    /// If a group does not exist.
    pub fn tables(&self, groups: &[String]) -> Result<Vec<CollectedTable>, CallError> {
        let all = groups
            .iter()
            .map(|name| events_from_name(name))
            .collect::<Result<Vec<_>, _>>()
            .map_err(CallError::Input)?;
        let groups = all.into_iter().reduce(EventGroups::or).unwrap_or_default();
        let columns = TableCollector::default();
        self.repeat_as_call(|exporter, _| exporter.add(groups, Box::new(columns.clone())))?;
        Ok(columns.take())
    }

    /// Returns the report of `fairlab report`: one HTML file that needs no network. The run is repeated.
    ///
    /// # Errors
    /// If the run is stopped.
    pub fn page(&self, name: &str) -> Result<String, CallError> {
        let mut collector = None;
        let machine = self.repeat_as_call(|exporter, machine| {
            collector = Some(PageCollector::add_to(exporter, machine));
        })?;
        let collector = collector.expect("it was made before the run");
        let run = PageRun::new(name.to_owned(), &self.summary, &machine, &collector);
        Ok(Page { runs: &[RecordedRun::Here(Box::new(run))], ..Page::default() }.html(None))
    }

    /// Repeats the run with an additional exporter.
    fn repeat_as_call(&self, add: impl FnOnce(&mut Exporter, &Machine)) -> Result<Machine, CallError> {
        let call = EmbeddedCall::new(&[], &MemoryTexts::default());
        let result = self.repeat(add);
        call.end(result)
    }

    fn repeat(&self, add: impl FnOnce(&mut Exporter, &Machine)) -> Result<Machine, CliError> {
        let spec = with_known_length(self.spec.clone(), self.summary.settling.as_ref())?;
        let ReadyRun { mut machine, about, .. } = prepare(&spec)?.boot()?;
        let mut exporter = Exporter::new(&machine, about.process());
        add(&mut exporter, &machine);
        exporter.begin(&machine);
        // Observers are part of the run's configuration, so the summary observer is attached again.
        let mut observers = RunObservers::for_summary(&machine).with_exporter(exporter);
        let run = drive(&mut machine, &mut observers, about.warmup, &mut |_| interrupt::requested().is_none());
        run.map_err(CliError::run)?;
        let exporter = observers.exporter_mut().expect("it was there before the run");
        exporter.finish(&machine).map_err(|(_, error)| CliError::failed(error))?;
        let digest = machine.digest().to_string();
        if digest != self.summary.digest && interrupt::requested().is_none() {
            let was = &self.summary.digest;
            return Err(CliError::Run(Message::new(format!(
                "{}: the repeated run has digest {digest}, not {was}",
                about.name
            ))));
        }
        Ok(machine)
    }
}

impl std::fmt::Debug for EmbeddedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("digest", &self.summary.digest).finish_non_exhaustive()
    }
}
