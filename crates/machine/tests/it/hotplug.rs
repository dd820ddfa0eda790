// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU hotplug, compared with the behaviour of Linux 6.1 and 6.12, worked out by hand.

use crate::common::{RunLog, ms, run, run_series};
use fairlab_sched::ids::CpuId;
use fairlab_sched::series::KernelSeries;

/// Returns the times in ms at which tasks began to run on a CPU, without the idle task and stoppers.
fn starts_on(listener: &RunLog, cpu: u32) -> Vec<f64> {
    listener.switches.iter().filter(|switch| switch.cpu == CpuId(cpu) && switch.task.is_some()).map(|s| s.ms).collect()
}

#[test]
fn the_scenario_gives_the_figures_worked_out_in_it() {
    let run = run(include_str!("../../../../scenarios/hotplug.scn"));
    let starts = starts_on(&run.log, 3);
    assert!(starts.iter().any(|&at| at < 100.0));
    assert!(!starts.iter().any(|&at| at > 100.0 && at < 300.0), "{starts:?}");
    assert!(starts.iter().any(|&at| (300.0..310.0).contains(&at)), "no work comes back: {starts:?}");
    // 4 CPUs for 100 ms, 3 for 200 ms, and 4 for 100 ms except for the time until CPU 3 has received a task.
    let all: f64 = run.machine.tasks().iter().map(|task| ms(task.runtime_ns)).sum();
    assert!((1390.0..=1400.0).contains(&all), "{all}");
    assert_eq!(run.task("bound").nr_cpus_allowed, 4, "its affinity is broken");
    assert_eq!(run.log.hotplug, [(100.0, 3, false, 0), (300.0, 3, true, 0)]);
}

#[test]
fn a_cpu_without_work_goes_offline_and_comes_back_idle() {
    let run = run("cpus 4\nend 100ms\ntask t run 1ms sleep 1ms\noffline 10ms 2-3\nonline 50ms 2-3");
    assert_eq!(run.machine.sched().domains().root.online.weight(), 4);
    assert_eq!(run.log.hotplug.len(), 4);
    assert!((ms(run.machine.tasks()[0].runtime_ns) - 50.0).abs() < 1.0);
}

#[test]
fn domains_span_the_cpus_that_are_left() {
    let run = run("cpus 4\nend 20ms\ntask t run 1ms sleep 1ms\noffline 10ms 1");
    let sched = run.machine.sched();
    let spans: Vec<Vec<u32>> = [0, 2, 3]
        .map(|cpu| {
            let sd = sched.domains().chain(CpuId(cpu)).next().expect("three CPUs have a domain");
            sched.domains().domains[sd].span.iter().map(|cpu| cpu.0).collect()
        })
        .to_vec();
    assert_eq!(spans, [[0, 2, 3], [0, 2, 3], [0, 2, 3]]);
    assert!(sched.domains().chain(CpuId(1)).next().is_none());
    assert!(!sched.nohz().idle_cpus_mask.contains(CpuId(1)));
}

#[test]
fn a_task_goes_to_its_node_if_it_may_and_else_to_the_first_cpu_that_it_may_use() {
    let machine = "cpus 4\ntopo llc=2 node=2\nlevels MA\nend 11ms\n";
    let at = |task: &str, changes: &str| {
        let run = run(&format!("{machine}{task}\n{changes}"));
        (run.task("t").cpu, run.task("t").nr_cpus_allowed)
    };
    // CPUs 2 and 3 are a node, and so are 0 and 1, of which CPU 0 is not allowed.
    assert_eq!(at("task t mask=3 cpu=3 run 100ms", "affinity 5ms t 0-3\noffline 10ms 3"), (CpuId(2), 4));
    assert_eq!(at("task t mask=1 cpu=1 run 100ms", "affinity 5ms t 1-2\noffline 10ms 1"), (CpuId(2), 2));
    // A task that may use none of the remaining CPUs may use all, and goes to the first one.
    assert_eq!(at("task t mask=3 cpu=3 run 100ms", "offline 10ms 3"), (CpuId(0), 4));
}

