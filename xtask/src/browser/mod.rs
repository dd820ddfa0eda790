// SPDX-License-Identifier: GPL-2.0-or-later
//! The page of `fairlab report` in a browser: every control is used as people use it, by mouse and keyboard, at the widths of a desk and
//! of a phone, and must do something; the page must write nothing on its console. Pages of studies and comparisons are opened at both widths.

mod chromium;

use crate::programs;
use anyhow::{Context, Result, bail};
use chromium::Browser;
use clap::Args as ClapArgs;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(ClapArgs)]
pub(crate) struct BrowserArgs {
    /// This page, with two runs at the least [default: one of two runs of scenarios/hello.json]
    #[arg(long)]
    page: Option<PathBuf>,
    /// Without a browser say so, and succeed.
    #[arg(long)]
    ci: bool,
}

/// What is done with a control.
enum Gesture {
    Click,
    /// All its options, one after the other.
    Choose,
    Type(&'static str),
    /// Keys, each of which must do something.
    Keys(&'static [&'static str]),
    Wheel,
    Hover,
    Drag,
}

/// A control, what is done with it, and an expression that must have another value then.
struct ControlUse {
    control: &'static str,
    what: Gesture,
    proof: &'static str,
}

const fn a(control: &'static str, what: Gesture, proof: &'static str) -> ControlUse {
    ControlUse { control, what, proof }
}

const VIEW: &str = "JSON.stringify(view)";
const TIMELINE: &str = "document.getElementById('timeline').toDataURL()";
const HEAT: &str = "document.getElementById('heat').toDataURL()";
const LATENCY: &str = "document.getElementById('latency').toDataURL()";
const HINT: &str = "document.getElementById('hover').textContent";
const THEME: &str = "document.documentElement.dataset.theme + document.getElementById('heat').toDataURL()";

/// In this order, so that each can do something.
const USES: &[ControlUse] = &[
    a("in", Gesture::Click, VIEW),
    a("out", Gesture::Click, VIEW),
    a("timeline", Gesture::Wheel, VIEW),
    a("all", Gesture::Click, VIEW),
    a("timeline", Gesture::Hover, HINT),
    a("timeline", Gesture::Keys(&["+", "=", "ArrowRight", "ArrowLeft", "-", "Home"]), VIEW),
    a("timeline", Gesture::Keys(&["ArrowDown", "ArrowUp", "PageDown", "PageUp", "n", "n", "p"]), VIEW),
    a("in", Gesture::Click, VIEW),
    a("timeline", Gesture::Drag, VIEW),
    a("colour", Gesture::Choose, TIMELINE),
    a("find", Gesture::Type("worker"), TIMELINE),
    a("series", Gesture::Choose, HEAT),
    a("family", Gesture::Choose, LATENCY),
    a("theme", Gesture::Click, THEME),
    a("theme", Gesture::Click, THEME),
    a("run", Gesture::Choose, "runs.indexOf(run)"),
];

pub(crate) fn run(root: &Path, args: &BrowserArgs) -> Result<()> {
    let Some(program) = chromium::find() else {
        if args.ci {
            println!("SKIPPED: there is no chromium, so that nobody has used the page's controls");
            return Ok(());
        }
        bail!("there is no chromium; Debian has it as a package of that name");
    };
    let place = root.join("target/browser");
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).with_context(|| format!("{} cannot be made", place.display()))?;
    let page = match &args.page {
        Some(page) => page.canonicalize().with_context(|| page.display().to_string())?,
        None => example(root, &place)?,
    };
    let mut browser = Browser::start(&program, &place.join("profile"))?;
    for (name, size, is_phone) in [("desk", (1280, 900), false), ("phone", (390, 844), true)] {
        browser.open(&page, size, is_phone)?;
        use_all(&mut browser).with_context(|| format!("at the width of a {name}"))?;
        println!("{name}: {} uses of all controls did something, nothing on the console", USES.len());
    }
    if args.page.is_none() {
        check_other_pages(root, &place, &mut browser)?;
    }
    Ok(())
}

/// Pages without controls: of a study and of a comparison.
fn check_other_pages(root: &Path, place: &Path, browser: &mut Browser) -> Result<()> {
    let (study, html) = (place.join("study"), place.join("compare.html"));
    let (of_study, of_comparison) = (study.display().to_string(), format!("html={}", html.display()));
    let arms = ["--arm", "SIS_UTIL", "--arm", "NO_SIS_UTIL", "--runs", "3"];
    let compare = ["compare", "scenarios/hello.json", "--for", "100ms", "--format", of_comparison.as_str()];
    fairlab(root, &["study", "run", "nohz-misfit-kicks", "--quick", "-o", &of_study])?;
    fairlab(root, &[&compare[..], &arms].concat())?;
    for page in [study.join("nohz-misfit-kicks.html"), html] {
        for (size, is_phone) in [((1280, 900), false), ((390, 844), true)] {
            browser.open(&page, size, is_phone)?;
            check_page(browser).with_context(|| format!("{} at a width of {}", page.display(), size.0))?;
        }
    }
    println!("pages of a study and a comparison fit a desk and a phone, nothing on the console");
    Ok(())
}

