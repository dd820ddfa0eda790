// SPDX-License-Identifier: GPL-2.0-or-later
//! Evaluates the counts of lines for the changes of a patch.

use super::changes::ChangedFile;
use super::statements::{LinePart, SourceFile};
use super::{ChangeKind, Coverage, CoverageLine, LineCounts, NotCompiled};
use std::collections::{BTreeMap, BTreeSet};

/// Changed unit that became code: a statement, a macro, or the location of removed lines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Statement(String, usize),
    Removed(String, u32),
    Macro(String),
}

/// Returns the coverage of changed files. `read` returns the text of a file of the patched tree.
pub(super) fn coverage(
    changed: &[ChangedFile],
    counts: &LineCounts,
    read: impl Fn(&str) -> Option<String>,
) -> Coverage {
    let sources = changed.iter().map(|file| (file.name.clone(), SourceFile::parse(&file.text))).collect();
    let mut evaluation = Evaluation { counts, sources, units: BTreeMap::new(), not_compiled: Vec::new() };
    let mut macros = BTreeMap::new();
    for file in changed {
        evaluation.add_lines(file, &mut macros);
        evaluation.add_removed(file);
    }
    if !macros.is_empty() {
        evaluation.read_sources(read);
    }
    for (name, line) in macros {
        evaluation.add_macro(name, line);
    }
    let Evaluation { units, mut not_compiled, .. } = evaluation;
    let mut missed: Vec<CoverageLine> =
        units.values().filter(|(_, runs)| *runs == 0).map(|(line, _)| line.clone()).collect();
    missed.sort();
    not_compiled.sort();
    Coverage { statements: units.len(), missed, not_compiled }
}

struct Evaluation<'a> {
    counts: &'a LineCounts,
    sources: BTreeMap<String, SourceFile>,
    /// First changed line of each unit, and its number of runs.
    units: BTreeMap<Unit, (CoverageLine, u64)>,
    not_compiled: Vec<CoverageLine>,
}

impl Evaluation<'_> {
    /// Returns the number of runs of a statement; `None` if it did not become code.
    fn runs(&self, file: &str, index: usize) -> Option<u64> {
        self.sources[file].runs(index, self.counts.get(file)?)
    }

    fn reject(&mut self, line: CoverageLine, why: NotCompiled) {
        self.not_compiled.push(CoverageLine { why: Some(why), ..line });
    }

    /// Adds the statements on added lines, and lists the macros on these.
    fn add_lines(&mut self, file: &ChangedFile, macros: &mut BTreeMap<String, CoverageLine>) {
        let texts: Vec<&str> = file.text.lines().collect();
        for &number in &file.added {
            let text = texts.get(number as usize - 1).map_or("", |text| text.trim());
            let line = changed_line(file, number, ChangeKind::Added, text);
            match self.sources[&file.name].part(number) {
                LinePart::Statements(indices) => self.add_statements(file, &indices, line),
                LinePart::Macro(name) => {
                    macros.entry(name).or_insert(line);
                }
                LinePart::Comment if text.is_empty() => {}
                LinePart::Comment => self.reject(line, NotCompiled::Comment),
                LinePart::Directive => self.reject(line, NotCompiled::Preprocessor),
                LinePart::Declaration => self.reject(line, NotCompiled::Declaration),
            }
        }
    }

    fn add_statements(&mut self, file: &ChangedFile, indices: &[usize], line: CoverageLine) {
        let mut has_code = false;
        for &index in indices {
            let Some(runs) = self.runs(&file.name, index) else { continue };
            has_code = true;
            let function = self.sources[&file.name].statements[index].function.clone();
            let unit = Unit::Statement(file.name.clone(), index);
            self.units.entry(unit).or_insert_with(|| (CoverageLine { function, ..line.clone() }, runs));
        }
        if !has_code {
            let function = indices.first().map(|index| self.sources[&file.name].statements[*index].function.clone());
            self.reject(CoverageLine { function: function.unwrap_or_default(), ..line }, NotCompiled::NoCode);
        }
    }

    /// Adds the locations of removed lines, each with the runs of the statements around it.
    fn add_removed(&mut self, file: &ChangedFile) {
        for (number, text) in file.removed.iter().filter(|(_, text)| !text.trim().is_empty()) {
            let line = changed_line(file, *number, ChangeKind::Removed, text.trim());
            // Without its neighbours, a line of a comment can only be recognised by its beginning.
            if ["*", "/*", "//"].iter().any(|begin| text.trim().starts_with(begin)) {
                self.reject(line, NotCompiled::Comment);
                continue;
            }
            if is_declaration(text) {
                self.reject(line, NotCompiled::Declaration);
                continue;
            }
            let around = self.sources[&file.name].around(*number);
            let Some(&first) = around.first() else {
                self.reject(line, NotCompiled::Removed);
                continue;
            };
            let function = self.sources[&file.name].statements[first].function.clone();
            let line = CoverageLine { function, ..line };
            match around.iter().filter_map(|index| self.runs(&file.name, *index)).max() {
                Some(runs) => {
                    self.units.entry(Unit::Removed(file.name.clone(), *number)).or_insert((line, runs));
                }
                None => self.reject(line, NotCompiled::NoCode),
            }
        }
    }

    /// Reads the other files that became code.
    fn read_sources(&mut self, read: impl Fn(&str) -> Option<String>) {
        for name in self.counts.keys() {
            if !self.sources.contains_key(name)
                && let Some(text) = read(name)
            {
                self.sources.insert(name.clone(), SourceFile::parse(&text));
            }
        }
    }

    /// Adds a macro, with the runs of the statements that use it, in any file and also through other macros.
    fn add_macro(&mut self, name: String, line: CoverageLine) {
        let mut names = BTreeSet::from([name.clone()]);
        loop {
            let before = names.len();
            self.sources.values().for_each(|source| source.add_macros_with(&mut names));
            if names.len() == before {
                break;
            }
        }
        let users = self.sources.iter().flat_map(|(file, source)| source.users(&names).map(move |index| (file, index)));
        let compiled = users.filter_map(|(file, index)| Some((self.runs(file, index)?, file, index)));
        match compiled.max_by_key(|(runs, ..)| *runs) {
            Some((runs, file, index)) => {
                let function = self.sources[file].statements[index].function.clone();
                self.units.insert(Unit::Macro(name), (CoverageLine { function, ..line }, runs));
            }
            None => self.reject(line, NotCompiled::UnusedMacro),
        }
    }
}

