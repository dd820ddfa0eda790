// SPDX-License-Identifier: GPL-2.0-or-later
//! Amounts of work: whether the arms of a comparison did as much, and metrics per work.
//!
//! Less energy, or fewer waits, are no improvement if less was done. The amount of a task family is its number of
//! loops, or of activations, or for endless tasks its CPU time at full speed; kernel threads have none. If an arm differs from the first one in
//! the amount of a family by more than the smallest difference that matters, metrics that add up over a run are
//! compared per work at full speed of all tasks. The sums remain, without a verdict.

use super::Observation;
use super::comparison::{ComparisonRules, row};
use super::metrics::Metric;
use fairlab_observe::catalogue::WorkRole;
use schemars::JsonSchema;
use serde::Serialize;

/// Difference in the amount of work of a task family.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorkChange {
    /// Name of the family.
    pub family: String,
    /// Measured amount: `loops`, `activations` or `work at full speed`.
    pub amount: String,
    /// Median change of the pairs, or change of the means, in percent of the first arm; null if it did nothing there.
    pub percent: Option<f64>,
}

/// Text after the name of a sum that is divided by the work at full speed, in seconds.
const PER_WORK: &str = " / work";

/// Separates the amounts of work of families from the metrics: of each family the first that some run has. Returns
/// these, and the metrics without the other amounts.
pub(super) fn amounts_of_families(
    metrics: Vec<Metric>,
    repetitions: &[&Vec<Observation>],
) -> (Vec<Metric>, Vec<Metric>) {
    let runs = || repetitions.iter().flat_map(|runs| runs.iter());
    let is_done = |metric: &Metric| runs().any(|run| run.of(&metric.name).is_some_and(|amount| amount > 0.0));
    let rank_of = |metric: &Metric| match metric.work {
        WorkRole::Amount(rank) => Some((family_of(metric).to_owned(), rank)),
        WorkRole::None | WorkRole::PerWork => None,
    };
    let done: Vec<(String, u8)> = metrics.iter().filter(|metric| is_done(metric)).filter_map(rank_of).collect();
    let is_amount = |metric: &Metric| {
        rank_of(metric).is_none_or(|(family, rank)| {
            done.iter().filter(|(of, _)| *of == family).map(|(_, rank)| *rank).min() == Some(rank)
        })
    };
    let kept: Vec<Metric> = metrics.into_iter().filter(is_amount).collect();
    let amounts = kept.iter().filter(|metric| rank_of(metric).is_some()).cloned().collect();
    (amounts, kept)
}

fn family_of(metric: &Metric) -> &str {
    metric.name.rsplit_once(": ").map_or("", |(family, _)| family)
}

/// Returns the families that did different amounts of work than in the first arm, for each arm but the first.
pub(super) fn changes(
    amounts: &[Metric],
    repetitions: &[&Vec<Observation>],
    rules: ComparisonRules,
) -> Vec<Vec<WorkChange>> {
    let nr_others = repetitions[0].len().saturating_sub(1);
    let mut all = vec![Vec::new(); nr_others];
    let runs = || repetitions.iter().flat_map(|runs| runs.iter());
    for metric in amounts.iter().filter(|metric| runs().all(|run| run.of(&metric.name).is_some())) {
        let row = row(repetitions, metric.clone(), &vec![false; nr_others], rules.statistic);
        for (changes, change) in all.iter_mut().zip(&row.changes) {
            let is_one_way = change.interval.is_none_or(|[low, high]| low > 0.0 || high < 0.0);
            let matters = match change.percent {
                Some(percent) => percent.abs() >= rules.matters_percent,
                None => change.difference != 0.0,
            };
            if is_one_way && matters {
                let amount = metric.name.rsplit_once(": ").map_or("", |(_, amount)| amount).to_owned();
                changes.push(WorkChange { family: family_of(metric).to_owned(), amount, percent: change.percent });
            }
        }
    }
    all
}

/// Returns the metrics with a ratio after each sum that is compared per work. The sum is no longer tested.
pub(super) fn with_ratios(metrics: Vec<Metric>) -> Vec<Metric> {
    let both = |metric: Metric| {
        if metric.work != WorkRole::PerWork {
            return vec![metric];
        }
        let ratio = ratio_of(&metric);
        vec![Metric { is_tested: false, ..metric }, ratio]
    };
    metrics.into_iter().flat_map(both).collect()
}

fn ratio_of(metric: &Metric) -> Metric {
    Metric { name: format!("{}{PER_WORK}", metric.name), is_sum: false, work: WorkRole::None, ..metric.clone() }
}

impl Observation {
    /// Returns the run with ratios beside the sums that are compared per work. A run without work has none.
    pub(super) fn per_work(&self) -> Self {
        let mut run = self.clone();
        if let Some(seconds) = self.work_ns.filter(|ns| *ns > 0.0).map(|ns| ns / 1e9) {
            let sums = self.metrics.iter().filter(|(metric, _)| metric.work == WorkRole::PerWork);
            run.metrics.extend(sums.map(|(metric, value)| (ratio_of(metric), value / seconds)));
        }
        run
    }
}
