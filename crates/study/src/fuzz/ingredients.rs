// SPDX-License-Identifier: GPL-2.0-or-later
//! What a case is made of, in words: by this findings are told apart. Each ingredient can be taken out of a case.

use super::case::{CaseMachine, CasePolicy, CaseProgram, FuzzCase};
use fairlab_workload::suggest;
use serde::Serialize;

/// Something that a case has and another has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ingredient {
    /// Cores of several threads.
    Threads,
    /// Several last-level caches.
    Caches,
    /// Several NUMA nodes.
    Nodes,
    /// Little CPUs beside big ones.
    LittleCpus,
    /// Tasks in groups.
    Groups,
    /// A group whose CPU time is limited.
    Quota,
    /// Tasks that may not use all CPUs.
    Affinity,
    /// Tasks of another nice value than 0.
    Nice,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    IdlePolicy,
    /// SCHED_FIFO.
    Fifo,
    /// Tasks that never stop.
    Hogs,
    /// Tasks that run and sleep.
    Sleepers,
    /// Tasks that wake each other.
    Wakers,
    /// Tasks that come later.
    LateStart,
    /// Features that are not as ever.
    Features,
    /// Tunables that are not as ever.
    Tunables,
}

use Ingredient::{
    Affinity, Batch, Caches, Features, Fifo, Groups, Hogs, IdlePolicy, LateStart, LittleCpus, Nice, Nodes, Quota,
    Sleepers, Threads, Tunables, Wakers,
};

/// All of them.
pub const ALL: [Ingredient; 17] = [
    Threads, Caches, Nodes, LittleCpus, Groups, Quota, Affinity, Nice, Batch, IdlePolicy, Fifo, Hogs, Sleepers, Wakers,
    LateStart, Features, Tunables,
];

impl Ingredient {
    /// By name.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn parse(text: &str) -> Result<Self, String> {
        let names = ALL.map(Self::name);
        let found = ALL.into_iter().find(|ingredient| ingredient.name() == text);
        found.ok_or_else(|| suggest::help(text, "there is", &names))
    }

    /// In words.
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
            // The machine is given, so that nothing can be taken from it.
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

    /// The case without it; it may have no tasks then.
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

/// What a case is made of.
pub fn of(case: &FuzzCase) -> Vec<Ingredient> {
    ALL.into_iter().filter(|ingredient| ingredient.is_in(case)).collect()
}
