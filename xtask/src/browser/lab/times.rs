// SPDX-License-Identifier: GPL-2.0-or-later
//! Times and sizes of the page of `fairlab lab`, beside their goals.

use super::SETTLED;
use crate::browser::driver::Browser;
use crate::lab;
use crate::table;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

const NR_REPETITIONS: usize = 5;

/// Machines of the workload: name, or none for its own, and number of CPUs.
const MACHINES: [(&str, u32); 3] = [("", 8), ("xeon-1s-112", 112), ("xeon-2s-224", 224)];

/// Moves the knob and returns the times once both arms are complete. `%` is the position of the slider.
const MOVE_KNOB: &str = "(async () => {
    const knob = document.getElementById('knob-base_slice_ns');
    knob.value = %; knob.dispatchEvent(new Event('input'));
    while (/\\u2026$/.test(document.getElementById('verdict').textContent)) await new Promise((done) => setTimeout(done, 5));
    const { bars, complete } = fairlab.times;
    return [bars, complete, Math.max(...fairlab.memory().slice(0, 2)) / 1e6];
})()";
/// Explains a moment of arm A and returns the time.
const EXPLAIN: &str = "(async () => {
    fairlab.times.explain = 0;
    fairlab.timeline.choose({ arm: 0, cpu: fairlab.timeline.cpus[0], at: 50e6 });
    while (fairlab.times.explain === 0) await new Promise((done) => setTimeout(done, 5));
    return fairlab.times.explain;
})()";
/// Draws a million segments on 224 CPUs in views of the whole, a tenth and a thousandth, and returns the longest time.
const DRAW: &str = "(async () => {
    const nr = 4465, length = 2e9, step = length / nr, { timeline } = fairlab;
    const numbers = (offset) => Float64Array.from({ length: nr }, (_, index) => index * step + offset);
    const row = () => ({ length: nr, start: numbers(0), end: numbers(step * 0.8), waited: numbers(0), running: null,
        thread: Uint32Array.from({ length: nr }, (_, index) => index % 7) });
    const threads = Array.from({ length: 7 }, (_, index) => ({ index, name: 't' + index, pid: index, family: 'f' + index, is_kernel: false }));
    const arm = () => ({ rows: Array.from({ length: 112 }, row), threads, at: length, length });
    Object.assign(timeline, { arms: [arm(), arm()], cpus: [...Array(112).keys()], families: threads.map(({ family }) => family) });
    let longest = 0;
    for (const share of [1, 0.1, 0.001]) {
        for (let repetition = 0; repetition < 5; repetition++) {
            timeline.show(0, length * share);
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            if (repetition > 0) longest = Math.max(longest, timeline.drawMs);
        }
    }
    return longest;
})()";

/// Program of Node that prints sizes after brotli, in bytes: of the page's modules, of the rest, and of the rest without the editor.
const SIZES: &str = "
    const { brotliCompressSync, gunzipSync } = require('zlib'), elements = /(<script id=.(?:wasm|tools).[^>]*>)([^<]*)/g;
    const page = require('fs').readFileSync(process.argv[1], 'utf8');
    const modules = [...page.matchAll(elements)].map(([, , text]) => gunzipSync(Buffer.from(text, 'base64')));
    const rest = page.replaceAll(elements, '$1'), plain = rest.replace(/(<script id=.editor.[^>]*>)[^<]*/, '$1');
    console.log(JSON.stringify([...modules, rest, plain].map((part) => brotliCompressSync(part).length)));
";

/// Prints the medians of several repetitions.
pub(in crate::browser) fn measure(root: &Path, browser: &mut dyn Browser) -> Result<()> {
    let page = lab::build(root)?;
    let mut rows = Vec::new();
    let mut row = |name: String, value: f64, unit: &str, goal: &str| {
        rows.push(vec![name, format!("{value:.0} {unit}"), goal.to_owned()]);
    };
    let mut start = Vec::new();
    for _ in 0..NR_REPETITIONS {
        browser.open(&page, (1280, 900), false)?;
        browser.value(SETTLED)?;
        start.push(number(browser, "fairlab.times.start")?);
    }
    row("cold start to first bars".to_owned(), median(start), "ms", "600 ms");
    for (machine, nr_cpus) in MACHINES {
        browser.value(&format!(
            "(document.getElementById('machine').value = '{machine}', document.getElementById('machine').onchange())"
        ))?;
        browser.value(SETTLED)?;
        let (mut bars, mut complete, mut memory, mut explain) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for repetition in 0..NR_REPETITIONS {
            let moved = browser.value(&MOVE_KNOB.replace('%', &(repetition + 1).to_string()))?;
            let [of_bars, of_complete, of_memory]: [f64; 3] = serde_json::from_value(moved)?;
            bars.push(of_bars);
            complete.push(of_complete);
            memory.push(of_memory);
            explain.push(number(browser, EXPLAIN)?);
        }
        let on = format!("hello.json, {nr_cpus} CPUs");
        row(
            format!("{on}: first bars after a knob"),
            median(bars),
            "ms",
            if nr_cpus > 64 { "150 ms" } else { "60 ms" },
        );
        row(format!("{on}: both arms complete"), median(complete), "ms", if nr_cpus > 8 { "" } else { "250 ms" });
        row(format!("{on}: explain"), median(explain), "ms", if nr_cpus > 8 { "1000 ms" } else { "100 ms" });
        row(format!("{on}: memory of an arm"), median(memory), "MB", if nr_cpus > 112 { "64 MB" } else { "" });
    }
    row("draw 1000000 segments".to_owned(), number(browser, DRAW)?, "ms", "16 ms");
    let sizes = Command::new("node").args(["-e", SIZES]).args([&page]).output().context("node")?;
    let [engine, tools, code, plain]: [f64; 4] =
        serde_json::from_slice(&sizes.stdout).context("node prints four numbers")?;
    row("WebAssembly module after brotli".to_owned(), engine / 1e3, "kB", "1100 kB");
    row("second module after brotli".to_owned(), tools / 1e3, "kB", "600 kB");
    row("rest of the page after brotli".to_owned(), code / 1e3, "kB", "150 kB");
    row("editor, as a part of that".to_owned(), (code - plain) / 1e3, "kB", "");
    print!("{}", table::render(1, &["measured", "median", "goal"], &rows));
    println!("load: {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    Ok(())
}

fn number(browser: &mut dyn Browser, expression: &str) -> Result<f64> {
    browser.value(expression)?.as_f64().context("a time is a number")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
