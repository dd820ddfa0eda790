// SPDX-License-Identifier: GPL-2.0-or-later
//! A run in its steady state allocates nothing: not at a wake-up, a tick, a switch or a balancing pass, and
//! not while these take time, yield and wait for locks.
//!
//! A counting allocator wraps the system's. A scenario runs until all tasks have done everything at least
//! once, so that queues and masks have their memory. From then on, no call may come.
#![expect(unsafe_code, reason = "a global allocator needs unsafe code; it only counts and calls the system's")]

use fairlab_board::preset;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::{Interest, KernelPath, MachineEvent, NoObserver, Observer};
use fairlab_machine::sim::{Machine, START, Setup};
use fairlab_sched::probe::SchedObserver;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};

struct CountingAllocator;

thread_local! {
    /// Number of allocations by this thread while counting is on; `None` while it is off.
    static NR_CALLS: Cell<Option<u64>> = const { Cell::new(None) };
    /// Backtrace of the first allocation.
    static FIRST_CALLER: RefCell<Option<Backtrace>> = const { RefCell::new(None) };
}

fn count_call() {
    let Some(nr_calls) = NR_CALLS.get() else { return };
    if nr_calls == 0 {
        // Capturing a backtrace allocates too.
        NR_CALLS.set(None);
        FIRST_CALLER.set(Some(Backtrace::force_capture()));
    }
    NR_CALLS.set(Some(nr_calls + 1));
}

// SAFETY: every call is passed unchanged to the system's allocator, which keeps the contract. Counting
// touches only constant-initialised thread-local cells, and is off while it allocates itself.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_call();
        // SAFETY: the caller keeps the contract of `alloc`, which is the same there.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the block comes from `System`, by the functions above and below.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count_call();
        // SAFETY: the block comes from `System`; the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Length of the parts into which a steady run is divided.
const SLICE: Nanos = Nanos::from_millis(10);

/// Runs a scenario up to a time, and from there to its end without an allocation.
fn check(scenario: &str, steady_from_ms: u64, least_events: u64) {
    check_setup(setup(scenario), &mut NoObserver, steady_from_ms, least_events);
}

fn setup(scenario: &str) -> Setup {
    let parsed = fairlab_workload::scenario::parse("scenario", scenario, KernelSeries::V6_1)
        .unwrap_or_else(|error| panic!("{error}"));
    Setup::from_scenario(parsed)
}

/// Runs a setup with an observer, which must not allocate either.
fn check_setup(setup: Setup, observer: &mut dyn Observer, steady_from_ms: u64, least_events: u64) {
    let mut machine = Machine::new(setup).expect("the machine can be made");
    machine.start(observer).expect("the run starts");
    let steady_from = START + Nanos::from_millis(steady_from_ms);
    assert!(machine.advance(observer, steady_from).expect("the run goes on"), "the run is long enough");
    let (mut nr_events, mut nr_switches) = (0, 0);
    let mut until = steady_from;
    loop {
        let (before, nr_tasks) = (counters(&machine), machine.tasks().len());
        until += SLICE;
        NR_CALLS.set(Some(0));
        let result = machine.advance(observer, until);
        let nr_calls = NR_CALLS.take().expect("the count was on");
        let goes_on = result.expect("the run goes on");
        let first = FIRST_CALLER.take();
        let after = counters(&machine);
        assert!(after.2 >= before.2, "migrations are counted upwards");
        // A kernel thread that is created when a CPU first needs it allocates.
        if machine.tasks().len() == nr_tasks {
            if let Some(first) = first {
                panic!("{nr_calls} allocations in {} events; the first:\n{first}", after.0 - before.0);
            }
            nr_events += after.0 - before.0;
            nr_switches += after.1 - before.1;
        }
        if !goes_on {
            break;
        }
    }
    assert!(nr_events >= least_events, "only {nr_events} events were checked");
    assert!(nr_switches > least_events / 10, "only {nr_switches} switches were checked");
}

/// Counts of kernel-path phases, of phases after which the path continued later, and of phases that waited
/// for a lock, from a time on.
struct PathCounts {
    from: Nanos,
    phases: [u64; KernelPath::ALL.len()],
    paused: [u64; KernelPath::ALL.len()],
    waits: u64,
}

impl SchedObserver for PathCounts {}

impl Observer for PathCounts {
    fn wants(&self) -> Interest {
        Interest::NONE
    }

    fn wants_kernel_paths(&self) -> bool {
        true
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        if let MachineEvent::Kernel { path, waited, ends, .. } = *event
            && now >= self.from
        {
            self.phases[path as usize] += 1;
            self.paused[path as usize] += u64::from(!ends);
            self.waits += u64::from(waited > Nanos::ZERO);
        }
    }
}

/// Runs a workload on a preset with a cost model: paths yield, and CPUs wait for locks.
fn check_with_costs(machine: &str, workload: &str, steady_from_ms: u64, least_events: u64, paused: &[KernelPath]) {
    let hardware = Hardware::from_description(&preset(machine).expect("it comes with the program"));
    let scenario = format!("cpus {}\n{workload}", hardware.nr_cpus());
    let none = [0; KernelPath::ALL.len()];
    let mut paths =
        PathCounts { from: START + Nanos::from_millis(steady_from_ms), phases: none, paused: none, waits: 0 };
    let setup = Setup { hardware, ..setup(&scenario) };
    check_setup(setup, &mut paths, steady_from_ms, least_events);
    for path in paused {
        assert!(paths.paused[*path as usize] > 20, "{path:?} has yielded {} times", paths.paused[*path as usize]);
    }
    for path in [KernelPath::Tick, KernelPath::Interrupt, KernelPath::Schedule, KernelPath::Wake] {
        assert!(paths.phases[path as usize] > 20, "{path:?} has had {} phases", paths.phases[path as usize]);
    }
    assert!(paths.waits > 0, "no CPU has waited for a lock");
}

