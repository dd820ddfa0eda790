// SPDX-License-Identifier: GPL-2.0-or-later
//! No wake-up is lost while blocking and waking take time: programs that can only end if each waiter is woken
//! do end, with any cost model, and with all invariants checked after every event.

use fairlab_board::preset;
use fairlab_machine::costs::CostModel;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::KernelOp;
use fairlab_workload::bench::hackbench::Hackbench;
use fairlab_workload::step::{Behaviour, Step};
use fairlab_workload::workload::{Affinity, Attributes, Channel, ChannelKind, Objects, TaskSpec, Workload};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A loop of steps with a number of rounds.
struct RepeatedSteps {
    steps: Vec<Step>,
    next: usize,
    rounds_left: u32,
}

impl Behaviour for RepeatedSteps {
    fn next(&mut self) -> Step {
        if self.rounds_left == 0 {
            return Step::Exit;
        }
        let step = self.steps[self.next];
        self.next = (self.next + 1) % self.steps.len();
        self.rounds_left -= u32::from(self.next == 0);
        step
    }
}

fn task(name: &str, rounds: u32, steps: Vec<Step>) -> TaskSpec {
    TaskSpec {
        name: name.to_owned(),
        family: name.to_owned(),
        start: Attributes { affinity: Some(Affinity::All), ..Attributes::default() },
        attributes: Vec::new(),
        cpuset: None,
        start_cpu: 0,
        start_at: Some(Nanos::ZERO),
        own_timers: Vec::new(),
        timer_origin: Nanos::ZERO,
        is_from_shell: false,
        is_kthread: false,
        awaits_origin: false,
        behaviour: Box::new(move |_| Box::new(RepeatedSteps { steps: steps.clone(), next: 0, rounds_left: rounds })),
    }
}

/// Returns whether all tasks end before the run does.
fn ends(machine: &str, prices: &CostModel, workload: Workload) -> bool {
    let machine = preset(machine).expect("it comes with the program");
    let mut hardware = Hardware::from_description(&machine);
    hardware.costs = prices.clone();
    let mut machine = Machine::new(Setup::new(KernelSeries::V6_1, hardware, workload, Nanos::from_millis(2_000)))
        .expect("a possible machine");
    machine.check_every_event(format!("kernel_sync with {prices:?}"));
    machine.run(&mut NoObserver).expect("tasks make progress");
    machine.is_done()
}

/// Generates cost models: up to 3 us for each operation.
fn costs() -> impl Strategy<Value = CostModel> {
    (prop::collection::vec(0u64..3_000_000, KernelOp::ALL.len()), 0u64..500_000).prop_map(|(ps, line_ps)| {
        let mut prices = CostModel::zero_cost();
        for (&op, ps) in KernelOp::ALL.iter().zip(ps) {
            prices.set_op(op, ps);
        }
        prices.set_line_transfer(line_ps, 2 * line_ps);
        prices
    })
}

const MACHINES: [&str; 3] = ["hikey", "laptop-8", "uniprocessor"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_barrier_opens_in_each_round(prices in costs(), machine in 0..3usize, run_us in 0u64..40) {
        let steps = |nr: u64| vec![Step::Run(Nanos::from_micros(1 + run_us * nr)), Step::Barrier(0)];
        let tasks = (0..4).map(|nr| task(&format!("t{nr}"), 20, steps(nr))).collect();
        let objects = Objects { barriers: vec![("b".to_owned(), 4)], ..Objects::default() };
        let workload = Workload { tasks, objects, ..Workload::default() };
        prop_assert!(ends(MACHINES[machine], &prices, workload));
    }

    #[test]
    fn mutexes_semaphores_and_channels_let_all_pass(prices in costs(), machine in 0..3usize, run_us in 1u64..40) {
        let run = Step::Run(Nanos::from_micros(run_us));
        let locked = vec![Step::Lock(0), run, Step::Unlock(0), Step::SemPost(0), Step::Send(0, 1), Step::Yield];
        let taker = vec![Step::SemWait(0), Step::Receive(0), run];
        let mut tasks: Vec<_> = (0..4).map(|nr| task(&format!("a{nr}"), 15, locked.clone())).collect();
        tasks.extend((0..3).map(|nr| task(&format!("b{nr}"), 20, taker.clone())));
        let channel = Channel::new(ChannelKind::Pipe, 2);
        let objects = Objects {
            mutexes: vec!["m".to_owned()],
            semaphores: vec!["s".to_owned()],
            channels: vec![channel],
            ..Objects::default()
        };
        let workload = Workload { tasks, objects, ..Workload::default() };
        prop_assert!(ends(MACHINES[machine], &prices, workload));
    }

    #[test]
    fn two_tasks_wake_each_other_in_turn(prices in costs(), machine in 0..3usize) {
        let ping = |target| vec![Step::Wake { target, sync: false }, Step::WaitWake, Step::Run(Nanos::from_micros(3))];
        let pong = |target| vec![Step::WaitWake, Step::Wake { target, sync: true }];
        let tasks = vec![task("pong", 40, pong(1)), task("ping", 40, ping(0))];
        let workload = Workload { tasks, ..Workload::default() };
        prop_assert!(ends(MACHINES[machine], &prices, workload));
    }

    #[test]
    fn all_messages_of_hackbench_arrive(prices in costs(), machine in 0..3usize, pipe in any::<bool>()) {
        let bench = Hackbench { groups: 2, fds: 3, loops: 4, pipe, group_levels: 1, ..Hackbench::default() };
        prop_assert!(ends(MACHINES[machine], &prices, bench.workload()));
    }
}
