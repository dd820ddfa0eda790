// SPDX-License-Identifier: GPL-2.0-or-later
//! Files of callgrind, written without compression of names and positions.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

/// Function of the program, as compiled.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CompiledFunction {
    /// Name without suffixes of the compiler.
    pub(super) name: String,
    /// Source file, if it is known.
    pub(super) file: String,
    /// Line of its first cost in that file; 0 if it has none.
    pub(super) line: u32,
}

/// Instructions of one source line within one compiled function.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CostLine {
    /// Index of the function.
    pub(super) function: usize,
    /// File of the line, which differs from the function's if another function is inlined.
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) count: u64,
}

/// All instructions of a run.
#[derive(Debug, Default)]
pub(super) struct Profile {
    pub(super) functions: Vec<CompiledFunction>,
    /// Instructions of the functions themselves, without those that they call.
    pub(super) lines: Vec<CostLine>,
    /// Instructions of calls, with all that they call in turn, by the indices of caller and callee.
    pub(super) calls: BTreeMap<(usize, usize), u64>,
    /// Misses of the first-level instruction cache, if caches were simulated.
    pub(super) instruction_misses: Option<u64>,
}

/// Event of callgrind: a miss of the first-level instruction cache.
const INSTRUCTION_MISS: &str = "I1mr";

impl Profile {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let mut profile = Self::default();
        let mut indices = HashMap::new();
        let (mut file, mut home) = (String::new(), String::new());
        let (mut function, mut callee, mut is_call, mut whole) = (0, 0, false, None);
        let mut events: Vec<&str> = Vec::new();
        for line in text.lines() {
            if let Some((key, value)) = line.split_once('=') {
                match key {
                    "fl" => (file, home) = (value.to_owned(), value.to_owned()),
                    "fi" | "fe" => value.clone_into(&mut file),
                    "fn" => {
                        file.clone_from(&home);
                        function = profile.index_of(&mut indices, value);
                        profile.functions[function].file.clone_from(&home);
                    }
                    "cfn" => callee = profile.index_of(&mut indices, value),
                    "calls" => is_call = true,
                    _ => {}
                }
            } else if line.starts_with(|first: char| first.is_ascii_digit()) {
                let mut numbers = line.split(' ');
                let line = numbers.next().unwrap_or_default().parse()?;
                let count = numbers.next().context("a line has a position and a count")?.parse()?;
                // The line after `calls` has the costs of the called function.
                if std::mem::take(&mut is_call) {
                    *profile.calls.entry((function, callee)).or_default() += count;
                    continue;
                }
                let compiled = &mut profile.functions[function];
                if compiled.line == 0 && compiled.file == file {
                    compiled.line = line;
                }
                profile.lines.push(CostLine { function, file: file.clone(), line, count });
            } else if let Some(names) = line.strip_prefix("events: ") {
                events = names.split(' ').collect();
            } else if let Some(counts) = line.strip_prefix("summary: ") {
                let counts: Vec<u64> = counts.split(' ').map(str::parse).collect::<Result<_, _>>()?;
                whole = counts.first().copied();
                let misses = events.iter().position(|name| *name == INSTRUCTION_MISS);
                profile.instruction_misses = misses.and_then(|place| counts.get(place).copied());
            }
        }
        let sum: u64 = profile.lines.iter().map(|line| line.count).sum();
        if whole != Some(sum) {
            bail!("the lines have {sum} instructions, and the run has {whole:?}");
        }
        Ok(profile)
    }

    fn index_of(&mut self, indices: &mut HashMap<String, usize>, name: &str) -> usize {
        let name = plain_name(name);
        *indices.entry(name.to_owned()).or_insert_with(|| {
            self.functions.push(CompiledFunction { name: name.to_owned(), ..Default::default() });
            self.functions.len() - 1
        })
    }
}

/// Removes what compilers and callgrind add to a name: parts, clones, recursion levels.
fn plain_name(name: &str) -> &str {
    let end = name.find(['.', '\'']).filter(|_| !name.contains("::"));
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inlined_lines_have_their_own_file_and_calls_count_apart() {
        let text = "version: 1\npositions: line\nevents: Ir\nsummary: 19\n\nob=/bin/a\nfl=a.c\nfn=one.part.0\n10 4\nfi=b.h\n7 5\nfe=a.c\n\
                    cfi=c.c\ncfn=two\ncalls=3 1\n11 9\n12 1\n\nfl=c.c\nfn=two\n1 9\n";
        let profile = Profile::parse(text).expect("it is valid");
        let lines: Vec<_> =
            profile.lines.iter().map(|one| (one.function, one.file.as_str(), one.line, one.count)).collect();
        assert_eq!(lines, [(0, "a.c", 10, 4), (0, "b.h", 7, 5), (0, "a.c", 12, 1), (1, "c.c", 1, 9)]);
        assert_eq!(profile.calls, BTreeMap::from([((0, 1), 9)]));
        let functions: Vec<_> =
            profile.functions.iter().map(|one| (one.name.as_str(), one.file.as_str(), one.line)).collect();
        assert_eq!(functions, [("one", "a.c", 10), ("two", "c.c", 1)]);
        assert_eq!(profile.instruction_misses, None);
        let text = "events: Ir Dr I1mr\nsummary: 9 3 2\nfl=a\nfn=b\n1 4\n2 5 3 2\n";
        let profile = Profile::parse(text).expect("it is valid");
        assert_eq!((profile.lines.len(), profile.instruction_misses), (2, Some(2)));
        assert!(Profile::parse("summary: 8\nfl=a\nfn=b\n1 9\n").is_err());
    }
}
