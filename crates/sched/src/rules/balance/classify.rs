// SPDX-License-Identifier: GPL-2.0-or-later
//! What state a group is in.
//!
//! Models `group_has_capacity()`, `group_is_overloaded()`, `group_classify()` and the rules of asymmetric packing:
//! `sched_asym_prefer()`, `sched_asym()`, `asym_smt_can_pull_tasks()` (6.1). Arithmetic only.

use crate::interface::balance::GroupType;
use crate::rules::balance::stats::{SdLbStats, SgLbStats};
use crate::state::topology::{SchedGroup, SdFlags};
use crate::types::ids::CpuId;

/// Whether a group can take more.
///
/// Rules, in order:
/// 1. Fewer tasks than CPUs: yes.
/// 2. Tasks wait for more time than the margin above capacity allows: no.
/// 3. Otherwise utilisation with the margin must stay below capacity.
pub(crate) fn group_has_capacity(imbalance_pct: u32, sgs: &SgLbStats) -> bool {
    let pct = u64::from(imbalance_pct);
    if sgs.sum_nr_running < sgs.group_weight {
        return true;
    }
    if sgs.group_capacity * pct < sgs.group_runnable * 100 {
        return false;
    }
    sgs.group_capacity * 100 > sgs.group_util * pct
}

/// Whether tasks compete for a group: more of them than CPUs, and utilisation or waiting time beyond the margin.
pub(crate) fn group_is_overloaded(imbalance_pct: u32, sgs: &SgLbStats) -> bool {
    let pct = u64::from(imbalance_pct);
    sgs.sum_nr_running > sgs.group_weight
        && (sgs.group_capacity * 100 < sgs.group_util * pct || sgs.group_capacity * pct < sgs.group_runnable * 100)
}

/// The state of a group; `is_imbalanced` says that affinity kept an earlier pass below from balancing it.
///
/// The first that holds of: overloaded, imbalanced, to be packed elsewhere, with a misfit task, without room.
pub(crate) fn group_classify(imbalance_pct: u32, is_imbalanced: bool, sgs: &SgLbStats) -> GroupType {
    if group_is_overloaded(imbalance_pct, sgs) {
        GroupType::Overloaded
    } else if is_imbalanced {
        GroupType::Imbalanced
    } else if sgs.group_asym_packing {
        GroupType::AsymPacking
    } else if sgs.group_misfit_task_load > 0 {
        GroupType::MisfitTask
    } else if !group_has_capacity(imbalance_pct, sgs) {
        GroupType::FullyBusy
    } else {
        GroupType::HasSpare
    }
}

/// Whether a CPU has a higher priority than another. Lower numbers go first, as in a kernel whose platform says nothing.
#[inline]
pub(crate) const fn sched_asym_prefer(a: CpuId, b: CpuId) -> bool {
    a.0 < b.0
}

/// Whether `dst_cpu` should take over the tasks of a group that is not the local one.
pub(crate) fn sched_asym(
    dst_cpu: CpuId,
    local: &SchedGroup,
    sds: &SdLbStats,
    sgs: &SgLbStats,
    group: &SchedGroup,
) -> bool {
    if local.flags.intersects(SdFlags::SHARE_CPUCAPACITY) || group.flags.intersects(SdFlags::SHARE_CPUCAPACITY) {
        asym_smt_can_pull_tasks(dst_cpu, local, &sds.local_stat, sgs, group)
    } else {
        sched_asym_prefer(dst_cpu, group.asym_prefer_cpu)
    }
}

/// The same where one of both groups is an SMT core: its siblings slow each other down.
///
/// Rules, in order:
/// 1. A single CPU relieves a core with two or more busy siblings, and otherwise goes by priority.
/// 2. Between two cores, the one with exactly one more busy sibling gives, by priority.
/// 3. A core takes from a single CPU only if it has no task at all, by priority.
fn asym_smt_can_pull_tasks(
    dst_cpu: CpuId,
    local: &SchedGroup,
    local_stat: &SgLbStats,
    sgs: &SgLbStats,
    group: &SchedGroup,
) -> bool {
    let is_preferred = sched_asym_prefer(dst_cpu, group.asym_prefer_cpu);
    let busy_cpus = |sgs: &SgLbStats| i64::from(sgs.group_weight) - i64::from(sgs.idle_cpus);
    if !local.flags.intersects(SdFlags::SHARE_CPUCAPACITY) {
        return busy_cpus(sgs) >= 2 || is_preferred;
    }
    if group.flags.intersects(SdFlags::SHARE_CPUCAPACITY) {
        return busy_cpus(sgs) - busy_cpus(local_stat) == 1 && is_preferred;
    }
    local_stat.sum_nr_running == 0 && is_preferred
}
