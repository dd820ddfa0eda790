// SPDX-License-Identifier: GPL-2.0-or-later
//! Named kernels: 6.12 with EEVDF, and releases up to 6.1 as sets of features and tunables on top of 6.1's scheduler.
//!
//! A release up to 6.1 has the behaviour before each later change, as far as features and tunables can restore it;
//! their declarations name the commit, which has a release, and the former default. Everything else behaves as in 6.1;
//! [`Kernel::unmodelled_changes`] lists the known differences. [`UNMODELLED_RELEASES`] lists how the releases around 6.12
//! differ from it.

use fairlab_board::{DEFAULT_KERNEL_PROFILE, KERNEL_PROFILES};
use fairlab_sched::features::{Feature, FormerDefault, Release};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::tunables::{TUNABLES, TunableInfo};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub mod additions;
pub mod page;

use additions::ADDITIONS;

/// Releases whose rules are not modelled, with how they differ from 6.12. The lists are incomplete.
pub const UNMODELLED_RELEASES: &[(&str, &[&str])] = &[
    ("6.2 to 6.5", &["CFS as in 6.1, with later changes of load balancing"]),
    (
        "6.6 to 6.11",
        &[
            "a task leaves the queue when it sleeps (delayed since 6.12)",
            "slices of tasks, and the preemption that short ones cause, do not exist (since 6.12)",
            "real-time tasks are throttled; there is no fair server (since 6.12)",
        ],
    ),
    (
        "since 6.13",
        &[
            "lazy preemption: a tick, not the wake-up, reschedules a fair task (since 6.13, the only mode beside full preemption since 7.0)",
            "a running task is protected until the shortest slice of its queue (since 6.17)",
            "a fair server waits for a period without fair tasks before it stops (since 6.17)",
            "tasks of a throttled group leave the queue when they return to user space (since 6.18)",
            "NEXT_BUDDY has rules of its own for which woken task is next (since 6.19)",
            "a task may ask for an extension of its slice (rseq, since 7.0)",
            "lags are limited by the longest slice of the queue, not by the task's own (7.x)",
        ],
    ),
];

/// Changes of the kernel that no feature or tunable can revert and that would be visible in a run, earliest first.
const MISSING: &[(Release, &str)] = &[
    ((4, 20), "load balancing does not smooth the loads of CPUs (LB_BIAS, on before 4.20)"),
    ((5, 4), "runtime that a CPU has taken from a group's quota does not expire (since 5.4)"),
    ((5, 5), "load balancing classifies groups; wake_affine() compares load including blocked load (since 5.5)"),
    ((5, 6), "a nearly idle NUMA node may have an imbalance of a few tasks (since 5.6)"),
    (
        (5, 7),
        "with asymmetric capacities, wake-ups search for an idle CPU that fits; load balancing uses runnable_avg; thermal pressure reduces the capacity (since 5.7)",
    ),
    ((5, 8), "a wake-up for a CPU that is just switching away from the task is queued on that CPU (since 5.8)"),
    ((5, 11), "a forked task leaves its NUMA node only once that node is busy enough (since 5.11)"),
    (
        (5, 12),
        "one scan searches for idle cores and idle CPUs; a CPU with several waiting tasks is not balanced actively; HRTICK does not end deadline budgets (HRTICK_DL; since 5.12)",
    ),
    ((5, 13), "a search for an idle CPU checks the SMT siblings of the previous CPU first (since 5.13)"),
    ((5, 14), "EAS includes thermal pressure (since 5.14)"),
    (
        (5, 16),
        "clusters are a domain level; idle entities have shorter slices and less sleeper credit; updating blocked load counts as a cost of newly-idle balancing (since 5.16)",
    ),
    ((5, 18), "the imbalance that NUMA nodes may have depends on their caches (since 5.18)"),
    (
        (6, 0),
        "averages of a task that is woken on another CPU decay by the time that its idle CPU's clock has missed; newly-idle balancing stops when a task wakes up (since 6.0)",
    ),
    ((6, 1), "a load-balancing pass scans tasks until it can move one (since 6.1)"),
];

/// Release of Linux whose features and tunables differ from 6.1's by known changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Name of the release, for example `5.4`.
    pub name: &'static str,
    release: Release,
}

