// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::message::Message;
use crate::step::Step;
use crate::workload::{Affinity, Attributes, Change, PacketLoad, Quota};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::task::Policy;
use fairlab_sched::topology::TopologyLevel;

/// Reads a scenario of 6.1 unless it names its kernel.
fn parse(file: &str, text: &str) -> Result<Scenario, Message> {
    super::parse(file, text, KernelSeries::V6_1)
}

fn scenario(text: &str) -> Scenario {
    parse("test.scn", text).unwrap_or_else(|error| panic!("{error}"))
}

fn steps(scenario: &Scenario, task: usize, count: usize) -> Vec<Step> {
    let mut behaviour = (scenario.workload.tasks[task].behaviour)(0);
    (0..count).map(|_| behaviour.next()).collect()
}

fn message(text: &str) -> String {
    parse("test.scn", text).expect_err("this must not be accepted").text
}

const fn us(us: u64) -> Nanos {
    Nanos::from_micros(us)
}

#[test]
fn the_example_of_the_grammar_draws_the_documented_lengths() {
    let scenario = scenario("cpus 1\ntask t runr 100us 900us sleepr 1ms 3ms\n");
    // The task runs until 1000790048, sleeps until 1003504300, runs until 1003944775, sleeps until 1004957263
    // ns.
    let expected = [
        Step::Run(Nanos(790_048)),
        Step::Sleep(Nanos(2_714_252)),
        Step::Run(Nanos(440_475)),
        Step::Sleep(Nanos(1_012_488)),
    ];
    assert_eq!(steps(&scenario, 0, 4), expected);
}

#[test]
fn an_empty_machine_has_the_documented_defaults() {
    let scenario = scenario("cpus 3");
    let machine = &scenario.machine;
    assert_eq!(machine.nr_cpus, 3);
    assert_eq!(machine.topology.capacity, [1024; 3]);
    assert_eq!(machine.topology.levels, [TopologyLevel::Mc, TopologyLevel::All]);
    assert_eq!(machine.topology.distances, [[10]]);
    let cores: Vec<u32> = machine.topology.cpus.iter().map(|place| place.core).collect();
    assert_eq!(cores, [0, 1, 2]);
    assert!(machine.topology.cpus.iter().all(|place| (place.llc, place.package, place.node) == (0, 0, 0)));
    assert_eq!((scenario.end, scenario.trace, scenario.stats), (Nanos::from_secs(1), None, None));
    assert_eq!(scenario.workload.duration, Some(Nanos::from_secs(1)));
}

#[test]
fn every_statement_about_the_machine_is_understood() {
    let text = "cpus 8 # comment\n\ttopo smt=2 cls=4\n topo llc=4 pkg=8 node=4\nlevels SCMPA\ncaps 1 1 1 1 5 6 7 8\n\
        smtmap 7 7 0 0 1 1 2 2\ndist 2 10 30 40 10\nend 1.5s\ntrace 3\ntracepelt 1\nstats 20ms\nipi 500ns\nskew 2us\n\
        lbcost 3us\nscale 1\nfeature SIS_UTIL 0\nfeature SIS_PROP 1\ntune migration_cost_ns 0\narm redo_max -1\n\
        irq 2-3 10ms 0.25ms\nfdom 0-3 500000:100 1000000:300\nfdom 4 700000";
    let Scenario { machine, end, trace, trace_pelt, stats, features, tunables, arms, .. } = scenario(text);
    let place = machine.topology.cpus[5];
    assert_eq!((place.core, place.cluster, place.llc, place.package, place.node), (1, 1, 1, 0, 1));
    assert_eq!(machine.topology.capacity, [1, 1, 1, 1, 5, 6, 7, 8]);
    assert_eq!(machine.topology.levels.len(), 5);
    assert_eq!(machine.topology.distances, [[10, 30], [40, 10]]);
    assert_eq!((machine.ipi_latency, machine.tick_skew, machine.newidle_cost), (Nanos(500), us(2), us(3)));
    assert!(machine.scale_work && trace_pelt);
    assert_eq!((end, trace, stats), (Nanos::from_millis(1500), Some(3), Some(Nanos::from_millis(20))));
    assert_eq!(features, [("SIS_UTIL".to_owned(), false), ("SIS_PROP".to_owned(), true)]);
    assert_eq!(tunables, [("migration_cost_ns".into(), 0)]);
    assert_eq!(arms, [("redo_max".into(), -1)]);
    let irq = |cpu| IrqLoad { cpu, every: Nanos::from_millis(10), duration: us(250), is_stolen: false };
    assert_eq!(machine.irqs, [irq(2), irq(3)]);
    assert_eq!(machine.freq_domains[0].opps, [(500_000, Some(100)), (1_000_000, Some(300))]);
    assert_eq!(machine.freq_domains[1], FreqDomainSpec { cpus: 4..=4, opps: vec![(700_000, None)] });
}

