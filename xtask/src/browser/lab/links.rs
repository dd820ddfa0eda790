// SPDX-License-Identifier: GPL-2.0-or-later
//! Links with states that are damaged, hostile or wrong.

use super::SETTLED;
use crate::browser::check_page;
use crate::browser::driver::Browser;
use crate::random::DrawRng;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// Links with wrong states.
const NR_LINKS: usize = 100;

/// Opens links with states that are damaged, hostile or wrong. Each must leave the page in order.
pub(super) fn check(browser: &mut dyn Browser) -> Result<()> {
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
        let verdict = open(browser, &json!(link)).with_context(|| link.clone())?;
        let injected = browser.value(INJECTED)?;
        ensure!(injected == json!([null, 0]), "{link}: an element of a name is in the page");
        ensure!(verdict.as_str().is_some_and(|text| text.len() > 10), "{link}: the page reports nothing");
        check_page(browser).with_context(|| link.clone())?;
    }
    let lesson = browser.value(LINK_OF_LESSON)?;
    open(browser, &link)?;
    ensure!(browser.value(OPEN_LESSON)? == json!(null), "a link without a lesson leaves one open");
    open(browser, &lesson)?;
    ensure!(browser.value(OPEN_LESSON)? == json!(["lag", 1]), "the link of a lesson does not ask its question");
    open(browser, &link)?;
    let after = browser.value("fairlab.arms().map((arm) => arm.ended?.digest)")?;
    ensure!(after == before, "a link has digests {after}, the page that wrote it {before}");
    Ok(())
}

/// Opens a link and returns the verdict.
fn open(browser: &mut dyn Browser, link: &Value) -> Result<Value> {
    browser.value(&format!("location.hash = {link}"))?;
    browser.value("new Promise((done) => setTimeout(done, 20))")?;
    browser.value(SETTLED)
}

/// Mark of code that ran, and the number of elements that a name has become. The editor has images beside marks without text.
const INJECTED: &str =
    "[globalThis.injected, document.querySelectorAll('img:not(.cm-widgetBuffer), iframe, object').length]";

/// Opens a lesson and returns the address.
const LINK_OF_LESSON: &str = "(async () => {
    const list = document.getElementById('lesson');
    list.value = 'lag';
    list.onchange();
    while (document.getElementById('verdict').textContent.endsWith('\u{2026}')) await new Promise((done) => setTimeout(done, 10));
    return location.hash;
})()";
/// The open lesson that waits for an answer, with the number of arms; null if none does.
const OPEN_LESSON: &str = "document.getElementById('lesson-part').checkVisibility() && document.getElementById('answer-lesson').checkVisibility()
    ? [document.getElementById('lesson').value, fairlab.arms().length] : null";

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
        { spec, change, lesson: 1 }, { spec, change, lesson: null }, { spec, change, lesson: 'none' }, { spec, change, lesson: evil },
        settings({ features: { [evil]: true } }), settings({ engine: 'kernel:6.1' }), settings({ policy: 'x' }), settings({ duration: 'x' })];
    const links = ['#', '#1', '#1.', '#2.abc', '#1.!', '#1.AAAA', `#1.${'A'.repeat(300)}`, `#${evil}`, '#1.%00', '#%E0%A4%A'];
    return [...links, ...await Promise.all(states.map(fairlab.encodeState))];
})()";
