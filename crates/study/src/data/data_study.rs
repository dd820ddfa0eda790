// SPDX-License-Identifier: GPL-2.0-or-later
//! Data of a study, resolved to cases and questions.

use super::execute::{PreparedCase, RunEnv, Variation};
use super::rows::{self, RowQuery};
use super::runs::{RunCase, WorkloadSource};
use super::workloads::InputFiles;
use super::{measure, span};
use crate::definition::{StudyDefinition, TableDefinition};
use crate::error::{StudyError, error_in};
use crate::external::ExternalRunner;
use crate::options::{StudyLength, StudyOptions};
use crate::report::ReportTable;
use fairlab_board::MachineDescription;
use fairlab_machine::sim::Setup;
use fairlab_run::prepare::DEFAULT_MACHINE;
use fairlab_run::warmup::Warmup;
use fairlab_workload::message::Message;
use std::collections::BTreeSet;
use std::path::Path;

/// Data of a study, with the files, machines and benchmarks that they name.
pub(crate) struct DataStudy<'a> {
    pub(super) definition: &'a StudyDefinition,
    pub(super) choices: &'a StudyOptions,
    pub(super) file: &'a str,
    pub(super) cases: Vec<RunCase>,
    pub(super) questions: Vec<(&'a TableDefinition, Vec<RowQuery>)>,
    pub(super) env: RunEnv<'a>,
}

/// Returns the cases of all runs of a study.
///
/// # Errors
/// If a run is invalid, or two cases have the same name.
fn cases_of(file: &str, definition: &StudyDefinition, choices: &StudyOptions) -> Result<Vec<RunCase>, Message> {
    let mut cases: Vec<RunCase> = Vec::new();
    for run in &definition.runs {
        let place = format!("run {}", run.name);
        if let Some(error) = run.validation_error() {
            return Err(error.about(place).with_file(file));
        }
        for case in run.cases(definition.seeds, choices) {
            if cases.iter().any(|before| before.name == case.name) {
                return Err(error_in(file, &place, "this name is already used above", "give it another name"));
            }
            cases.push(case);
        }
    }
    Ok(cases)
}

/// Reads the files and machines that a study's data name.
///
/// # Errors
/// If a file or machine cannot be read.
pub(crate) fn home_of(
    file: &str,
    directory: Option<&Path>,
    definition: &StudyDefinition,
    choices: &StudyOptions,
) -> Result<InputFiles, Message> {
    let cases = cases_of(file, definition, choices)?;
    let default = definition.machine.as_deref().unwrap_or(DEFAULT_MACHINE);
    let of_arms: Vec<String> =
        definition.arms.iter().filter_map(|arm| arm.settings.machine_name().map(str::to_owned)).collect();
    let machines = |case: &RunCase| {
        let mut names = of_arms.clone();
        names.push(case.machine.clone().unwrap_or_else(|| default.to_owned()));
        names
    };
    InputFiles::read(file, directory, cases.iter().map(|case| (case, machines(case))))
}

impl<'a> DataStudy<'a> {
    /// Creates a study whose files and machines have been read.
    ///
    /// # Errors
    /// If a row names a run or a figure that does not exist.
    pub(crate) fn new(
        file: &'a str,
        definition: &'a StudyDefinition,
        choices: &'a StudyOptions,
        home: &'a InputFiles,
        runner: Option<&'a dyn ExternalRunner>,
    ) -> Result<Self, Message> {
        let cases = cases_of(file, definition, choices)?;
        let questions = rows::row_queries(file, definition, &cases)?;
        let default_machine = definition.machine.as_deref().unwrap_or(DEFAULT_MACHINE);
        let env = RunEnv { file, home, default_machine, runner };
        let study = Self { definition, choices, file, cases, questions, env };
        study.check_names()?;
        Ok(study)
    }

    /// Returns the differences that the study's options make.
    pub(super) fn variation(&self) -> Variation {
        Variation { settings: self.choices.settings.clone(), ..Variation::default() }
    }

    /// Returns the machines on which the runs of rows start, each once. The machine of a scenario's text is not among them.
    pub(crate) fn machines_of_rows(&self) -> impl Iterator<Item = &MachineDescription> {
        let mut names = BTreeSet::new();
        for question in self.questions.iter().flat_map(|(_, questions)| questions) {
            let case = &self.cases[question.case];
            let arms = [Some(&question.row.arm), question.from.as_ref()].into_iter().flatten();
            if !matches!(case.source, WorkloadSource::Scenario(_)) {
                names.extend(arms.map(|arm| self.env.machine_of(case, self.definition.arm(arm)).to_owned()));
            }
        }
        names.into_iter().map(|name| self.env.home.machine(&name))
    }