#[test]
fn options_of_a_task_stand_before_between_and_behind_operations() {
    let text =
        "cpus 4\ngroup g\ntask t nice=-5 run 1ms mask=1-2 cpu=3 sleep 2ms start=4ms slice=3ms group=g umin=100 rr=7";
    let scenario = scenario(text);
    let task = &scenario.workload.tasks[0];
    let expected = Attributes {
        reclaims: false,
        policy: Some(Policy::RoundRobin(7)),
        nice: Some(-5),
        affinity: Some(Affinity::Cpus(vec![1, 2])),
        uclamp_min: Some(100),
        uclamp_max: Some(1024),
        group: Some(Some(0)),
        slice: Some(us(3000)),
    };
    assert_eq!(task.start, expected);
    assert_eq!((task.start_cpu, task.start_at), (3, Some(Nanos::from_millis(4))));
    assert_eq!(steps(&scenario, 0, 3), [Step::Run(us(1000)), Step::Sleep(us(2000)), Step::Run(us(1000))]);
}

#[test]
fn a_program_goes_on_behind_the_word_loop() {
    let scenario = scenario("cpus 1\ntask t wait yield loop run 1us exit");
    let expected = [Step::WaitWake, Step::Yield, Step::Run(us(1)), Step::Exit, Step::Run(us(1))];
    assert_eq!(steps(&scenario, 0, 5), expected);
}

#[test]
fn mutexes_have_the_order_of_their_first_mention_and_inherit_priority() {
    let scenario = scenario("cpus 1\ntask a lock m run 1us unlock m\ntask b lock n lock m run 1us unlock n");
    assert_eq!(steps(&scenario, 0, 3), [Step::Lock(0), Step::Run(us(1)), Step::Unlock(0)]);
    assert_eq!(steps(&scenario, 1, 4), [Step::Lock(1), Step::Lock(0), Step::Run(us(1)), Step::Unlock(1)]);
    assert_eq!(scenario.workload.objects.mutexes, ["m", "n"]);
    assert!(scenario.workload.objects.priority_inheritance);
}

#[test]
fn numbered_tasks_wake_the_one_with_their_own_number() {
    let scenario = scenario("cpus 2\ntask pa n=3 run 1us wake pb\ntask pb n=3 wait wakesync pa0");
    let names: Vec<&str> = scenario.workload.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["pa0", "pa1", "pa2", "pb0", "pb1", "pb2"]);
    assert!(scenario.workload.tasks.iter().all(|task| task.family == task.name[..2]));
    assert_eq!(steps(&scenario, 2, 2)[1], Step::Wake { target: 5, sync: false });
    assert_eq!(steps(&scenario, 4, 2)[1], Step::Wake { target: 0, sync: true });
}

