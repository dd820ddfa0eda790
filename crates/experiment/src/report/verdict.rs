// SPDX-License-Identifier: GPL-2.0-or-later
//! Verdict of a comparison on each arm, and one line about the metrics that do not differ: records from which the
//! sentences are printed.

use super::ComparisonReport;
use super::notes::{Note, TooFewNote};
use super::values::signed;
use crate::comparison::{ChangeVerdict, MetricChange, MetricRow};
use crate::work::WorkChange;
use fairlab_measure::plural::counted_regular as counted;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Most task families whose amounts of work are named.
const MAX_NAMED: usize = 3;
/// Most metrics that are named because they are not tested.
const MAX_NAMED_UNTESTED: usize = 6;

/// Verdict on an arm beside the first one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArmVerdict {
    /// Name of the arm.
    pub arm: String,
    /// Name of the first arm.
    pub first: String,
    /// Task families that did a different amount of work than in the first arm, the largest difference first.
    pub work_changes: Vec<WorkChange>,
    /// Whether sums are compared at equal work.
    pub has_equal_work: bool,
    /// Judgement of the metrics.
    pub judgement: Judgement,
}

/// Judgement of the metrics of an arm.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Judgement {
    /// Every run is that of the first arm, in every event and metric.
    Identical,
    /// So few repetitions cannot give a significant result.
    TooFew(TooFewNote),
    /// Metrics have become worse or better.
    Differs {
        /// Metrics that are worse; null if none is.
        worse: Option<JudgedMetrics>,
        /// Metrics that are better; null if none is.
        better: Option<JudgedMetrics>,
    },
    /// One run of each arm, so no difference is tested.
    OneRun,
    /// All repetitions are the same, so nothing can be tested.
    NoVariation,
    /// All differences are too small to matter.
    Negligible {
        /// Smallest difference that matters, in percent.
        matters_percent: f64,
        /// Number of metrics with a difference that does not matter.
        nr_metrics: usize,
    },
    /// No significant difference.
    NotSignificant {
        /// Number of tested metrics.
        nr_tested: usize,
    },
}

/// Metrics with the same verdict.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JudgedMetrics {
    /// Number of metrics.
    pub nr_metrics: usize,
    /// Metric with the largest change; if there are metrics with a goal, the one of them with the largest change.
    pub metric: String,
    /// Whether the workload states a goal for this metric.
    #[serde(default)]
    pub is_goal: bool,
    /// Change of that metric in percent; null if the first arm has none of it.
    pub percent: Option<f64>,
    /// Whether that change is a lower bound, because it rests on waits that have not ended.
    pub rests_on_open_waits: bool,
}

/// Metrics of an arm that are not in its table, by the reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtherMetrics {
    nr_identical: usize,
    nr_negligible: usize,
    nr_not_found: usize,
    /// Smallest and largest minimum detectable effect of the tested metrics without a significant difference, in percent.
    detectable: Option<[f64; 2]>,
    /// Metrics of too few repetitions whose confidence intervals contain 0.
    nr_uncertain: usize,
    nr_without_difference: usize,
    /// Names of metrics of which neither direction is better.
    unjudged: Vec<String>,
}

/// Whether a change belongs into the table: significant, or not tested but with an interval without zero.
pub fn differs(change: &MetricChange) -> bool {
    match change.verdict {
        ChangeVerdict::Better | ChangeVerdict::Worse => true,
        ChangeVerdict::NotFound | ChangeVerdict::Negligible | ChangeVerdict::Identical => false,
        ChangeVerdict::Untested => change.difference != 0.0,
        ChangeVerdict::TooFew | ChangeVerdict::Unjudged => {
            change.difference != 0.0 && change.interval.is_none_or(|[low, high]| low > 0.0 || high < 0.0)
        }
    }
}

impl ComparisonReport {
    /// Returns the verdict on an arm.
    pub fn verdict(&self, arm: usize) -> ArmVerdict {
        let mut work_changes = self.comparison.work_changes[arm - 1].clone();
        let size = |change: &WorkChange| change.percent.map_or(f64::INFINITY, f64::abs);
        work_changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
        ArmVerdict {
            arm: self.arms[arm].clone(),
            first: self.arms[0].clone(),
            work_changes,
            has_equal_work: self.has_equal_work(),
            judgement: self.judgement(arm),
        }
    }

