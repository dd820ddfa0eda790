// SPDX-License-Identifier: GPL-2.0-or-later
//! Digests, the first difference and sampled pixels of the page, beside native runs.

use crate::browser::driver::Browser;
use crate::lab::occupants::{Segment, occupants};
use crate::random::DrawRng;
use anyhow::{Result, bail, ensure};
use fairlab_run::first_difference::first_difference;
use fairlab_run::spec::RunSpec;
use fairlab_workload::message::Message;
use serde::Deserialize;
use serde_json::json;

/// Sampled pixels of each window.
const NR_PIXELS: usize = 5000;
/// Distance in pixels from the ends of a segment at which a pixel has its full colour.
const MARGIN: f64 = 3.0;

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
pub(super) fn compare(browser: &mut dyn Browser) -> Result<usize> {
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
    browser.value("fairlab.arms().forEach((arm) => { arm.ended.details.waits = []; })")?;
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

fn compare_pixels(browser: &mut dyn Browser, natives: &[(String, Vec<Vec<Segment>>)]) -> Result<usize> {
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
pub(super) const DRAWN_DIFFERENCE: &str = "(() => {
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