#[test]
fn a_suffix_begins_at_the_first_digit_of_the_wakers_name() {
    let scenario = scenario("cpus 1\ntask a1b n=2 wake c\ntask c1b1 wait\ntask c1b0 wait");
    assert_eq!(steps(&scenario, 1, 1), [Step::Wake { target: 2, sync: false }]);
}

#[test]
fn tasks_of_one_line_draw_from_different_streams() {
    let scenario = scenario("cpus 1\ntask t n=2 runr 0 1s");
    assert_ne!(steps(&scenario, 0, 1), steps(&scenario, 1, 1));
}

#[test]
fn groups_have_parents_shares_and_quotas() {
    let text = "cpus 1\ngroup a quota=50ms idle\ngroup b parent=a shares=2 quota=10.0009ms period=20ms burst=5ms";
    let groups = scenario(text).workload.groups;
    assert_eq!(groups[0].quota, Some(Quota { quota_us: 50_000, period_us: 100_000, burst_us: 0 }));
    assert!(groups[0].idle && !groups[1].idle);
    assert_eq!((groups[1].parent, groups[1].shares), (Some(0), 2));
    assert_eq!(groups[1].quota, Some(Quota { quota_us: 10_000, period_us: 20_000, burst_us: 5_000 }));
}

#[test]
fn changes_keep_the_order_of_the_file_and_may_stand_above_their_task() {
    let text = "cpus 4\ngroup g\naffinity 5ms t 1-2\nnice 1ms t -3\npolicy 2ms t dl=1ms/2ms/3ms\npolicy 3ms t fair\n\
        clamp 4ms t 10 20\nmove 5ms t g\nmove 6ms t /\nshares 7ms g 30\nquota 8ms g none 20ms\nquota 9ms g 4ms 8ms\ntask t run 1ms";
    let changes = scenario(text).workload.changes;
    let task = |attributes| Change::Task { task: 0, attributes };
    let empty = Attributes::default;
    assert_eq!(changes.len(), 10);
    let (first_at, first) = &changes[0];
    assert_eq!(*first_at, Nanos::from_millis(5));
    assert_eq!(*first, task(Attributes { affinity: Some(Affinity::Cpus(vec![1, 2])), ..empty() }));
    assert_eq!(changes[1].1, task(Attributes { nice: Some(-3), ..empty() }));
    let deadline = Policy::Deadline { runtime: us(1000), deadline: us(2000), period: us(3000) };
    assert_eq!(changes[2].1, task(Attributes { policy: Some(deadline), ..empty() }));
    assert_eq!(changes[4].1, task(Attributes { uclamp_min: Some(10), uclamp_max: Some(20), ..empty() }));
    assert_eq!(changes[6].1, task(Attributes { group: Some(None), ..empty() }));
    assert_eq!(changes[7].1, Change::Shares { group: 0, shares: 30 });
    assert_eq!(changes[8].1, Change::Quota { group: 0, quota_us: None, period_us: 20_000, burst_us: None });
    assert_eq!(changes[9].1, Change::Quota { group: 0, quota_us: Some(4000), period_us: 8000, burst_us: None });
}

#[test]
fn a_new_quota_may_set_the_burst() {
    let changes = scenario("cpus 1\ngroup g\nquota 8ms g none 20ms burst=5ms").workload.changes;
    assert_eq!(changes[0].1, Change::Quota { group: 0, quota_us: None, period_us: 20_000, burst_us: Some(5_000) });
    let error =
        |text: &str| parse("a.scn", &format!("cpus 1\ngroup g\nquota 8ms g {text}")).expect_err(text).to_string();
    assert!(error("5ms 9ms burst=x").contains("`x` is not a duration"));
    assert!(error("5ms 9ms bursts=5ms").contains("bursts=5ms"));
}

