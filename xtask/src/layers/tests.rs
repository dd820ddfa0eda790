// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the layer check with small made-up crates.

use super::*;

const LOW: &str = "track/low.rs";
const HIGH: &str = "paths/high.rs";

/// Parses a crate with one low and one high file.
fn graph<'a>(low: &'a str, high: &'a str) -> ModuleGraph {
    ModuleGraph::from_files("sched", [(LOW, low), (HIGH, high)]).expect("the sources can be read")
}

fn upward_calls(low: &str) -> Vec<String> {
    let high = "pub fn walk() {} impl Sched { pub fn new() {} pub fn handle(&mut self) {} }";
    let high = format!("{high} pub struct Sched; impl Drop for Sched {{ fn drop(&mut self) {{}} }}");
    graph(low, &high).upward_calls()
}

fn upward_names(file: &str, text: &str) -> Vec<String> {
    let root = "pub mod words; pub use paths::{boot, walks as tours};";
    ModuleGraph::from_files("sched", [("lib.rs", root), (file, text)]).expect("the sources can be read").upward_names()
}

#[test]
fn an_upward_call_is_found_with_its_line() {
    let found = upward_calls("fn f(sched: &mut X) {\n    sched.handle();\n}");
    assert_eq!(found, ["crates/sched/src/track/low.rs:2: calls `handle` of paths/high.rs, which is higher up"]);
}

#[test]
fn every_way_of_writing_an_upward_call_is_found() {
    for call in ["Sched::new()", "high::walk()", "x.map(Sched::handle)", "f(|x| x.handle())", "a[x.handle()].b"] {
        assert_eq!(upward_calls(&format!("fn f() {{ {call}; }}")).len(), 1, "{call}");
    }
    assert_eq!(upward_calls("use super::elsewhere::walk; fn f() { walk() }").len(), 1);
    assert_eq!(upward_calls("impl Sched { fn f() { Self::new() } }").len(), 1);
}

#[test]
fn a_downward_call_is_not_wrong() {
    let graph =
        graph("pub fn low() {} impl State { pub fn update(&self) {} }", "fn f() { low::low(); State::update(s) }");
    assert_eq!(graph.upward_calls(), [""; 0]);
    assert_eq!(graph.resolved().len(), 2);
}

#[test]
fn tests_are_exempt() {
    let upward = "fn f() { x.handle() }";
    assert_eq!(upward_calls(&format!("#[cfg(test)] mod tests {{ {upward} }}")), [""; 0]);
    assert_eq!(upward_calls(&format!("#[cfg(test)] {upward}")), [""; 0]);
    assert_eq!(upward_calls(&format!("impl X {{ #[cfg(all(test, a))] {upward} }}")), [""; 0]);
    assert_eq!(upward_calls("fn f() { #[cfg(test)] x.handle(); }"), [""; 0]);
    for file in
        ["track/tests.rs", "track/golden_tests.rs", "track/tests/moves.rs", "test_machine.rs", "track/fixture.rs"]
    {
        let declares = ("track/mod.rs", "#[cfg(test)] mod fixture;");
        let graph =
            ModuleGraph::from_files("sched", [declares, (file, upward), (HIGH, "impl X { fn handle(&self) {} }")]);
        let graph = graph.expect("the sources can be read");
        assert_eq!(graph.sources.len(), 2, "{file}");
        assert_eq!(graph.upward_calls(), [""; 0], "{file}");
    }
}

#[test]
fn calls_of_names_that_only_tests_define_are_ignored() {
    assert_eq!(graph("fn f() { x.handle() }", "#[cfg(test)] impl X { fn handle(&self) {} }").upward_calls(), [""; 0]);
}

#[test]
fn a_name_defined_twice_is_left_alone_unless_a_type_tells() {
    let low = "struct A; impl A { fn new() {} fn handle(&self) {} } fn f() { x.handle(); A::new() }";
    assert_eq!(upward_calls(low), [""; 0]);
    assert_eq!(upward_calls(&format!("{low} fn g() {{ Sched::new() }}")).len(), 1);
}

#[test]
fn methods_that_others_have_too_are_left_alone() {
    assert_eq!(upward_calls("fn f() { x.drop() }"), [""; 0]);
    assert_eq!(graph("fn f() { x.max(1) }", "impl A { fn max(&self) {} }").upward_calls(), [""; 0]);
    assert_eq!(graph("fn f() { Vec::make() }", "impl A { fn make() {} }").upward_calls(), [""; 0]);
}

