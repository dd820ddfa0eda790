// SPDX-License-Identifier: GPL-2.0-or-later
//! Execution of a study's data.

use super::data_study::DataStudy;
use super::keys::ROBUSTNESS_TABLE;
use super::{charts, measure, robustness};
use crate::error::StudyError;
use crate::report::ReportTable;
use fairlab_experiment::charts::Chart;

/// Fraction of a full study's progress that the table `robustness` takes.
const ROBUSTNESS_SHARE: f64 = 0.6;

/// Tables, charts and notes of a study's data.
pub(crate) struct DataStudyResult {
    /// Filled tables, in the order of the data.
    pub(crate) tables: Vec<ReportTable>,
    pub(crate) pictures: Vec<Chart>,
    /// Notes on the method: runs, lengths and seeds.
    pub(crate) notes: Vec<String>,
}

impl DataStudy<'_> {
    /// Runs everything that rows and charts need. `on_step` is called for each completed step with its name and
    /// its fraction of the whole.
    ///
    /// # Errors
    /// If a run fails, or its result lacks a figure.
    pub(crate) fn run(&self, on_step: &(dyn Fn(&str, f64) + Sync)) -> Result<DataStudyResult, StudyError> {
        let varied = self.definition.robustness.as_ref().filter(|_| !self.choices.options.quick);
        let table = self.definition.tables.iter().find(|table| table.name == ROBUSTNESS_TABLE && !table.is_data());
        let to_vary = varied.zip(table);
        let part = if to_vary.is_some() { 1.0 - ROBUSTNESS_SHARE } else { 1.0 };
        let variation = self.variation();
        let taken = self.histogram_sources();
        let mut wanted = measure::requested_metrics(self.questions.iter().flat_map(|(_, questions)| questions));
        for extra in &taken {
            wanted.entry((extra.case, extra.arm.clone())).or_default();
        }
        let extras: Vec<_> = taken.iter().map(charts::HistogramSource::extra).collect();
        let on_partial_step = |step: &str, share: f64| on_step(step, part * share);
        let numbers =
            measure::run(self.definition, &self.cases, &wanted, &extras, &self.env, &variation, &on_partial_step)?;
        let mut tables: Vec<ReportTable> =
            self.questions.iter().map(|(table, questions)| numbers.table(self.definition, table, questions)).collect();
        let pictures = self.pictures(&tables, &taken, &numbers);
        if let Some((varied, table)) = to_vary {
            let on_step = |step: &str, part: f64| on_step(step, ROBUSTNESS_SHARE * part);
            tables.push(robustness::table(self, table, varied, &on_step)?);
        }
        Ok(DataStudyResult { tables, pictures, notes: self.notes() })
    }
}
