// SPDX-License-Identifier: GPL-2.0-or-later
//! The catalogue of metrics: unit, better direction, divisor, source and undefined cases of each number in
//! the results of runs and benchmarks.
//!
//! A metric is identified by its path in the JSON result of a run, in which `[]` stands for any element of a
//! list and `{}` for any key of a map. Its meaning is the documentation of the field at that path, which the
//! schema contains. [`METRICS`] has each number that is measured, and [`NO_METRICS`] the numbers that are not,
//! with the reason. [`NAMED`] has the metrics that comparisons, sweeps and bisections use by default, under
//! short names.

mod list;
mod named;
mod schemas;
#[cfg(test)]
mod tests;

pub use list::{METRICS, NO_METRICS};
pub use named::{NAMED, NamedMetric, Scope, WorkRole};
pub use schemas::{numbers_of, results};

use serde::Serialize;

/// Better direction of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MetricDirection {
    /// Lower values are better.
    Less,
    /// Higher values are better.
    More,
    /// Neither direction is better: the metric is reported, but not judged.
    Neither,
}

/// How the values of two consecutive parts of a run combine to the value of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// Addition. Runs of unequal lengths are compared by the value per second.
    Sum,
    /// Maximum.
    Max,
    /// None: a rate, a ratio or a quantile.
    No,
}

/// A number in the results of runs.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricInfo {
    /// Path in the JSON result. For [`Self::is_latency`], of the object with the summary statistics.
    pub path: &'static str,
    /// Unit: `ns`, `us`, `ms`, `s`, `uJ`, `/s`, `MB/s`, `%`, `ppm`, or an empty text for a count.
    pub unit: &'static str,
    pub better: MetricDirection,
    pub combination: Combination,
    pub per: &'static str,
    /// Events and counters from which the value is computed.
    pub from: &'static str,
    /// When the value is absent or null; empty if it always exists.
    pub undefined: &'static str,
    /// Whether the path is that of a latency's summary statistics ([`crate::latency::LatencySummary`]).
    pub is_latency: bool,
}

const LATENCY_MEMBERS: [&str; 8] = ["count", "open", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"];

impl MetricInfo {
    /// Returns the metric at a path in a result; selectors in brackets stand for any element.
    pub fn from_path(path: &str) -> Option<Self> {
        let path = pattern_of(path);
        if let Some(info) = METRICS.iter().find(|info| !info.is_latency && matches(info.path, &path)) {
            return Some(*info);
        }
        let (summary, member) = path.rsplit_once('.')?;
        let info = METRICS.iter().find(|info| info.is_latency && matches(info.path, summary))?;
        LATENCY_MEMBERS.contains(&member).then_some(match member {
            "count" | "open" => {
                Self { unit: "", better: MetricDirection::Neither, combination: Combination::Sum, ..*info }
            }
            "max_ns" => Self { combination: Combination::Max, ..*info },
            _ => *info,
        })
    }
}

/// Returns a path without the contents of brackets, and without marks of optional keys.
fn pattern_of(path: &str) -> String {
    let mut pattern = String::with_capacity(path.len());
    let mut depth = 0;
    for letter in path.chars() {
        match letter {
            '[' => {
                depth += 1;
                pattern.push('[');
            }
            ']' => {
                depth -= 1;
                pattern.push(']');
            }
            '?' => {}
            _ if depth > 0 => {}
            _ => pattern.push(letter),
        }
    }
    pattern
}

/// Whether a path fits a pattern of the catalogue. The last part of a pattern may be `{}`: any key.
fn matches(pattern: &str, path: &str) -> bool {
    if pattern == path {
        return true;
    }
    let key = pattern.strip_suffix("{}").and_then(|start| path.strip_prefix(start));
    key.is_some_and(|key| key == "{}" || (key.starts_with('.') && !key[1..].contains(['.', '['])))
}

/// Whether the number at a path is a metric, or excluded with a reason.
pub fn is_known(path: &str) -> bool {
    let is_excluded = |patterns: &&[&str]| patterns.iter().any(|pattern| matches(pattern, path));
    MetricInfo::from_path(path).is_some() || NO_METRICS.iter().map(|(_, patterns)| patterns).any(is_excluded)
}
