// SPDX-License-Identifier: GPL-2.0-or-later
//! Wake-ups of tasks whose dequeue is delayed (6.12) while load balancing moves them.

use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START, Setup};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::KernelOp;

const SCENARIO: &str = include_str!("../../../../scenarios/differences-6.12/moved-while-asleep.scn");

/// Wake-up that completed later than the timer of its task expired.
#[derive(Debug, PartialEq, Eq)]
struct LateWakeup {
    task: usize,
    /// CPU on which the task becomes runnable.
    cpu: CpuId,
    expired_us: u64,
    woken_us: u64,
}

#[derive(Debug, Default)]
struct LateWakeups {
    ids: Vec<TaskId>,
    /// Expiry of each task's timer, by its index, until the wake-up completes.
    expired: Vec<Option<Nanos>>,
    found: Vec<LateWakeup>,
}

impl SchedObserver for LateWakeups {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        let Event::Wakeup { task: id, cpu, .. } = *event else { return };
        let Some(task) = self.ids.iter().position(|&own| own == id) else { return };
        if let Some(expired) = self.expired[task].take().filter(|&expired| expired < now) {
            let [expired_us, woken_us] = [expired, now].map(|at| (at - START).0 / 1_000);
            self.found.push(LateWakeup { task, cpu, expired_us, woken_us });
        }
    }
}

impl Observer for LateWakeups {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        match *event {
            MachineEvent::Forked { task, id, .. } => {
                assert_eq!(task, self.ids.len(), "tasks are forked in order");
                self.ids.push(id);
                self.expired.push(None);
            }
            MachineEvent::Waking { task, .. } => self.expired[task] = Some(now),
            _ => {}
        }
    }
}

fn late_wakeups(move_us: u64) -> Vec<LateWakeup> {
    let parsed = fairlab_workload::scenario::parse("test.scn", SCENARIO, KernelSeries::V6_12)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut setup = Setup::from_scenario(parsed);
    for op in [KernelOp::DetachTask, KernelOp::AttachTask] {
        setup.hardware.costs.set_op(op, move_us * 1_000_000);
    }
    let mut machine = Machine::new(setup).expect("a possible machine");
    machine.check_every_event("delayed wake-ups");
    let mut observer = LateWakeups::default();
    machine.run(&mut observer).unwrap_or_else(|error| panic!("{error}"));
    observer.found
}

#[test]
fn a_task_that_is_woken_while_it_is_moved_becomes_runnable_when_it_arrives() {
    assert_eq!(late_wakeups(0), [], "without costs nothing happens between detaching and attaching");
    assert_eq!(late_wakeups(50), [LateWakeup { task: 6, cpu: CpuId(1), expired_us: 756_034, woken_us: 756_050 }]);
}
