// SPDX-License-Identifier: GPL-2.0-or-later
//! Browser test of the HTML pages, in a desktop window and on a phone.
//!
//! In both windows:
//! - each element that can have the focus is used by mouse and by keyboard, and must change something ([`controls`]);
//! - no page may write on its console, request anything but itself, or be wider than its window.
//!
//! The page of `fairlab lab` is tested in a headless Chromium and a headless Firefox, and compared with native runs ([`lab`]).
//! The pages of `fairlab report` and `fairlab compare` are tested in Chromium. Of a report, verdict, findings and timeline must be
//! on the first screen. Pages of studies and of runs with unlike families are only opened.
//!
//! Buttons of the book open runs in the page of `fairlab lab` ([`book`]).

mod book;
mod chromium;
mod controls;
mod driver;
mod firefox;
mod lab;

use crate::programs;
use crate::requirement::skip_or_fail;
use anyhow::{Context, Result, anyhow, bail, ensure};
use chromium::Chromium;
use clap::Args as ClapArgs;
use controls::{ControlUse, Gesture, control_use, use_all_controls, use_further_controls};
use driver::{Browser, PageLog, find};
use firefox::Firefox;
use std::cell::LazyCell;
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
    /// Test only the site of the book.
    #[arg(long, conflicts_with_all = ["page", "lab"])]
    book: bool,
    /// Number of random pairs of runs that are compared in the page of `fairlab lab`
    #[arg(long, default_value_t = 40)]
    random: u64,
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

const VIEW: &str = "JSON.stringify(fairlab.timeline.view)";
const TIMELINE: &str = "document.getElementById('timeline').toDataURL()";
const REASONS: &str = "document.getElementById('why').textContent";
const HOVER: &str = "document.getElementById('hover').textContent";
const SHOWN: &str = "fairlab.arms().map(({ name }) => name).join() + document.getElementById('verdict').textContent";
const LATENCY: &str = "document.getElementById('latency').toDataURL()";
/// The explanation of a finding or a wait, if the page shows all sentences of it and the timeline shows its moment.
const EXPLAINED: &str = "(() => {
    const { ended } = fairlab.arms()[0], known = [...ended.findings ?? [], ...ended.details.waits], { from, to } = fairlab.timeline.view;
    const shown = [...document.querySelectorAll('#why li')].map((item) => item.textContent);
    const item = known.find(({ explanation }) => explanation.length > 2 && explanation.every((text, at) => text.trim() === shown[at]));
    const at = item?.at_ns ?? item?.since_ns;
    return at >= from && at <= to ? JSON.stringify([at, shown]) : '';
})()";
/// The mark of the third longest wait of arm A in the timeline.
const MARK_OF_A_WAIT: &str = "(() => {
    const { timeline } = fairlab, [arm] = fairlab.arms(), { cpu, since_ns, length_ns } = arm.ended.details.waits[2];
    const box = timeline.canvas.getBoundingClientRect(), row = timeline.geometry().rows.find((row) => row.arm === 0 && row.cpu === cpu);
    return [box.x + timeline.x(since_ns + length_ns), box.y + row.top + 4];
})()";

const FOCUS: &str = "document.activeElement.id";
const LAG: &str = "document.getElementById('lag').toDataURL()";

