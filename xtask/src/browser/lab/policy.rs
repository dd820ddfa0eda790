// SPDX-License-Identifier: GPL-2.0-or-later
//! Content security policy of the page: code that is injected neither runs nor loads anything.

use crate::browser::driver::Browser;
use anyhow::{Result, ensure};
use serde_json::json;

/// Attempts of injected code. The value has the directives that stopped them, in order, and the mark of code that ran.
const ATTEMPTS: &str = "(async () => {
    const stopped = new Set(), elsewhere = 'https://fairlab.invalid/', code = 'globalThis.injected = 1';
    addEventListener('securitypolicyviolation', ({ effectiveDirective }) => stopped.add(effectiveDirective));
    const add = (tag, properties) => document.body.append(Object.assign(document.createElement(tag), properties));
    add('script', { textContent: code });
    add('script', { src: elsewhere });
    add('style', { textContent: 'body { display: none }' });
    add('img', { src: elsewhere });
    add('iframe', { src: elsewhere });
    add('object', { data: elsewhere });
    document.body.lastElementChild.setAttribute('onclick', code);
    document.body.lastElementChild.click();
    await fetch(elsewhere).catch(() => 0);
    try { eval(code); } catch {}
    await new Promise((done) => setTimeout(done, 100));
    return [[...stopped].sort(), globalThis.injected ?? null];
})()";

/// Directives that stop the attempts.
const DIRECTIVES: [&str; 8] = [
    "connect-src",
    "frame-src",
    "img-src",
    "object-src",
    "script-src",
    "script-src-attr",
    "script-src-elem",
    "style-src-elem",
];

/// Checks the policy. The page is of no use afterwards.
pub(super) fn check(browser: &mut dyn Browser) -> Result<()> {
    let outcome = browser.value(ATTEMPTS)?;
    ensure!(outcome == json!([DIRECTIVES, null]), "injected code is not stopped by all of {DIRECTIVES:?}: {outcome}");
    Ok(())
}
