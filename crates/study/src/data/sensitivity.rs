// SPDX-License-Identifier: GPL-2.0-or-later
//! `[sensitivity]`: settings that are varied, to find out which verdicts depend on them.
//!
//! The table `facts` has each fact of the processors at both ends of its range. The table `robustness` has other
//! seeds, half and twice the length, and permutations of simultaneous events. Both are filled only without
//! `--quick`.

use super::DataStudy;
use super::execute::Variation;
use super::span::TimeSpan;
use crate::StudyError;
use crate::definition::TableDefinition;
use crate::report::ReportTable;
use crate::sensitivity::{compare, uncertain_facts};
use fairlab_machine::description::RangeEnd;
use fairlab_run::settings::Settings;
use serde::{Deserialize, Serialize};

/// Names of the tables that are filled here.
pub(crate) const TABLES: [&str; 2] = [FACTS, ROBUSTNESS];
const FACTS: &str = "facts";
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
    /// Facts of the processors to vary; by default all that have a range.
    #[serde(default)]
    pub facts: Vec<String>,
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
        if table == FACTS {
            let mut varied: Vec<(String, RangeEnd)> = Vec::new();
            for fact in study.env.home.machines().flat_map(uncertain_facts) {
                if !varied.contains(&fact) && (self.facts.is_empty() || self.facts.contains(&fact.0)) {
                    varied.push(fact);
                }
            }
            let of_fact = |(key, end): (String, RangeEnd)| {
                (format!("{key} {}", end.name()), Variation { fact: Some((key, end)), ..base.clone() })
            };
            return varied.into_iter().map(of_fact).collect();
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

/// Fills the table `facts` or `robustness`.
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
