// SPDX-License-Identifier: GPL-2.0-or-later
//! `[figure.NAME]`: a number that is extracted from the result of a run, and the statistic that combines
//! several runs.

use fairlab_experiment::statistics::Statistic;
use fairlab_measure::path::ResultPath;
use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Definition of a figure in a study's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureDefinition {
    /// Path of the number in the JSON result of a run.
    pub path: String,
    /// Path of the divisor, if the number is divided by another one.
    pub per: Option<String>,
    /// Factor that the number is multiplied by; 1 by default.
    #[serde(default = "unit_factor")]
    pub scale: f64,
    /// Statistic that combines several numbers at `path`; the sum by default. Numbers at `per` are always
    /// added up.
    #[serde(default = "sum")]
    pub each: Statistic,
    /// Value if a run has no number at the path; without it, a missing number is an error.
    pub missing: Option<f64>,
    /// Statistic that combines the numbers of several runs; the mean by default.
    #[serde(default = "mean")]
    pub runs: Statistic,
}

const fn unit_factor() -> f64 {
    1.0
}

const fn sum() -> Statistic {
    Statistic::Sum
}

const fn mean() -> Statistic {
    Statistic::Mean
}

/// Reason why a run has no value for a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MetricError {
    /// No run can have this path, so the study's data are wrong.
    Wrong(Message),
    /// The run has no number at the path.
    Nothing(String),
}

impl FigureDefinition {
    /// Parses the paths of the number and of its divisor.
    ///
    /// # Errors
    /// A description of the error in one of them.
    pub(crate) fn paths(&self) -> Result<(ResultPath, Option<ResultPath>), Message> {
        Ok((ResultPath::parse(&self.path)?, self.per.as_deref().map(ResultPath::parse).transpose()?))
    }

    /// Returns the value of one run from its JSON result.
    ///
    /// # Errors
    /// If this run, or every run, has no number at one of the paths.
    pub(crate) fn of_run(&self, result: &Value) -> Result<f64, MetricError> {
        let (path, per) = self.paths().map_err(MetricError::Wrong)?;
        let numbers = path.numbers(result).map_err(MetricError::Wrong)?;
        let value = if numbers.is_empty() && self.each != Statistic::Count {
            self.missing.ok_or_else(|| MetricError::Nothing(path.text().to_owned()))?
        } else {
            self.each.of(&numbers)
        };
        let Some(per) = per else { return Ok(value * self.scale) };
        let divisor: f64 = per.numbers(result).map_err(MetricError::Wrong)?.iter().sum();
        if divisor == 0.0 {
            return self.missing.ok_or_else(|| MetricError::Nothing(per.text().to_owned()));
        }
        Ok(value / divisor * self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(text: &str) -> Result<f64, MetricError> {
        let figure: FigureDefinition = toml::from_str(text).expect("it is a figure");
        figure.of_run(&json!({ "cpus": [{ "busy_ns": 3 }, { "busy_ns": 5 }], "none": [], "zero": 0, "count": 4.0 }))
    }

    #[test]
    fn a_figure_is_what_its_numbers_come_to_by_its_divisor_and_scale() {
        assert_eq!(of("path = 'cpus[*].busy_ns'"), Ok(8.0));
        assert_eq!(of("path = 'cpus[*].busy_ns'\neach = 'max'\nscale = 0.5"), Ok(2.5));
        assert_eq!(of("path = 'cpus[1].busy_ns'\nper = 'cpus[*].busy_ns'\nscale = 100"), Ok(62.5));
        assert_eq!(of("path = 'cpus[*].busy_ns'\neach = 'count'"), Ok(2.0));
        assert_eq!(of("path = 'none[*].x'\neach = 'count'"), Ok(0.0));
    }

    #[test]
    fn what_a_run_does_not_tell_is_an_error_unless_the_data_say_what_it_is() {
        assert_eq!(of("path = 'none[*].x'"), Err(MetricError::Nothing("none[*].x".to_owned())));
        assert_eq!(of("path = 'none[*].x'\nmissing = 0"), Ok(0.0));
        assert_eq!(of("path = 'count'\nper = 'zero'"), Err(MetricError::Nothing("zero".to_owned())));
        assert_eq!(of("path = 'count'\nper = 'zero'\nmissing = 7"), Ok(7.0));
        let Err(MetricError::Wrong(error)) = of("path = 'cpus[*].bsy_ns'") else { panic!("no run has that") };
        assert_eq!(error.one_line(), "`cpus[*]` has no `bsy_ns` help: did you mean `busy_ns`? there is: busy_ns");
        assert!(matches!(of("path = 'cpu[*]'"), Err(MetricError::Wrong(error)) if error.text == "a run has no `cpu`"));
    }
}
