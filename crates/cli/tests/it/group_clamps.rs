// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that the command and the library run scenarios with group uclamp equally. The command once ignored
//! the clamps.

use fairlab_cli::embed::MemoryTexts;
use fairlab_cli::embed::run::EmbeddedRun;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_workload::scenario;
use std::fmt::Write;

/// Number of scenarios. 70 of them once had a different digest.
const SCENARIOS: u64 = 251;

/// Random number generator: a scenario number always gives the same scenario.
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn scenario(number: u64) -> String {
    let mut rng = TestRng(number);
    let nr_cpus = 1 + rng.below(6);
    let mut text = format!("cpus {nr_cpus}\nend {}ms\nscale 1\n", 40 + rng.below(80));
    for cpu in 0..nr_cpus {
        let _ = writeln!(text, "fdom {cpu} 250000 500000 1000000");
    }
    let nr_groups = 1 + rng.below(3);
    for group in 0..nr_groups {
        let min = rng.below(600);
        let _ = writeln!(text, "group g{group} umin={min} umax={}", min + rng.below(1025 - min));
    }
    for task in 0..1 + rng.below(5) {
        let (run, sleep) = (100 + rng.below(9_000), 1 + rng.below(9_000));
        let _ = writeln!(text, "task t{task} group=g{} run {run}us sleep {sleep}us", rng.below(nr_groups));
    }
    for _ in 0..rng.below(4) {
        let min = rng.below(1025);
        let (at, group) = (1 + rng.below(40), rng.below(nr_groups));
        let _ = writeln!(text, "groupclamp {at}ms g{group} {min} {}", min + rng.below(1025 - min));
    }
    text
}

fn library_digest(text: &str) -> String {
    let mut machine =
        Machine::new(Setup::from_scenario(scenario::parse("a.scn", text, KernelSeries::V6_1).expect(text)))
            .expect(text);
    machine.run(&mut NoObserver).expect(text);
    machine.digest().to_string()
}

fn command_digest(text: &str) -> String {
    let texts = MemoryTexts::new(vec![("a.scn".to_owned(), text.replacen('\n', "\nkernel 6.1\n", 1))]);
    let spec = r#"{ "workload": { "file": "\u00000\u0000" } }"#;
    let (run, _) = EmbeddedRun::new(spec, None, None, &texts).expect(text);
    run.summary().digest.clone()
}

#[test]
fn group_clamps_are_the_same_in_the_command_and_in_the_library() {
    let mut without = 0;
    for number in 0..SCENARIOS {
        let text = scenario(number);
        let digest = library_digest(&text);
        assert_eq!(command_digest(&text), digest, "{text}");
        let plain: String =
            text.lines().filter(|line| !line.starts_with("groupclamp")).fold(String::new(), |all, line| {
                let words = line.split(' ').filter(|word| !word.starts_with("umin=") && !word.starts_with("umax="));
                all + &words.collect::<Vec<_>>().join(" ") + "\n"
            });
        without += u32::from(library_digest(&plain) != digest);
    }
    assert!(without > 50, "clamps make a difference in {without} of {SCENARIOS}");
}
