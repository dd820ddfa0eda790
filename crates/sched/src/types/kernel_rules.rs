// SPDX-License-Identifier: GPL-2.0-or-later
//! Differences between the kernels that the scheduler models: one named switch for each.
//!
//! A run has one [`KernelRules`], chosen once. Code reads `rules.name` where kernels differ. Differences of features and
//! tunables are in [`features`](super::features) and [`tunables`](super::tunables).

use crate::types::commits::Commit;
use crate::types::series::KernelSeries;

/// Description of a difference between kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelRule {
    /// Name of the field of [`KernelRules`].
    pub name: &'static str,
    /// Behaviour with the rule, in one sentence.
    pub behaviour: &'static str,
    /// Commit that introduced the rule. Linux 6.12 has rules of later releases by its stable releases.
    pub commit: Commit,
}

/// Declares the rules, in the order of releases: description, name, release, id and title of the commit.
macro_rules! kernel_rules {
    ($($(#[doc = $doc:literal])+ $name:ident: $release:expr, $id:literal $title:literal;)*) => {
        /// Rules of a kernel beyond those of Linux 6.1.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct KernelRules {
            $($(#[doc = $doc])+ pub $name: bool,)*
        }

        impl KernelRules {
            /// All rules, in the order of releases.
            pub const ALL: &'static [KernelRule] = &[$(KernelRule {
                name: stringify!($name),
                behaviour: concat!($($doc),+).trim_ascii_start(),
                commit: Commit { id: $id, release: $release, title: $title },
            }),*];

            /// Descriptions of the rules that a series has beyond those of Linux 6.1.
            pub const fn list_of(series: KernelSeries) -> &'static [KernelRule] {
                match series {
                    KernelSeries::V6_1 => &[],
                    KernelSeries::V6_12 => Self::ALL,
                }
            }

            /// Returns the rules of a series.
            pub const fn of_series(series: KernelSeries) -> Self {
                let is_newer = matches!(series, KernelSeries::V6_12);
                Self { $($name: is_newer),* }
            }
        }
    };
}