#[test]
fn durations_are_exact_and_cut_to_nanoseconds() {
    for (text, ns) in [
        ("7", 7),
        ("7ns", 7),
        ("1.9", 1),
        ("0.0019us", 1),
        ("1.000001ms", 1_000_001),
        ("1.0000000019s", 1_000_000_001),
        ("1000000000s", 1_000_000_000_000_000_000),
    ] {
        assert_eq!(scenario(&format!("cpus 1\nend {text}")).end, Nanos(ns), "{text}");
    }
    for text in ["1000000001s", "99999999999999999999", "18446744073709551615s"] {
        assert!(message(&format!("cpus 1\nend {text}")).contains("too long"), "{text}");
    }
    for text in ["", "ms", "1.ms", ".5ms", "-1ms", "1 ms", "1h", "1e3", "+1ms"] {
        assert!(parse("t", &format!("cpus 1\nend {text}")).is_err(), "{text}");
    }
}

#[test]
fn numbers_follow_strtol() {
    assert_eq!(scenario("cpus +4").machine.nr_cpus, 4);
    assert_eq!(scenario("cpus 0004").machine.nr_cpus, 4);
    for text in ["", "0", "4097", "4x", "-", "0x4", "99999999999999999999999", "-99999999999999999999999"] {
        assert!(parse("t", &format!("cpus {text}")).is_err(), "{text}");
    }
}

#[test]
fn the_limits_of_the_grammar_hold() {
    let repeated = |head: &str, line: &str, count: usize| format!("cpus 4\n{head}\n{}", line.repeat(count));
    for (head, line, most) in [
        ("", "feature LB_MIN 1\n", 40),
        ("", "tune nr_migrate 1\n", 20),
        ("", "freq 1ms 0 512\n", 10_000),
        ("", "irq 0-3 1ms 1us\n", 64),
        ("task t run 1ms", "nice 1ms t 1\n", 1000),
    ] {
        assert!(parse("t", &repeated(head, line, most)).is_ok(), "{line}");
        assert!(message(&repeated(head, line, most + 1)).contains("too many"), "{line}");
    }
    let program = |count: usize| format!("cpus 1\ntask t {}", "run 1us ".repeat(count));
    assert!(parse("t", &program(64)).is_ok());
    assert!(message(&program(65)).contains("too many"));
    assert!(parse("t", "cpus 1\ntask abcdefghijklmn n=10 run 1").is_ok());
    assert!(message("cpus 1\ntask abcdefghijklmn n=11 run 1").contains("too long"));
    assert!(message("cpus 1\ntask a n=100000 run 1\ntask b run 1").contains("too many"));
    let groups: String = (0..257).map(|i| format!("group g{i}\n")).collect();
    assert!(message(&format!("cpus 1\n{groups}")).contains("too many"));
    let domains: String = (0..17).map(|i| format!("fdom {i} 1000\n")).collect();
    assert!(message(&format!("cpus 17\n{domains}")).contains("too many"));
}

#[test]
fn a_misspelt_feature_names_the_nearest_one_and_all_known_ones() {
    let error = parse("t", "cpus 1\nfeature SIS_UTL 0").expect_err("unknown");
    let help = error.help.expect("a hint");
    assert!(help.starts_with("did you mean `SIS_UTIL`?") && help.contains("NI_RANDOM"), "{help}");
}

#[test]
fn a_carriage_return_is_named() {
    let error = parse("t", "cpus 4\r\nend 1s\r\n").expect_err("CR LF");
    assert!(error.help.expect("a hint").contains("CR LF"));
}

#[test]
fn no_two_statements_or_tunables_of_a_statement_have_one_name() {
    let mut keywords: Vec<&str> = STATEMENTS.iter().map(|statement| statement.keyword).collect();
    keywords.sort_unstable();
    assert!(keywords.windows(2).all(|pair| pair[0] != pair[1]), "{keywords:?}");
    let tune = Statement::by_keyword("tune").expect("it is a statement").meaning();
    assert!(tune.contains("`nr_migrate`") && !tune.contains('{'), "{tune}");
}

