// SPDX-License-Identifier: GPL-2.0-or-later
//! Each malformed file gives an error that names the file, the line and the cause, and shows the line.

use fairlab_sched::series::KernelSeries;
use fairlab_workload::load::load;
use fairlab_workload::rtapp::RtAppOptions;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// File, line, and a part of the message.
const FILES: &[(&str, u32, &str)] = &[
    ("empty.scn", 1, "the file is empty"),
    ("only-comments.scn", 3, "the file is empty"),
    ("not-a-workload.scn", 1, "this is no workload file"),
    ("cpus-not-first.scn", 1, "the first statement must be `cpus`"),
    ("cpus-twice.scn", 2, "`cpus` only once"),
    ("cpus-too-many.scn", 1, "4097 is not in 1..4096"),
    ("cpus-missing-number.scn", 1, "something is missing at the end of the line: the number of CPUs"),
    ("unknown-statement.scn", 2, "unknown statement `topology`"),
    ("unknown-unit.scn", 2, "unknown unit `l3=4`"),
    ("unit-without-size.scn", 2, "unknown unit `smt`"),
    ("too-few-caps.scn", 2, "something is missing at the end of the line: a capacity"),
    ("too-many-caps.scn", 2, "more words than `caps` takes"),
    ("bad-levels.scn", 2, "levels are letters of SCMPA"),
    ("distances-of-other-nodes.scn", 3, "distances of 3 nodes, but there are 2"),
    ("bad-duration.scn", 2, "`1.5m` is not a duration"),
    ("duration-too-long.scn", 2, "is too long"),
    ("bad-trace-level.scn", 2, "4 is not in 0..3"),
    ("unknown-feature.scn", 2, "unknown feature `SIS_UTILS`"),
    ("feature-not-boolean.scn", 2, "`on` is not a number"),
    ("unknown-tunable.scn", 2, "unknown tunable `base_slise_ns`"),
    ("unknown-arm.scn", 2, "unknown arm `llc_kik`"),
    ("freq-and-fdom.scn", 3, "`freq` and `fdom` exclude each other"),
    ("fdom-overlap.scn", 3, "CPU 1 is in two frequency domains"),
    ("fdom-descending.scn", 2, "frequencies must ascend"),
    ("fdom-too-far-apart.scn", 2, "1 kHz is less than 1/1024 of 1000000 kHz"),
    ("fdom-of-two-capacities.scn", 3, "different capacities"),
    ("fdom-mixed-powers.scn", 2, "powers for all frequencies, or for none"),
    ("irq-too-long.scn", 2, "an interrupt must be shorter than its period"),
    ("range-backwards.scn", 2, "1 is not in 3..3"),
    ("cpu-out-of-range.scn", 2, "4 is not in 0..3"),
    ("group-unknown.scn", 2, "no group `g` above this line"),
    ("group-period-alone.scn", 2, "a period or burst needs a quota"),
    ("group-quota-too-short.scn", 2, "at least 1 ms"),
    ("task-without-program.scn", 2, "the program of task `t` is empty"),
    ("task-two-loops.scn", 2, "a second `loop`"),
    ("task-option-twice.scn", 2, "`nice=2` is given twice"),
    ("task-two-policies.scn", 2, "`batch` is given twice"),
    ("task-unknown-word.scn", 3, "unknown word `slep`"),
    ("task-wakes-nobody.scn", 2, "no task `b` to wake"),
    ("task-name-twice.scn", 3, "two tasks have the name `a`"),
    ("task-name-too-long.scn", 2, "is too long: at most 15"),
    ("task-random-backwards.scn", 2, "the longest duration is shorter"),
    ("task-deadline-order.scn", 2, "runtime <= deadline <= period"),
    ("task-clamps-crossed.scn", 2, "umin=800 is above umax=300"),
    ("change-unknown-task.scn", 2, "no task `u` to change"),
    ("change-unknown-policy.scn", 2, "unknown policy `other`"),
    ("carriage-returns.scn", 1, "is not a number"),
    ("json-unfinished.json", 3, "the file ends where"),
    ("json-missing-comma.json", 2, "is missing at the end of this line"),
    ("json-unquoted-key.json", 1, "a key in quotes"),
    ("json-two-commas.json", 1, "a key in quotes"),
    ("json-open-string.json", 1, "was expected behind the key"),
    ("json-open-comment.json", 1, "the comment does not end"),
    ("json-bare-word.json", 3, "`fast` is not a value"),
    ("json-bare-suspend.json", 3, "rt-app itself rejects"),
    ("json-too-deep.json", 1, "nest at most 32"),
    ("no-tasks.json", 1, r#"the file has no "tasks""#),
    ("tasks-empty.json", 1, r#""tasks" is empty"#),
    ("task-no-object.json", 1, r#"the task "t" must be an object"#),
    ("task-no-events.json", 3, r#""t" has no events"#),
    ("task-old-grammar.json", 3, r#""t" has no events"#),
    ("task-old-locks.json", 3, r#""t" has no events"#),
    ("task-negative-run.json", 3, r#""run" must not be negative"#),
    ("task-run-fraction.json", 3, r#""run" must be a whole number"#),
    ("task-run-too-long.json", 3, "32 bits"),
    ("task-instance-negative.json", 3, r#""instance" must not be negative"#),
    ("task-too-many-instances.json", 3, "more than 20000 threads"),
    ("task-cpus-number.json", 3, r#""cpus" must be a list"#),
    ("task-cpus-empty.json", 3, r#""cpus" is empty"#),
    ("task-cpu-missing.json", 4, "the machine has no CPU 4"),
    ("task-unknown-policy.json", 3, r#"unknown policy "SCHED_NORMAL""#),
    ("task-nice-out-of-range.json", 3, "-20..19"),
    ("task-rt-priority.json", 3, "1..99"),
    ("task-deadline-no-runtime.json", 3, r#"needs a "dl-runtime""#),
    ("task-clamp.json", 3, "0..1024"),
    ("task-group-path.json", 3, "does not begin with /"),
    ("task-group-rt.json", 3, "for fair tasks only"),
    ("task-membind.json", 3, r#""membind_nodes" must be a whole number"#),
    ("task-spins.json", 3, "takes no time"),
    ("timer-number.json", 3, r#"the event "timer" must be an object"#),
    ("timer-negative.json", 3, "must not be negative"),
    ("wait-string.json", 3, r#"the event "wait" must be an object"#),
    ("resume-object.json", 3, r#""resume" must be a string"#),
    ("fork-unknown.json", 3, r#"no task "child" to fork"#),
    ("phases-list.json", 3, r#""phases" must be an object"#),
    ("phases-empty.json", 3, r#""phases" is empty"#),
    ("phase-no-events.json", 4, r#""b" has no events"#),
    ("memrun-type.json", 3, r#"needs a "type""#),
    ("global-duration.json", 2, r#""duration" must be a whole number"#),
    ("global-policy.json", 2, r#"unknown policy "OTHER""#),
    ("global-calibration.json", 2, r#""calibration" must be"#),
    ("global-gnuplot.json", 2, r#""gnuplot" must be true or false"#),
    ("fragment.json", 1, "this is no workload file"),
];

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/bad")
}

#[test]
fn each_malformed_file_names_its_place_and_what_is_wrong() {
    for (name, line, part) in FILES {
        let text = fs::read_to_string(directory().join(name)).expect("the data are part of the crate");
        let error = load(name, &text, RtAppOptions::for_cpus(KernelSeries::V6_1, 4))
            .err()
            .unwrap_or_else(|| panic!("{name} is accepted"));
        assert!(error.text.contains(part), "{name}: {error}");
        assert_eq!(error.position().map(|at| at.0), Some(*line), "{name}: {error}");
        let shown = error.to_string();
        assert!(shown.starts_with(&format!("{name}:{line}:")), "{shown}");
        assert!(shown.lines().count() <= 4, "{shown}");
        assert!(!error.text.contains('\n'), "{shown}");
        let lowercase = |text: &str| !text.starts_with(|c: char| c.is_uppercase()) || text.starts_with("CPU");
        assert!(lowercase(&error.text), "{shown}");
    }
}

#[test]
fn each_malformed_file_is_in_the_table() {
    let files = fs::read_dir(directory()).expect("the data are part of the crate");
    let files: BTreeSet<String> =
        files.map(|file| file.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    let table: BTreeSet<String> = FILES.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(files, table);
    assert!(files.len() >= 40);
}
