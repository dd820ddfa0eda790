// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of a parsed study: names in charts and `[robustness]`, paths without a value, and runs that cannot
//! start.
//!
//! The last two need a trial of each run, a few milliseconds long.

use super::data_study::DataStudy;
use super::execute::Variation;
use super::figures::MetricError;
use super::keys::ChartKind;
use crate::error::{StudyError, error_in, unknown};
use fairlab_experiment::pool;
use fairlab_measure::path::ResultPath;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use std::collections::BTreeSet;

/// Length of a trial, after the warm-up.
const TRIAL: Nanos = Nanos::from_millis(20);

impl DataStudy<'_> {
    /// Checks the paths of figures, and the names in charts and `[robustness]`.
    pub(super) fn check_names(&self) -> Result<(), Message> {
        let wrong = |place: &str, text: &str, help: &str| Err(error_in(self.file, place, text, help));
        for (name, figure) in &self.definition.figures {
            figure.paths().map_err(|error| error.about(format!("figure {name}")).with_file(self.file))?;
        }
        let tables: Vec<&str> = self.definition.tables.iter().map(|table| table.name.as_str()).collect();
        let arms: Vec<&str> = self.definition.arms.iter().map(|arm| arm.name.as_str()).collect();
        let runs: Vec<&str> = self.cases.iter().map(|case| case.name.as_str()).collect();
        for picture in &self.definition.pictures {
            let place = format!("picture {}", picture.name);
            if let Some(arm) = picture.arms.iter().find(|arm| !arms.contains(&arm.as_str())) {
                return Err(unknown(self.file, &place, "arm", arm, &arms));
            }
            let (names, what, given) = match picture.kind {
                ChartKind::Histogram => (&runs, "run", &picture.run),
                _ => (&tables, "table", &picture.table),
            };
            match given {
                Some(name) if names.contains(&name.as_str()) => {}
                Some(name) => return Err(unknown(self.file, &place, what, name, names)),
                None => return wrong(&place, &format!("there is no `{what}`"), &format!("add it: {what} = ...")),
            }
            if picture.kind == ChartKind::Histogram
                && picture.path.as_ref().is_none_or(|path| ResultPath::parse(path).is_err())
            {
                return wrong(
                    &place,
                    "`path` is missing or invalid",
                    "add it: path = 'measure.times[path=newidle].usecs'",
                );
            }
        }
        let Some(varied) = &self.definition.robustness else { return Ok(()) };
        match varied.tables.iter().find(|table| !tables.contains(&table.as_str())) {
            Some(table) => Err(unknown(self.file, "robustness", "table", table, &tables)),
            None => Ok(()),
        }
    }

    /// Executes a short trial of each run, and checks that its result has the figures and histograms that the
    /// study extracts. Returns the number of runs of the whole study.
    ///
    /// # Errors
    /// If a run cannot start, or no run can have a requested figure.
    pub(crate) fn try_runs(&self) -> Result<u64, StudyError> {
        let wanted = super::measure::requested_metrics(self.questions.iter().flat_map(|(_, questions)| questions));
        let taken = self.histogram_sources();
        let mut tried: BTreeSet<usize> = wanted.keys().map(|(case, _)| *case).collect();
        tried.extend(taken.iter().map(|taken| taken.case));
        let variation = Variation { trial: Some(TRIAL), ..Variation::default() };
        let arm = |case: usize| {
            let of_rows = wanted.keys().find(|(of, _)| *of == case).map(|(_, arm)| arm.as_str());
            of_rows.unwrap_or(self.definition.arms[0].name.as_str())
        };
        pool::all(tried.into_iter().collect(), |case: usize| {
            let result = self.env.run(
                &self.cases[case],
                self.definition.arm(arm(case)),
                self.cases[case].first_seed,
                &variation,
            )?;
            let figures = wanted.iter().filter(|((of, _), _)| *of == case).flat_map(|(_, figures)| figures);
            for name in figures {
                if let Err(MetricError::Wrong(error)) = self.definition.figures[name].of_run(&result) {
                    return Err(self.check_error(&format!("figure {name}"), case, error));
                }
            }
            for taken in taken.iter().filter(|taken| taken.case == case) {
                if let Err(MetricError::Wrong(error)) = (taken.extra().take)(&result) {
                    return Err(self.check_error("a picture", case, error));
                }
            }
            Ok::<_, StudyError>(())
        })?;
        Ok(wanted.keys().map(|(case, _)| self.cases[*case].seeds).sum())
    }

    fn check_error(&self, subject: &str, case: usize, error: Message) -> StudyError {
        StudyError::Input(error.about(format!("{subject}, run {}", self.cases[case].name)).with_file(self.file))
    }
}
