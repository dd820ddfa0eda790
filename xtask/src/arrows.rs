// SPDX-License-Identifier: GPL-2.0-or-later
//! Arrows between crates: which crate may use which.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Each crate with the crates that it uses directly, in an order in which a crate only uses those before it. A crate may
/// use whatever they may use.
const ARROWS: &[(&str, &[&str])] = &[
    ("sched", &[]),
    ("workload", &["sched"]),
    ("board", &["workload"]),
    ("machine", &["board"]),
    ("measure", &["machine"]),
    ("traces", &["measure"]),
    ("explain", &["measure"]),
    ("findings", &["traces", "explain"]),
    ("report", &["findings"]),
    ("run", &["findings"]),
    ("experiment", &["measure"]),
    ("fuzz", &["explain", "experiment"]),
    ("sweep", &["experiment"]),
    ("study", &["run", "experiment"]),
    ("lab", &["report", "run"]),
    // Statistics and import of the page of `lab` are a module of their own, without the simulator.
    ("lab-tools", &["traces", "experiment"]),
    ("native", &["workload"]),
    ("validation", &["native", "run", "experiment"]),
    ("kernel", &["machine"]),
    ("cli", &["lab", "study", "fuzz", "sweep", "validation", "kernel"]),
    ("python", &["cli"]),
];

/// Directory without code, which all builds use.
const SHARED_FEATURES: &str = "shared-features";

/// Returns the crates that a crate may use.
fn allowed(name: &str) -> BTreeSet<&'static str> {
    let mut all = BTreeSet::new();
    let direct = ARROWS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, direct)| direct);
    for &used in direct {
        all.insert(used);
        all.extend(allowed(used));
    }
    all
}

/// Returns the crates that a manifest names as dependencies, without those of tests.
fn used_crates(manifest: &toml::Table) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let of_targets = targets.into_iter().flat_map(|targets| targets.values()).filter_map(toml::Value::as_table);
    let tables = std::iter::once(manifest).chain(of_targets);
    let dependencies = tables.filter_map(|table| table.get("dependencies").and_then(toml::Value::as_table));
    let of_project = |name: &String| match name.strip_prefix("fairlab") {
        Some("") => Some("cli".to_owned()),
        Some(rest) => rest.strip_prefix('-').map(str::to_owned),
        None => None,
    };
    dependencies.flat_map(toml::Table::keys).filter_map(of_project).collect()
}

/// Returns the names of all dependencies of a manifest.
fn nr_dependencies(manifest: &toml::Table) -> usize {
    manifest.get("dependencies").and_then(toml::Value::as_table).map_or(0, toml::Table::len)
}

/// Returns dependencies without an arrow, arrows without a dependency, and crates without an entry.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let folder = root.join("crates");
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != SHARED_FEATURES && !ARROWS.iter().any(|(known, _)| *known == name) {
            wrong.push(format!("crates/{name}: has no entry in xtask/src/arrows.rs"));
        }
    }
    for (name, direct) in ARROWS {
        let path = folder.join(name).join("Cargo.toml");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let manifest: toml::Table = text.parse().with_context(|| path.display().to_string())?;
        wrong.extend(problems_of(name, direct, &manifest));
    }
    Ok(wrong)
}

fn problems_of(name: &str, direct: &[&str], manifest: &toml::Table) -> Vec<String> {
    let mut wrong = Vec::new();
    let (used, allowed) = (used_crates(manifest), allowed(name));
    for stranger in used.iter().filter(|used| !allowed.contains(used.as_str())) {
        wrong.push(format!("crates/{name}: must not use {stranger}"));
    }
    for idle in direct.iter().filter(|direct| !used.contains(**direct)) {
        wrong.push(format!("crates/{name}: does not use {idle}, to which it has an arrow"));
    }
    if name == "sched" && nr_dependencies(manifest) > 0 {
        wrong.push("crates/sched: has dependencies".to_owned());
    }
    wrong
}

/// Returns the picture of the arrows: each crate, and those that use it directly.
pub(crate) fn picture() -> String {
    let width = ARROWS.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut lines = String::new();
    for (name, _) in ARROWS {
        let users = ARROWS.iter().filter(|(_, direct)| direct.contains(name)).map(|(user, _)| *user);
        let users: Vec<&str> = users.collect();
        if !users.is_empty() {
            lines.push_str(&format!("{name:width$} <- {}\n", users.join(", ")));
        }
    }
    format!("```text\n{lines}```")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, dependencies: &str) -> Vec<String> {
        let direct = ARROWS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, direct)| direct);
        problems_of(name, direct, &format!("[dependencies]\n{dependencies}").parse().expect("a manifest"))
    }

    #[test]
    fn a_dependency_without_an_arrow_and_an_arrow_without_a_dependency_are_found() {
        assert!(of("traces", "fairlab-measure = 1\nfairlab-sched = 1\nserde = 1").is_empty());
        assert_eq!(of("traces", "fairlab-measure = 1\nfairlab-run = 1"), ["crates/traces: must not use run"]);
        assert_eq!(
            of("traces", "fairlab-sched = 1"),
            ["crates/traces: does not use measure, to which it has an arrow"]
        );
        let of_target = "[target.x.dependencies]\nfairlab-run = 1\n[dependencies]\nfairlab-measure = 1";
        let manifest: toml::Table = of_target.parse().expect("a manifest");
        assert_eq!(problems_of("traces", &["measure"], &manifest), ["crates/traces: must not use run"]);
        assert_eq!(of("sched", "serde = 1"), ["crates/sched: has dependencies"]);
    }

    #[test]
    fn crates_use_only_those_before_them() {
        for (place, (name, direct)) in ARROWS.iter().enumerate() {
            for used in *direct {
                assert!(ARROWS[..place].iter().any(|(before, _)| before == used), "{name} uses {used}");
            }
            // An arrow that follows from others is left out.
            let others = |used: &str| direct.iter().any(|other| *other != used && allowed(other).contains(used));
            assert!(!direct.iter().any(|used| others(used)), "{name}");
        }
    }
}
