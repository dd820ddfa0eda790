// SPDX-License-Identifier: GPL-2.0-or-later
//! Arms beside each other: per metric what each comes to, how far the others are from the first, and what that is worth.
//!
//! Rules:
//! 1. Repetitions in which every arm did, event for event, what it did in an earlier one are that one again: they are left out, and counted.
//! 2. A metric is compared if every run has it.
//! 3. A difference is that of the arms' means or medians; its interval comes from repetitions that are drawn in pairs.
//! 4. Only metrics of which one way is better are tested, with the signed ranks of the pairs. Corrected are all tests of the comparison.
//! 5. If so few repetitions can find no difference in so many tests, however large it is, that is said of each, and not that none was found.
//! 6. Where nothing was found, the smallest difference is told that so many repetitions could have shown, with the correction that the
//!    least of all probabilities gets.

use super::Observation;
use super::metrics::{Metric, MetricDirection};
use super::power;
use super::rank::{SignedRank, enough, holm, signed_rank};
use crate::statistics::{Statistic, interval_of_pairs, widened_interval_of_pairs};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// How arms are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparisonRules {
    /// How the runs of an arm become one number: mean or median.
    pub statistic: Statistic,
    /// How often a difference may be found where there is none.
    pub level: f64,
    /// A difference in percent, of which is told how many repetitions would show it.
    pub detect_percent: f64,
}

impl Default for ComparisonRules {
    fn default() -> Self {
        Self { statistic: Statistic::Mean, level: 0.05, detect_percent: 1.0 }
    }
}

/// What is said of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeVerdict {
    /// It is there, and for the better.
    Better,
    /// It is there, and for the worse.
    Worse,
    /// None was found.
    NotFound,
    /// So few repetitions cannot find any in so many tests.
    TooFew,
    /// Every run is the same in both arms.
    Identical,
    /// There is but one repetition, so that nothing says how much would be an accident.
    Untested,
    /// Neither way is better.
    Unjudged,
}

impl std::fmt::Display for ChangeVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NotFound => "no difference found",
            Self::TooFew => "too few repetitions",
            Self::Identical => "identical",
            Self::Untested => "untested",
            Self::Unjudged => "-",
        })
    }
}

/// What an arm comes to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArmFigure {
    /// The mean or median of its runs.
    pub value: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The runs, by repetition.
    pub runs: Vec<f64>,
}

/// How far an arm is from the first one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricChange {
    /// The difference of their means or medians.
    pub difference: f64,
    /// Between which differences it lies (95 %); none of fewer than three repetitions.
    pub interval: Option<[f64; 2]>,
    /// The difference in percent of the first arm, unless that is 0.
    pub percent: Option<f64>,
    /// Between which percentages it lies.
    pub percent_interval: Option<[f64; 2]>,
    /// How likely ranks like these are if there is no difference.
    pub p: Option<f64>,
    /// The same beside all other tests.
    pub p_corrected: Option<f64>,
    /// The smallest difference that so many repetitions could have shown, in percent of the first arm.
    pub could_show_percent: Option<f64>,
    /// How many repetitions would show the difference that was asked about.
    pub needed: Option<usize>,
    /// What is said of it.
    pub verdict: ChangeVerdict,
}

/// A metric in all arms.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricRow {
    /// What is measured.
    #[serde(flatten)]
    pub metric: Metric,
    /// What each arm comes to.
    pub arms: Vec<ArmFigure>,
    /// How far all arms but the first are from it.
    pub changes: Vec<MetricChange>,
}

/// Arms beside each other.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// How many repetitions were made of each arm.
    pub repetitions: usize,
    /// How many of them differ from all before.
    pub distinct: usize,
    /// How many tests there are, for which probabilities are corrected.
    pub tests: usize,
    /// With how many repetitions that differ a difference can be found at all in so many tests.
    pub enough: usize,
    /// The statistic of runs.
    pub statistic: Statistic,
    /// The level of the tests.
    pub level: f64,
    /// The difference in percent of which `needed` tells.
    pub detect_percent: f64,
    /// Of each arm but the first, whether all of its runs are those of the first arm.
    pub identical: Vec<bool>,
    /// Metrics.
    pub rows: Vec<MetricRow>,
    /// Metrics that some runs do not have.
    pub partial: Vec<String>,
}

/// Compares arms, of which each repetition has one run.
///
/// # Panics
/// If there is no repetition, or one has not all arms.
pub fn compare(repetitions: &[Vec<Observation>], rules: ComparisonRules) -> Comparison {
    let arms = repetitions[0].len();
    assert!(repetitions.iter().all(|runs| runs.len() == arms), "each repetition has all arms");
    let mut seen = BTreeSet::new();
    let is_new = |runs: &&Vec<Observation>| seen.insert(runs.iter().map(|run| run.digest.clone()).collect::<Vec<_>>());
    let distinct: Vec<&Vec<Observation>> = repetitions.iter().filter(is_new).collect();
    let is_same = |arm: usize| distinct.iter().all(|runs| runs[arm].digest == runs[0].digest);
    let identical: Vec<bool> = (1..arms).map(is_same).collect();
    let (whole, partial): (Vec<Metric>, Vec<Metric>) = metrics_of(&distinct)
        .into_iter()
        .partition(|metric| distinct.iter().flat_map(|runs| runs.iter()).all(|run| run.of(&metric.name).is_some()));
    let mut rows: Vec<MetricRow> =
        whole.into_iter().map(|metric| row(&distinct, metric, &identical, rules.statistic)).collect();
    judge(&mut rows, distinct.len(), &identical, rules);
    let tests = rows.iter().flat_map(|row| &row.changes).filter(|change| change.p.is_some()).count();
    Comparison {
        repetitions: repetitions.len(),
        distinct: distinct.len(),
        tests,
        enough: enough(tests, rules.level),
        statistic: rules.statistic,
        level: rules.level,
        detect_percent: rules.detect_percent,
        identical,
        rows,
        partial: partial.into_iter().map(|metric| metric.name).collect(),
    }
}

