// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab features`: scheduler features with default and meaning.

use crate::args::FeaturesArgs;
use crate::execution::switches::{kernel_column, of_engine, only};
use crate::output::Output;
use crate::output::table::{Align, Table};
use crate::values::error::CliError;
use fairlab_run::values::check_feature;
use fairlab_sched::features::Feature;
use fairlab_sched::series::KernelSeries;
use serde::Serialize;

#[derive(Serialize)]
struct FeatureRow {
    name: String,
    default: bool,
    meaning: String,
}

pub(crate) fn features(output: &mut Output, args: &FeaturesArgs) -> Result<(), CliError> {
    let engine = args.engine.as_ref().and_then(|engine| engine.kernel());
    let rows = match engine {
        None => built_in(args.feature.as_deref())?,
        Some(name) => {
            let switches = of_engine(name, 1)?;
            let names = || switches.states.features.iter().map(|feature| feature.name.as_str());
            let wanted = only("feature", args.feature.as_deref(), names())?;
            let own = |name: &str| Feature::from_name(name).map(Feature::meaning);
            let of_tree =
                switches.states.features.iter().filter(|feature| wanted.is_none_or(|name| name == feature.name));
            let row = |feature: &fairlab_machine::engine::FeatureState| FeatureRow {
                name: feature.name.clone(),
                default: feature.is_on,
                meaning: switches.meaning(&feature.name, own(&feature.name)),
            };
            of_tree.map(row).collect()
        }
    };
    if output.is_json() {
        return output.json(&rows);
    }
    let mut table =
        Table::new(&[("feature", Align::Left), (&kernel_column(engine), Align::Left), ("meaning", Align::Wrap)]);
    for row in rows {
        table.row(vec![row.name.into(), if row.default { "on" } else { "off" }.into(), row.meaning.into()]);
    }
    let text = table.render(output.styles());
    output.text(&text)
}

fn built_in(only: Option<&str>) -> Result<Vec<FeatureRow>, CliError> {
    let only = only.map(check_feature).transpose().map_err(CliError::Input)?;
    let row = |feature: Feature| FeatureRow {
        name: feature.name().to_owned(),
        default: feature.default_enabled(),
        meaning: feature.meaning().to_owned(),
    };
    let listed = Feature::of_series(KernelSeries::V6_1);
    Ok(match only {
        Some(feature) => vec![row(feature)],
        None => listed.map(row).collect(),
    })
}