#[test]
fn in_6_12_an_offline_cpu_has_no_share_of_a_groups_load_and_in_6_1_it_keeps_its_share() {
    let scenario = include_str!("../../../../scenarios/hotplug-groups.scn").replace("kernel 6.12\n", "");
    let runtimes = |series| {
        let run = run_series(&scenario, series);
        [run.runtime_ms("h1"), run.runtime_ms("h2")]
    };
    assert_eq!(runtimes(KernelSeries::V6_12), [1500.0, 1500.0]);
    assert_eq!(runtimes(KernelSeries::V6_1), [1000.0, 2000.0]);
}

#[test]
fn a_quota_that_is_set_while_a_cpu_is_offline_leaves_that_cpu_its_runtime() {
    // CPU 1 went offline with 1 ns of runtime of g1, and keeps it. t2 therefore runs when it has moved there at 340 ms,
    // although the pool is empty.
    let text = "cpus 4\ntopo llc=2 node=2\nend 400ms\ngroup g0 quota=10ms period=40ms shares=2048\n\
                group g1 parent=g0 shares=100\ntask t1 group=g1 start=39ms run 2ms sleep 3ms\n\
                task t2 group=g0 run 300us sleep 700us\noffline 99ms 0\noffline 168ms 1\n\
                quota 196ms g0 6ms 10ms\nonline 249ms 1";
    let run = run_series(text, KernelSeries::V6_12);
    assert!(starts_on(&run.log, 1).contains(&340.0), "{:?}", starts_on(&run.log, 1));
}

#[test]
fn a_task_that_sleeps_on_a_cpu_that_has_gone_wakes_elsewhere_in_time() {
    let run = run("cpus 2\nend 40ms\ntask t mask=1 cpu=1 sleep 20ms run 1ms sleep 100ms\noffline 10ms 1");
    let starts = starts_on(&run.log, 0);
    assert_eq!(starts, [20.0]);
    assert_eq!(run.task("t").nr_cpus_allowed, 2);
}

#[test]
fn the_last_cpu_stays_and_so_does_one_that_deadline_tasks_need() {
    let one_cpu = run("cpus 2\nend 20ms\ntask t run 1ms\noffline 5ms 0-1");
    assert_eq!(one_cpu.log.hotplug, [(5.0, 0, false, 0), (5.0, 1, false, -16)]);
    // 1.2 of two CPUs are admitted; one CPU provides 0.95.
    let run = run("cpus 2\nend 20ms\ntask d n=2 dl=6ms/10ms/10ms run 1ms sleep 9ms\noffline 5ms 1");
    assert_eq!(run.log.hotplug, [(5.0, 1, false, -16)]);
    assert!(run.machine.sched().is_online(CpuId(1)));
}

#[test]
fn a_quota_holds_when_the_cpu_that_had_its_timer_goes() {
    // The group may use 40 ms of each 100 ms. Hotplug resets the drawn runtime and the throttling, so the
    // group may once get one more quota.
    let tasks = "group g quota=40ms period=100ms\ntask hog group=g cpu=1 mask=1 run 7ms\n";
    let run = run(&format!("cpus 2\nend 2s\n{tasks}offline 550ms 1"));
    let runtime = ms(run.machine.tasks()[0].runtime_ns);
    assert!((800.0 - 5.0..=840.0 + 5.0).contains(&runtime), "{runtime}");
}

#[test]
fn real_time_and_deadline_tasks_leave_too() {
    let tasks =
        "task f n=2 fifo=10 run 3ms sleep 1ms\ntask d dl=2ms/10ms/10ms run 1500us sleep 8500us\ntask o run 5ms\n";
    let run = run(&format!("cpus 4\nend 200ms\n{tasks}offline 50ms 1-3\nonline 100ms 1-3\noffline 150ms 0-1"));
    let fifo = run.task("f0").cpu;
    assert!(fifo == CpuId(2) || fifo == CpuId(3));
    let d = run.machine.tasks().iter().find(|task| task.name == "d").expect("it is there");
    // 1.5 ms in each 10 ms, regardless of hotplug.
    assert!((28.5..=30.0).contains(&ms(d.runtime_ns)), "{}", ms(d.runtime_ns));
}

