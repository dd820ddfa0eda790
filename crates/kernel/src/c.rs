// SPDX-License-Identifier: GPL-2.0-or-later
//! The part of C's syntax that is needed to find a function, a statement in it, and a term of a condition:
//! tokens, brackets, and the statements that contain others.
//!
//! Comments and preprocessor lines are skipped. Macros are taken for what they look like; a macro whose name
//! contains `for_each` is a loop.

use std::ops::Range;

/// Token of C with its byte range in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: Range<usize>,
}

/// Operators of more than one character, longest first.
const OPERATORS: [&str; 22] = [
    "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=",
    "|=", "^=", "::",
];

/// Returns all tokens of a text.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let (length, is_token) = token_length(rest);
        if is_token {
            found.push(Token { text: &rest[..length], at: at..at + length });
        }
        at += length;
    }
    found
}

/// Returns the length of the first piece of a text, and whether it is a token.
fn token_length(rest: &str) -> (usize, bool) {
    let first = rest.chars().next().expect("there is a rest");
    let until = |end: &str| rest[2..].find(end).map_or(rest.len(), |found| 2 + found + end.len());
    let while_true = |is_part: fn(char) -> bool| rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    match first {
        _ if rest.starts_with("/*") => (until("*/"), false),
        _ if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), false),
        '\\' | ' ' | '\t' | '\n' | '\r' => (1, false),
        '#' => (directive_length(rest), false),
        '"' | '\'' => (quoted_length(rest, first), true),
        _ if first.is_alphanumeric() || first == '_' => (while_true(|it| it.is_alphanumeric() || it == '_'), true),
        _ => {
            let operator = OPERATORS.iter().find(|operator| rest.starts_with(**operator));
            (operator.map_or_else(|| first.len_utf8(), |operator| operator.len()), true)
        }
    }
}

/// Returns the length of a preprocessor line with its continuation lines.
fn directive_length(rest: &str) -> usize {
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        length += line.len();
        if !line.trim_end().ends_with('\\') {
            break;
        }
    }
    length
}

fn quoted_length(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if letter == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Annotations with arguments that may stand before the name of a function.
const ANNOTATIONS: [&str; 5] = ["__attribute__", "__printf", "__section", "__aligned", "__alloc_size"];

/// Whether a token is an identifier or a keyword.
pub(crate) fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Tokens of a file, for searches. Positions are indices of tokens.
#[derive(Debug)]
pub(crate) struct CSource<'a>(pub(crate) Vec<Token<'a>>);

impl<'a> CSource<'a> {
    pub(crate) fn from_text(text: &'a str) -> Self {
        Self(tokens(text))
    }

