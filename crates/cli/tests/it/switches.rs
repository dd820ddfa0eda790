// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that every switch of the scheduler has an effect: its canonical scenario has a different digest in
//! each position.

use crate::common::{files, json_of, root};
use fairlab_sched::features::Demo;
use fairlab_study::switches;

#[test]
fn every_switch_changes_its_canonical_scenario() {
    let mut idle = Vec::new();
    for switch in switches::all(8) {
        let (run, shown) = match switch.demo {
            Demo::Digest(ref scenario, _) => (std::slice::from_ref(scenario), "/digest"),
            Demo::Complaints(run, _) => (run, "/measure/complaints"),
            Demo::NoRun(_) => continue,
        };
        let file = format!("scenarios/{}", run[0]);
        let [one, other] = switch.test_values.map(|(option, value)| {
            let kernel = switch.kernel.map_or_else(Vec::new, |kernel| vec!["--kernel", kernel]);
            let args = [&["run", &file], &run[1..], &kernel, &[option, &value, "--json"]].concat();
            json_of(&args).pointer(shown).expect("every summary has it").clone()
        });
        if one == other {
            idle.push(format!("{}: {file} has the same {shown} in both positions, {one}", switch.name));
        }
    }
    assert!(idle.is_empty(), "{}", idle.join("\n"));
}

#[test]
fn only_these_switches_show_in_no_run() {
    let all = switches::all(8);
    let hidden: Vec<_> = all.iter().filter(|switch| matches!(switch.demo, Demo::NoRun(_))).collect();
    let names: Vec<&str> = hidden.iter().map(|switch| switch.name).collect();
    assert_eq!(names, ["WARN_DOUBLE_CLOCK", "ksoftirqd_first", "redo_emptied", "energy_inefficient"]);
}

#[test]
fn scenarios_for_switches_are_used_and_say_what_they_show() {
    let all = switches::all(8);
    for file in files("scenarios/switches", &[".scn"]) {
        let is_used = all.iter().any(|switch| matches!(switch.demo, Demo::Digest(path, _) if file.ends_with(path)));
        assert!(is_used, "{file} is the scenario of no switch");
        let text = std::fs::read_to_string(root().join(&file)).expect("the file can be read");
        assert!(text.starts_with("# "), "{file}");
    }
}

#[test]
fn no_clock_is_updated_twice_under_one_lock() {
    for file in files("scenarios", &[".scn", ".json"]).into_iter().chain(files("scenarios/switches", &[".scn"])) {
        let summary = json_of(&["run", &file, "--features", "WARN_DOUBLE_CLOCK,LATENCY_WARN", "--json"]);
        assert_eq!(summary["measure"]["complaints"], serde_json::json!([]), "{file}");
        assert_eq!(
            summary["digest"],
            json_of(&["run", &file, "--json"])["digest"],
            "{file}: complaining changes nothing"
        );
    }
}
