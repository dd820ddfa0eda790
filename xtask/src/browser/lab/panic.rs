// SPDX-License-Identifier: GPL-2.0-or-later
//! Panic of the WebAssembly module: the page reports it with a link, and the next change runs in a fresh instance.

use super::SETTLED;
use crate::browser::check_page;
use crate::browser::driver::Browser;
use anyhow::{Result, ensure};
use serde_json::json;

/// Turns a knob, with a panic at the first request of arm B.
const TURN_AND_PANIC: &str = "(() => {
    const client = fairlab.clients()[1], knob = document.getElementById('knob-base_slice_ns');
    client.ask = () => {
        delete client.ask;
        return client.ask({ panic: {} });
    };
    knob.stepUp();
    knob.dispatchEvent(new Event('input'));
})()";
const TURN: &str = "(() => {
    const knob = document.getElementById('knob-base_slice_ns');
    knob.stepUp();
    knob.dispatchEvent(new Event('input'));
})()";
/// Whether the page reports the panic, with its link.
const REPORT: &str = "(() => {
    const verdict = document.getElementById('verdict').textContent;
    return [verdict.startsWith('fairlab has a bug: panicked at '), verdict.includes(location.href), location.hash.length > 10];
})()";

/// Causes a panic. The page then has digests of a run after it, which the caller compares.
pub(super) fn check(browser: &mut dyn Browser) -> Result<()> {
    browser.value(TURN_AND_PANIC)?;
    let verdict = browser.value(SETTLED)?;
    ensure!(browser.value(REPORT)? == json!([true, true, true]), "after a panic, the page reports: {verdict}");
    check_page(browser)?;
    browser.value(TURN)?;
    let verdict = browser.value(SETTLED)?;
    ensure!(!verdict.to_string().contains("panicked"), "after a panic, no fresh instance runs: {verdict}");
    check_page(browser)
}
