// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls that yield in the middle of kernel code, where time passes, once yields are enabled. The kernel's
//! side is `engine/arch/kernel/paths.c`.

use super::{EngineIrq, Object, raw};
use std::ffi::c_int;

/// Call that may yield. The order is that of `enum fl_call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineCall {
    /// The running task of a CPU wakes another one. The result is whether that one was asleep.
    Wake {
        /// Number of the task that is woken.
        task: u32,
        /// Whether the waker is about to sleep (`WF_SYNC`).
        sync: bool,
    },
    /// A forked task becomes runnable.
    WakeNew {
        /// Number of the forked task.
        task: u32,
    },
    /// An interrupt arrives at a CPU, and its softirqs run.
    Interrupt(EngineIrq),
    /// A tick arrives at a CPU, and its softirqs run.
    Tick,
    /// An interrupt of a CPU wakes a task. The result is whether it was asleep.
    InterruptWake {
        /// Number of the task that is woken.
        task: u32,
    },
    /// A CPU calls `schedule()`.
    Reschedule,
    /// The running task of a CPU blocks or ends.
    Block {
        /// Whether the task ends.
        dies: bool,
        /// Whether the task waits for I/O.
        for_io: bool,
    },
    /// The running task of a CPU calls `sched_yield()`.
    Yield,
    /// The running task of a CPU calls `exec()`.
    Exec,
    /// The running stopper of a CPU does its work.
    Stopper,
    /// The idle task of a CPU enters its loop.
    IdleEnter(EngineTick),
}

/// Tick of an idle CPU. The order is that of `enum fl_tick`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineTick {
    /// The tick stops until the next timer.
    Stop,
    /// The tick would stop, but is retained for a timer that expires soon.
    RetainForTimer,
    /// The tick is retained.
    Retain,
}

/// Kind of a call that has yielded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants and fields are named after what they hold")]
pub enum CallKind {
    /// Wake-up by a task or an interrupt, fork, or exec.
    Wakeup,
    Tick,
    /// Interrupt other than the tick.
    Interrupt,
    /// Call of `schedule()`, by any task.
    Schedule,
    /// Work of a stopper.
    Stopper,
    /// Beginning of the idle loop.
    IdleEnter,
}

/// Condition for the resumption of a yielded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeforeResume {
    /// Only the time of the phase has to pass.
    Nothing,
    /// The lock of a runqueue must be acquired.
    Lock(u32),
    /// The lock of a runqueue is tried at that time.
    Try(u32),
    /// The call spins until another CPU has done something.
    Spin,
}

/// State of a call that has yielded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct EngineYield {
    pub before: BeforeResume,
    pub kind: CallKind,
    /// Index of the function that determines the path of the call: see [`Object::mark`].
    pub mark: Option<usize>,
    /// Whether the call scans for an idle CPU.
    pub is_search: bool,
    /// Whether interrupts are enabled.
    pub irqs_on: bool,
    /// Whether the call is in a softirq.
    pub in_softirq: bool,
}

impl EngineCall {
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
    /// Enables yields of calls. A search yields after each `looks` scanned CPUs.
    ///
    /// # Panics
    /// If `looks` is 0.
    pub fn enable_yields(&self, looks: u32) {
        assert!(looks > 0, "a search scans at least one CPU before it yields");
        call!(self, fl_set_leaving(looks));
    }

    /// Marks a function: calls that yield while it runs are in the path with the number `mark`, from 0.
    pub fn mark(&self, function: u64, mark: usize) {
        call!(self, fl_mark(function, mark as c_int + 1));
    }

    /// Counts an operation as the scan of a CPU by a search.
    pub fn count_as_scan(&self, operation: usize) {
        assert!(
            operation < super::counting::MAX_OPERATIONS,
            "operation {operation} of {}",
            super::counting::MAX_OPERATIONS
        );
        call!(self, fl_count_as_look(operation as c_int));
    }

    /// Begins a call on a CPU. Returns its result, or `None` if it has yielded.
    pub fn begin(&self, cpu: u32, call: EngineCall) -> Option<bool> {
        let (call, a, b) = call.to_raw();
        call_result(call!(self, fl_begin(self.cpu(cpu), call, a, b)))
    }

    /// Resumes the last yielded call of a CPU. Returns its result, or `None` if it has yielded again.
    ///
    /// # Panics
    /// If the CPU has no yielded call.
    pub fn resume(&self, cpu: u32) -> Option<bool> {
        assert!(self.yielded_call(cpu).is_some(), "CPU {cpu} has no yielded call");
        call_result(call!(self, fl_resume(self.cpu(cpu))))
    }

    /// Returns the last yielded call of a CPU.
    pub fn yielded_call(&self, cpu: u32) -> Option<EngineYield> {
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

    /// Ends the phase of a CPU: locks that were released in it become free.
    pub fn end_phase(&self, cpu: u32) {
        call!(self, fl_phase_over(self.cpu(cpu)));
    }

    /// Whether a CPU holds the lock of a runqueue, of another CPU or its own, beyond its phase.
    pub fn holds_lock(&self, cpu: u32, other: u32) -> bool {
        call!(self, fl_keeps_lock(self.cpu(cpu), self.cpu(other))) != 0
    }

    /// Sets whether a CPU got the lock that its yielded call tries to take.
    ///
    /// # Panics
    /// If the CPU has no yielded call.
    pub fn set_trylock_result(&self, cpu: u32, is_granted: bool) {
        assert!(self.yielded_call(cpu).is_some(), "CPU {cpu} has no yielded call");
        call!(self, fl_grant(self.cpu(cpu), c_int::from(is_granted)));
    }

    /// Returns a CPU whose yielded call can resume at once. Ends the run if there are yielded calls and none
    /// can resume.
    pub fn runnable_cpu(&self) -> Option<u32> {
        u32::try_from(call!(self, fl_ready())).ok()
    }

    /// Ends the run, because a CPU waits for the lock of a runqueue whose holder waits for a lock that it
    /// holds.
    pub fn deadlock(&self, cpu: u32) {
        call!(self, fl_deadlock(self.cpu(cpu)));
    }

    /// Whether a wake-up at this time would find a task asleep.
    pub fn is_asleep(&self, task: u32) -> bool {
        call!(self, fl_is_asleep(task)) != 0
    }
}

fn call_result(result: std::ffi::c_long) -> Option<bool> {
    (result != raw::YIELDED).then_some(result != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_of_a_kind() {
        let of = |call: EngineCall| KINDS[call.to_raw().0 as usize];
        assert_eq!(of(EngineCall::Exec), CallKind::Wakeup);
        assert_eq!(of(EngineCall::Tick), CallKind::Tick);
        assert_eq!(of(EngineCall::Yield), CallKind::Schedule);
        assert_eq!(of(EngineCall::Stopper), CallKind::Stopper);
        assert_eq!(of(EngineCall::IdleEnter(EngineTick::Stop)), CallKind::IdleEnter);
    }
}
