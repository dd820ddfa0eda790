// SPDX-License-Identifier: GPL-2.0-or-later
//! A headless Chromium, driven with its DevTools protocol through a pipe. Messages are JSON; each ends with a zero byte.

use super::driver::{Browser, MouseAction, NamedKey, PageLog, TIMEOUT};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// Names of the program.
pub(super) const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// Methods that report requests, messages on the console and exceptions, of the page or of a worker.
const ENABLE: [&str; 3] = ["Runtime.enable", "Log.enable", "Network.enable"];
/// Events of messages on the console and of exceptions.
const CONSOLE: [&str; 3] = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];

/// Chromium with one page.
pub(super) struct Chromium {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    last_id: u64,
    is_loaded: bool,
    /// Position of the mouse.
    mouse: (f64, f64),
    /// Element that asks for a file.
    file_input: Option<Value>,
    profile: PathBuf,
    log: PageLog,
}

impl Chromium {
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
        let mut browser = Self {
            child,
            to,
            from,
            session: None,
            last_id: 0,
            is_loaded: false,
            mouse: (0.0, 0.0),
            file_input: None,
            profile: profile.to_owned(),
            log: PageLog::default(),
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))?["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }))?;
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        browser.call("Page.enable", json!({}))?;
        for method in ENABLE {
            browser.call(method, json!({}))?;
        }
        // A worker waits until its requests are reported.
        let workers = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        browser.call("Target.setAutoAttach", workers)?;
        browser.call("Page.setDownloadBehavior", json!({ "behavior": "deny" }))?;
        browser.call("Page.setInterceptFileChooserDialog", json!({ "enabled": true }))?;
        Ok(browser)
    }

    fn next(&self) -> Result<Value> {
        self.from.recv_timeout(TIMEOUT).context("the browser does not answer")
    }

    /// Sends a message, whose number it returns.
    fn send(&mut self, session: Option<String>, method: &str, params: &Value) -> Result<u64> {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).with_context(|| format!("{method}: the browser has gone"))?;
        Ok(self.last_id)
    }

    /// Calls a method and returns its result.
    fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.send(self.session.clone(), method, &params)?;
        loop {
            let message = self.next()?;
            if message["id"] != json!(id) {
                self.note_event(&message)?;
            } else if message["error"].is_null() {
                return Ok(message["result"].clone());
            } else {
                bail!("{method}: {}", message["error"]["message"]);
            }
        }
    }

    fn note_event(&mut self, event: &Value) -> Result<()> {
        let params = &event["params"];
        match event["method"].as_str() {
            Some("Page.loadEventFired") => self.is_loaded = true,
            Some("Target.attachedToTarget") => {
                let session = params["sessionId"].as_str().map(str::to_owned);
                for method in ENABLE.into_iter().chain(["Runtime.runIfWaitingForDebugger"]) {
                    self.send(session.clone(), method, &json!({}))?;
                }
            }
            Some("Page.fileChooserOpened") => self.file_input = Some(params["backendNodeId"].clone()),
            Some("Network.requestWillBeSent") => {
                self.log.requests.push(params["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            Some(method) if CONSOLE.contains(&method) => self.log.console.push(params.to_string()),
            _ => {}
        }
        Ok(())
    }
}

impl Browser for Chromium {
    fn name(&self) -> &'static str {
        "Chromium"
    }

    fn open(&mut self, page: &Path, (width, height): (u32, u32), is_phone: bool) -> Result<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone });
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        self.log = PageLog::new(page);
        self.is_loaded = false;
        self.call("Page.navigate", json!({ "url": self.log.url }))?;
        while !self.is_loaded {
            let event = self.next()?;
            self.note_event(&event)?;
        }
        Ok(())
    }

    fn value(&mut self, expression: &str) -> Result<Value> {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true, "allowUnsafeEvalBlockedByCSP": false });
        let result = self.call("Runtime.evaluate", params)?;
        if result["exceptionDetails"].is_null() {
            return Ok(result["result"]["value"].clone());
        }
        bail!("{expression}: {}", result["exceptionDetails"]["exception"]["description"])
    }

    fn use_mouse(&mut self, actions: &[MouseAction]) -> Result<()> {
        for action in actions {
            let kind = match *action {
                MouseAction::Move(x, y) => {
                    self.mouse = (x, y);
                    "mouseMoved"
                }
                MouseAction::Press => "mousePressed",
                MouseAction::Release => "mouseReleased",
            };
            let (x, y) = self.mouse;
            let params = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", params)?;
        }
        Ok(())
    }

    fn turn_wheel(&mut self, x: f64, y: f64) -> Result<()> {
        let turn = json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -120 });
        self.call("Input.dispatchMouseEvent", turn).map(drop)
    }

    fn press_key(&mut self, key: &str) -> Result<()> {
        let (code, text) = match (NamedKey::from_name(key), key) {
            (Some(named), "Enter") => (named.code, "\r"),
            (Some(named), _) => (named.code, ""),
            (None, _) => (u32::from(key.as_bytes()[0].to_ascii_uppercase()), key),
        };
        for kind in ["keyDown", "keyUp"] {
            let params = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code, "text": text });
            self.call("Input.dispatchKeyEvent", params)?;
        }
        Ok(())
    }

    fn type_text(&mut self, text: &str) -> Result<()> {
        self.call("Input.insertText", json!({ "text": text })).map(drop)
    }

    fn choose_file(&mut self, name: &str, text: &str) -> Result<()> {
        let file = self.profile.join(name);
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        while self.file_input.is_none() {
            let event = self.next()?;
            self.note_event(&event)?;
        }
        let input = self.file_input.take();
        self.call("DOM.setFileInputFiles", json!({ "files": [file], "backendNodeId": input })).map(drop)
    }

    fn set_colour_scheme(&mut self, scheme: &str) -> Result<bool> {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] })).map(|_| true)
    }

    fn log(&self) -> &PageLog {
        &self.log
    }
}

impl Drop for Chromium {
    /// Ends the browser, also after an error.
    fn drop(&mut self) {
        self.session = None;
        if self.call("Browser.close", json!({})).is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
