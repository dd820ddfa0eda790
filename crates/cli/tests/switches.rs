// SPDX-License-Identifier: GPL-2.0-or-later
//! Every switch of the scheduler makes a difference somewhere: its canonical scenario has another digest in each position.

mod common;

use common::{files, json_of, root};
use fairlab_study::switches::{self, Shown};

#[test]
fn every_switch_changes_its_canonical_scenario() {
    let mut idle = Vec::new();
    for switch in switches::all(8) {
        let Shown::Digest(scenario) = switch.shown else { continue };
        let file = format!("scenarios/{scenario}");
        let [one, other] = switch.positions.map(|(option, value)| {
            json_of(&["run", &file, option, &value, "--json"])["digest"].as_str().expect("there is a digest").to_owned()
        });
        if one == other {
            idle.push(format!("{}: {file} has the same digest in both positions, {one}", switch.name));
        }
    }
    assert!(idle.is_empty(), "{}", idle.join("\n"));
}

#[test]
fn only_these_switches_show_in_no_run() {
    let all = switches::all(8);
    let hidden: Vec<_> = all.iter().filter(|switch| !matches!(switch.shown, Shown::Digest(_))).collect();
    let names: Vec<&str> = hidden.iter().map(|switch| switch.name).collect();
    assert_eq!(names, ["WARN_DOUBLE_CLOCK", "LATENCY_WARN", "thermal_decay_shift", "redo_emptied"]);
}

#[test]
fn scenarios_for_switches_are_used_and_say_what_they_show() {
    let all = switches::all(8);
    for file in files("scenarios/switches", &[".scn"]) {
        let is_used = all.iter().any(|switch| matches!(switch.shown, Shown::Digest(path) if file.ends_with(path)));
        assert!(is_used, "{file} is the scenario of no switch");
        let text = std::fs::read_to_string(root().join(&file)).expect("the file can be read");
        assert!(text.starts_with("# "), "{file}");
    }
}