/// Reads a scenario with one machine that it can name: `board` has four CPUs.
fn on(text: &str, given: Option<u32>, vary: Option<u64>) -> Result<Scenario, Message> {
    let named =
        &|name: &str| if name == "board" { Ok(4) } else { Err(Message::new(format!("the test has no `{name}`"))) };
    let kernel: KernelLookup<'_> = &|_| Ok(SwitchNames::BuiltIn(KernelSeries::V6_1));
    parse_with_context("test.scn", text, ParseContext { given, named, vary, kernel })
}

#[test]
fn a_scenario_runs_on_a_machine_that_has_a_file() {
    let scenario = on("machine board\ntask t mask=2-3 run 1ms", None, None).expect("valid");
    assert_eq!((scenario.named_machine.as_deref(), scenario.machine.nr_cpus), (Some("board"), 4));
    assert!(!scenario.is_replaced);
    for (text, message_text) in [
        ("machine bord\n", "the test has no `bord`"),
        ("machine board\ntask t mask=4 run 1ms", "4 is not in 0..3"),
        ("machine board\ncaps 1 2 3 4", "which has a file; `caps` cannot change it"),
        ("cpus 4\nmachine board", "must be the first statement"),
    ] {
        let error = on(text, None, None).expect_err("this must not be accepted").to_string();
        assert!(error.contains(message_text), "{error}");
    }
    assert!(parse("test.scn", "machine board\n").is_err(), "without machines there is none");
}

