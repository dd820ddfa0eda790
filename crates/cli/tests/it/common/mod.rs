// SPDX-License-Identifier: GPL-2.0-or-later
//! Functions to run the program in tests.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part of this")]

use jsonschema::Validator;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Largest size of an error message, in lines and columns: one screen.
pub const SCREEN: (usize, usize) = (24, 100);

/// Returns the project's root, where the program runs.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns a command for the program in the project's root.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairlab"));
    command.current_dir(root()).env_remove("NO_COLOR").stdin(Stdio::null());
    command
}
pub fn fairlab(args: &[&str]) -> Output {
    program().args(args).output().expect("the program starts")
}

/// Runs the program with this standard input.
pub fn fairlab_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut command = program();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // The program may end without reading all input.
    let _ = child.stdin.take().expect("it is piped").write_all(input);
    child.wait_with_output().expect("the program ends")
}

/// Returns the standard output of a successful run.
pub fn stdout_of(args: &[&str]) -> String {
    let output = fairlab(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is text")
}

/// Returns the standard output of a successful run as JSON.
pub fn json_of(args: &[&str]) -> Value {
    serde_json::from_str(&stdout_of(args)).expect("output is JSON")
}

/// Returns the error message of a rejected command: exit status 2, an empty standard output, at most one
/// screen on standard error. An error in JSON becomes text.
pub fn complaint(what: &str, output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).expect("complaints are text");
    if let Ok(error) = serde_json::from_str::<Value>(&text) {
        assert_eq!((output.status.code(), &error["status"]), (Some(2), &Value::from(2)), "{what}: {text}");
        assert!(output.stdout.is_empty() && text.lines().count() == 1, "{what}: {text}");
        let part = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        return format!("error: {} help: {}", part("text"), part("help"));
    }
    assert_eq!(output.status.code(), Some(2), "{what}: {text}");
    assert!(output.stdout.is_empty(), "{what}: wrote results");
    assert!(text.starts_with("error: "), "{what}: {text}");
    assert!(!text.contains("panicked") && !text.contains("has a bug"), "{what}: {text}");
    let (lines, columns) = SCREEN;
    assert!(text.lines().count() <= lines, "{what}: too many lines:\n{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= columns, "{what}: too long a line:\n{line}");
    }
    text
}

/// Returns all files of a directory with one of these endings, as sorted paths from the root.
pub fn files(directory: &str, endings: &[&str]) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(directory)).expect("the directory exists");
    let names = entries.map(|entry| entry.expect("the directory can be read").file_name());
    let names = names.map(|name| name.into_string().expect("file names are text"));
    let mut files: Vec<String> = names
        .filter(|name| endings.iter().any(|ending| name.ends_with(ending)))
        .map(|name| format!("{directory}/{name}"))
        .collect();
    files.sort();
    files
}

/// Returns the data of a report.
pub fn data_of(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"input\" type=\"application/json\">").expect("the page has data");
    let (data, _) = rest.split_once("</script>").expect("they end");
    serde_json::from_str(data).expect("they are JSON")
}

/// Returns an integer of a JSON value.
pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Returns the items of a JSON list.
pub fn items(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

/// Returns the sum of a key over a JSON list.
pub fn sum(list: &Value, key: &str) -> u64 {
    items(list).iter().map(|item| number(&item[key])).sum()
}

/// Returns the name of a format without its version.
pub fn name_of_form(form: &str) -> &str {
    form.split_once('/').map_or(form, |(name, _)| name)
}

/// Returns a validator for a format that rejects keys without a definition in the schema.
pub fn validator(form: &str) -> Validator {
    let mut schema = json_of(&["schema", form]);
    let mut open = BTreeSet::new();
    let mut nr_open = None;
    // A definition may be known to be open only after it was visited.
    while nr_open.replace(open.len()) != Some(open.len()) {
        collect_open(&schema, "", &mut open);
    }
    close(&mut schema, "", &open);
    jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("the schema of {form}: {error}"))
}

/// Keywords whose subschemas describe the object itself, as those of flattened records do.
const COMPOSITIONS: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// Collects the pointers of schemas that describe a part of an object, so that the object has more keys than they
/// define.
fn collect_open(schema: &Value, pointer: &str, open: &mut BTreeSet<String>) {
    match schema {
        Value::Object(keys) => {
            let is_part = keys.contains_key("properties") || open.contains(pointer);
            for composition in COMPOSITIONS.iter().filter(|_| is_part) {
                let members = keys.get(*composition).and_then(Value::as_array).map_or(0, Vec::len);
                open.extend((0..members).map(|index| format!("{pointer}/{composition}/{index}")));
            }
            if let Some(target) = keys.get("$ref").and_then(Value::as_str).filter(|_| is_part) {
                open.insert(target.trim_start_matches('#').to_owned());
            }
            for (key, value) in keys {
                collect_open(value, &format!("{pointer}/{key}"), open);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_open(item, &format!("{pointer}/{index}"), open);
            }
        }
        _ => {}
    }
}

/// Forbids unknown keys in all objects with defined keys, other than the open ones.
fn close(schema: &mut Value, pointer: &str, open: &BTreeSet<String>) {
    match schema {
        Value::Object(keys) => {
            for (key, value) in keys.iter_mut() {
                close(value, &format!("{pointer}/{key}"), open);
            }
            let is_closed = keys.contains_key("properties") && !keys.contains_key("additionalProperties");
            if is_closed && !open.contains(pointer) {
                keys.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                close(item, &format!("{pointer}/{index}"), open);
            }
        }
        _ => {}
    }
}

/// Panics with the errors if a value does not match a format.
pub fn assert_valid(validator: &Validator, value: &Value, what: &str) {
    let wrong: Vec<String> =
        validator.iter_errors(value).take(5).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{what}: {}", wrong.join("\n"));
}
