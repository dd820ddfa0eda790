// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernel code that takes time: deferred interrupts, simultaneous wake-ups, spinning for locks. All numbers
//! are computed by hand.

use fairlab_machine::costs::CostModel;
use fairlab_machine::hardware::IdleState;
use fairlab_machine::observer::{KernelPath, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START, Setup};
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::KernelOp;
use std::collections::BTreeMap;

/// Wake-ups (not forks) and switches, by time since the start, and time by path.
#[derive(Default)]
struct KernelTimeLog {
    woken: Vec<(u64, CpuId)>,
    switches: Vec<(u64, CpuId)>,
    paths: BTreeMap<KernelPath, u64>,
    took: u64,
    waited: u64,
}

impl SchedObserver for KernelTimeLog {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        let at = now.0.saturating_sub(START.0);
        match *event {
            Event::Wakeup { cpu, is_new: false, .. } => self.woken.push((at, cpu)),
            Event::Switch { cpu, .. } => self.switches.push((at, cpu)),
            _ => {}
        }
    }
}

impl Observer for KernelTimeLog {
    fn machine_event(&mut self, _now: Nanos, event: &MachineEvent) {
        if let MachineEvent::Kernel { path, took, waited, .. } = *event {
            *self.paths.entry(path).or_default() += took.0;
            self.took += took.0;
            self.waited += waited.0;
        }
    }

    fn wants_kernel_paths(&self) -> bool {
        true
    }
}

fn run(scenario: &str, prices_ns: &[(KernelOp, u64)]) -> (Machine, KernelTimeLog) {
    let mut prices = CostModel::zero_cost();
    for &(op, ns) in prices_ns {
        prices.set_op(op, ns * 1000);
    }
    run_with(scenario, prices)
}

fn run_with(scenario: &str, prices: CostModel) -> (Machine, KernelTimeLog) {
    run_where(scenario, prices, false)
}

fn run_where(scenario: &str, prices: CostModel, polling_idle: bool) -> (Machine, KernelTimeLog) {
    let mut setup = Setup::from_scenario(
        fairlab_workload::scenario::parse("test.scn", scenario, KernelSeries::V6_1).expect("well-formed"),
    );
    setup.hardware.costs = prices;
    setup.hardware.polling_idle = polling_idle;
    let mut machine = Machine::new(setup).expect("a possible machine");
    machine.check_every_event("a test of kernel time");
    let mut notes = KernelTimeLog::default();
    machine.run(&mut notes).expect("tasks make progress");
    (machine, notes)
}

/// Two simultaneous wakers on different CPUs, two sleepers that were on CPU 2, and an idle CPU.
const TWO_WAKERS: &str = "cpus 4\nend 2ms\nfeature SIS_UTIL 0\n\
    task x cpu=2 mask=2-2 wait run 10us\n\
    task y cpu=2 mask=2-2 wait run 10us\n\
    task a cpu=0 mask=0-0 run 1ms wake x run 1s\n\
    task b cpu=1 mask=1-1 run 1ms wake y run 1s\n\
    affinity 500us x 0-3\naffinity 500us y 0-3\n";

#[test]
fn two_wakers_choose_the_same_idle_cpu_if_looking_takes_time() {
    let cpus = |notes: &KernelTimeLog| notes.woken.iter().map(|&(_, cpu)| cpu.0).collect::<Vec<_>>();
    let (_, free) = run(TWO_WAKERS, &[]);
    assert_eq!(cpus(&free)[0], 2, "the first waker finds the previous CPU idle");
    assert_ne!(cpus(&free)[1], 2, "the second waker finds that it is taken");
    let (_, priced) = run(TWO_WAKERS, &[(KernelOp::Wakeup, 1_000)]);
    assert_eq!(cpus(&priced), [2, 2], "both scan before either has enqueued");
}

#[test]
fn who_needs_a_lock_that_is_held_spins_first_come_first_served() {
    let scenario = "cpus 3\nend 2ms\nfeature TTWU_QUEUE 0\n\
        task x cpu=2 mask=2-2 wait run 10us\n\
        task y cpu=2 mask=2-2 wait run 10us\n\
        task a cpu=0 mask=0-0 run 1ms wake x run 1s\n\
        task b cpu=1 mask=1-1 run 1ms wake y run 1s\n";
    let (machine, notes) = run(scenario, &[(KernelOp::Wakeup, 1_000), (KernelOp::Enqueue, 300)]);
    // Each waker was enqueued by its fork, which took 300 ns; it runs for 1 ms and selects for 1000 ns. Then
    // a holds the lock of CPU 2 for 300 ns, after which its wake-up is visible; b spins for that time. CPU 2,
    // which a's interrupt has called, spins until b is done.
    let woken: Vec<_> = notes.woken.iter().map(|&(at, _)| at).collect();
    assert_eq!(woken, [1_001_600, 1_001_900]);
    let after = |&&(at, cpu): &&(u64, CpuId)| cpu == CpuId(2) && at > 1_000_000;
    assert_eq!(notes.switches.iter().find(after), Some(&(1_001_900, CpuId(2))));
    let waits: Vec<_> = machine.counters().per_cpu.iter().map(|cpu| (cpu.lock_waits, cpu.lock_wait_time.0)).collect();
    assert_eq!(waits, [(0, 0), (1, 300), (1, 300)]);
    assert_eq!(notes.waited, 600);
}

