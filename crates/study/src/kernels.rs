// SPDX-License-Identifier: GPL-2.0-or-later
//! Named kernels: releases of Linux as sets of features and tunables on top of 6.1's scheduler.
//!
//! A release has the before-state of each change that came after it, as far as features and tunables can bring it back: they say
//! themselves how they stood before which release. The rest is 6.1's, and [`Kernel::leaves_out`] says so.

use fairlab_machine::description::KERNEL_PROFILES;
use fairlab_sched::features::{Feature, FormerDefault, Release};
use fairlab_sched::tunables::{TUNABLES, TunableInfo};

/// The kernel that behaviour follows.
pub const DEFAULT: &str = "6.1";

/// Something that cannot be brought back.
#[derive(Debug)]
struct UnmodelledChange {
    since: Release,
    what: &'static str,
}

/// Only what a run of this scheduler would show; the earliest first.
const MISSING: &[UnmodelledChange] = &[
    UnmodelledChange { since: (5, 3), what: "tasks have utilisation clamps (since 5.3; groups since 5.4)" },
    UnmodelledChange { since: (5, 4), what: "what a CPU has taken of a group's quota does not expire (since 5.4)" },
    UnmodelledChange {
        since: (5, 5),
        what: "load balancing classifies groups; waking near the waker or not goes by load with what sleeps (since 5.5)",
    },
    UnmodelledChange {
        since: (5, 6),
        what: "nodes that are nearly idle may be out of balance by some tasks (since 5.6)",
    },
    UnmodelledChange {
        since: (5, 7),
        what: "where capacities differ, wake-ups look for an idle CPU that fits; load balancing goes by runnable time; heat lowers the capacity (since 5.7)",
    },
    UnmodelledChange {
        since: (5, 8),
        what: "a wake-up for a CPU that is just switching away from the task is left to that CPU (since 5.8)",
    },
    UnmodelledChange {
        since: (5, 11),
        what: "a forked task leaves its node only once that is busy enough (since 5.11)",
    },
    UnmodelledChange {
        since: (5, 12),
        what: "idle cores and idle CPUs are looked for in one search; a CPU with several waiting tasks is not balanced actively (since 5.12)",
    },
    UnmodelledChange {
        since: (5, 13),
        what: "a search for an idle CPU looks at the siblings of the previous one first (since 5.13)",
    },
    UnmodelledChange { since: (5, 14), what: "quotas may be saved up; placement by energy knows of heat (since 5.14)" },
    UnmodelledChange { since: (5, 15), what: "groups may be idle (since 5.15)" },
    UnmodelledChange {
        since: (5, 16),
        what: "clusters are a level of domains; idle entities have shorter slices and less credit; updating blocked load counts as a price of newly-idle balancing (since 5.16)",
    },
    UnmodelledChange {
        since: (5, 18),
        what: "how much imbalance NUMA nodes may have depends on their caches (since 5.18)",
    },
    UnmodelledChange {
        since: (6, 0),
        what: "averages of a task that is woken on another CPU decay by the time that its idle CPU has missed; newly-idle balancing stops for a task that wakes up (since 6.0)",
    },
    UnmodelledChange { since: (6, 1), what: "a balancing pass looks on until one task could be moved (since 6.1)" },
];

/// A named kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name: that of the release.
    pub name: &'static str,
    release: Release,
}

/// All named kernels, oldest first.
pub fn all() -> impl DoubleEndedIterator<Item = Kernel> {
    KERNEL_PROFILES.iter().map(|&name| Kernel::of_release(name))
}

