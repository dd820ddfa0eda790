// SPDX-License-Identifier: GPL-2.0-or-later
//! The page of `fairlab lab` beside native runs: its controls, the first difference, and sampled pixels.

mod links;
mod native;
pub(super) mod times;

use super::controls::{ControlUse, Gesture, control_use, use_all_controls};
use super::driver::Browser;
use super::{WINDOWS, check_page};
use crate::lab;
use anyhow::{Context, Result};
use std::path::Path;

/// Verdict and command, once the runs are complete. A verdict that is not final ends in an ellipsis.
pub(super) const SETTLED: &str = "(async () => {
    while (/\\u2026$/.test(document.getElementById('verdict').textContent)) await new Promise((done) => setTimeout(done, 10));
    return ['verdict', 'subject', 'command'].map((id) => document.getElementById(id).textContent).join();
})()";
const FOUND: &str = "document.getElementById('found').textContent";
const FOUND_NOTHING: &str = "document.getElementById('found').textContent || 'nothing'";
/// Text of the button once the link is copied, or is not.
const SHARED: &str = "document.getElementById('share').textContent";
/// Name and form of the file that was saved last; nothing if it cannot be read.
pub(super) const SAVED: &str = "(async () => {
    const { name, content } = fairlab.saved() ?? {};
    if (!name) return 'nothing';
    if (name.endsWith('.png')) return name + (await createImageBitmap(content)).width;
    const text = await content.text();
    if (name.endsWith('.json')) return name + JSON.parse(text).schema;
    const drawing = new DOMParser().parseFromString(text, 'image/svg+xml');
    return drawing.querySelector('parsererror') || drawing.querySelectorAll('rect').length < 100 ? '' : name;
})()";
const KNOBS: &str = "document.getElementById('knobs').textContent || 'none'";
const VIEW: &str = "JSON.stringify(fairlab.timeline.view)";
const CHOSEN: &str = "JSON.stringify(fairlab.timeline.chosen)";
const REASONS: &str = "document.getElementById('why').textContent";

const USES: &[ControlUse] = &[
    control_use("knob-base_slice_ns", Gesture::Keys(&["ArrowLeft", "ArrowLeft"]), SETTLED),
    control_use("knob-base_slice_ns", Gesture::Click, SETTLED),
    control_use("knob-base_slice_ns-value", Gesture::Keys(&["ArrowUp", "ArrowDown"]), SETTLED),
    control_use("remove-base_slice_ns", Gesture::Click, KNOBS),
    control_use("find", Gesture::Type("idle cpu utilisation"), FOUND),
    control_use("find", Gesture::Keys(&["Escape"]), FOUND_NOTHING),
    control_use("find", Gesture::Type("sis_util"), FOUND),
    control_use("add-SIS_UTIL", Gesture::Click, SETTLED),
    control_use("demo-SIS_UTIL", Gesture::Click, SETTLED),
    control_use("knob-SIS_UTIL", Gesture::Click, SETTLED),
    control_use("remove-SIS_UTIL", Gesture::Click, KNOBS),
    control_use("workload", Gesture::Select("scenarios/eevdf.scn"), SETTLED),
    control_use("finding-A-0", Gesture::Click, REASONS),
    control_use("machine", Gesture::Select("laptop-8"), SETTLED),
    control_use("edit-summary", Gesture::Click, "document.getElementById('edit').open"),
    control_use("text", Gesture::Type("# edited\n"), "document.getElementById('text').value"),
    control_use("edit-summary", Gesture::Click, "document.getElementById('edit').open"),
    control_use("open", Gesture::Open("mine.scn", "cpus 2\nend 20ms\ntask a n=3 loop run 1ms sleep 1ms\n"), SETTLED),
    control_use("share", Gesture::Click, SHARED),
    control_use("kernel", Gesture::Select("5.4"), SETTLED),
    control_use("workload", Gesture::Select("scenarios/hello.json"), SETTLED),
    control_use("find", Gesture::Type("slice base"), FOUND),
    control_use("find", Gesture::Keys(&["Enter"]), KNOBS),
    control_use("knob-base_slice_ns", Gesture::Keys(&["ArrowRight", "ArrowRight", "ArrowRight"]), SETTLED),
    control_use("timeline", Gesture::Wheel, VIEW),
    control_use("show-difference", Gesture::Click, VIEW),
    control_use("timeline", Gesture::Keys(&["+", "=", "ArrowRight", "ArrowLeft", "-", "Home"]), VIEW),
    control_use("timeline", Gesture::Keys(&["Enter", "ArrowDown", "ArrowUp", "n", "n", "p"]), CHOSEN),
    control_use("timeline", Gesture::Click, REASONS),
    control_use("save-png", Gesture::Click, SAVED),
    control_use("save-svg", Gesture::Click, SAVED),
    control_use("save-spec", Gesture::Click, SAVED),
    control_use("lane", Gesture::Choose, "document.getElementById('timeline').toDataURL()"),
    control_use("colour", Gesture::Choose, "document.getElementById('timeline').toDataURL()"),
    control_use("task", Gesture::Type("hog"), "document.getElementById('timeline').toDataURL()"),
    control_use("task", Gesture::Keys(&["Escape"]), "document.getElementById('task').value || 'nothing'"),
    control_use("next-difference", Gesture::Click, REASONS),
    control_use("wait-A-0", Gesture::Click, REASONS),
    control_use("charts-summary", Gesture::Click, "document.getElementById('latency').toDataURL()"),
    control_use("family", Gesture::Choose, "document.getElementById('latency').toDataURL()"),
    control_use("lag-task", Gesture::Select("hog-9"), "document.getElementById('lag').toDataURL()"),
    control_use("as-table-summary", Gesture::Click, "document.getElementById('segments').textContent"),
    control_use("timeline", Gesture::Keys(&["+", "+"]), "document.getElementById('segments-title').textContent"),
    control_use("timeline", Gesture::Drag, VIEW),
];

/// Checks the page in all windows.
pub(super) fn check(root: &Path, browser: &mut dyn Browser) -> Result<()> {
    let page = lab::build(root)?;
    for (name, size, is_phone) in WINDOWS {
        browser.open(&page, size, is_phone)?;
        browser.value(SETTLED)?;
        let checked = check_page(browser)
            .and_then(|()| use_all_controls(browser, USES))
            .and_then(|()| links::check(browser))
            .and_then(|()| native::compare(browser));
        let nr = checked.with_context(|| format!("fairlab lab in {}, {name} window", browser.name()))?;
        println!(
            "fairlab lab in {}, {name}: all controls, the first difference and {nr} pixels are those of native runs",
            browser.name()
        );
    }
    Ok(())
}