kernel_rules! {
    /// `sched_ttwu_pending()` clears `ttwu_pending` after it has enqueued the tasks, so that the CPU does not look idle
    /// meanwhile.
    clears_ttwu_pending_last: (6, 2), "d6962c4fe8f9" "sched: Clear ttwu_pending after enqueue_task()";
    /// `ttwu_runnable()` tests preemption only if the task is not running, and skips `task_woken()` and the end of the
    /// idle period.
    trims_runnable_wakeup: (6, 3), "efe09385864f" "sched/core: Micro-optimize ttwu_runnable()";
    /// `prio_changed_dl()` ignores tasks that are not queued, and reschedules if a queued task now beats the current
    /// one.
    dl_change_reschedules_others: (6, 3), "7ea98dfa4491" "sched/deadline: Add more reschedule cases to prio_changed_dl()";
    /// Runtime that is distributed unthrottles the cfs_rqs of other CPUs by an interrupt there, and the own one last.
    unthrottles_asynchronously: (6, 3), "8ad075c2eb1f" "sched: Async unthrottling for cfs bandwidth";
    /// schedutil takes the highest request in a shared policy relative to the capacity of the updating CPU.
    policy_has_one_capacity: (6, 3), "948fb4c4e9cb" "cpufreq, sched/util: Optimize operations with single CPU capacity lookup";
    /// GRUB compares unused bandwidth with the limit of deadline tasks and multiplies either share by the reciprocal.
    reclaims_from_max_bw: (6, 5), "6a9d623aad89" "sched/deadline: Fix bandwidth reclaim equation in GRUB";
    /// Asymmetric packing follows CPU priorities between cores only if the whole core is idle.
    asym_needs_idle_core: (6, 5), "eefefa716c9f" "sched/fair: Only do asym_packing load balancing from fully idle SMT cores";
    /// Of two fully busy groups with equal load, a busiest group that is a core of siblings stays busiest.
    keeps_busy_smt_group: (6, 5), "5fd6d7f43958" "sched/fair: Keep a fully_busy SMT sched group as busiest";
    /// `prefer_sibling` follows the flags of the busiest group instead of those of the own child domain.
    sibling_flag_of_busiest: (6, 5), "43726bdedd29" "sched/fair: Use the busiest group to set prefer_sibling";
    /// The utilisation for frequencies and for busiest queues is at least the runnable average of the runqueue.
    boosts_util_by_runnable: (6, 5), "7d0583cf9ec7" "sched/fair, cpufreq: Introduce 'runnable boosting'";
    /// `set_rq_offline()` itself updates the clock of the runqueue, also when domains are rebuilt.
    clocks_detached_rqs: (6, 5), "cab3ecaed5cd" "sched/core: Fixed missing rq clock update before calling set_rq_offline()";
    /// The fair class picks the eligible entity with the earliest virtual deadline and keeps lags within bounds.
    fair_is_eevdf: (6, 6), "147f3efaa241" "sched/fair: Implement an EEVDF-like scheduling policy";
    /// A fair task that changes its runqueue, class or group is placed by its lag; its vruntime is never made relative
    /// to `min_vruntime`.
    keeps_vruntime_absolute: (6, 6), "e8f331bcc270" "sched/smp: Use lag to simplify cross-runqueue placement";
    /// A core with several busy siblings is a group of its own type, `group_smt_balance`, and gives tasks to idle
    /// cores.
    has_smt_balance: (6, 6), "fee1759e4f04" "sched/fair: Determine active load balance for SMT sched groups";
    /// The imbalance between preferred siblings is computed from tasks per core if the groups have different numbers of
    /// cores.
    scales_sibling_imbalance: (6, 6), "7ff1693236f5" "sched/fair: Implement prefer sibling imbalance calculation between asymmetric groups";
    /// Outside of domains of siblings, the first CPU of an idle core balances before idle siblings of busy cores.
    balances_from_idle_core: (6, 6), "b1bfeab9b002" "sched/fair: Consider the idle state of the whole core for load balance";
    /// When a degenerate domain is removed, the first group of the domain above takes over the flags of the remaining
    /// child.
    aligns_degenerate_group_flags: (6, 6), "4efcc8bc7e08" "sched/topology: Align group flags when removing degenerate domain";
    /// `schedule()` drops requests to skip clock updates right after its own update, not when it ends.
    ends_clock_skip_early: (6, 7), "5ebde09d9170" "sched/core: Fix RQCF_ACT_SKIP leak";
    /// A runqueue is overloaded with real-time tasks while its list of pushable tasks is not empty.
    rt_overload_by_pushable: (6, 7), "612f769edd06" "sched/rt: Make rt_rq->pushable_tasks updates drive rto_mask";
    /// A runqueue is overloaded with deadline tasks while its tree of pushable tasks is not empty.
    dl_overload_by_pushable: (6, 7), "5fe7765997b1" "sched/deadline: Make dl_rq->pushable_dl_tasks update drive dl_rq->overloaded";
    /// Cluster domains have `SD_CLUSTER`, which wake-ups use to scan the cluster first.
    has_cluster_flag: (6, 7), "b95303e0aeaf" "sched: Add cpus_share_resources API";
    /// EAS is possible if any active CPU has a domain of asymmetric capacities, not only if the first one has.
    eas_needs_one_asym_cpu: (6, 7), "8f833c82cdab" "sched/topology: Change behaviour of the 'sched_energy_aware' sysctl, based on the platform";
    /// EAS no longer depends on the complexity of the energy model.
    eas_is_unlimited: (6, 7), "5b77261c5510" "sched/topology: Remove the EM_MAX_COMPLEXITY limit";
    /// The timeline of a cfs_rq is ordered by virtual deadline instead of virtual runtime.
    sorts_by_deadline: (6, 8), "2227a957e1d5" "sched/eevdf: Sort the rbtree by virtual deadline";
    /// A picked deadline task starts its hrtick after pushing and load tracking, not before.
    starts_hrtick_dl_last: (6, 8), "63ba8422f876" "sched/deadline: Introduce deadline servers";
    /// A runqueue that leaves its root domain gives up its share of group loads, and a CPU that is not active
    /// contributes none.
    clears_offline_group_load: (6, 8), "f60a631ab9ed" "sched/fair: Fix tg->load when offlining a CPU";
    /// `effective_cpu_util()` returns utilisation and its limits apart, and schedutil and EAS add the DVFS margin
    /// before clamping.
    separates_perf_request: (6, 8), "9c0b4bb7f630" "sched/cpufreq: Rework schedutil governor performance estimation";
    /// The estimated utilisation of a task is one moving average of its samples.
    has_one_util_estimate: (6, 8), "11137d384996" "sched/fair: Simplify util_est";
    /// Of groups with equal misfit load or equally preferred CPUs, the first one stays busiest.
    busiest_tie_keeps_first: (6, 9), "7f1a7229718d" "sched/fair: Do strict inequality check for busiest misfit task group";
    /// The energy model finds states and their costs by performance instead of frequency, without a division.
    em_has_performance: (6, 9), "1b600da51073" "PM: EM: Optimize em_cpu_energy() and remove division";
    /// A balancing pass for a misfit task neither counts failures nor lengthens the balance interval.
    spares_misfit_interval: (6, 10), "58eeb2d79b54" "sched/fair: Don't double balance_interval for migrate_misfit";
    /// Newly-idle balancing ends with a pulled task or when a pass says so, and does not look for new tasks itself.
    newidle_stops_by_verdict: (6, 10), "c829d6818b60" "sched/fair: Simplify the continue_balancing logic in sched_balance_newidle()";
    /// A task on the largest CPU that it may use is no misfit, and any misfit task is worth a kick.
    knows_allowed_capacity: (6, 10), "22d5607400c6" "sched/fair: Check if a task has a fitting CPU when updating misfit";
    /// Hotplug rebuilds the sched domains of cpusets synchronously in `sched_cpu_deactivate()`, not in a worker
    /// afterwards.
    rebuilds_before_offline: (6, 10), "2125c0034c5d" "cgroup/cpuset: Make cpuset hotplug processing synchronous";
    /// The capacity left to a CPU subtracts the larger of averaged hardware pressure and present cpufreq pressure.
    uses_actual_capacity: (6, 10), "f1f8d0a22422" "sched/cpufreq: Take cpufreq feedback into account";
    /// The first utilisation of a forked task follows from its weight without the extra bits of resolution.
    scales_first_weight: (6, 10), "72bffbf57c52" "sched/fair: Fix initial util_avg calculation";
    /// A CPU that must not go offline after all sets its runqueue online again at once.
    rejoins_root_domain: (6, 11), "fe7a11c78d2a" "sched/core: Fix unbalance set_rq_online/offline() in sched_cpu_deactivate()";
    /// A forked fair task gets its vruntime when it is first enqueued, not at fork on the runqueue of the parent.
    places_new_task_on_enqueue: (6, 12), "c40dd90ac045" "sched: Initialize the vruntime of a new task when it is first enqueued";
    /// A task of a fair policy may set its own slice with `sched_setattr()`; a call without a slice resets it.
    has_task_slices: (6, 12), "857b158dc5e8" "sched/eevdf: Use sched_attr::sched_runtime to set request/slice suggestion";
    /// The smallest slice below a group becomes the slice of the entity of that group, so each timeline tracks its
    /// minimum.
    propagates_min_slice: (6, 12), "aef6987d8954" "sched/eevdf: Propagate min_slice up the cgroup hierarchy";
    /// A task that sleeps with negative lag may stay queued until it is eligible or picked.
    delays_dequeue: (6, 12), "152e11f6df29" "sched/fair: Implement delayed dequeue";
    /// The uclamp buckets of the runqueue count a task after its class has enqueued it, and never while its dequeue is
    /// delayed.
    counts_clamps_after_enqueue: (6, 12), "dfa0a574cbc4" "sched/uclamg: Handle delayed dequeue";
    /// Each runqueue has a deferrable deadline server that gives starved fair tasks runtime, and idle time is charged
    /// to it.
    has_fair_server: (6, 12), "557a6bfc662c" "sched/fair: Add trivial fair server";
    /// Without `CONFIG_RT_GROUP_SCHED`, which is not modelled, no runqueue limits the runtime of its real-time tasks.
    lifts_rt_throttling: (6, 12), "5f6bd380c7bd" "sched/rt: Remove default bandwidth control";
    /// The next task is picked before the previous one is put, and a task that stays current is neither put nor set.
    picks_before_put: (6, 12), "fd03c5b85855" "sched: Rework pick_next_task()";
    /// `balance_fair()` skips newly-idle balancing only if fair entities are runnable, not if any task is queued.
    fair_balance_counts_fair_only: (6, 12), "924e2904da9b" "sched/fair: Make balance_fair() test sched_fair_runnable() instead of rq->nr_running";
    /// `schedule()` keeps the idle task at once if nothing is queued, without newly-idle balancing (`SM_IDLE`).
    idle_reenters_early: (6, 12), "3dcac251b066" "sched/core: Introduce SM_IDLE and an idle re-entry fast-path in __schedule()";
    /// `rt_task()` is false for deadline tasks: `select_task_rq_rt()` ignores them, and they get no real-time default
    /// clamp.
    rt_task_excludes_dl: (6, 12), "130fd056dd82" "sched/rt: Clean up usage of rt_task()";
    /// `wake_affine_idle()` does not count tasks with a delayed dequeue when a synchronous waker should be alone on its
    /// CPU.
    sync_wakeup_ignores_delayed: (6, 16), "aa3ee4f0b754" "sched/fair: Fixup wake_up_sync() vs DELAYED_DEQUEUE";
    /// The wake-up of a stopper thread is never queued on the wakelist of another CPU.
    wakes_stoppers_directly: (6, 16), "009836b4fa52" "sched/core: Fix migrate_swap() vs. hotplug";
    /// `sched_cpu_dying()` stops the fair server of the CPU that goes offline.
    stops_fair_server_when_dying: (6, 18), "ee6e44dfe6e5" "sched/deadline: Stop dl_server before CPU goes offline";
    /// A cfs_rq does not count as decayed while it still contributes to the load of its group.
    lists_cfs_rq_with_share: (6, 19), "ca125231dd29" "sched/fair: Fix unfairness caused by stalled tg_load_avg_contrib when the last task migrates out";
    /// A cfs_rq keeps the virtual time of zero lag (`zero_vruntime`) instead of the lowest virtual runtime
    /// (`min_vruntime`).
    has_zero_vruntime: (6, 19), "79f3f9bedd14" "sched/eevdf: Fix min_vruntime vs avg_vruntime";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_in_the_order_of_releases_and_have_ids_of_12_digits() {
        assert!(KernelRules::ALL.is_sorted_by_key(|rule| rule.commit.release));
        for KernelRule { name, behaviour, commit } in KernelRules::ALL {
            assert!(
                commit.id.len() == 12 && commit.id.chars().all(|digit| digit.is_ascii_hexdigit()),
                "{name}: {commit:?}"
            );
            assert!(behaviour.ends_with('.'), "{name}: {behaviour}");
        }
    }
}
