// SPDX-License-Identifier: GPL-2.0-or-later
//! Coverage of a patch: which of its statements the runs have reached. A test that reaches none of them has tested
//! nothing.
//!
//! 1. The patched kernel is compiled once more with gcc's counters; the engine is otherwise unchanged.
//! 2. When a worker ends, it adds its counts to files beside the objects.
//! 3. gcov reports the number of runs of each line that became code. A statement has those of its lines
//!    ([`statements`]), a macro those of the statements that use it, and a removed line those of the statements around
//!    it ([`changes`]).
//! 4. A changed line without a compiled statement is reported as not compiled, with the reason.

mod changes;
mod evaluation;
mod statements;

use crate::error::{KernelError, io_error_at};
use crate::{process, tree};
use changes::ChangedFile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Compiler flags of a covered build, in addition to the tree's own.
pub(crate) const FLAGS: &str = "-fprofile-arcs -ftest-coverage";

/// Extension of the files with a build's counts.
const COUNTER_FILES: &str = "gcda";

/// Kind of a changed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// Line that the patch adds or changes.
    Added,
    /// Line that the patch removes; it was before the line that is named.
    Removed,
}

/// Reason why a changed line is not compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotCompiled {
    /// Comment or empty line.
    Comment,
    /// Declaration or data.
    Declaration,
    /// Line for the preprocessor.
    Preprocessor,
    /// Macro that no compiled statement uses.
    UnusedMacro,
    /// Statement from which the compiler has made no code: the configuration leaves it out, or it is a declaration.
    NoCode,
    /// Line that was removed outside functions.
    Removed,
}

impl NotCompiled {
    /// Description for users.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Declaration => "declaration or data",
            Self::Preprocessor => "preprocessor line",
            Self::UnusedMacro => "macro that no compiled statement uses",
            Self::NoCode => "no code: left out by the configuration, or a declaration",
            Self::Removed => "removed outside functions",
        }
    }
}

/// Changed line of a patch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
pub struct CoverageLine {
    /// File, with its path in the tree.
    pub file: String,
    /// Line number in the patched file, from 1.
    pub line: u32,
    /// Whether the patch adds or removes it.
    pub change: ChangeKind,
    /// Function that contains the line, or uses the macro; empty outside functions.
    pub function: String,
    /// Source text of the line.
    pub text: String,
    /// Reason why it is not compiled; null for a compiled line.
    pub why: Option<NotCompiled>,
}

/// Statements of a patch that runs have reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Coverage {
    /// Number of changed statements that became code.
    pub statements: usize,
    /// First line of each changed statement that no run has reached.
    pub missed: Vec<CoverageLine>,
    /// Changed lines that are not compiled.
    pub not_compiled: Vec<CoverageLine>,
}

/// Products of a covered build, and the changes of the patch.
#[derive(Debug)]
pub struct CoverageRun {
    build: PathBuf,
    overlay: PathBuf,
    changed: Vec<ChangedFile>,
    /// Held while lines are counted: the counters are files of the build.
    _lock: fs::File,
}

impl CoverageRun {
    /// Starts counting for a covered build, and discards earlier counts. The changes are those of the overlay against
    /// `base`.
    ///
    /// # Errors
    /// If files cannot be read.
    pub fn begin(build: &Path, base: &Path, patched: &Path, alone: fs::File) -> Result<Self, KernelError> {
        for file in tree::files_with_extension(build, COUNTER_FILES)? {
            fs::remove_file(&file).map_err(io_error_at(&file))?;
        }
        let changed = changes::changed_files(base, patched)?;
        Ok(Self { build: build.to_owned(), overlay: patched.to_owned(), changed, _lock: alone })
    }

    /// Returns the coverage by the runs since [`Self::begin`].
    ///
    /// # Errors
    /// If gcov cannot be run or its output cannot be read.
    pub fn end(&self) -> Result<Coverage, KernelError> {
        let files = tree::files_with_extension(&self.build, COUNTER_FILES)?;
        let mut counts = BTreeMap::new();
        if !files.is_empty() {
            let mut gcov = process::tool("gcov");
            gcov.args(["--stdout", "--json-format"]).args(&files).current_dir(&self.build);
            let run = process::output(&mut gcov)?;
            read(&String::from_utf8_lossy(&run.stdout), &mut counts)?;
        }
        Ok(evaluation::coverage(&self.changed, &counts, |name| fs::read_to_string(self.overlay.join(name)).ok()))
    }
}

/// Number of runs of each line, by file and line number.
type LineCounts = BTreeMap<String, BTreeMap<u32, u64>>;

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
}

/// Adds the counts in gcov's output. A line of a header occurs in several objects, so counts are summed.
fn read(text: &str, counts: &mut LineCounts) -> Result<(), KernelError> {
    for page in serde_json::Deserializer::from_str(text).into_iter::<GcovOutput>() {
        let page = page.map_err(|error| KernelError::Build { step: "gcov".to_owned(), message: error.to_string() })?;
        for file in page.files {
            let lines = counts.entry(tree_path(&file.file)).or_default();
            for GcovLine { line_number, count } in file.lines {
                *lines.entry(line_number).or_default() += count;
            }
        }
    }
    Ok(())
}

/// Returns the path in the tree. Compilers name files from the folder of the build.
fn tree_path(path: &str) -> String {
    path.rsplit_once("overlay/").map_or(path, |(_, name)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_line_are_those_of_all_objects() {
        let page = "{\"files\": [{\"file\": \"../overlay/kernel/sched/x.c\", \"lines\": [\
                    {\"line_number\": 3, \"count\": 9, \"function_name\": \"f\"}, {\"line_number\": 4, \"count\": 0}]}]}\n";
        let mut counts = LineCounts::new();
        read(page, &mut counts).expect("it is what gcov writes");
        read(page, &mut counts).expect("a header is in several objects");
        assert_eq!(counts["kernel/sched/x.c"], BTreeMap::from([(3, 18), (4, 0)]));
    }
}
