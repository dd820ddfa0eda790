// SPDX-License-Identifier: GPL-2.0-or-later
//! Softirqs receive packets, and are deferred to ksoftirqd when they take too long. All numbers are computed
//! by hand; only the network softirq has a cost, so everything else takes no time.

use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START, Setup};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::netperf::Netperf;
use fairlab_workload::scenario;
use fairlab_workload::workload::ChannelKind;

/// Woken tasks, and tasks to which CPU 0 switches, with times in us from the start.
#[derive(Default)]
struct KsoftirqdLog {
    woken: Vec<(u64, TaskId)>,
    switches: Vec<(u64, TaskId)>,
    /// Waiting times of packets at their wake-ups, in us.
    waits: Vec<u64>,
}

impl SchedObserver for KsoftirqdLog {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        let at = now.0.saturating_sub(START.0) / 1000;
        match *event {
            Event::Wakeup { task, is_new: false, .. } => self.woken.push((at, task)),
            Event::Switch { cpu: CpuId(0), next, .. } => self.switches.push((at, next)),
            _ => {}
        }
    }
}

impl Observer for KsoftirqdLog {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        if let MachineEvent::Waking { since, by_interrupt: true, .. } = *event {
            self.waits.push((now - since).0 / 1000);
        }
    }
}

/// Returns two CPUs on which a packet takes this many nanoseconds.
fn setup(packet_ns: u64, scenario: &str) -> Setup {
    let scenario = scenario::parse("test.scn", &format!("cpus 2\nend 60ms\n{scenario}"), KernelSeries::V6_1)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut setup = Setup::from_scenario(scenario);
    for kind in [ChannelKind::Tcp, ChannelKind::Udp] {
        setup.hardware.costs.channel_mut(kind).expect("it has costs").softirq_ps = packet_ns * 1000;
    }
    setup
}

fn run(setup: Setup) -> (Machine, KsoftirqdLog) {
    let mut machine = Machine::new(setup).expect("a possible machine");
    machine.check_every_event("a test of ksoftirqd");
    let mut notes = KsoftirqdLog::default();
    machine.run(&mut notes).unwrap_or_else(|error| panic!("{error}"));
    (machine, notes)
}

fn id_of(machine: &Machine, name: &str) -> Option<TaskId> {
    machine.tasks().iter().find(|task| task.name == name).and_then(|task| task.id)
}

/// Returns the times at which the thread of CPU 0 was woken, in us.
fn thread_woken(machine: &Machine, notes: &KsoftirqdLog) -> Vec<u64> {
    let Some(thread) = id_of(machine, "ksoftirqd/0") else { return Vec::new() };
    notes.woken.iter().filter(|&&(_, task)| task == thread).map(|&(at, _)| at).collect()
}

/// Returns the time at which a task first runs on CPU 0 after the start, in us.
fn first_run(machine: &Machine, notes: &KsoftirqdLog, name: &str) -> u64 {
    let task = id_of(machine, name);
    let mut switches = notes.switches.iter().filter(|&&(_, next)| Some(next) == task);
    // The task also runs at the start, until it waits.
    switches.find(|&&(at, _)| at > 0).expect("it runs").0
}

const SERVER_ON_CPU0: &str = "task server cpu=0 mask=0-0 wait run 1us\n";
const SERVER_ON_CPU1: &str = "task server cpu=1 mask=1-1 wait run 1us\n";

#[test]
fn packets_are_taken_in_one_after_the_other_before_the_cpu_reschedules() {
    let (machine, notes) = run(setup(1000, &format!("{SERVER_ON_CPU0}packets 0 50ms 5 server\n")));
    assert_eq!(notes.waits, [1, 2, 3, 4, 5]);
    assert_eq!(first_run(&machine, &notes, "server"), 50_005);
    let counters = &machine.counters().per_cpu[0];
    assert_eq!((counters.packets, counters.max_backlog, counters.ksoftirqd_wakeups), (5, 5, 0));
    assert_eq!(id_of(&machine, "ksoftirqd/0"), None, "the thread was not needed");
}

#[test]
fn what_is_left_after_300_packets_goes_over_if_the_cpu_has_to_reschedule() {
    let (machine, notes) = run(setup(1000, &format!("{SERVER_ON_CPU0}packets 0 50ms 300 server\n")));
    assert!(thread_woken(&machine, &notes).is_empty());
    let (machine, notes) = run(setup(1000, &format!("{SERVER_ON_CPU0}packets 0 50ms 301 server\n")));
    assert_eq!(thread_woken(&machine, &notes), [50_300]);
    assert_eq!(notes.waits.len(), 301, "the thread receives the last one");
    assert_eq!(machine.counters().per_cpu[0].ksoftirqd_wakeups, 1);
    let thread = machine.tasks().iter().find(|task| task.name == "ksoftirqd/0").expect("it was needed");
    assert_eq!((thread.runtime_ns, thread.kernel_ns), (1000, 1000));
    // Without a need to reschedule another round follows.
    let (machine, notes) = run(setup(1000, &format!("{SERVER_ON_CPU1}packets 0 50ms 301 server\n")));
    assert!(thread_woken(&machine, &notes).is_empty());
    assert_eq!(notes.waits.last(), Some(&301));
}

