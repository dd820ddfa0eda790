// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that the numbers of a summary are consistent with each other and with the trace.

use crate::common::{files, items, json_of, number, root, stdout_of, sum};
use serde_json::Value;

/// Checks all properties of a summary.
fn check(what: &str, summary: &Value) {
    let duration = number(&summary["duration_ns"]);
    let (cpus, families, totals) = (&summary["cpus"], &summary["families"], &summary["totals"]);
    for cpu in items(cpus) {
        let idle = number(&cpu["idle_ns"]);
        let online = duration - cpu["offline_ns"].as_u64().unwrap_or(0);
        assert_eq!(number(&cpu["busy_ns"]) + idle, online, "{what}: busy and idle time of {cpu}");
        if !items(&cpu["frequencies"]).is_empty() {
            assert_eq!(sum(&cpu["frequencies"], "ns"), online, "{what}: frequencies of {cpu}");
            assert_eq!(sum(&cpu["frequencies"], "idle_ns"), idle, "{what}: idle time by frequency of {cpu}");
        }
        if !items(&cpu["idle_states"]).is_empty() {
            let in_kernel = number(&cpu["kernel_in_idle_ns"]);
            assert_eq!(sum(&cpu["idle_states"], "ns") + in_kernel, idle, "{what}: idle states of {cpu}");
        }
    }
    assert_eq!(sum(cpus, "busy_ns"), number(&totals["busy_ns"]), "{what}");
    let of_tasks = sum(families, "run_ns") + sum(cpus, "stopper_ns");
    assert_eq!(of_tasks, number(&totals["busy_ns"]), "{what}: run time of tasks and stoppers, busy time of CPUs");
    assert_eq!(sum(families, "wait_ns"), number(&totals["wait_ns"]), "{what}");
    assert_eq!(sum(cpus, "switches"), number(&totals["switches"]), "{what}");
    for family in items(families) {
        let by_capacity = items(&family["run_by_capacity"]).iter().map(|part| number(&part[1])).sum::<u64>();
        assert_eq!(by_capacity, number(&family["run_ns"]), "{what}: {family}");
        let residency = &family["residency"];
        if !residency.is_null() {
            assert_eq!(sum(&residency["points"], "ns"), number(&family["run_ns"]), "{what}: {residency}");
            let misplaced = number(&residency["too_small_ns"]) + number(&residency["too_large_ns"]);
            assert!(misplaced <= number(&family["run_ns"]), "{what}: {residency}");
        }
        let latency = &family["wakeup_latency"];
        if !latency.is_null() {
            let quantiles = ["min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"].map(|key| number(&latency[key]));
            assert!(quantiles.is_sorted(), "{what}: {latency}");
            // A task that was woken and has no CPU yet at the end has no latency; one that was woken in the warm-up has one.
            let open = number(&family["wakeups"]).abs_diff(number(&latency["count"]));
            assert!(open <= number(&family["tasks"]), "{what}: {family}");
        }
    }
    let selection = &summary["selection"];
    let by_rule = items(&selection["by_rule"]).iter().map(|rule| number(&rule[1])).sum::<u64>();
    assert_eq!(
        by_rule,
        ["wakeups", "forks", "execs"].iter().map(|kind| number(&selection[kind])).sum::<u64>(),
        "{what}"
    );
    check_measures(what, summary);
}

