// SPDX-License-Identifier: GPL-2.0-or-later
//! Services beside a benchmark: each in its own task group, awake for a moment now and then.
//!
//! A cfs_rq stays in the `leaf_cfs_rq_list` of its CPU for as long as its averages have not decayed to zero.
//! After a task has run there for a tenth of a millisecond, each update of blocked load therefore visits its
//! group for half a second, though nothing runs in it. Such a group is called inactive here.
//!
//! A service sleeps from half to one and a half times the period, works, and sleeps again. Not modelled:
//! wake-ups of services other than by their own timers, and nested groups.

use super::created_task;
use super::random::ModelRandom;
use crate::step::{Behaviour, Step};
use crate::workload::{Attributes, GroupSpec, TaskSpec, Workload};
use fairlab_sched::units::Nanos;

/// Services of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Services {
    /// Number of services, each with a group and a task.
    pub number: u32,
    /// Mean time between two wake-ups of a service.
    pub period: Nanos,
    /// Work of a service when it is awake, as time on a CPU of full capacity at its highest frequency.
    pub work: Nanos,
    /// Seed of the services' sleeps.
    pub seed: u64,
}

impl Services {
    /// Adds the services to a workload, behind its tasks. Each begins at a random time within a period.
    pub fn add_to(self, workload: &mut Workload) {
        for index in 0..self.number {
            workload.groups.push(GroupSpec::new(format!("service{index}"), None));
            let group = workload.groups.len() - 1;
            let mut random = ModelRandom::new(self.seed, "services", u64::from(index));
            let start = random.below(self.period);
            let behaviour = move |_| ServiceProgram { services: self, random: random.clone(), works: false };
            workload.tasks.push(TaskSpec {
                start: Attributes { group: Some(Some(group)), ..Attributes::default() },
                start_at: Some(start),
                ..created_task(format!("service{index}"), "service", behaviour)
            });
        }
    }
}

/// Behaviour of a service.
struct ServiceProgram {
    services: Services,
    random: ModelRandom,
    /// Whether the last step was work.
    works: bool,
}

impl Behaviour for ServiceProgram {
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
