// SPDX-License-Identifier: GPL-2.0-or-later
//! Steps of benchmark programs: futexes, waiter lists, per-CPU locks, spinning, and waiters of a mutex.

use crate::common::task_of_steps as task;
use fairlab_board::preset;
use fairlab_machine::costs::CostModel;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START, Setup};
use fairlab_sched::ctx::PrevState;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::Step;
use fairlab_workload::workload::{Channel, ChannelKind, Objects, TaskSpec, Workload};

/// Marks, recorded times and the last exit, in microseconds.
#[derive(Default)]
struct FutexLog {
    marks: Vec<(u64, usize, u32)>,
    noted: Vec<(u64, usize)>,
    last_exit: u64,
}

fn micros(now: Nanos) -> u64 {
    (now - START).0 / 1000
}

impl SchedObserver for FutexLog {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        if let Event::Switch { prev_state: PrevState::Dead, .. } = event {
            self.last_exit = micros(now);
        }
    }
}

impl Observer for FutexLog {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        match *event {
            MachineEvent::Mark { task, phase } => self.marks.push((micros(now), task, phase)),
            MachineEvent::TimeRecorded { task } => self.noted.push((micros(now), task)),
            _ => {}
        }
    }
}

/// Runs tasks on the laptop without a cost model and idle states.
fn run(tasks: Vec<TaskSpec>, objects: Objects) -> FutexLog {
    let mut hardware = Hardware::from_description(&preset("laptop-8").expect("it is a preset"));
    hardware.costs = CostModel::zero_cost();
    hardware.ipi_latency = Nanos::ZERO;
    hardware.idle_states.iter_mut().for_each(Vec::clear);
    hardware.frequency_domains.clear();
    (hardware.turbo, hardware.smt_shares) = (None, Vec::new());
    let setup = Setup {
        hardware,
        workload: Workload { tasks, objects, ..Workload::default() },
        series: KernelSeries::V6_1,
        features: Vec::new(),
        tunables: Vec::new(),
        duration: Nanos::from_secs(1),
        snapshot_every: None,
        perturb: None,
        policy: None,
    };
    let mut machine = Machine::new(setup).expect("the machine is possible");
    machine.check_every_event("cargo test -p fairlab-machine --test it futexes");
    let mut log = FutexLog::default();
    machine.run(&mut log).expect("the programs make progress");
    log
}

const fn us(us: u64) -> Nanos {
    Nanos::from_micros(us)
}

#[test]
fn a_list_is_posted_last_entry_first_and_the_time_is_noted_once() {
    let waiter = |futex| {
        vec![
            Step::FutexArm(futex),
            Step::Enlist { list: 0, futex },
            Step::FutexWait(futex),
            Step::Mark(futex as u32),
            Step::Run(us(100)),
        ]
    };
    let poster = vec![Step::Run(us(50)), Step::PostAll(0), Step::Run(us(10)), Step::Mark(9)];
    let objects = Objects { futexes: 2, lists: 1, ..Objects::default() };
    let tasks = vec![task("a", Some(1), 0, waiter(0)), task("b", Some(2), 0, waiter(1)), task("p", Some(0), 0, poster)];
    let log = run(tasks, objects);
    let mut noted = log.noted.clone();
    noted.sort_unstable();
    assert_eq!(noted, [(50, 0), (50, 1)]);
    assert_eq!(log.marks, [(50, 1, 1), (50, 0, 0), (60, 2, 9)]);
    assert_eq!(log.last_exit, 150);
}

#[test]
fn a_post_that_comes_before_the_wait_is_not_lost_and_a_second_one_is() {
    let waiter = vec![
        Step::FutexArm(0),
        Step::Run(us(100)),
        Step::FutexWait(0),
        Step::Mark(1),
        Step::FutexArm(0),
        Step::FutexWait(0),
        Step::Mark(2),
    ];
    let poster =
        vec![Step::Run(us(20)), Step::FutexPost(0), Step::FutexPost(0), Step::Sleep(us(280)), Step::FutexPost(0)];
    let objects = Objects { futexes: 1, ..Objects::default() };
    let log = run(vec![task("w", Some(1), 0, waiter), task("p", Some(0), 0, poster)], objects);
    assert_eq!(log.marks, [(100, 0, 1), (300, 0, 2)]);
}

