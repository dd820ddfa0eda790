// SPDX-License-Identifier: GPL-2.0-or-later
//! Numbers of published and of reproduced rows, by kind of evidence.

use crate::evidence::Evidence;
use crate::report::{ReportTable, RowVerdict, StudyReport};
use serde::Serialize;
use std::fmt;

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

impl StudyReport {
    /// Numbers of reproduced published rows, by kind of evidence.
    pub fn headline(&self) -> EvidenceCounts {
        EvidenceCounts::of(&self.tables)
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
}