#[test]
fn a_variable_that_is_called_is_no_function() {
    assert_eq!(upward_calls("fn f(walk: impl Fn()) { walk() }"), [""; 0]);
}

#[test]
fn a_call_inside_a_macro_is_found() {
    for call in ["debug_assert!(a && x.y.handle() == 0)", "matches!(Sched::new(), Some(_))", "m!({ high::walk(1) })"] {
        assert_eq!(upward_calls(&format!("fn f() {{ {call}; }}")).len(), 1, "{call}");
    }
    assert_eq!(upward_calls("macro_rules! m { ($x:expr) => { $x.handle() } }").len(), 1);
    assert_eq!(upward_calls("macro_rules! m { () => { fn handle(&self) {} } }"), [""; 0]);
}

#[test]
fn an_upward_import_is_found_with_its_line() {
    let found = upward_names(LOW, "use crate::words::A;\n\nuse crate::{paths::walks::Walk, state};");
    assert_eq!(found, ["crates/sched/src/track/low.rs:3: names `crate::paths::walks`, which is higher up"]);
}

#[test]
fn every_way_of_writing_an_upward_path_is_found() {
    for text in [
        "use super::super::paths::A;",
        "use crate::paths::*;",
        "pub use crate::paths as p;",
        "use crate::boot::A;",
        "use crate::tours::A;",
        "mod inner { use super::super::super::paths::A; }",
        "fn f(x: &crate::paths::A) {}",
        "fn f() { let crate::paths::A { .. } = x; }",
        "fn f() { assert!(x, crate::paths::A) }",
        "macro_rules! m { () => { $crate::paths::A } }",
    ] {
        assert_eq!(upward_names(LOW, text).len(), 1, "{text}");
    }
}

#[test]
fn downward_imports_and_those_of_tests_are_not_wrong() {
    assert_eq!(upward_names(HIGH, "use crate::words::A; use super::walks; use crate::boot::A;"), [""; 0]);
    assert_eq!(upward_names("track/mod.rs", "use self::low::A; #[cfg(test)] use crate::paths::A;"), [""; 0]);
    assert_eq!(upward_names("check.rs", "use crate::paths::A;"), [""; 0]);
    assert_eq!(upward_names("paths/walks.rs", "use crate::check::A;").len(), 1);
}

#[test]
fn a_file_outside_the_layers_is_a_stranger() {
    let graph = ModuleGraph::from_files("sched", [("lib.rs", ""), ("golden.rs", ""), ("attic/box.rs", "")])
        .expect("the sources can be read");
    assert_eq!(graph.unassigned_files(), ["crates/sched/src/attic/box.rs: belongs to no layer"]);
}

#[test]
fn a_function_of_one_caller_is_refused_to_others() {
    let graph = graph(
        "struct Guard; impl Guard { fn of() {} fn give_back(&self) {} }\nfn f(guard: Guard) { guard.give_back() }",
        "fn f() {\n    Guard::of();\n    Other::of();\n    debug_assert!(guard.give_back());\n}",
    );
    let wrong = "crates/sched/src/paths/high.rs";
    assert_eq!(
        graph.forbidden_calls(&[("Guard::of", LOW), ("give_back", LOW)]),
        [
            format!("{wrong}:2: calls `Guard::of`, which only track/low.rs may"),
            format!("{wrong}:4: calls `give_back`, which only track/low.rs may"),
        ]
    );
    assert_eq!(graph.forbidden_calls(&[("Guard::of", HIGH), ("Guard::give_back", HIGH)]).len(), 1);
}

#[test]
fn an_entry_that_holds_for_nothing_is_refused() {
    let graph = graph("", "fn f() {}");
    assert_eq!(
        graph.forbidden_calls(&[("Guard::of", HIGH), ("f", "paths/gone.rs")]),
        ["ONLY_IN: no function is `Guard::of`", "ONLY_IN: no file is paths/gone.rs"]
    );
}

