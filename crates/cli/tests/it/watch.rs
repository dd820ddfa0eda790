// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `fairlab run --watch` on a pseudo terminal, and without a terminal.
#![cfg(target_os = "linux")]

use crate::common::{complaint, fairlab, json_of, program};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SCENARIO: &str = "scenarios/eight-cpus.scn";

#[test]
fn without_a_terminal_it_is_refused_with_a_way_out() {
    let text = complaint("no terminal", &fairlab(&["run", SCENARIO, "--watch"]));
    assert!(text.contains("needs a terminal") && text.contains("omit --watch"), "{text}");
}

/// Program on a pseudo terminal of 80 columns and 24 lines.
struct TerminalSession {
    child: Child,
    keys: File,
    /// Second descriptor of the terminal, so that it exists until the end of the test.
    terminal: File,
    /// Modes of the terminal before the program started.
    modes: LocalModes,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl TerminalSession {
    fn new(args: &[&str]) -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are pseudo terminals");
        grantpt(&keys).and_then(|()| unlockpt(&keys)).expect("it can be opened");
        let name = ptsname(&keys, Vec::new()).expect("it has a name").into_string().expect("which is text");
        let terminal = OpenOptions::new().read(true).write(true).open(name).expect("it can be opened");
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).expect("it has a size");
        // The program has not started, so it has not changed the modes.
        let modes = tcgetattr(&terminal).expect("it is a terminal").local_modes;
        let end = || Stdio::from(terminal.try_clone().expect("there is room for a file"));
        let mut command = program();
        command.args(args).env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().expect("the program starts");
        let keys = File::from(keys);
        let mut from = keys.try_clone().expect("there is room for a file");
        let shown: Arc<Mutex<Vec<u8>>> = Arc::default();
        let into = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Some(nr) = from.read(&mut bytes).ok().filter(|nr| *nr > 0) {
                into.lock().expect("no thread panics").extend_from_slice(&bytes[..nr]);
            }
        });
        Self { child, keys, terminal, modes, shown }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().expect("no thread panics")).into_owned()
    }

    /// Waits until `words` have been written after position `behind` of the output.
    fn wait_for(&self, words: &str, behind: usize) -> usize {
        let begun = Instant::now();
        loop {
            let text = self.text();
            if let Some(place) = text.get(behind..).and_then(|text| text.find(words)) {
                return behind + place;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "`{words}` does not come: {text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys can be pressed");
    }
}

#[test]
fn a_session_steps_asks_and_ends_with_the_page_on_a_terminal_as_it_was() {
    let mut session = TerminalSession::new(&["run", SCENARIO, "--watch"]);
    let before = session.modes;
    session.wait_for("paused", 0);
    session.press("nw");
    session.wait_for("why?", 0);
    session.press("w++++++++++++++++++++ ");
    session.wait_for("END", 0);
    assert_ne!(tcgetattr(&session.terminal).expect("it is a terminal").local_modes, before, "keys come one by one");
    session.press("q");
    let status = session.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0));
    let digest = json_of(&["run", SCENARIO, "--json"])["digest"].as_str().expect("it has one").to_owned();
    let left = session.wait_for("\u{1b}[?1049l", 0);
    session.wait_for(&digest, left);
    assert_eq!(tcgetattr(&session.terminal).expect("it is a terminal").local_modes, before);
}

#[test]
fn who_leaves_early_gets_what_was_reached() {
    let mut session = TerminalSession::new(&["run", SCENARIO, "--watch", "--for", "100s"]);
    session.wait_for("paused", 0);
    session.press("sq");
    assert_eq!(session.child.wait().expect("it ends").code(), Some(0));
    let left = session.wait_for("\u{1b}[?1049l", 0);
    session.wait_for("stopped", left);
}
