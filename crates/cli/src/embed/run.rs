// SPDX-License-Identifier: GPL-2.0-or-later
//! A run of `fairlab run` with its tables and its HTML report. Only the summary is stored: for tables and
//! reports the run is repeated, with identical events.

use super::{CallError, CallOutput, EmbeddedCall, MemoryTexts, parse};
use crate::args::{Command, VariantArgs};
use crate::arms::parse_arm;
use crate::cmd::run::{FinishedRun, RunObservers, execute, simulate_with_progress, summary_text as report};
use crate::error::CliError;
use crate::exports::{ExportWriters, events_from_name, process_name};
use crate::input::{self, MachineText, WorkloadText};
use crate::interrupt;
use crate::output::{Output, Styles};
use crate::plan::{Choices, Plan};
use fairlab_observe::export::Exporter;
use fairlab_observe::export::columns::{CollectedTable, TableCollector};
use fairlab_observe::export::record::EventGroups;
use fairlab_observe::page::{PageCollector, PageRun, page};
use fairlab_observe::summary::RunSummary;
use std::sync::Arc;

/// Completed run that can be repeated for its tables and its report.
pub struct EmbeddedRun {
    summary: RunSummary,
    report: String,
    variant: VariantArgs,
    choices: Choices,
    input: Arc<WorkloadText>,
    /// Name and text of the machine's file; `None` if a scenario describes it.
    machine: Option<(String, String)>,
    /// Kept if one of the texts is a machine whose costs a repeated run needs.
    _texts: Option<MemoryTexts>,
}

impl EmbeddedRun {
    /// Runs `fairlab run` with these arguments and the changes of an arm on top, written as for `--arm`.
    ///
    /// # Errors
    /// Those of the command.
    pub fn new(words: &[String], arm: Option<&str>, texts: MemoryTexts) -> Result<(Self, CallOutput), CallError> {
        let words: Vec<String> = std::iter::once("run".to_owned()).chain(words.iter().cloned()).collect();
        let call = EmbeddedCall::new(&words, &texts);
        let Command::Run(mut args) = parse(&call.words)?.command else { unreachable!("the first word is run") };
        if let Some(arm) = arm {
            let arm = parse_arm(&texts.resolve_names(arm)).map_err(CallError::Input)?;
            args.variant = arm.apply_to(&args.variant);
            if args.output.is_some() && (args.variant.prices_of.is_some() || !args.variant.price.is_empty()) {
                let help = "write the costs into the machine's file";
                let message = "a run directory cannot record costs other than the machine's";
                return Err(CallError::Input(format!("{message}\nhelp: {help}")));
            }
        }
        let output = Output::for_caller(false);
        let finished = execute(&output, &args, true);
        let FinishedRun { plan, summary, findings, .. } = call.end(finished)?;
        let summary = summary.expect("a run that is wanted has a summary");
        let run = Self {
            report: report(&plan, &summary, findings.as_deref(), Styles { on: false }, &args),
            choices: args.choices(),
            // Other texts are released, so that the next text with such a name can have it.
            _texts: args.variant.prices_of.is_some().then_some(texts),
            variant: args.variant,
            input: plan.about.input,
            machine: plan.about.machine_text.map(|MachineText { given, text, .. }| (given, text)),
            summary,
        };
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
        let plan = self.repeat_as_call(|exporter, plan| {
            let new = PageCollector::new(&plan.machine);
            exporter.add(PageCollector::groups(), Box::new(new.clone()));
            collector = Some(new);
        })?;
        let collector = collector.expect("it was made before the run");
        Ok(page(&[PageRun::new(name.to_owned(), &self.summary, &plan.machine, &collector)]))
    }

    /// Repeats the run with an additional exporter.
    fn repeat_as_call(&self, add: impl FnOnce(&mut Exporter, &Plan)) -> Result<Plan, CallError> {
        let call = EmbeddedCall::new(&[], &MemoryTexts::default());
        let result = self.repeat(add);
        call.end(result)
    }

    fn repeat(&self, add: impl FnOnce(&mut Exporter, &Plan)) -> Result<Plan, CliError> {
        let machine = self.machine.clone().map(|(given, text)| input::machine_from_text(&given, text)).transpose()?;
        let mut plan = Plan::of(Arc::clone(&self.input), machine, &self.variant, self.choices)?;
        let mut exporter = Exporter::new(&plan.machine, process_name(&plan.about.subject.kind));
        add(&mut exporter, &plan);
        exporter.begin(&plan.machine);
        // Observers are part of the run's configuration, so the summary observer is attached again.
        let mut listeners =
            RunObservers::for_summary(&plan.machine).with_traces(Some(ExportWriters::without_files(exporter)));
        simulate_with_progress(&mut plan.machine, &mut listeners, &mut |_| ()).map_err(CliError::run)?;
        listeners.finish_traces(&plan.machine)?;
        let digest = plan.machine.digest().to_string();
        if digest != self.summary.digest && interrupt::requested().is_none() {
            let was = &self.summary.digest;
            return Err(CliError::Run(format!(
                "{}: the repeated run has digest {digest}, not {was}",
                plan.about.input.name
            )));
        }
        Ok(plan)
    }
}

impl std::fmt::Debug for EmbeddedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("digest", &self.summary.digest).finish_non_exhaustive()
    }
}
