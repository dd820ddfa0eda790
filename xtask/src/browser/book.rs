// SPDX-License-Identifier: GPL-2.0-or-later
//! The site of the book: each button opens the runs of its command, and a page of the site works from disk.
//!
//! The native runs are those of the specs that fairlab reads from the command, not of those that the page has from the link.

use super::driver::{Browser, MouseAction, PageLog};
use super::lab::SETTLED;
use super::{WINDOWS, check_page};
use crate::book::buttons::Button;
use crate::book::{self, LAB, Site};
use crate::lab::occupants::occupants;
use anyhow::{Context, Result, ensure};
use fairlab_workload::message::Message;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Page of the site that is opened, and whose first button is clicked.
const PAGE: &str = "start/first-run.html";
/// Word that the page searches, and pages that must be among the results.
const SEARCHED: &str = "virtual deadline";

/// The site with the digests of native runs.
pub(super) struct SiteRuns {
    site: Site,
    /// Runs of buttons, by the link.
    links: BTreeMap<String, LinkRuns>,
}

/// Runs that a link opens.
struct LinkRuns {
    /// First place of the book with the link.
    place: String,
    /// Digests of native runs of the arms A and B.
    digests: [String; 2],
}

impl SiteRuns {
    /// Builds the site and runs what its buttons open.
    pub(super) fn new(root: &Path, directory: &Path) -> Result<Self> {
        let site = book::build(root, Some(directory))?;
        let mut links = BTreeMap::new();
        for text in &site.texts {
            let Ok(Button { fragment, specs }) = &text.button else { continue };
            if links.contains_key(fragment) {
                continue;
            }
            let native = |spec| occupants(spec).map(|(digest, _)| digest).map_err(Message::from);
            let digests =
                specs.iter().map(native).collect::<Result<Vec<_>, _>>().with_context(|| text.place.clone())?;
            let arm = |number: usize| digests.get(number).unwrap_or(&digests[0]).clone();
            links.insert(fragment.clone(), LinkRuns { place: text.place.clone(), digests: [arm(0), arm(1)] });
        }
        ensure!(!links.is_empty(), "the site has no buttons");
        Ok(Self { site, links })
    }

    /// Opens the link of each button in the page of `fairlab lab`, and compares digests.
    pub(super) fn check_links(&self, browser: &mut dyn Browser) -> Result<()> {
        let (_, size, is_phone) = WINDOWS[0];
        browser.open(&self.site.directory.join(LAB), size, is_phone)?;
        browser.value(SETTLED)?;
        for (link, LinkRuns { place, digests }) in &self.links {
            let opened = open_link(browser, link).with_context(|| place.clone())?;
            ensure!(opened == json!(digests), "{place}: digests of the page {opened}, of native runs {digests:?}");
        }
        check_page(browser)?;
        let nr_different = self.links.values().filter(|LinkRuns { digests: [a, b], .. }| a != b).count();
        println!(
            "buttons of the book in {}: {} links, of which {nr_different} have arms that differ, have digests of native runs",
            browser.name(),
            self.links.len()
        );
        Ok(())
    }

    /// Opens a page of the site, searches the book and clicks on a button.
    pub(super) fn check_page(&self, browser: &mut dyn Browser) -> Result<()> {
        for (name, size, is_phone) in WINDOWS {
            browser.open(&self.site.directory.join(PAGE), size, is_phone)?;
            let nr_found = browser.value(&SEARCH.replace("WORD", SEARCHED))?;
            ensure!(nr_found.as_u64() > Some(0), "the book has no results for `{SEARCHED}`");
            self.check_log(browser.log())?;
            self.click_button(browser).with_context(|| format!("{PAGE}, {name} window"))?;
            self.check_log(browser.log())?;
        }
        println!(
            "{PAGE} of the book in {}: search and a button work from disk, nothing on the console",
            browser.name()
        );
        Ok(())
    }

    /// Clicks on the first button of the page and waits for the runs that it opens.
    fn click_button(&self, browser: &mut dyn Browser) -> Result<()> {
        let position = browser.value(FIRST_BUTTON)?;
        let (x, y, link): (f64, f64, String) = serde_json::from_value(position).context("the page has a button")?;
        browser.use_mouse(&[MouseAction::Move(x, y), MouseAction::Press, MouseAction::Release])?;
        let digests = &self.links.get(&link).with_context(|| format!("{link} is no button of the book"))?.digests;
        let mut opened = Value::Null;
        // The page may be replaced while the expression waits.
        for _ in 0..100 {
            opened = browser.value(OPENED).unwrap_or_default();
            if !opened.is_null() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        ensure!(opened == json!(digests), "the button opens runs with digests {opened}, not {digests:?}");
        Ok(())
    }

    /// Checks that all requests are for files of the site or data in its pages, and that the console is empty.
    fn check_log(&self, PageLog { console, requests, .. }: &PageLog) -> Result<()> {
        let site = format!("file://{}/", self.site.directory.display());
        let is_of_site =
            |request: &&String| ["blob:", "data:", site.as_str()].iter().any(|start| request.starts_with(start));
        let foreign = requests.iter().find(|request| !is_of_site(request));
        ensure!(foreign.is_none(), "the site requests {}", foreign.map_or("", String::as_str));
        ensure!(console.is_empty(), "the site writes on its console: {}", console[0]);
        Ok(())
    }
}

/// Opens a link in the page that is loaded. Returns the digests of its arms.
fn open_link(browser: &mut dyn Browser, link: &str) -> Result<Value> {
    browser.value(&format!("location.hash = {}", json!(link)))?;
    browser.value("new Promise((done) => setTimeout(done, 20))")?;
    let verdict = browser.value(SETTLED)?;
    let digests = browser.value("fairlab.arms().map((arm) => arm.ended?.digest)")?;
    let has_failed = browser.value("document.getElementById('verdict').classList.contains('error')")?;
    ensure!(has_failed == json!(false), "the page reports {verdict}");
    Ok(digests)
}

/// Number of results of a search.
const SEARCH: &str = "(async () => {
    const until = async (isDone) => { for (let at = 0; at < 300 && !isDone(); at++) await new Promise((done) => setTimeout(done, 20)); };
    const id = (name) => document.getElementById(`mdbook-${name}`), results = () => document.querySelectorAll('#mdbook-searchresults > li').length;
    id('search-toggle').click();
    await until(() => !id('searchbar').disabled && document.activeElement === id('searchbar'));
    id('searchbar').value = 'WORD';
    id('searchbar').dispatchEvent(new KeyboardEvent('keyup', { bubbles: true }));
    id('searchbar').dispatchEvent(new InputEvent('input', { bubbles: true }));
    await until(() => results() > 0);
    const number = results();
    id('search-toggle').click();
    return number;
})()";

/// Position of the first button of the page in pixels of the window, and the fragment of its link.
const FIRST_BUTTON: &str = "(async () => {
    const link = document.querySelector('.lab a');
    link?.scrollIntoView({ block: 'center', behavior: 'instant' });
    await new Promise((done) => setTimeout(done, 300));
    const box = link?.getClientRects()[0];
    return box ? [box.x + box.width / 2, box.y + box.height / 2, link.hash] : null;
})()";

/// Digests of both arms, once the page of `fairlab lab` has run them.
const OPENED: &str = "(() => {
    const digests = globalThis.fairlab?.arms?.().map((arm) => arm.ended?.digest) ?? [];
    return digests.length === 2 && digests.every(Boolean) ? digests : null;
})()";
