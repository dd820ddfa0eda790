// SPDX-License-Identifier: GPL-2.0-or-later
//! Statements of a C file with their lines: the units whose runs are counted.
//!
//! A compiler counts a statement on one of its lines. A changed line therefore belongs to all statements that have
//! tokens on it, whichever line is counted. The head of a compound statement (`if (...)`, `for (...)`) is a statement
//! without the statements in its body, and so is the head of a function.

use crate::c::{CSource, is_word};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

/// Statement of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// Lines of its tokens, from 1.
    pub(super) lines: RangeInclusive<u32>,
    /// Block that contains it: statements of a block have the same number.
    pub(super) block: usize,
    /// Function that contains it.
    pub(super) function: String,
    /// Identifiers in it.
    words: BTreeSet<String>,
}

/// Macro of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Macro {
    name: String,
    lines: RangeInclusive<u32>,
    words: BTreeSet<String>,
}

/// Part of a file to which a line belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LinePart {
    /// Statements, by their positions in the file's list.
    Statements(Vec<usize>),
    /// Definition of a macro.
    Macro(String),
    /// Other lines for the preprocessor.
    Directive,
    /// Comments and empty lines.
    Comment,
    /// Declarations and data outside functions.
    Declaration,
}

/// Statements and macros of a C file.
#[derive(Clone, Debug, Default)]
pub(super) struct SourceFile {
    pub(super) statements: Vec<Statement>,
    /// Lines of the brackets around each block, by its number; outer blocks first.
    blocks: Vec<(usize, RangeInclusive<u32>)>,
    macros: Vec<Macro>,
    /// Lines that the preprocessor reads.
    directives: BTreeSet<u32>,
    /// Lines with tokens.
    with_tokens: BTreeSet<u32>,
}

impl SourceFile {
    pub(super) fn parse(text: &str) -> Self {
        let code = CSource::from_text(text);
        let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let line_at = |at: usize| u32::try_from(starts.partition_point(|start| *start <= at)).unwrap_or(u32::MAX);
        let mut file = Self::default();
        for token in &code.0 {
            file.with_tokens.extend(line_at(token.at.start)..=line_at(token.at.end - 1));
        }
        file.read_directives(text);
        let mut reader = StatementReader { code: &code, nr_blocks: 0, blocks: Vec::new(), found: Vec::new() };
        for (name, body) in code.functions() {
            let head = reader.new_block();
            reader.found.push((head_of(&code, body.start)..body.start, head));
            reader.read_block(body.clone());
            // The closing bracket is where the function returns.
            let tail = reader.new_block();
            reader.found.push((body.end..body.end + 1, tail));
            for (tokens, block) in reader.found.drain(..) {
                let Some([first, .., last] | [first @ last]) = code.0.get(tokens.clone()) else { continue };
                let words = code.0[tokens].iter().map(|token| token.text).filter(|text| is_word(text));
                file.statements.push(Statement {
                    lines: line_at(first.at.start)..=line_at(last.at.end - 1),
                    block,
                    function: name.to_owned(),
                    words: words.map(str::to_owned).collect(),
                });
            }
            for (tokens, block) in reader.blocks.drain(..) {
                if let (Some(open), Some(close)) = (code.0.get(tokens.start - 1), code.0.get(tokens.end)) {
                    file.blocks.push((block, line_at(open.at.start)..=line_at(close.at.start)));
                }
            }
        }
        file
    }

    /// Reads preprocessor lines, which are no tokens.
    fn read_directives(&mut self, text: &str) {
        let mut lines = (1_u32..).zip(text.lines());
        while let Some((first, line)) = lines.next() {
            // A directive of a comment or a text would need a token before it on its line.
            if !line.trim_start().starts_with('#') || self.with_tokens.contains(&first) {
                continue;
            }
            let (mut whole, mut last) = (line.to_owned(), first);
            while whole.ends_with('\\')
                && let Some((next, line)) = lines.next()
            {
                whole = format!("{} {line}", whole.trim_end_matches('\\'));
                last = next;
            }
            self.directives.extend(first..=last);
            if let Some(definition) = whole.trim_start()[1..].trim_start().strip_prefix("define ") {
                let code = CSource::from_text(definition);
                let words = code.0.iter().map(|token| token.text).filter(|text| is_word(text)).map(str::to_owned);
                let (name, words) = (code.text(0).to_owned(), words.collect());
                self.macros.push(Macro { name, lines: first..=last, words });
            }
        }
    }

