// SPDX-License-Identifier: GPL-2.0-or-later
//! The seam between the scheduler and the machine that it runs on.
//!
//! A handler gets a [`Ctx`]: who executes it and when. It answers with [`Effect`]s, which the machine turns into events in
//! the order in which they stand, with events for the [`Probe`], and with counts in the [`OpCounts`].

use crate::interface::policy::PolicySlot;
use crate::interface::probe::{Event, Probe};
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::{Capacity, Nanos};
use crate::types::work::{KernelOp, OpCounts};
use alloc::vec::Vec;

/// What an inter-processor interrupt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpiKind {
    /// Look at need_resched: `scheduler_ipi()`.
    Reschedule,
    /// Serve the call-function queue: remote wake-ups, idle-balancing kicks, remote timers.
    CallFunction,
}

/// Why a task stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrevState {
    /// It is still runnable: preempted, or it gave way.
    Runnable,
    /// It blocked.
    Blocked,
    /// It ended.
    Dead,
}

/// Something that the machine must do. Effects happen in the order in which they were emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Interrupt another CPU. The machine calls [`crate::paths::sched::Sched::handle_ipi`] there after its latency.
    SendIpi {
        /// The CPU to interrupt.
        cpu: CpuId,
        /// Why.
        kind: IpiKind,
    },
    /// A CPU has another current task now.
    Switch {
        /// The CPU.
        cpu: CpuId,
        /// The task that ran.
        prev: TaskId,
        /// The task that runs from now on.
        next: TaskId,
        /// Why `prev` stopped.
        prev_state: PrevState,
    },
    /// Program the timer of a CPU anew; [`Nanos::NEVER`] switches it off. The machine calls
    /// [`crate::paths::sched::Sched::handle_timer`] when it expires; an expiry in the past means now.
    ArmTimer {
        /// The CPU.
        cpu: CpuId,
        /// When it expires.
        at: Nanos,
    },
    /// A frequency governor wants its thread to ask the driver: the machine wakes it by an interrupt of the CPU itself (`irq_work`). The thread
    /// calls [`crate::state::State::begin_frequency_transition`].
    WakeGovernor {
        /// The CPU.
        cpu: CpuId,
        /// The frequency domain, by its place.
        policy: u32,
    },
    /// A frequency governor of the scheduler has changed the frequency of a CPU; load tracking knows it already.
    SetFrequency {
        /// The CPU.
        cpu: CpuId,
        /// Part of the highest frequency, of 1024.
        capacity: Capacity,
    },
}

/// What surrounds one call of a handler.
pub struct Ctx<'a> {
    /// The CPU that executes the handler: the kernel's `smp_processor_id()`.
    pub cpu: CpuId,
    /// The time of the event that is handled.
    pub now: Nanos,
    /// How far the clocks that the scheduler reads have run ahead of `now`, because paths of this event took time.
    pub clock_offset: Nanos,
    /// An operation after which they run on, and by how much; what else a call does takes none of their time.
    pub self_timed: Option<(KernelOp, Nanos)>,
    /// What the machine must do, in order.
    pub effects: &'a mut Vec<Effect>,
    /// Who listens.
    pub probe: &'a mut dyn Probe,
    /// What the paths cost.
    pub work: &'a mut OpCounts,
    /// Who selects CPUs at wake-ups in the place of the kernel's rules.
    pub policy: Option<&'a mut PolicySlot>,
}

impl Ctx<'_> {
    /// The clock that runqueues read: the kernel's `sched_clock()`.
    #[inline]
    pub fn sched_clock(&self) -> u64 {
        self.now.0 + self.clock_offset.0
    }

    /// Adds an effect.
    #[inline]
    pub fn emit(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Tells the probe of an event.
    #[inline]
    pub fn report(&mut self, event: Event<'_>) {
        self.probe.event(self.now, &event);
    }

    /// Counts one operation.
    #[inline]
    pub fn charge(&mut self, op: KernelOp) {
        self.work.count(op, 1);
    }

    /// Counts an operation that the scheduler itself measures by the clock.
    #[inline]
    pub fn charge_elapsing(&mut self, op: KernelOp) {
        self.charge(op);
        if let Some((_, time)) = self.self_timed.filter(|&(elapsing, _)| elapsing == op) {
            self.clock_offset += time;
        }
    }

    /// Runs something as if on another CPU: an interrupt or a call that the machine delivers at the same instant.
    pub fn on_cpu<R>(&mut self, cpu: CpuId, act: impl FnOnce(&mut Self) -> R) -> R {
        let before = core::mem::replace(&mut self.cpu, cpu);
        let result = act(self);
        self.cpu = before;
        result
    }
}
