// SPDX-License-Identifier: GPL-2.0-or-later
//! Browser test of the HTML pages.
//!
//! The page of `fairlab lab` is also compared with native runs ([`lab`]).
//!
//! The page of `fairlab report`: each control is used by mouse and keyboard in a headless Chromium, in a desktop window and on
//! a phone, and must change something. Verdict, findings and timeline must be on the first screen. No page may write on its
//! console or be wider than its window. Pages of studies, of comparisons and of runs with unlike families are only opened.

mod chromium;
mod lab;
mod lab_times;

use crate::programs;
use crate::requirement::skip_or_fail;
use anyhow::{Context, Result, bail};
use chromium::Browser;
use clap::Args as ClapArgs;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(ClapArgs)]
pub(crate) struct BrowserArgs {
    /// Test this page, which needs two runs or more [default: a page of two runs of scenarios/hello.json]
    #[arg(long)]
    page: Option<PathBuf>,
    /// Test only the page of `fairlab lab`.
    #[arg(long, conflicts_with = "page")]
    lab: bool,
    /// Print times and sizes of the page of `fairlab lab` beside their goals, and test nothing.
    #[arg(long, conflicts_with = "page")]
    lab_times: bool,
    /// Report a missing browser as SKIPPED and succeed.
    #[arg(long)]
    ci: bool,
}

/// A window: its name, its width and height, and whether it is a phone.
type Window = (&'static str, (u32, u32), bool);

const WINDOWS: [Window; 2] = [("desktop", (1280, 800), false), ("phone", (390, 844), true)];

/// Use of a control, and how the page proves it.
enum Gesture {
    Click,
    /// Clicks at the point that this expression of JavaScript returns.
    ClickAt(&'static str),
    /// Chooses each option, one after the other.
    Choose,
    /// Opens a file of this name and content.
    Open(&'static str, &'static str),
    /// Chooses the option of this value.
    Select(&'static str),
    Type(&'static str),
    /// Presses keys, each of which must change the proof.
    Keys(&'static [&'static str]),
    Wheel,
    Hover,
    Drag,
}

/// A use of a control, and an expression of JavaScript whose value must change by it. An empty value proves nothing.
struct ControlUse {
    control: &'static str,
    gesture: Gesture,
    proof: &'static str,
}

const fn control_use(control: &'static str, gesture: Gesture, proof: &'static str) -> ControlUse {
    ControlUse { control, gesture, proof }
}

const VIEW: &str = "JSON.stringify(view)";
const TIMELINE: &str = "document.getElementById('timeline').toDataURL()";
const HEAT: &str = "document.getElementById('heat').toDataURL()";
const HEAT_NOTE: &str = "document.getElementById('heatnote').textContent";
const LAG: &str = "document.getElementById('lag').toDataURL()";
const LAG_VALUE: &str = "document.getElementById('lagvalue').textContent";
const LATENCY: &str = "document.getElementById('latency').toDataURL()";
const HINT: &str = "document.getElementById('hover').textContent";
const THEME: &str = "document.documentElement.dataset.theme + document.getElementById('heat').toDataURL()";
/// The chosen row and its explanation, if the page shows all sentences of it and the timeline shows its moment.
const EXPLAINED: &str = "(() => {
    const item = chosenItem(), shown = [...document.querySelectorAll('#explanation li')].map((li) => li.textContent);
    const at = item && (item.at_ns ?? item.since_ns);
    const isShown = item && item.explanation.length > 2 && item.explanation.every((text, i) => text.trim() === shown[i]);
    return isShown && at >= view.from && at <= view.to ? JSON.stringify([view.chosen, shown]) : '';
})()";
/// The chosen finding, whether or not it can be explained.
const FINDING: &str =
    "view.chosen?.list === 'findings' ? view.chosen.index + document.getElementById('explanation').innerText : ''";
/// The first row of a list.
const FIRST_FINDING: &str = "pointOf(document.querySelector('#findings li'))";
const FIRST_WAIT: &str = "pointOf(document.querySelector('#waits li'))";
/// The mark of the third longest wait in the timeline.
const MARK_OF_A_WAIT: &str = "(() => {
    const { cpu, since_ns, length_ns } = run.waits[2], box = document.getElementById('timeline').getBoundingClientRect();
    return [box.x + timeToX(since_ns + length_ns, box.width), box.y + (cpu - view.top) * rows().height + 4];
})()";

