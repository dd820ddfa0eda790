// SPDX-License-Identifier: GPL-2.0-or-later
//! A run that has reached its steady state allocates nothing: not at a wake-up, a tick, a switch or a balancing pass.
//!
//! An allocator that counts stands before the system's. A scenario runs until all tasks have done everything at least
//! once, so that queues and masks have got their memory; from then on no call may come.
#![expect(unsafe_code, reason = "a global allocator cannot be written without; it only counts and calls the system's")]

use fairlab_machine::engine::{Machine, START, Setup};
use fairlab_machine::observer::NoObserver;
use fairlab_sched::units::Nanos;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Calls that this thread has made while it counted; `None` while it does not.
    static NR_CALLS: Cell<Option<u64>> = const { Cell::new(None) };
}

fn note_call() {
    NR_CALLS.set(NR_CALLS.get().map(|nr_calls| nr_calls + 1));
}

// SAFETY: every call goes unchanged to the system's allocator, which keeps the contract; counting touches only a
// constant-initialised thread-local cell, which needs no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note_call();
        // SAFETY: the caller keeps the contract of `alloc`, which is the same there.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the block comes from `System`, by the functions above and below.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note_call();
        // SAFETY: the block comes from `System`; the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs a scenario up to a time, and from there to its end without a single allocation.
fn check(scenario: &str, steady_from_ms: u64, least_events: u64) {
    let parsed = fairlab_workload::scn::parse("scenario", scenario).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = Machine::new(Setup::from_scenario(parsed)).expect("the machine can be made");
    machine.start(&mut NoObserver).expect("the run starts");
    let steady_from = START + Nanos::from_millis(steady_from_ms);
    assert!(machine.advance(&mut NoObserver, steady_from).expect("the run goes on"), "the run is long enough");
    let (events, switches, migrations) = counters(&machine);
    NR_CALLS.set(Some(0));
    let result = machine.advance(&mut NoObserver, Nanos(u64::MAX));
    let nr_calls = NR_CALLS.take().expect("the count was on");
    result.expect("the run goes on");
    let after = counters(&machine);
    assert_eq!(nr_calls, 0, "allocations in {} events", after.0 - events);
    assert!(after.0 - events >= least_events, "only {} events were looked at", after.0 - events);
    assert!(after.1 > switches + least_events / 10, "only {} switches were looked at", after.1 - switches);
    assert!(after.2 >= migrations, "migrations are counted upwards");
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
