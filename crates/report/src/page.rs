// SPDX-License-Identifier: GPL-2.0-or-later
//! Puts a page together: its modules, its data and, if it can simulate, the simulator, in one file that opens from disk.

use crate::PageRun;
use crate::collect::PER_OCTAVE;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fairlab_sched::interface::wakeup::WakeRule;
use fairlab_workload::scenario::{self, STATEMENTS};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const FRAME: &str = include_str!("../page/index.html");
const STYLE: &str = include_str!("../page/style.css");
const START: &str = include_str!("../page/start.js");
/// Modules that `wasm-bindgen` writes, and those that use them.
const ENGINE: (&str, &str) = ("lab.mjs", "worker.mjs");
const TOOLS: (&str, &str) = ("lab-tools.mjs", "tools-worker.mjs");

macro_rules! modules {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../page/", $name)))),*]
    };
}

/// Modules of the page, by name. Each follows those that it imports.
pub const MODULES: &[(&str, &str)] = modules! {
    "format.mjs" "dom.mjs" "colours.mjs" "client.mjs" "share.mjs" "timeline-data.mjs" "raster.mjs" "timeline-draw.mjs" "timeline.mjs"
    "lags.mjs" "arm.mjs" "recorded.mjs" "findings.mjs" "metrics.mjs" "charts.mjs" "view.mjs" "difference.mjs" "comparison.mjs" "knobs.mjs"
    "repeat.mjs" "files.mjs" "workload-text.mjs" "choices.mjs" "live.mjs" "lessons.mjs" "worker.mjs" "tools-worker.mjs" "main.mjs"
};

/// Library of the editor, as `cargo xtask lab vendor` bundles it.
const CODEMIRROR: (&str, &str) = ("codemirror.mjs", include_str!("../page/vendor/codemirror.mjs"));

/// Modules of the editor, by name, which are loaded when the reader opens it. They import only each other.
pub const EDITOR_MODULES: &[(&str, &str)] = {
    let [languages, editor] = modules! { "languages.mjs" "editor.mjs" };
    &[CODEMIRROR, *languages, *editor]
};

/// Program as WebAssembly.
#[derive(Clone, Debug)]
pub struct WasmProgram {
    /// WebAssembly module in gzip and base64.
    pub wasm: String,
    /// ES module that loads it.
    pub glue: String,
}

/// Programs and examples of a page that simulates.
#[derive(Clone, Copy, Debug)]
pub struct Simulator<'a> {
    /// The simulator, which is loaded with the page.
    pub engine: &'a WasmProgram,
    /// Statistics and import, which are loaded when the reader asks for them.
    pub tools: &'a WasmProgram,
    /// Texts of workloads that the page offers, by their paths.
    pub examples: &'a BTreeMap<String, String>,
}

/// Content of a page.
#[derive(Debug, Default, Serialize)]
pub struct Page<'a> {
    /// Spec of the run with which a page with a simulator starts.
    pub spec: Option<Value>,
    /// Recorded runs. The first one is the base of comparisons.
    pub runs: &'a [RecordedRun],
    /// Comparison of repetitions. The recorded runs are the first repetition of its arms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<Value>,
}

/// Data of a recorded run.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum RecordedRun {
    /// Run of this process.
    Here(Box<PageRun>),
    /// Run of another process, which has sent its data.
    Sent(Value),
}

impl Page<'_> {
    /// Returns the page as HTML. A page without a simulator shows recorded runs.
    pub fn html(&self, simulator: Option<Simulator<'_>>) -> String {
        let glue = simulator
            .map(|Simulator { engine, tools, .. }| [(ENGINE.0, engine.glue.as_str()), (TOOLS.0, tools.glue.as_str())]);
        let is_used = |name: &str| simulator.is_some() || ![ENGINE.1, TOOLS.1].contains(&name);
        let modules = glue.into_iter().flatten().chain(MODULES.iter().copied().filter(|(name, _)| is_used(name)));
        let modules: Vec<Value> = modules.map(module_json).collect();
        let editor: Vec<Value> = simulator.iter().flat_map(|_| EDITOR_MODULES).copied().map(module_json).collect();
        let rules: Vec<_> = WakeRule::ALL.iter().map(|rule| (rule.name(), rule.meaning())).collect();
        let constants = json!({
            "fairlab": env!("CARGO_PKG_VERSION"),
            "rules": rules,
            "per_octave": PER_OCTAVE,
            "scenario": simulator.map(|_| scenario_words()),
        });
        FRAME
            .replace("/*POLICY*/", &policy())
            .replace("/*STYLE*/", STYLE)
            .replace("/*START*/", START)
            .replace("/*CONSTANTS*/", &embedded_json(&constants))
            .replace("/*EXAMPLES*/", &embedded_json(&simulator.map(|simulator| simulator.examples)))
            .replace("/*MODULES*/", &embedded_json(&modules))
            .replace("/*EDITOR*/", &embedded_json(&editor))
            .replace("/*WASM*/", simulator.map_or("", |simulator| &simulator.engine.wasm))
            .replace("/*TOOLS*/", simulator.map_or("", |simulator| &simulator.tools.wasm))
            // The last one: names of tasks are not searched.
            .replace("/*INPUT*/", &embedded_json(self))
    }
}