    /// Returns the part of the file to which a line belongs.
    pub(super) fn part(&self, line: u32) -> LinePart {
        if let Some(found) = self.macros.iter().find(|one| one.lines.contains(&line)) {
            return LinePart::Macro(found.name.clone());
        }
        if self.directives.contains(&line) {
            return LinePart::Directive;
        }
        if !self.with_tokens.contains(&line) {
            return LinePart::Comment;
        }
        let statements = self.statements.iter().enumerate().filter(|(_, one)| one.lines.contains(&line));
        let statements: Vec<usize> = statements.map(|(index, _)| index).collect();
        if statements.is_empty() { LinePart::Declaration } else { LinePart::Statements(statements) }
    }

    /// Returns the statements between which a line was removed, before `line`: the nearest ones of the innermost block
    /// there; in an empty block, the statement whose body it is.
    pub(super) fn around(&self, line: u32) -> Vec<usize> {
        let indexed = || self.statements.iter().enumerate();
        let inside = indexed().filter(|(_, one)| *one.lines.start() < line && *one.lines.end() >= line);
        let inside: Vec<usize> = inside.map(|(index, _)| index).collect();
        if !inside.is_empty() {
            return inside;
        }
        let is_there = |lines: &RangeInclusive<u32>| *lines.start() < line && *lines.end() >= line;
        let Some((block, _)) = self.blocks.iter().rfind(|(_, lines)| is_there(lines)) else { return Vec::new() };
        let before = indexed().rfind(|(_, one)| one.block == *block && *one.lines.end() < line);
        let after = indexed().find(|(_, one)| one.block == *block && *one.lines.start() >= line);
        let found: Vec<usize> = [before, after].into_iter().flatten().map(|(index, _)| index).collect();
        let head = || indexed().rfind(|(_, one)| *one.lines.end() < line).map(|(index, _)| index);
        if found.is_empty() { head().into_iter().collect() } else { found }
    }

    /// Returns the statements that use one of the names.
    pub(super) fn users<'a>(&'a self, names: &'a BTreeSet<String>) -> impl Iterator<Item = usize> {
        let uses = |(_, one): &(usize, &Statement)| !one.words.is_disjoint(names);
        self.statements.iter().enumerate().filter(uses).map(|(index, _)| index)
    }

    /// Adds the macros whose definitions use one of the names.
    pub(super) fn add_macros_with(&self, names: &mut BTreeSet<String>) {
        loop {
            let more = self.macros.iter().filter(|one| !one.words.is_disjoint(names)).map(|one| one.name.clone());
            let more: Vec<String> = more.filter(|name| !names.contains(name)).collect();
            if more.is_empty() {
                return;
            }
            names.extend(more);
        }
    }

    /// Returns the counts of a file's lines, summed for each statement: the largest of its lines.
    pub(super) fn runs(&self, index: usize, counts: &BTreeMap<u32, u64>) -> Option<u64> {
        counts.range(self.statements[index].lines.clone()).map(|(_, count)| *count).max()
    }
}

/// Returns the first token of the head of the function whose body begins here.
fn head_of(code: &CSource<'_>, body: usize) -> usize {
    (0..body.saturating_sub(1)).rev().find(|at| [";", "}"].contains(&code.text(*at))).map_or(0, |at| at + 1)
}

/// Reads the statements of functions.
struct StatementReader<'a> {
    code: &'a CSource<'a>,
    nr_blocks: usize,
    /// Contents of each block, with its number; outer blocks first.
    blocks: Vec<(Range<usize>, usize)>,
    /// Tokens of each statement, with the number of its block.
    found: Vec<(Range<usize>, usize)>,
}

