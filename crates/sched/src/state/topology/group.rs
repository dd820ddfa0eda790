// SPDX-License-Identifier: GPL-2.0-or-later
//! Groups of a sched domain and their capacity (`struct sched_group`, `struct sched_group_capacity`, 6.1).

use crate::state::topology::arena::{CapacityId, SchedGroupId};
use crate::state::topology::flags::SdFlags;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use crate::types::units::Capacity;

/// The unit between which a domain balances: usually the CPUs of one child domain.
///
/// Nothing of a group changes after domains are built; so CPUs with the same ring share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedGroup {
    /// The next group of the ring.
    pub next: SchedGroupId,
    /// The CPUs.
    pub span: CpuMask,
    /// The CPUs that may balance for the group (the kernel's `group_balance_mask()`): all of them, but where groups
    /// overlap only those whose child domain is the group.
    pub balance_mask: CpuMask,
    /// The first of them: the kernel's `group_balance_cpu()`.
    pub balance_cpu: CpuId,
    /// How many CPUs the group has.
    pub group_weight: u32,
    /// Its capacity, common to all groups with these CPUs at the level.
    pub capacity: CapacityId,
    /// With `ASYM_PACKING`: the CPU of the group that is to be used first. CPU 0 otherwise.
    pub asym_prefer_cpu: CpuId,
    /// The flags of the child domain that the group stands for; none for a single CPU.
    pub flags: SdFlags,
}

/// What the CPUs of a group can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedGroupCapacity {
    /// Sum over the group's CPUs.
    pub capacity: Capacity,
    /// Capacity of the weakest CPU.
    pub min_capacity: Capacity,
    /// Capacity of the strongest CPU.
    pub max_capacity: Capacity,
    /// From when on it is to be computed again, in jiffies.
    pub next_update: u64,
    /// Whether affinity kept a child domain from balancing the group.
    pub imbalance: bool,
    /// The CPU whose copy at this level it is.
    pub id: CpuId,
}
