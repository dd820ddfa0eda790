// SPDX-License-Identifier: GPL-2.0-or-later
//! The book's tutorials: what they show is what their commands write.
//!
//! A block behind `<!-- file: NAME -->` is a file. In blocks of `console` a line `$ fairlab ...` is run by a shell in a directory that has
//! the files so far, and what follows up to the next command is all that it writes to standard output. Commands of others are not run.
//! `FAIRLAB_BLESS=1 cargo test -p fairlab --test tutorials` writes what comes out today.

mod common;

use common::{files, root};
use std::fs;
use std::path::Path;
use std::process::Command;

const PAGES: &str = "docs/book/src";

/// What a command writes, in a directory, with `fairlab` on the path.
fn output_of(command: &str, directory: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_fairlab")).parent().expect("a program lies in a directory");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(directory).env("PATH", path).env("NO_COLOR", "1");
    let output = shell.output().expect("there is a shell");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !complaint.contains("error:"), "{command}: {complaint}");
    String::from_utf8(output.stdout).expect("output is text")
}

/// The page with what its commands write today.
fn played(page: &str) -> String {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    std::os::unix::fs::symlink(root().join("scenarios"), directory.path().join("scenarios")).expect("a link");
    let mut text = String::new();
    let (mut file, mut lines) = (None, page.lines().peekable());
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        if let Some(name) = line.strip_prefix("<!-- file: ") {
            file = name.strip_suffix(" -->").map(str::to_owned);
        }
        if !line.starts_with("```") || line == "```" {
            continue;
        }
        let is_console = line == "```console";
        let mut body = String::new();
        for line in lines.by_ref().take_while(|line| *line != "```") {
            body.push_str(line);
            body.push('\n');
        }
        if is_console {
            body = played_console(&body, directory.path());
        } else if let Some(name) = file.take() {
            fs::write(directory.path().join(name), &body).expect("the file can be written");
        }
        text.push_str(&body);
        text.push_str("```\n");
    }
    text
}

fn played_console(body: &str, directory: &Path) -> String {
    let mut text = String::new();
    let mut is_ours = false;
    for line in body.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            is_ours = command.starts_with("fairlab ");
            text.push_str(&format!("{line}\n"));
            if is_ours {
                text.push_str(&output_of(command, directory));
            }
        } else if !is_ours {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

#[test]
fn tutorials_show_what_their_commands_write() {
    let pages: Vec<String> = files(PAGES, &[".md"]).into_iter().filter(|page| page.contains("/tutorial-")).collect();
    assert_eq!(pages.len(), 4);
    for name in pages {
        let path = root().join(&name);
        let page = fs::read_to_string(&path).expect("the page can be read");
        let now = played(&page);
        assert!(now.contains("$ fairlab "), "{name} shows nothing");
        if std::env::var_os("FAIRLAB_BLESS").is_some() {
            fs::write(path, now).expect("the page can be written");
        } else {
            assert_eq!(page, now, "{name}: FAIRLAB_BLESS=1 writes what comes out today");
        }
    }
}
