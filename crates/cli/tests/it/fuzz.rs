// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `fairlab fuzz`: findings, their files, and their repetition.

use crate::common::{complaint, fairlab, items, json_of, stdout_of};
use std::path::Path;

const SEARCH: [&str; 11] = [
    "fuzz",
    "--property",
    "idle-while-waiting,unfair-share",
    "--idle",
    "30ms",
    "--without",
    "quota,fifo,wakers",
    "--budget",
    "10m",
    "--cases",
    "96",
];

fn names(found: &serde_json::Value) -> Vec<String> {
    items(&found["findings"]).iter().map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
}

fn refused(args: &[&str]) -> String {
    complaint(&args.join(" "), &fairlab(args))
}

#[test]
fn findings_are_the_same_on_any_number_of_cores_and_can_be_run_again() {
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let kept = place.path().join("found");
    let dir = kept.display().to_string();
    let found = json_of(&[&SEARCH[..], &["--jobs", "1", "--json", "-o", &dir]].concat());
    let again = json_of(&[&SEARCH[..], &["--jobs", "2", "--json"]].concat());
    assert_eq!(found["findings"][0]["scenario"], again["findings"][0]["scenario"]);
    assert_eq!((names(&found), &found["cases"]), (names(&again), &again["cases"]));
    assert!(!names(&found).is_empty(), "{found:#}");
    for name in names(&found) {
        let has = |file: &str| kept.join(&name).join(file).is_file();
        assert!(has("case.scn") && has("finding.json") && has("run.sh"), "{name}");
        stdout_of(&["run", &kept.join(&name).join("case.scn").display().to_string()]);
    }
    let json = fairlab(&["fuzz", "--again", &dir, "--json"]);
    assert_eq!(json.status.code(), Some(3), "they still break their property");
    let rows: serde_json::Value = serde_json::from_slice(&json.stdout).expect("it is JSON");
    assert!(items(&rows).iter().all(|row| row["then"] == row["now"]), "by as much: {rows:#}");
    // A later search in the same directory does not change existing findings.
    let file = kept.join(&names(&found)[0]).join("finding.json");
    let before = std::fs::read(&file).expect("it is there");
    stdout_of(&[&SEARCH[..], &["--findings", "1", "-o", &dir]].concat());
    assert_eq!(std::fs::read(&file).expect("it is there"), before);
}

#[test]
fn a_regression_of_one_arm_is_found_with_its_metric() {
    let args = [
        "fuzz",
        "--from",
        "unchanged",
        "--to",
        "NO_WAKEUP_PREEMPTION",
        "--by",
        "50",
        "--cases",
        "24",
        "--findings",
        "1",
    ];
    let found = json_of(&[&args[..], &["--budget", "10m", "--json"]].concat());
    let property = found["findings"][0]["property"].as_str().expect("something is worse without preemption");
    assert!(property.starts_with("worse: "), "{property}");
}

#[test]
fn what_is_wrong_names_the_way_out() {
    let empty = tempfile::tempdir().expect("there is room for temporary files");
    let path = empty.path().display().to_string();
    assert!(refused(&["fuzz", "--again", &path]).contains("has no findings"));
    let folder = empty.path().join("one");
    std::fs::create_dir(&folder).expect("there is room");
    std::fs::write(folder.join("finding.json"), "{}").expect("there is room");
    let text = refused(&["fuzz", "--again", &path]);
    assert!(text.contains(Path::new("one").join("finding.json").to_str().expect("text")), "{text}");
    assert!(refused(&["fuzz", "--without", "hog"]).contains("did you mean `hogs`"));
}

#[test]
fn a_finding_names_the_kernel_of_the_machine_on_which_it_was_found() {
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let machine = place.path().join("old.toml");
    std::fs::write(&machine, "name = \"old\"\nkernel = \"6.1\"\n[cpus]\ncount = 4\n").expect("there is room");
    let machine = machine.to_str().expect("the path is text");
    let search =
        ["fuzz", "--machine", machine, "--property", "unfair-share", "--cases", "40", "--findings", "1", "--json"];
    let output = fairlab(&search);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("the result is JSON");
    let scenario = found["findings"][0]["scenario"].as_str().unwrap_or_else(|| panic!("nothing was found: {found}"));
    assert!(scenario.lines().any(|line| line == "kernel 6.1"), "{scenario}");
}