fn module_json((name, text): (&str, &str)) -> Value {
    json!({ "name": name, "text": compact(text) })
}

/// Returns a module without indentation, and without the comments that have lines of their own, which are a quarter of the page. The
/// licence of a bundle (`/* ... */`) stays. No text of a module may span lines.
fn compact(text: &str) -> String {
    let mut is_inside = false;
    let is_code = |line: &&str| {
        let line = line.trim();
        let is_begin = line.starts_with("/**") && line.find("*/").is_none_or(|end| end + 2 == line.len());
        let is_comment = is_inside || is_begin || line.starts_with("//");
        is_inside = (is_inside || is_begin) && !line.ends_with("*/");
        !is_comment
    };
    text.lines().filter(is_code).flat_map(|line| [line.trim_start(), "\n"]).collect()
}

/// Returns the words of scenario files that the editor knows.
fn scenario_words() -> Value {
    let statements: Vec<_> = STATEMENTS.iter().map(|of| (of.keyword, of.syntax, plain_text(&of.meaning()))).collect();
    json!({ "statements": statements, "operations": scenario::operation_keywords() })
}

/// Returns a text of the book without footnotes, and with links as their words.
fn plain_text(markdown: &str) -> String {
    let text = markdown.replace(" \u{b9}", "");
    let mut parts = text.split('[');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once("](").and_then(|(words, rest)| Some((words, rest.split_once(')')?.1))) {
            Some((words, rest)) => plain.extend([words, rest]),
            None => plain.extend(["[", part]),
        }
    }
    plain
}

/// Returns JSON for a `<script>` element of a page: `</script>` in a task name does not end the element.
///
/// # Panics
/// If the data has no JSON form.
pub fn embedded_json(data: &impl Serialize) -> String {
    serde_json::to_string(data).expect("page data is valid JSON").replace('<', "\\u003c")
}

/// Returns the content security policy: code of the page alone, and nothing from elsewhere.
fn policy() -> String {
    let [script, style] = [START, STYLE].map(|text| BASE64_STANDARD.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; script-src 'sha256-{script}' blob: 'wasm-unsafe-eval'; worker-src blob:; style-src 'sha256-{style}'; \
         img-src data:; base-uri 'none'; form-action 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_module_follows_those_that_it_imports() {
        for modules in [MODULES, EDITOR_MODULES] {
            for (place, (name, text)) in modules.iter().enumerate() {
                for (import, _) in text.split("from \"./").skip(1).filter_map(|rest| rest.split_once('"')) {
                    let is_before = modules[..place].iter().any(|(earlier, _)| *earlier == import);
                    assert!(is_before || [ENGINE, TOOLS].contains(&(import, name)), "{name} imports {import}");
                }
            }
        }
    }

    #[test]
    fn indentation_and_comments_with_lines_of_their_own_are_left_out() {
        let text =
            "/* MIT */\n// head\n/** @param {number} a */\nconst a = 1; // one\n  /**\n   * Long.\n   */\n  b();\n";
        assert_eq!(compact(text), "/* MIT */\nconst a = 1; // one\nb();\n");
        for (name, text) in MODULES {
            let code = compact(text);
            let mut kept = code.lines().peekable();
            assert!(
                text.lines().all(|line| line.replace("\"`\"", "").matches('`').count() % 2 == 0),
                "{name}: a text spans lines"
            );
            let left_out = text.lines().filter(|line| kept.next_if_eq(&line.trim_start()).is_none());
            for line in left_out.map(str::trim) {
                assert!(["//", "/**", "*"].iter().any(|sign| line.starts_with(sign)), "{name}: {line}");
            }
        }
    }

    #[test]
    fn meanings_of_statements_have_no_links_and_footnotes() {
        assert_eq!(plain_text("see [traces](formats.md#x), [T] or at T \u{b9}; end"), "see traces, [T] or at T; end");
        for statement in STATEMENTS {
            let meaning = plain_text(&statement.meaning());
            assert!(!meaning.contains("](") && !meaning.contains('\u{b9}'), "{meaning}");
        }
    }
}
