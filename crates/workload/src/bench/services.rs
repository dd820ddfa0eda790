// SPDX-License-Identifier: GPL-2.0-or-later
//! Services that are there beside a benchmark: each in a task group of its own, awake for a moment now and then.
//!
//! A cfs_rq stays in its CPU's list of those with load for as long as anything of its averages is left, so a group whose task has
//! run there for a tenth of a millisecond is walked over by each update of blocked load for half a second, though nothing
//! runs in it. Such groups are what is called inactive here.
//!
//! A service sleeps from half to one and a half times the period, works, and sleeps again. Not modelled: what wakes
//! services beside their own timers, groups inside each other.

use super::random::Random;
use super::repeating_task;
use crate::step::{Behaviour, Step};
use crate::workload::{GroupSpec, TaskSpec, Workload};
use fairlab_sched::units::Nanos;

/// Services of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Services {
    /// How many: each has a group and a task.
    pub number: u32,
    /// Time between two wake-ups of one, on average.
    pub period: Nanos,
    /// What one does when it is awake, as work on a CPU of full capacity at its highest frequency.
    pub work: Nanos,
    /// Seed of their sleeps.
    pub seed: u64,
}

impl Services {
    /// Adds them to a workload, behind its tasks. They begin at times of their own within a period.
    pub fn add_to(self, workload: &mut Workload) {
        for index in 0..self.number {
            workload.groups.push(GroupSpec {
                name: format!("service{index}"),
                parent: None,
                shares: 1024,
                quota: None,
                idle: false,
                uclamp: None,
            });
            let group = workload.groups.len() - 1;
            let mut random = Random::new(self.seed, "services", u64::from(index));
            let start = random.below(self.period);
            workload.tasks.push(TaskSpec {
                start_at: Some(start),
                behaviour: Box::new(move |_| {
                    Box::new(Service { services: self, random: random.clone(), works: false })
                }),
                ..repeating_task(format!("service{index}"), "service", Some(group), Vec::new(), 0)
            });
        }
    }
}

/// What a service does.
struct Service {
    services: Services,
    random: Random,
    /// Whether it has slept and now works.
    works: bool,
}

impl Behaviour for Service {
    fn next(&mut self) -> Step {
        self.works = !self.works;
        if self.works { Step::Run(self.services.work) } else { Step::Sleep(self.random.around(self.services.period)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_service_has_a_group_and_sleeps_differently() {
        let services = Services { number: 3, period: Nanos::from_millis(400), work: Nanos(20_000), seed: 1 };
        let mut workload = Workload::default();
        services.add_to(&mut workload);
        assert_eq!((workload.groups.len(), workload.tasks.len()), (3, 3));
        let sleeps: Vec<u64> = workload
            .tasks
            .iter()
            .enumerate()
            .map(|(place, task)| {
                assert_eq!(task.start.group, Some(Some(place)));
                let mut behaviour = (task.behaviour)(0);
                assert_eq!(behaviour.next(), Step::Run(Nanos(20_000)));
                let Step::Sleep(time) = behaviour.next() else { panic!("it sleeps after its work") };
                assert!((200_000_000..=600_000_000).contains(&time.0));
                time.0
            })
            .collect();
        assert!(sleeps[0] != sleeps[1] && sleeps[1] != sleeps[2]);
    }
}
