// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab features`: scheduler features with default and meaning.

use crate::args::FeaturesArgs;
use crate::execution::switches::{kernel_column, of_engine, only};
use crate::output::Output;
use crate::output::table::Table;
use crate::values::error::CliError;
use fairlab_run::kernels::Kernel;
use fairlab_run::values::check_feature;
use fairlab_sched::features::Feature;
use serde::Serialize;

#[derive(Serialize)]
struct FeatureRow {
    name: String,
    default: bool,
    meaning: String,
}

pub(crate) fn features(output: &mut Output, args: &FeaturesArgs) -> Result<(), CliError> {
    let engine = args.engine.as_ref().and_then(|engine| engine.kernel());
    let kernel = args.kernel.unwrap_or_else(Kernel::default_profile);
    let rows = match engine {
        None => built_in(kernel, args.feature.as_deref())?,
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
    output.json_or_text(&rows, |styles| {
        let mut table = Table::default().left(["feature", &kernel_column(kernel, engine)]).wrapped("meaning");
        for row in &rows {
            table.text_row([row.name.as_str(), if row.default { "on" } else { "off" }, &row.meaning]);
        }
        table.render(styles)
    })
}

fn built_in(kernel: Kernel, only: Option<&str>) -> Result<Vec<FeatureRow>, CliError> {
    let series = kernel.series();
    let only = only.map(|name| check_feature(series, name)).transpose().map_err(CliError::input)?;
    let changed = kernel.features();
    let is_on = |feature: Feature| {
        changed.iter().find(|(of, _)| *of == feature).map_or_else(|| feature.default_enabled(), |&(_, on)| on)
    };
    let row = |feature: Feature| FeatureRow {
        name: feature.name().to_owned(),
        default: is_on(feature),
        meaning: feature.meaning().to_owned(),
    };
    Ok(match only {
        Some(feature) => vec![row(feature)],
        None => Feature::of_series(series).map(row).collect(),
    })
}
