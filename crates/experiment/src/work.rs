// SPDX-License-Identifier: GPL-2.0-or-later
//! Amounts of work: whether the arms of a comparison did as much, and sums at equal work.
//!
//! Less energy, or fewer waits, are no improvement if less was done. The amount of a task family is its number of
//! loops, or of activations, or for endless tasks its CPU time at full speed; kernel threads have none. If an arm differs
//! from the first one in the amount of a family by more than the smallest difference that matters, sums over a run are
//! no longer tested. Two metrics take their place:
//!
//! 1. The sum at equal work: the part of each family is multiplied by the amount of the first arm (the mean of its runs)
//!    and divided by the run's own amount. Families of which the first arm did nothing are left out; the part of kernel
//!    threads and of the kernel stays as it is. A ratio of two sums would mix families: if an arm did less of the
//!    expensive work, it would look cheaper. A run that did nothing of a family of the first arm has no such value.
//! 2. The part of each family whose amount differs, per loop, activation or second at full speed.

use super::Observation;
use super::comparison::{ComparisonRules, row};
use super::metrics::{Metric, MetricDirection};
use fairlab_measure::catalogue::WorkRole;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

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

/// Text after the name of a sum that is compared at equal work.
const EQUAL_WORK: &str = " at equal work";

/// Amount of work of a task family in a run, and its parts of sums.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FamilyAmount {
    /// Name of the family.
    pub(super) family: String,
    /// Amounts of each kind, by the metrics that have them, in the order of [`WorkRole::Amount`].
    pub(super) amounts: Vec<(Metric, f64)>,
    /// Parts of sums over the run, by the path within the family.
    pub(super) parts: BTreeMap<&'static str, f64>,
}

/// Kind of the amounts of a family in a comparison, and its amount in the first arm.
#[derive(Clone, Debug)]
pub(super) struct ReferenceAmount {
    metric: Metric,
    amount: f64,
    /// Whether some arm has another amount.
    pub(super) differs: bool,
}

/// Amounts that are compared, by family, in the order of the runs' families.
pub(super) type References = Vec<(String, ReferenceAmount)>;

/// Returns the amount that a metric has the role of, and its rank.
const fn rank_of(metric: &Metric) -> Option<u8> {
    match metric.work {
        WorkRole::Amount(rank) => Some(rank),
        WorkRole::None | WorkRole::Sum(_) => None,
    }
}

fn amount_of(metric: &Metric) -> &str {
    metric.name.rsplit_once(": ").map_or("", |(_, amount)| amount)
}

/// Returns the unit of an amount, of which sums have a part per unit, and how many of them the amount has.
fn unit_of(metric: &Metric, amount: f64) -> (&'static str, f64) {
    match rank_of(metric) {
        Some(0) => ("loop", amount),
        Some(1) => ("activation", amount),
        _ => ("second at full speed", amount / 1e9),
    }
}

impl FamilyAmount {
    fn of(&self, metric: &Metric) -> Option<f64> {
        self.amounts.iter().find(|(known, _)| known.name == metric.name).map(|(_, amount)| *amount)
    }
}

/// Returns the amounts of work of all families: of each family of the first kind that some run has.
pub(super) fn references(repetitions: &[&Vec<Observation>]) -> References {
    let mut found: References = Vec::new();
    let families = repetitions.iter().flat_map(|runs| runs.iter()).flat_map(|run| &run.work);
    let done = families.flat_map(|of| of.amounts.iter().map(move |(metric, amount)| (&of.family, metric, *amount)));
    for (family, metric, _) in done.filter(|(.., amount)| *amount > 0.0) {
        let new = || ReferenceAmount { metric: metric.clone(), amount: 0.0, differs: false };
        match found.iter_mut().find(|(known, _)| known == family) {
            Some((_, known)) if rank_of(metric) < rank_of(&known.metric) => *known = new(),
            Some(_) => {}
            None => found.push((family.clone(), new())),
        }
    }
    for (family, reference) in &mut found {
        let first = repetitions.iter().map(|runs| runs[0].amount(family, &reference.metric).unwrap_or(0.0));
        reference.amount = first.sum::<f64>() / repetitions.len() as f64;
    }
    found
}