/// Runs a command of the program.
fn fairlab(root: &Path, words: &[&str]) -> Result<()> {
    let program = programs::plain(root)?;
    let output = Command::new(&program).args(words).current_dir(root).output().context("fairlab cannot be started")?;
    if output.status.success() { Ok(()) } else { bail!("{}", String::from_utf8_lossy(&output.stderr)) }
}

/// The page is no wider than its window, and has said nothing on its console.
fn check_page(browser: &mut Browser) -> Result<()> {
    let overflow = browser.value("document.documentElement.scrollWidth - innerWidth")?;
    if overflow.as_i64().is_none_or(|pixels| pixels > 0) {
        bail!("the page is {overflow} pixels wider than its window");
    }
    match browser.complaints().first() {
        None => Ok(()),
        Some(first) => bail!("the page says on its console: {first}"),
    }
}

/// A page of two runs.
fn example(root: &Path, place: &Path) -> Result<PathBuf> {
    let fairlab = |words: &[&str]| fairlab(root, words);
    let path = |name: &str| place.join(name).display().to_string();
    let (one, other, page) = (path("one"), path("other"), path("page.html"));
    fairlab(&["run", "scenarios/hello.json", "--for", "300ms", "-o", &one])?;
    fairlab(&["run", "scenarios/hello.json", "--for", "300ms", "--features", "NO_WAKEUP_PREEMPTION", "-o", &other])?;
    fairlab(&["report", &one, &other, "-o", &page])?;
    Ok(PathBuf::from(page))
}

fn use_all(browser: &mut Browser) -> Result<()> {
    check_page(browser)?;
    let ids = "[...document.querySelectorAll('button, select, input, a[href], [tabindex]')].map((one) => one.id)";
    let there: Vec<String> = serde_json::from_value(browser.value(ids)?)?;
    let used: BTreeSet<&str> = USES.iter().map(|one| one.control).collect();
    if let Some(new) = there.iter().find(|id| !used.contains(id.as_str())) {
        bail!("nobody uses the control `{new}`: add it to USES");
    }
    for one in USES {
        one.happens(browser).with_context(|| format!("control `{}`", one.control))?;
    }
    check_page(browser)
}

impl ControlUse {
    fn happens(&self, browser: &mut Browser) -> Result<()> {
        let element = format!("document.getElementById('{}')", self.control);
        browser.value(&format!("{element}.scrollIntoView({{ block: 'center' }})"))?;
        let place = format!(
            "(() => {{ const b = {element}.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }})()"
        );
        let place: [f64; 4] = serde_json::from_value(browser.value(&place)?)?;
        let (x, y) = (place[0] + place[2] / 2.0, place[1] + place[3] / 2.0);
        let mut before = self.proof(browser)?;
        let mut did = |browser: &mut Browser, what: &str| {
            let after = self.proof(browser)?;
            if after == before {
                bail!("{what} does nothing");
            }
            before = after;
            Ok(())
        };
        match self.what {
            Gesture::Click => {
                mouse(browser, "mousePressed", x, y)?;
                mouse(browser, "mouseReleased", x, y)?;
                did(browser, "a click")
            }
            Gesture::Hover => {
                mouse(browser, "mouseMoved", x, y)?;
                did(browser, "the mouse")
            }
            Gesture::Wheel => {
                let wheel = json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -120 });
                browser.call("Input.dispatchMouseEvent", wheel)?;
                did(browser, "the wheel")
            }
            Gesture::Drag => {
                mouse(browser, "mousePressed", x, y)?;
                mouse(browser, "mouseMoved", x - 60.0, y)?;
                mouse(browser, "mouseReleased", x - 60.0, y)?;
                did(browser, "dragging")
            }
            Gesture::Type(text) => {
                browser.value(&format!("{element}.focus()"))?;
                browser.call("Input.insertText", json!({ "text": text }))?;
                did(browser, "typing")
            }
            Gesture::Keys(keys) => {
                browser.value(&format!("{element}.focus()"))?;
                for key in keys {
                    for kind in ["keyDown", "keyUp"] {
                        browser.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key }))?;
                    }
                    did(browser, &format!("the key {key}"))?;
                }
                Ok(())
            }
            Gesture::Choose => {
                let options = browser.value(&format!("{element}.options.length"))?.as_u64().unwrap_or(0);
                if options < 2 {
                    bail!("it has {options} options: there is nothing to choose");
                }
                // The first one last: it is the one that is chosen.
                for option in (1..options).chain([0]) {
                    let choose =
                        format!("{element}.selectedIndex = {option}; {element}.dispatchEvent(new Event('change'))");
                    browser.value(&choose)?;
                    did(browser, &format!("option {option}"))?;
                }
                Ok(())
            }
        }
    }

    /// The proof's value, once everything is drawn.
    fn proof(&self, browser: &mut Browser) -> Result<Value> {
        browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")?;
        browser.value(self.proof)
    }
}

fn mouse(browser: &mut Browser, kind: &str, x: f64, y: f64) -> Result<()> {
    let params = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
    browser.call("Input.dispatchMouseEvent", params).map(drop)
}