#[test]
fn hotplug_of_any_cpus_in_any_order_breaks_no_invariant() {
    for seed in 0..40u64 {
        let mut state = seed;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let mut text = String::from("cpus 8\ntopo smt=2 llc=4 node=4\nlevels SMA\nend 120ms\nipi 2us\n");
        text += "group g quota=20ms period=40ms\ngroup h parent=g\ncpuset s cpus=2-5\n";
        text += "task a n=6 runr 100us 5ms sleepr 100us 3ms\ntask b n=3 group=h run 4ms sleep 1ms\n";
        text += "task f n=2 fifo=20 run 1ms sleep 2ms\ntask r n=3 rr=10 run 3ms sleep 4ms\ntask c n=3 cpuset=s run 2ms sleep 1ms\n";
        text += "task d n=2 dl=1ms/8ms/10ms run 2ms\ntask p n=8 mask=6-7 run 300us sleep 700us\n";
        for _ in 0..12 {
            let (at, cpu) = (below(110), below(8));
            let what = if below(2) == 0 { "offline" } else { "online" };
            text += &format!("{what} {at}ms {cpu}\n");
        }
        for _ in 0..4 {
            let (at, low) = (below(110), below(6));
            text += &format!(
                "setcpus {at}ms s {low}-{}\nattach {}ms a{} s\nattach {}ms a1 /\n",
                low + below(3),
                below(110),
                below(6),
                below(110)
            );
        }
        run(&text);
    }
}

#[test]
fn a_task_that_leaves_its_class_while_throttled_on_an_offline_cpu_waits_until_the_cpu_returns() {
    // Booted kernels (6.1 and 6.12) leave such a task on the runqueue of the offline CPU.
    let task = "task d dl=2ms/10ms/20ms cpu=1 start=8ms run 3ms sleep 1ms";
    let changes = "offline 149ms 1\npolicy 155ms d fair\nonline 178ms 1";
    let run = run(&format!("cpus 2\nend 200ms\n{task}\naffinity 9ms d 1\n{changes}"));
    let starts = starts_on(&run.log, 1);
    assert!(starts.iter().any(|&at| at < 149.0), "{starts:?}");
    assert!(starts.iter().all(|at| !(149.0..178.0).contains(at)), "{starts:?}");
    assert!(starts.contains(&178.0), "{starts:?}");
    assert!(starts_on(&run.log, 0).is_empty());
}

#[test]
fn a_throttled_deadline_task_of_a_cpu_that_has_gone_comes_back_where_it_may_run() {
    // The task has used its budget at 5 ms and gets the next one at 20 ms, when the only CPU that it may use
    // is offline.
    let run =
        run("cpus 4\nend 100ms\ntask b cpu=3 dl=5ms/20ms/20ms run 10ms sleep 1ms\naffinity 13ms b 3\noffline 16ms 3");
    let task = run.task("b");
    assert!(task.cpu != CpuId(3) && task.cpus_allowed.contains(task.cpu), "{task:?}");
    assert!((run.runtime_ms("b") - 25.0).abs() < 5.1, "{}", run.runtime_ms("b"));
}

/// Booted kernels with eight CPUs report `min_interval` 7 (6.1) and 8 (6.12) after CPU 5 has gone offline, and 6 and 7
/// after CPU 6 has.
#[test]
fn new_domains_count_the_cpu_that_goes_offline_in_6_12_and_not_in_6_1() {
    let weights = |series: KernelSeries| {
        let interval = |changes: &str| {
            let text = format!("cpus 8\ntopo llc=2\nlevels MA\nend 20ms\n{changes}");
            let run = run_series(&text, series);
            let domains = run.machine.sched().domains();
            let top = domains.chain(CpuId(0)).last().expect("CPU 0 has domains");
            domains.domains[top].balance_interval
        };
        ["", "offline 15ms 5", "offline 15ms 5-6"].map(interval)
    };
    assert_eq!(weights(KernelSeries::V6_1), [8, 7, 6]);
    assert_eq!(weights(KernelSeries::V6_12), [8, 8, 7]);
}