    fn judgement(&self, arm: usize) -> Judgement {
        if self.is_identical(arm) {
            return Judgement::Identical;
        }
        if let Some(note) = self.too_few() {
            return Judgement::TooFew(note);
        }
        let rows = || self.comparison.rows.iter();
        let with = |verdict: ChangeVerdict| rows().filter(move |row| row.changes[arm - 1].verdict == verdict);
        let [worse, better] =
            [ChangeVerdict::Worse, ChangeVerdict::Better].map(|verdict| JudgedMetrics::new(with(verdict), arm));
        if worse.is_some() || better.is_some() {
            return Judgement::Differs { worse, better };
        }
        if with(ChangeVerdict::Untested).next().is_some() {
            return if self.comparison.repetitions == 1 { Judgement::OneRun } else { Judgement::NoVariation };
        }
        let nr_tested = rows().filter(|row| row.changes[arm - 1].p.is_some()).count();
        if with(ChangeVerdict::NotFound).next().is_none() {
            let nr_metrics = with(ChangeVerdict::Negligible).count();
            return Judgement::Negligible { matters_percent: self.comparison.matters_percent, nr_metrics };
        }
        Judgement::NotSignificant { nr_tested }
    }
}

impl JudgedMetrics {
    /// Creates the record of the metrics in these rows; of equal changes the first is named. Metrics for which the workload
    /// states a goal come before all others.
    fn new<'a>(rows: impl Iterator<Item = &'a MetricRow> + Clone, arm: usize) -> Option<Self> {
        let nr_metrics = rows.clone().count();
        let size = |row: &MetricRow| (row.metric.is_goal, row.changes[arm - 1].percent.unwrap_or(0.0).abs());
        let most = rows.reduce(|most, row| if size(row) > size(most) { row } else { most })?;
        let MetricChange { percent, rests_on_open_waits, .. } = most.changes[arm - 1];
        let (metric, is_goal) = (most.metric.name.clone(), most.metric.is_goal);
        Some(Self { nr_metrics, metric, is_goal, percent, rests_on_open_waits })
    }
}

impl OtherMetrics {
    /// Creates the record of the metrics in these rows.
    pub fn new(rows: &[&MetricRow], arm: usize) -> Self {
        let mut others = Self::default();
        for row in rows {
            let change = &row.changes[arm - 1];
            match change.verdict {
                ChangeVerdict::Identical => others.nr_identical += 1,
                ChangeVerdict::Negligible => others.nr_negligible += 1,
                ChangeVerdict::NotFound => {
                    others.nr_not_found += 1;
                    if let Some(effect) = change.could_show_percent {
                        let [low, high] = others.detectable.unwrap_or([effect; 2]);
                        others.detectable = Some([low.min(effect), high.max(effect)]);
                    }
                }
                ChangeVerdict::TooFew if change.interval.is_some() => others.nr_uncertain += 1,
                ChangeVerdict::TooFew | ChangeVerdict::Untested => others.nr_without_difference += 1,
                ChangeVerdict::Unjudged => others.unjudged.push(row.metric.name.clone()),
                ChangeVerdict::Better | ChangeVerdict::Worse => {}
            }
        }
        others
    }
}

