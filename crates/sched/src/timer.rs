// SPDX-License-Identifier: GPL-2.0-or-later
//! High-resolution timers of the scheduling classes, multiplexed onto one hardware timer for each CPU.
//!
//! Stands for the part of `hrtimer.c` that the scheduler sees (6.1): a timer stays on the CPU that started it; that CPU's
//! hardware timer is programmed for its first one; a timer that is cancelled from elsewhere leaves the programming alone.

use crate::ctx::{Ctx, Effect};
use crate::ids::CpuId;
use crate::sched::Sched;
use crate::task::SchedClass;
use crate::units::Nanos;
use crate::work::Op;
use alloc::vec::Vec;

/// Moves an expiry behind `now` by whole intervals, and returns by how many: `hrtimer_forward()`.
pub(crate) fn forward(expires: &mut u64, now: u64, interval_ns: u64) -> u64 {
    let Some(late) = now.checked_sub(*expires) else { return 0 };
    let intervals = late / interval_ns + 1;
    *expires += intervals * interval_ns;
    intervals
}

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The slice of the CPU's running task ends.
    Hrtick,
    /// A period of the limit of real-time runtime ends.
    RtPeriod,
}

/// The timers that a CPU has started, in the order of their expiry, among equals the one first that was started first.
#[derive(Clone, Debug, Default)]
pub struct TimerQueue {
    armed: Vec<(u64, Timer)>,
    /// What the hardware timer is programmed for.
    programmed: Option<u64>,
    /// Expired timers are being served: programming waits for the end of that.
    in_interrupt: bool,
}

impl TimerQueue {
    /// Whether a timer is armed here.
    pub fn is_active(&self, timer: Timer) -> bool {
        self.armed.iter().any(|&(_, other)| other == timer)
    }

    fn insert(&mut self, at: u64, timer: Timer) {
        let place = self.armed.partition_point(|&(other, _)| other <= at);
        self.armed.insert(place, (at, timer));
    }

    fn remove(&mut self, timer: Timer) -> bool {
        let place = self.armed.iter().position(|&(_, other)| other == timer);
        place.map(|place| self.armed.remove(place)).is_some()
    }

    fn pop_expired(&mut self, now: u64) -> Option<Timer> {
        self.armed.first().filter(|&&(at, _)| at <= now)?;
        Some(self.armed.remove(0).1)
    }
}

impl Sched {
    /// Arms a timer on the CPU that executes this, at a time in ns; it is moved if it is armed there already.
    pub(crate) fn start_timer(&mut self, ctx: &mut Ctx<'_>, timer: Timer, at_ns: u64) {
        let queue = &mut self.rqs[ctx.cpu.index()].timers;
        queue.remove(timer);
        queue.insert(at_ns, timer);
        self.program_timer(ctx, ctx.cpu);
    }

    /// Switches a timer off that a CPU has started.
    pub(crate) fn cancel_timer(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, timer: Timer) {
        if self.rqs[cpu.index()].timers.remove(timer) && cpu == ctx.cpu {
            self.program_timer(ctx, cpu);
        }
    }

    /// No timer is moved on by less than this, in ns: `hrtimer_resolution`.
    ///
    // DIFFERS: a machine whose clock has switched to high resolution has 1 ns here. It is a tick as in a kernel that has
    // not, and as in the reference. What shows is that a first period of runtime ends at the next multiple of a tick.
    pub(crate) const fn hrtimer_resolution(&self) -> u64 {
        self.tick_ns
    }

    /// The timer of the CPU that executes this has expired.
    ///
    /// Models `hrtimer_interrupt()`.
    pub fn handle_timer(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(Op::IpiReceive);
        let cpu = ctx.cpu;
        self.rqs[cpu.index()].timers.programmed = None;
        self.rqs[cpu.index()].timers.in_interrupt = true;
        while let Some(timer) = self.rqs[cpu.index()].timers.pop_expired(ctx.now.0) {
            ctx.charge(Op::HrtimerFire);
            match timer {
                Timer::Hrtick => self.end_slice(ctx, cpu),
                Timer::RtPeriod => self.sched_rt_period_timer(ctx),
            }
        }
        self.rqs[cpu.index()].timers.in_interrupt = false;
        self.program_timer(ctx, cpu);
        self.run_softirqs(ctx);
    }

    /// The slice timer: the running task gets a tick that ends its slice. Models `hrtick()`.
    fn end_slice(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        self.update_rq_clock(ctx, cpu);
        let curr = self.rqs[cpu.index()].curr;
        match self.tasks[curr.index()].class {
            SchedClass::Fair => self.task_tick_fair(ctx, cpu, curr, true),
            SchedClass::RealTime => self.task_tick_rt(ctx, cpu, curr),
            SchedClass::Deadline | SchedClass::Stop | SchedClass::Idle => {}
        }
    }

    fn program_timer(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let queue = &mut self.rqs[cpu.index()].timers;
        let first = queue.armed.first().map(|&(at, _)| at);
        if queue.in_interrupt || first == queue.programmed {
            return;
        }
        queue.programmed = first;
        ctx.charge(Op::HrtimerProgram);
        ctx.emit(Effect::ArmTimer { cpu, at: first.map_or(Nanos::NEVER, Nanos) });
    }
}