    /// Returns the token at a position, or nothing after the last one.
    pub(crate) fn text(&self, at: usize) -> &'a str {
        self.0.get(at).map_or("", |token| token.text)
    }

    /// Returns the position of the bracket that closes the one at `open`.
    fn closing_bracket(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in open..self.0.len() {
            match self.text(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the body of a function, without its braces: the first definition with that name.
    pub(crate) fn function(&self, name: &str) -> Option<Range<usize>> {
        let mut at = 0;
        while at < self.0.len() {
            if self.text(at) == name && self.text(at + 1) == "(" {
                let after = self.closing_bracket(at + 1)? + 1;
                if self.text(after) == "{" {
                    return Some(after + 1..self.closing_bracket(after)?);
                }
            }
            // Bodies of other functions only contain calls.
            at = if self.text(at) == "{" { self.closing_bracket(at)? } else { at } + 1;
        }
        None
    }

    /// Returns all functions that are defined here, by their names, with their bodies without the braces. A
    /// function that is defined in several configurations occurs several times.
    pub(crate) fn functions(&self) -> Vec<(&'a str, Range<usize>)> {
        let (mut found, mut at, mut name) = (Vec::new(), 0, None);
        while at < self.0.len() {
            let closed = || self.closing_bracket(at).unwrap_or(at);
            match self.text(at) {
                ";" | "}" | "=" => name = None,
                "(" if at > 0 && is_word(self.text(at - 1)) && !ANNOTATIONS.contains(&self.text(at - 1)) => {
                    // Annotations with arguments may also follow the parameters.
                    name = name.or_else(|| Some(self.text(at - 1)));
                    at = closed();
                }
                "(" | "[" => at = closed(),
                "{" => {
                    let end = closed();
                    found.extend(name.take().map(|name| (name, at + 1..end.max(at + 1))));
                    at = end;
                }
                _ => {}
            }
            at += 1;
        }
        found
    }

    /// Returns the members of a structure, without the braces.
    pub(crate) fn structure(&self, name: &str) -> Option<Range<usize>> {
        let is_it = |at: &usize| ["struct", name, "{"].iter().enumerate().all(|(i, word)| self.text(at + i) == *word);
        let at = (0..self.0.len()).find(is_it)?;
        Some(at + 3..self.closing_bracket(at + 2)?)
    }

    /// Returns all positions within a range at which these tokens follow each other.
    pub(crate) fn find_all(&self, within: Range<usize>, wanted: &str) -> Vec<Range<usize>> {
        let wanted = tokens(wanted);
        let ends = within.end.saturating_sub(wanted.len().max(1) - 1);
        let is_it = |at: &usize| wanted.iter().enumerate().all(|(i, token)| self.text(at + i) == token.text);
        (within.start..ends).filter(is_it).map(|at| at..at + wanted.len()).collect()
    }

    /// Returns the position after the statement that begins here.
    pub(crate) fn statement_end(&self, at: usize) -> Option<usize> {
        if let Some(body) = self.statement_bodies(at)?.last() {
            // A `do` statement has its condition behind its body.
            let extra = if self.text(at) == "do" { self.closing_bracket(body.end + 1)? + 2 - body.end } else { 0 };
            return Some(body.end + extra);
        }
        match self.text(at) {
            "{" => Some(self.closing_bracket(at)? + 1),
            "case" | "default" => Some((at..self.0.len()).find(|at| self.text(*at) == ":")? + 1),
            _ if self.text(at + 1) == ":" => Some(at + 2),
            _ => {
                let mut at = at;
                while self.text(at) != ";" {
                    at = if ["(", "[", "{"].contains(&self.text(at)) { self.closing_bracket(at)? } else { at } + 1;
                    if at >= self.0.len() {
                        return None;
                    }
                }
                Some(at + 1)
            }
        }
    }

    /// Returns the statements that a statement has as bodies. [`Self::statement`] handles those of a block.
    pub(crate) fn statement_bodies(&self, at: usize) -> Option<Vec<Range<usize>>> {
        let body = |from: usize| Some(from..self.statement_end(from)?);
        Some(match self.text(at) {
            "if" => {
                let first = body(self.closing_bracket(at + 1)? + 1)?;
                let other = if self.text(first.end) == "else" { Some(body(first.end + 1)?) } else { None };
                [Some(first), other].into_iter().flatten().collect()
            }
            "do" => vec![body(at + 1)?],
            word if (["while", "for", "switch"].contains(&word) || word.contains("for_each"))
                && self.text(at + 1) == "(" =>
            {
                vec![body(self.closing_bracket(at + 1)? + 1)?]
            }
            _ => Vec::new(),
        })
    }

    /// Returns the smallest statement around a position, within a range of statements.
    pub(crate) fn statement(&self, within: Range<usize>, place: usize) -> Option<Range<usize>> {
        let mut at = within.start;
        while at < within.end {
            let whole = at..self.statement_end(at)?;
            if whole.contains(&place) {
                let block = (self.text(at) == "{").then(|| at + 1..whole.end - 1);
                let inner = block.into_iter().chain(self.statement_bodies(at)?).find(|part| part.contains(&place));
                return match inner {
                    Some(part) => self.statement(part, place),
                    None => Some(whole),
                };
            }
            at = whole.end;
        }
        None
    }

    /// Returns the term of an `&&` or `||` chain around a position, with the operator that connects it to the
    /// others.
    pub(crate) fn term(&self, place: usize) -> Option<Range<usize>> {
        let is_tie = |at: usize| ["&&", "||"].contains(&self.text(at));
        let (mut depth, mut start) = (0_usize, place);
        loop {
            let before = start.checked_sub(1)?;
            match self.text(before) {
                ")" | "]" => depth += 1,
                "(" | "[" if depth == 0 => break,
                "(" | "[" => depth -= 1,
                _ if depth == 0 && is_tie(before) => break,
                _ => {}
            }
            start = before;
        }
        let (mut depth, mut end) = (0_usize, place);
        loop {
            match self.text(end) {
                "" => return None,
                "(" | "[" => depth += 1,
                ")" | "]" if depth == 0 => break,
                ")" | "]" => depth -= 1,
                _ if depth == 0 && is_tie(end) => break,
                _ => {}
            }
            end += 1;
        }
        match (is_tie(start - 1), is_tie(end)) {
            (true, _) => Some(start - 1..end),
            (false, true) => Some(start..end + 1),
            (false, false) => None,
        }
    }

    /// Returns the byte range of a range of tokens.
    pub(crate) fn span(&self, tokens: &Range<usize>) -> Range<usize> {
        self.0[tokens.start].at.start..self.0[tokens.end - 1].at.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE_UP: &str = "/* rise( { */\n#define rise(x) { x \\\n}\nint rise(int);\nint fall(int a)\n{\n\treturn rise(a);\n}\n\
        int rise(int a)\n{\n\tconst char *s = \"}\\\"{\";\n\tint i;\n\n\tfor_each_step(i, a) {\n\t\tif (a > 1 && (b(i) || !c))\n\
        \t\t\tfall(i);\n\t\telse\n\t\t\trise(i->n);\n\t}\nagain:\n\tdo { a--; } while (a >= 3);\n\tgoto again;\n}\n\
        struct stairs {\n\tint steps;\n};\n";

    fn source_text(code: &CSource<'_>, range: Range<usize>) -> String {
        code.0[range].iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_directives_and_white_space_are_no_tokens_and_operators_are_whole() {
        let text: Vec<&str> =
            tokens("a->b <<= 1; // c\n#if X \\\n y\n/* d */ 'e' && 0x1f").into_iter().map(|it| it.text).collect();
        assert_eq!(text, ["a", "->", "b", "<<=", "1", ";", "'e'", "&&", "0x1f"]);
    }

    #[test]
    fn a_function_is_its_definition_and_neither_a_declaration_nor_a_call() {
        let code = CSource::from_text(MADE_UP);
        let body = code.function("rise").expect("it is there");
        assert!(source_text(&code, body).starts_with("const char"));
        assert_eq!(source_text(&code, code.function("fall").expect("it is there")), "return rise ( a ) ;");
        assert_eq!(code.function("stairs"), None);
        let annotated = "struct a { int (*f)(int); };\nint __printf(1, 2) g(int a) __releases(b) { h(); }\nint t[] = { f(1) };\nvoid k(void) {}\nlong __l(void) __must_hold(x) {}\n";
        let all = |text| {
            CSource::from_text(text).functions().into_iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(all(MADE_UP), ["fall", "rise"]);
        assert_eq!(all(annotated), ["g", "k", "__l"]);
        assert_eq!(source_text(&code, code.structure("stairs").expect("it is there")), "int steps ;");
    }

    #[test]
    fn the_smallest_statement_around_a_place_is_found_and_a_condition_belongs_to_its_if() {
        let code = CSource::from_text(MADE_UP);
        let body = code.function("rise").expect("it is there");
        let around = |wanted: &str| {
            let place = code.find_all(body.clone(), wanted)[0].start;
            source_text(&code, code.statement(body.clone(), place).expect("it is in a statement"))
        };
        assert_eq!(around("fall"), "fall ( i ) ;");
        assert_eq!(around("i->n"), "rise ( i -> n ) ;");
        assert_eq!(around("b(i)"), "if ( a > 1 && ( b ( i ) || ! c ) ) fall ( i ) ; else rise ( i -> n ) ;");
        assert_eq!(around("a--"), "a -- ;");
        assert_eq!(around("a >= 3"), "do { a -- ; } while ( a >= 3 ) ;");
        assert_eq!(around("goto"), "goto again ;");
        assert!(around("for_each_step").ends_with("rise ( i -> n ) ; }"));
    }

    #[test]
    fn a_term_goes_with_the_operator_that_ties_it() {
        let code = CSource::from_text(MADE_UP);
        let body = code.function("rise").expect("it is there");
        let term = |wanted: &str| {
            let place = code.find_all(body.clone(), wanted)[0].start;
            code.term(place).map(|range| source_text(&code, range))
        };
        assert_eq!(term("a > 1").as_deref(), Some("a > 1 &&"));
        assert_eq!(term("!c").as_deref(), Some("|| ! c"));
        assert_eq!(term("b(i)").as_deref(), Some("b ( i ) ||"));
        assert_eq!(term("i, a"), None);
    }
}
