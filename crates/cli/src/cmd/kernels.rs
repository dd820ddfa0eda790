// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab kernels`: what each named kernel models and what not.

use crate::error::CliError;
use crate::output::{Output, wrap};
use fairlab_study::kernels::{KERNELS, Kernel};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct KernelRow {
    name: &'static str,
    features: BTreeMap<&'static str, bool>,
    tunables: BTreeMap<&'static str, i64>,
    models: Vec<&'static str>,
    leaves_out: Vec<&'static str>,
}

/// Runs the command.
pub(crate) fn kernels(output: &mut Output) -> Result<(), CliError> {
    let row = |kernel: Kernel| KernelRow {
        name: kernel.name,
        features: kernel.features().into_iter().map(|(feature, on)| (feature.name(), on)).collect(),
        tunables: kernel.tunables().into_iter().collect(),
        models: kernel.models(),
        leaves_out: kernel.leaves_out(),
    };
    let rows = KERNELS.map(row);
    if output.is_json() {
        return output.json(&rows);
    }
    let styles = output.styles();
    let mut page = String::from("Kernels are sets of features and tunables on top of the scheduler of 6.1.\n");
    for row in rows {
        let features = row.features.iter().map(|(name, on)| format!("{}{name}", if *on { "" } else { "NO_" }));
        let tunables = row.tunables.iter().map(|(name, value)| format!("{name}={value}"));
        let switches: Vec<String> = features.chain(tunables).collect();
        page.push('\n');
        page.push_str(&wrap(&format!("{} {}", styles.bold(row.name), switches.join(" ")), 4));
        if row.models.is_empty() {
            page.push_str("  the scheduler as it is here\n");
        }
        for what in row.models {
            page.push_str(&wrap(&format!("  - {what}"), 4));
        }
        for what in row.leaves_out {
            page.push_str(&wrap(&format!("  - as in 6.1: {what}"), 4));
        }
    }
    output.text(&page)
}
