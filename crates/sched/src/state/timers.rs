// SPDX-License-Identifier: GPL-2.0-or-later
//! High-resolution timers of the scheduling classes, multiplexed onto one hardware timer for each CPU.
//!
//! Stands for the part of `hrtimer.c` that the scheduler sees (6.1). Rules:
//! 1. A timer is queued on the CPU that starts it and stays there. It expires there even if its task has
//!    moved.
//! 2. The hardware timer of that CPU is programmed for the CPU's first timer. It is reprogrammed when an
//!    earlier timer is started, and when the timer for which it was programmed is moved or cancelled there.
//! 3. Cancelling a timer from another CPU does not reprogram the hardware: its interrupt then finds no
//!    expired timer.
//! 4. While expired timers are served, starting one programs nothing. The end of the interrupt programs the
//!    hardware for the first one left.
//! 5. A timer whose function runs counts as active and cannot be cancelled, even if it was started again.

use crate::interface::ctx::{Ctx, Effect};
use crate::state::State;
use crate::state::calls::CallFunction;
use crate::state::rq::QUEUE_CAPACITY;
use crate::types::ids::{CpuId, GroupId, TaskId};
use crate::types::units::Nanos;
use crate::types::work::KernelOp;
use alloc::vec::Vec;

/// Moves an expiry behind `now` by whole intervals and returns their number: `hrtimer_forward()`.
pub(crate) fn forward(expires: &mut u64, now: u64, interval_ns: u64) -> u64 {
    let Some(late) = now.checked_sub(*expires) else { return 0 };
    let intervals = late / interval_ns + 1;
    *expires += intervals * interval_ns;
    intervals
}

/// Purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// End of the slice of the CPU's running task.
    Hrtick,
    /// End of a period of the real-time runtime limit.
    RtPeriod,
    /// Start of the next period of a throttled deadline task.
    DlTask(TaskId),
    /// Zero-lag time of a sleeping deadline task.
    DlInactive(TaskId),
    /// End of a period of a group's quota.
    CfsPeriod(GroupId),
    /// Distribution of runtime that was returned to a group's quota.
    CfsSlack(GroupId),
}

/// Timers that a CPU has started, in the order of their expiry; simultaneous ones in the order in which they
/// were started.
#[derive(Clone, Debug)]
pub struct TimerQueue {
    armed: Vec<(u64, Timer)>,
    /// Timer for which the hardware was programmed: `next_timer`. Another CPU may have cancelled it.
    next: Option<Timer>,
    /// Time for which the hardware timer is programmed, in ns: `expires_next`.
    expires_next: u64,
    /// Timer whose function runs.
    running: Option<Timer>,
    /// Expiry of the timer whose function ran last, in ns.
    expired_at: u64,
    /// Whether expired timers are being served.
    in_interrupt: bool,
}

impl Default for TimerQueue {
    fn default() -> Self {
        Self {
            armed: Vec::with_capacity(QUEUE_CAPACITY),
            next: None,
            expires_next: Nanos::NEVER.0,
            running: None,
            expired_at: 0,
            in_interrupt: false,
        }
    }
}

impl TimerQueue {
    /// Whether a timer is armed on this CPU, or its function runs: `hrtimer_active()`.
    pub fn is_active(&self, timer: Timer) -> bool {
        self.running == Some(timer) || self.is_queued(timer)
    }

    /// Whether a timer is armed on this CPU: `hrtimer_is_queued()`.
    pub fn is_queued(&self, timer: Timer) -> bool {
        self.armed.iter().any(|&(_, other)| other == timer)
    }

    /// Time for which the hardware timer is programmed.
    pub(crate) fn programmed_for(&self) -> Option<Nanos> {
        Some(Nanos(self.expires_next)).filter(|&at| at < Nanos::NEVER)
    }

    /// Inserts a timer. Returns whether it is the first one.
    fn insert(&mut self, at: u64, timer: Timer) -> bool {
        let place = self.armed.partition_point(|&(other, _)| other <= at);
        self.armed.insert(place, (at, timer));
        place == 0
    }

    fn remove(&mut self, timer: Timer) -> bool {
        let place = self.armed.iter().position(|&(_, other)| other == timer);
        place.map(|place| self.armed.remove(place)).is_some()
    }

    /// Begins to serve expired timers.
    pub(crate) fn begin_interrupt(&mut self) {
        (self.in_interrupt, self.expires_next) = (true, Nanos::NEVER.0);
    }

