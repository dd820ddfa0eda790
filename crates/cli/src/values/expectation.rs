// SPDX-License-Identifier: GPL-2.0-or-later
//! Expectation of `fairlab kernel bisect`: a metric and a bound.

use crate::values::error::CliError;
use fairlab_experiment::metrics::{Metric, RequestedMetric};
use fairlab_run::values::parse_time;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;

/// Condition that holds before the change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expectation {
    pub(crate) text: String,
    pub(crate) asked: RequestedMetric,
    is_below: bool,
    /// Bound; a time is converted to the unit of the metric.
    value: ExpectedValue,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ExpectedValue {
    Number(f64),
    Time(Nanos),
}

impl Expectation {
    /// Parses `METRIC < VALUE` or `METRIC > VALUE`.
    pub(crate) fn parse(text: &str) -> Result<Self, Message> {
        let help = "write METRIC < VALUE, for example 'ui: wake to run p99 < 2ms'";
        let place = text.rfind(['<', '>']);
        let place = place.ok_or_else(|| Message::new("the comparison is missing").with_help(help))?;
        let (metric, value) = (text[..place].trim(), text[place + 1..].trim());
        if metric.is_empty() || value.is_empty() {
            return Err(Message::new("one side is missing").with_help(help));
        }
        let value = match value.parse::<f64>() {
            Ok(number) => ExpectedValue::Number(number),
            Err(_) => ExpectedValue::Time(parse_time(value)?),
        };
        Ok(Self {
            text: text.to_owned(),
            asked: RequestedMetric::parse(metric)?,
            is_below: text[place..].starts_with('<'),
            value,
        })
    }

    /// Whether the expectation holds for a value of a metric.
    pub(crate) fn holds(&self, metric: &Metric, value: f64) -> Result<bool, CliError> {
        let bound = match self.value {
            ExpectedValue::Number(number) => number,
            ExpectedValue::Time(time) => {
                let ns_of = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
                let Some((_, ns)) = ns_of.iter().find(|(unit, _)| *unit == metric.unit) else {
                    let what = if metric.unit.is_empty() { "a number" } else { &metric.unit };
                    return Err(CliError::with_help(
                        format!("--expect {}: {} is not a time", self.text, metric.name),
                        format!("give {what} without a unit of time"),
                    ));
                };
                time.0 as f64 / ns
            }
        };
        Ok(if self.is_below { value < bound } else { value > bound })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_experiment::metrics::MetricDirection;

    fn metric(unit: &str) -> Metric {
        Metric { name: "time".to_owned(), unit: unit.to_owned(), better: MetricDirection::Less, ..Metric::default() }
    }

    #[test]
    fn an_expectation_is_read_in_the_metrics_own_unit() {
        let expectation = Expectation::parse("ui: wake to run p99 < 2ms").expect("it is one");
        assert_eq!(expectation.asked.text(), "ui: wake to run p99");
        let holds = |unit: &str, value: f64| expectation.holds(&metric(unit), value).expect("it is a time");
        assert!(holds("ns", 1_999_999.0) && !holds("ns", 2_000_000.0) && holds("s", 0.001) && !holds("s", 0.1));
        assert!(expectation.holds(&metric(""), 1.0).is_err(), "a number is no time");
        let more = Expectation::parse("totals.migrations > 12").expect("it is one");
        assert!(more.holds(&metric(""), 13.0).expect("it is a number") && !more.is_below);
        for wrong in ["p99", "p99 <", "< 3", "p99 < soon"] {
            assert!(Expectation::parse(wrong).is_err(), "{wrong}");
        }
    }
}
