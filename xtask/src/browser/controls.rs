// SPDX-License-Identifier: GPL-2.0-or-later
//! Uses of controls by mouse and keyboard, each of which must change something.

use super::check_page;
use super::driver::{Browser, MouseAction};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The longest time to wait for a change.
const PATIENCE: Duration = Duration::from_secs(5);

/// Use of a control, and how the page proves it.
pub(super) enum Gesture {
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
pub(super) struct ControlUse {
    control: &'static str,
    gesture: Gesture,
    proof: &'static str,
}

pub(super) const fn control_use(control: &'static str, gesture: Gesture, proof: &'static str) -> ControlUse {
    ControlUse { control, gesture, proof }
}

/// Uses all controls of a page. The uses are in an order in which each can change something.
pub(super) fn use_all_controls(browser: &mut dyn Browser, uses: &[ControlUse]) -> Result<()> {
    check_page(browser)?;
    let used: BTreeSet<&str> = uses.iter().map(|control_use| control_use.control).collect();
    check_controls(browser, &used)?;
    browser.value(
        "void (globalThis.pointOf = (element) => {
            const box = element.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        })",
    )?;
    for control_use in uses {
        control_use.perform(browser).with_context(|| format!("control `{}`", control_use.control))?;
    }
    check_controls(browser, &used)?;
    check_page(browser)
}

/// Checks that each control of the page has a use.
fn check_controls(browser: &mut dyn Browser, used: &BTreeSet<&str>) -> Result<()> {
    // Regions with scroll bars have the focus so that keys scroll.
    let ids = "[...document.querySelectorAll('button, select, input, textarea, summary, a[href], [tabindex]:not([role=region])')]
        .filter((control) => control.checkVisibility())
        .map((control) => control.id.replace(/^(finding|wait)-.*/, '$1-A-0'))";
    let controls: Vec<String> = serde_json::from_value(browser.value(ids)?)?;
    match controls.iter().find(|id| !used.contains(id.as_str())) {
        Some(new) => bail!("no use of the control `{new}`: add one to its list"),
        None => Ok(()),
    }
}

impl ControlUse {
    fn perform(&self, browser: &mut dyn Browser) -> Result<()> {
        let element = format!("document.getElementById('{}')", self.control);
        browser.value(&format!("{element}.scrollIntoView({{ block: 'center' }})"))?;
        let mut before = self.proof(browser)?;
        let point = match self.gesture {
            Gesture::ClickAt(point) => point.to_owned(),
            _ => format!("pointOf({element})"),
        };
        let (x, y): (f64, f64) = serde_json::from_value(browser.value(&point)?)?;
        let mut expect_change = |browser: &mut dyn Browser, action: &str| {
            let began = Instant::now();
            loop {
                let after = self.proof(browser)?;
                if after != before && after != json!("") {
                    before = after;
                    return Ok(());
                }
                if began.elapsed() > PATIENCE {
                    bail!("{action} changes nothing");
                }
            }
        };
        match self.gesture {
            Gesture::Click | Gesture::ClickAt(_) => {
                browser.use_mouse(&[MouseAction::Move(x, y), MouseAction::Press, MouseAction::Release])?;
                expect_change(browser, "a click")
            }
            Gesture::Hover => {
                browser.use_mouse(&[MouseAction::Move(x, y)])?;
                expect_change(browser, "the mouse")
            }
            Gesture::Wheel => {
                browser.turn_wheel(x, y)?;
                expect_change(browser, "the wheel")
            }
            Gesture::Drag => {
                let (from, to) = (MouseAction::Move(x, y), MouseAction::Move(x - 60.0, y));
                browser.use_mouse(&[from, MouseAction::Press, to, MouseAction::Release])?;
                expect_change(browser, "dragging")
            }
            Gesture::Type(text) => {
                browser.value(&format!("{element}.focus()"))?;
                browser.type_text(text)?;
                expect_change(browser, "typing")
            }
            Gesture::Keys(keys) => {
                browser.value(&format!("{element}.focus()"))?;
                for key in keys {
                    browser.press_key(key)?;
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
                browser
                    .value(&format!("({element}.value = '{value}', {element}.dispatchEvent(new Event('change')))"))?;
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
                        format!("({element}.selectedIndex = {option}, {element}.dispatchEvent(new Event('change')))");
                    browser.value(&choose)?;
                    expect_change(browser, &format!("option {option}"))?;
                }
                Ok(())
            }
        }
    }

    /// The proof's value, once everything is drawn.
    fn proof(&self, browser: &mut dyn Browser) -> Result<Value> {
        browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")?;
        browser.value(self.proof)
    }
}