const USES: &[ControlUse] = &[
    control_use("in", Gesture::Click, VIEW),
    control_use("out", Gesture::Click, VIEW),
    control_use("timeline", Gesture::Wheel, VIEW),
    control_use("all", Gesture::Click, VIEW),
    control_use("timeline", Gesture::Hover, HINT),
    control_use("timeline", Gesture::Keys(&["+", "=", "ArrowRight", "ArrowLeft", "-", "Home"]), VIEW),
    control_use("timeline", Gesture::Keys(&["ArrowDown", "ArrowUp", "PageDown", "PageUp", "n", "n", "p"]), VIEW),
    control_use("in", Gesture::Click, VIEW),
    control_use("timeline", Gesture::Drag, VIEW),
    control_use("findings", Gesture::ClickAt(FIRST_FINDING), EXPLAINED),
    control_use("findings", Gesture::Keys(&["ArrowDown", "ArrowUp", "End", "Home"]), FINDING),
    control_use("waits", Gesture::ClickAt(FIRST_WAIT), EXPLAINED),
    control_use("waits", Gesture::Keys(&["ArrowDown", "ArrowUp", "End", "Home"]), EXPLAINED),
    control_use("all", Gesture::Click, VIEW),
    control_use("timeline", Gesture::ClickAt(MARK_OF_A_WAIT), EXPLAINED),
    control_use("all", Gesture::Click, VIEW),
    control_use("colour", Gesture::Choose, TIMELINE),
    control_use("find", Gesture::Type("worker"), TIMELINE),
    control_use("lagtask", Gesture::Choose, LAG),
    control_use("lag", Gesture::Hover, LAG_VALUE),
    control_use("series", Gesture::Choose, HEAT),
    control_use("heat", Gesture::Hover, HEAT_NOTE),
    control_use("family", Gesture::Choose, LATENCY),
    control_use("theme", Gesture::Click, THEME),
    control_use("theme", Gesture::Click, THEME),
    control_use("run", Gesture::Choose, "runs.indexOf(run) + document.getElementById('metrics').innerText"),
];

pub(crate) fn run(root: &Path, args: &BrowserArgs) -> Result<()> {
    let Some(program) = chromium::find() else {
        return skip_or_fail(args.ci, "chromium", "chromium is missing (Debian's package chromium)");
    };
    let place = root.join("target/browser");
    let profile = place.join("profile");
    // The page that is tested may be one of an earlier test, which lies here.
    let _ = std::fs::remove_dir_all(if args.page.is_some() { &profile } else { &place });
    std::fs::create_dir_all(&place).with_context(|| format!("{} cannot be made", place.display()))?;
    if args.lab_times {
        return lab_times::measure(root, &mut Browser::start(&program, &profile)?);
    }
    if args.lab {
        return lab::check(root, &mut Browser::start(&program, &profile)?);
    }
    let page = match &args.page {
        Some(page) => page.canonicalize().with_context(|| page.display().to_string())?,
        None => example(root, &place)?,
    };
    let mut browser = Browser::start(&program, &profile)?;
    for (name, size, is_phone) in WINDOWS {
        browser.open(&page, size, is_phone)?;
        check_first_screen(&mut browser)
            .and_then(|()| use_all_controls(&mut browser, USES))
            .with_context(|| format!("{name} window"))?;
        println!("{name}: {} uses of all controls changed something, nothing on the console", USES.len());
    }
    if args.page.is_none() {
        check_unlike_runs(root, &place, &mut browser)?;
        check_other_pages(root, &place, &mut browser)?;
        lab::check(root, &mut browser)?;
    }
    Ok(())
}

/// Checks a page of runs with different families and machines: each run is chosen.
fn check_unlike_runs(root: &Path, place: &Path, browser: &mut Browser) -> Result<()> {
    let path = |name: &str| place.join(name).display().to_string();
    let (groups, page) = (path("groups"), path("unlike.html"));
    fairlab(root, &["run", "scenarios/wasted-groups.scn", "-o", &groups])?;
    fairlab(root, &["report", &groups, &path("other"), "-o", &page])?;
    for (name, size, is_phone) in WINDOWS {
        browser.open(Path::new(&page), size, is_phone)?;
        for index in 0..2 {
            let choose =
                format!("$('run').selectedIndex = {index}; $('run').dispatchEvent(new Event('change')); run.name");
            browser.value(&choose)?;
            check_page(browser).with_context(|| format!("unlike runs, {name} window"))?;
            check_first_screen(browser).with_context(|| format!("unlike runs, {name} window"))?;
        }
    }
    println!("a page of runs with different families has all its numbers");
    Ok(())
}

