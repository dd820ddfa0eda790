// SPDX-License-Identifier: GPL-2.0-or-later
//! Line coverage of a patch: which of its lines the runs have reached. A test that reaches none of them has
//! tested nothing.
//!
//! 1. The patched kernel is compiled once more with gcc's counters; the engine is otherwise unchanged.
//! 2. When a worker ends, it adds its counts to files beside the objects.
//! 3. gcov reports the number of runs of each line that became code. Only lines that the patched tree has and
//!    the base tree has not are evaluated.

use crate::error::{KernelError, io_error_at};
use crate::{overlay, process, tree};
use serde::{Deserialize, Serialize};
use similar::{ChangeTag, TextDiff};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Compiler flags of a covered build, in addition to the tree's own.
pub(crate) const FLAGS: &str = "-fprofile-arcs -ftest-coverage";

/// Line of a patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct CoverageLine {
    /// File, with its path in the tree.
    pub file: String,
    /// Line number in the patched file, from 1.
    pub line: u32,
    /// Function that contains the line, or into which it was inlined.
    pub function: String,
    /// Source text of the line.
    pub text: String,
}

/// Lines of a patch that runs have reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Coverage {
    /// Number of lines of the patch that became code.
    pub lines: usize,
    /// Lines of the patch that no run has reached.
    pub missed: Vec<CoverageLine>,
}

/// New lines by file: those that the patched tree has and the base tree has not.
type NewLines = BTreeMap<String, BTreeMap<u32, String>>;

/// Products of a covered build, and the new lines of the patch.
#[derive(Debug)]
pub struct CoverageRun {
    build: PathBuf,
    new: NewLines,
    /// Held while lines are counted: the counters are files of the build.
    _lock: fs::File,
}

impl CoverageRun {
    /// Starts counting for a covered build, and discards earlier counts. The new lines are those of the
    /// overlay against `base`.
    ///
    /// # Errors
    /// If files cannot be read.
    pub fn begin(build: &Path, base: &Path, patched: &Path, alone: fs::File) -> Result<Self, KernelError> {
        for file in counted_files(build)? {
            fs::remove_file(&file).map_err(io_error_at(&file))?;
        }
        Ok(Self { build: build.to_owned(), new: new_lines(base, patched)?, _lock: alone })
    }

    /// Returns the coverage by the runs since [`Self::begin`].
    ///
    /// # Errors
    /// If gcov cannot be run or its output cannot be read.
    pub fn end(&self) -> Result<Coverage, KernelError> {
        let files = counted_files(&self.build)?;
        let mut counts = BTreeMap::new();
        if !files.is_empty() {
            let mut gcov = process::tool("gcov");
            gcov.args(["--stdout", "--json-format"]).args(&files).current_dir(&self.build);
            let run = process::output(&mut gcov)?;
            read(&String::from_utf8_lossy(&run.stdout), &mut counts)?;
        }
        Ok(coverage(&self.new, &counts))
    }
}

/// Number of runs and function of each line, by file and line number.
type LineCounts = BTreeMap<String, BTreeMap<u32, (u64, String)>>;

/// Output of gcov: one object for each input file.
#[derive(Deserialize)]
struct GcovOutput {
    files: Vec<GcovFile>,
}

#[derive(Deserialize)]
struct GcovFile {
    file: String,
    lines: Vec<GcovLine>,
}

#[derive(Deserialize)]
struct GcovLine {
    line_number: u32,
    count: u64,
    #[serde(default)]
    function_name: String,
}

/// Adds the counts in gcov's output. A line of a header occurs in several objects, so counts are summed.
fn read(text: &str, counts: &mut LineCounts) -> Result<(), KernelError> {
    for page in serde_json::Deserializer::from_str(text).into_iter::<GcovOutput>() {
        let page = page.map_err(|error| KernelError::Build { step: "gcov".to_owned(), message: error.to_string() })?;
        for file in page.files {
            let lines = counts.entry(tree_path(&file.file)).or_default();
            for GcovLine { line_number, count, function_name } in file.lines {
                let line = lines.entry(line_number).or_insert_with(|| (0, function_name));
                line.0 += count;
            }
        }
    }
    Ok(())
}

/// Returns the path in the tree. Compilers name files from the folder of the build.
fn tree_path(path: &str) -> String {
    path.rsplit_once("overlay/").map_or(path, |(_, name)| name).to_owned()
}

fn coverage(new: &NewLines, counts: &LineCounts) -> Coverage {
    let mut found = Coverage::default();
    for (file, lines) in new {
        let Some(of_file) = counts.get(file) else { continue };
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

/// Returns the counter files of a build (`.gcda`).
fn counted_files(build: &Path) -> Result<Vec<PathBuf>, KernelError> {
    let (mut found, mut folders) = (Vec::new(), vec![build.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(io_error_at(&folder))? {
            let entry = entry.map_err(io_error_at(&folder))?;
            let path = entry.path();
            if entry.file_type().map_err(io_error_at(&path))?.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "gcda") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the lines that an overlay has and a tree has not, in all parts of an engine. One header has
/// another name in the overlay.
fn new_lines(base: &Path, patched: &Path) -> Result<NewLines, KernelError> {
    let names: BTreeSet<String> = tree::files(patched)?.into_iter().collect();
    let mut new = NewLines::new();
    for name in names.iter().filter(|name| name.ends_with(".c") || name.ends_with(".h")) {
        let (wrapper, wrapped) = overlay::WRAPPED;
        let (old, now) = (base.join(if name == wrapped { wrapper } else { name }), patched.join(name));
        if name == wrapper || fs::read_link(&now).is_ok_and(|link| link == old) {
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

    fn report(count: u64) -> LineCounts {
        let page = format!(
            "{{\"files\": [{{\"file\": \"../overlay/kernel/sched/x.c\", \"lines\": [\
             {{\"line_number\": 3, \"count\": 9, \"function_name\": \"f\"}}, {{\"line_number\": 4, \"count\": {count}, \"function_name\": \"f\"}}]}}]}}\n"
        );
        let mut counts = LineCounts::new();
        read(&page, &mut counts).expect("it is what gcov writes");
        read(&page, &mut counts).expect("another object has it too");
        counts
    }

    fn coverage_of(count: u64) -> Coverage {
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
        assert_eq!(coverage_of(0), Coverage { lines: 2, missed: vec![missed] });
        assert_eq!(coverage_of(1), Coverage { lines: 2, missed: Vec::new() });
    }

    #[test]
    fn what_gcov_does_not_write_is_an_error() {
        assert!(read("{\"files\": 7}", &mut LineCounts::new()).is_err());
    }
}
