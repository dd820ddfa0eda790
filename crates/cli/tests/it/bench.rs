// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `fairlab bench`: the benchmarks' own options, and messages for options that they do not have.

use crate::common::{complaint, fairlab, json_of, number, program, stdout_of};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Runs a benchmark by a command line with spaces.
fn bench(line: &str) -> String {
    let args: Vec<&str> = ["bench"].into_iter().chain(line.split(' ')).collect();
    stdout_of(&args)
}

#[test]
fn every_benchmark_writes_its_own_form() {
    for (line, words) in [
        ("schbench --release 2020 -m 1 -t 2 -r 1", "Latency percentiles (usec) runtime 1 (s) ("),
        ("schbench --release 2016 -m 1 -t 2 -r 1 -s 10000 -c 10000", "Latency percentiles (usec)\n\t50.0000th: "),
        ("schbench -t 4 -r 1", "Wakeup Latencies percentiles (usec) runtime 1 (s) ("),
        ("schbench -t 4 -r 1 -R 20 -n 2 -F 64 -L", "final rps goal was 20\n"),
        ("hackbench -g 2 -f 3 -l 5 -s 200 --pipe --threads", "Running in threaded mode with 2 groups using 6 file"),
        ("hackbench -g 1 -l 5 --process --sockets", "Each sender will pass 5 messages of 100 bytes\nTime: 0."),
        ("perf sched pipe -l 200 --machine hikey", " usecs/op\n"),
        (
            "perf sched messaging -g 1 -l 5 -p -t",
            "# 20 sender and receiver threads per group\n# 1 groups == 40 threads run",
        ),
        ("netperf -4 -H 127.0.0.1 -t UDP_RR -c -C -l 1 --for 20ms", "MIGRATED UDP REQUEST/RESPONSE TEST"),
        ("tbench -t 1 2 127.0.0.1 --for 20ms", " MB/sec  2 clients  2 procs  max_latency="),
        ("cyclictest -t 2 -p 80 -i 2000 -l 5", "T: 1 (    1) P:79 I:2500 C:      5 Min:"),
        ("cyclictest -S -p 80 --hogs 4 --for 20ms", "T: 7 (    7) P:80 I:1000 C:     19 Min:"),
        ("stress-ng --sock 2 -t 50ms --metrics", "stress-ng: metrc: sock "),
        ("netperf -l 1 --for 20ms --warmup 30ms", "16384  131072 1        1       0.02 "),
        ("oltp --threads 2 --time 1 --for 100ms", "    transactions: "),
        ("micro pingpong-tcp-2cpus -r 50 --cpus 1,6", "pingpong-tcp-2cpus: "),
        ("micro sleep-200us -r 5", " ns per sleep, without the requested 200 us, 5 rounds"),
        ("make -j4 --objects 5", "make -j4: 5 objects\n\nreal\t0m0."),
    ] {
        let text = bench(line);
        assert!(text.contains(words) && text.ends_with('\n'), "{line}:\n{text}");
    }
}

#[test]
fn results_are_available_as_json_and_repeat() {
    let args =
        ["bench", "schbench", "--release", "2020", "-m", "2", "-t", "2", "-r", "2", "--machine", "sc7180", "--json"];
    let answer = json_of(&args);
    assert_eq!((answer["bench"].as_str(), answer["machine"].as_str()), (Some("schbench"), Some("sc7180")));
    assert_eq!(number(&answer["simulated_ns"]), 2_000_000_000);
    assert!(number(&answer["result"]["samples"]) > 0);
    assert_eq!(json_of(&args), answer);
    let with = |extra: [&str; 2]| {
        let args: Vec<&str> = args.into_iter().chain(extra).collect();
        json_of(&args)["digest"].clone()
    };
    assert_ne!(with(["--seed", "5"]), answer["digest"]);
    assert_eq!(with(["--seed", "5"]), with(["--seed", "5"]));
    assert_ne!(with(["--kernel", "5.4"]), answer["digest"]);
    assert_ne!(with(["--set", "base_slice_ns=6000000"]), answer["digest"]);
}