/// Checks pages without controls: of a study and of a comparison.
fn check_other_pages(root: &Path, place: &Path, browser: &mut Browser) -> Result<()> {
    let (study, html) = (place.join("study"), place.join("compare.html"));
    let (study_dir, format) = (study.display().to_string(), format!("html={}", html.display()));
    let arms = ["--arm", "SIS_UTIL", "--arm", "NO_SIS_UTIL", "--runs", "3"];
    let compare = ["compare", "scenarios/hello.json", "--for", "100ms", "--format", format.as_str()];
    fairlab(root, &["study", "run", "nohz-misfit-kicks", "--quick", "-o", &study_dir])?;
    fairlab(root, &[&compare[..], &arms].concat())?;
    for page in [study.join("nohz-misfit-kicks.html"), html] {
        for (name, size, is_phone) in WINDOWS {
            browser.open(&page, size, is_phone)?;
            check_page(browser).with_context(|| format!("{}, {name} window", page.display()))?;
        }
    }
    println!("pages of a study and a comparison fit a desktop window and a phone, nothing on the console");
    Ok(())
}

/// Runs a command of fairlab.
fn fairlab(root: &Path, args: &[&str]) -> Result<()> {
    let program = programs::build_program(root)?;
    let output = Command::new(&program).args(args).current_dir(root).output().context("fairlab cannot be started")?;
    if output.status.success() { Ok(()) } else { bail!("{}", String::from_utf8_lossy(&output.stderr)) }
}

/// Checks that the page is no wider than its window, shows no broken number, and has written nothing on its console.
fn check_page(browser: &mut Browser) -> Result<()> {
    let overflow = browser.value("document.documentElement.scrollWidth - innerWidth")?;
    if overflow.as_i64().is_none_or(|pixels| pixels > 0) {
        bail!("the page is {overflow} pixels wider than its window");
    }
    let broken = browser.value("document.body.innerText.match(/.*\\b(NaN|undefined|Infinity)\\b.*/)?.[0] ?? null")?;
    if !broken.is_null() {
        bail!("the page shows {broken}");
    }
    match browser.console_errors().first() {
        None => Ok(()),
        Some(message) => bail!("the page writes on its console: {message}"),
    }
}

/// Checks that verdict, findings and timeline can be seen without scrolling.
fn check_first_screen(browser: &mut Browser) -> Result<()> {
    let below = "['verdict', 'findings', 'timeline'].filter((id) =>
        document.getElementById(id).getBoundingClientRect().bottom + scrollY > innerHeight)";
    let below: Vec<String> = serde_json::from_value(browser.value(below)?)?;
    if below.is_empty() { Ok(()) } else { bail!("{} is not on the first screen", below.join(" and ")) }
}

/// A page of two runs. The page shows the second one at first: with zero costs it has several findings, whatever costs
/// follow from, and with 6.12 it has lags.
fn example(root: &Path, place: &Path) -> Result<PathBuf> {
    let fairlab = |args: &[&str]| fairlab(root, args);
    let path = |name: &str| place.join(name).display().to_string();
    let (base, other, page) = (path("base"), path("other"), path("page.html"));
    fairlab(&["run", "scenarios/hello.json", "--for", "300ms", "--features", "NO_WAKEUP_PREEMPTION", "-o", &base])?;
    let zero_cost = ["--prices", "zero", "--kernel", "6.12", "-o", &other];
    fairlab(&[&["run", "scenarios/hello.json", "--for", "300ms"][..], &zero_cost].concat())?;
    fairlab(&["report", &base, &other, "-o", &page])?;
    Ok(PathBuf::from(page))
}

