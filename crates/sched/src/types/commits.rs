// SPDX-License-Identifier: GPL-2.0-or-later
//! Commits of Linux that changed the default of a switch or added something that workloads use.
//!
//! Profiles of named kernels follow from this table: a former default names its commit, and the commit its release.

use crate::types::features::Release;

/// Commit of Linux, as public archives name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// First 12 hexadecimal digits of the commit's id.
    pub id: &'static str,
    /// First named kernel with the commit: a mainline release, or 6.1 for commits that its late stable releases have.
    pub release: Release,
    /// Title of the commit.
    pub title: &'static str,
}

/// Declares the commits, in the order of releases: constant, release, id and title.
macro_rules! commits {
    ($($name:ident $release:expr, $id:literal $title:literal;)*) => {
        $(
            #[doc = concat!("`", $id, "` (\"", $title, "\").")]
            pub const $name: Commit = Commit { id: $id, release: $release, title: $title };
        )*

        /// All commits of the table, earliest release first.
        pub const ALL: &[Commit] = &[$($name),*];
    };
}

commits! {
    MISFIT_TASK (4, 20), "3b1baa6496e6" "sched/fair: Add 'group_misfit_task' load-balance type";
    ENERGY_AWARE (5, 0), "732cd75b8c92" "sched/fair: Select an energy-efficient CPU on task wake-up";
    PELT_TIME_SCALING (5, 1), "23127296889f" "sched/fair: Update scale invariance of PELT";
    NOHZ_KICKS (5, 1), "b9a7b8831600" "sched/fair: Skip LLC NOHZ logic for asymmetric systems";
    IDLE_BALANCER (5, 2), "9b019acb72e4" "sched/nohz: Run NOHZ idle load balancer on HK_FLAG_MISC CPUs";
    TASK_UCLAMP (5, 3), "a509a7cd7974" "sched/uclamp: Extend sched_setattr() to support utilization clamping";
    SCHED_IDLE_WAKEUP (5, 4), "3c29e651e16d" "sched/fair: Fall back to sched-idle CPU if idle CPU isn't found";
    GROUP_UCLAMP (5, 4), "2480c093130f" "sched/uclamp: Extend CPU's cgroup controller";
    IDLEST_GROUP (5, 5), "57abff067a08" "sched/fair: Rework find_idlest_group()";
    UTIL_EST_FASTUP (5, 5), "b8c96361402a" "sched/fair/util_est: Implement faster ramp-up EWMA on utilization increases";
    SCHED_IDLE_BALANCE (5, 6), "323af6deaf70" "sched/fair: Load balance aggressively for SCHED_IDLE CPUs";
    RT_CAPACITY (5, 6), "804d402fb6f6" "sched/rt: Make RT capacity-aware";
    NEXT_IDLE_BALANCE (5, 9), "3ea2f097b17e" "sched/fair: Fix NOHZ next idle balance";
    DL_ADMISSION (5, 9), "60ffd5edc5e4" "sched/deadline: Improve admission control for asymmetric CPU capacities";
    RT_RUNTIME_SHARE (5, 10), "2586af1ac187" "sched/rt: Disable RT_RUNTIME_SHARE by default";
    BUSY_INTERVAL (5, 10), "6e7499135db7" "sched/fair: Reduce busy load balance interval";
    IMBALANCE_THRESHOLD (5, 10), "2208cdaa56c9" "sched/fair: Reduce minimal imbalance threshold";
    DETACH_LOAD (5, 10), "5a7f55590467" "sched/fair: Relax constraint on task's load during load balance";
    ALTERNATIVE_SLICE (5, 13), "0c2de3f054a5" "sched,fair: Alternative sched_slice()";
    IDLE_CPU_LOOP (5, 13), "7a82e5f52a35" "sched/fair: Merge for each idle cpu loop of ILB";
    NEWIDLE_BLOCKED (5, 13), "0826530de3cb" "sched/fair: Remove update of blocked load from newidle_balance";
    EMPTIED_RUNQUEUE (5, 13), "acb4decc1e90" "sched/fair: Reduce long-tail newly idle balance cost";
    BURST (5, 14), "f4183717b370" "sched/fair: Introduce the burstable CFS controller";
    GROUP_IDLE (5, 15), "304000390f88" "sched: Cgroup SCHED_IDLE support";
    NEXT_BALANCE_UPDATE (5, 16), "7fd7a9e0caba" "sched/fair: Trigger nohz.next_balance updates when a CPU goes NOHZ-idle";
    INEFFICIENT_STATES (5, 16), "8354eb9eb3dd" "PM: EM: Allow skipping inefficient states";
    NEWIDLE_MIGRATION_COST (5, 16), "c5b0a7eefc70" "sched/fair: Remove sysctl_sched_migration_cost condition";
    SIS_UTIL (6, 0), "70fb5ccf2ebb" "sched/fair: Introduce SIS_UTIL to search idle CPU based on sum of util_avg";
    ENERGY_MARGIN (6, 0), "b812fc9768e0" "sched/fair: Remove the energy margin in feec()";
    ENERGY_SUM (6, 0), "3e8c6c9aac42" "sched/fair: Remove task_util from effective utilization in feec()";
    ENERGY_MICROWATTS (6, 0), "ae6ccaa65038" "PM: EM: convert power field to micro-Watts precision and align drivers";
    WAKELIST (6, 0), "f3dd3f674555" "sched: Remove the limitation of WF_ON_CPU on wakelist if wakee cpu is idle";
    PROPORTIONAL_NEWIDLE (6, 1), "33cf66d88306" "sched/fair: Proportional newidle balance";
    RT_PUSH_IPI (6, 1), "dd29c017aed6" "sched/rt: Have RT_PUSH_IPI be default off for non PREEMPT_RT";
    SLICES (6, 12), "857b158dc5e8" "sched/eevdf: Use sched_attr::sched_runtime to set request/slice suggestion";
    FAIR_SERVER (6, 12), "d741f297bcea" "sched/fair: Fair server interface";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_in_the_order_of_releases_and_have_ids_of_12_digits() {
        assert!(ALL.is_sorted_by_key(|commit| commit.release));
        for commit in ALL {
            assert!(commit.id.len() == 12 && commit.id.chars().all(|digit| digit.is_ascii_hexdigit()), "{commit:?}");
            assert!(ALL.iter().filter(|other| other.id == commit.id).count() == 1, "{commit:?} is there twice");
        }
    }
}
