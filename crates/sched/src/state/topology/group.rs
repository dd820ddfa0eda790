// SPDX-License-Identifier: GPL-2.0-or-later
//! Groups of a sched domain and their capacity (`struct sched_group`, `struct sched_group_capacity`, 6.1).

use crate::state::topology::flags::SdFlags;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use crate::types::ids::{CapacityId, SchedGroupId};
use crate::types::units::Capacity;

/// Set of CPUs that a domain balances against other groups: usually the CPUs of one child domain.
///
/// A group does not change after domains are built, so CPUs with equal rings share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedGroup {
    /// Next group of the ring.
    pub next: SchedGroupId,
    /// CPUs of the group.
    pub span: CpuMask,
    /// CPUs that may balance for the group (the kernel's `group_balance_mask()`): all of them, or where
    /// groups overlap only those whose child domain is the group.
    pub balance_mask: CpuMask,
    /// First CPU of `balance_mask`: the kernel's `group_balance_cpu()`.
    pub balance_cpu: CpuId,
    /// Number of CPUs in the group.
    pub group_weight: u32,
    /// Number of cores in the group.
    pub cores: u32,
    /// Capacity, shared by all groups with these CPUs at the level.
    pub capacity: CapacityId,
    /// With `ASYM_PACKING`: CPU of the group that is used first. Without it: CPU 0.
    pub asym_prefer_cpu: CpuId,
    /// Flags of the child domain that the group represents; none for a single CPU.
    pub flags: SdFlags,
}

/// Capacity of a group's CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedGroupCapacity {
    /// Sum over the CPUs of the group.
    pub capacity: Capacity,
    /// Capacity of the weakest CPU.
    pub min_capacity: Capacity,
    /// Capacity of the strongest CPU.
    pub max_capacity: Capacity,
    /// Time from which the capacity is due for an update, in jiffies.
    pub next_update: u64,
    /// Whether affinity kept a child domain from balancing the group.
    pub imbalance: bool,
    /// First balancing CPU of the group, which identifies the capacity at its level.
    pub id: CpuId,
}