impl Kernel {
    /// The kernel of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        all().find(|kernel| kernel.name == name)
    }

    /// The names are those of releases.
    fn of_release(name: &'static str) -> Self {
        let number = |part: &str| part.parse().expect("a release has numbers");
        let (major, minor) = name.split_once('.').expect("a release has two numbers");
        Self { name, release: (number(major), number(minor)) }
    }

    fn is_before(self, change: &FormerDefault) -> bool {
        self.release < change.release
    }

    /// Features that it switches, in order.
    pub fn features(self) -> Vec<(Feature, bool)> {
        let changed = |feature: &Feature| feature.before().is_some_and(|change| self.is_before(&change));
        Feature::ALL.iter().copied().filter(changed).map(|feature| (feature, !feature.default_enabled())).collect()
    }

    /// Tunables that it sets, in order. What changed twice since is as it was first.
    pub fn tunables(self) -> Vec<(&'static str, i64)> {
        let first = |info: &TunableInfo| info.before.iter().find(|(_, change)| self.is_before(change));
        TUNABLES.iter().filter_map(|info| first(info).map(|&(value, _)| (info.name, value))).collect()
    }

    /// What came with the release: how it was before, and what is so in older kernels here too.
    pub fn changes_of_release(self) -> (Vec<&'static str>, Vec<&'static str>) {
        let told = changes().filter(|change| change.release == self.release).filter_map(|change| change.told);
        let missing = MISSING.iter().filter(|missing| missing.since == self.release).map(|missing| missing.what);
        (told.collect(), missing.collect())
    }

    /// What of the release it brings back, the earliest change first.
    pub fn modelled_changes(self) -> Vec<&'static str> {
        let mut changes: Vec<FormerDefault> = changes().filter(|change| self.is_before(change)).collect();
        changes.sort_by_key(|change| change.release);
        changes.into_iter().filter_map(|change| change.told).collect()
    }

    /// What is as in 6.1 although the release had it otherwise; not all of it is known.
    pub fn unmodelled_changes(self) -> Vec<&'static str> {
        MISSING.iter().filter(|missing| self.release < missing.since).map(|missing| missing.what).collect()
    }
}

/// All changes before which switches stood otherwise.
fn changes() -> impl Iterator<Item = FormerDefault> {
    let of_tunables = TUNABLES.iter().flat_map(|info| info.before).map(|&(_, change)| change);
    of_tunables.chain(Feature::ALL.iter().filter_map(|feature| feature.before()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::tunables::Tunables;

    #[test]
    fn the_default_changes_nothing() {
        let kernel = Kernel::from_name(DEFAULT).expect("it is one of them");
        assert!(kernel.features().is_empty() && kernel.tunables().is_empty() && kernel.unmodelled_changes().is_empty());
    }

    #[test]
    fn every_tunable_exists_and_every_change_differs_from_6_1() {
        for kernel in all() {
            let mut tunables = Tunables::for_cpus(4);
            for (name, value) in kernel.tunables() {
                tunables.set(name, value).expect("the tunable exists");
            }
            assert_eq!(tunables == Tunables::for_cpus(4), kernel.tunables().is_empty());
            assert!(kernel.features().iter().all(|&(feature, on)| on != feature.default_enabled()), "{}", kernel.name);
        }
    }

    #[test]
    fn an_older_kernel_has_the_before_states_of_all_later_changes_and_more() {
        let switches = |kernel: Kernel| kernel.features().len() + kernel.tunables().len();
        let kernels: Vec<Kernel> = all().collect();
        assert!(kernels.is_sorted_by_key(|kernel| kernel.release));
        assert!(kernels.is_sorted_by(|older, newer| switches(*older) >= switches(*newer)));
        assert!(
            kernels.is_sorted_by(|older, newer| older.unmodelled_changes().len() >= newer.unmodelled_changes().len())
        );
        let total = changes().map(|change| change.release).filter(|&release| release > (4, 19)).count();
        // Of what changed twice one kernel has one state.
        let twice: usize = TUNABLES.iter().map(|info| info.before.len().saturating_sub(1)).sum();
        assert_eq!(switches(kernels[0]), total - twice);
    }

    #[test]
    fn every_change_came_with_a_kernel_that_has_a_name() {
        let told: usize = all().map(|kernel| kernel.changes_of_release().0.len()).sum();
        assert_eq!(told, changes().filter(|change| change.told.is_some()).count());
        assert_eq!(all().map(|kernel| kernel.changes_of_release().1.len()).sum::<usize>(), MISSING.len());
    }

    #[test]
    fn every_change_is_told_of_by_one_of_its_switches() {
        for change in changes() {
            let is_told = changes().any(|other| other.release == change.release && other.told.is_some());
            assert!(is_told, "nothing tells of the change of {:?}", change.release);
        }
        let in_order = |info: &TunableInfo| info.before.is_sorted_by_key(|(_, change)| change.release);
        assert!(TUNABLES.iter().all(in_order));
    }

    #[test]
    fn what_changed_twice_is_as_it_was_first() {
        let ilb_others = |name| {
            let tunables = Kernel::from_name(name).expect("it is one of them").tunables();
            let values: Vec<i64> =
                tunables.iter().filter(|(name, _)| *name == "ilb_others").map(|&(_, value)| value).collect();
            values
        };
        assert_eq!(["5.4", "5.11", "6.1"].map(ilb_others), [vec![2], vec![1], vec![]]);
    }
}
