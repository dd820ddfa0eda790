// SPDX-License-Identifier: GPL-2.0-or-later
//! Named kernels: releases of Linux as sets of features and tunables on top of 6.1's scheduler.
//!
//! A release has the before-state of each [`Change`] that came after it, as far as 6.1's features and the published changes'
//! tunables can bring it back. The rest is 6.1's, and [`Kernel::leaves_out`] says so.

use fairlab_sched::features::Feature;

/// The kernel that behaviour follows.
pub const DEFAULT: &str = "6.1";

/// A release, as major and minor number.
type Release = (u32, u32);

/// A change of the scheduler between releases, with its state before.
#[derive(Debug)]
struct Change {
    /// The first release with it.
    since: Release,
    /// How it was before.
    before: &'static str,
    features: &'static [(Feature, bool)],
    tunables: &'static [(&'static str, i64)],
}

/// Something that cannot be brought back.
#[derive(Debug)]
struct Missing {
    since: Release,
    what: &'static str,
}

const CHANGES: &[Change] = &[
    Change {
        since: (5, 1),
        before: "load tracking scales contributions by frequency and capacity, not its clock",
        features: &[],
        tunables: &[("pelt_contribution", 1)],
    },
    Change {
        since: (5, 1),
        before: "a misfit task asks for idle balancing even if no better CPU exists; a busy cache domain asks for it also where \
                 capacities differ",
        features: &[],
        tunables: &[("misfit_kick", 1), ("llc_kick", 1)],
    },
    Change {
        since: (5, 2),
        before: "only the first tickless CPU is asked to balance for all, or none if that one is not idle",
        features: &[],
        tunables: &[("ilb_first", 1)],
    },
    Change {
        since: (5, 5),
        before: "a task's remembered utilisation follows increases only by and by",
        features: &[(Feature::UtilEstFastup, false)],
        tunables: &[],
    },
    Change {
        since: (5, 9),
        before: "a kick for blocked load alone moves the next idle balancing on, too, and who balances for all tickless CPUs writes \
                 at its very end, or when it breaks off, when the next one is due",
        features: &[],
        tunables: &[("kick_stats", 1), ("ilb_others", 2)],
    },
    Change {
        since: (5, 12),
        before: "a kick moves the next idle balancing on by one jiffy, which otherwise follows those for whom others balance; a CPU \
                 that runs out of work updates blocked load of others itself",
        features: &[],
        tunables: &[("kick_next", 1), ("ilb_others", 1), ("newidle_blocked", 1)],
    },
    Change {
        since: (5, 13),
        before: "a balancing pass starts over also when the busiest runqueue has lost its tasks meanwhile",
        features: &[],
        tunables: &[("redo_emptied", 1)],
    },
    Change {
        since: (5, 13),
        before: "the scheduling period counts a queue's own entities only, and slices have no lower bound",
        features: &[(Feature::AltPeriod, false), (Feature::BaseSlice, false)],
        tunables: &[],
    },
    Change {
        since: (5, 16),
        before: "frequencies that cost no less than a higher one are used; a CPU that expects to idle for less than a migration costs \
                 does not look for work",
        features: &[],
        tunables: &[("energy_inefficient", 1), ("newidle_min_idle", 1)],
    },
    Change {
        since: (6, 0),
        before: "placement by energy leaves the previous CPU only for a sixteenth of the energy, which is estimated in milliwatts from \
                 the sum of the CPUs' utilisations with the task",
        features: &[],
        tunables: &[("energy_margin", 1), ("energy_sum", 1), ("energy_mw", 1)],
    },
    Change {
        since: (6, 0),
        before: "a task that wakes up for an idle CPU of the same cache is enqueued by the waker",
        features: &[],
        tunables: &[("wakelist_far", 1)],
    },
    Change {
        since: (6, 0),
        before: "the search for an idle CPU is bounded by average idle time and measured cost (`--set scan_cost=NS` for each CPU \
                 looked at; at 0 nothing bounds it)",
        features: &[(Feature::SisUtil, false), (Feature::SisProp, true)],
        tunables: &[],
    },
    Change {
        since: (6, 1),
        before: "newly-idle balancing does not throw dice (a change of late 6.1 stable releases, which the set 6.1 has)",
        features: &[(Feature::NiRandom, false)],
        tunables: &[],
    },
];

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

    fn changes(self) -> impl Iterator<Item = &'static Change> {
        CHANGES.iter().filter(move |change| self.release < change.since)
    }

    /// Features that it switches, in order.
    pub fn features(self) -> Vec<(Feature, bool)> {
        self.changes().flat_map(|change| change.features.iter().copied()).collect()
    }

    /// Tunables that it sets, in order. What changed twice since is as it was first.
    pub fn tunables(self) -> Vec<(&'static str, i64)> {
        let mut set: Vec<(&'static str, i64)> = Vec::new();
        for &(name, value) in self.changes().flat_map(|change| change.tunables) {
            if !set.iter().any(|&(other, _)| other == name) {
                set.push((name, value));
            }
        }
        set
    }

    /// What of the release it brings back.
    pub fn models(self) -> Vec<&'static str> {
        self.changes().map(|change| change.before).collect()
    }

    /// What is as in 6.1 although the release had it otherwise; not all of it is known.
    pub fn leaves_out(self) -> Vec<&'static str> {
        MISSING.iter().filter(|missing| self.release < missing.since).map(|missing| missing.what).collect()
    }
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
