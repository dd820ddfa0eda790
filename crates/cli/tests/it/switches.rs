// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that every switch of the scheduler has an effect in each kernel that has it: its canonical scenario has a
//! different digest in each position.

use crate::common::{files, json_of, root};
use fairlab_run::switches::{self, Switch};
use fairlab_sched::features::Demo;
use fairlab_sched::series::KernelSeries;

/// Returns the switches of a series with their demos.
fn demos(series: KernelSeries) -> Vec<(Switch, Demo)> {
    let with_demo = |switch: Switch| switch.demo_in(series).map(|demo| (switch, demo));
    switches::all(8).into_iter().filter_map(with_demo).collect()
}

#[test]
fn every_switch_changes_its_canonical_scenario() {
    let mut idle = Vec::new();
    for series in KernelSeries::ALL {
        let kernel = series.to_string();
        for (switch, demo) in demos(series) {
            let (run, shown) = match demo {
                Demo::Digest(ref scenario, _) => (std::slice::from_ref(scenario), "/digest"),
                Demo::Complaints(run, _) => (run, "/measure/complaints"),
                Demo::NoRun(_) | Demo::BySeries(..) => continue,
            };
            let file = format!("scenarios/{}", run[0]);
            let [one, other] = switch.test_values.map(|(option, value)| {
                let args = [&["run", &file], &run[1..], &["--kernel", &kernel, option, &value, "--json"]].concat();
                json_of(&args).pointer(shown).expect("every summary has it").clone()
            });
            if one == other {
                let name = switch.name;
                idle.push(format!("{name}: {file} has the same {shown} in both positions in {kernel}, {one}"));
            }
        }
    }
    assert!(idle.is_empty(), "{}", idle.join("\n"));
}

#[test]
fn only_these_switches_show_in_no_run() {
    let hidden = |series| {
        let hidden = demos(series).into_iter().filter(|(_, demo)| matches!(demo, Demo::NoRun(_)));
        hidden.map(|(switch, _)| switch.name).collect::<Vec<_>>()
    };
    let of_6_1 = ["WARN_DOUBLE_CLOCK", "ksoftirqd_first", "redo_emptied", "energy_inefficient"];
    assert_eq!(hidden(KernelSeries::V6_1), of_6_1);
    assert_eq!(hidden(KernelSeries::V6_12), ["DOUBLE_TICK", "WARN_DOUBLE_CLOCK", "RT_RUNTIME_SHARE"]);
}

#[test]
fn scenarios_for_switches_are_used_and_say_what_they_show() {
    let demos: Vec<(Switch, Demo)> = KernelSeries::ALL.into_iter().flat_map(demos).collect();
    for file in files("scenarios/switches", &[".scn"]) {
        let is_used = demos.iter().any(|(_, demo)| matches!(demo, Demo::Digest(path, _) if file.ends_with(path)));
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
