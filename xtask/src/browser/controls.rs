// SPDX-License-Identifier: GPL-2.0-or-later
//! Uses of controls by mouse and keyboard, each of which must change something.

use super::check_page;
use super::driver::{Browser, MouseAction};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The longest time to wait for a change.
const PATIENCE: Duration = Duration::from_secs(5);

/// Elements that a user can give the focus.
const FOCUSABLE: &str = "'button, select, input, textarea, summary, a[href], [tabindex]:not([tabindex=\"-1\"]), \
    [contenteditable]:not([contenteditable=\"false\"]), iframe, audio, video'";

/// Functions of the test in the page. Controls that the page creates for entries of a list are of one kind.
const FUNCTIONS: &str = "void Object.assign(globalThis, {
    pointOf: (element) => {
        const box = element.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2];
    },
    kindOf: ({ id, type = '', outerHTML }) =>
        id.replace(/^(add|choice|demo|finding|knob|remove|wait)-.*?(-value)?$/, `$1$2 ${type}`) || outerHTML.slice(0, 80),
})";

/// Input device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Device {
    Mouse,
    Keyboard,
}

/// Gesture of a user.
pub(super) enum Gesture {
    Click,
    /// Clicks at the point that this expression of JavaScript returns.
    ClickAt(&'static str),
    /// Clicks on a text field, which must get the focus.
    Focus,
    /// Clicks on a list and chooses each option, one after the other.
    Choose,
    /// Clicks on a list and chooses the option of this value.
    Select(&'static str),
    /// Opens a file of this name and content: by a click or by Enter, and with the browser's dialog.
    Open(Device, &'static str, &'static str),
    Type(&'static str),
    /// Presses keys, each of which must change the proof.
    Keys(&'static [&'static str]),
    Wheel,
    Hover,
    Drag,
}

impl Gesture {
    const fn device(&self) -> Device {
        match *self {
            Self::Open(device, ..) => device,
            Self::Type(_) | Self::Keys(_) => Device::Keyboard,
            Self::Click | Self::ClickAt(_) | Self::Focus | Self::Choose | Self::Select(_) => Device::Mouse,
            Self::Wheel | Self::Hover | Self::Drag => Device::Mouse,
        }
    }
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

/// Uses all controls of a page. The uses are in an order in which each can change something. Each element that can have the
/// focus at some time must have a use by mouse and one by keyboard.
pub(super) fn use_all_controls(browser: &mut dyn Browser, uses: &[ControlUse]) -> Result<()> {
    use_further_controls(browser, uses, &[])
}

/// Uses controls of a page, and checks that all others have a use in the list of a page with the same controls.
pub(super) fn use_further_controls(
    browser: &mut dyn Browser,
    uses: &[ControlUse],
    uses_elsewhere: &[ControlUse],
) -> Result<()> {
    check_page(browser)?;
    browser.value(FUNCTIONS)?;
    let (mut seen, mut used) = (kinds(browser)?, BTreeSet::new());
    for control_use in uses {
        let kind = control_use.kind(browser)?.with_context(|| format!("no control `{}`", control_use.control))?;
        control_use.perform(browser).with_context(|| format!("control `{}`", control_use.control))?;
        used.insert((kind, control_use.gesture.device()));
        seen.extend(kinds(browser)?);
    }
    for control_use in uses_elsewhere {
        used.extend(control_use.kind(browser)?.map(|kind| (kind, control_use.gesture.device())));
    }
    check_controls(&seen, &used)?;
    check_page(browser)
}

/// Returns the kinds of the visible elements that can have the focus.
fn kinds(browser: &mut dyn Browser) -> Result<BTreeSet<String>> {
    let kinds = format!(
        "[...document.querySelectorAll({FOCUSABLE})].filter((control) => control.checkVisibility()).map(kindOf)"
    );
    Ok(serde_json::from_value(browser.value(&kinds)?)?)
}

/// Checks that each kind of control has a use by mouse and one by keyboard.
fn check_controls(seen: &BTreeSet<String>, used: &BTreeSet<(String, Device)>) -> Result<()> {
    for kind in seen {
        for device in [Device::Mouse, Device::Keyboard] {
            if !used.contains(&(kind.clone(), device)) {
                bail!("no use of the control `{kind}` by {device:?}: add one to its list");
            }
        }
    }
    Ok(())
}

impl ControlUse {
    /// Returns the kind of the control, if the page has it.
    fn kind(&self, browser: &mut dyn Browser) -> Result<Option<String>> {
        let element = format!("document.getElementById('{}')", self.control);
        Ok(serde_json::from_value(browser.value(&format!("{element} && kindOf({element})"))?)?)
    }

    fn perform(&self, browser: &mut dyn Browser) -> Result<()> {
        let element = format!("document.getElementById('{}')", self.control);
        browser.value(&format!("{element}.scrollIntoView({{ block: 'center' }})"))?;
        if matches!(self.gesture, Gesture::Focus) {
            browser.value("document.activeElement.blur()")?;
        }
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
        let click = [MouseAction::Move(x, y), MouseAction::Press, MouseAction::Release];
        match self.gesture {
            Gesture::Click | Gesture::ClickAt(_) | Gesture::Focus => {
                browser.use_mouse(&click)?;
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
            Gesture::Open(device, name, text) => {
                let click_event = "new Promise((done) => addEventListener('click', done, { once: true }))";
                browser.value(&format!(
                    "void (globalThis.opening = {click_event}.then((event) => event.isTrusted && event.target.id))"
                ))?;
                match device {
                    Device::Mouse => browser.use_mouse(&click)?,
                    Device::Keyboard => {
                        browser.value(&format!("{element}.focus()"))?;
                        browser.press_key("Enter")?;
                    }
                }
                ensure!(browser.value("opening")? == json!(self.control), "no click arrives");
                browser.choose_file(name, text)?;
                expect_change(browser, "a file")
            }
            Gesture::Select(value) => {
                browser.use_mouse(&click)?;
                browser.value(&choose(&element, &format!("value = '{value}'")))?;
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
                    browser.use_mouse(&click)?;
                    browser.value(&choose(&element, &format!("selectedIndex = {option}")))?;
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

/// Chooses an option of a list on which the mouse was clicked. The options are in a window of the system, which a headless
/// browser does not show and no driver can click: the choice is made by a script, and the window closes with the focus.
fn choose(element: &str, choice: &str) -> String {
    format!("({element}.{choice}, {element}.dispatchEvent(new Event('change', {{ bubbles: true }})), {element}.blur())")
}