const USES: &[ControlUse] = &[
    control_use("timeline", Gesture::Hover, HOVER),
    control_use("timeline", Gesture::Wheel, VIEW),
    control_use("show-difference", Gesture::Click, VIEW),
    control_use("timeline", Gesture::Keys(&["+", "=", "ArrowRight", "ArrowLeft", "-", "Home"]), VIEW),
    control_use("timeline", Gesture::Keys(&["Enter", "ArrowDown", "p", "n"]), REASONS),
    control_use("timeline", Gesture::ClickAt(MARK_OF_A_WAIT), EXPLAINED),
    control_use("show-difference", Gesture::Keys(&["Enter"]), VIEW),
    control_use("next-difference", Gesture::Click, REASONS),
    control_use("next-difference", Gesture::Keys(&["Enter"]), REASONS),
    control_use("finding-A-0", Gesture::Click, EXPLAINED),
    control_use("wait-A-0", Gesture::Click, EXPLAINED),
    control_use("finding-A-0", Gesture::Keys(&["Enter"]), EXPLAINED),
    control_use("wait-A-1", Gesture::Keys(&["Enter"]), EXPLAINED),
    control_use("colour", Gesture::Choose, TIMELINE),
    control_use("colour", Gesture::Keys(&["ArrowDown", "ArrowUp"]), TIMELINE),
    control_use("task", Gesture::Focus, FOCUS),
    control_use("task", Gesture::Type("worker"), TIMELINE),
    control_use("lane", Gesture::Choose, TIMELINE),
    control_use("lane", Gesture::Keys(&["ArrowDown", "ArrowUp"]), TIMELINE),
    control_use("lag", Gesture::Hover, "document.getElementById('lag-value').textContent"),
    control_use("lag-task", Gesture::Choose, LAG),
    control_use("lag-task", Gesture::Keys(&["ArrowDown", "ArrowUp"]), LAG),
    control_use("as-table-summary", Gesture::Click, "document.getElementById('segments').textContent"),
    control_use("as-table-summary", Gesture::Keys(&["Enter"]), "document.getElementById('as-table').open"),
    control_use("metrics-scroll", Gesture::Focus, FOCUS),
    control_use("metrics-scroll", Gesture::Keys(&["ArrowRight"]), lab::METRICS_POSITION),
    control_use("save-png", Gesture::Click, lab::SAVED),
    control_use("save-svg", Gesture::Click, lab::SAVED),
    control_use("save-png", Gesture::Keys(&["Enter"]), lab::SAVED),
    control_use("save-svg", Gesture::Keys(&["Enter"]), lab::SAVED),
    control_use("charts-summary", Gesture::Click, LATENCY),
    control_use("family", Gesture::Choose, LATENCY),
    control_use("family", Gesture::Keys(&["ArrowDown", "ArrowUp"]), LATENCY),
    control_use("charts-summary", Gesture::Keys(&["Enter"]), "document.getElementById('charts').open"),
    control_use("run-a", Gesture::Choose, SHOWN),
    control_use("run-a", Gesture::Keys(&["ArrowDown", "ArrowUp"]), SHOWN),
    control_use("run-b", Gesture::Choose, SHOWN),
    control_use("run-b", Gesture::Keys(&["ArrowUp", "ArrowDown"]), SHOWN),
];

/// Uses on the page of a comparison, besides those on the page of a report.
const COMPARED_USES: &[ControlUse] = &[
    control_use("show-difference", Gesture::Click, VIEW),
    control_use("next-difference", Gesture::Click, REASONS),
    control_use("lane", Gesture::Choose, TIMELINE),
    control_use("run-a", Gesture::Choose, SHOWN),
    control_use("run-b", Gesture::Choose, SHOWN),
    control_use("changes-scroll", Gesture::Focus, FOCUS),
    control_use("changes-scroll", Gesture::Keys(&["ArrowDown"]), lab::CHANGES_POSITION),
    control_use("all-metrics-summary", Gesture::Click, lab::ALL_METRICS),
    control_use("all-scroll", Gesture::Focus, FOCUS),
    control_use("all-scroll", Gesture::Keys(&["ArrowDown"]), lab::ALL_POSITION),
    control_use("all-metrics-summary", Gesture::Keys(&["Enter"]), lab::IS_ALL_OPEN),
];