#[test]
fn a_scenario_names_its_kernel_before_names_that_depend_on_it() {
    let on = |text: &str| {
        let named = &|_: &str| Err(Message::new(""));
        let kernel: KernelLookup<'_> = &|name| match name {
            None | Some("6.1") => Ok(SwitchNames::BuiltIn(KernelSeries::V6_1)),
            Some("6.12") => Ok(SwitchNames::BuiltIn(KernelSeries::V6_12)),
            Some(name) => Err(Message::new(format!("there is no kernel {name}"))),
        };
        parse_with_context("test.scn", text, ParseContext { given: None, named, vary: None, kernel })
    };
    let scenario = on("cpus 1\nkernel 6.12\nfeature RUN_TO_PARITY 0\ntask t run 1ms").expect("valid");
    assert_eq!(scenario.kernel.as_deref(), Some("6.12"));
    assert_eq!(scenario.series, KernelSeries::V6_12);
    let unnamed = on("cpus 1\ntask t run 1ms").expect("valid");
    assert_eq!((unnamed.kernel, unnamed.series), (None, KernelSeries::V6_1));
    for (text, message) in [
        ("cpus 1\nkernel 6.9\n", "test.scn:2:8: there is no kernel 6.9"),
        ("cpus 1\nkernel 6.1\nkernel 6.1\n", "3:1: `kernel` only once"),
        ("cpus 1\nfeature SIS_UTIL 0\nkernel 6.12\n", "`kernel` must come before features, tunables and arms"),
        ("cpus 1\nkernel 6.1\nfeature RUN_TO_PARITY 0\n", "features of 6.1"),
        ("cpus 1\nfeature RUN_TO_PARITY 0\n", "features of 6.1"),
    ] {
        let error = on(text).expect_err("this must not be accepted").to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_given_machine_takes_the_place_of_the_files_own() {
    let text = "cpus 2\ncaps 512 1024\ntask t mask=0-1 run 1ms";
    let scenario = on(text, Some(8), None).expect("valid");
    assert!(scenario.is_replaced && scenario.named_machine.is_none());
    let error = on(text, Some(1), None).expect_err("the task wants two").to_string();
    assert!(error.contains("1 is not in 0..0"), "{error}");
    assert!(on("machine lost\ntask t run 1ms", Some(1), None).is_ok(), "the one that it names is not needed");
}

#[test]
fn timers_of_a_task_have_a_grid_that_begins_with_it() {
    let scenario = on("cpus 1\ntask t start=5ms run 1ms every 16ms run 1ms every 4ms", None, None).expect("valid");
    let task = &scenario.workload.tasks[0];
    assert_eq!((task.own_timers.len(), task.timer_origin), (2, Nanos::from_millis(5)));
    let steps = steps(&scenario, 0, 4);
    let timer = |timer, ms| Step::Timer {
        timer: crate::step::TimerRef::Own(timer),
        period: Nanos::from_millis(ms),
        mode: crate::step::TimerMode::Absolute,
    };
    assert_eq!((steps[1], steps[3]), (timer(0, 16), timer(1, 4)));
    assert!(on("cpus 1\ntask t every 0ms", None, None).is_err());
}

#[test]
fn random_lengths_vary_with_a_seed_and_only_then() {
    let text = "cpus 1\ntask t runr 1us 9ms sleepx 5ms runx 1ms";
    let first = |vary| steps(&on(text, None, vary).expect("valid"), 0, 6);
    assert_eq!(first(None), first(None));
    assert_eq!(first(Some(1)), first(Some(1)));
    assert_ne!(first(None), first(Some(1)));
    assert_ne!(first(Some(2)), first(Some(1)));
}

#[test]
fn a_request_for_short_exits_is_in_whole_microseconds() {
    use crate::workload::Change;
    let scenario = parse("t", "cpus 1\ncpu_dma_latency 5ms 20us\ncpu_dma_latency 7ms none").expect("valid");
    let changes = &scenario.workload.changes;
    assert_eq!(changes[0], (Nanos::from_millis(5), Change::CpuDmaLatency(Some(Nanos::from_micros(20)))));
    assert_eq!(changes[1], (Nanos::from_millis(7), Change::CpuDmaLatency(None)));
    let error = parse("t", "cpus 1\ncpu_dma_latency 5ms 20ns").expect_err("too fine").to_string();
    assert!(error.contains("whole microseconds") && error.contains("none"), "{error}");
}

#[test]
fn packets_wake_a_task_or_those_of_a_family_in_turn() {
    let text = "cpus 4\npackets 0-1 50us 4 server\npackets 3 1ms 1 pool\ntask server wait run 1us\ntask pool n=2 wait run 1us\n";
    let workload = parse("test.scn", text).expect("a scenario").workload;
    let us = Nanos::from_micros;
    let load = |cpu, every, count, targets: &[usize]| PacketLoad { cpu, every, count, targets: targets.to_vec() };
    assert_eq!(workload.packets, [load(0, us(50), 4, &[0]), load(1, us(50), 4, &[0]), load(3, us(1000), 1, &[1, 2]),]);
    for (line, message) in [
        ("packets 0 50us 4 sever", "no task `sever` to wake"),
        ("packets 0 0 4 server", "the time between two arrivals of packets must not be 0"),
        ("packets 0 50us 1001 server", "1001"),
        ("packets 0 50us 0 server", "0"),
        ("packets 4 50us 1 server", "4"),
    ] {
        let error = parse("test.scn", &format!("cpus 4\ntask server wait run 1us\n{line}\n")).expect_err(line);
        assert!(error.to_string().contains(message), "{line}: {error}");
    }
}

#[test]
fn without_a_lookup_the_series_follows_from_the_release_or_from_the_caller() {
    let series = |text: &str, series| super::parse("a.scn", text, series).expect(text).series;
    for of_caller in KernelSeries::ALL {
        assert_eq!(series("cpus 1", of_caller), of_caller);
        assert_eq!(series("cpus 1\nkernel 5.4", of_caller), KernelSeries::V6_1);
        assert_eq!(series("cpus 1\nkernel 6.12\nfeature RUN_TO_PARITY 0", of_caller), KernelSeries::V6_12);
    }
    let unknown = parse("a.scn", "cpus 1\nkernel new").expect_err("no release").to_string();
    assert!(unknown.contains("a.scn:2:8: unknown kernel"), "{unknown}");
}
