// SPDX-License-Identifier: GPL-2.0-or-later
//! `[sensitivity]`: settings that are varied, to find out which verdicts depend on them.
//!
//! The table `prices` has each cost of the machines halved and doubled. The table `robustness` has other
//! seeds, half and twice the length, and permutations of simultaneous events. Both are filled only without
//! `--quick`.

use super::DataStudy;
use super::execute::Variation;
use super::span::TimeSpan;
use crate::StudyError;
use crate::definition::TableDefinition;
use crate::report::ReportTable;
use crate::sensitivity::compare;
use fairlab_run::settings::Settings;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Names of the tables that are filled here.
pub(crate) const TABLES: [&str; 2] = [PRICES, ROBUSTNESS];
const PRICES: &str = "prices";
const ROBUSTNESS: &str = "robustness";
/// Distance between the first seeds of two sets.
const OTHER_SEEDS: u64 = 1000;

/// Settings of the variations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SensitivityDefinition {
    /// Tables whose verdicts count; by default all tables of data that have published rows.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Costs to halve and double; by default all costs of the machines.
    #[serde(default)]
    pub prices: Vec<String>,
    /// Largest number of seeds of each case.
    pub seeds: Option<u64>,
    /// Whether runs use their `quick` settings.
    #[serde(default)]
    pub quick: bool,
    /// Length of each run that has one.
    pub span: Option<TimeSpan>,
    /// Number of other sets of seeds.
    #[serde(default)]
    pub other_seeds: u64,
    /// Whether to run with half and with twice the length.
    #[serde(default)]
    pub spans: bool,
    /// Number of permutations of simultaneous events.
    #[serde(default)]
    pub perturb: u64,
}

impl SensitivityDefinition {
    /// Returns the variations of a table, without the one that changes nothing.
    fn variations(&self, table: &str, study: &DataStudy<'_>) -> Vec<(String, Variation)> {
        let base = Variation { most_seeds: self.seeds, ..study.variation() };
        if table == PRICES {
            let mut operations: BTreeSet<&str> = BTreeSet::new();
            for machine in study.env.home.machines() {
                operations.extend(machine.costs().iter().map(fairlab_machine::description::OpCost::operation));
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
            let settings = Settings { perturb: Some(number), ..base.settings.clone() };
            varied.push((format!("perturbed {number}"), Variation { settings, ..base.clone() }));
        }
        varied
    }
}

/// Fills the table `prices` or `robustness`.
///
/// # Errors
/// If a run fails.
pub(super) fn table(
    study: &DataStudy<'_>,
    definition: &TableDefinition,
    varied: &SensitivityDefinition,
    on_case: &(dyn Fn(&str, f64) + Sync),
) -> Result<ReportTable, StudyError> {
    let mut cases = if varied.quick { study.quick_cases()? } else { study.cases.clone() };
    for case in &mut cases {
        if let (Some(span), Some(length)) = (varied.span, case.span.as_mut()) {
            *length = span.0;
        }
    }
    let base = Variation { most_seeds: varied.seeds, ..study.variation() };
    let all = varied.variations(&definition.name, study);
    let cases_of_table = std::iter::once((String::new(), base)).chain(all).collect();
    let chosen = |table: &TableDefinition| varied.tables.is_empty() || varied.tables.contains(&table.name);
    compare(definition, "all", cases_of_table, on_case, |variation| study.published(&cases, variation, &chosen))
}
