// SPDX-License-Identifier: GPL-2.0-or-later
//! Named kernels: releases of Linux as sets of features and tunables on top of 6.1's scheduler.
//!
//! A release has the before-state of each change that came after it, as far as features and tunables can bring it back: they say
//! themselves how they stood before which release. The rest is 6.1's, and [`Kernel::leaves_out`] says so.

use fairlab_sched::features::{Before, Feature, Release};
use fairlab_sched::tunables::{TUNABLES, TunableInfo};

/// The kernel that behaviour follows.
pub const DEFAULT: &str = "6.1";

/// Something that cannot be brought back.
#[derive(Debug)]
struct Missing {
    since: Release,
    what: &'static str,
}

const MISSING: &[Missing] = &[
    Missing { since: (4, 20), what: "misfit tasks are known (since 4.20)" },
    Missing { since: (5, 0), what: "placement by energy is there (since 5.0)" },
    Missing { since: (5, 5), what: "load balancing and fork placement classify groups (since 5.5)" },
    Missing { since: (5, 7), what: "where capacities differ, wake-ups look for an idle CPU that fits (since 5.7)" },
    Missing { since: (5, 12), what: "idle cores and idle CPUs are looked for in one search (since 5.12)" },
    Missing { since: (5, 18), what: "how much imbalance NUMA nodes may have depends on their caches (since 5.18)" },
];

/// A named kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name: that of the release.
    pub name: &'static str,
    release: Release,
}

/// All named kernels, oldest first.
pub const KERNELS: [Kernel; 7] = [
    Kernel { name: "4.19", release: (4, 19) },
    Kernel { name: "5.0", release: (5, 0) },
    Kernel { name: "5.4", release: (5, 4) },
    Kernel { name: "5.11", release: (5, 11) },
    Kernel { name: "5.18", release: (5, 18) },
    Kernel { name: "5.19", release: (5, 19) },
    Kernel { name: DEFAULT, release: (6, 1) },
];

impl Kernel {
    /// The kernel of a name.
    pub fn named(name: &str) -> Option<Self> {
        KERNELS.into_iter().find(|kernel| kernel.name == name)
    }

    fn is_before(self, change: &Before) -> bool {
        self.release < change.release
    }

    /// Features that it switches, in order.
    pub fn features(self) -> Vec<(Feature, bool)> {
        let changed = |feature: &Feature| feature.before().is_some_and(|change| self.is_before(&change));
        Feature::ALL.iter().copied().filter(changed).map(|feature| (feature, !feature.is_default())).collect()
    }

    /// Tunables that it sets, in order. What changed twice since is as it was first.
    pub fn tunables(self) -> Vec<(&'static str, i64)> {
        let first = |info: &TunableInfo| info.before.iter().find(|(_, change)| self.is_before(change));
        TUNABLES.iter().filter_map(|info| first(info).map(|&(value, _)| (info.name, value))).collect()
    }

    /// What of the release it brings back, the earliest change first.
    pub fn models(self) -> Vec<&'static str> {
        let mut changes: Vec<Before> = changes().filter(|change| self.is_before(change)).collect();
        changes.sort_by_key(|change| change.release);
        changes.into_iter().filter_map(|change| change.told).collect()
    }

    /// What is as in 6.1 although the release had it otherwise; not all of it is known.
    pub fn leaves_out(self) -> Vec<&'static str> {
        MISSING.iter().filter(|missing| self.release < missing.since).map(|missing| missing.what).collect()
    }
}

/// All changes before which switches stood otherwise.
fn changes() -> impl Iterator<Item = Before> {
    let of_tunables = TUNABLES.iter().flat_map(|info| info.before).map(|&(_, change)| change);
    of_tunables.chain(Feature::ALL.iter().filter_map(|feature| feature.before()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::tunables::Tunables;

    #[test]
    fn the_default_changes_nothing() {
        let kernel = Kernel::named(DEFAULT).expect("it is one of them");
        assert!(kernel.features().is_empty() && kernel.tunables().is_empty() && kernel.leaves_out().is_empty());
    }

    #[test]
    fn every_tunable_exists_and_every_change_differs_from_6_1() {
        for kernel in KERNELS {
            let mut tunables = Tunables::for_cpus(4);
            for (name, value) in kernel.tunables() {
                tunables.set(name, value).expect("the tunable exists");
            }
            assert_eq!(tunables == Tunables::for_cpus(4), kernel.tunables().is_empty());
            assert!(kernel.features().iter().all(|&(feature, on)| on != feature.is_default()), "{}", kernel.name);
        }
    }

    #[test]
    fn a_kernel_has_the_before_states_of_all_later_changes() {
        let features = |name| Kernel::named(name).expect("it is one of them").features().len();
        let tunables = |name| Kernel::named(name).expect("it is one of them").tunables().len();
        assert_eq!(KERNELS.map(|kernel| features(kernel.name)), [6, 6, 6, 5, 3, 3, 0]);
        assert_eq!(KERNELS.map(|kernel| tunables(kernel.name)), [15, 15, 11, 10, 4, 4, 0]);
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
            let tunables = Kernel::named(name).expect("it is one of them").tunables();
            let values: Vec<i64> =
                tunables.iter().filter(|(name, _)| *name == "ilb_others").map(|&(_, value)| value).collect();
            values
        };
        assert_eq!(["5.4", "5.11", "6.1"].map(ilb_others), [vec![2], vec![1], vec![]]);
    }

    #[test]
    fn machine_files_can_name_every_kernel() {
        assert_eq!(KERNELS.map(|kernel| kernel.name), fairlab_machine::description::KERNEL_PROFILES);
    }
}
