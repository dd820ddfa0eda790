// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls that yield in the middle of kernel code, where time passes, once yields are enabled. The kernel's
//! side is `engine/arch/kernel/paths.c`.

use super::{EngineIrq, Object, raw};
use fairlab_sched::paths::idle::IdleTick;
use std::ffi::c_int;

/// Call that may yield.
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
    IdleEnter(IdleTick),
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

/// Number of a call: `enum fl_call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
enum CallNumber {
    Wake,
    WakeNew,
    Interrupt,
    Tick,
    InterruptWake,
    Reschedule,
    Block,
    Yield,
    Exec,
    Stopper,
    IdleEnter,
}

impl CallNumber {
    /// All calls, in the order of their numbers.
    const ALL: [Self; 11] = [
        Self::Wake,
        Self::WakeNew,
        Self::Interrupt,
        Self::Tick,
        Self::InterruptWake,
        Self::Reschedule,
        Self::Block,
        Self::Yield,
        Self::Exec,
        Self::Stopper,
        Self::IdleEnter,
    ];

    const fn kind(self) -> CallKind {
        match self {
            Self::Wake | Self::WakeNew | Self::InterruptWake | Self::Exec => CallKind::Wakeup,
            Self::Interrupt => CallKind::Interrupt,
            Self::Tick => CallKind::Tick,
            Self::Reschedule | Self::Block | Self::Yield => CallKind::Schedule,
            Self::Stopper => CallKind::Stopper,
            Self::IdleEnter => CallKind::IdleEnter,
        }
    }
}

/// Condition for a resumption: `enum fl_why`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
enum PauseReason {
    None,
    Lock,
    Try,
    Spin,
}

impl PauseReason {
    /// All conditions, in the order of their numbers.
    const ALL: [Self; 4] = [Self::None, Self::Lock, Self::Try, Self::Spin];
}

impl EngineCall {
    /// Returns the number of the call and its two arguments.
    fn to_raw(self) -> (CallNumber, u32, u32) {
        match self {
            Self::Wake { task, sync } => (CallNumber::Wake, task, u32::from(sync)),
            Self::WakeNew { task } => (CallNumber::WakeNew, task, 0),
            Self::Interrupt(irq) => (CallNumber::Interrupt, irq as u32, 0),
            Self::Tick => (CallNumber::Tick, 0, 0),
            Self::InterruptWake { task } => (CallNumber::InterruptWake, task, 0),
            Self::Reschedule => (CallNumber::Reschedule, 0, 0),
            Self::Block { dies, for_io } => (CallNumber::Block, u32::from(dies), u32::from(for_io)),
            Self::Yield => (CallNumber::Yield, 0, 0),
            Self::Exec => (CallNumber::Exec, 0, 0),
            Self::Stopper => (CallNumber::Stopper, 0, 0),
            // `enum fl_tick`.
            Self::IdleEnter(IdleTick::Stop) => (CallNumber::IdleEnter, 0, 0),
            Self::IdleEnter(IdleTick::RetainForTimer) => (CallNumber::IdleEnter, 1, 0),
            Self::IdleEnter(IdleTick::Retain) => (CallNumber::IdleEnter, 2, 0),
        }
    }
}

impl Object {
    /// Enables yields of calls. A search yields after each `looks` scanned CPUs.
    ///
    /// # Panics
    /// If `looks` is 0.
    pub fn enable_yields(&self, budget: u32) {
        assert!(budget > 0, "a search scans at least one CPU before it yields");
        call!(self, fl_set_leaving(budget));
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
        call_result(call!(self, fl_begin(self.cpu(cpu), call as c_int, a, b)))
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
            before: match PauseReason::ALL[pause.why as usize] {
                PauseReason::None => BeforeResume::Nothing,
                PauseReason::Lock => BeforeResume::Lock(lock),
                PauseReason::Try => BeforeResume::Try(lock),
                PauseReason::Spin => BeforeResume::Spin,
            },
            kind: CallNumber::ALL[pause.call as usize].kind(),
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

    /// Names of an enum in the header of engines, as Rust spells them.
    fn names_in_header(name: &str, prefix: &str) -> Vec<String> {
        let header = include_str!("../../engine/arch/include/asm/fairlab.h");
        let (_, body) = header.split_once(&format!("enum {name} {{")).expect("the header has the enum");
        let (body, _) = body.split_once('}').expect("it has an end");
        let words = body.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let in_rust = |word: &str| {
            let words = word.split('_').map(|word| word[..1].to_owned() + &word[1..].to_ascii_lowercase());
            words.collect::<String>()
        };
        words.filter_map(|word| word.strip_prefix(prefix)).map(in_rust).collect()
    }

    #[test]
    fn numbers_are_those_of_the_header() {
        let calls = CallNumber::ALL.map(|call| format!("{call:?}"));
        assert_eq!(names_in_header("fl_call", "FL_CALL_"), calls);
        assert!(CallNumber::ALL.iter().enumerate().all(|(number, call)| *call as usize == number));
        let reasons = PauseReason::ALL.map(|reason| format!("{reason:?}"));
        assert_eq!(names_in_header("fl_why", "FL_PAUSE_"), reasons);
        assert!(PauseReason::ALL.iter().enumerate().all(|(number, reason)| *reason as usize == number));
    }

    #[test]
    fn each_call_is_of_a_kind() {
        let of = |call: EngineCall| call.to_raw().0.kind();
        assert_eq!(of(EngineCall::Exec), CallKind::Wakeup);
        assert_eq!(of(EngineCall::Tick), CallKind::Tick);
        assert_eq!(of(EngineCall::Yield), CallKind::Schedule);
        assert_eq!(of(EngineCall::Stopper), CallKind::Stopper);
        assert_eq!(of(EngineCall::IdleEnter(IdleTick::Stop)), CallKind::IdleEnter);
    }
}
