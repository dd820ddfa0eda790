// SPDX-License-Identifier: GPL-2.0-or-later
//! The page of `fairlab lab` beside native runs: its controls, the first difference, and sampled pixels.

use super::chromium::Browser;
use super::{ControlUse, Gesture, WINDOWS, check_page, control_use, use_all_controls};
use crate::lab;
use crate::lab::occupants::{Segment, occupants};
use crate::random::DrawRng;
use anyhow::{Context, Result, bail, ensure};
use fairlab_run::first_difference::first_difference;
use fairlab_run::spec::RunSpec;
use fairlab_workload::message::Message;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;

/// Sampled pixels of each window.
const NR_PIXELS: usize = 5000;
/// Links with wrong states.
const NR_LINKS: usize = 100;
/// Distance in pixels from the ends of a segment at which a pixel has its full colour.
const MARGIN: f64 = 3.0;

/// Verdict and command, once the runs are complete. A verdict that is not final ends in an ellipsis.
pub(super) const SETTLED: &str = "(async () => {
    while (/\\u2026$/.test(document.getElementById('verdict').textContent)) await new Promise((done) => setTimeout(done, 10));
    return ['verdict', 'subject', 'command'].map((id) => document.getElementById(id).textContent).join();
})()";
const FOUND: &str = "document.getElementById('found').textContent";
const FOUND_NOTHING: &str = "document.getElementById('found').textContent || 'nothing'";
/// Text of the button once the link is copied, or is not.
const SHARED: &str = "new Promise((done) => setTimeout(() => done(document.getElementById('share').textContent), 200))";
/// Name and form of the file that was saved last; nothing if it cannot be read.
const SAVED: &str = "(async () => {
    await new Promise((done) => setTimeout(done, 100));
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
/// Reasons, once the answer has come.
const REASONS: &str = "(async () => {
    const before = document.getElementById('why').textContent;
    for (let wait = 0; wait < 200 && document.getElementById('why').textContent === before; wait++) {
        await new Promise((done) => setTimeout(done, 10));
    }
    return document.getElementById('why').textContent;
})()";

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
    control_use("lag-task", Gesture::Select("hog-9"), "document.getElementById('lag').toDataURL()"),
    control_use("as-table-summary", Gesture::Click, "document.getElementById('segments').textContent"),
    control_use("timeline", Gesture::Keys(&["+", "+"]), "document.getElementById('segments-title').textContent"),
    control_use("timeline", Gesture::Drag, VIEW),
];

/// Checks the page in all windows.
pub(super) fn check(root: &Path, browser: &mut Browser) -> Result<()> {
    let page = lab::build(root)?;
    browser.call("Page.setDownloadBehavior", json!({ "behavior": "deny" }))?;
    for (name, size, is_phone) in WINDOWS {
        browser.open(&page, size, is_phone)?;
        browser.value(SETTLED)?;
        let checked = check_page(browser)
            .and_then(|()| use_all_controls(browser, USES))
            .and_then(|()| check_links(browser))
            .and_then(|()| compare_with_native_runs(browser));
        let nr = checked.with_context(|| format!("fairlab lab, {name} window"))?;
        println!("fairlab lab, {name}: all controls, the first difference and {nr} pixels are those of native runs");
    }
    Ok(())
}

/// Opens links with states that are damaged, hostile or wrong. Each must leave the page in order.
fn check_links(browser: &mut Browser) -> Result<()> {
    let before = browser.value("fairlab.arms().map((arm) => arm.ended.digest)")?;
    let link = browser.value("location.hash")?;
    let mut links: Vec<String> = serde_json::from_value(browser.value(HOSTILE)?)?;
    let good = link.as_str().context("the address has the state")?;
    let mut random = DrawRng::new(&["links".to_owned()]);
    while links.len() < NR_LINKS {
        let mut damaged = good.as_bytes().to_vec();
        let at = 1 + random.below(damaged.len() - 1);
        damaged[at] = b"AZaz09-_.%"[random.below(10)];
        links.push(String::from_utf8(damaged)?);
    }
    for link in links {
        browser.value(&format!("location.hash = {}; 0", json!(link)))?;
        browser.value("new Promise((done) => setTimeout(done, 20))")?;
        let verdict = browser.value(SETTLED).with_context(|| link.clone())?;
        let injected =
            browser.value("[globalThis.injected, document.querySelectorAll('img, iframe, object').length]")?;
        ensure!(injected == json!([null, 0]), "{link}: an element of a name is in the page");
        ensure!(verdict.as_str().is_some_and(|text| text.len() > 10), "{link}: the page reports nothing");
        check_page(browser).with_context(|| link.clone())?;
    }
    browser.value(&format!("location.hash = {link}; 0"))?;
    browser.value("new Promise((done) => setTimeout(done, 20))")?;
    browser.value(SETTLED)?;
    let after = browser.value("fairlab.arms().map((arm) => arm.ended?.digest)")?;
    ensure!(after == before, "a link has digests {after}, the page that wrote it {before}");
    Ok(())
}

