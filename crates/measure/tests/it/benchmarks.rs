// SPDX-License-Identifier: GPL-2.0-or-later
//! Benchmark models on small machines, with results that can be calculated by hand.

use fairlab_board::{ByDistance, CallCost, preset};
use fairlab_machine::costs::CostModel;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::Observer;
use fairlab_machine::sim::{Machine, START, Setup};
use fairlab_measure::bench::cyclictest::CyclictestObserver;
use fairlab_measure::bench::elapsed::{ElapsedFormat, ElapsedObserver};
use fairlab_measure::bench::netperf::NetperfObserver;
use fairlab_measure::bench::oltp::OltpObserver;
use fairlab_measure::bench::schbench::SchbenchObserver;
use fairlab_measure::bench::schbench_rps::SchbenchRpsObserver;
use fairlab_measure::bench::stress_sock::StressSockObserver;
use fairlab_measure::bench::tbench::TbenchObserver;
use fairlab_measure::bench::{BenchObserver, RunProgress};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::KernelOp;
use fairlab_workload::bench::cyclictest::Cyclictest;
use fairlab_workload::bench::hackbench::Hackbench;
use fairlab_workload::bench::kernel_build::KernelBuild;
use fairlab_workload::bench::netperf::{Netperf, NetperfTest};
use fairlab_workload::bench::oltp::{Oltp, QUERIES};
use fairlab_workload::bench::pipe::{Pipe, pipe};
use fairlab_workload::bench::schbench::{Schbench, SchbenchRelease};
use fairlab_workload::bench::schbench_rps::SchbenchRps;
use fairlab_workload::bench::stress_sock::{MESSAGES, StressSock};
use fairlab_workload::bench::tbench::Tbench;
use fairlab_workload::workload::{ChannelKind, Workload};

/// Preset machine on which kernel code, interrupts and idle states cost nothing.
fn ideal(name: &str) -> Hardware {
    let mut hardware = Hardware::from_description(&preset(name).expect("it is a preset"));
    hardware.costs = CostModel::zero_cost();
    hardware.ipi_latency = Nanos::ZERO;
    hardware.idle_states.iter_mut().for_each(Vec::clear);
    hardware.frequency_domains.clear();
    (hardware.turbo, hardware.smt_shares) = (None, Vec::new());
    hardware
}

/// One CPU on which only the transfer of messages has a cost.
fn one_cpu_with_transfers(kind: ChannelKind, ps: u64) -> Hardware {
    let mut hardware = ideal("uniprocessor");
    let channel = hardware.costs.channel_mut(kind).expect("it has costs");
    (channel.send, channel.receive) = (CallCost::halves(ps), CallCost::halves(ps));
    hardware
}

fn measure<M: BenchObserver>(hardware: Hardware, workload: Workload, meter: M, duration: Nanos) -> (M, Machine) {
    let setup = Setup::new(KernelSeries::V6_1, hardware, workload, duration);
    let mut meter = meter;
    let mut machine = Machine::new(setup).expect("the machine is possible");
    machine.start(&mut meter).expect("the programs make progress");
    run_until_done(&mut machine, &mut meter);
    (meter, machine)
}

const SECOND: Nanos = Nanos::from_secs(1);

/// Runs a machine to its end, or until all its tasks have exited.
fn run_until_done(machine: &mut Machine, observer: &mut dyn Observer) {
    let mut until = START + machine.elapsed();
    loop {
        until += Nanos::from_millis(50);
        let has_more = machine.advance(observer, until).expect("the programs make progress");
        if !has_more || machine.is_done() {
            break;
        }
    }
    machine.finish(observer);
}

#[test]
fn a_pair_of_netperf_on_one_cpu_takes_the_work_of_both_for_each_transaction() {
    let bench = Netperf { own_work: Nanos(500), ..Netperf::default() };
    let (meter, _) =
        measure(ideal("uniprocessor"), bench.workload(), NetperfObserver::new(bench), Nanos::from_millis(10));
    let result = meter.result(Nanos::from_millis(10));
    // Work is counted in nanoseconds: 10 ms are ten thousand times 1 us.
    assert!((result.sum - 1e6).abs() <= 200.0, "{}", result.sum);
    assert_eq!((result.latency.p50_ns, result.latency.p99_ns), (1000, 1000));
}

