// SPDX-License-Identifier: GPL-2.0-or-later
//! Accessibility of the page: axe-core, which npm loads, must find no violation.

use crate::browser::check_page;
use crate::browser::driver::Browser;
use crate::requirement::skip_or_fail;
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// Package of npm with the rules.
const PACKAGE: &str = "axe-core@4.14.1";
/// Opens all parts of the page: the text in its editor, the table, and results of a search. Reasons are those of an earlier click.
const OPEN_PARTS: &str = "(() => {
    for (const part of document.querySelectorAll('details')) part.open = true;
    const search = document.getElementById('find');
    search.value = 'util';
    search.dispatchEvent(new Event('input'));
    return ['editor-part', 'found', 'why', 'knobs', 'metrics', 'findings', 'waits'].filter((id) => !document.getElementById(id).childElementCount);
})()";
const CLOSE_PARTS: &str = "(() => {
    for (const part of document.querySelectorAll('details')) part.open = false;
    const search = document.getElementById('find');
    search.value = '';
    search.dispatchEvent(new Event('input'));
})()";
/// Violations with the first element of each.
const VIOLATIONS: &str = "axe.run().then(({ violations }) => violations.map(({ id, nodes }) =>
    `${id}: ${nodes[0].html.slice(0, 120)}\\n${nodes[0].failureSummary}`))";

/// Returns the source of axe-core; none if npm cannot load it.
pub(super) fn load(root: &Path, is_ci: bool) -> Result<Option<String>> {
    let directory = root.join("target").join(PACKAGE);
    let file = directory.join("node_modules/axe-core/axe.min.js");
    if !file.exists() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]).arg(&directory);
        if !npm.arg(PACKAGE).output().is_ok_and(|output| output.status.success()) {
            let message = format!("the accessibility of the page is not checked: npm cannot load {PACKAGE}");
            return skip_or_fail(is_ci, "axe-core", &message).map(|()| None);
        }
    }
    std::fs::read_to_string(&file).with_context(|| file.display().to_string()).map(Some)
}

/// Checks the page with all its parts open, in light and dark colours where the browser has both.
pub(super) fn check(browser: &mut dyn Browser, axe: &str) -> Result<()> {
    browser.value(&format!("(() => {{ {axe}\n }})()"))?;
    let empty = browser.value(OPEN_PARTS)?;
    ensure!(empty == json!([]), "{empty} are empty");
    for scheme in ["dark", "light"] {
        if browser.set_colour_scheme(scheme)? {
            let violations: Vec<String> = serde_json::from_value(browser.value(VIOLATIONS)?)?;
            ensure!(violations.is_empty(), "{scheme} colours: {}", violations.join("\n"));
        }
    }
    check_page(browser)?;
    browser.value(CLOSE_PARTS).map(drop)
}
