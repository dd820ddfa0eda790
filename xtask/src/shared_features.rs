// SPDX-License-Identifier: GPL-2.0-or-later
//! Check that builds of the command, of xtask, of the Python package and of the workspace give dependencies the
//! same features, so that none of them compiles a dependency again.

use crate::programs::cargo;
use std::collections::BTreeSet;

/// Returns the dependencies of a build with their features.
fn dependencies(selection: &[&str]) -> BTreeSet<String> {
    let mut command = cargo();
    command.args(["tree", "--locked", "--prefix", "none", "--format", "{p} [{f}]"]).args(selection);
    let output = command.current_dir(crate::root()).output().expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo prints text");
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn builds_share_their_dependencies() {
    let normal = |package| dependencies(&["--package", package, "--edges", "normal,build"]);
    let (workspace, python) = (dependencies(&["--workspace"]), normal("fairlab-python"));
    for (package, whole) in [("fairlab", &workspace), ("xtask", &workspace), ("fairlab", &python)] {
        let missing: Vec<_> = normal(package).difference(whole).cloned().collect();
        assert!(
            missing.is_empty(),
            "{package}: dependencies with other features than in larger builds: {missing:#?}\n\
             help: add the features to crates/shared-features/Cargo.toml"
        );
    }
}
