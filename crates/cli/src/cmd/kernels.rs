// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab kernels`: what each named kernel models and what not.

use crate::args::KernelsArgs;
use crate::error::CliError;
use crate::output::{Output, wrap};
use fairlab_study::kernels::{self, Kernel};
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
pub(crate) fn kernels(output: &mut Output, args: &KernelsArgs) -> Result<(), CliError> {
    let row = |kernel: Kernel| KernelRow {
        name: kernel.name,
        features: kernel.features().into_iter().map(|(feature, on)| (feature.name(), on)).collect(),
        tunables: kernel.tunables().into_iter().collect(),
        models: kernel.modelled_changes(),
        leaves_out: kernel.unmodelled_changes(),
    };
    if output.is_json() {
        return match args.kernel {
            Some(kernel) => output.json(&row(kernel)),
            None => output.json(&kernels::all().map(row).collect::<Vec<_>>()),
        };
    }
    let page = args.kernel.map_or_else(|| history(output), |kernel| kernel_row(output, &row(kernel)));
    output.text(&page)
}

/// What came with which release.
fn history(output: &Output) -> String {
    let styles = output.styles();
    let names: Vec<&str> = kernels::all().map(|kernel| kernel.name).collect();
    let mut page = wrap(
        &format!("Kernels are sets of features and tunables on top of the scheduler of 6.1: {}.", names.join(", ")),
        2,
    );
    page.push_str(&wrap("Each has what is told here of later ones; `fairlab kernels RELEASE` shows its switches.", 2));
    for kernel in kernels::all().rev() {
        let (told, missing) = kernel.changes_of_release();
        if told.is_empty() && missing.is_empty() {
            continue;
        }
        page.push_str(&format!("\nbefore {}\n", styles.bold(kernel.name)));
        page.extend(told.into_iter().map(|what| wrap(&format!("  - {what}"), 4)));
        page.extend(missing.into_iter().map(|what| wrap(&format!("  - as in 6.1: {what}"), 4)));
    }
    page
}

/// What one of them is made of.
fn kernel_row(output: &Output, row: &KernelRow) -> String {
    let styles = output.styles();
    let features = row.features.iter().map(|(name, on)| format!("{}{name}", if *on { "" } else { "NO_" }));
    let tunables = row.tunables.iter().map(|(name, value)| format!("{name}={value}"));
    let switches: Vec<String> = features.chain(tunables).collect();
    let mut page = wrap(&format!("{} {}", styles.bold(row.name), switches.join(" ")), 4);
    if row.models.is_empty() {
        page.push_str("  the scheduler as it is here\n");
    }
    page.extend(row.models.iter().map(|what| wrap(&format!("  - {what}"), 4)));
    page.extend(row.leaves_out.iter().map(|what| wrap(&format!("  - as in 6.1: {what}"), 4)));
    page
}
