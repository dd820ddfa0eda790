// SPDX-License-Identifier: GPL-2.0-or-later
//! The page of `fairlab lab`: its controls, accessibility, hostile links, a panic, its content security policy, and beside
//! native runs digests, the first difference and sampled pixels.

mod axe;
mod links;
mod native;
mod panic;
mod policy;
mod random;
pub(super) mod times;

use super::controls::{ControlUse, Device, Gesture, control_use, use_all_controls};
use super::driver::Browser;
use super::{BrowserArgs, WINDOWS, check_page};
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
/// Number of times that the button has reported the link.
const NR_SHARED: &str = "(() => {
    const share = document.getElementById('share');
    globalThis.shared ??= (new MutationObserver(() => shared.push(share.textContent)).observe(share, { childList: true }), []);
    return shared.filter((text) => text !== 'Copy link').length;
})()";
/// Name and form of the file that was saved last; nothing if it cannot be read.
pub(super) const SAVED: &str = "(async () => {
    while (document.getElementById('save-trace').disabled) await new Promise((done) => setTimeout(done, 20));
    const { name, content } = fairlab.saved() ?? {};
    if (!name) return 'nothing';
    if (name.endsWith('.pftrace')) return content.size > 1e5 ? name + content.size : '';
    if (name.endsWith('.png')) return name + (await createImageBitmap(content)).width;
    const text = await content.text();
    if (name.endsWith('.json')) return name + JSON.parse(text).schema;
    const drawing = new DOMParser().parseFromString(text, 'image/svg+xml');
    return drawing.querySelector('parsererror') || drawing.querySelectorAll('rect').length < 100 ? '' : name;
})()";
/// Verdict and table of the repetitions, once they are compared.
const REPEATED: &str = "(async () => {
    while (document.getElementById('repeat-progress').textContent !== '') await new Promise((done) => setTimeout(done, 20));
    return document.getElementById('repeated').hidden ? '' : document.getElementById('repeated').textContent;
})()";
/// Output of `lscpu -J -e` on a machine with four CPUs.
const LSCPU: &str = r#"{"cpus": [{"cpu": 0, "core": 0, "socket": 0, "node": 0}, {"cpu": 1, "core": 1, "socket": 0, "node": 0},
    {"cpu": 2, "core": 2, "socket": 0, "node": 0}, {"cpu": 3, "core": 3, "socket": 0, "node": 0}]}"#;
/// Text of ftrace with a few switches between two tasks.
const TRACE: &str = "# tracer: nop
    a-10 [000] d..3. 1.000000: sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=b next_pid=11 next_prio=120
    b-11 [000] d..3. 1.002000: sched_switch: prev_comm=b prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=a next_pid=10 next_prio=120
    a-10 [000] d..3. 1.003000: sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=b next_pid=11 next_prio=120
    b-11 [000] d..3. 1.009000: sched_switch: prev_comm=b prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";
const KNOBS: &str = "document.getElementById('knobs').textContent || 'none'";
const VIEW: &str = "JSON.stringify(fairlab.timeline.view)";
const CHOSEN: &str = "JSON.stringify(fairlab.timeline.chosen)";
const CHOICE: &str = "document.querySelector('input[name=lesson-choice]:checked')?.value ?? 'none'";
/// Result of a lesson, once the runs are complete.
const LESSON_RESULT: &str = "(async () => {
    while (/\\u2026$/.test(document.getElementById('verdict').textContent)) await new Promise((done) => setTimeout(done, 10));
    return document.getElementById('lesson-result').textContent;
})()";
const REASONS: &str = "document.getElementById('why').textContent";

const FOCUS: &str = "document.activeElement.id";
const LAG: &str = "document.getElementById('lag').toDataURL()";
/// Whether the text of the workload is shown, which loads its editor.
const IS_EDITED: &str = "(async () => {
    const { open } = document.getElementById('edit');
    while (open && !document.getElementById('editor-text')) await new Promise((done) => setTimeout(done, 10));
    return open;
})()";
/// Chosen completion, once the editor accepts it: shortly after it appears, Enter still is a line break.
const COMPLETION: &str = "new Promise((done) => setTimeout(() =>
    done(document.querySelector('.cm-tooltip-autocomplete [aria-selected]')?.textContent ?? ''), 150))";
