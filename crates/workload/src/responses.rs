// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that can take part in a response: those that its work can reach through the objects of the workload.
//!
//! The steps of programs say what a task can release and take. Whether it does so for one response is decided in a
//! run.

use crate::step::{ObjectId, Step, TaskIndex};
use crate::workload::{ResponseSpec, ResponseStart, Workload};
use std::collections::BTreeSet;

/// Object through which work gets from one task to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Link {
    Semaphore(ObjectId),
    Condition(ObjectId),
    Suspension(ObjectId),
    Barrier(ObjectId),
    /// Wake-up or fork of a task.
    Task(TaskIndex),
}

/// Objects that the program of a task can release and take, and points that it can pass.
#[derive(Clone, Debug, Default)]
struct TaskLinks {
    releases: BTreeSet<Link>,
    takes: BTreeSet<Link>,
    points: BTreeSet<ObjectId>,
}

impl TaskLinks {
    fn new(workload: &Workload, task: TaskIndex) -> Self {
        let mut links = Self { takes: BTreeSet::from([Link::Task(task)]), ..Self::default() };
        for step in (workload.tasks[task].behaviour)(0).future_steps().unwrap_or_default() {
            links.add(step, workload.objects.start_barrier);
        }
        links
    }

    fn add(&mut self, step: Step, start_barrier: Option<ObjectId>) {
        let (released, taken) = match step {
            Step::SemPost(semaphore) => (Some(Link::Semaphore(semaphore)), None),
            Step::SemWait(semaphore) => (None, Some(Link::Semaphore(semaphore))),
            Step::CondSignal(cond) | Step::CondBroadcast(cond) => (Some(Link::Condition(cond)), None),
            Step::CondWait { cond, .. } => (None, Some(Link::Condition(cond))),
            Step::CondSync { cond, .. } => (Some(Link::Condition(cond)), Some(Link::Condition(cond))),
            Step::Resume(name) => (Some(Link::Suspension(name)), None),
            Step::Suspend(name) => (None, Some(Link::Suspension(name))),
            Step::Barrier(barrier) if start_barrier != Some(barrier) => {
                (Some(Link::Barrier(barrier)), Some(Link::Barrier(barrier)))
            }
            Step::Wake { target, .. } | Step::Fork(target) => (Some(Link::Task(target)), None),
            Step::Point(point) => {
                self.points.insert(point);
                (None, None)
            }
            _ => (None, None),
        };
        self.releases.extend(released);
        self.takes.extend(taken);
    }
}

/// Tasks of a workload that can take part in its responses.
#[derive(Clone, Debug)]
pub struct ResponseTasks {
    /// Tasks of each definition, in ascending order.
    of_definition: Vec<BTreeSet<TaskIndex>>,
    /// Whether a task of the definition passes its end.
    can_end: Vec<bool>,
}

impl ResponseTasks {
    /// Finds the tasks of all definitions.
    pub fn new(workload: &Workload) -> Self {
        if workload.responses.is_empty() {
            return Self { of_definition: Vec::new(), can_end: Vec::new() };
        }
        let links: Vec<TaskLinks> = (0..workload.tasks.len()).map(|task| TaskLinks::new(workload, task)).collect();
        let of_definition: Vec<_> = workload.responses.iter().map(|spec| reached(spec, &links)).collect();
        let can_end = workload.responses.iter().zip(&of_definition).map(|(spec, tasks)| {
            spec.end.is_none_or(|end| tasks.iter().any(|&task| links[task].points.contains(&end)))
        });
        Self { can_end: can_end.collect(), of_definition }
    }

    /// Tasks that can take part in the responses of a definition, in ascending order.
    pub fn of_definition(&self, definition: usize) -> impl Iterator<Item = TaskIndex> {
        self.of_definition[definition].iter().copied()
    }

    /// Returns the groups of tasks whose responses have a task in common, each in ascending order.
    pub fn start_groups(&self) -> Vec<BTreeSet<TaskIndex>> {
        let mut groups: Vec<BTreeSet<TaskIndex>> = Vec::new();
        for tasks in self.of_definition.iter().filter(|tasks| !tasks.is_empty()) {
            let mut merged = tasks.clone();
            groups.retain(|group| {
                let is_apart = group.is_disjoint(tasks);
                if !is_apart {
                    merged.extend(group);
                }
                is_apart
            });
            groups.push(merged);
        }
        groups
    }

    /// Returns warnings about definitions whose end their work cannot reach.
    pub fn warnings(&self, workload: &Workload) -> Vec<String> {
        let unreachable = workload.responses.iter().zip(&self.can_end).filter(|(_, can_end)| !**can_end);
        unreachable
            .map(|(spec, _)| {
                format!(
                    "no response \"{}\" can end: no task that passes its end can get work from the task at which it begins",
                    spec.name
                )
            })
            .collect()
    }
}

/// Returns the tasks that the work of a definition can reach.
fn reached(spec: &ResponseSpec, links: &[TaskLinks]) -> BTreeSet<TaskIndex> {
    let (ResponseStart::Point(start) | ResponseStart::Timer { point: start, .. }) = &spec.start;
    let begins = (0..links.len()).filter(|&task| links[task].points.contains(start));
    let mut tasks: BTreeSet<TaskIndex> = begins.collect();
    let mut left: Vec<TaskIndex> = tasks.iter().copied().collect();
    while let Some(task) = left.pop() {
        for (other, of_other) in links.iter().enumerate() {
            if !of_other.takes.is_disjoint(&links[task].releases) && tasks.insert(other) {
                left.push(other);
            }
        }
    }
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;
    use fairlab_sched::series::KernelSeries;

    fn workload(text: &str) -> Workload {
        let text = format!("cpus 2\n{text}");
        scenario::parse("test.scn", &text, KernelSeries::V6_12).unwrap_or_else(|error| panic!("{error}")).workload
    }

    #[test]
    fn work_reaches_tasks_through_objects_wake_ups_and_forks() {
        let workload = workload(
            "response frame from=ui.every to=shown\nresponse other from=begun to=unseen\n\
             task ui run 1ms post drawn every 10ms\ntask render take drawn run 1ms wake gpu\n\
             task gpu wait run 1ms point shown post back\ntask build run 1ms point begun sleep 1ms\n\
             task logger take back run 1ms\ntask idler run 1ms point unseen sleep 1ms",
        );
        let tasks = ResponseTasks::new(&workload);
        assert_eq!(tasks.of_definition(0).collect::<Vec<_>>(), [0, 1, 2, 4]);
        assert_eq!(tasks.of_definition(1).collect::<Vec<_>>(), [3]);
        assert_eq!(tasks.start_groups(), [BTreeSet::from([0, 1, 2, 4]), BTreeSet::from([3])]);
        let warnings = tasks.warnings(&workload);
        assert!(warnings.len() == 1 && warnings[0].contains("\"other\" can end"), "{warnings:?}");
    }

    #[test]
    fn responses_that_share_a_task_are_one_group() {
        let workload = workload(
            "response a from=a.every\nresponse b from=b.every\nresponse c from=c.every\n\
             task a run 1ms post q every 10ms\ntask b run 1ms post q every 10ms\ntask c run 1ms every 10ms\n\
             task w take q run 1ms",
        );
        assert_eq!(ResponseTasks::new(&workload).start_groups(), [BTreeSet::from([0, 1, 3]), BTreeSet::from([2])]);
    }
}