#[test]
fn an_idle_cpu_that_polls_needs_no_interrupt_but_a_busy_one_does() {
    // CPU 1 idles when `b` is woken on it. CPU 2 runs a hog when `c` is woken, which preempts the hog.
    let scenario = "cpus 3\nend 3ms\n\
        task a cpu=0 mask=0-0 run 1ms wake b run 1ms wake c run 1s\n\
        task b cpu=1 mask=1-1 wait run 10us\n\
        task c nice=-20 cpu=2 mask=2-2 wait run 10us\n\
        task hog nice=19 cpu=2 mask=2-2 start=500us run 1s\n";
    let mut prices = CostModel::zero_cost();
    prices.set_op(KernelOp::IpiSend, 1_000_000);
    prices.set_op(KernelOp::IpiReceive, 2_000_000);
    let took = |polling_idle| {
        let (_, notes) = run_where(scenario, prices.clone(), polling_idle);
        assert_eq!(notes.woken.iter().map(|&(_, cpu)| cpu).collect::<Vec<_>>(), [CpuId(1), CpuId(2)]);
        (notes.took, notes.woken[0].0)
    };
    let ((interrupted, late), (polled, early)) = (took(false), took(true));
    assert_eq!(polled, 3_000, "one interrupt, to the hog's CPU");
    assert!(interrupted >= polled + 3_000, "{interrupted} ns");
    assert!(early < late, "{early} and {late}");
}

#[test]
fn an_idle_cpu_that_has_to_reschedule_first_comes_out_of_its_idle_state() {
    // Without TTWU_QUEUE the waker enqueues the task itself, so CPU 1 must reschedule while it is still in
    // its idle state.
    for feature in ["TTWU_QUEUE 1", "TTWU_QUEUE 0"] {
        let scenario = format!(
            "cpus 2\nend 3ms\nfeature {feature}\ntask x cpu=1 mask=1-1 wait run 10us\n\
             task a cpu=0 mask=0-0 run 1ms wake x run 1s\n"
        );
        let mut setup = Setup::from_scenario(
            fairlab_workload::scenario::parse("test.scn", &scenario, KernelSeries::V6_1).expect("well-formed"),
        );
        setup.hardware.costs.set_op(KernelOp::Wakeup, 1_000_000);
        setup.hardware.idle_states[1] = vec![IdleState {
            name: "deep".to_owned(),
            exit_latency: Nanos::from_micros(200),
            exit_typical: None,
            entry_latency: Nanos::ZERO,
            target_residency: Nanos::ZERO,
            polls: false,
            power_uw: None,
        }];
        let mut machine = Machine::new(setup).expect("a possible machine");
        let mut notes = KernelTimeLog::default();
        machine.run(&mut notes).expect("tasks make progress");
        let runs = notes.switches.iter().find(|&&(at, cpu)| cpu == CpuId(1) && at > 1_000_000);
        assert_eq!(runs, Some(&(1_201_000, CpuId(1))), "{feature}");
    }
}

#[test]
fn an_interrupt_waits_until_its_cpu_is_through() {
    // The tick at 4 ms takes until 4.5 ms. The end of a sleep in that time is handled at 4.5 ms, and the
    // selection takes 2 us.
    let scenario = "cpus 1\nend 5ms\ntask s sleep 4100us run 10us\ntask hog run 1s\n";
    let (machine, notes) = run(scenario, &[(KernelOp::Tick, 500_000), (KernelOp::Wakeup, 2_000)]);
    assert_eq!(notes.woken.first(), Some(&(4_502_000, CpuId(0))));
    let kernel = machine.counters().per_cpu[0].kernel;
    assert_eq!(kernel, Nanos(502_000), "one tick and one wake-up");
    assert_eq!(notes.paths[&KernelPath::Tick], 500_000);
    assert_eq!(notes.paths[&KernelPath::Select], 2_000);
}

