// SPDX-License-Identifier: GPL-2.0-or-later
//! Imbalance of a domain: whether it is out of balance, and by how much.
//!
//! Models the decisions of `find_busiest_group()`, `calculate_imbalance()` and `adjust_numa_imbalance()`
//! (6.1 and 6.12). Arithmetic only.

use crate::interface::balance::{BalancedReason, GroupType, MigrationType};
use crate::rules::balance::stats::{SdLbStats, SgLbStats};
use crate::state::topology::SdFlags;
use crate::types::idle_type::CpuIdleType;
use crate::types::units::SCHED_CAPACITY_SHIFT;

/// Number of communicating tasks that may always stay together on a node.
const NUMA_IMBALANCE_MIN: i32 = 2;

/// Attributes of the domain and of the balancing CPU that the rules need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImbalanceParams {
    pub idle: CpuIdleType,
    pub flags: SdFlags,
    pub imbalance_pct: u32,
    pub imb_numa_nr: u32,
    /// Energy-aware scheduling is enabled, and no CPU is over-utilised.
    pub energy_aware: bool,
    /// Cores of the local and of the busiest group, since 6.12; `None` before, where they do not matter.
    pub cores: Option<GroupCores>,
}

/// Cores of the local and of the busiest group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupCores {
    pub local: u32,
    pub busiest: u32,
    /// Whether one of both groups is a core and the other is not.
    pub smt_vs_nonsmt: bool,
}

/// Returns the reason why the domain is balanced, or `None` if it is not.
///
/// Rules, in order:
/// 1. A misfit task is always helped. Otherwise energy-aware scheduling suppresses balancing. Asymmetric
///    packing and groups that could not be balanced before come next.
/// 2. The local group's type must not be worse than that of the busiest group.
/// 3. If both are overloaded, the local group must have less load per capacity than the average, and less
///    than the busiest group by more than the margin.
/// 4. Tasks should spread over sibling domains: a difference of two or more tasks counts if the local group
///    has spare capacity.
/// 5. Without competition only an idle CPU pulls, only if that evens out the numbers of idle CPUs, and not
///    the only task of a group.
pub(crate) fn why_balanced(sds: &mut SdLbStats, at: &ImbalanceParams) -> Option<BalancedReason> {
    if sds.busiest.is_none() {
        return Some(BalancedReason::NoCandidate);
    }
    let (local, busiest) = (sds.local_stat, sds.busiest_stat);
    if busiest.group_type == GroupType::MisfitTask {
        return None;
    }
    if at.energy_aware {
        return Some(BalancedReason::EnergyAware);
    }
    if matches!(busiest.group_type, GroupType::AsymPacking | GroupType::Imbalanced) {
        return None;
    }
    if local.group_type > busiest.group_type {
        return Some(BalancedReason::LocalIsBusier);
    }
    if local.group_type == GroupType::Overloaded {
        if local.avg_load >= busiest.avg_load {
            return Some(BalancedReason::LocalHasMoreLoad);
        }
        sds.avg_load = sds.load_per_capacity();
        if local.avg_load >= sds.avg_load {
            return Some(BalancedReason::LocalIsAboveAverage);
        }
        if busiest.avg_load.wrapping_mul(100) <= local.avg_load.wrapping_mul(u64::from(at.imbalance_pct)) {
            return Some(BalancedReason::WithinMargin);
        }
    }
    let spreads = sds.prefer_sibling
        && local.group_type == GroupType::HasSpare
        && match at.cores {
            None => busiest.sum_nr_running > local.sum_nr_running + 1,
            Some(cores) => sibling_imbalance(cores, &local, &busiest, at.idle) > 1,
        };
    if spreads || busiest.group_type == GroupType::Overloaded {
        return None;
    }
    let is_shared_core = busiest.group_type == GroupType::SmtBalance && at.cores.is_some_and(|of| of.smt_vs_nonsmt);
    if is_shared_core && at.idle != CpuIdleType::NotIdle {
        return None;
    }
    why_balanced_without_competition(&local, &busiest, at.idle)
}

/// Returns the number of tasks by which the busiest group exceeds its share, in proportion to the cores of both groups
/// (`sibling_imbalance()`, 6.12).
///
/// Rules, in order:
/// 1. A busy CPU pulls nothing.
/// 2. Groups with equally many cores: the difference in tasks.
/// 3. Otherwise twice the difference in tasks per core, averaged and rounded up. A group without tasks always gets one
///    of several.
#[cold]
#[inline(never)]
fn sibling_imbalance(cores: GroupCores, local: &SgLbStats, busiest: &SgLbStats, idle: CpuIdleType) -> i64 {
    if idle == CpuIdleType::NotIdle || busiest.sum_nr_running == 0 {
        return 0;
    }
    if cores.local == cores.busiest {
        return i64::from(busiest.sum_nr_running.saturating_sub(local.sum_nr_running));
    }
    let all = i64::from(cores.local + cores.busiest);
    let surplus = (cores.local * busiest.sum_nr_running).saturating_sub(cores.busiest * local.sum_nr_running);
    let imbalance = (2 * i64::from(surplus) + all) / all;
    if imbalance <= 1 && local.sum_nr_running == 0 && busiest.sum_nr_running > 1 { 2 } else { imbalance }
}

