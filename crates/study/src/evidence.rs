// SPDX-License-Identifier: GPL-2.0-or-later
//! Evidence of a row: the reason why its simulated value is what it is.
//!
//! A value that was calibrated with the row itself, or that could not have been different, is no evidence for
//! the model. Each published row therefore names its kind, and each kind is counted separately.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Reason why the simulated value of a row is what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The value follows from the algorithm: every implementation of it gives this value.
    Construction,
    /// A parameter of the model, which is named, was set to reproduce this row.
    Calibrated(String),
    /// The value follows almost entirely from another row, which is named and was used for calibration.
    Follows(String),
    /// The value depends on costs or a model, none of which was set for this row.
    Predicted,
    /// Neither arm could have given a different value.
    Trivial,
    /// The published value is the result of a formula, not of a measurement.
    Formula,
}

impl Evidence {
    /// Names of the kinds in the order of the counts, each with the phrase that follows a number.
    pub const KINDS: [(&'static str, &'static str); 6] = [
        ("construction", "by construction"),
        ("calibrated", "calibrated"),
        ("follows", "that follow from a calibration"),
        ("predicted", "predicted"),
        ("trivial", "trivial"),
        ("formula", "of formulas"),
    ];

    /// Index of the kind in [`Self::KINDS`].
    pub(crate) const fn place(&self) -> usize {
        match self {
            Self::Construction => 0,
            Self::Calibrated(_) => 1,
            Self::Follows(_) => 2,
            Self::Predicted => 3,
            Self::Trivial => 4,
            Self::Formula => 5,
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::KINDS[self.place()].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_called_in_data_as_on_pages() {
        let read = |text: &str| {
            #[derive(Deserialize)]
            struct EvidenceKey {
                of: Evidence,
            }
            toml::from_str::<EvidenceKey>(&format!("of = {text}")).expect("a kind").of
        };
        let named = |kind: &str| read(&format!("{{ {kind} = \"x\" }}"));
        for (kind, _) in Evidence::KINDS {
            let evidence =
                if matches!(kind, "calibrated" | "follows") { named(kind) } else { read(&format!("'{kind}'")) };
            assert_eq!(evidence.to_string(), kind);
        }
    }
}