impl Serialize for Kernel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for Kernel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::values::kernel_from_name(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Returns all named kernels, oldest first.
pub fn all() -> impl DoubleEndedIterator<Item = Kernel> {
    KERNEL_PROFILES.iter().map(|&name| Kernel::of_release(name))
}

impl Kernel {
    /// Returns the kernel of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        all().find(|kernel| kernel.name == name)
    }

    /// Returns the kernel of runs, arms of studies and lists for which no kernel is named:
    /// [`DEFAULT_KERNEL_PROFILE`], the only default of a kernel.
    pub fn default_profile() -> Self {
        Self::from_name(DEFAULT_KERNEL_PROFILE).expect("the default is a kernel")
    }

    /// Rules that the built-in scheduler follows for this kernel.
    pub fn series(self) -> KernelSeries {
        KernelSeries::of_release(self.release)
    }

    /// Returns the kernel of a release; `name` must have the form `major.minor`.
    fn of_release(name: &'static str) -> Self {
        let number = |part: &str| part.parse().expect("a release has numbers");
        let (major, minor) = name.split_once('.').expect("a release has two numbers");
        Self { name, release: (number(major), number(minor)) }
    }

    fn is_before(self, change: &FormerDefault) -> bool {
        self.release < change.release
    }

    /// Features that differ from 6.1's defaults, with their values, in order.
    pub fn features(self) -> Vec<(Feature, bool)> {
        let changed = |feature: &Feature| feature.before().is_some_and(|change| self.is_before(&change));
        Feature::ALL.iter().copied().filter(changed).map(|feature| (feature, !feature.default_enabled())).collect()
    }

    /// Tunables that differ from 6.1's defaults, in order, each with its oldest value since this release.
    pub fn tunables(self) -> Vec<(&'static TunableInfo, i64)> {
        let first = |info: &TunableInfo| info.former_values.iter().find(|(_, change)| self.is_before(change));
        TUNABLES.iter().filter_map(|info| first(info).map(|&(value, _)| (info, value))).collect()
    }

    /// Changes of this release, as phrases: those that older kernels revert, and those that older kernels of
    /// fairlab have too.
    pub fn changes_of_release(self) -> (Vec<&'static str>, Vec<&'static str>) {
        let modelled =
            changes().filter(|change| change.release == self.release).filter_map(|change| change.description);
        let of_release = ADDITIONS.iter().filter(|addition| addition.commit.release == self.release);
        let of_additions = of_release.filter_map(|addition| addition.description);
        let missing = MISSING.iter().filter(|(since, _)| *since == self.release).map(|&(_, what)| what);
        (modelled.chain(of_additions).collect(), missing.collect())
    }

    /// Later changes that this kernel reverts, earliest first.
    pub fn modelled_changes(self) -> Vec<&'static str> {
        let of_defaults = changes().filter(|change| self.is_before(change));
        let of_defaults = of_defaults.filter_map(|change| Some((change.release, change.description?)));
        let of_additions = self.missing_additions();
        let of_additions = of_additions.filter_map(|addition| Some((addition.commit.release, addition.description?)));
        let mut changes: Vec<(Release, &str)> = of_defaults.chain(of_additions).collect();
        changes.sort_by_key(|&(release, _)| release);
        changes.into_iter().map(|(_, description)| description).collect()
    }

    /// Later changes that this kernel does not revert, so that it behaves as 6.1; the list is incomplete.
    pub fn unmodelled_changes(self) -> Vec<&'static str> {
        MISSING.iter().filter(|(since, _)| self.release < *since).map(|&(_, what)| what).collect()
    }
}

/// Returns all changes of defaults, of tunables and then of features.
fn changes() -> impl Iterator<Item = FormerDefault> {
    let of_tunables = TUNABLES.iter().flat_map(|info| info.former_values).map(|&(_, change)| change);
    of_tunables.chain(Feature::ALL.iter().filter_map(|feature| feature.before()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::tunables::Tunables;

    #[test]
    fn the_default_changes_nothing() {
        let kernel = Kernel::default_profile();
        assert!(kernel.features().is_empty() && kernel.tunables().is_empty() && kernel.unmodelled_changes().is_empty());
    }

    #[test]
    fn every_tunable_exists_and_every_change_differs_from_6_1() {
        for kernel in all() {
            let mut tunables = Tunables::of_machine(KernelSeries::V6_1, 4);
            for (info, value) in kernel.tunables() {
                info.set(&mut tunables, value).expect("the value is in range");
            }
            assert_eq!(tunables == Tunables::of_machine(KernelSeries::V6_1, 4), kernel.tunables().is_empty());
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
        // One kernel has only one former value of a tunable that changed twice.
        let twice: usize = TUNABLES.iter().map(|info| info.former_values.len().saturating_sub(1)).sum();
        assert_eq!(switches(kernels[0]), total - twice);
    }

    #[test]
    fn every_change_came_with_a_kernel_that_has_a_name() {
        let nr_modelled: usize = all().map(|kernel| kernel.changes_of_release().0.len()).sum();
        let of_defaults = changes().filter(|change| change.description.is_some()).count();
        let of_additions = ADDITIONS.iter().filter(|addition| addition.description.is_some()).count();
        assert_eq!(nr_modelled, of_defaults + of_additions);
        assert_eq!(all().map(|kernel| kernel.changes_of_release().1.len()).sum::<usize>(), MISSING.len());
    }

    #[test]
    fn every_change_is_described_by_one_of_its_switches() {
        for change in changes() {
            let is_told = changes().any(|other| other.release == change.release && other.description.is_some());
            assert!(is_told, "no switch describes the change of {:?}", change.release);
        }
        let in_order = |info: &TunableInfo| info.former_values.is_sorted_by_key(|(_, change)| change.release);
        assert!(TUNABLES.iter().all(in_order));
    }

    #[test]
    fn what_changed_twice_is_as_it_was_first() {
        let ilb_others = |name| {
            let tunables = Kernel::from_name(name).expect("it is one of them").tunables();
            let values: Vec<i64> =
                tunables.iter().filter(|(info, _)| info.name == "ilb_others").map(|&(_, value)| value).collect();
            values
        };
        assert_eq!(["5.4", "5.12", "5.13", "6.1"].map(ilb_others), [vec![2], vec![1], vec![], vec![]]);
    }
}