const EDITED_LINE: &str = "[...document.querySelectorAll('.cm-line')].at(-1).textContent";
/// Marked words of the editor, with the verdict.
const MARKED: &str = "(() => {
    const marked = [...document.querySelectorAll('.cm-lintRange-error')].map(({ textContent }) => textContent).join('|');
    return marked === 'slcie=2ms' ? marked + document.getElementById('verdict').textContent : '';
})()";
/// The machine, if the reader has opened it.
const OPENED_MACHINE: &str = "(async () => {
    while (/\\u2026$/.test(document.getElementById('verdict').textContent)) await new Promise((done) => setTimeout(done, 10));
    return document.getElementById('subject').textContent.includes(' on captured,') ? document.getElementById('machine').value : '';
})()";
const SEGMENTS: &str = "document.getElementById('segments').textContent";
const FILE: &str = "cpus 2\nend 20ms\ntask a n=3 loop run 1ms sleep 1ms\n";

const TIMELINE: &str = "document.getElementById('timeline').toDataURL()";
const LATENCY: &str = "document.getElementById('latency').toDataURL()";
/// Part of the table of metrics that is shown.
pub(super) const METRICS_POSITION: &str = "document.getElementById('metrics-scroll').scrollLeft";
/// Part of the tables of a comparison that is shown, and the table of all metrics.
pub(super) const CHANGES_POSITION: &str = "document.getElementById('changes-scroll').scrollTop";
pub(super) const ALL_POSITION: &str = "document.getElementById('all-scroll').scrollTop";
pub(super) const ALL_METRICS: &str = "document.getElementById('all-rows').textContent";
pub(super) const IS_ALL_OPEN: &str = "document.getElementById('all-metrics').open";