#[test]
fn messages_over_the_loopback_device_are_paid_by_sender_softirq_and_receiver() {
    for (test, kind) in [(NetperfTest::TcpRr, ChannelKind::Tcp), (NetperfTest::UdpRr, ChannelKind::Udp)] {
        let bench = Netperf { test, own_work: Nanos(500), ..Netperf::default() };
        let mut hardware = one_cpu_with_transfers(kind, 1_000_000);
        hardware.costs.channel_mut(kind).expect("it has costs").softirq_ps = 700_000;
        let (meter, _) = measure(hardware, bench.workload(), NetperfObserver::new(bench), Nanos::from_millis(10));
        // Each direction: 1 us to send, 0.7 us of softirq, 1 us to receive, and 0.5 us of the program. The
        // first transaction differs, because the server has already checked its socket before. Buckets of the
        // histogram are 4 ns wide here.
        assert_eq!(meter.result(Nanos::from_millis(10)).latency.p50_ns / 4, 2 * 3_200 / 4);
    }
}

#[test]
fn the_data_of_a_channel_that_another_cpu_has_used_come_from_there() {
    let bench = Netperf { own_work: Nanos(500), ..Netperf::default() };
    let latency = |machine: &str| {
        let mut hardware = ideal(machine);
        let channel = hardware.costs.channel_mut(ChannelKind::Tcp).expect("it has costs");
        channel.lines_ps = ByDistance::near_and_far(650_000, 0);
        let (meter, _) = measure(hardware, bench.workload(), NetperfObserver::new(bench), Nanos::from_millis(10));
        meter.result(Nanos::from_millis(10)).latency.p50_ns
    };
    assert_eq!(latency("uniprocessor"), 1_000, "nothing moves");
    // On two CPUs, both channels transfer cache lines for the sender and the receiver: 650 ns each time.
    assert_eq!(latency("laptop-8"), 1_000 + 4 * 650);
}

#[test]
fn rounds_of_perf_bench_sched_pipe_on_one_cpu_are_four_transfers() {
    let words = ElapsedFormat::Pipe(Pipe { loops: 1000, threads: false });
    let hardware = one_cpu_with_transfers(ChannelKind::Pipe, 2_000_000);
    let (meter, machine) = measure(hardware, pipe(1000, 0), ElapsedObserver::new(words), SECOND);
    let result = meter.result(RunProgress::from_machine(&machine));
    assert_eq!((meter.elapsed(), result.usecs_per_op), (Nanos::from_micros(8000), Some(8.0)));
    assert!(
        meter
            .outcome(RunProgress::from_machine(&machine), machine.duration())
            .text
            .ends_with("       8.000000 usecs/op\n         125000 ops/sec\n")
    );
}

#[test]
fn hackbench_on_one_cpu_takes_as_long_as_all_its_messages() {
    for pipe in [false, true] {
        let kind = if pipe { ChannelKind::Pipe } else { ChannelKind::Socket };
        let bench = Hackbench { groups: 2, fds: 3, loops: 50, pipe, start_signal: true, ..Hackbench::default() };
        let hardware = one_cpu_with_transfers(kind, 1_000_000);
        let meter = ElapsedObserver::new(ElapsedFormat::Hackbench(bench));
        let (meter, _) = measure(hardware, bench.workload(), meter, SECOND);
        // Two groups, three times three pairs, fifty messages, each sent and received.
        assert_eq!(meter.elapsed(), Nanos::from_micros(2 * 9 * 50 * 2));
    }
}

#[test]
fn schbench_of_2020_has_a_cycle_of_94_ms() {
    let bench = Schbench { threads: 2, runtime: Nanos::from_secs(5), ..Schbench::default() };
    let mut hardware = ideal("laptop-8");
    // A latency of less than a microsecond would not count as a sample.
    hardware.costs.set_op(KernelOp::ContextSwitch, 3_000_000);
    let (meter, machine) = measure(hardware, bench.workload(), SchbenchObserver::new(&bench), bench.runtime);
    // 5 s, divided by 30 ms of work, 30 ms of the message thread and 33.75 ms of sleep, are 53.3 cycles of
    // four workers.
    let samples = meter.latencies().samples();
    assert!((206..=216).contains(&samples), "{samples} samples");
    let text = meter.outcome(RunProgress::from_machine(&machine), machine.duration()).text;
    assert!(
        text.starts_with(&format!("Latency percentiles (usec) runtime 5 (s) ({samples} total samples)\n\t50.0th: "))
    );
}

