// SPDX-License-Identifier: GPL-2.0-or-later
//! Malformed machine files: the head of each file in `tests/data/bad-machines` names the expected place and
//! message.

use fairlab_board::{load, parse};
use fairlab_workload::message::Message;
use std::fs;
use std::path::{Path, PathBuf};

fn bad_machines() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/bad-machines");
    let entries = fs::read_dir(folder).expect("the folder is part of the project");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    paths
}

/// Returns the text behind `# key ` in a file's head.
fn expected<'a>(text: &'a str, key: &str) -> &'a str {
    let prefix = format!("# {key} ");
    let line = text.lines().take_while(|line| line.starts_with('#')).find_map(|line| line.strip_prefix(&prefix));
    line.unwrap_or_else(|| panic!("the head has no `{key}`"))
}

fn mismatch(error: &Message, text: &str) -> Option<String> {
    let line = error.place.as_ref().and_then(|place| place.line);
    let is_right = line.map(|line| line.to_string()).as_deref() == Some(expected(text, "line"))
        && error.text.starts_with(expected(text, "place").trim_matches('-'))
        && error.text.contains(expected(text, "message"))
        && error.help.as_ref().is_some_and(|help| help.contains(expected(text, "help")));
    (!is_right).then(|| error.to_string())
}

#[test]
fn each_malformed_file_is_refused_with_line_place_message_and_help() {
    let paths = bad_machines();
    assert!(paths.len() >= 20, "only {} malformed files", paths.len());
    let mut complaints = Vec::new();
    for path in &paths {
        let text = fs::read_to_string(path).expect("readable");
        let file = path.file_name().expect("a file").to_string_lossy();
        match parse(&file, &text) {
            Ok(_) => complaints.push(format!("{file} is accepted")),
            Err(error) => complaints.extend(mismatch(&error, &text)),
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn an_error_names_file_line_place_and_remedy() {
    let text = "name = \"x\"\n[cpus]\ncount = 8\n[[frequency_domain]]\ncpus = \"all\"\nkhz = [2000, 1000]\n";
    let error = parse("machines/x.toml", text).expect_err("the frequencies descend");
    assert_eq!(
        error.to_string(),
        "machines/x.toml:6: frequency_domain 1: khz 2: 1000 kHz does not lie above the one before\n\
         help: list frequencies from the lowest to the highest, each once"
    );
}

#[test]
fn an_unknown_machine_is_answered_with_names_like_it() {
    let error = load("hikey90").expect_err("there is no such machine");
    let text = error.to_string();
    assert!(text.contains("no machine `hikey90`") && text.contains("did you mean `hikey960`"), "{text}");
    let text = load("cray").expect_err("there is no such machine").to_string();
    assert!(text.contains("machines: hikey") && text.contains(" uniprocessor"), "{text}");
}

#[test]
fn a_missing_file_is_named() {
    let error = load("no/such/machine.toml").expect_err("there is no such file");
    assert!(error.to_string().starts_with("no/such/machine.toml: cannot be read: "), "{error}");
}

#[test]
fn a_file_that_is_not_text_is_refused() {
    let path = std::env::temp_dir().join(format!("fairlab-not-text-{}.toml", std::process::id()));
    fs::write(&path, [0xff, 0xfe, 0x00]).expect("the temporary folder is writable");
    let error = load(path.to_str().expect("a plain path")).expect_err("not UTF-8");
    fs::remove_file(&path).expect("it was written above");
    assert!(error.text.starts_with("cannot be read: "), "{error}");
}

#[test]
fn a_byte_order_mark_and_windows_lines_are_fine() {
    let machine = parse("x.toml", "\u{feff}name = \"x\"\r\n[cpus]\r\ncount = 2\r\n").expect("valid");
    assert_eq!(machine.nr_cpus(), 2);
}
