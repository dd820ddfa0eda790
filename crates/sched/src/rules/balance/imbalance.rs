// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether a domain is out of balance, and by how much.
//!
//! Models the decisions of `find_busiest_group()`, `calculate_imbalance()` and `adjust_numa_imbalance()` (6.1).
//! Arithmetic only.

use crate::interface::balance::{BalancedReason, GroupType, MigrationType};
use crate::rules::balance::stats::{SdLbStats, SgLbStats};
use crate::state::topology::SdFlags;
use crate::types::idle_type::CpuIdleType;
use crate::types::units::CAPACITY_SHIFT;

/// As many communicating tasks may always stay together on a node.
const NUMA_IMBALANCE_MIN: i32 = 2;

/// What matters of the domain and of the CPU that balances it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImbalanceCase {
    pub idle: CpuIdleType,
    pub flags: SdFlags,
    pub imbalance_pct: u32,
    pub imb_numa_nr: u32,
    /// Tasks are placed by energy, and no CPU is over-utilised.
    pub energy_aware: bool,
}

/// Why the domain is balanced, unless it is not.
///
/// Rules, in order:
/// 1. A misfit task is helped in any case; then energy-aware placement has the say; then packing and groups that could
///    not be balanced before come first.
/// 2. The local group must not be in a worse state than the busiest.
/// 3. If both are overloaded, the local one must have less load for its capacity than the busiest one and than the
///    average, by more than the margin.
/// 4. Tasks should spread over sibling domains: a difference of two or more counts if the local one has room.
/// 5. Without competition only a CPU without work pulls, only if that evens out the numbers of idle CPUs, and not the
///    only task of a group.
pub(crate) fn why_balanced(sds: &mut SdLbStats, at: &ImbalanceCase) -> Option<BalancedReason> {
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
        && busiest.sum_nr_running > local.sum_nr_running + 1;
    if spreads || busiest.group_type == GroupType::Overloaded {
        return None;
    }
    why_balanced_without_competition(&local, &busiest, at.idle)
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

/// What is to be moved from the busiest group to the local one, and how much.
///
/// Rules, in order, by the state of the busiest group and then of the local one:
/// 1. Misfit task: that task where capacities differ, elsewhere as much load.
/// 2. To be packed elsewhere: all tasks. Kept from being balanced before: one.
/// 3. Local group with room, in no common cache and the busiest worse than fully busy: utilisation that fills the room, or
///    one task if there is no room but time.
/// 4. Local group with room otherwise: half the difference in tasks (single CPUs, or siblings that tasks should spread
///    over) or in idle CPUs, less what a NUMA domain tolerates.
/// 5. Local group without room: nothing if its load is above the busiest one's or the average; otherwise load.
/// 6. Load: as much as brings neither below or above the average.
pub(crate) fn calculate_imbalance(sds: &mut SdLbStats, at: &ImbalanceCase) -> (MigrationType, i64) {
    let busiest = sds.busiest_stat;
    match busiest.group_type {
        GroupType::MisfitTask if at.flags.intersects(SdFlags::ASYM_CPUCAPACITY) => return (MigrationType::Misfit, 1),
        GroupType::MisfitTask => return (MigrationType::Load, busiest.group_misfit_task_load as i64),
        GroupType::AsymPacking => return (MigrationType::Task, i64::from(busiest.sum_h_nr_running)),
        GroupType::Imbalanced => return (MigrationType::Task, 1),
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

/// Half the difference, rounded down.
///
/// The difference in idle CPUs is taken in 32 bits without a sign: more idle CPUs in the busiest group than in the local
/// one make a huge number of it, not a negative one.
fn tasks_to_even_out(sds: &SdLbStats, at: &ImbalanceCase) -> i64 {
    let (local, busiest) = (&sds.local_stat, &sds.busiest_stat);
    let difference = if busiest.group_weight == 1 || sds.prefer_sibling {
        busiest.sum_nr_running.saturating_sub(local.sum_nr_running)
    } else {
        local.idle_cpus.wrapping_sub(busiest.idle_cpus)
    };
    let mut difference = i64::from(difference);
    if at.flags.intersects(SdFlags::NUMA) {
        difference = adjust_numa_imbalance(difference, local.sum_nr_running + 1, at.imb_numa_nr);
    }
    difference >> 1
}

/// A small imbalance between NUMA nodes is none while the destination has few tasks: they may be talking to each other.
pub(crate) fn adjust_numa_imbalance(imbalance: i64, dst_running: u32, imb_numa_nr: u32) -> i64 {
    // The kernel passes it as a signed 32-bit number.
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
    // Without a sign: a busiest group below the average wraps, and the other term is the lesser.
    let surplus = busiest.avg_load.wrapping_sub(sds.avg_load).wrapping_mul(busiest.group_capacity);
    let lack = sds.avg_load.wrapping_sub(sds.local_stat.avg_load).wrapping_mul(sds.local_stat.group_capacity);
    (surplus.min(lack) >> CAPACITY_SHIFT) as i64
}