#[test]
fn wrong_options_get_a_way_out() {
    for (line, words) in [
        ("schbench -c 5", "--release 2016 or 2020 or 2021"),
        ("schbench --release 2016 -C 5", "--release 2020 or 2021"),
        ("schbench --release 2020 -R 100", "--release 2025"),
        ("schbench --release 2019", "2016, 2020, 2021, 2025"),
        ("schbench -m 0", "-m"),
        ("hackbench --pipe --sockets", "cannot be used with"),
        ("hackbench -s 100000", "1..=4096"),
        ("netperf -t TCP_STREAM", "TCP_RR"),
        ("netperf -H 10.0.0.1", "127.0.0.1"),
        ("tbench none", "NPROCS"),
        ("cyclictest -p 100", "0..=99"),
        ("stress-ng", "--sock"),
        ("stress-ng --sock 1 -t soon", "300ms"),
        ("perf sched", "messaging"),
        ("make --jobs 4 --object", "--objects"),
        ("hackbench --machine nowhere", "nowhere"),
        ("micro pingpong-pigeon-1cpu", "pass-pipe"),
        ("micro empty-call", "runs on real machines only"),
        ("micro pingpong-pipe-2cpus --cpus 3,3", "such as 0,1"),
        ("micro pingpong-pipe-2cpus --cpus 0,99", "CPUs are 0 to 7"),
        ("schbench --machine laptop-8", "--prices zero"),
        ("hackbench --warmup 5ms", "omit --warmup"),
        ("hackbench --prices zero", "no time would pass"),
        ("perf sched messaging --machine laptop-8", "only kernel work"),
        ("perf sched pipe --machine uniprocessor", "only kernel work"),
        ("dbench", "subcommand"),
    ] {
        let args: Vec<&str> = ["bench"].into_iter().chain(line.split(' ')).collect();
        let output = fairlab(&args);
        // A missing subcommand prints the help instead of an error.
        if line == "perf sched" {
            assert_eq!(output.status.code(), Some(2));
            assert!(String::from_utf8_lossy(&output.stdout).contains(words));
            continue;
        }
        let text = complaint(line, &output);
        assert!(text.replace("\n  ", " ").contains(words), "{line}:\n{text}");
    }
}

#[test]
fn a_pair_that_costs_nothing_cannot_be_asked_for() {
    let text = complaint("own work", &fairlab(&["bench", "netperf", "--own-work", "0"]));
    assert!(text.contains("--own-work"));
}

#[test]
fn a_signal_ends_a_benchmark_with_what_it_has_reached_and_marks_it() {
    for (signal, number_of, json) in [("INT", 2, false), ("TERM", 15, true)] {
        let mut command = program();
        command.args(["bench", "netperf", "-l", "1000000", "--machine", "hikey"]);
        command.args(json.then_some("--json")).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().expect("the program starts");
        std::thread::sleep(Duration::from_secs(2));
        let kill = ["-s", signal, &child.id().to_string()].map(str::to_owned);
        assert!(Command::new("kill").args(kill).status().expect("there is kill").success());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(128 + number_of));
        let text = String::from_utf8_lossy(&output.stdout);
        if json {
            let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is whole");
            // The machine has been up for 2 s, and the shell takes 530 us for the start.
            assert_eq!(number(&answer["cut_short_of_ns"]), 1_000_002_000_530_000);
            assert!(number(&answer["simulated_ns"]) < 1_000_000_000_000_000);
        } else {
            assert!(text.starts_with("stopped before the end") && text.contains("trans/s"), "{text}");
        }
    }
}

#[test]
fn a_receive_from_a_socket_pair_wakes_the_peer_that_waits_for_its_answer() {
    let place = tempfile::tempdir().expect("a directory");
    let waits = |channel: &str| {
        let directory = place.path().join(channel);
        let (test, export) = (format!("pingpong-{channel}-1cpu"), format!("proc-sched={}", directory.display()));
        let words = ["--rounds", "50", "--machine", "xeon-2s-104", "--kernel", "6.1", "--export", &export];
        stdout_of(&[&["bench", "micro", &test], &words[..]].concat());
        let count = |task: &str| {
            let text = std::fs::read_to_string(directory.join(task).join("sched")).expect("the export has the task");
            let line = text.lines().find(|line| line.starts_with("nr_voluntary_switches")).expect("it counts switches");
            line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok()).expect("a number")
        };
        count("1000") + count("1001")
    };
    // In each round one task is woken at the receive, finds no message and waits again.
    let (pipe, unix) = (waits("pipe"), waits("unix"));
    assert!((pipe + 45..pipe + 55).contains(&unix), "{pipe} {unix}");
}

#[test]
fn pairs_of_one_group_contend_for_its_load_unless_updates_are_limited() {
    let rate = |options: &str| {
        let line = "netperf -t UDP_RR --instances 72 --machine xeon-2s-104 --kernel 6.1 --warmup 10ms --for 10ms";
        let text = bench(&format!("{line} {options}"));
        let last = text.lines().last().and_then(|line| line.split(": ").nth(1)?.split(' ').next()?.parse::<f64>().ok());
        last.unwrap_or_else(|| panic!("no rate of all instances: {text}"))
    };
    let limited = rate("--autogroup on --set group_load_interval_ns=1000000");
    let (in_group, in_root) = (rate("--autogroup on"), rate("--autogroup off"));
    assert!(in_group < limited && limited < in_root, "{in_group} {limited} {in_root}");
    assert_eq!(
        rate("--autogroup off --set group_load_interval_ns=1000000"),
        in_root,
        "the root group's load is no sum"
    );
}

#[test]
fn schbench_without_an_end_needs_a_measured_time() {
    let line = "bench schbench -L -m 4 -M auto -t 8 -n 0 -r 0 -s 0 --machine xeon-2s-104";
    let words: Vec<&str> = line.split(' ').collect();
    assert!(complaint("runs until it is stopped", &fairlab(&words)).contains("--for"));
    let result = json_of(&[&words[..], &["--for", "5ms", "--json"]].concat());
    assert!(result["result"]["average_rps"].as_f64() > Some(10_000.0), "{result:#}");
}
