// SPDX-License-Identifier: GPL-2.0-or-later
//! Latency as a program observes it: from the expiry of a timer, or the call of a waker, until the woken task
//! continues.

use fairlab_board::parse;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_measure::families::FamilySummary;
use fairlab_measure::summary_observer::SummaryObserver;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::work::KernelOp;
use fairlab_workload::scenario;

/// Returns the summaries of a scenario's task families, on a machine from a file.
fn run(machine: &str, tasks: &str) -> Vec<FamilySummary> {
    run_with_costs(machine, &[], tasks)
}

/// As [`run`], with costs of single operations in nanoseconds.
fn run_with_costs(machine: &str, costs: &[(KernelOp, u64)], tasks: &str) -> Vec<FamilySummary> {
    let description = parse("test.toml", machine).unwrap_or_else(|error| panic!("{error}"));
    let scenario = format!("cpus {}\nend 200ms\n{tasks}", description.nr_cpus());
    let scenario = scenario::parse("test.scn", &scenario, KernelSeries::V6_1).unwrap_or_else(|error| panic!("{error}"));
    let mut hardware = Hardware::from_description(&description);
    costs.iter().for_each(|&(op, ns)| hardware.costs.set_op(op, ns * 1000));
    let setup = Setup { hardware, ..Setup::from_scenario(scenario) };
    let mut machine = Machine::new(setup).expect("a possible machine");
    let mut recorder = SummaryObserver::new(&machine);
    machine.run(&mut recorder).expect("tasks make progress");
    recorder.families.summaries(machine.now())
}

/// Returns the median from waking to running, and the median of the scheduler's own latency.
fn medians(family: &FamilySummary) -> (u64, u64) {
    let median = |latency: Option<fairlab_measure::latency::LatencySummary>| latency.expect("it was woken").p50_ns;
    (median(family.wake_to_run), median(family.wakeup_latency))
}

#[test]
fn leaving_an_idle_state_lies_in_what_a_program_sees_and_not_in_the_queue() {
    let machine = "name = \"one\"\n[cpus]\ncount = 1\n[[idle_state]]\nname = \"deep\"\nexit_latency_ns = 100_000\n\
        target_residency_ns = 0\n";
    let families = run(machine, "task t run 1ms sleep 2ms");
    // Histograms have three significant digits.
    let (to_run, queued) = medians(&families[0]);
    assert!(to_run.abs_diff(100_000) <= 100 && queued == 0, "{to_run} and {queued}");
}

#[test]
fn interrupts_and_kernel_code_lie_in_what_a_program_sees() {
    let machine = "name = \"two\"\nipi_ns = 5_000\n[cpus]\ncount = 2\n";
    let costs = [
        (KernelOp::IpiReceive, 1_000),
        (KernelOp::Wakeup, 2_000),
        (KernelOp::Enqueue, 3_000),
        (KernelOp::ContextSwitch, 4_000),
    ];
    let families = run_with_costs(machine, &costs, "task t run 1ms sleep 2ms");
    let (to_run, queued) = medians(&families[0]);
    // The timer's CPU is the task's own: the sum includes waking, enqueueing, switching, and the interrupt at
    // the scheduler's rate.
    assert!(to_run >= 9_000, "{to_run}");
    assert!(queued < to_run - 8_000, "{queued} of {to_run}");
}

#[test]
fn a_waker_s_call_begins_the_latency_also_of_a_task_on_another_cpu() {
    let machine = "name = \"two\"\nipi_ns = 5_000\n[cpus]\ncount = 2\ncores_per_llc = 1\nlevels = [\"all\"]\n";
    let families = run(machine, "task waker mask=0 run 1ms wake t sleep 1ms\ntask t mask=1 cpu=1 loop wait run 100us");
    // The interrupt takes 5 us until the other CPU enqueues the task; all later steps take no time.
    assert_eq!(medians(&families[1]), (5_000, 0));
}

#[test]
fn without_prices_and_interrupts_both_are_the_same() {
    let machine = "name = \"one\"\n[cpus]\ncount = 1\n";
    for family in run(machine, "task t n=3 run 1ms sleep 2ms\ntask hog run 5ms") {
        assert_eq!(family.wake_to_run, family.wakeup_latency, "{}", family.name);
    }
}
