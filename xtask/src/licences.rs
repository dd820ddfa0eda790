// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks licences of dependencies against the list in deny.toml. `cargo deny check` reads the same file and
//! checks more.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) fn check(root: &Path) -> Result<()> {
    let deny: toml::Table =
        fs::read_to_string(root.join("deny.toml")).context("deny.toml")?.parse().context("deny.toml")?;
    let allowed = names(&deny["licenses"]["allow"]).context("deny.toml: licenses.allow is a list")?;
    let exceptions = exceptions(&deny).context("deny.toml: licenses.exceptions have a crate and a list `allow`")?;
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(root)
        .output()
        .context("cargo metadata")?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let packages = metadata["packages"].as_array().context("cargo metadata has packages")?;
    let mut wrong = Vec::new();
    for package in packages {
        let licence = package["license"].as_str().unwrap_or("none");
        let of_package = exceptions.iter().filter(|(name, _)| package["name"] == *name);
        let allowed: Vec<&str> = of_package.flat_map(|(_, names)| names).chain(&allowed).copied().collect();
        if !is_allowed(licence, &allowed) {
            wrong.push(format!("{} {}: licence {licence}", package["name"], package["version"]));
        }
    }
    if !wrong.is_empty() {
        bail!("licences that deny.toml does not allow:\n{}", wrong.join("\n"));
    }
    println!("{} packages have allowed licences", packages.len());
    Ok(())
}

/// Returns the texts of a list.
fn names(list: &toml::Value) -> Option<Vec<&str>> {
    list.as_array()?.iter().map(toml::Value::as_str).collect()
}

/// Returns the licences that single packages may have, by the names of the packages.
fn exceptions(deny: &toml::Table) -> Option<Vec<(&str, Vec<&str>)>> {
    let Some(exceptions) = deny["licenses"].get("exceptions") else { return Some(Vec::new()) };
    let of_package = exceptions.as_array()?.iter();
    of_package.map(|entry| Some((entry.get("crate")?.as_str()?, names(entry.get("allow")?)?))).collect()
}

/// Whether an SPDX expression is allowed: one side of each OR, both sides of each AND.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let plain = expression.replace(['(', ')'], " ");
    // AND binds closer. The only parenthesised form in use where that matters is `(A OR B) AND C`.
    if expression.contains('(') {
        return plain.split(" AND ").all(|part| part.split(" OR ").any(|one| allowed.contains(&one.trim())));
    }
    plain.replace('/', " OR ").split(" OR ").any(|side| side.split(" AND ").all(|one| allowed.contains(&one.trim())))
}

#[cfg(test)]
mod tests {
    use super::{exceptions, is_allowed};

    #[test]
    fn one_side_of_an_or_is_enough_and_both_of_an_and_are_needed() {
        let allowed = ["MIT", "Unicode-3.0"];
        assert!(is_allowed("MIT OR Apache-2.0", &allowed));
        assert!(is_allowed("Apache-2.0/MIT", &allowed));
        assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0", &allowed));
        assert!(!is_allowed("MIT AND CDDL-1.0", &allowed));
        assert!(!is_allowed("CDDL-1.0", &allowed));
    }

    #[test]
    fn an_exception_names_a_package_and_its_licences() {
        let deny = "[licenses]\nallow = []\n[[licenses.exceptions]]\ncrate = \"a\"\nallow = [\"CC-BY-4.0\"]\n";
        assert_eq!(exceptions(&deny.parse().expect("it is TOML")), Some(vec![("a", vec!["CC-BY-4.0"])]));
        assert_eq!(exceptions(&"[licenses]\n".parse().expect("it is TOML")), Some(Vec::new()));
    }
}