#[test]
fn schbench_without_the_message_threads_work_has_shorter_cycles_and_one_after_the_work_longer_latencies() {
    let samples_and_median = |form| {
        let bench = Schbench { form, threads: 2, runtime: Nanos::from_secs(5), ..Schbench::default() };
        let mut hardware = ideal("laptop-8");
        hardware.costs.set_op(KernelOp::ContextSwitch, 3_000_000);
        let (meter, _) = measure(hardware, bench.workload(), SchbenchObserver::new(&bench), bench.runtime);
        (meter.latencies().samples(), meter.latencies().percentile(50.0))
    };
    // A cycle of 63.75 ms: 78.4 cycles.
    let (samples, median) = samples_and_median(SchbenchRelease::Y2016);
    assert!((306..=318).contains(&samples) && median < 30, "{samples} {median}");
    let (samples, median) = samples_and_median(SchbenchRelease::Y2021);
    assert!((206..=216).contains(&samples) && (29_900..30_100).contains(&median), "{samples} {median}");
}

#[test]
fn schbench_with_a_rate_does_so_many_requests() {
    let bench = SchbenchRps { threads: 8, rps: 200, runtime: Nanos::from_secs(3), ..SchbenchRps::for_cpus(8) };
    let (meter, machine) = measure(ideal("laptop-8"), bench.workload(), SchbenchRpsObserver::new(bench), bench.runtime);
    let result = meter.result(machine.duration());
    // The requests of a fourth second arrive at the last instant.
    assert_eq!((result.request_latency_us.samples, result.rps.min, result.rps.max), (600, 200, 200));
    assert_eq!(result.rps_goal, 200);
    // There is a worker for each CPU: a request consists of its sleep and its work, unless a worker
    // temporarily shares its CPU.
    let alone = 100 + bench.work().0 / 1000;
    assert!(u64::from(result.request_latency_us.min) >= alone, "{result:?}");
    assert!(u64::from(result.request_latency_us.percentiles[0].value) < alone + 50, "{result:?}");
}

#[test]
fn schbench_workers_lock_each_other_out_of_their_cpu() {
    let requests = |no_locking| {
        let bench = SchbenchRps { threads: 4, no_locking, ..SchbenchRps::for_cpus(1) };
        let meter = SchbenchRpsObserver::new(bench);
        let (meter, machine) = measure(ideal("uniprocessor"), bench.workload(), meter, Nanos::from_secs(2));
        meter.result(machine.duration()).request_latency_us.samples
    };
    let (locked, free) = (requests(false), requests(true));
    // A worker that preempts the owner of the CPU's lock makes no progress.
    assert!(locked < free, "{locked} {free}");
    let work = SchbenchRps::for_cpus(1).work();
    assert!(free <= 2_000_000_000 / work.0, "{free}");
}

#[test]
fn cyclictest_is_late_only_where_its_class_does_not_come_first() {
    let latency = |priority| {
        let bench = Cyclictest { priority, hogs: 2, ..Cyclictest::default() };
        let meter = CyclictestObserver::new(bench);
        let (meter, _) = measure(ideal("uniprocessor"), bench.workload(1), meter, SECOND);
        meter.result().threads[0].latency
    };
    let real_time = latency(80);
    assert_eq!((real_time.count, real_time.max_ns), (1000, 0));
    assert!(latency(0).max_ns > 1_000_000);
}

#[test]
fn a_build_takes_as_long_as_its_work_and_less_with_more_jobs() {
    let time = |jobs| {
        let bench = KernelBuild { jobs, objects: 12, seed: 1 };
        let meter = ElapsedObserver::new(ElapsedFormat::Build(bench));
        let (meter, machine) = measure(ideal("laptop-8"), bench.workload(), meter, Nanos::from_secs(60));
        assert!(meter.result(RunProgress::from_machine(&machine)).is_done);
        let work: i64 = machine.tasks().iter().map(|task| task.runtime_ns).sum();
        (meter.elapsed().0 as i64, work)
    };
    let ((one, work_of_one), (four, work_of_four)) = (time(1), time(4));
    assert_eq!(work_of_one, work_of_four);
    assert!(one > work_of_one && one < work_of_one + 12 * 2_000_000, "one job waits for the disk only");
    assert!(four * 3 < one, "{four} {one}");
}

