// SPDX-License-Identifier: GPL-2.0-or-later
//! The book's tables of named kernels: changed defaults with their commits, additions, and the switches of each kernel.

use super::additions::{ADDITIONS, Addition};
use super::{Kernel, all};
use fairlab_sched::commits::Commit;
use fairlab_sched::features::{Feature, Release};
use fairlab_sched::kernel_rules::{KernelRule, KernelRules};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::tunables::TUNABLES;
use std::fmt::Write;

/// Changed default of a switch.
struct ChangedDefault {
    name: &'static str,
    before: String,
    since: String,
    commit: Commit,
}

fn on_off(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

fn release(release: Release) -> String {
    format!("{}.{}", release.0, release.1)
}

/// Returns the changed defaults, earliest release first.
fn changed_defaults() -> Vec<ChangedDefault> {
    let of_features = Feature::ALL.iter().filter_map(|feature| {
        let change = feature.before()?;
        Some(ChangedDefault {
            name: feature.name(),
            before: on_off(!feature.default_enabled()),
            since: on_off(feature.default_enabled()),
            commit: change.commit,
        })
    });
    let of_tunables = TUNABLES.iter().flat_map(|info| {
        let last = info.default.of_machine(KernelSeries::V6_1, 8);
        info.former_values.iter().enumerate().map(move |(index, &(before, change))| {
            let since = info.former_values.get(index + 1).map_or(last, |&(value, _)| value);
            ChangedDefault {
                name: info.name,
                before: before.to_string(),
                since: since.to_string(),
                commit: change.commit,
            }
        })
    });
    let mut changes: Vec<ChangedDefault> = of_features.chain(of_tunables).collect();
    changes.sort_by_key(|change| change.commit.release);
    changes
}

/// Returns the table of the defaults that changed.
pub fn changed_defaults_table() -> String {
    let mut text = "| since | switch | before | since then | commit |\n|---|---|---|---|---|\n".to_owned();
    for ChangedDefault { name, before, since, commit } in changed_defaults() {
        let Commit { id, title, .. } = commit;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} | `{name}` | {before} | {since} | `{id}` {title} |", release(commit.release));
    }
    text
}

/// Returns the table of what kernels have only since a release.
pub fn additions_table() -> String {
    let mut text = "| since | name | commit |\n|---|---|---|\n".to_owned();
    for Addition { name, commit, .. } in ADDITIONS {
        let _ = writeln!(text, "| {} | {name} | `{}` {} |", release(commit.release), commit.id, commit.title);
    }
    text
}

/// Returns the table of the named kernels: how their switches differ from those of 6.1, and what they do not have.
pub fn kernels_table() -> String {
    let mut text =
        "| kernel | features | tunables and published changes | does not have |\n|---|---|---|---|\n".to_owned();
    let list = |words: Vec<String>| if words.is_empty() { "as in 6.1".to_owned() } else { words.join(", ") };
    for kernel in all().filter(|kernel| kernel.series() == KernelSeries::V6_1) {
        let feature =
            |(feature, is_on): (Feature, bool)| format!("`{}{}`", if is_on { "" } else { "NO_" }, feature.name());
        let features = list(kernel.features().into_iter().map(feature).collect());
        let tunables =
            list(kernel.tunables().into_iter().map(|(info, value)| format!("`{}={value}`", info.name)).collect());
        let missing: Vec<&str> = kernel.missing_additions().map(|addition| addition.name).collect();
        let _ = writeln!(text, "| {} | {features} | {tunables} | {} |", kernel.name, missing.join(", "));
    }
    text
}

/// Returns the table of the switches of 6.1 whose default is the same in all named kernels up to 6.1.
pub fn unchanged_defaults_table() -> String {
    let mut text = "| switch | default since 4.19 |\n|---|---|\n".to_owned();
    for feature in Feature::of_series(KernelSeries::V6_1).filter(|feature| feature.before().is_none()) {
        let _ = writeln!(text, "| `{}` | {} |", feature.name(), on_off(feature.default_enabled()));
    }
    for info in TUNABLES.iter().filter(|info| info.exists_in(KernelSeries::V6_1) && info.former_values.is_empty()) {
        let value = info.default.of_machine(KernelSeries::V6_1, 8);
        let _ = writeln!(text, "| `{}` | {value} |", info.name);
    }
    text
}

/// Returns the table of the rules that the scheduler of 6.12 has and that of 6.1 does not have.
pub fn rules_table() -> String {
    let mut text = "| since | rule | behaviour | commit |\n|---|---|---|---|\n".to_owned();
    for KernelRule { name, behaviour, commit } in KernelRules::ALL {
        let Commit { id, title, .. } = commit;
        let _ = writeln!(text, "| {} | `{name}` | {behaviour} | `{id}` {title} |", release(commit.release));
    }
    text
}

/// Returns the newest named kernel that is older than a release.
pub fn last_kernel_before(release: Release) -> Option<Kernel> {
    all().rfind(|kernel| kernel.release < release)
}
