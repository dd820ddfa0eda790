// SPDX-License-Identifier: GPL-2.0-or-later
//! Whole runs that match Linux 6.1.192's own scheduler line by line.
//!
//! `tests/data/oracle/NAME.txt` is a scenario. `NAME.jsonl.zst` is its trace from the reference, which is the
//! kernel's `kernel/sched` compiled as a program. It has each wake-up, switch, migration, interrupt and
//! balancing step, and snapshots of the whole state; with `pelt-` also every update of an average. fairlab's
//! trace must be identical in every byte. Invariants are checked during the runs.

use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_traces::trace_jsonl::{TraceJsonl, TraceOptions};
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/oracle").join(name)
}

/// Returns the trace of a scenario from the built-in scheduler.
fn trace(name: &str) -> String {
    let path = data(name).with_extension("txt");
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{shown}: {error}"));
    let scenario =
        fairlab_workload::scenario::parse(&shown, &text, KernelSeries::V6_1).unwrap_or_else(|error| panic!("{error}"));
    let (nr_cpus, options) = (scenario.machine.nr_cpus as usize, TraceOptions::of_scenario(&scenario, 1));
    let mut machine = Machine::new(Setup::from_scenario(scenario)).expect("the scenario's machine can be made");
    machine.check_every_event(format!("cargo test -p fairlab-traces --test it oracle_traces {name}"));
    let mut out = Vec::new();
    let mut trace = TraceJsonl::new(&mut out, nr_cpus, options);
    machine.run(&mut trace).unwrap_or_else(|error| panic!("{shown}: {error}"));
    trace.write_totals(&machine);
    trace.finish().expect("memory can be written");
    String::from_utf8(out).expect("JSON is text")
}

/// Compares a run with its recording, which has this many lines.
fn compare(name: &str, nr_lines: usize) {
    let packed = std::fs::read(data(name).with_extension("jsonl.zst")).expect("there is a recording");
    let recorded = String::from_utf8(zstd::decode_all(&packed[..]).expect("it is zstd data")).expect("JSON is text");
    let actual = trace(name);
    let mut nr_compared = 0;
    let mut lines = actual.lines();
    for line in recorded.lines() {
        assert_eq!(lines.next(), Some(line), "{name}: line {}, ours and the kernel's", nr_compared + 1);
        nr_compared += 1;
    }
    assert_eq!(lines.next(), None, "{name}: we go on after {nr_compared} lines");
    assert_eq!(nr_compared, nr_lines, "{name}: the recording has another number of lines than it should");
}

macro_rules! traces {
    ($($name:ident $file:literal $nr_lines:literal)*) => {
        $(#[test]
        fn $name() {
            compare($file, $nr_lines);
        })*
    };
}

traces! {
    tasks_of_different_nice_values_on_four_cpus "nice4" 2618
    groups_in_three_levels "cgroup" 2797
    frequency_steps_of_a_busy_and_of_a_periodic_cpu "freq" 1827
    every_average_while_frequencies_change "pelt-freq" 762
    every_average_while_load_travels_through_groups "pelt-cgroup" 9396
    interrupts_that_take_time "irq" 4044
    pinned_tasks_beside_others_on_sixteen_cpus "pinned16" 15590
    a_mix_of_tasks_on_sixteen_cpus "mix16" 36592
    real_time_tasks_beside_fair_ones "rtmix" 4687
    real_time_tasks_that_use_up_their_runtime "rt-throttle" 328
    real_time_runtime_that_is_borrowed "rt-share" 3236
    real_time_tasks_that_are_pushed_and_pulled "rt-push-pull" 803
    real_time_tasks_that_are_pushed_when_asked "rt-push-ipi" 942
    tasks_that_come_to_the_real_time_class_and_leave_it "rt-policies" 322
    waves_of_short_forked_tasks "fork" 4739
    misfit_tasks_on_two_kinds_of_cpus "biglittle" 3429
    tickless_cpus_on_a_mostly_idle_machine "nohz32" 38871
    four_nodes_in_a_ring "numa32" 28830
    the_search_for_an_idle_cpu_on_sixty_four "sis64" 84167
    groups_with_quotas "bandwidth" 3372
    every_average_while_a_group_above_another_is_throttled "pelt-throttled-branch" 2330
    deadline_tasks_under_and_over_their_budgets "deadline" 1512
    attributes_that_change_while_tasks_run "changes" 604
    allowed_cpus_that_change_while_tasks_run "affinity" 164
    tasks_between_real_time_and_idle_policies_until_load_wraps "idle-policies" 1457
    a_quota_whose_period_is_below_a_tick "quota-below-tick" 20
    changes_at_one_instant "changes-at-once" 1174
    three_kinds_of_cpus_with_schedutil_and_energy "eas" 1530
}
