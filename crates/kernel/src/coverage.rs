// SPDX-License-Identifier: GPL-2.0-or-later
//! Which lines of a patch runs have reached: a test that has not been there has tested nothing.
//!
//! 1. The patched kernel is compiled once more with gcc's counters; the engine is the same otherwise.
//! 2. Each worker adds what it has counted to files beside the objects when it ends.
//! 3. gcov tells how often each line that became code ran. Asked is about the lines that the patched tree has and the other has not.

use crate::error::{KernelError, at};
use crate::{overlay, tree};
use serde::{Deserialize, Serialize};
use similar::{ChangeTag, TextDiff};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the compiler is told beyond the tree's own flags.
pub(crate) const FLAGS: &str = "-fprofile-arcs -ftest-coverage";

/// A line of a patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct CoverageLine {
    /// The file, as the tree names it.
    pub file: String,
    /// Its number there.
    pub line: u32,
    /// The function that it is in, or became a part of.
    pub function: String,
    /// What it says.
    pub text: String,
}

/// What runs have reached of a patch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Coverage {
    /// Lines of the patch that became code.
    pub lines: usize,
    /// Those that no run has reached.
    pub missed: Vec<CoverageLine>,
}

/// New lines by file: those that the second tree has and the first has not.
type NewLines = BTreeMap<String, BTreeMap<u32, String>>;

/// Products of a covered build, and the two trees that are compared.
#[derive(Debug)]
pub struct CoveredLines {
    build: PathBuf,
    new: NewLines,
    /// Held as long as lines are counted: counters are files of the build.
    _alone: fs::File,
}

impl CoveredLines {
    /// Of a build whose objects count, with what is new in its overlay against a tree. What was counted before is forgotten.
    ///
    /// # Errors
    /// If files cannot be read.
    pub fn begin(build: &Path, base: &Path, patched: &Path, alone: fs::File) -> Result<Self, KernelError> {
        for file in counted_files(build)? {
            fs::remove_file(&file).map_err(at(&file))?;
        }
        Ok(Self { build: build.to_owned(), new: new_lines(base, patched)?, _alone: alone })
    }

    /// What the runs since then have reached.
    ///
    /// # Errors
    /// If gcov cannot be asked.
    pub fn end(&self) -> Result<Coverage, KernelError> {
        let files = counted_files(&self.build)?;
        let mut told = BTreeMap::new();
        if !files.is_empty() {
            let failed = at(Path::new("gcov"));
            let mut gcov = Command::new("gcov");
            let run = gcov.args(["--stdout", "--json-format"]).args(&files).current_dir(&self.build).output();
            let run = run.map_err(failed)?;
            read(&String::from_utf8_lossy(&run.stdout), &mut told)?;
        }
        Ok(coverage(&self.new, &told))
    }
}

/// How often lines ran, and in which functions they are, by file and number.
type CoverageReport = BTreeMap<String, BTreeMap<u32, (u64, String)>>;

/// What gcov writes: an object for each of its files.
#[derive(Deserialize)]
struct CoveragePage {
    files: Vec<CoverageFile>,
}

#[derive(Deserialize)]
struct CoverageFile {
    file: String,
    lines: Vec<LineCount>,
}

#[derive(Deserialize)]
struct LineCount {
    line_number: u32,
    count: u64,
    #[serde(default)]
    function_name: String,
}

/// A line of a header is in several objects: it was reached if it was in one of them.
fn read(text: &str, told: &mut CoverageReport) -> Result<(), KernelError> {
    for page in serde_json::Deserializer::from_str(text).into_iter::<CoveragePage>() {
        let page = page.map_err(|error| KernelError::Build { step: "gcov".to_owned(), message: error.to_string() })?;
        for file in page.files {
            let lines = told.entry(as_in_tree(&file.file)).or_default();
            for LineCount { line_number, count, function_name } in file.lines {
                let line = lines.entry(line_number).or_insert_with(|| (0, function_name));
                line.0 += count;
            }
        }
    }
    Ok(())
}