const USES: &[ControlUse] = &[
    control_use("knob-base_slice_ns", Gesture::Keys(&["ArrowLeft", "ArrowLeft"]), SETTLED),
    control_use("repeat", Gesture::Click, REPEATED),
    control_use("knob-base_slice_ns", Gesture::Click, SETTLED),
    control_use("knob-base_slice_ns-value", Gesture::Focus, FOCUS),
    control_use("knob-base_slice_ns-value", Gesture::Keys(&["ArrowUp", "ArrowDown"]), SETTLED),
    control_use("remove-base_slice_ns", Gesture::Click, KNOBS),
    control_use("find", Gesture::Focus, FOCUS),
    control_use("find", Gesture::Type("idle cpu utilisation"), FOUND),
    control_use("find", Gesture::Keys(&["Escape"]), FOUND_NOTHING),
    control_use("find", Gesture::Type("sis_util"), FOUND),
    control_use("add-SIS_UTIL", Gesture::Click, SETTLED),
    control_use("demo-SIS_UTIL", Gesture::Click, SETTLED),
    control_use("repeat", Gesture::Keys(&["Enter"]), REPEATED),
    control_use("changes-scroll", Gesture::Focus, FOCUS),
    control_use("changes-scroll", Gesture::Keys(&["ArrowDown"]), CHANGES_POSITION),
    control_use("all-metrics-summary", Gesture::Click, ALL_METRICS),
    control_use("all-scroll", Gesture::Focus, FOCUS),
    control_use("all-scroll", Gesture::Keys(&["ArrowDown"]), ALL_POSITION),
    control_use("all-metrics-summary", Gesture::Keys(&["Enter"]), IS_ALL_OPEN),
    control_use("knob-SIS_UTIL", Gesture::Click, SETTLED),
    control_use("knob-SIS_UTIL", Gesture::Keys(&[" "]), SETTLED),
    control_use("remove-SIS_UTIL", Gesture::Keys(&["Enter"]), KNOBS),
    control_use("workload", Gesture::Select("scenarios/hello.json"), SETTLED),
    control_use("find", Gesture::Type("sis_util"), FOUND),
    control_use("add-SIS_UTIL", Gesture::Keys(&["Enter"]), SETTLED),
    control_use("demo-SIS_UTIL", Gesture::Keys(&["Enter"]), SETTLED),
    control_use("remove-SIS_UTIL", Gesture::Click, KNOBS),
    control_use("workload", Gesture::Keys(&["ArrowDown"]), SETTLED),
    control_use("lesson", Gesture::Select("energy"), SETTLED),
    control_use("choice-0", Gesture::Click, CHOICE),
    control_use("choice-0", Gesture::Keys(&["ArrowDown", "ArrowDown"]), CHOICE),
    control_use("answer-lesson", Gesture::Click, LESSON_RESULT),
    control_use("save-answers", Gesture::Click, SAVED),
    control_use("save-spec", Gesture::Click, SAVED),
    control_use("save-answers", Gesture::Keys(&["Enter"]), SAVED),
    control_use("next-lesson", Gesture::Click, SETTLED),
    control_use("choice-0", Gesture::Click, CHOICE),
    control_use("answer-lesson", Gesture::Keys(&["Enter"]), LESSON_RESULT),
    control_use("next-lesson", Gesture::Keys(&["Enter"]), SETTLED),
    control_use("lesson", Gesture::Keys(&["ArrowDown"]), SETTLED),
    control_use("workload", Gesture::Select("scenarios/eevdf.scn"), SETTLED),
    control_use("finding-A-0", Gesture::Click, REASONS),
    control_use("timeline", Gesture::Click, REASONS),
    control_use("finding-A-0", Gesture::Keys(&["Enter"]), REASONS),
    control_use("machine", Gesture::Select("laptop-8"), SETTLED),
    control_use("machine", Gesture::Keys(&["ArrowDown", "ArrowUp"]), SETTLED),
    control_use("open", Gesture::Open(Device::Mouse, "mine.scn", FILE), SETTLED),
    control_use("edit-summary", Gesture::Click, IS_EDITED),
    control_use("editor-text", Gesture::Focus, FOCUS),
    control_use("editor-text", Gesture::Type("ta"), COMPLETION),
    control_use("editor-text", Gesture::Keys(&["Enter"]), EDITED_LINE),
    control_use("editor-text", Gesture::Type("b slcie=2ms run 1ms"), MARKED),
    control_use("editor-text", Gesture::Keys(&["Tab"]), FOCUS),
    control_use("edit-summary", Gesture::Keys(&["Enter"]), IS_EDITED),
    control_use("open", Gesture::Open(Device::Keyboard, "yours.scn", FILE), SETTLED),
    control_use("open", Gesture::Open(Device::Mouse, "there.json", LSCPU), SETTLED),
    control_use("machine", Gesture::Select("laptop-8"), SETTLED),
    control_use("machine", Gesture::Select("opened:there.toml"), OPENED_MACHINE),
    control_use("open", Gesture::Open(Device::Keyboard, "recorded.txt", TRACE), SETTLED),
    control_use("share", Gesture::Click, NR_SHARED),
    control_use("share", Gesture::Keys(&["Enter"]), NR_SHARED),
    control_use("kernel", Gesture::Select("5.4"), SETTLED),
    control_use("kernel", Gesture::Keys(&["ArrowUp", "ArrowDown"]), SETTLED),
    control_use("workload", Gesture::Select("scenarios/hello.json"), SETTLED),
    control_use("find", Gesture::Type("slice base"), FOUND),
    control_use("find", Gesture::Keys(&["Enter"]), KNOBS),
    control_use("knob-base_slice_ns", Gesture::Keys(&["ArrowRight", "ArrowRight", "ArrowRight"]), SETTLED),
    control_use("timeline", Gesture::Wheel, VIEW),
    control_use("show-difference", Gesture::Click, VIEW),
    control_use("timeline", Gesture::Keys(&["+", "=", "ArrowRight", "ArrowLeft", "-", "Home"]), VIEW),
    control_use("show-difference", Gesture::Keys(&["Enter"]), VIEW),
    control_use("timeline", Gesture::Keys(&["Enter", "ArrowDown", "ArrowUp", "n", "n", "p"]), CHOSEN),
    control_use("timeline", Gesture::Click, REASONS),
    control_use("save-png", Gesture::Click, SAVED),
    control_use("save-svg", Gesture::Click, SAVED),
    control_use("save-spec", Gesture::Click, SAVED),
    control_use("save-trace", Gesture::Click, SAVED),
    control_use("save-png", Gesture::Keys(&["Enter"]), SAVED),
    control_use("save-trace", Gesture::Keys(&["Enter"]), SAVED),
    control_use("save-svg", Gesture::Keys(&["Enter"]), SAVED),
    control_use("save-spec", Gesture::Keys(&["Enter"]), SAVED),
    control_use("lane", Gesture::Choose, TIMELINE),
    control_use("lane", Gesture::Keys(&["ArrowDown", "ArrowUp"]), TIMELINE),
    control_use("colour", Gesture::Choose, TIMELINE),
    control_use("colour", Gesture::Keys(&["ArrowDown", "ArrowUp"]), TIMELINE),
    control_use("task", Gesture::Focus, FOCUS),
    control_use("task", Gesture::Type("hog"), TIMELINE),
    control_use("task", Gesture::Keys(&["Escape"]), "document.getElementById('task').value || 'nothing'"),
    control_use("next-difference", Gesture::Click, REASONS),
    control_use("next-difference", Gesture::Keys(&["Enter"]), REASONS),
    control_use("wait-A-0", Gesture::Click, REASONS),
    control_use("wait-A-1", Gesture::Keys(&["Enter"]), REASONS),
    control_use("metrics-scroll", Gesture::Focus, FOCUS),
    control_use("metrics-scroll", Gesture::Keys(&["ArrowRight"]), METRICS_POSITION),
    control_use("charts-summary", Gesture::Click, LATENCY),
    control_use("family", Gesture::Choose, LATENCY),
    control_use("family", Gesture::Keys(&["ArrowDown", "ArrowUp"]), LATENCY),
    control_use("charts-summary", Gesture::Keys(&["Enter"]), "document.getElementById('charts').open"),
    control_use("lag-task", Gesture::Select("hog-9"), LAG),
    control_use("lag-task", Gesture::Keys(&["ArrowDown", "ArrowUp"]), LAG),
    control_use("as-table-summary", Gesture::Click, SEGMENTS),
    control_use("timeline", Gesture::Keys(&["+", "+"]), "document.getElementById('segments-title').textContent"),
    control_use("as-table-summary", Gesture::Keys(&["Enter", "Enter"]), "document.getElementById('as-table').open"),
    control_use("timeline", Gesture::Drag, VIEW),
];