impl fmt::Display for ArmVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { arm, first, work_changes, has_equal_work, judgement } = self;
        if !work_changes.is_empty() {
            let percent = |change: &WorkChange| {
                change.percent.map_or_else(|| "none before".to_owned(), |percent| format!("{} %", signed(percent)))
            };
            let named = work_changes.iter().take(MAX_NAMED);
            let named: Vec<String> =
                named.map(|change| format!("{} of {} {}", change.amount, change.family, percent(change))).collect();
            write!(f, "`{arm}` did a different amount of work ({}", named.join(", "))?;
            if work_changes.len() > MAX_NAMED {
                write!(f, " and {} more", work_changes.len() - MAX_NAMED)?;
            }
            f.write_str(if *has_equal_work { "), so sums are compared at equal work; " } else { "); " })?;
        }
        match judgement {
            Judgement::Identical => Note::IdenticalArms { arm: arm.clone(), first: first.clone() }.fmt(f),
            Judgement::TooFew(note) => write!(f, "no verdict on `{arm}`: {note}"),
            Judgement::Differs { worse, better } => {
                let with = |kind: &'static str, metrics: &Option<JudgedMetrics>| {
                    let text = metrics.as_ref().map(|metrics| format!("{kind} than `{first}` in {metrics}"));
                    (metrics.as_ref().is_some_and(|metrics| metrics.is_goal), text)
                };
                let [(is_worse_first, worse), (is_better_first, better)] =
                    [with("worse", worse), with("better", better)];
                let parts = if is_better_first && !is_worse_first { [better, worse] } else { [worse, better] };
                let parts: Vec<String> = parts.into_iter().flatten().collect();
                write!(f, "`{arm}` is {}", parts.join(", and "))
            }
            Judgement::OneRun => write!(f, "one run of `{first}` and one of `{arm}`: no difference is tested"),
            Judgement::NoVariation => {
                write!(f, "no verdict on `{arm}`: the runs of an arm do not vary, so that nothing can be tested")
            }
            Judgement::Negligible { matters_percent, nr_metrics } => {
                let metrics = counted(*nr_metrics, "metric");
                write!(f, "no difference that matters ({matters_percent} %) between `{first}` and `{arm}` in {metrics}")
            }
            Judgement::NotSignificant { nr_tested } => {
                let metrics = counted(*nr_tested, "tested metric");
                write!(f, "no significant difference between `{first}` and `{arm}` in {metrics}")
            }
        }
    }
}

impl fmt::Display for JudgedMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nr_metrics, metric, is_goal, percent, rests_on_open_waits } = self;
        if *nr_metrics > 1 && !is_goal {
            write!(f, "{nr_metrics} metrics, most in ")?;
        }
        f.write_str(metric)?;
        match (percent, rests_on_open_waits) {
            (Some(percent), false) => write!(f, " ({} %)", signed(*percent))?,
            (Some(percent), true) => write!(f, " ({} %, waits that have not ended)", signed(*percent))?,
            (None, false) => {}
            (None, true) => f.write_str(" (waits that have not ended)")?,
        }
        if *nr_metrics > 1 && *is_goal {
            write!(f, " and {}", counted(*nr_metrics - 1, "other metric"))?;
        }
        Ok(())
    }
}

