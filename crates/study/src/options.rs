// SPDX-License-Identifier: GPL-2.0-or-later
//! Options of one execution of a study.

use fairlab_run::settings::Settings;

/// Length of a study's runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct StudyLength {
    /// Use shorter runs, for a first impression.
    pub quick: bool,
}

/// Options of one execution of a study; unset ones keep the values of the study's data.
#[derive(Clone, Debug, Default)]
pub struct StudyOptions {
    /// Normal or shortened runs.
    pub options: StudyLength,
    /// Number of seeds of each run.
    pub seeds: Option<u64>,
    /// Settings of all runs: the machine (except for arms that name their own), the simulated time of each run
    /// that has a length, and what `fairlab study run` has options for.
    pub settings: Settings,
    /// Names of the tables to fill; empty for all.
    pub tables: Vec<String>,
    /// Names, or beginnings of names, of the rows to fill; empty for all.
    pub rows: Vec<String>,
}

impl StudyOptions {
    /// Returns the note of a report about a permutation of simultaneous events.
    pub(crate) fn perturb_note(&self) -> Option<String> {
        self.settings.perturb.map(|number| format!("Simultaneous events are permuted (--perturb {number})."))
    }

    /// Whether a table is selected by [`Self::tables`].
    pub fn wants(&self, table: &str) -> bool {
        self.tables.is_empty() || self.tables.iter().any(|name| name == table)
    }

    /// Whether a row is selected by [`Self::rows`].
    pub fn wants_row(&self, label: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|begin| label.starts_with(begin.as_str()))
    }
}