    /// Returns the cases with their shorter `quick` settings.
    pub(super) fn quick_cases(&self) -> Result<Vec<RunCase>, Message> {
        let choices = StudyOptions { options: StudyLength { quick: true }, ..self.choices.clone() };
        cases_of(self.file, self.definition, &choices)
    }

    /// Measures the published rows of the selected tables with the given cases, which may differ from the
    /// study's own.
    pub(super) fn published(
        &self,
        cases: &[RunCase],
        variation: &Variation,
        chosen: &dyn Fn(&TableDefinition) -> bool,
    ) -> Result<Vec<ReportTable>, StudyError> {
        let rows = |questions: &[RowQuery]| -> Vec<RowQuery> {
            questions.iter().filter(|question| question.row.published.is_some()).cloned().collect()
        };
        let chosen = self.questions.iter().filter(|(table, _)| chosen(table));
        let chosen: Vec<_> = chosen.map(|(table, questions)| (table, rows(questions))).collect();
        let wanted = measure::requested_metrics(chosen.iter().flat_map(|(_, questions)| questions));
        let numbers = measure::run(self.definition, cases, &wanted, &[], &self.env, variation, &|_, _| {})?;
        Ok(chosen.iter().map(|(table, questions)| numbers.table(self.definition, table, questions)).collect())
    }

    /// Sets up one run for a caller that has a machine with another engine.
    ///
    /// The engine itself is the kernel, so the kernel that all arms name is not applied.
    ///
    /// # Errors
    /// If there is no such case or arm, if the arms differ by their kernels, or if the run cannot be set up.
    pub(crate) fn begin(&self, case: &str, arm: &str, seed: u64) -> Result<(Setup, PreparedCase), StudyError> {
        let found = self.cases.iter().find(|known| known.name == case);
        let arm = self.definition.arms.iter().find(|known| known.name == arm);
        let (case, arm) = found.zip(arm).ok_or_else(|| StudyError::measurement(format!("there is no run `{case}`")))?;
        let kernel = arm.settings.kernel;
        if self.definition.arms.iter().any(|other| other.settings.kernel != kernel) {
            let kernel = kernel.map_or("", |kernel| kernel.name);
            let what =
                format!("arm `{}` has another kernel than other arms, {kernel}, and an engine is one kernel", arm.name);
            let help = "select rows without that arm: --row, --table";
            return Err(StudyError::rejected_options(&self.definition.name, what, help));
        }
        self.env.begin(case, arm, seed, &self.variation())
    }

    /// Notes on the method: the study's own, the runs with their lengths and seeds, and a permutation of
    /// simultaneous events.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.definition.notes.clone();
        let mut run_texts: Vec<String> = Vec::new();
        for run in &self.definition.runs {
            let of_run = self.cases.iter().filter(|case| case.run == run.name);
            let Some(case) = of_run.clone().next() else { continue };
            let length = match (case.span, case.warm_up) {
                (Some(span), None) => format!(", {}", span::TimeSpan(span)),
                (Some(span), Some(Warmup::After(time))) => {
                    format!(", {} after {}", span::TimeSpan(span), span::TimeSpan(time))
                }
                (Some(span), Some(Warmup::Settled { .. })) => format!(", {} once settled", span::TimeSpan(span)),
                (None, _) => String::new(),
            };
            let machine = case.machine.as_deref().unwrap_or(self.env.default_machine);
            let runs = if case.seeds == 1 { "once".to_owned() } else { format!("{} seeds", case.seeds) };
            run_texts.push(format!("{} on {machine}{length}, {runs}", run.name));
        }
        notes.push(format!(
            "Runs: {}. A spread is half the range over the seeds; an interval has 95 % of {} bootstrap draws.",
            run_texts.join("; "),
            fairlab_experiment::statistics::NR_DRAWS
        ));
        notes.extend(self.choices.perturb_note());
        if self.choices.options.quick && self.definition.robustness.is_some() {
            notes.push("The table of robustness is filled only without --quick.".to_owned());
        }
        notes
    }
}