/// Links whose states are wrong or hostile.
const HOSTILE: &str = "(async () => {
    const evil = `</script><img id=x src=x onerror='globalThis.injected = 1'>`;
    const change = { features: {}, tunables: {} }, text = 'cpus 2\\nend 5ms\\ntask a run 1ms\\n';
    const spec = { workload: { file: { given: 'a.scn', text } }, settings: {} };
    const file = (name, content) => ({ spec: { ...spec, workload: { file: { given: name, text: content } } }, change });
    const settings = (settings) => ({ spec: { ...spec, settings }, change });
    const states = [null, 1, 'x', [], {}, { spec }, { change }, { spec, change, more: 1 }, { spec: [], change },
        { spec: { workload: spec.workload }, change }, { spec: { ...spec, more: 1 }, change },
        { spec: { workload: { bench: {} }, settings: {} }, change }, { spec: { workload: { file: { given: 1 } }, settings: {} }, change },
        { spec: { workload: { file: { given: '/etc/passwd' } }, settings: {} }, change },
        { spec, change: { features: { SIS_UTIL: 'yes' }, tunables: {} } }, { spec, change: { features: {}, tunables: { base_slice_ns: 'x' } } },
        { spec, change: { features: { [evil]: true }, tunables: {} } }, { spec, change: { features: {}, tunables: { [evil]: 1 } } },
        { spec, change: { features: {}, tunables: { base_slice_ns: -1 } } }, { spec, change: { features: {}, tunables: { base_slice_ns: 1e300 } } },
        { spec, change: { features: {}, tunables: { base_slice_ns: 1.5 } } },
        file(evil, text), file('a.scn', evil), file('a.scn', ''), file('a.scn', `cpus 2\\nend 5ms\\ntask ${evil.replaceAll(' ', '')} run 1ms\\n`),
        file('a.json', `{\"tasks\": {\"${evil}\": {\"run\": 100, \"sleep\": 100}}, \"global\": {\"duration\": 1}}`),
        file('__proto__', text), file('constructor', text), file('a'.repeat(5000), text),
        settings({ kernel: '9.9' }), settings({ kernel: evil }), settings({ machine: '/etc/passwd' }), settings({ machine: evil }),
        settings({ machine: { given: 'x', text: evil } }), settings({ unknown: 1 }), settings({ tunables: { x: 1 } }),
        settings({ features: { [evil]: true } }), settings({ engine: 'kernel:6.1' }), settings({ policy: 'x' }), settings({ duration: 'x' })];
    const links = ['#', '#1', '#1.', '#2.abc', '#1.!', '#1.AAAA', `#1.${'A'.repeat(300)}`, `#${evil}`, '#1.%00', '#%E0%A4%A'];
    return [...links, ...await Promise.all(states.map(fairlab.encodeState))];
})()";

/// Pixel of a timeline.
#[derive(Deserialize)]
struct Pixel {
    arm: usize,
    cpu: usize,
    /// Time that the pixel stands for, in ns.
    from: f64,
    to: f64,
    /// Red, green and blue.
    colour: [u8; 3],
    /// Number of the thread that the page reports there; `None` for an idle CPU.
    thread: Option<u32>,
}

/// Colours of the page.
#[derive(Deserialize)]
struct Colours {
    background: [u8; 3],
    /// Colour of each thread of each arm.
    threads: [Vec<Option<[u8; 3]>>; 2],
}

/// Compares digests, the first difference and sampled pixels with native runs. Returns the number of pixels whose colour has to
/// be that of one thread.
fn compare_with_native_runs(browser: &mut Browser) -> Result<usize> {
    let specs: [RunSpec; 2] = serde_json::from_value(browser.value("[fairlab.specOf(0), fairlab.specOf(1)]")?)?;
    let natives: Vec<(String, Vec<Vec<Segment>>)> =
        specs.iter().map(occupants).collect::<Result<_, _>>().map_err(Message::from)?;
    let digests = browser.value("fairlab.arms().map((arm) => arm.ended.digest)")?;
    let expected: Vec<&str> = natives.iter().map(|(digest, _)| digest.as_str()).collect();
    ensure!(digests == json!(expected), "digests of the page {digests}, of native runs {expected:?}");
    let difference = first_difference(specs.each_ref(), &mut |_, _| true).map_err(Message::from)?;
    let difference = difference.map(|difference| difference.at_ns);
    let [reported, drawn] = ["fairlab.timeline.difference", DRAWN_DIFFERENCE]
        .map(|expression| browser.value(expression).map(|at| at.as_f64().map(|at| at as u64)));
    let (reported, drawn) = (reported?, drawn?);
    ensure!(
        difference.is_some() && reported == difference && drawn == difference,
        "first difference: reported {reported:?}, drawn {drawn:?}, native {difference:?}"
    );
    // Marks are drawn over rows.
    browser.value("fairlab.timeline.chosen = fairlab.timeline.difference = null")?;
    // A view in which segments are wide, and all of the run.
    let mut nr = 0;
    for view in ["fairlab.timeline.show(20000000, 40000000)", "fairlab.timeline.show(0, fairlab.timeline.length)"] {
        browser.value(view)?;
        browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")?;
        nr += compare_pixels(browser, &natives)?;
    }
    ensure!(nr > NR_PIXELS / 4, "only {nr} pixels show one thread");
    Ok(nr)
}

