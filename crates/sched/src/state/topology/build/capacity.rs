// SPDX-License-Identifier: GPL-2.0-or-later
//! Capacities of groups before anything runs.
//!
//! Models the loop over `init_sched_groups_capacity()` in `build_sched_domains()`, with
//! `update_group_capacity()` as it acts on CPUs without any pressure (6.1). Leaves out later updates, which
//! load balancing makes.

use crate::state::topology::build::BuildParams;
use crate::state::topology::build::draft::{DomainDraft, DomainDrafts};
use crate::state::topology::build::groups::{DraftCapacity, GroupCpus, Rings};
use crate::state::topology::{MachineTopology, SdFlags};
use crate::types::units::{Capacity, SCHED_CAPACITY_SCALE};
use alloc::vec;

/// Sets the capacities of all groups. Rules, in order:
/// 1. From the highest CPU to the lowest, and from its lowest domain upward, a CPU sets the capacity of those
///    of its own groups for which it is the first to balance.
/// 2. A group of a single CPU has the capacity of that CPU.
/// 3. Above groups that overlap, the capacity is summed over CPUs, and a CPU that was not handled yet counts
///    as 1024. Above other groups, it is summed over the groups of the domain below.
pub(crate) fn init_sched_groups_capacity(
    drafts: &DomainDrafts,
    rings: &mut Rings<'_>,
    machine: &MachineTopology,
    params: &BuildParams,
    nr_online: usize,
) {
    let max_interval = (u64::from(params.hz) * nr_online as u64 / 10).max(1);
    let mut cpu_capacity = vec![SCHED_CAPACITY_SCALE; machine.capacity.len()];
    for cpu in drafts.cpus().rev() {
        let mut child = None;
        for draft in drafts.of(cpu) {
            let own = *rings.own_group(draft);
            if own.balance_cpu == cpu {
                let interval = (u64::from(draft.unit_weight) * u64::from(params.hz)).div_ceil(1000);
                let mut capacity = match child {
                    None => {
                        cpu_capacity[cpu.index()] = machine.capacity[cpu.index()];
                        alike(machine.capacity[cpu.index()])
                    }
                    Some(child) => group_capacity(rings, child, own.cpus, &cpu_capacity),
                };
                capacity.next_update = params.jiffies + interval.clamp(1, max_interval);
                rings.set_capacity(&own, capacity);
            }
            child = Some(draft);
        }
    }
}

fn group_capacity(rings: &Rings<'_>, child: &DomainDraft, cpus: GroupCpus, cpu_capacity: &[Capacity]) -> DraftCapacity {
    match cpus {
        GroupCpus::Span(span) if child.flags.contains(SdFlags::OVERLAP) => {
            sum(rings.spans.cpus(span).iter().map(|cpu| alike(cpu_capacity[cpu.index()])))
        }
        _ => sum(rings.ring(child.ring).iter().map(|group| *rings.capacity(group))),
    }
}

/// Capacity of a single CPU.
const fn alike(capacity: Capacity) -> DraftCapacity {
    DraftCapacity { capacity, min_capacity: capacity, max_capacity: capacity, next_update: 0 }
}

fn sum(parts: impl Iterator<Item = DraftCapacity>) -> DraftCapacity {
    let none = DraftCapacity { capacity: 0, min_capacity: Capacity::MAX, max_capacity: 0, next_update: 0 };
    parts.fold(none, |sum, part| DraftCapacity {
        capacity: sum.capacity + part.capacity,
        min_capacity: sum.min_capacity.min(part.min_capacity),
        max_capacity: sum.max_capacity.max(part.max_capacity),
        next_update: 0,
    })
}