fn why_balanced_without_competition(
    local: &SgLbStats,
    busiest: &SgLbStats,
    idle: CpuIdleType,
) -> Option<BalancedReason> {
    if idle == CpuIdleType::NotIdle {
        Some(BalancedReason::BusyWithoutCompetition)
    } else if busiest.group_weight > 1 && local.idle_cpus <= busiest.idle_cpus.wrapping_add(1) {
        Some(BalancedReason::IdleCpusAlike)
    } else if busiest.sum_h_nr_running == 1 {
        Some(BalancedReason::SingleTask)
    } else {
        None
    }
}

/// Returns what must be moved from the busiest group to the local one, and how much.
///
/// Rules, in order, by the type of the busiest group and then of the local one:
/// 1. Misfit task: that task with asymmetric capacities, otherwise as much load.
/// 2. Asymmetric packing: all tasks. Imbalanced or SMT balance: one task.
/// 3. The local group has spare capacity, the CPUs share no cache, and the busiest group is worse than fully
///    busy: utilisation that fills the spare capacity, or one task if no capacity is left and the CPU is
///    idle.
/// 4. The local group has spare capacity otherwise: half the difference in tasks (single CPUs, or siblings
///    over which tasks should spread) or in idle CPUs, less the tolerance of a NUMA domain.
/// 5. The local group has no spare capacity: nothing if its load is above that of the busiest group or the
///    average; otherwise load.
/// 6. Load: as much as brings neither group across the average.
pub(crate) fn calculate_imbalance(sds: &mut SdLbStats, at: &ImbalanceParams) -> (MigrationType, i64) {
    let busiest = sds.busiest_stat;
    match busiest.group_type {
        GroupType::MisfitTask if at.flags.intersects(SdFlags::ASYM_CPUCAPACITY) => return (MigrationType::Misfit, 1),
        GroupType::MisfitTask => return (MigrationType::Load, busiest.group_misfit_task_load as i64),
        GroupType::AsymPacking => return (MigrationType::Task, i64::from(busiest.sum_h_nr_running)),
        GroupType::SmtBalance | GroupType::Imbalanced => return (MigrationType::Task, 1),
        GroupType::HasSpare | GroupType::FullyBusy | GroupType::Overloaded => {}
    }
    if sds.local_stat.group_type == GroupType::HasSpare {
        let shares_cache = at.flags.intersects(SdFlags::SHARE_PKG_RESOURCES);
        if busiest.group_type > GroupType::FullyBusy && !shares_cache {
            return util_to_fill(&sds.local_stat, at.idle);
        }
        return (MigrationType::Task, tasks_to_even_out(sds, at));
    }
    (MigrationType::Load, load_to_even_out(sds))
}

fn util_to_fill(local: &SgLbStats, idle: CpuIdleType) -> (MigrationType, i64) {
    match local.group_capacity.saturating_sub(local.group_util) {
        0 if idle != CpuIdleType::NotIdle => (MigrationType::Task, 1),
        room => (MigrationType::Util, room as i64),
    }
}

/// Returns half the difference in tasks or idle CPUs, rounded down.
///
/// The difference in idle CPUs is an unsigned 32-bit number, as in the kernel: more idle CPUs in the busiest
/// group than in the local one give a huge number, not a negative one.
fn tasks_to_even_out(sds: &SdLbStats, at: &ImbalanceParams) -> i64 {
    let (local, busiest) = (&sds.local_stat, &sds.busiest_stat);
    let spreads = busiest.group_weight == 1 || sds.prefer_sibling;
    let mut difference = match at.cores {
        Some(cores) if spreads => sibling_imbalance(cores, local, busiest, at.idle),
        _ if spreads => i64::from(busiest.sum_nr_running.saturating_sub(local.sum_nr_running)),
        _ => i64::from(local.idle_cpus.wrapping_sub(busiest.idle_cpus)),
    };
    if at.flags.intersects(SdFlags::NUMA) {
        difference = adjust_numa_imbalance(difference, local.sum_nr_running + 1, at.imb_numa_nr);
    }
    difference >> 1
}

/// Ignores a small imbalance between NUMA nodes while the destination has few tasks, because they may
/// communicate.
pub(crate) fn adjust_numa_imbalance(imbalance: i64, dst_running: u32, imb_numa_nr: u32) -> i64 {
    // The kernel passes the imbalance as a signed 32-bit number.
    let imbalance = imbalance as i32;
    if dst_running as i32 <= imb_numa_nr as i32 && imbalance <= NUMA_IMBALANCE_MIN { 0 } else { i64::from(imbalance) }
}

fn load_to_even_out(sds: &mut SdLbStats) -> i64 {
    let busiest = sds.busiest_stat;
    if sds.local_stat.group_type < GroupType::Overloaded {
        sds.local_stat.avg_load = sds.local_stat.load_per_capacity();
        if sds.local_stat.avg_load >= busiest.avg_load {
            return 0;
        }
        sds.avg_load = sds.load_per_capacity();
        if sds.local_stat.avg_load >= sds.avg_load {
            return 0;
        }
    }
    // Unsigned: a busiest group below the average wraps, and the other term is the smaller one.
    let surplus = busiest.avg_load.wrapping_sub(sds.avg_load).wrapping_mul(busiest.group_capacity);
    let lack = sds.avg_load.wrapping_sub(sds.local_stat.avg_load).wrapping_mul(sds.local_stat.group_capacity);
    (surplus.min(lack) >> SCHED_CAPACITY_SHIFT) as i64
}
