// SPDX-License-Identifier: GPL-2.0-or-later
//! A policy of one's own on a whole machine: the example of the book, and what becomes of a run whose policy answers nonsense.

#[path = "../examples/wake_policy.rs"]
#[allow(dead_code, reason = "its main program is for people")]
mod example;

use fairlab_machine::engine::{Machine, RunError, Setup};
use fairlab_machine::observer::NoObserver;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::told::policy::{CpuLook, WakeChoice, WakePolicy, WakeRequest};
use fairlab_workload::scn;
use std::cell::RefCell;
use std::rc::Rc;

const SCENARIO: &str = "cpus 4\nend 20ms\ntask a n=2 run 1ms sleep 1ms\ntask b loop run 300us sleep 700us\n";

fn machine(policy: Option<Box<dyn WakePolicy>>) -> Machine {
    let scenario = scn::parse("four.scn", SCENARIO).expect("a scenario");
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
        (machine(None), machine(Some(Box::new(|_: &WakeRequest<'_>, _: Option<&CpuLook>| WakeChoice::Kernel))));
    without.run(&mut NoObserver).expect("it runs");
    with.run(&mut NoObserver).expect("it runs");
    assert_eq!(without.digest(), with.digest());
}

/// Tasks by their names, and wake-ups of `b`.
type Noted = (Vec<(TaskId, String)>, u32);

/// Knows tasks by their names, and goes wrong at the third wake-up of `b`.
#[derive(Clone, Default)]
struct Notes(Rc<RefCell<Noted>>);

impl WakePolicy for Notes {
    fn select(&mut self, request: &WakeRequest<'_>, _seen: Option<&CpuLook>) -> WakeChoice {
        let (names, nr_of_b) = &mut *self.0.borrow_mut();
        let (_, name) = names.iter().find(|(task, _)| *task == request.task).expect("tasks are made known");
        *nr_of_b += u32::from(name == "b");
        if *nr_of_b == 3 { WakeChoice::Cpu(CpuId(4)) } else { WakeChoice::Cpu(request.prev) }
    }

    fn meets(&mut self, task: TaskId, name: &str) {
        self.0.borrow_mut().0.push((task, name.to_owned()));
    }
}

#[test]
fn an_answer_that_cannot_be_used_ends_the_run_and_names_the_task() {
    let error = machine(Some(Box::new(Notes::default()))).run(&mut NoObserver).expect_err("there is no CPU 4");
    let RunError::Policy { task, what, .. } = &error else { panic!("{error}") };
    assert_eq!((task.as_str(), what.as_str()), ("b", "has answered CPU 4, but there are only CPUs 0 to 3"));
    assert!(error.to_string().starts_with("the policy, asked after 3"), "{error}");
}