/// Returns the metrics without amounts of work that their family is not measured by.
pub(super) fn without_other_amounts(metrics: Vec<Metric>, references: &References) -> Vec<Metric> {
    let is_kept = |metric: &Metric| {
        rank_of(metric).is_none() || references.iter().any(|(_, reference)| reference.metric.name == metric.name)
    };
    metrics.into_iter().filter(is_kept).collect()
}

/// Returns the families that did different amounts of work than in the first arm, for each arm but the first, and marks
/// them in the amounts.
pub(super) fn changes(
    references: &mut References,
    repetitions: &[&Vec<Observation>],
    rules: ComparisonRules,
) -> Vec<Vec<WorkChange>> {
    let nr_others = repetitions[0].len().saturating_sub(1);
    let mut all = vec![Vec::new(); nr_others];
    for (family, reference) in references {
        let metric = &reference.metric;
        let amount = |run: &Observation| {
            let amount = run.amount(family, metric)?;
            Some(Observation { metrics: vec![(metric.clone(), amount)], ..Observation::default() })
        };
        let of_runs = |runs: &&Vec<Observation>| runs.iter().map(amount).collect::<Option<Vec<Observation>>>();
        let Some(amounts) = repetitions.iter().map(of_runs).collect::<Option<Vec<_>>>() else { continue };
        let row = row(&amounts.iter().collect::<Vec<_>>(), metric.clone(), &vec![false; nr_others], rules.statistic);
        for (changes, change) in all.iter_mut().zip(&row.changes) {
            let is_one_way = change.interval.is_none_or(|[low, high]| low > 0.0 || high < 0.0);
            let matters = match change.percent {
                Some(percent) => percent.abs() >= rules.matters_percent,
                None => change.difference != 0.0,
            };
            if is_one_way && matters {
                let amount = amount_of(metric).to_owned();
                changes.push(WorkChange { family: family.clone(), amount, percent: change.percent });
                reference.differs = true;
            }
        }
    }
    all
}

/// Whether a metric is a sum at equal work.
pub fn is_at_equal_work(metric: &Metric) -> bool {
    metric.name.ends_with(EQUAL_WORK)
}

/// Returns the metrics with those that take the place of sums. The sums are no longer tested.
pub(super) fn with_equal_work(metrics: &[Metric], references: &References) -> Vec<Metric> {
    let sums: Vec<Metric> =
        metrics.iter().filter(|metric| matches!(metric.work, WorkRole::Sum(Some(_)))).cloned().collect();
    let with_others = |metric: &Metric| match metric.work {
        WorkRole::Sum(path) => {
            let equal = path.map(|_| at_equal_work(metric));
            std::iter::once(Metric { is_tested: false, ..metric.clone() }).chain(equal).collect()
        }
        WorkRole::Amount(_) => {
            let own =
                references.iter().find(|(_, reference)| reference.differs && reference.metric.name == metric.name);
            let ratios = own.map(|(family, reference)| sums.iter().map(|sum| per_unit(sum, family, reference)));
            std::iter::once(metric.clone()).chain(ratios.into_iter().flatten()).collect()
        }
        WorkRole::None => vec![metric.clone()],
    };
    metrics.iter().flat_map(with_others).collect()
}

fn at_equal_work(sum: &Metric) -> Metric {
    Metric { name: format!("{}{EQUAL_WORK}", sum.name), is_sum: false, work: WorkRole::None, ..sum.clone() }
}

/// Returns the metric of a family's part of a sum per unit of its work.
fn per_unit(sum: &Metric, family: &str, reference: &ReferenceAmount) -> Metric {
    let (unit, _) = unit_of(&reference.metric, 0.0);
    let is_tested = reference.metric.is_tested && sum.better != MetricDirection::Neither;
    let unit_of_sum = sum.unit.trim_end_matches("/s").to_owned();
    Metric { name: format!("{family}: {} / {unit}", sum.name), is_tested, unit: unit_of_sum, ..at_equal_work(sum) }
}

