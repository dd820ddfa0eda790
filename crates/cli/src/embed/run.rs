// SPDX-License-Identifier: GPL-2.0-or-later
//! A run of `fairlab run`, and what can be asked of it afterwards. Nothing but its summary is kept: tables and the page come of the same run
//! again, which is the same in every event.

use super::{CallFailure, CallOutput, EmbeddedCall, MemoryTexts, parse};
use crate::args::{Command, VariantArgs};
use crate::arms::arm_of;
use crate::cmd::run::{FinishedRun, RunObservers, execute, page as report, simulate_telling};
use crate::error::CliError;
use crate::exports::{Traces, group_of, process_of};
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

/// A run that is over.
pub struct Run {
    summary: RunSummary,
    report: String,
    variant: VariantArgs,
    choices: Choices,
    input: Arc<WorkloadText>,
    /// The machine's name and file, unless a scenario describes it.
    machine: Option<(String, String)>,
    /// A machine among them has the prices, and will be asked for them again.
    _texts: Option<MemoryTexts>,
}

impl Run {
    /// Runs what words say that stand behind `fairlab run`, with the changes of an arm on top, in the words of `--arm`.
    ///
    /// # Errors
    /// Those of the command.
    pub fn new(words: &[String], arm: Option<&str>, texts: MemoryTexts) -> Result<(Self, CallOutput), CallFailure> {
        let words: Vec<String> = std::iter::once("run".to_owned()).chain(words.iter().cloned()).collect();
        let call = EmbeddedCall::new(&words, &texts);
        let Command::Run(mut args) = parse(&call.words)?.command else { unreachable!("the first word is run") };
        if let Some(arm) = arm {
            let arm = arm_of(&texts.named(arm)).map_err(CallFailure::Input)?;
            args.variant = arm.on(&args.variant);
            if args.output.is_some() && (args.variant.prices_of.is_some() || !args.variant.price.is_empty()) {
                let help = "write the prices into the machine's file";
                let message = "a run directory has no place for prices other than the machine's";
                return Err(CallFailure::Input(format!("{message}\nhelp: {help}")));
            }
        }
        let output = Output::for_caller(false);
        let finished = execute(&output, &args, true);
        let FinishedRun { plan, summary, .. } = call.end(finished)?;
        let summary = summary.expect("a run that is wanted has a summary");
        let run = Self {
            report: report(&plan, &summary, Styles { on: false }, &args),
            choices: args.choices(),
            // Names on the shelf are for who needs them: the next text of this name can have it.
            _texts: args.variant.prices_of.is_some().then_some(texts),
            variant: args.variant,
            input: plan.about.input,
            machine: plan.about.machine_text.map(|MachineText { given, text, .. }| (given, text)),
            summary,
        };
        let (results, warnings) = output.into_results();
        Ok((run, CallOutput { results, warnings }))
    }

    /// What it amounts to.
    pub fn summary(&self) -> &RunSummary {
        &self.summary
    }

    /// The page of `fairlab run`.
    pub fn report(&self) -> &str {
        &self.report
    }

    /// Its events as tables, those of these groups.
    ///
    /// # Errors
    /// If there is no such group.
    pub fn tables(&self, groups: &[String]) -> Result<Vec<CollectedTable>, CallFailure> {
        let all =
            groups.iter().map(|name| group_of(name)).collect::<Result<Vec<_>, _>>().map_err(CallFailure::Input)?;
        let groups = all.into_iter().reduce(EventGroups::or).unwrap_or_default();
        let columns = TableCollector::default();
        self.again(|exporter, _| exporter.add(groups, Box::new(columns.clone())))?;
        Ok(columns.take())
    }

    /// The page of `fairlab report`: one file of HTML that needs no network.
    ///
    /// # Errors
    /// If the run is stopped.
    pub fn page(&self, name: &str) -> Result<String, CallFailure> {
        let mut collector = None;
        let plan = self.again(|exporter, plan| {
            let new = PageCollector::new(&plan.machine);
            exporter.add(PageCollector::groups(), Box::new(new.clone()));
            collector = Some(new);
        })?;
        let collector = collector.expect("it was made before the run");
        Ok(page(&[PageRun::new(name.to_owned(), &self.summary, &plan.machine, &collector)]))
    }

    /// The run again, with somebody who listens.
    fn again(&self, add: impl FnOnce(&mut Exporter, &Plan)) -> Result<Plan, CallFailure> {
        let call = EmbeddedCall::new(&[], &MemoryTexts::default());
        let result = self.repeat(add);
        call.end(result)
    }

    fn repeat(&self, add: impl FnOnce(&mut Exporter, &Plan)) -> Result<Plan, CliError> {
        let machine = self.machine.clone().map(|(given, text)| input::machine_of(&given, text)).transpose()?;
        let mut plan = Plan::of(Arc::clone(&self.input), machine, &self.variant, self.choices)?;
        let mut exporter = Exporter::new(&plan.machine, process_of(&plan.about.subject.kind));
        add(&mut exporter, &plan);
        exporter.begin(&plan.machine);
        // Who measures is part of what a machine is asked for, so the recorder listens again.
        let mut listeners = RunObservers::recording(&plan.machine).and_exporting(Some(Traces::unnamed(exporter)));
        simulate_telling(&mut plan.machine, &mut listeners, &mut |_| ()).map_err(CliError::run)?;
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

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("digest", &self.summary.digest).finish_non_exhaustive()
    }
}
