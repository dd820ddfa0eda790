// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab kernels`: named kernels, the changes that each models and those that it leaves out.

use crate::args::KernelsArgs;
use crate::output::{Output, wrap};
use crate::values::error::CliError;
use fairlab_run::kernels::{self, Kernel};
use fairlab_sched::kernel_rules::{KernelRule, KernelRules};
use fairlab_sched::series::KernelSeries;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct KernelRow {
    name: &'static str,
    /// Release whose rules the built-in scheduler follows.
    rules: String,
    features: BTreeMap<&'static str, bool>,
    tunables: BTreeMap<&'static str, i64>,
    /// Rules of the scheduler that Linux 6.1 does not have.
    rules_since_6_1: Vec<RuleRow>,
    models: Vec<&'static str>,
    leaves_out: Vec<&'static str>,
}

/// Difference between the scheduler of a kernel and that of Linux 6.1.
#[derive(Serialize)]
struct RuleRow {
    name: &'static str,
    behaviour: &'static str,
    /// First mainline release with the commit.
    release: String,
    commit: &'static str,
    title: &'static str,
}

impl RuleRow {
    fn new(rule: &KernelRule) -> Self {
        let (major, minor) = rule.commit.release;
        Self {
            name: rule.name,
            behaviour: rule.behaviour,
            release: format!("{major}.{minor}"),
            commit: rule.commit.id,
            title: rule.commit.title,
        }
    }
}

pub(crate) fn kernels(output: &mut Output, args: &KernelsArgs) -> Result<(), CliError> {
    let row = |kernel: Kernel| KernelRow {
        name: kernel.name,
        rules: kernel.series().to_string(),
        features: kernel.features().into_iter().map(|(feature, on)| (feature.name(), on)).collect(),
        tunables: kernel.tunables().into_iter().map(|(info, value)| (info.name, value)).collect(),
        rules_since_6_1: KernelRules::list_of(kernel.series()).iter().map(RuleRow::new).collect(),
        models: kernel.modelled_changes(),
        leaves_out: kernel.unmodelled_changes(),
    };
    if output.is_json() {
        return match args.kernel {
            Some(kernel) => output.json(&row(kernel)),
            None => output.json(&kernels::all().map(row).collect::<Vec<_>>()),
        };
    }
    let page = args.kernel.map_or_else(|| release_history(output), |kernel| kernel_text(output, &row(kernel)));
    output.text(&page)
}

/// Returns the changes of each release, newest first.
fn release_history(output: &Output) -> String {
    let styles = output.styles();
    let of_6_1 = kernels::all().filter(|kernel| kernel.series() == KernelSeries::V6_1);
    let names: Vec<&str> = of_6_1.map(|kernel| kernel.name).collect();
    let mut page = wrap(
        &format!(
            "Kernels are 6.12 with EEVDF, and sets of features and tunables on top of the scheduler of 6.1: {}.",
            names.join(", ")
        ),
        2,
    );
    page.push_str(&wrap(
        "Each list applies to all kernels before that release; `fairlab kernels RELEASE` shows the switches of a kernel.",
        2,
    ));
    page.push_str(&wrap(
        "Other releases are not modelled; `fairlab kernel add NAME --source TREE` builds an engine from the tree of any of them.",
        2,
    ));
    for (releases, differences) in kernels::UNMODELLED_RELEASES.iter().rev() {
        page.push_str(&format!("\n{}, not modelled\n", styles.bold(releases)));
        page.extend(differences.iter().map(|what| wrap(&format!("  - {what}"), 4)));
    }
    for kernel in kernels::all().rev() {
        let (modelled, missing) = kernel.changes_of_release();
        if modelled.is_empty() && missing.is_empty() {
            continue;
        }
        page.push_str(&format!("\nbefore {}\n", styles.bold(kernel.name)));
        page.extend(modelled.into_iter().map(|what| wrap(&format!("  - {what}"), 4)));
        page.extend(missing.into_iter().map(|what| wrap(&format!("  - as in 6.1: {what}"), 4)));
    }
    page
}

/// Returns the switches of one kernel and the changes that they model.
fn kernel_text(output: &Output, row: &KernelRow) -> String {
    let styles = output.styles();
    let features = row.features.iter().map(|(name, on)| format!("{}{name}", if *on { "" } else { "NO_" }));
    let tunables = row.tunables.iter().map(|(name, value)| format!("{name}={value}"));
    let switches: Vec<String> = features.chain(tunables).collect();
    let mut page = wrap(&format!("{} {}", styles.bold(row.name), switches.join(" ")), 4);
    if row.models.is_empty() {
        page.push_str(&wrap(&format!("  the rules of {} without changes", row.rules), 4));
    }
    if !row.rules_since_6_1.is_empty() {
        page.push_str(&format!(
            "\n{} rules that 6.1 does not have, with release and commit\n",
            row.rules_since_6_1.len()
        ));
    }
    page.extend(row.rules_since_6_1.iter().map(|rule| {
        let RuleRow { behaviour, release, commit, .. } = rule;
        wrap(&format!("  - {behaviour} ({release}, {commit})"), 4)
    }));
    page.extend(row.models.iter().map(|what| wrap(&format!("  - {what}"), 4)));
    page.extend(row.leaves_out.iter().map(|what| wrap(&format!("  - as in 6.1: {what}"), 4)));
    page
}
