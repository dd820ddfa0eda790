// SPDX-License-Identifier: GPL-2.0-or-later
//! Policy hooks on a whole machine: the example of the book, each kind of decision, and the errors for
//! invalid decisions.

#[path = "../../examples/wake_policy.rs"]
#[allow(dead_code, reason = "its main program is for people")]
mod example;

use fairlab_board::preset;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, RunError, Setup};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::policy::{
    BalanceChoice, BalanceRequest, CpuSample, IdleChoice, IdleRequest, PolicyHook, PolicyScope, WakeChoice, WakeRequest,
};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::work::KernelOp;
use fairlab_workload::scenario;
use std::cell::RefCell;
use std::rc::Rc;

const SCENARIO: &str = "cpus 4\nend 20ms\ntask a n=2 run 1ms sleep 1ms\ntask b loop run 300us sleep 700us\n";

fn machine(policy: Option<Box<dyn PolicyHook>>) -> Machine {
    let scenario = scenario::parse("four.scn", SCENARIO, KernelSeries::V6_1).expect("a scenario");
    Machine::new(Setup { policy, ..Setup::from_scenario(scenario) }).expect("a possible machine")
}

#[test]
fn the_example_looks_further_than_the_kernel_and_pays_for_it() {
    let (kernel, own) = (example::measure(None), example::measure(Some(Box::new(example::first_idle))));
    let ((kernel_looks, _), (own_looks, _)) = (kernel.expect("it runs"), own.expect("it runs"));
    assert!(own_looks > 1.5 * kernel_looks, "{own_looks} and {kernel_looks}");
}

#[test]
fn a_policy_that_leaves_all_to_the_kernel_changes_nothing() {
    let (mut without, mut with) =
        (machine(None), machine(Some(Box::new(|_: &WakeRequest<'_>, _: Option<&CpuSample>| WakeChoice::Kernel))));
    without.run(&mut NoObserver).expect("it runs");
    with.run(&mut NoObserver).expect("it runs");
    assert_eq!(without.digest(), with.digest());
}

/// Tasks with their names, and the number of wake-ups of `b`.
type NamedTasks = (Vec<(TaskId, String)>, u32);

/// Policy that knows tasks by their names, and returns an invalid CPU at the third wake-up of `b`.
#[derive(Clone, Default)]
struct PolicyLog(Rc<RefCell<NamedTasks>>);

impl PolicyHook for PolicyLog {
    fn select(&mut self, request: &WakeRequest<'_>, _seen: Option<&CpuSample>) -> WakeChoice {
        let (names, nr_of_b) = &mut *self.0.borrow_mut();
        let (_, name) = names.iter().find(|(task, _)| *task == request.task).expect("tasks are made known");
        *nr_of_b += u32::from(name == "b");
        if *nr_of_b == 3 { WakeChoice::Cpu(CpuId(4)) } else { WakeChoice::Cpu(request.prev) }
    }

    fn on_new_task(&mut self, task: TaskId, name: &str) {
        self.0.borrow_mut().0.push((task, name.to_owned()));
    }
}

#[test]
fn an_answer_that_cannot_be_used_ends_the_run_and_names_the_task() {
    let error = machine(Some(Box::new(PolicyLog::default()))).run(&mut NoObserver).expect_err("there is no CPU 4");
    let RunError::Policy { asked, what, .. } = &error else { panic!("{error}") };
    let expected = ("where task b is to wake up", "chose CPU 4, but there are only CPUs 0 to 3");
    assert_eq!((asked.as_str(), what.as_str()), expected);
    assert!(error.to_string().starts_with("the policy, asked after 3"), "{error}");
}

/// Policy for balancing and idle states, with a function for each.
struct Both {
    balance: fn(&BalanceRequest<'_>) -> BalanceChoice,
    idle: fn(&IdleRequest<'_>) -> IdleChoice,
}

impl PolicyHook for Both {
    fn scope(&self) -> PolicyScope {
        PolicyScope { wakeups: false, balancing: true, idle_states: true }
    }

    fn balance(&mut self, request: &BalanceRequest<'_>, _seen: Option<&CpuSample>) -> BalanceChoice {
        (self.balance)(request)
    }

    fn idle_state(&mut self, request: &IdleRequest<'_>) -> IdleChoice {
        (self.idle)(request)
    }
}

/// Short-running tasks on the board of the book, with its idle states and costs.
fn board(policy: Option<Both>) -> Machine {
    let text = "cpus 8\nend 300ms\ntask hog n=12 mask=0-7 run 5ms sleep 3ms\ntask short n=4 run 200us sleep 4ms\n";
    let hardware = Hardware::from_description(&preset("hikey960").expect("a preset"));
    let policy = policy.map(|policy| Box::new(policy) as Box<dyn PolicyHook>);
    let setup = Setup {
        policy,
        ..Setup::with_hardware(hardware, scenario::parse("board.scn", text, KernelSeries::V6_1).expect("a scenario"))
    };
    Machine::new(setup).expect("a possible machine")
}

fn entries(machine: &Machine, state: usize) -> u64 {
    (0..8).map(|cpu| machine.idle_residency(CpuId(cpu), machine.now())[state].entries).sum()
}

const AS_THE_KERNEL: Both = Both { balance: |_| BalanceChoice::Kernel, idle: |_| IdleChoice::Kernel };

#[test]
fn a_policy_for_the_rest_that_leaves_all_to_the_kernel_changes_nothing() {
    let (mut without, mut with) = (board(None), board(Some(AS_THE_KERNEL)));
    without.run(&mut NoObserver).expect("it runs");
    with.run(&mut NoObserver).expect("it runs");
    assert_eq!(without.digest(), with.digest());
    let message = Both { idle: |request| IdleChoice::State(request.kernel), ..AS_THE_KERNEL };
    let mut message = board(Some(message));
    message.run(&mut NoObserver).expect("it runs");
    assert!(entries(&message, 0) > 0, "the same states, but the tick stops with each");
}

#[test]
fn idle_states_are_those_of_the_policy() {
    let mut kernel = board(None);
    kernel.run(&mut NoObserver).expect("it runs");
    assert!(entries(&kernel, 1) > 0, "the kernel's governor uses deeper ones");
    let mut shallow = board(Some(Both { idle: |_| IdleChoice::State(0), ..AS_THE_KERNEL }));
    shallow.run(&mut NoObserver).expect("it runs");
    assert!(entries(&shallow, 0) > 0 && entries(&shallow, 1) == 0);
    let mut none = board(Some(Both { idle: |_| IdleChoice::State(7), ..AS_THE_KERNEL }));
    let error = none.run(&mut NoObserver).expect_err("there is no such state").to_string();
    assert!(error.contains("how deep CPU") && error.contains("chose idle state 7, but there are"), "{error}");
}

#[test]
fn balancing_is_that_of_the_policy() {
    let moved = |policy: Option<Both>| {
        let mut machine = board(policy);
        machine.run(&mut NoObserver).expect("it runs");
        machine.total_ops().get(KernelOp::DetachTask)
    };
    assert!(moved(None) > 10, "the kernel balances");
    assert_eq!(moved(Some(Both { balance: |_| BalanceChoice::Nothing, ..AS_THE_KERNEL })), 0);
    let mut wrong =
        board(Some(Both { balance: |request| BalanceChoice::Pull { from: request.cpu, tasks: 1 }, ..AS_THE_KERNEL }));
    let error = wrong.run(&mut NoObserver).expect_err("no CPU pulls from itself").to_string();
    assert!(error.contains("what CPU") && error.contains("takes no part"), "{error}");
}
