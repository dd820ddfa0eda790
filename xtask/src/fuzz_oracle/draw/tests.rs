// SPDX-License-Identifier: GPL-2.0-or-later

use super::{scenario, scenario_with_extensions};
use fairlab_sched::series::KernelSeries;
use fairlab_workload::message::Message;
use fairlab_workload::scenario::{self as grammar, KernelLookup, ParseContext, STATEMENTS, SwitchNames};
use std::collections::BTreeSet;

/// Statements that no grammar draws, with the reason.
const NOT_DRAWN: &[(&str, &str)] = &[
    ("machine", "machine files are compared by `cargo test -p fairlab --test kernel`"),
    ("kernel", "the command selects the kernel"),
    ("arm", "no kernel contains the switches: the profile `arms` of `cargo xtask oracle` compares them"),
];

/// Number of scenarios that have all statements of a grammar.
const NR_SCENARIOS: u64 = 400;

fn keywords(draw: fn(u64, KernelSeries) -> String) -> BTreeSet<String> {
    let scenarios = KernelSeries::ALL.iter().flat_map(|&series| (0..NR_SCENARIOS).map(move |seed| draw(seed, series)));
    let words =
        |text: String| text.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect::<Vec<_>>();
    scenarios.flat_map(words).collect()
}

#[test]
fn each_statement_is_in_a_grammar_or_has_a_reason() {
    let (of_reference, with_extensions) = (keywords(scenario), keywords(scenario_with_extensions));
    for statement in STATEMENTS {
        let keyword = statement.keyword;
        let is_drawn = of_reference.contains(keyword) || with_extensions.contains(keyword);
        let is_excused = NOT_DRAWN.iter().any(|(excused, _)| *excused == keyword);
        assert!(is_drawn != is_excused, "{keyword}: draw it in a grammar, or give a reason in NOT_DRAWN");
        assert!(
            !statement.is_extension || !of_reference.contains(keyword),
            "{keyword}: the reference does not know it"
        );
    }
}

#[test]
fn drawn_scenarios_are_valid() {
    let named = &|_: &str| Err(Message::new("random scenarios name no machine"));
    for draw in [scenario, scenario_with_extensions] {
        for (seed, series) in (0..NR_SCENARIOS).zip(KernelSeries::ALL.into_iter().cycle()) {
            let text = draw(seed, series);
            let kernel: KernelLookup<'_> = &|_| Ok(SwitchNames::CompiledKernel(series));
            let context = ParseContext { given: None, named, vary: None, kernel };
            grammar::parse_with_context("drawn.scn", &text, context)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        }
    }
}
