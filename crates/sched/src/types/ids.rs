// SPDX-License-Identifier: GPL-2.0-or-later
//! Typed identifiers: indices into the scheduler's [arenas](super::arena), dense and never reused within a run.

use crate::types::arena::ArenaId;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// Index in the arena.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Returns the identifier of an index.
            ///
            /// # Panics
            /// If the index does not fit into 32 bits.
            #[inline]
            pub const fn from_index(index: usize) -> Self {
                assert!(index <= u32::MAX as usize);
                Self(index as u32)
            }
        }

        impl ArenaId for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                Self::from_index(index)
            }
            #[inline]
            fn index(self) -> usize {
                self.index()
            }
        }
    };
}

id! {
    /// A logical CPU, numbered from 0 as in the kernel.
    CpuId
}
id! {
    /// A task, numbered in the order of creation.
    TaskId
}
id! {
    /// A task group (`cpu` cgroup); 0 is the root group.
    GroupId
}

id! {
    /// A cpuset; 0 is the top cpuset, which has all CPUs.
    CpusetId
}

id! {
    /// A scheduling entity: that of a task, or of a group on one CPU.
    EntityId
}
id! {
    /// A cfs_rq: the fair runqueue of a group on one CPU. Those of the root group come first, in the order of
    /// the CPUs.
    CfsRqId
}

id! {
    /// A sched domain of one CPU ([`SchedDomain`](crate::state::topology::SchedDomain)).
    DomainId
}
id! {
    /// A group of a sched domain ([`SchedGroup`](crate::state::topology::SchedGroup)), which is no task group.
    SchedGroupId
}
id! {
    /// The capacity of sched groups with the same CPUs
    /// ([`SchedGroupCapacity`](crate::state::topology::SchedGroupCapacity)).
    CapacityId
}
id! {
    /// The state that the CPUs of a last-level cache share
    /// ([`SchedDomainShared`](crate::state::topology::SchedDomainShared)).
    SharedId
}

impl CfsRqId {
    /// The root cfs_rq of a CPU.
    #[inline]
    pub const fn root(cpu: CpuId) -> Self {
        Self(cpu.0)
    }
}

impl CpusetId {
    /// The top cpuset, which has all CPUs.
    pub const TOP: Self = Self(0);
}

impl GroupId {
    /// The root task group.
    pub const ROOT: Self = Self(0);
}
