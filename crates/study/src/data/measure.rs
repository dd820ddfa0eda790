// SPDX-License-Identifier: GPL-2.0-or-later
//! Executes each run that rows need once, and fills the tables with the results.

use super::execute::{RunEnv, Variation};
use super::figures::MetricError;
use super::rows::RowQuery;
use super::runs::RunCase;
use crate::definition::{StudyDefinition, TableDefinition};
use crate::error::StudyError;
use crate::report::{MeasuredFigure, ReportRow, ReportTable};
use fairlab_experiment::pool;
use fairlab_workload::message::Message;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Names of the figures that are needed from each case and arm.
pub(crate) type RequestedMetrics = BTreeMap<(usize, String), BTreeSet<String>>;

/// Extracts pairs of value and count from the JSON result of a run.
pub(crate) type ExtractPairsFn = dyn Fn(&Value) -> Result<Vec<[f64; 2]>, MetricError> + Sync;

/// Histogram to extract from a run in addition to its figures.
pub(crate) struct HistogramRequest<'a> {
    pub(crate) case: usize,
    pub(crate) arm: &'a str,
    pub(crate) take: &'a ExtractPairsFn,
}

/// Numbers of all runs by case, arm and figure, in the order of the seeds.
#[derive(Debug, Default)]
pub(crate) struct RunNumbers {
    by_figure: BTreeMap<(usize, String, String), Vec<f64>>,
    /// Extracted histograms of the first seed, in the order of the requests.
    pub(crate) extras: Vec<Vec<[f64; 2]>>,
}

/// Returns the figures that rows need from each case and arm; a change needs both of its arms.
pub(crate) fn requested_metrics<'a>(questions: impl Iterator<Item = &'a RowQuery>) -> RequestedMetrics {
    let mut wanted = RequestedMetrics::new();
    for question in questions {
        for arm in [Some(&question.row.arm), question.from.as_ref()].into_iter().flatten() {
            wanted.entry((question.case, arm.clone())).or_default().insert(question.figure.clone());
        }
    }
    wanted
}

/// Executes all requested runs. `on_run` is called for each completed run with its name and its fraction of all
/// runs.
///
/// # Errors
/// If a run fails, or its result lacks a figure.
pub(crate) fn run(
    study: &StudyDefinition,
    cases: &[RunCase],
    wanted: &RequestedMetrics,
    extras: &[HistogramRequest<'_>],
    env: &RunEnv<'_>,
    variation: &Variation,
    on_run: &(dyn Fn(&str, f64) + Sync),
) -> Result<RunNumbers, StudyError> {
    let mut jobs = Vec::new();
    let pairs: Vec<_> = wanted.iter().collect();
    for (place, ((case, _), _)) in pairs.iter().enumerate() {
        let seeds = variation.most_seeds.map_or(cases[*case].seeds, |most| most.min(cases[*case].seeds));
        jobs.extend((0..seeds).map(|number| (place, number)));
    }
    let part = 1.0 / jobs.len().max(1) as f64;
    let one = |(place, number): (usize, u64)| {
        let ((case, arm), figures) = pairs[place];
        let case = *case;
        let seed = cases[case].first_seed + number + variation.seeds_from;
        let answer = env.run(&cases[case], study.arm(arm), seed, variation)?;
        let of_run = |figure: &str, lack| error_of(&cases[case], arm, seed, figure, lack);
        let number_of = |name: &String| study.figures[name].of_run(&answer).map_err(|lack| of_run(name, lack));
        let numbers: Vec<f64> = figures.iter().map(number_of).collect::<Result<_, _>>()?;
        let beside = |(place, extra): (usize, &HistogramRequest<'_>)| {
            (number == 0 && extra.case == case && extra.arm == arm.as_str())
                .then(|| (extra.take)(&answer).map(|pairs| (place, pairs)).map_err(|lack| of_run("a picture", lack)))
        };
        let beside: Vec<_> = extras.iter().enumerate().filter_map(beside).collect::<Result<_, _>>()?;
        on_run(&format!("{}, {arm}", cases[case].name), part);
        Ok::<_, StudyError>((place, numbers, beside))
    };
    let mut all = RunNumbers { extras: vec![Vec::new(); extras.len()], ..RunNumbers::default() };
    for (place, numbers, beside) in pool::all(jobs, one)? {
        let ((case, arm), figures) = pairs[place];
        for (figure, number) in figures.iter().zip(numbers) {
            all.by_figure.entry((*case, arm.clone(), figure.clone())).or_default().push(number);
        }
        for (place, pairs) in beside {
            all.extras[place] = pairs;
        }
    }
    Ok(all)
}

fn error_of(case: &RunCase, arm: &str, seed: u64, figure: &str, lack: MetricError) -> StudyError {
    let place = format!("figure {figure}: run {}, arm {arm}, seed {seed}", case.name);
    let error = match lack {
        MetricError::Wrong(error) => error,
        MetricError::Nothing(path) => Message::new(format!("has no value at `{path}`"))
            .with_help("if that is expected, give the value to use then: missing = 0"),
    };
    StudyError::Measurement(error.about(place))
}

impl RunNumbers {
    fn of(&self, question: &RowQuery, arm: &str) -> &[f64] {
        &self.by_figure[&(question.case, arm.to_owned(), question.figure.clone())]
    }

    /// Returns a table filled with the statistics of the runs.
    pub(crate) fn table(
        &self,
        study: &StudyDefinition,
        table: &TableDefinition,
        questions: &[RowQuery],
    ) -> ReportTable {
        let row = |question: &RowQuery| {
            let statistic = study.figures[&question.figure].runs;
            let values = self.of(question, &question.row.arm);
            let measured = match &question.from {
                Some(from) => {
                    MeasuredFigure::change_of_runs(statistic, table.change_as, self.of(question, from), values)
                }
                None => MeasuredFigure::from_runs(statistic, values),
            };
            let measured = measured.with_remark(question.row.remark.clone().unwrap_or_default());
            ReportRow::new(table, &question.row, measured)
        };
        ReportTable { name: table.name.clone(), title: table.title.clone(), rows: questions.iter().map(row).collect() }
    }

    /// Returns the numbers of a case's runs under an arm for a figure, in the order of the seeds.
    pub(crate) fn of_runs(&self, case: usize, arm: &str, figure: &str) -> Option<&[f64]> {
        self.by_figure.get(&(case, arm.to_owned(), figure.to_owned())).map(Vec::as_slice)
    }
}
