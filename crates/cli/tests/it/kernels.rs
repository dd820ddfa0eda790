// SPDX-License-Identifier: GPL-2.0-or-later
//! Named kernels: each former default makes a difference, and what a kernel does not have is an error or a note.

use crate::common::{fairlab, json_of, stdout_of};
use fairlab_run::kernels::{Kernel, page::last_kernel_before};
use fairlab_sched::features::{Demo, Feature, FormerDefault};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::tunables::TUNABLES;

/// Returns each former default with its switch, set to the default that followed, and the demo of the switch.
fn former_defaults() -> Vec<(FormerDefault, [String; 2], Demo)> {
    let of_features = Feature::ALL.iter().filter_map(|feature| {
        let value = format!("{}{}", if feature.default_enabled() { "" } else { "NO_" }, feature.name());
        Some((feature.before()?, ["--features".to_owned(), value], feature.shown()))
    });
    let of_tunables = TUNABLES.iter().flat_map(|info| {
        let last = info.default.of_machine(KernelSeries::V6_1, 8);
        info.former_values.iter().enumerate().map(move |(index, &(_, change))| {
            let next = info.former_values.get(index + 1).map_or(last, |&(value, _)| value);
            (change, ["--set".to_owned(), format!("{}={next}", info.name)], info.demo)
        })
    });
    of_features.chain(of_tunables).collect()
}

/// Scenarios of former defaults that make no difference in the demo of their switch, because other former defaults of
/// the same kernel hide it there.
const OTHER_SCENARIOS: &[(&str, &str)] = &[
    ("kick_next=0", "scan-limit.scn"),
    ("kick_stats=0", "scan-limit.scn"),
    ("energy_sum=0", "energy-aware.json"),
    ("energy_mw=0", "energy-aware.json"),
    ("sched_idle_busy=1", "idle-policy-wakeup.scn"),
];

#[test]
fn each_former_default_changes_its_scenario_in_the_last_kernel_that_had_it() {
    let mut idle = Vec::new();
    for (change, [option, value], demo) in former_defaults() {
        let kernel = last_kernel_before(change.release).expect("a kernel has the former default");
        let Demo::Digest(scenario, _) = demo.of_series(KernelSeries::V6_1) else {
            continue;
        };
        let other = OTHER_SCENARIOS.iter().find(|(switch, _)| *switch == value).map(|&(_, scenario)| scenario);
        let file = format!("scenarios/{}", other.unwrap_or(scenario));
        let digest = |more: &[&str]| {
            let args = [&["run", &file, "--kernel", kernel.name, "--json"], more].concat();
            json_of(&args)["digest"].clone()
        };
        if digest(&[]) == digest(&[&option, &value]) {
            idle.push(format!("{}: {file} is the same with {option} {value}", kernel.name));
        }
    }
    assert!(idle.is_empty(), "{}", idle.join("\n"));
}

#[test]
fn only_these_former_defaults_have_no_scenario() {
    let hidden = former_defaults()
        .into_iter()
        .filter(|(_, _, demo)| !matches!(demo.of_series(KernelSeries::V6_1), Demo::Digest(..)));
    let hidden: Vec<String> = hidden.map(|(_, [_, value], _)| value).collect();
    assert_eq!(hidden, ["redo_emptied=0", "energy_inefficient=0"]);
}

#[test]
fn real_time_runtime_is_shared_and_pushed_by_interrupts_in_older_kernels() {
    let has = |name: &str, feature: Feature| {
        let kernel = Kernel::from_name(name).expect("a kernel");
        kernel.features().iter().any(|&(other, is_on)| other == feature && is_on)
    };
    assert_eq!(["4.19", "5.9", "5.10"].map(|name| has(name, Feature::RtRuntimeShare)), [true, true, false]);
    assert_eq!(["4.19", "6.0", "6.1"].map(|name| has(name, Feature::RtPushIpi)), [true, true, false]);
}

/// Scenario in which a group saves quota for bursts, a task has a slice and a fair server is set.
const NEW: &str = "cpus 2\nend 100ms\ngroup g quota=4ms period=8ms burst=4ms\n\
                   task t group=g start=20ms run 8ms sleep 20ms\ntask s slice=3ms run 1ms sleep 1ms\n\
                   server 1ms 0 40ms 1s\n";

#[test]
fn what_a_kernel_does_not_have_is_an_error_of_a_run() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let file = directory.path().join("new.scn");
    std::fs::write(&file, NEW).expect("the scenario can be written");
    let file = file.to_str().expect("a path is text");
    for (kernel, missing) in [
        ("5.10", "cpu.max.burst of g: kernels have it since 5.14, this is 5.10"),
        ("6.1", "task slice of s: kernels have it since 6.12, this is 6.1"),
    ] {
        for command in ["run", "check"] {
            let output = fairlab(&[command, file, "--kernel", kernel]);
            let text = String::from_utf8_lossy(&output.stderr).replace("\n  ", " ");
            assert_eq!(output.status.code(), Some(2), "{text}");
            assert!(text.contains(missing), "{text}");
            assert!(text.contains("help: choose a kernel that has it, such as --kernel"), "{text}");
        }
    }
    let _ = json_of(&["run", file, "--kernel", "6.12", "--json"]);
}

#[test]
fn an_arm_runs_without_what_its_kernel_does_not_have_and_the_comparison_names_it() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let file = directory.path().join("new.scn");
    std::fs::write(&file, NEW.replace(" slice=3ms", "").replace("server 1ms 0 40ms 1s\n", ""))
        .expect("it can be written");
    let file = file.to_str().expect("a path is text");
    let compare = ["compare", file, "--arm", "kernel=5.10", "--arm", "kernel=6.1"];
    let text = stdout_of(&compare);
    let expected = "  A: kernel=5.10\n     runs without cpu.max.burst of g: kernels have it since 5.14, this is 5.10\n  B: kernel=6.1\n";
    assert!(text.contains(expected), "{text}");
    let json = json_of(&[&compare[..], &["--json"]].concat());
    let burst = serde_json::json!({"name": "cpu.max.burst", "users": ["g"], "since": "5.14", "kernel": "5.10"});
    assert_eq!(json["missing"], serde_json::json!([[burst], []]));
    let note = "- `kernel=5.10` runs without cpu.max.burst of g: kernels have it since 5.14, this is 5.10\n";
    let markdown = stdout_of(&[&compare[..], &["--format", "markdown"]].concat());
    assert!(markdown.contains(note), "{markdown}");
    let bursts = |arm: usize| json["results"][arm]["cgroups"][0]["bandwidth"]["nr_bursts"].clone();
    assert_eq!(bursts(0), 0, "{}", json["results"][0]["cgroups"][0]);
    assert_ne!(bursts(1), 0, "{}", json["results"][1]["cgroups"][0]);
}
