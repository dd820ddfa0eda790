// SPDX-License-Identifier: GPL-2.0-or-later
//! `[sensitivity]`: what verdicts hang on. Each price of the machines halved and doubled fills the table `prices`; other seeds, half and
//! twice the length, and permutations of what happens at one instant fill the table `robustness`. Both belong to the full form.

use super::DataStudy;
use super::execute::Variation;
use super::span::TimeSpan;
use crate::StudyError;
use crate::definition::TableDefinition;
use crate::report::ReportTable;
use crate::sensitivity::compare;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The tables that it fills.
pub(crate) const TABLES: [&str; 2] = [PRICES, ROBUSTNESS];
const PRICES: &str = "prices";
const ROBUSTNESS: &str = "robustness";
/// Seeds of another set begin so much higher.
const OTHER_SEEDS: u64 = 1000;

/// What is varied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SensitivityDefinition {
    /// Tables whose verdicts count; all of data that have published rows, if none is named.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Prices that are halved and doubled; all of the machines', if none is named.
    #[serde(default)]
    pub prices: Vec<String>,
    /// Seeds of each case, at the most.
    pub seeds: Option<u64>,
    /// Whether it is done with the quick form of each run.
    #[serde(default)]
    pub quick: bool,
    /// Length of each run.
    pub span: Option<TimeSpan>,
    /// How many other sets of seeds.
    #[serde(default)]
    pub other_seeds: u64,
    /// Whether half and twice the length are tried.
    #[serde(default)]
    pub spans: bool,
    /// How many permutations of what happens at one instant.
    #[serde(default)]
    pub perturb: u64,
}

impl SensitivityDefinition {
    /// The cases of a table, beside that in which nothing is varied.
    fn variations(&self, table: &str, study: &DataStudy<'_>) -> Vec<(String, Variation)> {
        let base = Variation { most_seeds: self.seeds, perturb: study.choices.perturb, ..Variation::default() };
        if table == PRICES {
            let mut operations: BTreeSet<&str> = BTreeSet::new();
            for machine in study.site.home.machines() {
                operations.extend(machine.prices().iter().map(fairlab_machine::description::OpCost::operation));
            }
            operations.retain(|name| self.prices.is_empty() || self.prices.iter().any(|chosen| chosen == name));
            let varied = |operation: &&str| {
                [("half", 1, 2), ("double", 2, 1)].map(|(name, up, down)| {
                    let price = Some((operation.to_string(), up, down));
                    (format!("{operation} {name}"), Variation { price, ..base.clone() })
                })
            };
            return operations.iter().flat_map(varied).collect();
        }
        let mut varied = Vec::new();
        for set in 1..=self.other_seeds {
            varied.push((format!("other seeds {set}"), Variation { seeds_from: set * OTHER_SEEDS, ..base.clone() }));
        }
        if self.spans {
            for (name, span) in [("half as long", (1, 2)), ("twice as long", (2, 1))] {
                varied.push((name.to_owned(), Variation { span: Some(span), ..base.clone() }));
            }
        }
        for number in 1..=self.perturb {
            varied.push((format!("perturbed {number}"), Variation { perturb: Some(number), ..base.clone() }));
        }
        varied
    }
}

/// Fills one of the two tables.
///
/// # Errors
/// If a run fails.
pub(super) fn table(
    study: &DataStudy<'_>,
    definition: &TableDefinition,
    varied: &SensitivityDefinition,
    told: &(dyn Fn(&str, f64) + Sync),
) -> Result<ReportTable, StudyError> {
    let mut cases = if varied.quick { study.quick_cases()? } else { study.cases.clone() };
    for case in &mut cases {
        if let (Some(span), Some(length)) = (varied.span, case.span.as_mut()) {
            *length = span.0;
        }
    }
    let base = Variation { most_seeds: varied.seeds, perturb: study.choices.perturb, ..Variation::default() };
    let all = varied.variations(&definition.name, study);
    let cases_of_table = std::iter::once((String::new(), base)).chain(all).collect();
    let chosen = |table: &TableDefinition| varied.tables.is_empty() || varied.tables.contains(&table.name);
    compare(definition, "all", cases_of_table, told, |variation| study.published(&cases, variation, &chosen))
}