impl StatementReader<'_> {
    fn new_block(&mut self) -> usize {
        self.nr_blocks += 1;
        self.nr_blocks
    }

    /// Reads the statements of a block, between its brackets.
    fn read_block(&mut self, within: Range<usize>) {
        let block = self.new_block();
        self.blocks.push((within.clone(), block));
        let mut at = within.start;
        while at < within.end {
            let end = self.code.statement_end(at).map_or(within.end, |end| end.clamp(at + 1, within.end));
            self.read_statement(at..end, block);
            at = end;
        }
    }

    /// Reads a statement, and those in it.
    fn read_statement(&mut self, tokens: Range<usize>, block: usize) {
        if self.code.text(tokens.start) == "{" {
            return self.read_block(tokens.start + 1..tokens.end - 1);
        }
        let bodies = self.code.statement_bodies(tokens.start).unwrap_or_default();
        let (Some(first), Some(last)) = (bodies.first(), bodies.last()) else {
            self.found.push((tokens, block));
            return;
        };
        self.found.push((tokens.start..first.start, block));
        for body in &bodies {
            let own = self.new_block();
            self.read_statement(body.clone(), own);
        }
        // The condition of a loop that ends with it.
        if last.end < tokens.end {
            self.found.push((last.end..tokens.end, block));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
#define LIMIT 5
#define TWICE(x) \\
\t((x) * LIMIT)
/* a comment */
static int most = 3;

static int f(int a,
\t     int b)
{
\tint c;

\tif (a > LIMIT &&
\t    b > 1) {
\t\tg(a,
\t\t  b);
\t\th();
\t} else
\t\treturn 1;
\tdo {
\t\ta--;
\t} while (a > 0);
\treturn TWICE(a);
}
";

    fn statements(line: u32) -> Vec<RangeInclusive<u32>> {
        let file = SourceFile::parse(TEXT);
        match file.part(line) {
            LinePart::Statements(found) => found.iter().map(|one| file.statements[*one].lines.clone()).collect(),
            other => panic!("line {line}: {other:?}"),
        }
    }

    #[test]
    fn lines_belong_to_whole_statements_and_heads_have_none_of_their_bodies() {
        assert_eq!((statements(7), statements(8)), (vec![7..=9], vec![7..=9]));
        assert_eq!(statements(10), [10..=10]);
        assert_eq!((statements(12), statements(13)), (vec![12..=13], vec![12..=13]));
        assert_eq!((statements(14), statements(15)), (vec![14..=15], vec![14..=15]));
        assert_eq!((statements(18), statements(20), statements(21)), (vec![18..=18], vec![20..=20], vec![21..=21]));
        assert_eq!(statements(22), [22..=22]);
    }

    #[test]
    fn other_lines_are_macros_directives_comments_or_declarations() {
        let file = SourceFile::parse(TEXT);
        assert_eq!((file.part(1), file.part(3)), (LinePart::Macro("LIMIT".into()), LinePart::Macro("TWICE".into())));
        assert_eq!(
            (file.part(4), file.part(5), file.part(6)),
            (LinePart::Comment, LinePart::Declaration, LinePart::Comment)
        );
        assert_eq!(SourceFile::parse("#include <a.h>\n").part(1), LinePart::Directive);
        let mut names = BTreeSet::from(["LIMIT".to_owned()]);
        file.add_macros_with(&mut names);
        assert!(names.contains("TWICE"));
        let lines: Vec<_> = file.users(&names).map(|index| file.statements[index].lines.clone()).collect();
        assert_eq!(lines, [12..=13, 22..=22]);
    }

    #[test]
    fn a_removed_line_is_between_the_statements_of_its_block() {
        let file = SourceFile::parse(TEXT);
        let around =
            |line| file.around(line).iter().map(|index| file.statements[*index].lines.clone()).collect::<Vec<_>>();
        assert_eq!(around(16), [14..=15, 16..=16]);
        assert_eq!(around(14), [14..=15], "at the beginning of a block");
        assert_eq!(around(17), [16..=16], "at its end");
        assert_eq!(around(19), [12..=13, 19..=19], "after a statement with a body");
        assert_eq!(around(15), [14..=15], "in the middle of a statement");
        assert_eq!(around(5), [] as [RangeInclusive<u32>; 0]);
        let counts = BTreeMap::from([(15, 4), (14, 2)]);
        let call = file.statements.iter().position(|one| one.lines == (14..=15)).expect("it is there");
        assert_eq!((file.runs(call, &counts), file.runs(call + 1, &counts)), (Some(4), None));
    }
}
