// SPDX-License-Identifier: GPL-2.0-or-later
//! Executes the commands of the book's guides and compares their output with the pages.
//!
//! Rules for a page in `guides/` or `start/`:
//!
//! 1. A code block after `<!-- file: NAME -->` is written to the file NAME.
//! 2. In a `console` block, a shell runs each line `$ fairlab ...`. The lines up to the next command are its standard output.
//! 3. All commands of a page share one temporary directory, which also has `scenarios`.
//! 4. Other commands, and blocks of other kinds, are not run.
//!
//! `FAIRLAB_BLESS=1 cargo test -p fairlab --test tutorials` writes the current output into the pages.

mod common;

use common::{files, root};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Directories of pages whose commands are executed.
const DIRECTORIES: [&str; 2] = ["docs/book/src/guides", "docs/book/src/start"];

/// Fewest pages with commands. A lower number means that pages have moved, or that their blocks are not recognised.
const MIN_PAGES: usize = 8;

/// Runs a shell command in a directory, with `fairlab` in the path, and returns its standard output.
///
/// Panics if the command fails or prints an error.
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

/// Returns a page with the current output of its commands.
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
    let mut is_fairlab = false;
    for line in body.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            is_fairlab = command.starts_with("fairlab ");
            text.push_str(&format!("{line}\n"));
            if is_fairlab {
                text.push_str(&output_of(command, directory));
            }
        } else if !is_fairlab {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

/// Returns whether a page has a `console` block with a command of fairlab.
fn has_commands(page: &str) -> bool {
    page.split("```console\n").skip(1).any(|rest| {
        let block = rest.split("```").next().unwrap_or_default();
        block.lines().any(|line| line.starts_with("$ fairlab "))
    })
}

#[test]
fn pages_show_the_output_of_their_commands() {
    let mut nr_pages = 0;
    for name in DIRECTORIES.iter().flat_map(|directory| files(directory, &[".md"])) {
        let path = root().join(&name);
        let page = fs::read_to_string(&path).expect("the page can be read");
        if !has_commands(&page) {
            continue;
        }
        nr_pages += 1;
        let current = played(&page);
        if std::env::var_os("FAIRLAB_BLESS").is_some() {
            fs::write(path, current).expect("the page can be written");
        } else {
            assert_eq!(page, current, "{name}: FAIRLAB_BLESS=1 writes the current output");
        }
    }
    assert!(nr_pages >= MIN_PAGES, "only {nr_pages} pages in {DIRECTORIES:?} have commands of fairlab");
}
