// SPDX-License-Identifier: GPL-2.0-or-later
//! Puts mutants behind switches: `if mutant(3) { mutated code } else { code }`.

use super::Mutant;
use proc_macro2::LineColumn;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Function that the root of a package with mutants gets.
pub(super) const SWITCH: &str = "
/// Whether the environment selects a mutant. Appends the numbers of reached mutants to FAIRLAB_REACHED.
pub(crate) fn mutant(id: usize) -> bool {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering};
    static SELECTED: LazyLock<Option<usize>> = LazyLock::new(|| std::env::var(\"FAIRLAB_MUTANT\").ok()?.parse().ok());
    static REACHED: LazyLock<Option<std::ffi::OsString>> = LazyLock::new(|| std::env::var_os(\"FAIRLAB_REACHED\"));
    static HAS_REACHED: [AtomicBool; 4096] = [const { AtomicBool::new(false) }; 4096];
    if let Some(path) = &*REACHED {
        if !HAS_REACHED[id].swap(true, Ordering::Relaxed) {
            let mut file = std::fs::File::options().create(true).append(true).open(path);
            let file = file.as_mut().expect(\"the file of reached mutants can be opened\");
            std::io::Write::write_all(file, format!(\"{id}\\n\").as_bytes()).expect(\"it can be written\");
        }
    }
    *SELECTED == Some(id)
}
";

/// Change of a file by one mutant.
#[derive(Clone, Debug)]
struct Edit {
    id: usize,
    /// Bytes of the expression that both variants replace; empty where code is only added.
    range: Range<usize>,
    /// Text with the mutant.
    mutated: String,
}

/// Returns the text with all mutants that can have switches, each with its number, and these numbers.
pub(super) fn with_switches(text: &str, mutants: &[(usize, &Mutant)]) -> syn::Result<(String, Vec<usize>)> {
    let file = syn::parse_file(text)?;
    let lines = Lines::new(text);
    let mut finder = EditFinder { text, lines: &lines, mutants, edits: Vec::new(), nr_const: 0 };
    finder.visit_file(&file);
    let mut edits = finder.edits;
    edits.sort_by_key(|edit| (edit.range.start, !edit.range.is_empty(), usize::MAX - edit.range.end, edit.id));
    let ids = edits.iter().map(|edit| edit.id).collect();
    Ok((render(text, 0..text.len(), &edits), ids))
}

/// Returns the text of a range with all edits, which are sorted, the outer ones first.
fn render(text: &str, range: Range<usize>, edits: &[Edit]) -> String {
    let (mut output, mut at, mut rest) = (String::new(), range.start, edits);
    while let Some((edit, others)) = rest.split_first() {
        output += &text[at..edit.range.start];
        at = edit.range.end;
        let nr_inner = others.iter().take_while(|inner| inner.range.start < edit.range.end).count();
        let (inner, others) = others.split_at(nr_inner);
        rest = others;
        let Edit { id, range, mutated } = edit;
        if range.is_empty() {
            output += mutated;
        } else {
            let unchanged = render(text, range.clone(), inner);
            output += &format!("(if crate::mutant({id}) {{ {mutated} }} else {{ {unchanged} }})");
        }
    }
    output + &text[at..range.end]
}

/// Returns the text with one mutant in place of the code that it replaces.
pub(super) fn replaced(text: &str, mutant: &Mutant) -> String {
    let range = Lines::new(text).range_of(mutant);
    [&text[..range.start], &mutant.replacement, &text[range.end..]].concat()
}

/// Starts of the lines of a text.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// Returns the byte of a line, from 1, and a column in characters, from 0.
    fn byte_at(&self, line: usize, column: usize) -> usize {
        let start = self.starts[line - 1];
        self.text[start..].char_indices().nth(column).map_or(self.text.len(), |(at, _)| start + at)
    }

    fn range_of(&self, mutant: &Mutant) -> Range<usize> {
        let Range { start, end } = mutant.span;
        self.byte_at(start.0, start.1 - 1)..self.byte_at(end.0, end.1 - 1)
    }

    fn range(&self, syntax: &impl Spanned) -> Range<usize> {
        let span = syntax.span();
        let byte = |place: LineColumn| self.byte_at(place.line, place.column);
        byte(span.start())..byte(span.end())
    }
}

/// Finds the code that each mutant changes.
struct EditFinder<'a> {
    text: &'a str,
    lines: &'a Lines<'a>,
    mutants: &'a [(usize, &'a Mutant)],
    edits: Vec<Edit>,
    /// Number of constant functions and values around the present place: they cannot call the switch.
    nr_const: usize,
}

impl EditFinder<'_> {
    /// Returns the mutants of a genre that replace code at a byte.
    fn at(&self, genre: &str, start: usize) -> Vec<(usize, Range<usize>, String)> {
        let of_genre = self.mutants.iter().filter(|(_, mutant)| mutant.genre == genre && self.nr_const == 0);
        let found = of_genre.map(|(id, mutant)| (*id, self.lines.range_of(mutant), mutant.replacement.clone()));
        found.filter(|(_, range, _)| range.start == start).collect()
    }

    /// Adds edits of an expression, each of which replaces a part of it.
    fn replace_in(&mut self, genre: &str, start: usize, whole: &Range<usize>) {
        for (id, part, replacement) in self.at(genre, start) {
            let mutated = [&self.text[whole.start..part.start], &replacement, &self.text[part.end..whole.end]].concat();
            self.edits.push(Edit { id, range: whole.clone(), mutated });
        }
    }

    fn visit_body(&mut self, body: &syn::Block) {
        let Some(first) = body.stmts.first() else { return };
        let start = self.lines.range(first).start;
        for (id, _, replacement) in self.at("FnValue", start) {
            let mutated = format!("if crate::mutant({id}) {{ return {replacement}; }} ");
            self.edits.push(Edit { id, range: start..start, mutated });
        }
    }

    fn in_const(&mut self, is_const: bool, visit: impl FnOnce(&mut Self)) {
        self.nr_const += usize::from(is_const);
        visit(self);
        self.nr_const -= usize::from(is_const);
    }
}

impl<'ast> Visit<'ast> for EditFinder<'_> {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.in_const(true, |this| visit::visit_item_const(this, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.in_const(true, |this| visit::visit_impl_item_const(this, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.in_const(true, |this| visit::visit_item_static(this, item));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.in_const(item.sig.constness.is_some(), |this| {
            this.visit_body(&item.block);
            visit::visit_item_fn(this, item);
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.in_const(item.sig.constness.is_some(), |this| {
            this.visit_body(&item.block);
            visit::visit_impl_item_fn(this, item);
        });
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.visit_body(body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        if !has_let(expr) {
            let (operator, whole) = (self.lines.range(&expr.op), self.lines.range(expr));
            self.replace_in("BinaryOperator", operator.start, &whole);
        }
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_unary(&mut self, expr: &'ast syn::ExprUnary) {
        let whole = self.lines.range(expr);
        self.replace_in("UnaryOperator", whole.start, &whole);
        visit::visit_expr_unary(self, expr);
    }

    fn visit_expr_struct(&mut self, expr: &'ast syn::ExprStruct) {
        let whole = self.lines.range(expr);
        for field in &expr.fields {
            self.replace_in("StructField", self.lines.range(field).start, &whole);
        }
        visit::visit_expr_struct(self, expr);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let guard = match &arm.pat {
            syn::Pat::Guard(pat) => Some(self.lines.range(&*pat.guard)),
            _ => None,
        };
        if let Some(guard) = &guard {
            self.replace_in("MatchArmGuard", guard.start, guard);
        }
        for (id, ..) in self.at("MatchArm", self.lines.range(arm).start) {
            let end = self.lines.range(&arm.pat).end;
            self.edits.push(match &guard {
                Some(guard) => Edit { id, range: guard.clone(), mutated: "false".to_owned() },
                None => Edit { id, range: end..end, mutated: format!(" if !crate::mutant({id})") },
            });
        }
        visit::visit_arm(self, arm);
    }
}

/// Whether an operand of a chain of `&&` is a `let`.
fn has_let(expr: &syn::ExprBinary) -> bool {
    [&expr.left, &expr.right].into_iter().any(|operand| match &**operand {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(inner) => has_let(inner),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(genre: &str, columns: Range<usize>, replacement: &str) -> Mutant {
        Mutant {
            name: String::new(),
            file: String::new(),
            genre: genre.to_owned(),
            span: (1, columns.start)..(1, columns.end),
            replacement: replacement.to_owned(),
        }
    }

    #[test]
    fn each_mutant_has_a_switch_and_the_code_without_it_is_unchanged() {
        let text = "fn f(a: u32) -> bool { a + 1 < 3 }";
        let mutants = [
            mutant("BinaryOperator", 26..27, "-"),
            mutant("BinaryOperator", 30..31, ">"),
            mutant("FnValue", 24..33, "true"),
        ];
        let numbered: Vec<_> = mutants.iter().enumerate().collect();
        let (switched, ids) = with_switches(text, &numbered).expect("the text is Rust");
        assert_eq!(ids, [2, 1, 0]);
        let sum = "(if crate::mutant(0) { a - 1 } else { a + 1 })";
        let less = format!("(if crate::mutant(1) {{ a + 1 > 3 }} else {{ {sum} < 3 }})");
        assert_eq!(switched, format!("fn f(a: u32) -> bool {{ if crate::mutant(2) {{ return true; }} {less} }}"));
        assert_eq!(replaced(text, &mutants[1]), "fn f(a: u32) -> bool { a + 1 > 3 }");
    }

    #[test]
    fn constant_code_and_chains_with_let_have_no_switch() {
        for (text, columns) in
            [("const fn f() -> u32 { 1 + 2 }", 25..26), ("fn f() { if let 1 = 2 && true {} }", 23..25)]
        {
            let mutant = mutant("BinaryOperator", columns, "*");
            assert_eq!(with_switches(text, &[(0, &mutant)]).expect("the text is Rust"), (text.to_owned(), vec![]));
        }
    }
}