/// Checks the page in all windows.
pub(super) fn check(root: &Path, browser: &mut dyn Browser, args: &BrowserArgs) -> Result<()> {
    let axe = axe::load(root, args.ci)?;
    let page = lab::build(root)?;
    for (name, size, is_phone) in WINDOWS {
        browser.open(&page, size, is_phone)?;
        browser.value(SETTLED)?;
        let nr = check_window(browser, axe.as_deref())
            .with_context(|| format!("fairlab lab in {}, {name} window", browser.name()))?;
        println!(
            "fairlab lab in {}, {name}: all controls, the first difference and {nr} pixels are those of native runs",
            browser.name()
        );
    }
    let (_, size, is_phone) = WINDOWS[0];
    browser.open(&page, size, is_phone)?;
    browser.value(SETTLED)?;
    let nr_different = random::compare(browser, args.random).with_context(|| browser.name().to_owned())?;
    println!(
        "fairlab lab in {}: {} random pairs, of which {nr_different} differ, have digests and first differences of native runs",
        browser.name(),
        args.random
    );
    Ok(())
}

/// Returns the number of compared pixels.
fn check_window(browser: &mut dyn Browser, axe: Option<&str>) -> Result<usize> {
    check_page(browser)?;
    use_all_controls(browser, USES)?;
    if let Some(axe) = axe {
        axe::check(browser, axe)?;
    }
    links::check(browser)?;
    panic::check(browser)?;
    let nr = native::compare(browser)?;
    policy::check(browser)?;
    Ok(nr)
}
