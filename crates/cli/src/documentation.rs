// SPDX-License-Identifier: GPL-2.0-or-later
//! Every `fairlab` command in the code blocks of README and the book has a valid command line.
//!
//! `tests/it/tutorials.rs` executes them; this test also covers those that need a kernel tree or the machine at hand.

use crate::args::Args;
use clap::Parser;
use std::path::{Path, PathBuf};

/// Parts of commands that cannot be parsed, each with its reason.
const EXCEPTIONS: &[(&str, &str)] = &[("--arm SIS_PACK", "a feature that the guide adds")];
/// Fewer commands than this mean that the test does not find them.
const MIN_COMMANDS: usize = 100;

#[test]
fn every_command_in_readme_and_book_is_parsed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    collect_pages(&root.join("docs/book/src"), &mut pages);
    let (mut nr_commands, mut wrong) = (0, Vec::new());
    for page in &pages {
        let text = std::fs::read_to_string(page).expect("the page can be read");
        for command in commands(&text) {
            nr_commands += 1;
            if EXCEPTIONS.iter().any(|(part, _)| command.contains(part)) {
                continue;
            }
            let words = shlex::split(&command).unwrap_or_else(|| panic!("{command}: quotes do not match"));
            if let Err(error) = Args::try_parse_from(words)
                && error.use_stderr()
            {
                let error = error.to_string();
                let first = error.lines().next().unwrap_or_default();
                wrong.push(format!("{}: {command}\n    {first}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {nr_commands} commands:\n{}", wrong.len(), wrong.join("\n"));
    assert!(nr_commands >= MIN_COMMANDS, "only {nr_commands} commands were found");
}

fn collect_pages(directory: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("the directory can be read") {
        let path = entry.expect("the directory can be read").path();
        if path.is_dir() {
            collect_pages(&path, pages);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            pages.push(path);
        }
    }
}

/// Returns the commands of the code blocks of a page, without pipes, redirections and comments.
fn commands(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut is_code = false;
    let mut open = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if !is_code {
            continue;
        }
        let line = line.trim();
        if let Some(start) = line.strip_suffix('\\') {
            open.push_str(start);
            continue;
        }
        let line = std::mem::take(&mut open) + line;
        let line = line.strip_prefix("$ ").unwrap_or(&line);
        let line = line
            .strip_prefix("cargo run --release -- ")
            .map_or_else(|| line.to_owned(), |rest| format!("fairlab {rest}"));
        if line.starts_with("fairlab ") {
            commands.push(without_shell(&line));
        }
    }
    commands
}

/// Cuts a line off before what the shell does with it; quoted text stays.
fn without_shell(line: &str) -> String {
    let mut quote = None;
    let mut previous = ' ';
    for (index, letter) in line.char_indices() {
        match quote {
            Some(mark) if letter == mark => quote = None,
            Some(_) => {}
            None if letter == '\'' || letter == '"' => quote = Some(letter),
            None if previous == ' ' && "|>#&;<".contains(letter) => return line[..index].trim().to_owned(),
            None if previous == ' ' && line[index..].starts_with("2>") => return line[..index].trim().to_owned(),
            None if letter == ';' => return line[..index].trim().to_owned(),
            None => {}
        }
        previous = letter;
    }
    line.to_owned()
}

#[test]
fn what_the_shell_does_is_no_part_of_a_command() {
    let page = "```sh\n$ fairlab run a.scn --set 'x=1' | head -3   # why\nfairlab features; fairlab tunables\nfairlab run b \\\n  --json > x\n```\nfairlab no code\n";
    assert_eq!(commands(page), ["fairlab run a.scn --set 'x=1'", "fairlab features", "fairlab run b --json"]);
}
