// SPDX-License-Identifier: GPL-2.0-or-later
//! Work of kernel paths, counted by operation. The counts are exact; what an operation costs is the machine's affair.
//!
//! On request the meter also keeps which runqueues were read and written, in order: what a look costs depends on who has
//! written the runqueue's cache lines since.

use crate::types::ids::CpuId;
use alloc::vec::Vec;

/// Declares the operations once: variant, name in price lists and results, meaning.
macro_rules! ops {
    ($($variant:ident $doc:literal)*) => {
        /// An operation of a kernel path.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum KernelOp {
            $(#[doc = $doc] $variant,)*
        }

        impl KernelOp {
            /// All operations.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name, as in price lists.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }

            /// What it is.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }
    };
}

ops! {
    ContextSwitch "Switch from one task to another, without picking it."
    Wakeup "Wake a task: what a wake-up costs without selection and enqueueing."
    Enqueue "Enqueue a task, without what each level of its groups adds."
    Dequeue "Dequeue a task, without what each level of its groups adds."
    GroupLevel "Walk one level of task groups in enqueue, dequeue, pick or tick."
    PeltUpdate "Bring one average of load tracking up to date (entity, cfs_rq, rt, dl, irq, thermal)."
    PeltScale "Scale one contribution by frequency and capacity (before 5.1), or one clock (since)."
    PickNext "Pick the next task."
    Tick "The scheduler's tick, without what each level of groups adds."
    ScanCpu "Look at one CPU in a search for an idle one."
    ScanCore "Look at one core in a search for an idle one."
    BlockedCfsRq "Visit one cfs_rq while blocked load is brought up to date."
    GroupStatCpu "Gather the statistics of one CPU for load balancing."
    QueueStatCpu "Look at one runqueue of the busiest group, to choose from where to pull."
    BalancePass "One pass of load_balance(), without statistics and moves."
    RqLock "Take a runqueue lock that is free."
    DetachScan "Look at one task that might be moved."
    DetachTask "Take one task from a runqueue to move it."
    AttachTask "Put one moved task into a runqueue."
    NewidlePass "One pass of load_balance() of a CPU that runs out of work, as it measures itself."
    NohzExit "Leave the tickless CPUs, at a busy CPU's first tick after it was one."
    NohzKick "Look, at a busy CPU's tick, whether tickless CPUs should be balanced for."
    TicklessCpu "Look at one tickless CPU on the walk that balances for all of them."
    SoftirqRaise "Raise and enter the balancing softirq."
    IpiSend "Send an inter-processor interrupt."
    IpiReceive "Enter and leave an interrupt."
    HrtimerProgram "Program the high-resolution timer."
    HrtimerFire "Serve one expired high-resolution timer."
    Timekeeping "Advance the machine's time, at the tick of the CPU that does so for all."
    CpufreqUpdate "Ask the frequency governor."
    IdleEnter "Enter the idle loop."
    IdleExit "Leave the idle loop."
    Fork "Create a task."
    Exit "End a task."
}

/// Number of kinds of operations.
pub const NR_OPS: usize = KernelOp::ALL.len();
const _: () = assert!(NR_OPS <= u64::BITS as usize, "a meter has a bit for each");

/// A look at a runqueue of some CPU, or a change of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Whose runqueue.
    pub cpu: CpuId,
    /// Whether it was changed, under its lock; otherwise it was read, without.
    pub write: bool,
}

/// Counts of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpCounts {
    counts: [u64; NR_OPS],
    /// Those that may be other than zero, a bit for each: a phase counts few of them.
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
    /// Adds operations.
    #[inline]
    pub fn count(&mut self, op: KernelOp, times: u64) {
        self.counts[op as usize] += times;
        self.counted |= u64::from(times != 0) << op as u8;
    }

    /// How often an operation was counted.
    pub fn of(&self, op: KernelOp) -> u64 {
        self.counts[op as usize]
    }

    /// All counts, by operation.
    pub fn counts(&self) -> &[u64; NR_OPS] {
        &self.counts
    }

    /// What all operations cost together, at a price for each.
    #[inline]
    pub fn cost(&self, prices: &[u64; NR_OPS]) -> u64 {
        ops_of(self.counted).map(|op| prices[op] * self.counts[op]).sum()
    }

    /// Has touches of runqueues kept from now on, or not any more. There is room for so many before the list has to grow;
    /// it never shrinks.
    pub fn record_touches(&mut self, records: bool, room: usize) {
        self.records_touches = records;
        self.touches.clear();
        self.touches.reserve(room);
    }

    /// Whether touches are kept.
    #[inline]
    pub fn records_touches(&self) -> bool {
        self.records_touches
    }

    /// A runqueue is read without its lock.
    #[inline]
    pub fn touch_read(&mut self, cpu: CpuId) {
        if self.records_touches {
            self.touch(Touch { cpu, write: false });
        }
    }

    /// The runqueues of several CPUs are read, one after the other.
    #[inline]
    pub fn touch_read_all(&mut self, cpus: impl Iterator<Item = CpuId>) {
        if self.records_touches {
            cpus.for_each(|cpu| self.touch(Touch { cpu, write: false }));
        }
    }

    /// A runqueue is changed.
    #[inline]
    pub fn touch_write(&mut self, cpu: CpuId) {
        if self.records_touches {
            self.touch(Touch { cpu, write: true });
        }
    }

    /// The same touch twice in a row is one: the line is there already.
    #[cold]
    fn touch(&mut self, touch: Touch) {
        if self.touches.last() != Some(&touch) {
            self.touches.push(touch);
        }
    }

    /// The touches since the last call of [`OpCounts::clear_touches`], in order.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// Forgets the touches.
    pub fn clear_touches(&mut self) {
        self.touches.clear();
    }

    /// Moves all counts into another meter. Touches stay.
    pub fn drain_into(&mut self, total: &mut Self) {
        for op in ops_of(self.counted) {
            total.counts[op] += core::mem::take(&mut self.counts[op]);
        }
        total.counted |= core::mem::take(&mut self.counted);
    }
}

/// The places of the bits that are set.
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
        assert_eq!(meter.cost(&prices), of_all);
        let (counted, mut total) = (*meter.counts(), OpCounts::default());
        for rounds in 1..=2 {
            meter.clone().drain_into(&mut total);
            assert_eq!(total.counts().map(|count| count / rounds), counted);
        }
        meter.drain_into(&mut total);
        assert_eq!(meter, OpCounts::default());
        assert_eq!(meter.cost(&prices), 0);
    }
}
