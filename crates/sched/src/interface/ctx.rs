// SPDX-License-Identifier: GPL-2.0-or-later
//! Interface between the scheduler and the machine that it runs on.
//!
//! A handler receives a [`Ctx`] with the executing CPU and the time. It returns [`Effect`]s, which the
//! machine turns into events in their order, reports events to the [`SchedObserver`], and counts operations
//! in the [`OpCounts`].

use crate::interface::policy::PolicySlot;
use crate::interface::probe::{Event, SchedObserver};
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::{Capacity, Nanos};
use crate::types::work::{KernelOp, OpCounts};
use alloc::vec::Vec;

/// Purpose of an inter-processor interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpiKind {
    /// Makes the CPU check `TIF_NEED_RESCHED` (`scheduler_ipi()`).
    Reschedule,
    /// Makes the CPU serve its call-function queue: remote wake-ups, idle-balancing kicks, remote timers.
    CallFunction,
}

/// State of a task when it stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum PrevState {
    /// Still runnable: it was preempted or yielded.
    Runnable,
    Blocked,
    Dead,
}

/// An action of the machine. Effects happen in the order in which they were emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum Effect {
    /// Interrupt another CPU. After the IPI latency the machine calls
    /// [`crate::paths::sched::Sched::handle_ipi`] on that CPU.
    SendIpi {
        /// CPU that receives the interrupt.
        cpu: CpuId,
        /// Purpose of the interrupt.
        kind: IpiKind,
    },
    /// A context switch of a CPU.
    Switch { cpu: CpuId, prev: TaskId, next: TaskId, prev_state: PrevState },
    /// Program the timer of a CPU; [`Nanos::NEVER`] disables it. The machine calls
    /// [`crate::paths::sched::Sched::handle_timer`] at the expiry. An expiry in the past means now.
    ArmTimer {
        /// CPU of the timer.
        cpu: CpuId,
        /// Time of the expiry.
        at: Nanos,
    },
    /// Wake the thread of a frequency governor, which calls
    /// [`crate::state::State::begin_frequency_transition`]. The machine wakes it by an interrupt of the CPU
    /// to itself (`irq_work`).
    WakeGovernor {
        /// CPU that interrupts itself.
        cpu: CpuId,
        /// Index of the frequency domain.
        policy: u32,
    },
    /// A frequency change by a governor of the scheduler. Load tracking uses the new frequency already.
    SetFrequency {
        cpu: CpuId,
        /// New frequency as a fraction of the highest one (1024).
        capacity: Capacity,
        /// New frequency in kHz; 0 if a compiled-kernel engine does not report it.
        khz: u64,
    },
}

/// Context of one handler call.
pub struct Ctx<'a> {
    /// CPU that executes the handler (`smp_processor_id()`).
    pub cpu: CpuId,
    /// Time of the event that is handled.
    pub now: Nanos,
    /// Lead of the clocks that the scheduler reads over `now`, because paths of this event took time.
    pub clock_offset: Nanos,
    /// Operation that advances these clocks, and by how much. All other operations of the call take no time
    /// on them.
    pub self_timed: Option<(KernelOp, Nanos)>,
    /// Actions for the machine, in order.
    pub effects: &'a mut Vec<Effect>,
    /// Observer of the events that [`Ctx::report`] passes on.
    pub observer: &'a mut dyn SchedObserver,
    /// Whether the observer wants charges of run time and PELT updates, which are very frequent.
    pub wants_accounting: bool,
    /// Whether an observer wants the virtual times of tasks at their wake-ups and switches, and decisions of EEVDF.
    pub wants_lags: bool,
    /// Counts of executed operations.
    pub op_counts: &'a mut OpCounts,
    /// Custom policy that replaces some of the kernel's rules.
    pub policy: Option<&'a mut PolicySlot>,
}

impl Ctx<'_> {
    /// Returns the clock that runqueues read (`sched_clock()`), in ns.
    #[inline]
    pub fn sched_clock(&self) -> u64 {
        self.now.0 + self.clock_offset.0
    }

    /// Adds an effect after those that the handler emitted before.
    #[inline]
    pub fn emit(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Reports an event to the observer.
    #[inline]
    pub fn report(&mut self, event: Event<'_>) {
        self.observer.event(self.now, &event);
    }

    /// Reports that a task was charged for run time, if an observer wants it.
    #[inline]
    pub(crate) fn report_runtime(&mut self, task: TaskId, runtime_ns: u64) {
        if self.wants_accounting {
            self.report(Event::Runtime { task, on: self.cpu, runtime: Nanos(runtime_ns) });
        }
    }

    /// Counts one execution of an operation, for the cost model.
    #[inline]
    pub fn charge(&mut self, op: KernelOp) {
        self.op_counts.count(op, 1);
    }

    /// Counts an operation that the scheduler itself measures by the clock.
    #[inline]
    pub fn charge_self_timed(&mut self, op: KernelOp) {
        self.charge(op);
        if let Some((_, time)) = self.self_timed.filter(|&(elapsing, _)| elapsing == op) {
            self.clock_offset += time;
        }
    }

    /// Runs `act` as if on another CPU: an interrupt or a call that the machine delivers at the same instant.
    pub fn on_cpu<R>(&mut self, cpu: CpuId, act: impl FnOnce(&mut Self) -> R) -> R {
        let before = core::mem::replace(&mut self.cpu, cpu);
        let result = act(self);
        self.cpu = before;
        result
    }
}
