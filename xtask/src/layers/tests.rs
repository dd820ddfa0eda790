// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the layer check with small made-up crates.

use super::*;

const LOW: &str = "track/low.rs";
const HIGH: &str = "paths/high.rs";

/// Parses a crate with one low and one high file.
fn graph<'a>(low: &'a str, high: &'a str) -> ModuleGraph {
    ModuleGraph::from_files([(LOW, low), (HIGH, high)]).expect("the sources can be read")
}

fn upward_calls(low: &str) -> Vec<String> {
    let high = "pub fn walk() {} impl Sched { pub fn new() {} pub fn handle(&mut self) {} }";
    let high = format!("{high} pub struct Sched; impl Drop for Sched {{ fn drop(&mut self) {{}} }}");
    graph(low, &high).upward_calls()
}

fn upward_names(file: &str, text: &str) -> Vec<String> {
    let root = "pub mod words; pub use paths::{boot, walks as tours};";
    ModuleGraph::from_files([("lib.rs", root), (file, text)]).expect("the sources can be read").upward_names()
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
    let house =
        graph("pub fn low() {} impl State { pub fn update(&self) {} }", "fn f() { low::low(); State::update(s) }");
    assert_eq!(house.upward_calls(), [""; 0]);
    assert_eq!(house.resolved().len(), 2);
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
        let house = ModuleGraph::from_files([declares, (file, upward), (HIGH, "impl X { fn handle(&self) {} }")]);
        let house = house.expect("the sources can be read");
        assert_eq!(house.sources.len(), 2, "{file}");
        assert_eq!(house.upward_calls(), [""; 0], "{file}");
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
    let house = ModuleGraph::from_files([("lib.rs", ""), ("golden.rs", ""), ("attic/box.rs", "")])
        .expect("the sources can be read");
    assert_eq!(house.unassigned_files(), ["crates/sched/src/attic/box.rs: belongs to no layer"]);
}

#[test]
fn a_function_of_one_caller_is_refused_to_others() {
    let house = graph(
        "struct Guard; impl Guard { fn of() {} fn give_back(&self) {} }\nfn f(guard: Guard) { guard.give_back() }",
        "fn f() {\n    Guard::of();\n    Other::of();\n    debug_assert!(guard.give_back());\n}",
    );
    let wrong = "crates/sched/src/paths/high.rs";
    assert_eq!(
        house.forbidden_calls(&[("Guard::of", LOW), ("give_back", LOW)]),
        [
            format!("{wrong}:2: calls `Guard::of`, which only track/low.rs may"),
            format!("{wrong}:4: calls `give_back`, which only track/low.rs may"),
        ]
    );
    assert_eq!(house.forbidden_calls(&[("Guard::of", HIGH), ("Guard::give_back", HIGH)]).len(), 1);
}

#[test]
fn an_entry_that_holds_for_nothing_is_refused() {
    let house = graph("", "fn f() {}");
    assert_eq!(
        house.forbidden_calls(&[("Guard::of", HIGH), ("f", "paths/gone.rs")]),
        ["ONLY_IN: no function is `Guard::of`", "ONLY_IN: no file is paths/gone.rs"]
    );
}

#[test]
fn the_largest_cycle_is_of_files_that_reach_each_other() {
    let edges = [(0, 1), (1, 0), (2, 3), (3, 4), (4, 2), (4, 5)].into();
    assert_eq!(cycles::largest_cycle(6, &edges), [2, 3, 4]);
    assert_eq!(cycles::largest_cycle(6, &[(0, 1), (2, 2)].into()), [0; 0]);
}

#[test]
fn the_printed_structure_counts_methods_and_calls() {
    let text = print::text(&graph(
        "impl State { fn update(&self) {} fn new() {} }",
        "impl Sched { fn a(&self) { x.update() } fn b(&self) { x.update(); x.a() } }",
    ));
    for line in ["files                   2", "methods on Sched        2", "methods on State        1"] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.contains("calls between files     2 (1 pairs of files)"), "{text}");
}
