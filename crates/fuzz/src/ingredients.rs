// SPDX-License-Identifier: GPL-2.0-or-later
//! Ingredients of a case, by which findings are distinguished. Each ingredient can be removed from a case.

use super::case::{CaseMachine, CasePolicy, CaseProgram, FuzzCase};
use fairlab_workload::message::Message;
use fairlab_workload::suggest;
use serde::Serialize;

/// Property of a case, such as a kind of task or a level of the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ingredient {
    /// Cores with several hardware threads.
    Threads,
    /// Nodes with several last-level caches.
    Caches,
    /// Machine with several NUMA nodes.
    Nodes,
    /// CPUs of half and of full capacity.
    LittleCpus,
    /// Tasks in task groups.
    Groups,
    /// Group with a CPU bandwidth limit.
    Quota,
    /// Tasks with an affinity mask.
    Affinity,
    /// Tasks with a nice value other than 0.
    Nice,
    /// Tasks with the policy SCHED_BATCH.
    Batch,
    /// Tasks with the policy SCHED_IDLE.
    IdlePolicy,
    /// Tasks with the policy SCHED_FIFO.
    Fifo,
    /// Tasks that never sleep.
    Hogs,
    /// Tasks that alternately run and sleep.
    Sleepers,
    /// Tasks that wake a partner.
    Wakers,
    /// Tasks that are forked after the start of the run.
    LateStart,
    /// Features that differ from their defaults.
    Features,
    /// Tunables that differ from their defaults.
    Tunables,
}

use Ingredient::{
    Affinity, Batch, Caches, Features, Fifo, Groups, Hogs, IdlePolicy, LateStart, LittleCpus, Nice, Nodes, Quota,
    Sleepers, Threads, Tunables, Wakers,
};

/// All ingredients, in the order in which they are reported.
pub const ALL: [Ingredient; 17] = [
    Threads, Caches, Nodes, LittleCpus, Groups, Quota, Affinity, Nice, Batch, IdlePolicy, Fifo, Hogs, Sleepers, Wakers,
    LateStart, Features, Tunables,
];

impl Ingredient {
    /// Returns the ingredient of this name.
    ///
    /// # Errors
    /// If there is none, with a suggestion of known names.
    pub fn parse(text: &str) -> Result<Self, Message> {
        let names = ALL.map(Self::name);
        let found = ALL.into_iter().find(|ingredient| ingredient.name() == text);
        found.ok_or_else(|| {
            Message::new(format!("there is no ingredient {text}")).with_help(suggest::help(text, "there is", &names))
        })
    }

    /// Name as in options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Threads => "threads",
            Caches => "caches",
            Nodes => "nodes",
            LittleCpus => "little-cpus",
            Groups => "groups",
            Quota => "quota",
            Affinity => "affinity",
            Nice => "nice",
            Batch => "batch",
            IdlePolicy => "idle-policy",
            Fifo => "fifo",
            Hogs => "hogs",
            Sleepers => "sleepers",
            Wakers => "wakers",
            LateStart => "late-start",
            Features => "features",
            Tunables => "tunables",
        }
    }

    fn is_in(self, case: &FuzzCase) -> bool {
        let shape = match &case.machine {
            CaseMachine::Shape(shape) => Some(shape),
            // A named machine is fixed, so nothing can be removed from it.
            CaseMachine::Named(..) => None,
        };
        let any_class = |class| case.tasks.iter().any(|set| set.class == class);
        match self {
            Threads => shape.is_some_and(|shape| shape.smt > 1),
            Caches => shape.is_some_and(|shape| shape.llc < shape.node),
            Nodes => shape.is_some_and(|shape| shape.node < shape.nr_cpus),
            LittleCpus => shape.is_some_and(|shape| shape.nr_little > 0),
            Groups => !case.groups.is_empty(),
            Quota => case.groups.iter().any(|group| group.quota_ms.is_some()),
            Affinity => case.tasks.iter().any(|set| set.mask.is_some()),
            Nice => case.tasks.iter().any(|set| set.nice != 0),
            Batch => any_class(CasePolicy::Batch),
            IdlePolicy => any_class(CasePolicy::Idle),
            Fifo => any_class(CasePolicy::Fifo),
            Hogs => case.tasks.iter().any(|set| set.program == CaseProgram::Hog),
            Sleepers => case.tasks.iter().any(|set| matches!(set.program, CaseProgram::Sleeper { .. })),
            Wakers => case.tasks.iter().any(|set| matches!(set.program, CaseProgram::Waker { .. })),
            LateStart => case.tasks.iter().any(|set| set.start_ms > 0),
            Features => !case.features.is_empty(),
            Tunables => !case.tunables.is_empty(),
        }
    }

    /// Returns the case without this ingredient; it may then have no tasks.
    #[must_use]
    pub fn remove_from(self, case: &FuzzCase) -> FuzzCase {
        let mut case = case.clone();
        if let CaseMachine::Shape(shape) = &mut case.machine {
            match self {
                Threads => shape.smt = 1,
                Caches => shape.llc = shape.node,
                Nodes => shape.node = shape.nr_cpus,
                LittleCpus => shape.nr_little = 0,
                _ => {}
            }
        }
        let of_class = |case: &mut FuzzCase, class| {
            case.tasks.iter_mut().filter(|set| set.class == class).for_each(|set| set.class = CasePolicy::Normal);
        };
        match self {
            Threads | Caches | Nodes | LittleCpus => {}
            Groups => {
                case.groups.clear();
                case.tasks.iter_mut().for_each(|set| set.group = None);
            }
            Quota => case.groups.iter_mut().for_each(|group| group.quota_ms = None),
            Affinity => case.tasks.iter_mut().for_each(|set| set.mask = None),
            Nice => case.tasks.iter_mut().for_each(|set| set.nice = 0),
            Batch => of_class(&mut case, CasePolicy::Batch),
            IdlePolicy => of_class(&mut case, CasePolicy::Idle),
            Fifo => of_class(&mut case, CasePolicy::Fifo),
            Hogs => case.tasks.retain(|set| set.program != CaseProgram::Hog),
            Sleepers => case.tasks.retain(|set| !matches!(set.program, CaseProgram::Sleeper { .. })),
            Wakers => case.tasks.retain(|set| !matches!(set.program, CaseProgram::Waker { .. })),
            LateStart => case.tasks.iter_mut().for_each(|set| set.start_ms = 0),
            Features => case.features.clear(),
            Tunables => case.tunables.clear(),
        }
        case
    }
}

/// Returns the ingredients of a case.
pub fn of(case: &FuzzCase) -> Vec<Ingredient> {
    ALL.into_iter().filter(|ingredient| ingredient.is_in(case)).collect()
}
