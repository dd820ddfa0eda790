// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts of kernel operations. The counts are exact; the cost model of the machine defines their costs.
//!
//! On request the counts also record the accesses to data that CPUs share, in order: the cost of an access
//! depends on which CPU has written its cache lines.

use crate::types::ids::{CpuId, GroupId};
use alloc::vec::Vec;

/// Declares the operations: variant, which is also the name in settings and results, and meaning.
macro_rules! ops {
    ($($variant:ident $doc:literal)*) => {
        /// An operation of a kernel path.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum KernelOp {
            $(#[doc = $doc] $variant,)*
        }

        impl KernelOp {
            /// All operations, in the order of the variants.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name of the operation in settings and results.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }

            /// Returns the meaning of the operation.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }
    };
}

ops! {
    ContextSwitch "Switch from one task to another, without picking it."
    Wakeup "Wake a task, without selection and enqueueing."
    Enqueue "Enqueue a task, without the cost of each level of its groups."
    Dequeue "Dequeue a task, without the cost of each level of its groups."
    GroupLevel "Enqueue, dequeue, pick, put back or tick an entity at one level of task groups; not where a group that stays queued is only updated."
    PeltUpdate "Update one PELT average (entity, cfs_rq, rt, dl, irq, thermal)."
    PeltScale "Scale one contribution by frequency and capacity (before 5.1), or one clock (since)."
    PickNext "Pick the next task."
    Tick "The scheduler's tick, without the cost of each level of groups."
    ScanCpu "Scan one CPU in a search for an idle one."
    ScanCore "Scan one core in a search for an idle one."
    BlockedCfsRq "Visit one cfs_rq in an update of blocked load."
    GroupStatCpu "Gather the statistics of one CPU for load balancing."
    QueueStatCpu "Check one runqueue of the busiest group as a source of a pull."
    BalancePass "One pass of load_balance(), without statistics and moves."
    RqLock "Take a runqueue lock that is free."
    DetachScan "Examine one task for migration."
    DetachTask "Detach one task from a runqueue to migrate it."
    AttachTask "Attach one migrated task to a runqueue."
    NewidlePass "One pass of load_balance() of a CPU that runs out of work, whose duration the scheduler measures itself."
    NohzExit "Leave the set of tickless CPUs at a busy CPU's first tick."
    NohzKick "Check at a busy CPU's tick whether to kick idle balancing."
    TicklessCpu "Check one tickless CPU when balancing for all of them."
    SoftirqRaise "Raise and enter the balancing softirq."
    IpiSend "Send an inter-processor interrupt."
    IpiReceive "Enter and leave an interrupt."
    HrtimerProgram "Program the high-resolution timer."
    HrtimerFire "Serve one expired high-resolution timer."
    Timekeeping "Advance the machine's time, at the tick of the timekeeping CPU."
    CpufreqUpdate "Call the frequency governor."
    IdleEnter "Enter the idle loop."
    IdleExit "Leave the idle loop."
    Fork "Create a task."
    Exit "End a task."
}

/// Number of kinds of operations.
pub const NR_OPS: usize = KernelOp::ALL.len();
const _: () = assert!(NR_OPS <= u64::BITS as usize, "the bit mask has a bit for each operation");

/// Kind of an access to a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads a few fields without the lock, such as the current task.
    Read,
    /// Reads what a scan for an idle CPU checks, without the lock.
    Scan,
    /// Reads what load-balance statistics consist of, without the lock.
    Statistics,
    /// Writes under the lock.
    Write,
}

/// Data of the scheduler whose cache lines several CPUs use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedData {
    /// Runqueue of a CPU.
    Runqueue(CpuId),
    /// Load of a task group on all CPUs: `tg->load_avg`, which has a line of its own.
    GroupLoad(GroupId),
}

/// An access to shared data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Data that is read or written.
    pub data: SharedData,
    /// Kind of the access.
    pub access: Access,
}

impl Touch {
    /// Returns the CPU whose runqueue is accessed, if it is one.
    pub const fn runqueue(&self) -> Option<CpuId> {
        match self.data {
            SharedData::Runqueue(cpu) => Some(cpu),
            SharedData::GroupLoad(_) => None,
        }
    }
}

/// Counts of kernel operations by kind, and the accesses to shared data of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpCounts {
    counts: [u64; NR_OPS],
    /// Bit mask of operations whose counts may be nonzero: a phase counts few kinds.
    counted: u64,
    records_touches: bool,
    touches: Vec<Touch>,
}

impl Default for OpCounts {
    fn default() -> Self {
        Self { counts: [0; NR_OPS], counted: 0, records_touches: false, touches: Vec::new() }
    }
}

impl OpCounts {
    /// Adds `times` operations of one kind.
    #[inline]
    pub fn count(&mut self, op: KernelOp, times: u64) {
        self.counts[op as usize] += times;
        self.counted |= u64::from(times != 0) << op as u8;
    }

    /// Returns the count of an operation.
    pub fn get(&self, op: KernelOp) -> u64 {
        self.counts[op as usize]
    }

    /// Returns all counts, indexed by operation.
    pub fn counts(&self) -> &[u64; NR_OPS] {
        &self.counts
    }