pub(crate) fn run(root: &Path, args: &BrowserArgs) -> Result<()> {
    let place = root.join("target/browser");
    // The page that is tested may be one of an earlier test, which lies here.
    for part in if args.page.is_some() { &["chromium", "firefox"][..] } else { &[""] } {
        let _ = std::fs::remove_dir_all(place.join(part));
    }
    std::fs::create_dir_all(&place).with_context(|| format!("{} cannot be made", place.display()))?;
    let site = LazyCell::new(|| book::SiteRuns::new(root, &place.join("site")));
    let site = || site.as_ref().map_err(|error| anyhow!("the site of the book: {error:#}"));
    if let Some(mut browser) = start_chromium(args, &place)? {
        if args.lab_times {
            return lab::times::measure(root, &mut browser);
        }
        if !args.lab && !args.book {
            check_reports(root, args, &place, &mut browser)?;
        }
        if args.page.is_none() && !args.book {
            lab::check(root, &mut browser, args)?;
        }
        if args.page.is_none() && !args.lab {
            site()?.check_page(&mut browser)?;
            site()?.check_links(&mut browser)?;
        }
    }
    if args.page.is_none()
        && let Some(mut browser) = start_firefox(args, &place)?
    {
        if !args.book {
            lab::check(root, &mut browser, args)?;
        }
        if !args.lab {
            site()?.check_links(&mut browser)?;
        }
    }
    Ok(())
}

fn start_chromium(args: &BrowserArgs, place: &Path) -> Result<Option<Chromium>> {
    let Some(program) = find(&chromium::NAMES) else {
        let message = "chromium is missing (Debian's package chromium)";
        return skip_or_fail(args.ci, "chromium", message).map(|()| None);
    };
    Chromium::start(&program, &place.join("chromium")).map(Some)
}

fn start_firefox(args: &BrowserArgs, place: &Path) -> Result<Option<Firefox>> {
    let Some(program) = find(&firefox::NAMES) else {
        let message = "firefox is missing (Debian's package firefox-esr)";
        return skip_or_fail(args.ci, "firefox", message).map(|()| None);
    };
    Firefox::start(&program, &place.join("firefox")).map(Some)
}

/// Checks the page of `fairlab report`, and unless it is given, the other pages.
fn check_reports(root: &Path, args: &BrowserArgs, place: &Path, browser: &mut dyn Browser) -> Result<()> {
    let page = match &args.page {
        Some(page) => page.canonicalize().with_context(|| page.display().to_string())?,
        None => example(root, place)?,
    };
    for (name, size, is_phone) in WINDOWS {
        browser.open(&page, size, is_phone)?;
        browser.value(lab::SETTLED)?;
        check_first_screen(browser)
            .and_then(|()| use_all_controls(browser, USES))
            .with_context(|| format!("{name} window"))?;
        println!("{name}: {} uses of all controls changed something, nothing on the console", USES.len());
    }
    if args.page.is_none() {
        check_comparison(root, place, browser)?;
        check_unlike_runs(root, place, browser)?;
        check_other_pages(root, place, browser)?;
    }
    Ok(())
}

/// Checks a page of runs with different families and machines: each run is chosen.
fn check_unlike_runs(root: &Path, place: &Path, browser: &mut dyn Browser) -> Result<()> {
    let path = |name: &str| place.join(name).display().to_string();
    let (groups, page) = (path("groups"), path("unlike.html"));
    fairlab(root, &["run", "scenarios/wasted-groups.scn", "-o", &groups])?;
    fairlab(root, &["report", &groups, &path("other"), "-o", &page])?;
    for (name, size, is_phone) in WINDOWS {
        browser.open(Path::new(&page), size, is_phone)?;
        browser.value(lab::SETTLED)?;
        for index in 0..2 {
            let choose =
                format!("const menu = document.getElementById('run-a'); menu.value = '{index}'; menu.onchange(); 0");
            browser.value(&format!("(() => {{ {choose} }})()"))?;
            check_page(browser).with_context(|| format!("unlike runs, {name} window"))?;
            check_first_screen(browser).with_context(|| format!("unlike runs, {name} window"))?;
        }
    }
    println!("a page of runs with different families has all its numbers");
    Ok(())
}

/// Checks the page of a comparison: all controls, and the verdict of each arm.
fn check_comparison(root: &Path, place: &Path, browser: &mut dyn Browser) -> Result<()> {
    let html = place.join("compare.html");
    let format = format!("html={}", html.display());
    let workload = ["compare", "scenarios/hello.json", "--for", "300ms", "--all"];
    let arms = ["--arm", "SIS_UTIL", "--arm", "NO_WAKEUP_PREEMPTION", "--runs", "8", "--format", format.as_str()];
    fairlab(root, &[&workload[..], &arms].concat())?;
    for (name, size, is_phone) in WINDOWS {
        browser.open(&html, size, is_phone)?;
        let verdict = browser.value(lab::SETTLED)?;
        ensure!(verdict.as_str().is_some_and(|text| text.contains("`NO_WAKEUP_PREEMPTION`")), "{verdict}: no verdict");
        use_further_controls(browser, COMPARED_USES, USES)
            .with_context(|| format!("page of a comparison, {name} window"))?;
    }
    println!("a page of a comparison has its verdict, and its own controls changed something");
    Ok(())
}