/// Checks that measurements agree with counters of the summary.
fn check_measures(what: &str, summary: &Value) {
    let (measure, balance) = (&summary["measure"], &summary["balance"]);
    let passes = &measure["passes"];
    assert_eq!(sum(passes, "passes"), number(&balance["passes"]), "{what}");
    assert_eq!(sum(passes, "moved"), number(&balance["moved"]), "{what}");
    assert_eq!(sum(passes, "active"), number(&balance["active"]), "{what}");
    assert_eq!(sum(passes, "failed"), number(&balance["failed"]), "{what}");
    assert_eq!(sum(&measure["kicks"], "interrupts"), number(&balance["kicks"]), "{what}");
    for row in items(&measure["kicks"]) {
        let by_reason = row["by_reason"].as_object().expect("reasons have names").values().map(number).sum::<u64>();
        assert_eq!(by_reason, number(&row["calls"]), "{what}: {row}");
    }
    assert_eq!(sum(&measure["blocked"]["by_caller"], "calls"), number(&measure["blocked"]["calls"]), "{what}");
    let search = &measure["search"];
    for counter in ["sis_search", "sis_domain_search", "sis_scanned", "sis_failed"] {
        assert_eq!(sum(&search["per_cpu"], counter), number(&search["total"][counter]), "{what}: {counter}");
    }
    let count = |counter: &str| number(&search["total"][counter]);
    assert!(count("sis_search") <= number(&summary["selection"]["wakeups"]), "{what}");
    assert!(count("sis_failed") <= count("sis_domain_search"), "{what}");
    assert!(count("sis_domain_search") <= count("sis_search"), "{what}");
    let looked_at = count("sis_scanned") - count("sis_search");
    assert!(looked_at <= number(&summary["selection"]["cpus_scanned"]), "{what}");
}

#[test]
fn the_numbers_of_every_scenario_add_up() {
    for file in files("scenarios", &[".scn", ".json"]) {
        check(&file, &json_of(&["run", &file, "--json"]));
    }
}

#[test]
fn the_numbers_add_up_on_every_machine() {
    for machine in items(&json_of(&["machine", "list", "--json"])) {
        let name = machine["name"].as_str().expect("machines have names");
        let args = ["run", "scenarios/hello.json", "--machine", name, "--for", "200ms", "--json"];
        let summary = json_of(&args);
        assert_eq!(items(&summary["cpus"]).len() as u64, number(&machine["cpus"]));
        check(name, &summary);
    }
}

#[test]
fn a_summary_counts_what_the_trace_shows() {
    for file in ["scenarios/numa.scn", "scenarios/realtime.scn", "scenarios/misfit.scn", "scenarios/newidle.scn"] {
        let trace = stdout_of(&["run", file, "--trace-jsonl", "-"]);
        let events: Vec<Value> = trace.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let of_kind = |kind: &'static str| events.iter().filter(move |event| event["e"] == kind);
        let is_task = |event: &&Value| (1000..100_000).contains(&event["pid"].as_i64().unwrap_or(0));
        let summary = json_of(&["run", file, "--json"]);
        let total = |key: &str| number(&summary["totals"][key]);
        assert_eq!(of_kind("switch").count() as u64, total("switches"), "{file}");
        assert_eq!(of_kind("ipi").count() as u64, total("ipis"), "{file}");
        assert_eq!(
            of_kind("wakeup").filter(is_task).filter(|event| event["new"] == 0).count() as u64,
            total("wakeups")
        );
        let migrated = sum(&summary["families"], "migrations");
        assert_eq!(of_kind("migrate").filter(is_task).count() as u64, migrated, "{file}");
        assert_eq!(of_kind("task").count() as u64, total("tasks"), "{file}");
        let runtime: i64 = of_kind("task").map(|event| event["runtime"].as_i64().expect("a number")).sum();
        assert_eq!(runtime as u64, total("busy_ns"), "{file}");
    }
}

#[test]
fn waiting_is_what_the_scheduler_calls_run_delay() {
    // All tasks of these scenarios exit, so none waits at the end of the run.
    for file in ["scenarios/newidle.scn", "scenarios/fork-spread.scn"] {
        let trace = stdout_of(&["run", file, "--trace-jsonl", "-"]);
        let lines = trace.lines().filter(|line| line.starts_with("{\"e\":\"schedstat\""));
        let delay = |line: &str| number(&serde_json::from_str::<Value>(line).expect("JSON")["run_delay"]);
        let delay: u64 = lines.map(delay).sum();
        assert_eq!(delay, number(&json_of(&["run", file, "--json"])["totals"]["wait_ns"]), "{file}");
    }
}

/// Machine with frequencies that share a fraction of 1024, and with different idle states on its CPUs.
const TWO_STATES: &str = "crates/cli/tests/data/two-idle-states.toml";
const TURNS: &str = "crates/cli/tests/data/turns.json";

