// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of wrong input: exit status 2, a message with file and place of at most one screen, and no panic.

use crate::common::{complaint, fairlab, fairlab_with_input, files, program};
use std::process::Stdio;

const BAD: &str = "crates/workload/tests/data/bad";

/// Whether a message names a place of a file: `file:LINE:COLUMN:`.
fn names_place(text: &str, file: &str) -> bool {
    let Some((_, after)) = text.split_once(&format!("{file}:")) else { return false };
    let mut parts = after.splitn(3, ':');
    let mut is_number = || parts.next().is_some_and(|part| part.parse::<u32>().is_ok());
    is_number() && is_number()
}

#[test]
fn every_malformed_workload_is_refused_with_its_place() {
    let bad = files(BAD, &[".scn", ".json"]);
    assert!(bad.len() >= 70, "the malformed files are where they were");
    for file in &bad {
        // rt-app files name CPUs of any machine; this machine has a single CPU.
        let machine: &[&str] = if file.ends_with(".json") { &["--machine", "uniprocessor"] } else { &[] };
        for command in ["run", "check"] {
            let text = complaint(file, &fairlab(&[&[command, file], machine].concat()));
            assert!(names_place(&text, file), "{file}: no place:\n{text}");
        }
    }
}

#[test]
fn malformed_input_from_a_pipe_has_a_place_as_well() {
    let inputs: [(&str, &[u8]); 8] = [
        ("nothing", b""),
        ("a blank", b"\n \n"),
        ("no workload", b"hello\n"),
        ("bytes", b"cpus 4\n\xff\xfe\n"),
        ("a gzip file", b"\x1f\x8b\x08\0\0\0\0\0"),
        ("half a scenario", b"cpus 4\ntask t run"),
        ("half an rt-app file", b"{ \"tasks\" : { \"t\" : { \"run\" : 1"),
        ("a very long line", &[b'x'; 100_000]),
    ];
    for (what, input) in inputs {
        let text = complaint(what, &fairlab_with_input(&["run", "-"], input));
        assert!(names_place(&text, "<stdin>"), "{what}: no place:\n{text}");
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    for file in ["no-such-file.json", "scenarios", "scenarios/hello.json/x"] {
        let text = complaint(file, &fairlab(&["run", file]));
        assert!(text.contains(file) && text.contains("help:"), "{text}");
    }
}

#[test]
fn wrong_options_are_refused_with_a_way_out() {
    let hello = "scenarios/hello.json";
    let cases: &[(&[&str], &str)] = &[
        (&["runn", hello], "run"),
        (&["run", hello, "--machine", "hickey960"], "did you mean `hikey960`"),
        (&["run", hello, "--machine", "no/such.toml"], "no/such.toml"),
        (&["run", hello, "--machine", "rustfmt.toml"], "rustfmt.toml:"),
        (&["run", hello, "--kernel", "2.6"], "4.19"),
        (&["run", hello, "--features", "NO_SIS_UTILL"], "NO_SIS_UTIL"),
        (&["run", hello, "--features", "whatever"], "`fairlab"),
        (&["run", hello, "--set", "latency_ns"], "TUNABLE=VALUE"),
        (&["run", hello, "--set", "latency_n=1"], "latency_ns"),
        (&["run", hello, "--set", "latency_ns=-1"], "from 0"),
        (&["run", hello, "--set", "latency_ns=1.5"], "from 0"),
        (&["run", hello, "--for", "5x"], "5s"),
        (&["run", hello, "--for", "18446744073.9s"], "1000000000s"),
        (&["run", hello, "--features", "SIS_UTIL,NO_SIS_UTIL"], "keep SIS_UTIL or NO_SIS_UTIL"),
        (&["compare", hello, "--arm", "latency_ns=1,latency_ns=2"], "keep latency_ns=1 or"),
        (&["run", hello, "--trace-jsonl", "-", "--json"], "standard output"),
        (&["run", hello, "--trace-jsonl", hello], "is an input of this command"),
        (&["run", hello, "-o", "target/no-such-run", "--trace-jsonl", "manifest.json"], "name of its own"),
        (&["run", hello, "--for", "0s"], "greater than 0"),
        (&["run", hello, "--seed", "x"], "--seed"),
        (&["run", hello, "--prices", "free"], "zero"),
        (&["run", hello, "--fact", "line_ns.lcc=40"], "did you mean line_ns.llc?"),
        (&["run", hello, "--fact", "line_ns.core=40"], "the processor of hikey960 has no such fact"),
        (&["run", hello, "--prices", "zero", "--fact", "line_ns.llc=40"], "zero cost on hikey960, and no facts"),
        (
            &["run", "scenarios/misfit.scn", "--fact", "line_ns.llc=40"],
            "costs and facts of another one with --prices NAME",
        ),
        (&["bench", "hackbench", "--plain", "--fact", "line_ns.llc=40"], "`--plain=priced` keeps costs and facts"),
        (&["compare", hello, "--arm", "fact.line_ns.llc=most"], "from 0 to 100000 (ns), least or greatest"),
        (&["study", "sensitivity", "no-such-study"], "pelt-time-scaling"),
        (&["run", hello, "--color", "blue"], "always"),
        (&["run", hello, "-o", "scenarios"], "scenarios"),
        (&["run", hello, "-o", "Cargo.toml"], "Cargo.toml"),
        (&["run", hello, "--trace-jsonl", "no/such/directory/x"], "no/such/directory/x"),
        (&["run", "scenarios/affinity-change.scn", "--machine", "uniprocessor"], "is not in 0..0"),
        (&["run", hello, "--vary"], "--seed"),
        (&["machine", "show", "nothing-like-it"], "hikey960"),
        (&["tunables", "--cpus", "0"], "--cpus"),
        (&["tunables", "--cpus", "4", "--machine", "hikey"], "--machine"),
        (&["study", "run", "no-such-study"], "pelt-time-scaling"),
        (&["completions", "cmd.exe"], "bash"),
        (&["run", hello, "--cpu-dma-latency", "20"], "write 20us"),
        (&["run", hello, "--kernel", "v5.4"], "did you mean 5.4?"),
        (&["run", hello, "--features", "NO_EAS"], "energy_aware=0"),
        (&["run", hello, "--set", "SIS_UTIL=1"], "write SIS_UTIL or NO_SIS_UTIL"),
        (&["features", "SIS_UTL"], "SIS_UTIL"),
        (&["tunables", "latency"], "fairlab tunables"),
        (&["compare", hello, "--arm", "off:energy_aware=0"], "off: energy_aware=0"),
        (&["compare", hello, "--arm", "governer=powersave"], "governor=powersave"),
        (&["import", "no-such.dat"], "there is no such file"),
        (&["import", "no-such.dat", "--json"], "there is no such file"),
        (&["run", hello, "--machin", "pi4", "--json"], "--machine"),
        (&["replay", "scenarios"], "which is a file"),
    ];
    for (args, expected) in cases {
        let text = complaint(&args.join(" "), &fairlab(args)).replace("\n  ", " ");
        assert!(text.contains(expected), "{args:?} does not mention {expected}:\n{text}");
    }
}

#[test]
fn a_workload_that_does_not_fit_its_machine_is_refused() {
    let file = "crates/workload/tests/data/rtapp/tutorial-example8.json";
    let text = complaint(file, &fairlab(&["run", file, "--machine", "uniprocessor"]));
    assert!(names_place(&text, file) && text.contains("choose a larger machine"), "{text}");
}

#[test]
fn a_program_that_never_rests_fails_with_status_1() {
    let output = fairlab_with_input(&["run", "-"], b"cpus 1\ntask t loop wake t\n");
    let text = String::from_utf8(output.stderr).expect("complaints are text");
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("error: <stdin>: no progress") && text.contains("task t"), "{text}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let scenario = "scenarios/numa.scn";
    for args in [&["run", scenario, "--trace-jsonl", "-"] as &[&str], &["run", scenario], &["features"]] {
        let mut child =
            program().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program ends");
        assert!(output.status.success(), "{args:?}: {:?}", output.status);
        assert!(output.stderr.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