/// Whether a line that was removed looks like a declaration without code: names, and no operator or call.
fn is_declaration(text: &str) -> bool {
    let code = text.trim().trim_end_matches(';').trim_end();
    let has_only_names = code.chars().all(|letter| letter.is_alphanumeric() || "_ \t*,[]".contains(letter));
    let keywords = ["return", "goto", "break", "continue", "else", "do"];
    let first = code.split_whitespace().next().unwrap_or_default();
    has_only_names && code.split_whitespace().nth(1).is_some() && !keywords.contains(&first)
}

fn changed_line(file: &ChangedFile, line: u32, change: ChangeKind, text: &str) -> CoverageLine {
    CoverageLine { file: file.name.clone(), line, change, function: String::new(), text: text.to_owned(), why: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
#define LIMIT 5
/* a comment */
static int most = 3;
int f(int a)
{
\tint b;

\tif (a > LIMIT &&
\t    a != 7)
\t\treturn g(a,
\t\t         1);
\treturn 2;
}
";

    /// Returns the coverage of a change, given the runs of lines that became code.
    fn coverage_of(added: &[u32], removed: &[(u32, &str)], runs: &[(u32, u64)]) -> Coverage {
        let removed = removed.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
        let file = ChangedFile { name: "x.c".to_owned(), text: TEXT.to_owned(), added: added.to_vec(), removed };
        let counts = LineCounts::from([("x.c".to_owned(), runs.iter().copied().collect())]);
        coverage(&[file], &counts, |_| None)
    }

    const RUNS: [(u32, u64); 4] = [(4, 9), (8, 9), (10, 0), (12, 9)];

    fn missed(coverage: &Coverage) -> Vec<(u32, &str)> {
        coverage.missed.iter().map(|line| (line.line, line.text.as_str())).collect()
    }

    #[test]
    fn a_continuation_line_has_the_runs_of_its_statement() {
        let found = coverage_of(&[9], &[], &RUNS);
        assert_eq!((found.statements, found.missed.len(), found.not_compiled.len()), (1, 0, 0));
        let found = coverage_of(&[10, 11], &[], &RUNS);
        assert_eq!((found.statements, missed(&found)), (1, vec![(10, "return g(a,")]));
        assert_eq!(found.missed[0].function, "f");
    }

    #[test]
    fn a_removed_line_has_the_runs_of_the_statements_around_it() {
        let found = coverage_of(&[], &[(12, "\tchange(a);"), (12, "\tdo_it();")], &RUNS);
        assert_eq!((found.statements, found.missed.len()), (1, 0));
        let found = coverage_of(&[], &[(12, "\tchange(a);")], &[(4, 0), (8, 0), (10, 0), (12, 0)]);
        assert_eq!(missed(&found), [(12, "change(a);")]);
        assert_eq!((found.missed[0].change, found.missed[0].function.as_str()), (ChangeKind::Removed, "f"));
        let found = coverage_of(&[], &[(4, "gone(1);"), (4, "\t * why"), (12, "\tstruct rq *rq;")], &RUNS);
        let why: Vec<Option<NotCompiled>> = found.not_compiled.iter().map(|line| line.why).collect();
        assert_eq!(why, [NotCompiled::Comment, NotCompiled::Removed, NotCompiled::Declaration].map(Some));
    }

    #[test]
    fn a_macro_has_the_runs_of_its_uses() {
        let found = coverage_of(&[1], &[], &RUNS);
        assert_eq!((found.statements, found.missed.len(), found.not_compiled.len()), (1, 0, 0));
        let found = coverage_of(&[1], &[], &[(4, 9)]);
        assert_eq!(found.not_compiled[0].why, Some(NotCompiled::UnusedMacro));
    }

    #[test]
    fn lines_without_code_are_reported_with_the_reason() {
        let found = coverage_of(&[2, 3, 6, 7], &[], &RUNS);
        let why: Vec<(u32, Option<NotCompiled>)> =
            found.not_compiled.iter().map(|line| (line.line, line.why)).collect();
        let expected = [(2, NotCompiled::Comment), (3, NotCompiled::Declaration), (6, NotCompiled::NoCode)];
        assert_eq!((found.statements, why), (0, expected.map(|(line, why)| (line, Some(why))).to_vec()));
    }
}
