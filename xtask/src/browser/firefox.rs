// SPDX-License-Identifier: GPL-2.0-or-later
//! A headless Firefox, driven with WebDriver BiDi through a web socket.

use super::driver::{Browser, MouseAction, NamedKey, PageLog, TIMEOUT};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::channel;
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

/// Names of the program.
pub(super) const NAMES: [&str; 2] = ["firefox-esr", "firefox"];
/// Line that the browser writes before the address of its socket.
const LISTENING: &str = "WebDriver BiDi listening on ws://";
const EVENTS: [&str; 3] = ["log.entryAdded", "network.beforeRequestSent", "input.fileDialogOpened"];

/// Firefox with one page.
pub(super) struct Firefox {
    child: Child,
    socket: WebSocket<TcpStream>,
    /// Context of the page.
    context: Value,
    last_id: u64,
    /// Element of the page that has asked for a file. Without a screen its first dialog stays open, and no second one is reported.
    file_input: Option<Value>,
    profile: PathBuf,
    log: PageLog,
}

impl Firefox {
    /// Starts the browser, with a directory for its profile.
    pub(super) fn start(program: &Path, profile: &Path) -> Result<Self> {
        std::fs::create_dir_all(profile).with_context(|| profile.display().to_string())?;
        // Saved files go to the profile, not to those of the user, and no list of them takes the focus.
        let preferences = [
            ("browser.download.folderList", json!(2)),
            ("browser.download.dir", json!(profile)),
            ("browser.download.alwaysOpenPanel", json!(false)),
        ];
        let preferences: String =
            preferences.iter().map(|(name, value)| format!("user_pref(\"{name}\", {value});\n")).collect();
        std::fs::write(profile.join("user.js"), preferences)?;
        let mut command = Command::new(program);
        command.args(["--headless", "--no-remote", "--remote-debugging-port", "0", "--profile"]).arg(profile);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| program.display().to_string())?;
        let socket = match connect(child.stderr.take().expect("piped")) {
            Ok(socket) => socket,
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error.context("firefox"));
            }
        };
        let (context, profile, log) = (Value::Null, profile.to_owned(), PageLog::default());
        let mut browser = Self { child, socket, context, last_id: 0, file_input: None, profile, log };
        // Dialogs for files are reported and not shown.
        let capabilities = json!({ "alwaysMatch": { "unhandledPromptBehavior": { "file": "dismiss" } } });
        browser.call("session.new", json!({ "capabilities": capabilities }))?;
        browser.call("session.subscribe", json!({ "events": EVENTS }))?;
        // In the first tab the address bar has the focus: keys reach the page, but press no buttons.
        browser.context = browser.call("browsingContext.create", json!({ "type": "tab" }))?["context"].clone();
        browser.call("browsingContext.activate", json!({ "context": browser.context }))?;
        Ok(browser)
    }

    fn next(&mut self) -> Result<Value> {
        loop {
            if let Message::Text(text) = self.socket.read().context("the browser does not answer")? {
                return Ok(serde_json::from_str(&text)?);
            }
        }
    }

    /// Calls a method and returns its result.
    fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last_id += 1;
        let message = json!({ "id": self.last_id, "method": method, "params": params });
        self.socket
            .send(Message::text(message.to_string()))
            .with_context(|| format!("{method}: the browser has gone"))?;
        loop {
            let mut message = self.next().with_context(|| method.to_owned())?;
            if message["id"] != json!(self.last_id) {
                self.note_event(&message);
            } else if message["type"] == "success" {
                return Ok(message["result"].take());
            } else {
                bail!("{method}: {}", message["message"]);
            }
        }
    }

    fn note_event(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str() {
            Some("log.entryAdded") => self.log.console.push(params.to_string()),
            Some("input.fileDialogOpened") => self.file_input = Some(params["element"].clone()),
            Some("network.beforeRequestSent") => {
                self.log.requests.push(params["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            _ => {}
        }
    }

    /// Performs actions of one input device.
    fn perform(&mut self, mut device: Value, actions: Vec<Value>) -> Result<()> {
        device["id"] = device["type"].clone();
        device["actions"] = json!(actions);
        self.call("input.performActions", json!({ "context": self.context, "actions": [device] })).map(drop)
    }
}

impl Browser for Firefox {
    fn name(&self) -> &'static str {
        "Firefox"
    }

    /// A phone is a narrow window: Firefox has no other emulation.
    fn open(&mut self, page: &Path, (width, height): (u32, u32), _: bool) -> Result<()> {
        let viewport = json!({ "width": width, "height": height });
        let viewport = json!({ "context": self.context, "viewport": viewport, "devicePixelRatio": 1.0 });
        self.call("browsingContext.setViewport", viewport)?;
        let blank = json!({ "context": self.context, "url": "about:blank", "wait": "complete" });
        self.call("browsingContext.navigate", blank)?;
        self.log = PageLog::new(page);
        self.file_input = None;
        let navigation = json!({ "context": self.context, "url": self.log.url, "wait": "complete" });
        self.call("browsingContext.navigate", navigation).map(drop)
    }

    fn value(&mut self, expression: &str) -> Result<Value> {
        let code = format!("(async () => JSON.stringify(await ({expression})))()");
        let params = json!({ "expression": code, "target": { "context": self.context }, "awaitPromise": true });
        let result = self.call("script.evaluate", params)?;
        match (&result["type"], result["result"]["value"].as_str()) {
            (kind, Some(text)) if kind == "success" => Ok(serde_json::from_str(text)?),
            (kind, None) if kind == "success" => Ok(Value::Null),
            _ => bail!("{expression}: {}", result["exceptionDetails"]["text"]),
        }
    }

    fn use_mouse(&mut self, actions: &[MouseAction]) -> Result<()> {
        let action = |action: &MouseAction| match *action {
            MouseAction::Move(x, y) => json!({ "type": "pointerMove", "x": x.round() as i64, "y": y.round() as i64 }),
            MouseAction::Press => json!({ "type": "pointerDown", "button": 0 }),
            MouseAction::Release => json!({ "type": "pointerUp", "button": 0 }),
        };
        let mouse = json!({ "type": "pointer", "parameters": { "pointerType": "mouse" } });
        self.perform(mouse, actions.iter().map(action).collect())
    }

    fn turn_wheel(&mut self, x: f64, y: f64) -> Result<()> {
        let turn =
            json!({ "type": "scroll", "x": x.round() as i64, "y": y.round() as i64, "deltaX": 0, "deltaY": -120 });
        self.perform(json!({ "type": "wheel" }), vec![turn])
    }

    fn press_key(&mut self, key: &str) -> Result<()> {
        self.type_text(&NamedKey::from_name(key).map_or_else(|| key.to_owned(), |key| key.character.to_string()))
    }

    fn type_text(&mut self, text: &str) -> Result<()> {
        let enter = NamedKey::from_name("Enter").expect("a named key").character;
        let presses = text.chars().map(|letter| if letter == '\n' { enter } else { letter });
        let actions = presses.flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })));
        self.perform(json!({ "type": "key" }), actions.collect())
    }

    fn choose_file(&mut self, name: &str, text: &str) -> Result<()> {
        let file = self.profile.join(name);
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        while self.file_input.is_none() {
            let event = self.next()?;
            self.note_event(&event);
        }
        let files = json!({ "context": self.context, "element": self.file_input, "files": [file] });
        self.call("input.setFiles", files).map(drop)
    }

    /// Firefox has the colours of its system, which are light ones without a screen.
    fn set_colour_scheme(&mut self, scheme: &str) -> Result<bool> {
        Ok(scheme == "light")
    }

    fn log(&self) -> &PageLog {
        &self.log
    }
}

impl Drop for Firefox {
    /// Ends the browser, also after an error.
    fn drop(&mut self) {
        if self.call("browser.close", json!({})).is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Connects to the socket whose address the browser writes to its standard error.
fn connect(stderr: ChildStderr) -> Result<WebSocket<TcpStream>> {
    let (sender, address) = channel();
    // The pipe is read to its end, or the browser would wait for room in it.
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if let Some(address) = line.strip_prefix(LISTENING) {
                let _ = sender.send(address.to_owned());
            }
        }
    });
    let address = address.recv_timeout(TIMEOUT).context("the browser does not listen")?;
    let mut stream = TcpStream::connect(&address).with_context(|| address.clone())?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_nodelay(true)?;
    // The client's part of the opening handshake of RFC 6455, with the key of its example.
    write!(
        stream,
        "GET /session HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )?;
    let mut response = Vec::new();
    while !response.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        response.extend(byte);
    }
    let response = String::from_utf8_lossy(&response);
    ensure!(response.starts_with("HTTP/1.1 101"), "the browser rejects the connection: {response}");
    Ok(WebSocket::from_raw_socket(stream, Role::Client, None))
}