impl Comparison {
    /// Whether so few repetitions cannot find a difference in so many tests.
    pub const fn is_too_few(&self) -> bool {
        self.tests > 0 && self.distinct < self.enough
    }
}

/// All metrics of all runs, in the order in which they are told first.
fn metrics_of(repetitions: &[&Vec<Observation>]) -> Vec<Metric> {
    let mut all: Vec<Metric> = Vec::new();
    for (metric, _) in repetitions.iter().flat_map(|runs| runs.iter()).flat_map(|run| &run.metrics) {
        if all.iter().all(|known| known.name != metric.name) {
            all.push(metric.clone());
        }
    }
    all
}

fn row(repetitions: &[&Vec<Observation>], metric: Metric, identical: &[bool], statistic: Statistic) -> MetricRow {
    let figure = |arm: usize| {
        let of = |runs: &&Vec<Observation>| runs[arm].of(&metric.name).expect("every run has it");
        let runs: Vec<f64> = repetitions.iter().map(of).collect();
        ArmFigure { value: statistic.of(&runs), deviation: power::deviation(&runs), runs }
    };
    let arms: Vec<ArmFigure> = (0..=identical.len()).map(figure).collect();
    let changes = arms[1..].iter().map(|arm| change(&arms[0].runs, &arm.runs, statistic)).collect();
    MetricRow { metric, arms, changes }
}

/// How far one arm's runs are from another's, not yet judged.
fn change(before: &[f64], after: &[f64], statistic: Statistic) -> MetricChange {
    let of = |values: &[f64]| statistic.of(values);
    let percent = |before: &[f64], after: &[f64]| 100.0 * (of(after) / of(before) - 1.0);
    // Draws spread means too little, but not medians, whose intervals are wide enough.
    let interval = |of_both: &dyn Fn(&[f64], &[f64]) -> f64| match statistic {
        Statistic::Mean => widened_interval_of_pairs(before, after, of_both),
        _ => interval_of_pairs(before, after, of_both),
    };
    let has_percent = before.iter().all(|value| *value > 0.0);
    MetricChange {
        difference: of(after) - of(before),
        interval: interval(&|before, after| of(after) - of(before)),
        percent: has_percent.then(|| percent(before, after)),
        percent_interval: if has_percent { interval(&percent) } else { None },
        p: None,
        p_corrected: None,
        could_show_percent: None,
        needed: None,
        verdict: ChangeVerdict::Unjudged,
    }
}

/// Tests what can be tested, corrects for all tests together, and says what came of it.
fn judge(rows: &mut [MetricRow], repetitions: usize, identical: &[bool], rules: ComparisonRules) {
    let mut tested = Vec::new();
    for (place, row) in rows.iter_mut().enumerate() {
        for (arm, change) in row.changes.iter_mut().enumerate() {
            let verdict = match row.metric.better {
                _ if identical[arm] => ChangeVerdict::Identical,
                MetricDirection::Neither => ChangeVerdict::Unjudged,
                _ if repetitions < 2 => ChangeVerdict::Untested,
                _ => {
                    tested.push((place, arm));
                    ChangeVerdict::NotFound
                }
            };
            change.verdict = verdict;
        }
    }
    let differences = |row: &MetricRow, arm: usize| -> Vec<f64> {
        let pairs = row.arms[arm + 1].runs.iter().zip(&row.arms[0].runs);
        pairs.map(|(after, before)| after - before).collect()
    };
    let ranks: Vec<SignedRank> =
        tested.iter().map(|&(place, arm)| signed_rank(&differences(&rows[place], arm))).collect();
    let probabilities: Vec<f64> = ranks.iter().map(|rank| rank.p).collect();
    let corrected = holm(&probabilities);
    let can_find = repetitions >= enough(tested.len(), rules.level);
    let strictest = rules.level / tested.len().max(1) as f64;
    for (which, &(place, arm)) in tested.iter().enumerate() {
        let row = &rows[place];
        let (first, deviation) = (row.arms[0].value, power::deviation(&differences(row, arm)));
        let better = row.metric.better;
        let change = &mut rows[place].changes[arm];
        (change.p, change.p_corrected) = (Some(probabilities[which]), Some(corrected[which]));
        if corrected[which] <= rules.level {
            // What is significant are the ranks. Medians can be alike where most pairs differ, and a few runs can turn a mean.
            let is_good = ranks[which].goes_up == (better == MetricDirection::More);
            change.verdict = if is_good { ChangeVerdict::Better } else { ChangeVerdict::Worse };
        } else if !can_find {
            change.verdict = ChangeVerdict::TooFew;
        }
        if first > 0.0 && change.percent.is_some() {
            let least = power::smallest(repetitions, strictest);
            change.could_show_percent = least.map(|least| 100.0 * least * deviation / first);
            let cautious = power::cautious(deviation, repetitions);
            let aim = rules.detect_percent / 100.0 * first / cautious;
            change.needed = power::needed(aim, strictest);
        }
    }
}