#[test]
fn cycles_are_files_that_reach_each_other_largest_first() {
    let edges = [(0, 1), (1, 0), (2, 3), (3, 4), (4, 2), (4, 5)].into();
    assert_eq!(cycles::cycles(6, &edges), [vec![2, 3, 4], vec![0, 1]]);
    assert_eq!(cycles::cycles(6, &[(0, 1), (2, 2)].into()), [[0; 0]; 0]);
}

/// Returns the references between the files of a crate without layers, by the names of the files.
fn references<'a>(files: &[(&'a str, &'a str)]) -> Vec<(String, String)> {
    let graph = ModuleGraph::from_files("workload", files.iter().copied()).expect("the sources can be read");
    let name = |file: usize| graph.sources[file].file.clone();
    graph.references().into_iter().map(|(from, to)| (name(from), name(to))).collect()
}

#[test]
fn a_path_refers_to_the_file_that_defines_its_item() {
    let low = ("low.rs", "pub struct Low; pub const LIMIT: u8 = 1; pub fn low() {}");
    for text in [
        "use crate::low::Low;",
        "use super::low::{self, Low as Lowest};",
        "use super::low; fn f() { low::low() }",
        "use crate::low as deep; fn f() -> u8 { deep::LIMIT }",
        "use super::low::*;",
        "fn f(x: crate::low::Low) {}",
        "fn f() { assert!(x, crate::low::LIMIT) }",
        // Re-exports, by name and all of them.
        "use crate::Low;",
        "use super::shop::Low;",
    ] {
        let files = [("lib.rs", "pub use low::Low;"), ("shop.rs", "pub use crate::low::*;"), low, ("high.rs", text)];
        let found = references(&files);
        assert!(found.contains(&("high.rs".to_owned(), "low.rs".to_owned())), "{text}: {found:?}");
        assert!(!found.iter().any(|(from, to)| from == "high.rs" && to != "low.rs"), "{text}: {found:?}");
    }
}

#[test]
fn a_declared_module_is_no_reference_but_an_item_of_the_parent_is() {
    let parent = ("sim/mod.rs", "mod child; pub use child::Child; pub struct Parent;");
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let (down, up) = (pair("sim/mod.rs", "sim/child.rs"), pair("sim/child.rs", "sim/mod.rs"));
    let with = |text: &str| references(&[parent, ("sim/child.rs", &format!("pub struct Child; {text}"))]);
    for text in ["use std::fmt::Debug;", "#[cfg(test)] use super::Parent;"] {
        assert_eq!(with(text), std::slice::from_ref(&down), "{text}");
    }
    assert_eq!(with("use super::Parent;"), [down, up]);
    assert_eq!(references(&[("sim/mod.rs", "mod child;"), ("sim/child.rs", "use super::child;")]), []);
}

#[test]
fn the_printed_structure_counts_methods_calls_and_cycles() {
    let graph = graph(
        "impl State { fn update(&self) {} fn new() { crate::paths::high::f() } }",
        "use crate::track::low::State; impl Sched { fn a(&self) { x.update() } fn b(&self) { x.update(); x.a() } } fn f() {}",
    );
    let text = print::text(&graph, false);
    for line in [
        "files                   2",
        "methods on Sched        2",
        "methods on State        1",
        "cycles of calls         2 files\n   1. track/low.rs\n      paths/high.rs",
        "references              2 pairs of files",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.contains("calls between files     3 (2 pairs of files)"), "{text}");
    assert!(print::text(&graph, true).contains("   1. track/low.rs -> paths/high.rs"), "{text}");
}

#[test]
fn a_crate_without_layers_is_reported_without_a_table() {
    let graph = ModuleGraph::from_files("workload", [("lib.rs", "mod low;"), ("low.rs", "fn f() {}")]);
    let text = print::text(&graph.expect("the sources can be read"), true);
    assert!(text.contains("cycles of references    none") && !text.contains("layer"), "{text}");
}

#[test]
fn each_layered_crate_exists_and_has_all_its_layers() {
    for rules in LAYERED_CRATES {
        let graph = ModuleGraph::read(&crate::root(), rules.name).expect("the sources can be read");
        for (index, layer) in rules.layers.iter().enumerate() {
            let mut files = graph.sources.iter().map(|source| rules.layer_of(&source.file));
            assert!(files.any(|of_file| of_file == Some(index)), "{}: no file is in {layer}", rules.name);
        }
    }
}
