// SPDX-License-Identifier: GPL-2.0-or-later
//! HTML pages of results: one file without external resources.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = "
body { font: 15px/1.45 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; background: #fff }
h1 { font-size: 1.5rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin-top: 2.2rem } .source { color: #57606a }
.headline { font-weight: 600 } table { border-collapse: collapse; margin: .6rem 0 1.2rem; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #d8dee4; text-align: left; vertical-align: top } th { border-bottom-width: 2px }
td.n, th.n { text-align: right; white-space: nowrap } td.reason { color: #57606a; max-width: 26rem } .reproduced { color: #116329 }
.direction-only { color: #7d4e00 } .not-reproduced { color: #a40e26 } svg { max-width: 100%; height: auto }
pre { background: #f6f8fa; padding: .8rem; overflow-x: auto; font-size: .85rem } code { font-size: .92em }
details { margin: .8rem 0 } summary { cursor: pointer } h1 { overflow-wrap: anywhere } figure { margin: .6rem 0; overflow-x: auto }
@media (max-width: 64rem) { table { display: block; overflow-x: auto } figure svg { max-width: none } td.reason { min-width: 16rem } }
@media (prefers-color-scheme: dark) {
  body { color: #d1d7e0; background: #15191f } .source, td.reason { color: #9aa4b0 } th, td { border-bottom-color: #3a424c } pre { background: #1f252d }
  .reproduced { color: #6ecb84 } .direction-only { color: #d8a657 } .not-reproduced { color: #ff8b8b } svg { background: #fff }
}
";

/// Returns a page without external resources.
pub fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    page.into_string()
}