#[test]
fn time_in_the_kernel_is_time_of_the_task_but_not_its_work() {
    // Ten wake-ups of 10 us each, of a task that does not sleep, between eleven steps of 100 us.
    let program = "run 100us wake hog ".repeat(10);
    let scenario =
        format!("cpus 1\nend 10ms\ntask hog nice=19 cpu=0 start=9ms run 1s\ntask a {program} run 100us exit\n");
    let (machine, _) = run(&scenario, &[(KernelOp::Wakeup, 10_000)]);
    let a = machine.tasks().iter().find(|task| task.name == "a").expect("it is in the scenario");
    // The hog is not forked yet, so those wake-ups are lost before they cost anything.
    assert_eq!((a.runtime_ns, a.kernel_ns), (1_100_000, 0));
    let (machine, _) = run(&scenario.replace("start=9ms", "start=0ms"), &[(KernelOp::Wakeup, 10_000)]);
    let a = machine.tasks().iter().find(|task| task.name == "a").expect("it is in the scenario");
    assert_eq!((a.runtime_ns, a.kernel_ns), (1_200_000, 100_000));
}

#[test]
fn what_observers_hear_is_all_the_time_in_the_kernel() {
    let scenario = "cpus 4\nend 50ms\ngroup g\n\
        task p n=6 group=g runr 20us 200us sleepr 50us 400us\ntask a wake b wait run 30us\ntask b wait run 20us wake a\n";
    let prices: Vec<_> = KernelOp::ALL.iter().map(|&op| (op, 150)).collect();
    let (machine, notes) = run(scenario, &prices);
    let kernel: u64 = machine.counters().per_cpu.iter().map(|cpu| cpu.kernel.0).sum();
    let waiting: u64 = machine.counters().per_cpu.iter().map(|cpu| cpu.lock_wait_time.0).sum();
    let ahead = (notes.took + notes.waited).checked_sub(kernel).expect("a phase is reported when it begins");
    assert!(ahead < 4 * 20_000, "no more than the phases that the end has cut off: {ahead} ns");
    assert_eq!(notes.waited, waiting);
    assert!(waiting > 0 && kernel > 1_000_000);
}

#[test]
fn who_looks_at_a_runqueue_at_the_same_time_waits_for_its_line() {
    // Three simultaneous wakers on different CPUs. Their sleepers were all on CPU 3, whose line each of them
    // needs.
    let scenario = "cpus 8\ntopo llc=4\nend 2ms\nfeature SIS_UTIL 0\n\
        task s n=3 cpu=3 mask=3-3 wait run 10us\n\
        task a cpu=0 mask=0-0 run 1ms wake s0 exit\n\
        task b cpu=1 mask=1-1 run 1ms wake s1 exit\n\
        task c cpu=2 mask=2-2 run 1ms wake s2 exit\n\
        affinity 500us s0 0-7\naffinity 500us s1 0-7\naffinity 500us s2 0-7\n";
    let mut prices = CostModel::zero_cost();
    prices.set_line_transfer(1_000_000, 3_000_000);
    let (machine, _) = run_with(scenario, prices);
    let per_cpu = &machine.counters().per_cpu;
    assert!(per_cpu.iter().any(|cpu| cpu.line_wait_ps > 0), "no CPU has waited for a line");
    for cpu in per_cpu {
        let busy_ps = (cpu.kernel - cpu.lock_wait_time).0 * 1000 - cpu.line_wait_ps;
        let (least, most) = (cpu.line_transfers * 1_000_000, cpu.line_transfers * 3_000_000);
        assert!((least..=most).contains(&busy_ps), "{} transfers took {busy_ps} ps", cpu.line_transfers);
        assert_eq!(busy_ps % 1_000_000, 0, "nothing else has a cost");
    }
}

#[test]
fn of_cpus_that_tick_at_one_instant_the_fastest_takes_the_timekeeping() {
    let keepers = |scenario: &str| {
        let (machine, _) = run(scenario, &[(KernelOp::Timekeeping, 1_000)]);
        machine.counters().per_cpu.iter().map(|cpu| cpu.kernel.0).collect::<Vec<_>>()
    };
    // Ticks are at 4 and 8 ms. The task of CPU 1 sleeps from 5 ms on: then CPU 0 has the duty, as the only
    // CPU that ticks. The tick takes twice as long there if CPU 0 has half the capacity.
    let scenario = "cpus 2\nend 9ms\ntask a cpu=0 mask=0-0 run 1s\ntask b cpu=1 mask=1-1 run 5ms sleep 1s\n";
    assert_eq!(keepers(&format!("{scenario}scale 1\ncaps 512 1024\n")), [2_000, 1_000]);
    assert_eq!(keepers(scenario), [2_000, 0]);
}

#[test]
fn every_path_that_observers_may_hear_of_is_taken_somewhere() {
    let numa = include_str!("../../../../scenarios/numa.scn");
    let misfit = include_str!("../../../../scenarios/misfit.scn");
    let change = "cpus 1\nend 2ms\ntask t run 10ms\nnice 1ms t 5\n";
    let mut paths = BTreeMap::new();
    for scenario in [numa, misfit, change] {
        paths.extend(run(scenario, &[(KernelOp::Wakeup, 1_000), (KernelOp::Tick, 1_000)]).1.paths);
    }
    assert_eq!(paths.into_keys().collect::<Vec<_>>(), KernelPath::ALL);
}