impl fmt::Display for OtherMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metrics =
            |number: usize, noun: &str, end: &str| (number > 0).then(|| format!("{}{end}", counted(number, noun)));
        let effect = |percent: f64| signed(percent).trim_start_matches('+').to_owned();
        let detectable = self.detectable.map_or_else(String::new, |[low, high]| match effect(low) == effect(high) {
            true => format!(" (minimum detectable effect {} %)", effect(low)),
            false => format!(" (minimum detectable effect {} to {} %)", effect(low), effect(high)),
        });
        let named = self.unjudged.iter().take(MAX_NAMED_UNTESTED).cloned().collect::<Vec<_>>().join(", ");
        let more = self.unjudged.len().saturating_sub(MAX_NAMED_UNTESTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let parts = [
            metrics(self.nr_identical, "metric", ": identical"),
            metrics(self.nr_negligible, "metric", " without a difference that matters"),
            metrics(self.nr_not_found, "tested metric", &format!(" without a significant difference{detectable}")),
            metrics(self.nr_uncertain, "metric", " whose confidence intervals contain 0"),
            metrics(self.nr_without_difference, "metric", " without a difference"),
            metrics(self.unjudged.len(), "metric", &format!(" not tested ({named}{more})")),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(judgement: Judgement) -> String {
        let (arm, first) = ("b".to_owned(), "a".to_owned());
        ArmVerdict { arm, first, work_changes: Vec::new(), has_equal_work: false, judgement }.to_string()
    }

    #[test]
    fn each_judgement_has_its_sentence() {
        let metrics = |nr_metrics, percent, rests_on_open_waits| {
            let metric = "waits".to_owned();
            Some(JudgedMetrics { nr_metrics, metric, is_goal: false, percent, rests_on_open_waits })
        };
        let late = JudgedMetrics {
            nr_metrics: 3,
            metric: "frame: late".to_owned(),
            is_goal: true,
            percent: Some(-50.0),
            rests_on_open_waits: false,
        };
        let too_few = TooFewNote { distinct: 3, has_duplicates: false, nr_tests: 1, level_percent: 5.0, enough: 6 };
        for (judgement, expected) in [
            (
                Judgement::Identical,
                "`b` made no difference: every run is identical to that of `a` in every event and metric",
            ),
            (
                Judgement::TooFew(too_few),
                "no verdict on `b`: 3 repetitions cannot find any difference in 1 test at 5 %, however large it is; at least 6 could (--runs 6), or fewer tests (--metric NAME, fewer arms)",
            ),
            (
                Judgement::Differs { worse: metrics(1, Some(12.34), false), better: None },
                "`b` is worse than `a` in waits (+12 %)",
            ),
            (
                Judgement::Differs { worse: metrics(1, None, false), better: metrics(2, Some(-1.25), true) },
                "`b` is worse than `a` in waits, and better than `a` in 2 metrics, most in waits (-1.2 %, waits that have not ended)",
            ),
            (
                Judgement::Differs { worse: None, better: metrics(1, None, true) },
                "`b` is better than `a` in waits (waits that have not ended)",
            ),
            (
                Judgement::Differs { worse: metrics(1, Some(900.0), false), better: Some(late) },
                "`b` is better than `a` in frame: late (-50 %) and 2 other metrics, and worse than `a` in waits (+900 %)",
            ),
            (Judgement::OneRun, "one run of `a` and one of `b`: no difference is tested"),
            (
                Judgement::NoVariation,
                "no verdict on `b`: the runs of an arm do not vary, so that nothing can be tested",
            ),
            (
                Judgement::Negligible { matters_percent: 1.0, nr_metrics: 1 },
                "no difference that matters (1 %) between `a` and `b` in 1 metric",
            ),
            (
                Judgement::NotSignificant { nr_tested: 4 },
                "no significant difference between `a` and `b` in 4 tested metrics",
            ),
        ] {
            assert_eq!(print(judgement), expected);
        }
    }

    #[test]
    fn different_amounts_of_work_come_first() {
        let change =
            |family: &str, percent| WorkChange { family: family.to_owned(), amount: "loops".to_owned(), percent };
        let verdict = |work_changes, has_equal_work| ArmVerdict {
            arm: "b".to_owned(),
            first: "a".to_owned(),
            work_changes,
            has_equal_work,
            judgement: Judgement::OneRun,
        };
        let end = "one run of `a` and one of `b`: no difference is tested";
        assert_eq!(
            verdict(vec![change("x", None), change("y", Some(-50.0))], false).to_string(),
            format!("`b` did a different amount of work (loops of x none before, loops of y -50 %); {end}")
        );
        let many = ["x", "y", "z", "w"].map(|family| change(family, Some(5.0))).to_vec();
        let three = verdict(many[..3].to_vec(), false).to_string();
        assert!(three.contains("loops of z +5.0 %); "), "as many as are named: {three}");
        assert_eq!(
            verdict(many, true).to_string(),
            format!(
                "`b` did a different amount of work (loops of x +5.0 %, loops of y +5.0 %, loops of z +5.0 % and 1 more), so sums are compared at equal work; {end}"
            )
        );
    }

    #[test]
    fn metrics_that_do_not_differ_are_counted_by_the_reason() {
        let others = OtherMetrics {
            nr_identical: 1,
            nr_negligible: 2,
            nr_not_found: 3,
            detectable: Some([1.0, 2.5]),
            nr_uncertain: 4,
            nr_without_difference: 5,
            unjudged: ["a", "b", "c", "d", "e", "f", "g"].map(str::to_owned).to_vec(),
        };
        let expected = "1 metric: identical, 2 metrics without a difference that matters, 3 tested metrics without a significant difference (minimum detectable effect 1.0 to 2.5 %), 4 metrics whose confidence intervals contain 0, 5 metrics without a difference, 7 metrics not tested (a, b, c, d, e, f and 1 more)";
        assert_eq!(others.to_string(), expected);
        let alone = OtherMetrics { nr_not_found: 1, detectable: Some([1.0, 1.01]), ..OtherMetrics::default() };
        assert_eq!(
            alone.to_string(),
            "1 tested metric without a significant difference (minimum detectable effect 1.0 %)"
        );
        let unjudged = OtherMetrics { unjudged: vec!["a".to_owned()], ..OtherMetrics::default() };
        assert_eq!(unjudged.to_string(), "1 metric not tested (a)");
    }
}
