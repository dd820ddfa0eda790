// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).expect("the directory is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("it can be read").file_name().into_string().expect("a plain name")).collect();
    names.sort();
    names
}

fn write_run(path: &Path, files: &[&str]) {
    let directory = RunDirectory::create(path).expect("the directory can be made");
    let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
    for file in &files {
        directory.write(file, b"x").expect("it can be written");
    }
    let manifest = serde_json::json!({ "schema": "manifest/2", "result": { "files": files } });
    directory.write_json(MANIFEST, &manifest).expect("it can be written");
    directory.finish().expect("it gets its name");
}

#[test]
fn a_directory_that_is_not_finished_was_never_there() {
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let path = place.path().join("run");
    let directory = RunDirectory::create(&path).expect("it can be made");
    directory.write("summary.json", b"{}").expect("it can be written");
    assert!(!path.exists());
    drop(directory);
    assert_eq!(names(place.path()), [""; 0]);
}

#[test]
fn a_second_run_leaves_nothing_of_the_first() {
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let path = place.path().join("run");
    write_run(&path, &["trace.jsonl"]);
    write_run(&path, &[]);
    assert_eq!(names(&path), ["inputs", "manifest.json"]);
    assert_eq!(names(place.path()), ["run"]);
}

#[test]
fn what_is_no_run_is_left_alone() {
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let path = place.path().join("run");
    write_run(&path, &[]);
    fs::write(path.join("notes.txt"), "mine").expect("it can be written");
    let error = RunDirectory::create(&path).expect_err("notes of a user would be lost");
    assert!(matches!(&error, RequestError::Input(message) if message.text.contains("notes.txt")), "{error}");
    let error = RunDirectory::create(place.path()).expect_err("it holds a directory");
    assert!(error.to_string().contains("holds no run"), "{error}");
}

#[test]
fn what_a_killed_program_has_left_is_removed_by_the_next_one() {
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let abandoned = place.path().join(".run.part-1");
    fs::create_dir_all(abandoned.join("inputs")).expect("it can be made");
    fs::write(abandoned.join(LOCK), "").expect("it can be written");
    let begun = place.path().join(".run.part-2");
    fs::create_dir(&begun).expect("it can be made");
    let path = place.path().join("run");
    let first = RunDirectory::create(&path).expect("it can be made");
    assert!(!abandoned.exists() && !begun.exists());
    // The directory of a live process is kept.
    remove_abandoned(place.path(), OsStr::new("run"));
    assert!(first.path().exists());
}
