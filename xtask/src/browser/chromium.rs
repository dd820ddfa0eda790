// SPDX-License-Identifier: GPL-2.0-or-later
//! A headless Chromium, driven with its DevTools protocol through a pipe. Messages are JSON; each ends with a zero byte.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Names of the program.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// The longest time to wait for a message of the browser.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the path of the browser's program, if one is installed.
pub(super) fn find() -> Option<PathBuf> {
    let places = std::env::var_os("PATH")?;
    let all = std::env::split_paths(&places).flat_map(|place| NAMES.map(|name| place.join(name)));
    all.into_iter().find(|path| path.is_file())
}

/// A browser with one page.
pub(super) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    last_id: u64,
    /// Messages that are not responses.
    events: Vec<Value>,
}

impl Browser {
    /// Starts the browser, with a directory for its profile.
    pub(super) fn start(program: &Path, profile: &Path) -> Result<Self> {
        // It reads from descriptor 3 and writes to 4.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"]).arg(program);
        command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"]);
        command.args(["--hide-scrollbars", "--disable-dev-shm-usage"]);
        command.arg(format!("--user-data-dir={}", profile.display())).arg("about:blank");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("sh cannot be started")?;
        let (to, out) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut out = BufReader::new(out);
            let mut message = Vec::new();
            while out.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                let value = serde_json::from_slice(&message).unwrap_or(Value::Null);
                message.clear();
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self { child, to, from, session: None, last_id: 0, events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))?["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }))?;
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.call(domain, json!({}))?;
        }
        Ok(browser)
    }

    fn next(&self) -> Result<Value> {
        self.from.recv_timeout(TIMEOUT).context("the browser does not answer")
    }

    /// Calls a method and returns its result.
    pub(super) fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).with_context(|| format!("{method}: the browser has gone"))?;
        loop {
            let message = self.next()?;
            if message["id"] != json!(self.last_id) {
                self.events.push(message);
            } else if message["error"].is_null() {
                return Ok(message["result"].clone());
            } else {
                bail!("{method}: {}", message["error"]["message"]);
            }
        }
    }

    /// Opens a page in a window of this size, and waits until it is loaded.
    pub(super) fn open(&mut self, page: &Path, (width, height): (u32, u32), is_phone: bool) -> Result<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone });
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        self.events.clear();
        self.call("Page.navigate", json!({ "url": format!("file://{}", page.display()) }))?;
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next()?;
            self.events.push(event);
        }
        Ok(())
    }

    /// Returns the value of an expression of JavaScript; waits for the value of a promise.
    pub(super) fn value(&mut self, expression: &str) -> Result<Value> {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.call("Runtime.evaluate", params)?;
        if result["exceptionDetails"].is_null() {
            return Ok(result["result"]["value"].clone());
        }
        bail!("{expression}: {}", result["exceptionDetails"]["exception"]["description"])
    }

    /// Returns the messages that the page has written on its console and the exceptions that it has thrown since it was opened.
    pub(super) fn console_errors(&self) -> Vec<String> {
        let kinds = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
        let events = self.events.iter().filter(|event| kinds.iter().any(|kind| event["method"] == *kind));
        events.map(|event| event["params"].to_string()).collect()
    }
}

impl Drop for Browser {
    /// Ends the browser, also after an error.
    fn drop(&mut self) {
        self.session = None;
        if self.call("Browser.close", json!({})).is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
