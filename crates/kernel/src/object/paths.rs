// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls that leave kernel code in the middle, where time passes, once they are told to: `engine/arch/kernel/paths.c`.

use super::{Irq, Object, raw};
use std::ffi::c_int;

/// A call. The order is that of `enum fl_call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// The running task of a CPU wakes another: whether that slept.
    Wake {
        /// The other.
        task: u32,
        /// It is about to sleep itself.
        sync: bool,
    },
    /// A task that was forked becomes runnable.
    WakeNew {
        /// The task.
        task: u32,
    },
    /// An interrupt comes to a CPU, and its softirqs run.
    Interrupt(Irq),
    /// A tick comes to a CPU, and its softirqs run.
    Tick,
    /// An interrupt of a CPU wakes a task: whether that slept.
    InterruptWake {
        /// The task.
        task: u32,
    },
    /// A CPU reschedules.
    Reschedule,
    /// The running task of a CPU blocks, for a device or something else, or ends.
    Block {
        /// It ends.
        dies: bool,
        /// It waits for a device.
        for_io: bool,
    },
    /// The running task of a CPU gives way.
    Yield,
    /// The running task of a CPU begins another program.
    Exec,
    /// The stopper of a CPU, which runs, does its work.
    Stopper,
    /// The idle task of a CPU enters its loop.
    IdleEnter(Tick),
}

/// What becomes of the tick of a CPU that idles. The order is that of `enum fl_tick`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// It stops.
    Stops,
    /// It would, but is kept for a timer that is near.
    IsKept,
    /// It goes on.
    GoesOn,
}

/// Which call has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// A wake-up by a task, or an interrupt that wakes one, or a fork, or an exec.
    Wakeup,
    /// A tick.
    Tick,
    /// Another interrupt.
    Interrupt,
    /// `schedule()`.
    Schedule,
    /// A stopper's work.
    Stopper,
    /// The beginning of the idle loop.
    IdleEnter,
}

/// What comes before the rest of a call that has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeforeResume {
    /// Nothing but the time that it takes.
    Nothing,
    /// The lock of a runqueue.
    Lock(u32),
    /// The same if it is free at that time.
    Try(u32),
    /// It spins until somebody else has done something.
    Spin,
}

/// Where a call has left kernel code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineYield {
    /// What comes first.
    pub before: BeforeResume,
    /// Which call.
    pub kind: CallKind,
    /// By which function it is known what it is in the middle of: see [`Object::mark`].
    pub mark: Option<usize>,
    /// It looks for an idle CPU.
    pub is_search: bool,
    /// Whether interrupts may come.
    pub irqs_on: bool,
    /// It is in a softirq.
    pub in_softirq: bool,
}

impl Call {
    fn to_raw(self) -> (c_int, u32, u32) {
        match self {
            Self::Wake { task, sync } => (0, task, u32::from(sync)),
            Self::WakeNew { task } => (1, task, 0),
            Self::Interrupt(irq) => (2, irq as u32, 0),
            Self::Tick => (3, 0, 0),
            Self::InterruptWake { task } => (4, task, 0),
            Self::Reschedule => (5, 0, 0),
            Self::Block { dies, for_io } => (6, u32::from(dies), u32::from(for_io)),
            Self::Yield => (7, 0, 0),
            Self::Exec => (8, 0, 0),
            Self::Stopper => (9, 0, 0),
            Self::IdleEnter(tick) => (10, tick as u32, 0),
        }
    }
}

const KINDS: [CallKind; 11] = [
    CallKind::Wakeup,
    CallKind::Wakeup,
    CallKind::Interrupt,
    CallKind::Tick,
    CallKind::Wakeup,
    CallKind::Schedule,
    CallKind::Schedule,
    CallKind::Schedule,
    CallKind::Wakeup,
    CallKind::Stopper,
    CallKind::IdleEnter,
];

impl Object {
    /// From now on calls leave, searches after so many looks.
    ///
    /// # Panics
    /// If there are to be none.
    pub fn set_leaving(&self, looks: u32) {
        assert!(looks > 0, "a search looks before it leaves");
        call!(self, fl_set_leaving(looks));
    }