/// Checks a page without controls: of a study.
fn check_other_pages(root: &Path, place: &Path, browser: &mut dyn Browser) -> Result<()> {
    let study = place.join("study");
    fairlab(root, &["study", "run", "nohz-misfit-kicks", "--quick", "-o", &study.display().to_string()])?;
    let page = study.join("nohz-misfit-kicks.html");
    for (name, size, is_phone) in WINDOWS {
        browser.open(&page, size, is_phone)?;
        check_page(browser).with_context(|| format!("{}, {name} window", page.display()))?;
    }
    println!("the page of a study fits a desktop window and a phone, nothing on the console");
    Ok(())
}

/// Runs a command of fairlab.
fn fairlab(root: &Path, args: &[&str]) -> Result<()> {
    let program = programs::build_program(root)?;
    let output = Command::new(&program).args(args).current_dir(root).output().context("fairlab cannot be started")?;
    if output.status.success() { Ok(()) } else { bail!("{}", String::from_utf8_lossy(&output.stderr)) }
}

/// Checks that the page is no wider than its window, shows no broken number, requests nothing from
/// elsewhere, and has written nothing on its console.
fn check_page(browser: &mut dyn Browser) -> Result<()> {
    let overflow = browser.value("document.documentElement.scrollWidth - innerWidth")?;
    if overflow.as_i64().is_none_or(|pixels| pixels > 0) {
        bail!("the page is {overflow} pixels wider than its window");
    }
    let broken = browser.value("document.body.innerText.match(/.*\\b(NaN|undefined|Infinity)\\b.*/)?.[0] ?? null")?;
    if !broken.is_null() {
        bail!("the page shows {broken}");
    }
    let PageLog { url, console, requests } = browser.log();
    if let Some(request) = requests.iter().find(|request| !is_of_page(request, url)) {
        bail!("the page requests {request}");
    }
    match console.first() {
        None => Ok(()),
        Some(message) => bail!("the page writes on its console: {message}"),
    }
}

/// Reports whether a request loads the page itself or a part that the page contains.
fn is_of_page(request: &str, page: &str) -> bool {
    let document = request.split('#').next();
    document == Some(page) || request.starts_with("blob:") || request.starts_with("data:")
}

/// Checks that verdict, findings and timeline can be seen without scrolling.
fn check_first_screen(browser: &mut dyn Browser) -> Result<()> {
    let below = "['verdict', 'findings', 'timeline'].filter((id) =>
        document.getElementById(id).getBoundingClientRect().bottom + scrollY > innerHeight)";
    let below: Vec<String> = serde_json::from_value(browser.value(below)?)?;
    if below.is_empty() { Ok(()) } else { bail!("{} is not on the first screen", below.join(" and ")) }
}

/// A page of two runs. With zero costs the first one has several findings, whatever costs follow from, and with 6.12 lags.
fn example(root: &Path, place: &Path) -> Result<PathBuf> {
    let fairlab = |args: &[&str]| fairlab(root, args);
    let path = |name: &str| place.join(name).display().to_string();
    let (base, other, page) = (path("base"), path("other"), path("page.html"));
    fairlab(&["run", "scenarios/hello.json", "--for", "300ms", "--features", "NO_WAKEUP_PREEMPTION", "-o", &base])?;
    let zero_cost = ["--prices", "zero", "--kernel", "6.12", "-o", &other];
    fairlab(&[&["run", "scenarios/hello.json", "--for", "300ms"][..], &zero_cost].concat())?;
    fairlab(&["report", &other, &base, "-o", &page])?;
    Ok(PathBuf::from(page))
}
