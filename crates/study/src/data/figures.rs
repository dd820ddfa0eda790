// SPDX-License-Identifier: GPL-2.0-or-later
//! `[figure.NAME]`: what number is taken from a run, and how that of several runs becomes one.

use super::path::{PathError, ResultPath};
use crate::statistics::Statistic;
use fairlab_workload::suggest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A figure, as the data say it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureDefinition {
    /// Where it stands in what a run tells.
    pub path: String,
    /// It is divided by what stands here.
    pub per: Option<String>,
    /// It is multiplied by this.
    #[serde(default = "unit_factor")]
    pub scale: f64,
    /// How several numbers at the path become one; those of `per` are added up.
    #[serde(default = "sum")]
    pub each: Statistic,
    /// What it is where a run tells nothing; without this that is an error.
    pub missing: Option<f64>,
    /// How the numbers of several runs become one.
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

/// Why a run has no such figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MetricError {
    /// No run has such a place: the data are wrong.
    Wrong(String, String),
    /// This run tells nothing there.
    Nothing(String),
}

impl FigureDefinition {
    /// Reads its paths.
    ///
    /// # Errors
    /// What is wrong with one.
    pub(crate) fn paths(&self) -> Result<(ResultPath, Option<ResultPath>), String> {
        Ok((ResultPath::parse(&self.path)?, self.per.as_deref().map(ResultPath::parse).transpose()?))
    }

    /// The number of a run.
    ///
    /// # Errors
    /// If a run tells nothing there, or none does.
    pub(crate) fn of_run(&self, told: &Value) -> Result<f64, MetricError> {
        let (path, per) = self.paths().map_err(|what| MetricError::Wrong(what, "mend the path".to_owned()))?;
        let numbers = path.numbers(told).map_err(metric_error)?;
        let value = if numbers.is_empty() && self.each != Statistic::Count {
            self.missing.ok_or_else(|| MetricError::Nothing(path.text().to_owned()))?
        } else {
            self.each.of(&numbers)
        };
        let Some(per) = per else { return Ok(value * self.scale) };
        let divisor: f64 = per.numbers(told).map_err(metric_error)?.iter().sum();
        if divisor == 0.0 {
            return self.missing.ok_or_else(|| MetricError::Nothing(per.text().to_owned()));
        }
        Ok(value / divisor * self.scale)
    }
}

fn metric_error(miss: PathError) -> MetricError {
    let at = |at: String| if at.is_empty() { "a run".to_owned() } else { format!("`{at}`") };
    match miss {
        PathError::Key { at: place, key, known } => {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            MetricError::Wrong(format!("{} has no `{key}`", at(place)), suggest::help(&key, "there is", &known))
        }
        PathError::Kind { at: place, what } => MetricError::Wrong(
            format!("{} {what}", at(place)),
            "`fairlab run --json` and `fairlab bench --json` show what there is".to_owned(),
        ),
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
        let Err(MetricError::Wrong(what, help)) = of("path = 'cpus[*].bsy_ns'") else { panic!("no run has that") };
        assert_eq!(
            (what.as_str(), help.as_str()),
            ("`cpus[*]` has no `bsy_ns`", "did you mean `busy_ns`? there is: busy_ns")
        );
        assert!(matches!(of("path = 'cpu[*]'"), Err(MetricError::Wrong(what, _)) if what == "a run has no `cpu`"));
    }
}
