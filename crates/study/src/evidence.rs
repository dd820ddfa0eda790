// SPDX-License-Identifier: GPL-2.0-or-later
//! Evidence of a row: the reason why its simulated value is what it is.
//!
//! A value that was calibrated with the row itself, or that could not have been different, is no evidence for
//! the model. Each published row therefore names its kind, and each kind is counted separately.

use crate::report::{ReportTable, RowVerdict};
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
    const fn place(&self) -> usize {
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

/// Numbers of published and of reproduced rows of some tables, by kind of evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct EvidenceCounts {
    reproduced: [u32; Evidence::KINDS.len()],
    published: [u32; Evidence::KINDS.len()],
}

impl EvidenceCounts {
    /// Counts the published rows of tables.
    pub fn of(tables: &[ReportTable]) -> Self {
        let mut tally = Self::default();
        for row in tables.iter().flat_map(|table| &table.rows) {
            let Some(evidence) = &row.evidence else { continue };
            tally.published[evidence.place()] += 1;
            tally.reproduced[evidence.place()] += u32::from(row.verdict == RowVerdict::Reproduced);
        }
        tally
    }
}

impl fmt::Display for EvidenceCounts {
    /// Formats the counts, for example as `5 of 8 rows reproduced: 3 of 3 by construction, 2 of 5 predicted`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |counts: &[u32]| counts.iter().sum::<u32>();
        write!(f, "{} of {} rows reproduced", sum(&self.reproduced), sum(&self.published))?;
        let kinds = Evidence::KINDS.iter().zip(self.reproduced.iter().zip(&self.published));
        let present = kinds.filter(|(_, (_, published))| **published > 0);
        for (place, ((_, words), (reproduced, published))) in present.enumerate() {
            let before = if place == 0 { ": " } else { ", " };
            write!(f, "{before}{reproduced} of {published} {words}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{FigureValue, RowDefinition, TableDefinition};
    use crate::report::{MeasuredFigure, ReportRow};

    #[test]
    fn rows_are_counted_by_kind_and_those_without_a_published_figure_are_not() {
        let definition: TableDefinition =
            toml::from_str("name = 't'\ntitle = 't'\nmetric = 'm'\nunit = 'u'").expect("a table");
        let row = |published: Option<f64>, evidence: Option<Evidence>| {
            let published = published.map(FigureValue::Number);
            let row = RowDefinition { published, evidence, ..RowDefinition::unpublished("r", "a") };
            ReportRow::new(&definition, &row, MeasuredFigure::number(1.0))
        };
        let rows = vec![
            row(Some(1.0), Some(Evidence::Predicted)),
            row(Some(2.0), Some(Evidence::Predicted)),
            row(Some(1.0), Some(Evidence::Calibrated("Tick".to_owned()))),
            row(None, None),
        ];
        let table = ReportTable { name: String::new(), title: String::new(), rows };
        assert_eq!(
            EvidenceCounts::of(&[table]).to_string(),
            "2 of 3 rows reproduced: 1 of 1 calibrated, 1 of 2 predicted"
        );
        assert_eq!(EvidenceCounts::of(&[]).to_string(), "0 of 0 rows reproduced");
    }

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