/// Compilers name files from the folder of the build.
fn as_in_tree(path: &str) -> String {
    path.rsplit_once("overlay/").map_or(path, |(_, name)| name).to_owned()
}

fn coverage(new: &NewLines, told: &CoverageReport) -> Coverage {
    let mut found = Coverage::default();
    for (file, lines) in new {
        let Some(of_file) = told.get(file) else { continue };
        for (&line, text) in lines {
            let Some((count, function)) = of_file.get(&line) else { continue };
            found.lines += 1;
            if *count == 0 {
                let (file, text) = (file.clone(), text.trim().to_owned());
                found.missed.push(CoverageLine { file, line, function: function.clone(), text });
            }
        }
    }
    found
}

/// Files with counters, as the compiler names them.
fn counted_files(build: &Path) -> Result<Vec<PathBuf>, KernelError> {
    let (mut found, mut folders) = (Vec::new(), vec![build.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            let entry = entry.map_err(at(&folder))?;
            let path = entry.path();
            if entry.file_type().map_err(at(&path))?.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "gcda") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// What an overlay has and a tree has not, in the scheduler and what is compiled with it. One header has another name in the overlay.
fn new_lines(base: &Path, patched: &Path) -> Result<NewLines, KernelError> {
    let names: BTreeSet<String> = tree::files(patched)?.into_iter().collect();
    let mut new = NewLines::new();
    for name in names.iter().filter(|name| name.ends_with(".c") || name.ends_with(".h")) {
        let (ours, theirs) = overlay::WRAPPED;
        let (old, now) = (base.join(if name == theirs { ours } else { name }), patched.join(name));
        if name == ours || fs::read_link(&now).is_ok_and(|link| link == old) {
            continue;
        }
        // A file that the base does not have is new as a whole. Not every file is text.
        let text = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let (old, now) = (text(&old).unwrap_or_default(), text(&now).unwrap_or_default());
        if old != now {
            new.insert(name.clone(), inserted(&old, &now));
        }
    }
    Ok(new)
}

fn inserted(old: &str, now: &str) -> BTreeMap<u32, String> {
    let diff = TextDiff::from_lines(old, now);
    let inserted = diff.iter_all_changes().filter(|change| change.tag() == ChangeTag::Insert);
    inserted
        .filter_map(|change| Some((u32::try_from(change.new_index()? + 1).ok()?, change.value().to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "int f(int a)\n{\n\treturn a;\n}\n";
    const NOW: &str = "int f(int a)\n{\n\tif (a)\n\t\treturn 7;\n\treturn a;\n}\n";

    fn report(count: u64) -> CoverageReport {
        let page = format!(
            "{{\"files\": [{{\"file\": \"../overlay/kernel/sched/x.c\", \"lines\": [\
             {{\"line_number\": 3, \"count\": 9, \"function_name\": \"f\"}}, {{\"line_number\": 4, \"count\": {count}, \"function_name\": \"f\"}}]}}]}}\n"
        );
        let mut told = CoverageReport::new();
        read(&page, &mut told).expect("it is what gcov writes");
        read(&page, &mut told).expect("another object has it too");
        told
    }

    fn of(count: u64) -> Coverage {
        let new = NewLines::from([("kernel/sched/x.c".to_owned(), inserted(OLD, NOW))]);
        coverage(&new, &report(count))
    }

    #[test]
    fn lines_of_a_patch_that_no_run_has_reached_are_named() {
        let missed = CoverageLine {
            file: "kernel/sched/x.c".to_owned(),
            line: 4,
            function: "f".to_owned(),
            text: "return 7;".to_owned(),
        };
        assert_eq!(of(0), Coverage { lines: 2, missed: vec![missed] });
        assert_eq!(of(1), Coverage { lines: 2, missed: Vec::new() });
    }

    #[test]
    fn what_gcov_does_not_write_is_an_error() {
        assert!(read("{\"files\": 7}", &mut CoverageReport::new()).is_err());
    }
}
