// SPDX-License-Identifier: GPL-2.0-or-later
//! Every `fairlab` command in the code blocks of README and the book has a valid command line.
//!
//! `tests/it/tutorials.rs` executes them; this test also covers those that need a kernel tree or the machine at hand. Commands and
//! options in code spans of these pages and of module heads exist, too.

use crate::args::Args;
use clap::{Arg, Command, CommandFactory as _, Parser};
use std::path::{Path, PathBuf};

/// Parts of commands that cannot be parsed, each with its reason.
const EXCEPTIONS: &[(&str, &str)] = &[("--arm SIS_PACK", "a feature that the guide adds")];
/// Fewer commands than this mean that the test does not find them.
const MIN_COMMANDS: usize = 100;

#[test]
fn every_command_in_readme_and_book_is_parsed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    collect_files(&root.join("docs/book/src"), "md", &mut pages);
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

/// Options in code spans that are those of other programs.
const FOREIGN_OPTIONS: &[(&str, &str)] = &[("record", "of `cargo xtask instructions` and `paths`")];

/// Returns the code spans of Markdown text outside code blocks.
fn code_spans(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            prose.push_str(line);
            // A span may continue in the following line, but not in the following paragraph.
            prose.push_str(if line.trim().is_empty() { "``" } else { " " });
        }
    }
    prose.split('`').skip(1).step_by(2).map(|span| span.trim().to_owned()).filter(|span| !span.is_empty()).collect()
}

/// Returns the text of the head of a Rust module.
fn module_head(source: &str) -> String {
    source.lines().filter_map(|line| line.strip_prefix("//!")).map(|line| format!("{}\n", line.trim())).collect()
}

/// Returns an error if a code span names a command or an option that `fairlab` does not have.
fn span_error(fairlab: &Command, span: &str) -> Option<String> {
    let is_option = |word: &str| word.starts_with("--") && word.len() > 2 && word.as_bytes()[2].is_ascii_lowercase();
    let name_of = |word: &str| word[2..].split(['=', '[', '`', ',']).next().unwrap_or_default().to_owned();
    let mut words = span.split_whitespace().peekable();
    let mut command = fairlab;
    let is_command = words.next_if(|word| *word == "fairlab").is_some();
    if is_command {
        while let Some(inner) = words.peek().and_then(|word| command.find_subcommand(word)) {
            command = inner;
            words.next();
        }
        let unknown = words.peek().filter(|word| word.starts_with(|letter: char| letter.is_ascii_lowercase()));
        if let Some(word) = unknown.filter(|_| command.get_positionals().next().is_none()) {
            return Some(format!("`{}` has no command {word}", command.get_name()));
        }
    } else if !words.peek().is_some_and(|word| is_option(word)) {
        return None;
    }
    let mut options = words.filter(|word| is_option(word)).map(name_of);
    let unknown = options.find(|name| {
        let is_known = if is_command { has_option(command, name) } else { any_has_option(fairlab, name) };
        !is_known && FOREIGN_OPTIONS.iter().all(|(foreign, _)| foreign != name)
    })?;
    Some(format!("there is no option --{unknown}"))
}

fn has_option(command: &Command, name: &str) -> bool {
    let names = |option: &Arg| option.get_long_and_visible_aliases().is_some_and(|names| names.contains(&name));
    command.get_arguments().any(names)
}

fn any_has_option(command: &Command, name: &str) -> bool {
    has_option(command, name) || command.get_subcommands().any(|inner| any_has_option(inner, name))
}

#[test]
fn commands_and_options_in_code_spans_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md"].map(|name| root.join(name)).into();
    collect_files(&root.join("docs/book/src"), "md", &mut pages);
    let mut sources = Vec::new();
    collect_files(&root.join("crates"), "rs", &mut sources);
    let mut fairlab = Args::command();
    fairlab.build();
    let mut wrong = Vec::new();
    for file in pages.iter().chain(&sources) {
        let text = std::fs::read_to_string(file).expect("the file can be read");
        let text = if file.extension().is_some_and(|ending| ending == "rs") { module_head(&text) } else { text };
        for span in code_spans(&text) {
            wrong.extend(span_error(&fairlab, &span).map(|error| format!("{}: `{span}`: {error}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_span_with_an_unknown_command_or_option_is_wrong() {
    let mut fairlab = Args::command();
    fairlab.build();
    for (span, expected) in [
        ("fairlab run --for 5s", None),
        ("fairlab bench netperf -t TCP_RR --starts shell", None),
        ("--set NAME=VALUE", None),
        ("cargo build --release", None),
        ("fairlab runn a.scn", Some("no command runn")),
        ("fairlab run --form 5s", Some("--form")),
        ("--hold-stil", Some("--hold-stil")),
    ] {
        let error = span_error(&fairlab, span);
        assert_eq!(error.is_some(), expected.is_some(), "{span}: {error:?}");
        assert!(expected.is_none_or(|expected| error.expect("it is one").contains(expected)), "{span}");
    }
    assert_eq!(code_spans("a `b\nc` d\n```sh\n`no`\n```\n`e`\n"), ["b c", "e"]);
}

/// Adds the files with this ending below a directory.
fn collect_files(directory: &Path, ending: &str, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("the directory can be read") {
        let path = entry.expect("the directory can be read").path();
        if path.is_dir() {
            collect_files(&path, ending, files);
        } else if path.extension().is_some_and(|of_file| of_file == ending) {
            files.push(path);
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