#[test]
fn tbench_oltp_and_sock_count_what_they_do() {
    let bench = Tbench { clients: 2, runtime: SECOND, seed: 0 };
    let (meter, machine) = measure(ideal("laptop-8"), bench.workload(), TbenchObserver::new(bench), SECOND);
    let result = meter.result(machine.duration());
    let operations: u64 = result.operations.iter().map(|(_, count)| count).sum();
    // A pair keeps one CPU busy: the client works 2,980 ns, the server 63 ns, and each 28 ns between the parts of a message.
    let expected = 2.0 * 1e9 / f64::from(2_980 + 63 + 2 * 28);
    assert!((operations as f64 / expected - 1.0).abs() < 0.01, "{operations} {expected}");
    assert!(result.throughput_mb_s > 5.0 * operations as f64 / 1024.0, "{result:?}");

    let bench = Oltp { threads: 1, time: SECOND, seed: 0 };
    let (meter, machine) = measure(ideal("laptop-8"), bench.workload(), OltpObserver::default(), SECOND);
    let result = meter.result(machine.duration());
    // Twenty queries of 85 us, and a write of 50 us.
    let expected = 1e9 / (f64::from(QUERIES) * 85_000.0 + 50_000.0);
    assert!((result.per_s / expected - 1.0).abs() < 0.02, "{} {expected}", result.per_s);

    let bench = StressSock { instances: 1, timeout: SECOND };
    let (meter, machine) = measure(ideal("uniprocessor"), bench.workload(), StressSockObserver::new(bench), SECOND);
    let result = meter.result(machine.duration());
    // 14 ns for each message of the server, and of the client 1,400 ns and 416 ns between receives, which take 1 message to
    // 8 KiB each: a connection has 2,093,056 bytes.
    let expected = |receives: usize| 1e9 / (MESSAGES * 14 + 1_400 + (receives - 1) * 416) as f64;
    assert!((expected(MESSAGES)..expected(256)).contains(&result.bogo_ops_per_s), "{}", result.bogo_ops_per_s);
}

#[test]
fn switches_away_from_idle_are_not_involuntary() {
    let bench = StressSock { instances: 1, timeout: SECOND };
    let (meter, machine) = measure(ideal("laptop-8"), bench.workload(), StressSockObserver::new(bench), SECOND);
    let result = meter.result(machine.duration());
    // Client and server wake each other, and each has a CPU of its own: they are not preempted.
    assert!(result.switches > 1000, "{}", result.switches);
    assert!(result.involuntary * 100 < result.switches, "{} of {}", result.involuntary, result.switches);
}

#[test]
fn equal_runs_have_equal_digests_and_results_and_seeds_make_a_difference() {
    let hardware = || Hardware::from_description(&preset("sc7180").expect("it is a preset"));
    let of = |seed| {
        let bench = Schbench { threads: 2, seed, ..Schbench::default() };
        let (meter, machine) = measure(hardware(), bench.workload(), SchbenchObserver::new(&bench), SECOND);
        (machine.digest().to_string(), meter.outcome(RunProgress::from_machine(&machine), machine.duration()).text)
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).0, of(2).0);
    let hackbench = || {
        let bench = Hackbench { groups: 2, fds: 4, loops: 20, start_signal: true, ..Hackbench::default() };
        let meter = ElapsedObserver::new(ElapsedFormat::Hackbench(bench));
        measure(hardware(), bench.workload(), meter, SECOND).1.digest().to_string()
    };
    assert_eq!(hackbench(), hackbench());
}

#[test]
fn a_warm_up_is_not_measured() {
    let bench = Netperf { own_work: Nanos(500), ..Netperf::default() };
    let setup = Setup::new(KernelSeries::V6_1, ideal("uniprocessor"), bench.workload(), Nanos::from_millis(10));
    let mut machine = Machine::new(setup).expect("the machine is possible");
    let mut meter = NetperfObserver::new(bench);
    machine.start(&mut meter).expect("the programs make progress");
    machine.advance(&mut meter, START + Nanos::from_millis(4)).expect("the programs make progress");
    assert!(meter.reset());
    run_until_done(&mut machine, &mut meter);
    let result = meter.result(Nanos::from_millis(6));
    assert!((result.sum - 1e6).abs() <= 200.0, "{}", result.sum);
    assert!(result.latency.count.abs_diff(6000) <= 1, "{}", result.latency.count);
}