    /// Enables or disables the recording of accesses to shared data, and reserves capacity for `room` of them. The
    /// capacity never shrinks.
    pub fn record_touches(&mut self, records: bool, room: usize) {
        self.records_touches = records;
        self.touches.clear();
        self.touches.reserve(room);
    }

    /// Whether accesses to shared data are recorded.
    #[inline]
    pub fn records_touches(&self) -> bool {
        self.records_touches
    }

    /// Records a read of a runqueue without its lock.
    #[inline]
    pub fn touch_read(&mut self, cpu: CpuId) {
        if self.records_touches {
            self.touch(Touch { data: SharedData::Runqueue(cpu), access: Access::Read });
        }
    }

    /// Records reads of the runqueues of several CPUs, in order.
    #[inline]
    pub fn touch_read_all(&mut self, cpus: impl Iterator<Item = CpuId>) {
        self.touch_runqueues(cpus, Access::Read);
    }

    /// Records that a scan checks the runqueues of several CPUs, in order.
    #[inline]
    pub fn touch_scan(&mut self, cpus: impl Iterator<Item = CpuId>) {
        self.touch_runqueues(cpus, Access::Scan);
    }

    /// Records that load-balance statistics of several CPUs are read, in order.
    #[inline]
    pub fn touch_statistics(&mut self, cpus: impl Iterator<Item = CpuId>) {
        self.touch_runqueues(cpus, Access::Statistics);
    }

    /// Records an access to the runqueues of several CPUs, in order.
    #[inline]
    fn touch_runqueues(&mut self, cpus: impl Iterator<Item = CpuId>, access: Access) {
        if self.records_touches {
            cpus.for_each(|cpu| self.touch(Touch { data: SharedData::Runqueue(cpu), access }));
        }
    }

    /// Records a write to a runqueue.
    #[inline]
    pub fn touch_write(&mut self, cpu: CpuId) {
        if self.records_touches {
            self.touch(Touch { data: SharedData::Runqueue(cpu), access: Access::Write });
        }
    }

    /// Records a read of a task group's load.
    #[inline]
    pub fn touch_group_read(&mut self, group: GroupId) {
        if self.records_touches {
            self.touch(Touch { data: SharedData::GroupLoad(group), access: Access::Read });
        }
    }

    /// Records an atomic addition to a task group's load.
    #[inline]
    pub fn touch_group_write(&mut self, group: GroupId) {
        if self.records_touches {
            self.touch(Touch { data: SharedData::GroupLoad(group), access: Access::Write });
        }
    }

    /// Records an access, unless it equals the previous one: the cache line is present then.
    #[cold]
    fn touch(&mut self, touch: Touch) {
        if self.touches.last() != Some(&touch) {
            self.touches.push(touch);
        }
    }

    /// Returns the accesses since the last call of [`OpCounts::clear_touches`], in order.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// Removes all recorded accesses.
    pub fn clear_touches(&mut self) {
        self.touches.clear();
    }

    /// Moves all counts to `total`, and returns their cost, with a cost for each kind. Recorded accesses stay.
    #[inline]
    pub fn drain_with_cost(&mut self, prices: &[u64; NR_OPS], total: &mut Self) -> u64 {
        total.counted |= self.counted;
        let counted = core::mem::take(&mut self.counted);
        let cost_of = |op: usize| {
            let count = core::mem::take(&mut self.counts[op]);
            total.counts[op] += count;
            prices[op] * count
        };
        ops_of(counted).map(cost_of).sum()
    }

    /// Moves all counts to `total`. Recorded accesses stay.
    pub fn drain_into(&mut self, total: &mut Self) {
        for op in ops_of(self.counted) {
            total.counts[op] += core::mem::take(&mut self.counts[op]);
        }
        total.counted |= core::mem::take(&mut self.counted);
    }
}

/// Iterates over the positions of the set bits.
#[inline]
fn ops_of(mut counted: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let op = counted.trailing_zeros();
        counted &= counted.wrapping_sub(1);
        (op < u64::BITS).then_some(op as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_and_sum_are_those_of_all_operations() {
        let mut meter = OpCounts::default();
        let prices = core::array::from_fn(|place| 3 + place as u64);
        for (place, &op) in KernelOp::ALL.iter().enumerate().filter(|(place, _)| place % 5 != 2) {
            meter.count(op, (place % 3) as u64);
        }
        let of_all: u64 = meter.counts().iter().zip(&prices).map(|(count, price)| count * price).sum();
        assert_eq!(meter.clone().drain_with_cost(&prices, &mut OpCounts::default()), of_all);
        let (counted, mut total) = (*meter.counts(), OpCounts::default());
        for rounds in 1..=2 {
            meter.clone().drain_into(&mut total);
            assert_eq!(total.counts().map(|count| count / rounds), counted);
        }
        let before = total.clone();
        assert_eq!(meter.clone().drain_with_cost(&prices, &mut total), of_all);
        let mut drained = before;
        meter.drain_into(&mut drained);
        assert_eq!(total, drained);
        assert_eq!(meter, OpCounts::default());
        assert_eq!(meter.drain_with_cost(&prices, &mut OpCounts::default()), 0);
    }
}