#[test]
fn no_round_begins_after_two_milliseconds_counted_in_jiffies() {
    // Jiffies of 4 ms: packets of 10 us come at 50 ms, in the jiffy that ends at 52 ms. The first 300 take
    // until 53 ms.
    let (machine, notes) = run(setup(10_000, &format!("{SERVER_ON_CPU1}packets 0 50ms 900 server\n")));
    assert_eq!(thread_woken(&machine, &notes), [53_000]);
    // Jiffies of 1 ms: a round of two jiffies is over at 52 ms, which is noticed after 4 * 64 packets. So are
    // the 2 ms.
    let mut fast = setup(10_000, &format!("{SERVER_ON_CPU1}packets 0 50ms 900 server\n"));
    fast.hardware.tick = Nanos::from_millis(1);
    let (machine, notes) = run(fast);
    assert_eq!(thread_woken(&machine, &notes), [52_560]);
    assert_eq!(notes.waits.len(), 900);
}

#[test]
fn no_more_than_ten_rounds_follow_each_other() {
    // Packets take 1.2 us and come ten at a time every 10 us: rounds of 300 never end by themselves. Jiffies
    // of 10 ms are long.
    let mut setup = setup(1200, &format!("{SERVER_ON_CPU1}packets 0 10us 10 server\n"));
    setup.hardware.tick = Nanos::from_millis(10);
    setup.duration = Nanos::from_millis(5);
    let (machine, notes) = run(setup);
    // The first packets come at 10 us.
    assert_eq!(thread_woken(&machine, &notes), [10 + 3600]);
    // Nothing else runs on the CPU, so the thread gets it at once.
    assert_eq!(first_run(&machine, &notes, "ksoftirqd/0"), 3610);
}

#[test]
fn while_the_thread_waits_for_its_cpu_packets_wait_for_the_thread_and_a_later_kernel_takes_them_in_at_interrupts() {
    // A burst of 18 ms of work is deferred after 6 ms. The thread shares its CPU with a task of equal weight,
    // for longer than a tick at a time. If interrupts do not wait for the thread, the next tick receives all
    // waiting packets.
    let longest = |first: i64| {
        let mut setup = setup(
            20_000,
            "task hog cpu=0 mask=0-0 run 60ms\ntask server cpu=1 mask=1-1 wait run 1us\npackets 0 25ms 900 server\n",
        );
        setup.tunables.push(("ksoftirqd_first".into(), first));
        let (machine, notes) = run(setup);
        let counters = &machine.counters().per_cpu[0];
        assert!(counters.ksoftirqd_wakeups > 0);
        (notes.waits[..900].last().copied(), notes.waits.len())
    };
    let (waited, at_interrupts) = (longest(1), longest(0));
    // 18 ms of work: the other task has the CPU for 9.88 ms meanwhile, or for 1.88 ms, until a tick.
    assert_eq!((waited, at_interrupts), ((Some(27_880), 1256), (Some(19_880), 1400)));
}

#[test]
fn a_backlog_has_room_for_a_thousand() {
    let (machine, notes) =
        run(setup(1_000, &format!("{SERVER_ON_CPU1}packets 0 40ms 999 server\npackets 0 40ms 10 server\n")));
    let counters = &machine.counters().per_cpu[0];
    // The first of the 999 packets is still in progress when the ten come at the same instant; there is no
    // space for nine of them.
    assert_eq!((counters.max_backlog, counters.packets_dropped), (1000, 9));
    assert_eq!(notes.waits.len() as u64, counters.packets);
}

#[test]
fn free_packets_wake_at_once() {
    let (machine, notes) = run(setup(0, &format!("{SERVER_ON_CPU0}packets 0 20ms 400 server\n")));
    assert_eq!(notes.waits, vec![0; 1200]);
    assert!(thread_woken(&machine, &notes).is_empty());
}

#[test]
fn messages_over_the_loopback_device_wait_for_the_thread_too_and_none_gets_lost() {
    for first in [1, 0] {
        let workload = Netperf { pairs: 2, ..Netperf::default() }.workload();
        let scenario = "task server cpu=0 wait run 1us\npackets 0-1 5ms 900 server\n";
        let base = setup(5_000, scenario);
        let packets = base.workload.packets.clone();
        let mut with_netperf = Setup { workload, duration: Nanos::from_millis(40), ..base };
        let server = with_netperf.workload.tasks.len();
        let scenario =
            scenario::parse("test.scn", &format!("cpus 2\n{scenario}"), KernelSeries::V6_1).expect("a scenario");
        with_netperf.workload.tasks.extend(scenario.workload.tasks);
        let for_server = |load: &fairlab_workload::workload::PacketLoad| fairlab_workload::workload::PacketLoad {
            targets: vec![server],
            ..load.clone()
        };
        with_netperf.workload.packets = packets.iter().map(for_server).collect();
        with_netperf.tunables.push(("ksoftirqd_first".into(), first));
        let (machine, _) = run(with_netperf);
        let wakeups: u64 = machine.counters().per_cpu.iter().map(|cpu| cpu.ksoftirqd_wakeups).sum();
        assert!(wakeups > 0, "softirqs are deferred");
        assert!(machine.stuck().is_empty(), "{:?}", machine.stuck());
    }
}