    /// Calls that leave while this function runs are in the middle of what this number, from 0, says.
    pub fn mark(&self, function: u64, mark: usize) {
        call!(self, fl_mark(function, mark as c_int + 1));
    }

    /// An operation is a look of a search.
    pub fn count_as_scan(&self, operation: usize) {
        assert!(operation < super::MOST_OPERATIONS, "operation {operation} of {}", super::MOST_OPERATIONS);
        call!(self, fl_count_as_look(operation as c_int));
    }

    /// Begins a call on a CPU: what it answers, if it is over.
    pub fn begin(&self, cpu: u32, call: Call) -> Option<bool> {
        let (call, a, b) = call.to_raw();
        answer(call!(self, fl_begin(self.cpu(cpu), call, a, b)))
    }

    /// What was left last on a CPU goes on: what it answers, if it is over.
    ///
    /// # Panics
    /// If nothing was.
    pub fn resume(&self, cpu: u32) -> Option<bool> {
        assert!(self.pause(cpu).is_some(), "CPU {cpu} has left nothing");
        answer(call!(self, fl_resume(self.cpu(cpu))))
    }

    /// What was left last on a CPU.
    pub fn pause(&self, cpu: u32) -> Option<EngineYield> {
        let mut pause = raw::RawYield::default();
        if call!(self, fl_paused(self.cpu(cpu), &raw mut pause)) == 0 {
            return None;
        }
        let lock = pause.cpu as u32;
        Some(EngineYield {
            before: match pause.why {
                0 => BeforeResume::Nothing,
                1 => BeforeResume::Lock(lock),
                2 => BeforeResume::Try(lock),
                _ => BeforeResume::Spin,
            },
            kind: KINDS[pause.call as usize],
            mark: usize::try_from(pause.mark - 1).ok(),
            is_search: pause.is_search != 0,
            irqs_on: pause.irqs_off == 0,
            in_softirq: pause.in_softirq != 0,
        })
    }

    /// A phase of a CPU is over: locks that were given back in it are free.
    pub fn phase_over(&self, cpu: u32) {
        call!(self, fl_phase_over(self.cpu(cpu)));
    }

    /// Whether a CPU holds the lock of another one's runqueue, or its own, beyond its phase.
    pub fn holds_lock(&self, cpu: u32, other: u32) -> bool {
        call!(self, fl_keeps_lock(self.cpu(cpu), self.cpu(other))) != 0
    }

    /// Whether a CPU has got the lock that it tries to take.
    ///
    /// # Panics
    /// If it has left nothing.
    pub fn grant(&self, cpu: u32, is_granted: bool) {
        assert!(self.pause(cpu).is_some(), "CPU {cpu} has left nothing");
        call!(self, fl_grant(self.cpu(cpu), c_int::from(is_granted)));
    }

    /// A CPU of those that have left something which could go on at once. Ends the run if none of them can.
    pub fn ready(&self) -> Option<u32> {
        u32::try_from(call!(self, fl_ready())).ok()
    }

    /// Ends the run: a CPU waits for the lock of a runqueue whose holder waits for one that it holds.
    pub fn deadlock(&self, cpu: u32) {
        call!(self, fl_deadlock(self.cpu(cpu)));
    }

    /// Whether somebody who wakes a task now finds it asleep.
    pub fn is_asleep(&self, task: u32) -> bool {
        call!(self, fl_is_asleep(task)) != 0
    }
}

fn answer(result: std::ffi::c_long) -> Option<bool> {
    (result != raw::LEFT).then_some(result != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_of_a_kind() {
        let of = |call: Call| KINDS[call.to_raw().0 as usize];
        assert_eq!(of(Call::Exec), CallKind::Wakeup);
        assert_eq!(of(Call::Tick), CallKind::Tick);
        assert_eq!(of(Call::Yield), CallKind::Schedule);
        assert_eq!(of(Call::Stopper), CallKind::Stopper);
        assert_eq!(of(Call::IdleEnter(Tick::Stops)), CallKind::IdleEnter);
    }
}
