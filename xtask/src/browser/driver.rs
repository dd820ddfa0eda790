// SPDX-License-Identifier: GPL-2.0-or-later
//! A headless browser with one page: what the tests use of it.

use anyhow::Result;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest time to wait for a message of a browser.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);

/// Action of the mouse. Positions are in pixels of the window.
#[derive(Clone, Copy)]
pub(super) enum MouseAction {
    Move(f64, f64),
    Press,
    Release,
}

/// Console and requests of a page since it was opened.
#[derive(Default)]
pub(super) struct PageLog {
    /// Address of the page.
    pub(super) url: String,
    /// Messages on the console, and exceptions that the page did not catch.
    pub(super) console: Vec<String>,
    /// Addresses that the page requested.
    pub(super) requests: Vec<String>,
}

impl PageLog {
    /// Returns the log of a page that is opened.
    pub(super) fn new(page: &Path) -> Self {
        Self { url: format!("file://{}", page.display()), ..Self::default() }
    }
}

/// Browser with one page.
pub(super) trait Browser {
    /// Returns the name of the browser.
    fn name(&self) -> &'static str;

    /// Opens a page in a window of this size, and waits until it is loaded.
    fn open(&mut self, page: &Path, size: (u32, u32), is_phone: bool) -> Result<()>;

    /// Returns the value of one expression of JavaScript; waits for the value of a promise.
    fn value(&mut self, expression: &str) -> Result<Value>;

    /// Uses the mouse.
    fn use_mouse(&mut self, actions: &[MouseAction]) -> Result<()>;

    /// Turns the wheel one notch away from the user.
    fn turn_wheel(&mut self, x: f64, y: f64) -> Result<()>;

    /// Presses and releases a key, which has its name in JavaScript.
    fn press_key(&mut self, key: &str) -> Result<()>;

    /// Types text.
    fn type_text(&mut self, text: &str) -> Result<()>;

    /// Waits until the page asks for a file, and gives it one of this name and content.
    fn choose_file(&mut self, name: &str, text: &str) -> Result<()>;

    /// Sets the colours that the user prefers, `light` or `dark`. Returns whether the browser can.
    fn set_colour_scheme(&mut self, scheme: &str) -> Result<bool>;

    /// Returns the log of the page.
    fn log(&self) -> &PageLog;
}

/// Key without a character.
pub(super) struct NamedKey {
    name: &'static str,
    /// Code of Chromium.
    pub(super) code: u32,
    /// Character that stands for the key in WebDriver.
    pub(super) character: char,
}

const fn named_key(name: &'static str, code: u32, character: char) -> NamedKey {
    NamedKey { name, code, character }
}

const NAMED_KEYS: [NamedKey; 11] = [
    named_key("Tab", 9, '\u{e004}'),
    named_key("Enter", 13, '\u{e007}'),
    named_key("Escape", 27, '\u{e00c}'),
    named_key("PageUp", 33, '\u{e00e}'),
    named_key("PageDown", 34, '\u{e00f}'),
    named_key("End", 35, '\u{e010}'),
    named_key("Home", 36, '\u{e011}'),
    named_key("ArrowLeft", 37, '\u{e012}'),
    named_key("ArrowUp", 38, '\u{e013}'),
    named_key("ArrowRight", 39, '\u{e014}'),
    named_key("ArrowDown", 40, '\u{e015}'),
];

impl NamedKey {
    /// Returns a key by its name in JavaScript; `None` for a key with a character.
    pub(super) fn from_name(name: &str) -> Option<&'static Self> {
        NAMED_KEYS.iter().find(|key| key.name == name)
    }
}

/// Returns the path of the first of these programs that is installed.
pub(super) fn find(names: &[&str]) -> Option<PathBuf> {
    let places = std::env::var_os("PATH")?;
    std::env::split_paths(&places)
        .flat_map(|place| names.iter().map(move |name| place.join(name)))
        .find(|path| path.is_file())
}