#[test]
fn a_mutex_is_taken_before_the_work_behind_it_begins() {
    let work = || {
        let once = [Step::Lock(0), Step::Run(us(10_000)), Step::Unlock(0)];
        once.iter().chain(&once).copied().collect::<Vec<_>>()
    };
    let objects = Objects { mutexes: vec!["m".to_owned()], ..Objects::default() };
    let log = run(vec![task("a", Some(0), 0, work()), task("b", Some(1), 0, work())], objects);
    assert_eq!(log.last_exit, 40_000, "four sections of 10 ms exclude each other");
}

#[test]
fn spinning_ends_when_wall_time_has_passed_with_or_without_the_cpu() {
    let spin = |at| task("s", Some(0), at, vec![Step::Spin(us(20_000)), Step::Mark(0)]);
    // The second task begins when the first one's slice of 12 ms is over, and has the CPU until its own slice
    // is over. By then the first one's wall time has passed. If both worked for 20 ms, the last one would end
    // after 40 ms.
    let log = run(vec![spin(0), spin(0)], Objects::default());
    assert_eq!(log.marks, [(24_000, 0, 0), (32_000, 1, 0)]);
    assert_eq!(run(vec![spin(0)], Objects::default()).last_exit, 20_000);
}

#[test]
fn who_waits_for_a_cpu_s_lock_is_busy_until_it_is_free() {
    let locked = |us_before, us_inside| {
        vec![
            Step::Sleep(us(us_before)),
            Step::LockCpu,
            Step::Mark(1),
            Step::Run(us(us_inside)),
            Step::UnlockCpu,
            Step::Mark(2),
            Step::Run(us(5)),
        ]
    };
    // The first task is preempted by the second one while it holds the lock; the second one spins.
    let log = run(
        vec![task("a", Some(0), 0, locked(10, 30_000)), task("b", Some(0), 0, locked(5_010, 100))],
        Objects::default(),
    );
    let got: Vec<u64> = log.marks.iter().filter(|mark| mark.2 == 1).map(|mark| mark.0).collect();
    let released: Vec<u64> = log.marks.iter().filter(|mark| mark.2 == 2).map(|mark| mark.0).collect();
    assert!(got[1] >= released[0], "{:?}", log.marks);
    assert!(log.last_exit > 30_000 + 100 + 10 + 4_000, "busy waiting took time: {}", log.last_exit);
    // Two CPUs have two locks.
    let log = run(
        vec![task("a", Some(0), 0, locked(10, 30_000)), task("b", Some(1), 0, locked(10, 100))],
        Objects::default(),
    );
    assert_eq!(log.last_exit, 30_015);
}

#[test]
fn a_full_channel_lets_who_only_offers_sleep() {
    let channel = Channel::new(ChannelKind::Queue, 1);
    let objects = Objects { channels: vec![channel], ..Objects::default() };
    let offer = Step::Offer { channel: 0, or_sleep: us(100) };
    let sender = vec![offer, Step::Mark(1), offer, Step::Mark(2), offer, Step::Mark(3)];
    let receiver = vec![Step::Sleep(us(150)), Step::Receive(0), Step::Mark(4), Step::Receive(0), Step::Mark(5)];
    let log = run(vec![task("s", Some(0), 0, sender), task("r", Some(1), 0, receiver)], objects);
    // The second offer finds the channel full, and so does the third one 100 us later.
    assert_eq!(log.marks, [(0, 0, 1), (100, 0, 2), (150, 1, 4), (200, 0, 3)]);
}