/// Uses all controls of a page. The uses are in an order in which each can change something.
fn use_all_controls(browser: &mut Browser, uses: &[ControlUse]) -> Result<()> {
    check_page(browser)?;
    let used: BTreeSet<&str> = uses.iter().map(|control_use| control_use.control).collect();
    check_controls(browser, &used)?;
    browser.value(
        "globalThis.pointOf = (element) => {
            const box = element.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }; 0",
    )?;
    for control_use in uses {
        control_use.perform(browser).with_context(|| format!("control `{}`", control_use.control))?;
    }
    check_controls(browser, &used)?;
    check_page(browser)
}

/// Checks that each control of the page has a use.
fn check_controls(browser: &mut Browser, used: &BTreeSet<&str>) -> Result<()> {
    let ids = "[...document.querySelectorAll('button, select, input, textarea, summary, a[href], [tabindex]')].map((control) => control.id.replace(/^finding-.*/, 'finding-A-0'))";
    let controls: Vec<String> = serde_json::from_value(browser.value(ids)?)?;
    match controls.iter().find(|id| !used.contains(id.as_str())) {
        Some(new) => bail!("no use of the control `{new}`: add one to its list"),
        None => Ok(()),
    }
}

impl ControlUse {
    fn perform(&self, browser: &mut Browser) -> Result<()> {
        let element = format!("document.getElementById('{}')", self.control);
        browser.value(&format!("{element}.scrollIntoView({{ block: 'center' }})"))?;
        let mut before = self.proof(browser)?;
        let point = match self.gesture {
            Gesture::ClickAt(point) => point.to_owned(),
            _ => format!("pointOf({element})"),
        };
        let (x, y): (f64, f64) = serde_json::from_value(browser.value(&point)?)?;
        let mut expect_change = |browser: &mut Browser, action: &str| {
            let after = self.proof(browser)?;
            if after == before || after == json!("") {
                bail!("{action} changes nothing");
            }
            before = after;
            Ok(())
        };
        match self.gesture {
            Gesture::Click | Gesture::ClickAt(_) => {
                mouse(browser, "mousePressed", x, y)?;
                mouse(browser, "mouseReleased", x, y)?;
                expect_change(browser, "a click")
            }
            Gesture::Hover => {
                mouse(browser, "mouseMoved", x, y)?;
                expect_change(browser, "the mouse")
            }
            Gesture::Wheel => {
                let wheel = json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -120 });
                browser.call("Input.dispatchMouseEvent", wheel)?;
                expect_change(browser, "the wheel")
            }
            Gesture::Drag => {
                mouse(browser, "mousePressed", x, y)?;
                mouse(browser, "mouseMoved", x - 60.0, y)?;
                mouse(browser, "mouseReleased", x - 60.0, y)?;
                expect_change(browser, "dragging")
            }
            Gesture::Type(text) => {
                browser.value(&format!("{element}.focus()"))?;
                browser.call("Input.insertText", json!({ "text": text }))?;
                expect_change(browser, "typing")
            }
            Gesture::Keys(keys) => {
                browser.value(&format!("{element}.focus()"))?;
                for key in keys {
                    for kind in ["keyDown", "keyUp"] {
                        browser.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key }))?;
                    }
                    expect_change(browser, &format!("the key {key}"))?;
                }
                Ok(())
            }
            Gesture::Open(name, text) => {
                let file = format!("new File([{}], {})", json!(text), json!(name));
                browser.value(&format!(
                    "(() => {{ const files = new DataTransfer(); files.items.add({file}); {element}.files = files.files;
                    {element}.dispatchEvent(new Event('change')); }})()"
                ))?;
                expect_change(browser, "a file")
            }
            Gesture::Select(value) => {
                browser.value(&format!("{element}.value = '{value}'; {element}.dispatchEvent(new Event('change'))"))?;
                expect_change(browser, &format!("the option {value}"))
            }
            Gesture::Choose => {
                let numbers = browser.value(&format!("[{element}.options.length, {element}.selectedIndex]"))?;
                let (options, selected): (usize, usize) = serde_json::from_value(numbers)?;
                if options < 2 {
                    bail!("it has {options} options: there is nothing to choose");
                }
                // The selected option comes last: choosing it first would change nothing.
                for option in (1..=options).map(|step| (selected + step) % options) {
                    let choose =
                        format!("{element}.selectedIndex = {option}; {element}.dispatchEvent(new Event('change'))");
                    browser.value(&choose)?;
                    expect_change(browser, &format!("option {option}"))?;
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