fn compare_pixels(browser: &mut Browser, natives: &[(String, Vec<Vec<Segment>>)]) -> Result<usize> {
    let mut random = DrawRng::new(&["pixels".to_owned()]);
    let draws: Vec<[usize; 2]> = (0..NR_PIXELS).map(|_| [random.below(1 << 20), random.below(1 << 20)]).collect();
    let sampled = browser.value(&format!("({SAMPLE})({})", json!(draws)))?;
    let (colours, pixels): (Colours, Vec<Pixel>) = serde_json::from_value(sampled)?;
    let mut nr = 0;
    for Pixel { arm, cpu, from, to, colour, thread } in pixels {
        let (segments, width) = (&natives[arm].1[cpu], to - from);
        let next = segments.partition_point(|&(_, end, _)| end as f64 <= from);
        let at = segments.get(next).filter(|&&(start, ..)| start as f64 <= from);
        let expected = at.map(|&(.., thread)| thread);
        if thread != expected {
            bail!("arm {arm}, CPU {cpu}, {from} ns: the page reports thread {thread:?}, events have {expected:?}");
        }
        let free_from = next.checked_sub(1).map_or(0, |last| segments[last].1) as f64;
        let (begin, end) = match at {
            Some(&(start, end, _)) => (start as f64, end as f64),
            None => (free_from, segments.get(next).map_or(f64::MAX, |&(start, ..)| start as f64)),
        };
        if begin + MARGIN * width > from || end - MARGIN * width < to {
            continue;
        }
        let expected = at.map_or(Some(colours.background), |&(.., thread)| colours.threads[arm][thread as usize]);
        if Some(colour) != expected {
            bail!("arm {arm}, CPU {cpu}, {from} to {to} ns: the pixel is {colour:?}, its thread has {expected:?}");
        }
        nr += 1;
    }
    Ok(nr)
}

/// First moment at which the segments of the page differ between the arms. Kernel threads count as idle.
const DRAWN_DIFFERENCE: &str = "(() => {
    const [a, b] = fairlab.arms().map((arm) => arm.rows.map((row) => {
        const list = [];
        for (let index = 0; index < row.length; index++) {
            const thread = arm.threads[row.thread[index]], last = list.at(-1);
            if (thread.is_kernel) continue;
            if (last && last.end === row.start[index] && last.name === thread.name) last.end = row.end[index];
            else list.push({ start: row.start[index], end: row.end[index], name: thread.name });
        }
        return list;
    }));
    let first = Infinity;
    a.forEach((list, cpu) => {
        const other = b[cpu];
        for (let index = 0; index < Math.max(list.length, other.length); index++) {
            const [one, two] = [list[index], other[index]];
            if (one && two && one.start === two.start && one.end === two.end && one.name === two.name) continue;
            const isSame = one && two && one.start === two.start && one.name === two.name;
            const at = isSame ? Math.min(one.end, two.end) : Math.min(one?.start ?? Infinity, two?.start ?? Infinity);
            first = Math.min(first, at);
            return;
        }
    });
    return first === Infinity ? null : first;
})()";

/// Function that samples pixels at the top of rows, where no name is. Each draw is a pair of numbers below 2^20.
const SAMPLE: &str = "(draws) => {
    const { timeline } = fairlab, { canvas, view } = timeline, { width, height } = canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    const scale = width / canvas.clientWidth, { gutter, rows } = timeline.geometry(), plot = width - Math.round(gutter * scale);
    const colourAt = (x, y) => [...data.subarray(4 * (y * width + x), 4 * (y * width + x) + 3)];
    const pixels = draws.map(([a, b]) => {
        const { arm, cpu, top } = rows[a % rows.length], column = b % plot;
        const [from, to] = [column, column + 1].map((at) => view.from + at * (view.to - view.from) / plot);
        const thread = timeline.threadAt({ arm, cpu, at: from });
        return { arm, cpu, from, to, thread: thread?.index ?? null,
            colour: colourAt(column + width - plot, Math.round(top * scale)) };
    });
    return [{ background: timeline.background(), threads: fairlab.arms().map((arm) => timeline.threadColours(arm)) }, pixels];
}";
