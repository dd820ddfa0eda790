// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab features`: scheduler features with default and meaning.

use crate::args::FeaturesArgs;
use crate::output::Output;
use crate::output::table::{Align, Table};
use crate::values::error::CliError;
use fairlab_sched::features::Feature;
use serde::Serialize;

#[derive(Serialize)]
struct FeatureRow {
    name: &'static str,
    default: bool,
    meaning: &'static str,
}

pub(crate) fn features(output: &mut Output, args: &FeaturesArgs) -> Result<(), CliError> {
    let row = |feature: &Feature| FeatureRow {
        name: feature.name(),
        default: feature.default_enabled(),
        meaning: feature.meaning(),
    };
    let rows: Vec<FeatureRow> =
        Feature::ALL.iter().filter(|one| args.feature.is_none_or(|only| **one == only)).map(row).collect();
    if output.is_json() {
        return output.json(&rows);
    }
    let mut table = Table::new(&[("feature", Align::Left), ("6.1", Align::Left), ("meaning", Align::Wrap)]);
    for row in rows {
        table.row(vec![row.name.into(), if row.default { "on" } else { "off" }.into(), row.meaning.into()]);
    }
    let text = table.render(output.styles());
    output.text(&text)
}