    /// Takes the next timer that has expired, and marks its function as running.
    pub(crate) fn begin_expired(&mut self, now: u64) -> Option<Timer> {
        self.armed.first().filter(|&&(at, _)| at <= now)?;
        let (at, timer) = self.armed.remove(0);
        (self.running, self.expired_at) = (Some(timer), at);
        self.running
    }

    /// Expiry of the timer whose function runs, in ns.
    pub(crate) fn expired_at(&self) -> u64 {
        self.expired_at
    }

    /// Records that the function of the expired timer has returned.
    pub(crate) fn end_expired(&mut self) {
        self.running = None;
    }

    /// Ends the service of expired timers. Returns whether the hardware has to be programmed for a remaining
    /// one.
    pub(crate) fn end_interrupt(&mut self) -> bool {
        self.in_interrupt = false;
        self.reevaluate();
        self.next.is_some()
    }

    /// Determines the first timer. Returns whether the hardware has to be reprogrammed.
    fn reevaluate(&mut self) -> bool {
        let first = self.armed.first().copied();
        self.next = first.map(|(_, timer)| timer);
        let expires = first.map_or(Nanos::NEVER.0, |(at, _)| at);
        core::mem::replace(&mut self.expires_next, expires) != expires
    }

    /// Cancels a timer of this queue, which is that of `cpu`: `hrtimer_try_to_cancel()`. Returns whether it was
    /// armed.
    pub(crate) fn cancel(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, timer: Timer) -> bool {
        if self.running == Some(timer) || !self.remove(timer) {
            return false;
        }
        if cpu == ctx.cpu && self.next == Some(timer) && self.reevaluate() {
            self.program(ctx);
        }
        true
    }

    /// Programs the hardware timer of the executing CPU, whose queue this is, for its first timer.
    pub(crate) fn program(&self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::HrtimerProgram);
        ctx.emit(Effect::ArmTimer { cpu: ctx.cpu, at: Nanos(self.expires_next) });
    }

    /// Reprograms the hardware after timers have come from a CPU that went offline: `retrigger_next_event()`.
    pub(crate) fn retrigger(&mut self, ctx: &mut Ctx<'_>) {
        self.reevaluate();
        self.program(ctx);
    }
}

impl State {
    /// Arms a timer on the executing CPU, for a time in ns. A timer that is armed already, on any CPU, is
    /// moved.
    pub(crate) fn start_timer(&mut self, ctx: &mut Ctx<'_>, timer: Timer, at_ns: u64) {
        let this_cpu = ctx.cpu;
        let old_cpu = self.timer_cpu(timer).map_or(this_cpu, |cpu| core::mem::replace(cpu, this_cpu));
        let was_next = old_cpu == this_cpu && self.rqs[this_cpu].timers.next == Some(timer);
        self.rqs[old_cpu].timers.remove(timer);
        let queue = &mut self.rqs[this_cpu].timers;
        let is_first = queue.insert(at_ns, timer);
        if queue.in_interrupt {
            return;
        }
        if was_next {
            if queue.reevaluate() {
                queue.program(ctx);
            }
        } else if is_first && at_ns < queue.expires_next {
            (queue.next, queue.expires_next) = (Some(timer), at_ns);
            queue.program(ctx);
        }
    }

    /// Moves the timers of the executing CPU, which goes offline, to `heir`. An interrupt makes `heir`
    /// reprogram its hardware: `hrtimers_cpu_dying()`.
    pub(crate) fn migrate_timers(&mut self, ctx: &mut Ctx<'_>, heir: CpuId) {
        let queue = &mut self.rqs[ctx.cpu].timers;
        let orphans = core::mem::take(&mut queue.armed);
        queue.reevaluate();
        for (at, timer) in orphans {
            if let Some(cpu) = self.timer_cpu(timer) {
                *cpu = heir;
            }
            self.rqs[heir].timers.insert(at, timer);
        }
        self.rqs[heir].queue_call(ctx, CallFunction::Timers, self.polling_idle);
    }

    /// CPU that started a timer last, for timers that are not bound to a CPU.
    fn timer_cpu(&mut self, timer: Timer) -> Option<&mut CpuId> {
        match timer {
            Timer::Hrtick => None,
            Timer::RtPeriod => Some(&mut self.rt_root.bandwidth_timer_cpu),
            Timer::DlTask(task) => Some(&mut self.tasks[task].dl.dl_timer_cpu),
            Timer::DlInactive(task) => Some(&mut self.tasks[task].dl.inactive_timer_cpu),
            Timer::CfsPeriod(group) => Some(&mut self.fair.groups[group].bandwidth.period_timer_cpu),
            Timer::CfsSlack(group) => Some(&mut self.fair.groups[group].bandwidth.slack_timer_cpu),
        }
    }
}
