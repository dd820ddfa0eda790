// SPDX-License-Identifier: GPL-2.0-or-later
//! Verdict about a row: the simulated value beside the published one, by the row's rule.

use crate::definition::{FigureValue, VerdictRule};
use serde::Serialize;
use std::fmt;

/// Result of the comparison of a row with its published value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowVerdict {
    /// The simulated value matches the published one within the row's rule.
    Reproduced,
    /// The change has the right sign, but not the right size.
    DirectionOnly,
    /// The simulated value does not match the published one.
    NotReproduced,
    /// No value was published for this row.
    NotPublished,
}

impl fmt::Display for RowVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reproduced => "reproduced",
            Self::DirectionOnly => "direction only",
            Self::NotReproduced => "not reproduced",
            Self::NotPublished => "-",
        })
    }
}

/// Rank of the published value of a single run among simulated runs: how many are below it, how many above,
/// and of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RankAmongRuns {
    below: usize,
    above: usize,
    of: usize,
}

impl RankAmongRuns {
    fn among(runs: &[f64], published: f64) -> Self {
        let count = |holds: &dyn Fn(f64) -> bool| runs.iter().filter(|&&run| holds(run)).count();
        Self { below: count(&|run| run < published), above: count(&|run| run > published), of: runs.len() }
    }

    /// Whether the published value lies within the middle `percent` of the runs: neither side may have too
    /// few runs. Runs equal to it count for both sides, and each side needs at least one.
    fn is_inside(self, percent: f64) -> bool {
        let outside = (100.0 - percent) / 200.0 * self.of as f64;
        (self.of - self.above) as f64 >= outside.max(1.0) && (self.of - self.below) as f64 >= outside.max(1.0)
    }
}

impl fmt::Display for RankAmongRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { below, above, of } = self;
        write!(f, "of {of} runs {below} are below the published figure, {above} above")
    }
}

/// Compares a value, which may come from several runs, with the published one. Returns the verdict and its
/// reason.
pub(super) fn judge(
    rule: VerdictRule,
    value: &FigureValue,
    runs: &[f64],
    published: Option<&FigureValue>,
) -> (RowVerdict, String) {
    let Some(published) = published else { return (RowVerdict::NotPublished, "nothing published".to_owned()) };
    let (Some(value), Some(target)) = (value.number(), published.number()) else {
        let is_same = value == published;
        let verdict = if is_same { RowVerdict::Reproduced } else { RowVerdict::NotReproduced };
        return (verdict, if is_same { "the same".to_owned() } else { format!("published: {published}") });
    };
    let (is_within, how_far) = match rule.inside_percent {
        Some(percent) => {
            let place =
                RankAmongRuns::among(if runs.is_empty() { core::slice::from_ref(&value) } else { runs }, target);
            (place.is_inside(percent), place.to_string())
        }
        None => (rule.is_met(value, target), distance(rule, value, target)),
    };
    if rule.sign && value.signum() != target.signum() {
        return (RowVerdict::NotReproduced, format!("the change has the other sign; {how_far}"));
    }
    match (is_within, rule.sign) {
        (true, _) => (RowVerdict::Reproduced, how_far),
        (false, true) => (RowVerdict::DirectionOnly, how_far),
        (false, false) => (RowVerdict::NotReproduced, how_far),
    }
}

/// Describes the difference from the published value in the terms of the rule.
fn distance(rule: VerdictRule, value: f64, target: f64) -> String {
    let difference = value - target;
    if rule.within_percent.is_some() && target != 0.0 {
        return format!("{:+.1} % of the published figure", 100.0 * difference / target.abs());
    }
    if rule.factor.is_some() && value * target > 0.0 {
        return format!("{:.2} times the published figure", value / target);
    }
    let bounds: Vec<String> = [("at least", rule.at_least), ("at most", rule.at_most)]
        .into_iter()
        .filter_map(|(words, bound)| bound.map(|bound| format!("{words} {}", FigureValue::Number(bound))))
        .collect();
    if rule.within.is_none() && !bounds.is_empty() {
        return format!("asked for is {}", bounds.join(" and "));
    }
    format!("{difference:+.2} from the published figure")
}
