// SPDX-License-Identifier: GPL-2.0-or-later
//! Median and spread of repeated measurements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Distribution of the results of batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// Lower quartile.
    pub low: f64,
    /// Upper quartile.
    pub high: f64,
    /// Least result.
    pub least: f64,
    /// Number of batches.
    pub count: usize,
}

impl Spread {
    /// Returns the distribution of some results; `None` without any. Values between two results are
    /// interpolated.
    pub fn of(results: &[f64]) -> Option<Self> {
        let mut sorted = results.to_vec();
        sorted.sort_by(f64::total_cmp);
        let &least = sorted.first()?;
        let at = |share: f64| {
            let place = share * (sorted.len() - 1) as f64;
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Some(Self { median: at(0.5), low: at(0.25), high: at(0.75), least, count: sorted.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_results() {
        assert_eq!(Spread::of(&[]), None);
        let one = Spread::of(&[5.0]).expect("there is a result");
        assert_eq!(one, Spread { median: 5.0, low: 5.0, high: 5.0, least: 5.0, count: 1 });
        let four = Spread::of(&[4.0, 1.0, 3.0, 2.0]).expect("there are results");
        assert_eq!(four, Spread { median: 2.5, low: 1.75, high: 3.25, least: 1.0, count: 4 });
    }
}