#[test]
fn the_numbers_add_up_after_a_warm_up() {
    for machine in ["hikey960", "laptop-8", "xeon-2s-224", TWO_STATES] {
        for warmup in ["1ns", "33ms", "77777us"] {
            let args =
                ["run", "scenarios/hello.json", "--machine", machine, "--warmup", warmup, "--for", "100ms", "--json"];
            check(&format!("{machine} after {warmup}"), &json_of(&args));
        }
    }
}

#[test]
fn idle_energy_is_known_after_a_warm_up_and_counts_each_state_by_its_own_power() {
    for warmup in [&["--for", "1s"] as &[&str], &["--warmup", "33ms", "--for", "100ms"]] {
        let summary = json_of(&[&["run", TURNS, "--machine", TWO_STATES, "--json"], warmup].concat());
        let energy = &summary["energy"];
        let states: Vec<&str> =
            items(&energy["domains"][0]["idle_states"]).iter().filter_map(|state| state["state"].as_str()).collect();
        assert_eq!(states, ["A", "B"]);
        let of = |cpu: usize, power: u64| number(&summary["cpus"][cpu]["idle_states"][0]["ns"]) * power / 1_000_000_000;
        assert_eq!(number(&energy["idle_uj"]), of(0, 10_000) + of(1, 40_000), "{energy}");
    }
}

#[test]
fn an_offline_cpu_has_no_energy() {
    let file = std::env::temp_dir().join(format!("fairlab-offline-{}.scn", std::process::id()));
    let machine = root().join(TWO_STATES);
    let text = format!("machine {}\nend 1s\ntask hog cpu=0 mask=0-0 run 10s\noffline 300ms 1\n", machine.display());
    std::fs::write(&file, text).expect("it can be written");
    let summary = json_of(&["run", file.to_str().expect("a path"), "--json"]);
    std::fs::remove_file(&file).expect("it is there");
    check("offline", &summary);
    // CPU 1 idles in state B, of 40 mW, for 300 ms; before, it counted for 700 ms more.
    let idle = number(&summary["energy"]["idle_uj"]);
    assert!((11_900..=12_000).contains(&idle), "{idle}");
    assert_eq!(number(&summary["cpus"][1]["offline_ns"]), 700_000_000);
}

#[test]
fn a_family_has_no_more_energy_than_its_domain() {
    for governor in ["schedutil", "powersave", "performance"] {
        let args = ["run", TURNS, "--machine", TWO_STATES, "--governor", governor, "--json"];
        let summary = json_of(&args);
        let family = number(&summary["families"][0]["residency"]["energy_uj"]);
        let domain = number(&summary["energy"]["busy_uj"]);
        // Both are rounded down at each operating point. Stoppers have the rest.
        assert!(family <= domain + 2 && 100 * family >= 95 * domain, "{governor}: {family} of {domain}");
    }
}

#[test]
fn speed_that_a_scenario_lowers_is_not_full_speed() {
    let file = std::env::temp_dir().join(format!("fairlab-slow-{}.scn", std::process::id()));
    let text = "cpus 2\ncaps 1024 512\nscale 1\nend 1s\nfreq 250ms 0 256\ntask hog cpu=0 mask=0-0 loop run 10ms\n";
    std::fs::write(&file, text).expect("it can be written");
    let page = stdout_of(&["run", file.to_str().expect("a path"), "--measure", "residency"]);
    std::fs::remove_file(&file).expect("it is there");
    assert!(page.contains("256/1024 of full speed 75.0%, full speed 25.0%"), "{page}");
}

#[test]
fn traces_have_the_turbo_frequencies() {
    let trace =
        stdout_of(&["run", "scenarios/hello.json", "--machine", "laptop-8", "--for", "100ms", "--export", "ftrace=-"]);
    let mut khz: Vec<&str> =
        trace.lines().filter_map(|line| line.split("cpu_frequency: state=").nth(1)?.split(' ').next()).collect();
    khz.sort_unstable();
    khz.dedup();
    assert!(khz.len() > 1 && !khz.contains(&"1024000"), "{khz:?}");
}
