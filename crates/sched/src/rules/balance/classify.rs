// SPDX-License-Identifier: GPL-2.0-or-later
//! Type of a group.
//!
//! Models `group_has_capacity()`, `group_is_overloaded()`, `group_classify()` and the rules of asymmetric
//! packing: `sched_asym_prefer()`, `sched_asym()`, `asym_smt_can_pull_tasks()` (6.1), and `smt_vs_nonsmt_groups()`
//! (6.12). Arithmetic only.

use crate::interface::balance::GroupType;
use crate::rules::balance::stats::{SdLbStats, SgLbStats};
use crate::state::topology::{SchedGroup, SdFlags};
use crate::types::ids::CpuId;

/// Whether a group has spare capacity.
///
/// Rules, in order:
/// 1. Fewer tasks than CPUs: yes.
/// 2. Runnable time exceeds capacity by more than the margin: no.
/// 3. Otherwise yes if utilisation plus the margin is below capacity.
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

/// Whether tasks compete for a group: it has more tasks than CPUs, and utilisation or runnable time exceeds
/// the margin.
pub(crate) fn group_is_overloaded(imbalance_pct: u32, sgs: &SgLbStats) -> bool {
    let pct = u64::from(imbalance_pct);
    sgs.sum_nr_running > sgs.group_weight
        && (sgs.group_capacity * 100 < sgs.group_util * pct || sgs.group_capacity * pct < sgs.group_runnable * 100)
}

/// Returns the type of a group. `is_imbalanced`: affinity kept an earlier pass in the domain below from
/// balancing it.
///
/// The first that applies: overloaded, imbalanced, asymmetric packing, SMT balance, misfit task, fully busy, has
/// spare.
pub(crate) fn group_classify(imbalance_pct: u32, is_imbalanced: bool, sgs: &SgLbStats) -> GroupType {
    if group_is_overloaded(imbalance_pct, sgs) {
        GroupType::Overloaded
    } else if is_imbalanced {
        GroupType::Imbalanced
    } else if sgs.group_asym_packing {
        GroupType::AsymPacking
    } else if sgs.group_smt_balance {
        GroupType::SmtBalance
    } else if sgs.group_misfit_task_load > 0 {
        GroupType::MisfitTask
    } else if !group_has_capacity(imbalance_pct, sgs) {
        GroupType::FullyBusy
    } else {
        GroupType::HasSpare
    }
}

/// Whether CPU `a` has a higher packing priority than `b`. Lower numbers are preferred, as in a kernel
/// without architecture-specific priorities.
#[inline]
pub(crate) const fn sched_asym_prefer(a: CpuId, b: CpuId) -> bool {
    a.0 < b.0
}

/// Whether one of two groups is a core and the other is not.
pub(crate) fn smt_vs_nonsmt_groups(a: &SchedGroup, b: &SchedGroup) -> bool {
    let is_core = |group: &SchedGroup| group.flags.intersects(SdFlags::SHARE_CPUCAPACITY);
    is_core(a) != is_core(b)
}

/// Whether `dst_cpu` should pull the tasks of a group other than the local one, by asymmetric packing.
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

/// Whether `dst_cpu` should pull the tasks of a group if one of both groups is an SMT core, whose siblings
/// slow each other down.
///
/// Rules, in order:
/// 1. A single CPU pulls from a core with two or more busy siblings, otherwise by priority.
/// 2. Between two cores, the one with exactly one more busy sibling is the source, by priority.
/// 3. A core pulls from a single CPU only if the core has no task, by priority.
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