/// Models `sched_dl_overflow()`: the CPU of a sleeping task is in a root domain without active CPUs.
#[test]
fn a_task_that_sleeps_on_an_offline_cpu_becomes_no_deadline_task() {
    let result = |cpu: u32| {
        let text = "cpus 3\nend 20ms\ntask t cpu=CPU wait\npolicy 8ms t dl=1ms/10ms/10ms\noffline 5ms 0-1";
        let log = run(&text.replace("CPU", &cpu.to_string())).log;
        log.changes.iter().map(|&(_, _, result)| result).collect::<Vec<_>>()
    };
    assert_eq!(result(0), [-16]);
    assert_eq!(result(2), [0]);
}

/// Models the failure of `sched_cpu_deactivate()`, which calls `set_rq_online()` in 6.12 only.
#[test]
fn a_cpu_that_deadline_tasks_need_rejoins_the_root_domain_in_6_12_only() {
    let text = "cpus 2\nend 20ms\ntask d n=2 dl=6ms/10ms/10ms run 1ms sleep 9ms\noffline 5ms 1";
    for (series, is_in_root) in [(KernelSeries::V6_1, false), (KernelSeries::V6_12, true)] {
        let machine = run_series(text, series).machine;
        assert!(machine.sched().active_cpus().contains(CpuId(1)));
        assert_eq!(machine.sched().domains().root.online.contains(CpuId(1)), is_in_root, "{series}");
    }
}

/// The last CPU of a node goes offline. Models `sched_update_numa()`, which removes the node before the domains are built
/// (6.12; an engine of it has interval 9).
#[test]
fn domains_between_nodes_do_not_count_a_node_that_loses_its_last_cpu() {
    let text = "cpus 12\ntopo smt=2 llc=2 pkg=2 node=2\nlevels MP\nend 40ms\noffline 28ms 7-9";
    let run = run_series(text, KernelSeries::V6_12);
    let domains = run.machine.sched().domains();
    let top = domains.chain(CpuId(0)).last().expect("CPU 0 has domains");
    assert_eq!(domains.domains[top].balance_interval, 9);
}

/// Models `dl_server_apply_params()` (6.12): the server of an offline CPU is in a root domain without active CPUs.
#[test]
fn the_fair_server_of_an_offline_cpu_does_not_change() {
    let text = "cpus 2\nend 100ms\nserver 10ms 1 0 100ms\noffline 23ms 1\nserver 86ms 1 0 100ms";
    let results = |series| run_series(text, series).log.changes.iter().map(|change| change.2).collect::<Vec<_>>();
    assert_eq!(results(KernelSeries::V6_12), [0, -16]);
    assert_eq!(results(KernelSeries::V6_1), [0, 0], "6.1 has no fair servers");
}

#[test]
fn deadline_tasks_that_sleep_on_an_offline_cpu_stay_admitted() {
    let run = run(include_str!("../../../../scenarios/differences-6.12/sleeping-deadline-task.scn"));
    let results: Vec<i32> = run.log.changes.iter().map(|&(_, _, result)| result).collect();
    assert_eq!(results, [-16]);
}

#[test]
fn tasks_of_a_cpuset_return_to_its_cpus_when_these_come_online() {
    let run = run(include_str!("../../../../scenarios/differences-6.12/cpuset-follows-rebuild.scn"));
    let names = run.machine.tasks().iter().map(|task| &task.name).filter(|name| name.starts_with("in"));
    let ran = |from: f64, to: f64, cpus: std::ops::Range<u32>| -> f64 {
        names.clone().map(|name| run.ran_ms(name, from, to, |cpu| cpus.contains(&cpu))).sum()
    };
    assert!(ran(5.0, 20.0, 0..2) > 10.0, "they run beside the hogs");
    assert!(ran(20.0, 60.0, 0..2) < 0.001, "they have left");
    assert!(ran(20.0, 60.0, 2..4) > 70.0, "they are back");
}