fn counters(machine: &Machine) -> (u64, u64, u64) {
    let counters = machine.counters();
    (counters.events, counters.switches, counters.migrations)
}

#[test]
fn one_cpu_with_groups_allocates_nothing() {
    check(
        "cpus 1\nend 4s\n\
         group a shares=2048\ngroup b parent=a\ngroup c idle\n\
         task hog group=b run 1s\n\
         task pulse n=3 group=a runr 100us 900us sleepr 1ms 5ms\n\
         task polite group=c batch run 3ms yield sleep 2ms\n\
         task idle idlepol nice=5 run 10ms sleep 1ms\n",
        2000,
        5_000,
    );
}

#[test]
fn sixteen_cpus_with_smt_that_wake_and_balance_allocate_nothing() {
    check(
        "cpus 16\ntopo smt=2 llc=8 pkg=16\nlevels SMP\nipi 1us\nend 4s\n\
         group a\ngroup b parent=a shares=512\n\
         task pa n=6 group=b runr 20us 200us wake pb wait\n\
         task pb n=6 wait runr 20us 100us wakesync pa\n\
         task pulse n=20 runr 100us 4ms sleepr 100us 6ms\n\
         task hog n=6 run 50ms sleepr 1ms 20ms\n\
         task pin mask=2-3 runr 1ms 3ms sleepr 1ms 2ms\n",
        2000,
        100_000,
    );
}

#[test]
fn two_kinds_of_cpus_on_two_nodes_allocate_nothing() {
    check(
        "cpus 8\ntopo llc=4 pkg=4 node=4\nlevels MP\ncaps 446 446 1024 1024 446 446 1024 1024\nscale 1\nend 3s\n\
         freq 500ms 0 700\nfreq 1700ms 0 1024\nfreq 2s 5 300\nirq 1-2 3ms 200us\n\
         task big n=5 run 30ms sleepr 1ms 9ms\n\
         task small n=9 runr 50us 500us sleepr 200us 4ms\n",
        1500,
        15_000,
    );
}

#[test]
fn real_time_tasks_allocate_nothing() {
    check(
        "cpus 4\nend 3s\n\
         task rr n=3 rr=10 run 2ms sleepr 1ms 3ms\n\
         task fifo n=2 fifo=50 runr 100us 300us sleepr 1ms 2ms\n\
         task fair n=6 runr 1ms 5ms sleepr 1ms 5ms\n",
        1500,
        5_000,
    );
}

#[test]
fn quotas_and_deadlines_allocate_nothing() {
    check(
        "cpus 4\nend 3s\n\
         group a quota=15ms period=20ms\ngroup b parent=a quota=4ms period=10ms\n\
         task dl n=2 dl=2ms/10ms/10ms run 1500us sleep 8ms\n\
         task limited n=4 group=b runr 1ms 5ms sleepr 1ms 3ms\n\
         task fair n=6 group=a runr 1ms 5ms sleepr 1ms 5ms\n",
        1500,
        4_000,
    );
}

/// Typical load of a busy machine.
const MIXED: &str = "end 4s\n\
    group a\ngroup b parent=a shares=512\ngroup c parent=b\n\
    task pa n=6 group=c runr 20us 200us wake pb wait\n\
    task pb n=6 wait group=b runr 20us 100us wakesync pa\n\
    task pulse n=8 runr 100us 4ms sleepr 100us 6ms\n\
    task short n=24 runr 10us 40us sleepr 30us 300us\n\
    task hog n=2 group=b run 50ms sleepr 1ms 20ms\n\
    task pin mask=2-3 runr 1ms 3ms sleepr 1ms 2ms\n\
    task rr n=2 rr=10 run 300us sleepr 3ms 9ms\n";

const PAUSED: [KernelPath; 4] = [KernelPath::Select, KernelPath::Schedule, KernelPath::NewIdle, KernelPath::Softirq];

#[test]
fn little_and_big_cpus_that_pause_and_wait_for_locks_allocate_nothing() {
    check_with_costs("sc7180", MIXED, 2000, 100_000, &PAUSED);
}

#[test]
fn little_and_big_cpus_with_schedutil_that_pause_allocate_nothing() {
    check_with_costs("hikey960", MIXED, 2000, 100_000, &PAUSED);
}

#[test]
fn two_sockets_that_pause_and_wait_for_locks_allocate_nothing() {
    let workload = "end 1500ms\ngroup a\n\
        task pa n=60 group=a runr 20us 200us wake pb wait\n\
        task pb n=60 group=a wait runr 20us 100us wakesync pa\n\
        task pulse n=150 runr 100us 4ms sleepr 100us 6ms\n\
        task hog n=40 run 50ms sleepr 1ms 20ms\n";
    check_with_costs("xeon-2s-224", workload, 1000, 100_000, &PAUSED);
}
