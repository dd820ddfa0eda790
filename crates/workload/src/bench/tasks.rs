// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks of which models consist: programs that repeat steps, and tasks that create others.

use crate::step::{Behaviour, Step, TaskIndex};
use crate::workload::{Attributes, GroupSpec, TaskSpec};
use fairlab_sched::units::Nanos;

/// Work of a shell from one start to the next, and of the started program until it runs its own code.
///
/// Measured on an EPYC (Zen 4, 2026): a loop of bash that starts `/bin/true` takes 530 us for each start if the programs run
/// on another CPU, and 963 us if they share its CPU.
pub(super) const SHELL_WORK: Nanos = Nanos::from_micros(530);
pub(super) const PROGRAM_WORK: Nanos = Nanos::from_micros(430);

/// Index of the task that creates the others, where a model has one.
pub(super) const CREATOR: usize = 0;

/// Program that repeats some steps and then ends.
pub(super) struct RepeatedSteps {
    pub(super) steps: Vec<Step>,
    pub(super) next: usize,
    pub(super) rounds_left: u64,
}

impl RepeatedSteps {
    /// Returns a program that never ends.
    pub(super) const fn endless(steps: Vec<Step>) -> Self {
        Self { steps, next: 0, rounds_left: u64::MAX }
    }

    /// Returns a program that runs all steps once.
    pub(super) const fn once(steps: Vec<Step>) -> Self {
        Self { steps, next: 0, rounds_left: 1 }
    }
}

impl Behaviour for RepeatedSteps {
    fn next(&mut self) -> Step {
        if self.next == self.steps.len() {
            self.next = 0;
            self.rounds_left -= 1;
        }
        if self.rounds_left == 0 {
            return Step::Exit;
        }
        self.next += 1;
        self.steps[self.next - 1]
    }
}

/// Behaviour with some steps before another behaviour.
pub(super) struct PrefixedBehaviour {
    pub(super) first: Vec<Step>,
    pub(super) done: usize,
    pub(super) rest: Box<dyn Behaviour>,
}

impl PrefixedBehaviour {
    pub(super) fn new(first: Vec<Step>, rest: impl Behaviour + 'static) -> Self {
        Self { first, done: 0, rest: Box::new(rest) }
    }
}

impl Behaviour for PrefixedBehaviour {
    fn next(&mut self) -> Step {
        let Some(&step) = self.first.get(self.done) else { return self.rest.next() };
        self.done += 1;
        step
    }
}

/// Returns a task that another one creates.
pub(super) fn created_task<B: Behaviour + 'static>(
    name: String,
    family: &str,
    behaviour: impl Fn(u32) -> B + Send + Sync + 'static,
) -> TaskSpec {
    TaskSpec { is_from_shell: true, ..TaskSpec::new(name, family, behaviour) }
}

/// Returns the task that creates others, at the start of the run, and then ends. It has to be the first one
/// of its workload.
pub(super) fn creator(name: &str, children: Vec<TaskIndex>) -> TaskSpec {
    let steps: Vec<Step> = children.into_iter().map(Step::Fork).collect();
    TaskSpec {
        start_at: Some(Nanos::ZERO),
        ..created_task(name.to_owned(), name, move |_| RepeatedSteps::once(steps.clone()))
    }
}

/// Returns a task that repeats steps, in a group, from the start of the run on.
pub(super) fn repeating_task(
    name: String,
    family: &str,
    group: Option<usize>,
    steps: Vec<Step>,
    rounds: u64,
) -> TaskSpec {
    let behaviour = move |_| RepeatedSteps { steps: steps.clone(), next: 0, rounds_left: rounds };
    TaskSpec {
        start: Attributes { group: Some(group), ..Attributes::default() },
        start_at: Some(Nanos::ZERO),
        ..created_task(name, family, behaviour)
    }
}

/// Returns task groups inside each other, as many as `levels`; a benchmark runs in the innermost one.
pub(super) fn nested_groups(levels: u32) -> Vec<GroupSpec> {
    (0..levels as usize).map(|level| GroupSpec::new(format!("level{}", level + 1), level.checked_sub(1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeating_program_does_all_its_rounds_and_ends() {
        let mut program = RepeatedSteps { steps: vec![Step::Send(0, 1), Step::Receive(1)], next: 0, rounds_left: 2 };
        let steps: Vec<Step> = (0..5).map(|_| program.next()).collect();
        assert_eq!(steps, [Step::Send(0, 1), Step::Receive(1), Step::Send(0, 1), Step::Receive(1), Step::Exit]);
    }

    #[test]
    fn nested_groups_stand_in_each_other() {
        let groups = nested_groups(2);
        assert_eq!(groups.iter().map(|group| group.parent).collect::<Vec<_>>(), [None, Some(0)]);
    }
}