impl Observation {
    fn amount(&self, family: &str, metric: &Metric) -> Option<f64> {
        self.work.iter().find(|of| of.family == family)?.of(metric)
    }

    /// Returns the run with sums at equal work, and with the parts of families per unit of their work.
    pub(super) fn at_equal_work(&self, references: &References) -> Self {
        let mut run = self.clone();
        for (metric, value) in &self.metrics {
            let WorkRole::Sum(Some(path)) = metric.work else { continue };
            run.metrics
                .extend(self.sum_at_equal_work(*value, path, references).map(|sum| (at_equal_work(metric), sum)));
            for (family, reference) in references.iter().filter(|(_, reference)| reference.differs) {
                let Some(own) = self.work.iter().find(|of| of.family == *family) else { continue };
                let (part, amount) = (own.parts.get(path).copied(), own.of(&reference.metric));
                if let (Some(part), Some(amount)) = (part, amount.filter(|amount| *amount > 0.0)) {
                    let (_, units) = unit_of(&reference.metric, amount);
                    run.metrics.push((per_unit(metric, family, reference), part / units));
                }
            }
        }
        run
    }

    /// Returns a sum as it would be with the amounts of the first arm; `None` if the run did nothing of one of its families.
    fn sum_at_equal_work(&self, sum: f64, path: &str, references: &References) -> Option<f64> {
        let parts: Option<f64> = self.work.iter().map(|of| of.parts.get(path)).sum();
        let of_kernel = sum - parts?;
        let of_families =
            references.iter().filter(|(_, reference)| reference.amount > 0.0).map(|(family, reference)| {
                let own = self.work.iter().find(|of| of.family == *family)?;
                let amount = own.of(&reference.metric).filter(|amount| *amount > 0.0)?;
                Some(own.parts.get(path)? * reference.amount / amount)
            });
        Some(of_kernel + of_families.sum::<Option<f64>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::comparison::{ChangeVerdict, Comparison, compare};
    use super::super::metrics::RequestedMetric;
    use super::*;
    use serde_json::{Value, json};

    /// Returns a run with two families: loops and waiting time of each, and waiting time of a kernel thread.
    fn run(cheap: (u64, u64), costly: (u64, u64), kernel: u64) -> Value {
        let family = |name: &str, (loops, wait): (u64, u64), is_kthread: bool| {
            json!({ "name": name, "is_kthread": is_kthread, "wait_ns": wait, "run_ns": 1_000_000, "throttled_ns": 0,
                "work": { "loops": loops, "activations": 2 * loops, "full_speed_ns": 1 } })
        };
        json!({
            "digest": format!("{cheap:?} {costly:?}"),
            "duration_ns": 1_000_000_000,
            "totals": { "wait_ns": cheap.1 + costly.1 + kernel, "busy_ns": 3_000_000, "throttled_ns": 0 },
            "families": [family("cheap", cheap, false), family("costly", costly, false), family("kworker", (7, kernel), true)],
        })
    }

    fn compared(arms: &[fn(u64) -> Value], asked: &[&str]) -> Comparison {
        let asked: Vec<RequestedMetric> =
            asked.iter().map(|name| RequestedMetric::parse(name).expect("a name")).collect();
        let of_arm =
            |arm: fn(u64) -> Value, seed| Observation::from_result(&arm(seed), &asked).expect("metrics are there");
        let repetitions: Vec<Vec<Observation>> =
            (0..8).map(|seed| arms.iter().map(|arm| of_arm(*arm, seed)).collect()).collect();
        compare(&repetitions, ComparisonRules::default())
    }

    /// Returns the values of a metric in the first repetition, and its verdict.
    fn row_of(comparison: &Comparison, name: &str) -> Option<(f64, f64, ChangeVerdict)> {
        let row = comparison.rows.iter().find(|row| row.metric.name == name)?;
        Some((row.arms[0].runs[0], row.arms[1].runs[0], row.changes[0].verdict))
    }

    #[test]
    fn a_sum_at_equal_work_does_not_profit_from_less_of_the_expensive_work() {
        // Each loop waits longer, but the arm makes fewer of the loops that wait long.
        let arms: [fn(u64) -> Value; 2] = [
            |seed| run((100, 1_000_000 + seed), (100, 100_000_000), 50),
            |seed| run((100, 1_100_000 + seed), (10, 11_000_000), 60),
        ];
        let comparison = compared(&arms, &[]);
        assert_eq!(
            comparison.work_changes,
            [[WorkChange { family: "costly".to_owned(), amount: "loops".to_owned(), percent: Some(-90.0) }]]
        );
        assert_eq!(row_of(&comparison, "waiting"), Some((101_000_050.0, 12_100_060.0, ChangeVerdict::Unjudged)));
        let equal = row_of(&comparison, "waiting at equal work").expect("a row");
        assert_eq!(equal, (101_000_050.0, 1_100_000.0 + 110_000_000.0 + 60.0, ChangeVerdict::Worse));
        let each = row_of(&comparison, "costly: waiting / loop").expect("a row");
        assert_eq!(each, (1_000_000.0, 1_100_000.0, ChangeVerdict::Worse));
        assert_eq!(row_of(&comparison, "cheap: waiting / loop"), None, "its amount of work is the same");
        assert_eq!(row_of(&comparison, "throttled at equal work"), None, "nothing is throttled");
        let kernel = |row: &&str| row.contains("kworker: loops") || row.contains("activations");
        assert!(!comparison.rows.iter().any(|row| kernel(&row.metric.name.as_str())));
    }

    #[test]
    fn equal_amounts_leave_sums_as_they_are() {
        let arms: [fn(u64) -> Value; 2] = [
            |seed| run((100, 1_000_000), (50, 9_000_000 + seed), 50),
            |seed| run((100, 1_000_000), (50, 8_000_000 + seed), 50),
        ];
        let comparison = compared(&arms, &[]);
        assert_eq!(comparison.work_changes, [[]]);
        assert_eq!(row_of(&comparison, "waiting").map(|row| row.2), Some(ChangeVerdict::Better));
        assert!(!comparison.rows.iter().any(|row| is_at_equal_work(&row.metric)));
    }

    #[test]
    fn work_that_an_arm_leaves_out_has_no_sum_at_equal_work() {
        let arms: [fn(u64) -> Value; 2] =
            [|seed| run((100, 1_000_000), (50, 9_000_000 + seed), 50), |seed| run((100, 1_000_000 + seed), (0, 0), 50)];
        let comparison = compared(&arms, &[]);
        assert_eq!(comparison.work_changes[0].len(), 1);
        assert_eq!(row_of(&comparison, "waiting at equal work"), None);
        assert!(
            comparison.partial.iter().any(|row| row.metric.name == "waiting at equal work" && row.arms[0].is_some())
        );
        // In the other direction the work that is new is left out.
        let comparison = compared(&[arms[1], arms[0]], &[]);
        let (before, after, _) = row_of(&comparison, "waiting at equal work").expect("a row");
        assert_eq!((before, after), (1_000_050.0, 1_000_050.0));
    }

    #[test]
    fn amounts_are_known_although_another_metric_is_requested() {
        let arms: [fn(u64) -> Value; 2] = [
            |seed| run((100, 1_000_000), (50, 9_000_000 + seed), 50),
            |seed| run((100, 1_000_000), (25, 4_500_000 + seed), 50),
        ];
        let comparison = compared(&arms, &["waiting"]);
        assert_eq!(comparison.work_changes[0].len(), 1);
        let names: Vec<&str> = comparison.rows.iter().map(|row| row.metric.name.as_str()).collect();
        assert_eq!(names, ["waiting", "waiting at equal work"]);
        assert_eq!(row_of(&comparison, "waiting at equal work").map(|row| row.2), Some(ChangeVerdict::Negligible));
    }
}
