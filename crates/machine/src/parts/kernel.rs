// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernel code in progress on a CPU: its phase, and the interrupts and work that wait for the end of it.

use super::net::NetSoftirq;
use super::units::whole_units;
use crate::event::EventKind;
use fairlab_sched::paths::entry::Entry;
use fairlab_sched::units::Nanos;
use std::collections::VecDeque;

/// Origin of a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeSource {
    /// An object that the target waits for. The object keeps what the wake-up announces.
    Object,
    /// A wake step of a task. If the target is awake, its next wait returns at once.
    Step,
    /// A softirq. If the target is awake, its next wait returns at once.
    Softirq,
}

/// A piece of kernel work of a CPU: the rest of a system call, or a request of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelWork {
    Wake {
        /// Index of the machine's task.
        target: usize,
        /// The waker is about to sleep.
        sync: bool,
        source: WakeSource,
    },
    /// Give a new task its deadline policy, because deadline tasks cannot be forked.
    BecomeDeadline {
        /// Index of the machine's task.
        task: usize,
    },
    /// Block the running task, unless it was woken since.
    Block {
        /// Index of the machine's task.
        task: usize,
    },
    /// Execute `sched_yield()` of the running task.
    Yield,
    /// Execute `exec()` of the running task.
    Exec,
    Exit,
    /// Run pending softirqs in ksoftirqd, which is the running task.
    Softirqs,
    /// Execute a request of the scenario: a fork or a change.
    Serve(EventKind),
}

impl KernelWork {
    /// Returns the scheduler call with which the work begins, if the call takes a lock.
    #[inline]
    pub(crate) fn entry(&self) -> Option<Entry> {
        match self {
            Self::Wake { .. } => Some(Entry::Wakeup),
            Self::Block { .. } => Some(Entry::Block),
            Self::Yield => Some(Entry::Yield),
            Self::Exec => Some(Entry::Exec),
            Self::Exit => Some(Entry::Exit),
            Self::BecomeDeadline { .. } | Self::Softirqs | Self::Serve(_) => None,
        }
    }
}

/// Kernel code in progress on a CPU, and the work that waits for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelState {
    /// Whether the CPU is in a phase or spins for a lock.
    is_busy: bool,
    /// Start of the busy time that is not yet accounted.
    since: Nanos,
    /// End of the phase; [`Nanos::NEVER`] while the CPU spins.
    until: Nanos,
    /// Version of the event that ends the phase.
    version: u32,
    /// Work to add to the next phase: a remainder below 1 ns, or work that came while the CPU spun.
    carried_work: u128,
    irqs_on: bool,
    /// Rest of a phase that interrupts have interrupted.
    suspended: Nanos,
    /// Interrupts in order of arrival.
    interrupts: VecDeque<EventKind>,
    /// Remaining work of system calls, and work that the scenario requests.
    work: VecDeque<KernelWork>,
    /// Whether the running task's completion must be planned again once it resumes.
    needs_plan: bool,
    /// Whether an idle CPU enters its idle state as soon as its work is done.
    pub(crate) will_sleep: bool,
    /// Backlog and rounds of the network softirq.
    pub(crate) net: NetSoftirq,
}

/// Initial capacity of the queues of a CPU.
const QUEUE_CAPACITY: usize = 16;

impl KernelState {
    /// Returns the state of a CPU without work, with capacity reserved for a busy CPU.
    pub(crate) fn with_capacity() -> Self {
        Self {
            interrupts: VecDeque::with_capacity(QUEUE_CAPACITY),
            work: VecDeque::with_capacity(QUEUE_CAPACITY),
            ..Self::default()
        }
    }

    /// Whether the CPU is in a phase or spins for a lock.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Whether no path is in progress: at most interrupts and requests of the scenario are left.
    #[inline]
    pub(crate) fn is_off_paths(&self) -> bool {
        let is_idle = !self.is_busy && self.suspended == Nanos::ZERO && !self.net.is_running();
        is_idle && self.work.iter().all(|work| matches!(work, KernelWork::Serve(_)))
    }

    /// Whether nothing is in progress and nothing waits.
    #[inline]
    pub(crate) fn has_no_work(&self) -> bool {
        let is_quiet = !self.is_busy && self.interrupts.is_empty() && self.work.is_empty();
        is_quiet && self.suspended == Nanos::ZERO && !self.net.is_running()
    }

    /// Whether a wake-up of a task, as an index of the machine's tasks, is queued.
    pub(crate) fn has_wakeup_of(&self, task: usize) -> bool {
        self.work.iter().any(|work| matches!(work, KernelWork::Wake { target, .. } if *target == task))
    }

    /// Whether no work and no interrupt is left.
    #[inline]
    pub(crate) fn is_drained(&self) -> bool {
        self.is_off_paths() && self.work.is_empty() && self.interrupts.is_empty()
    }

    /// Begins busy time with interrupts off, up to `until` or, with [`Nanos::NEVER`], to the grant of a lock.
    #[inline]
    pub(crate) fn begin_busy(&mut self, now: Nanos, until: Nanos) {
        (self.is_busy, self.since, self.until, self.needs_plan) = (true, now, until, true);
        self.irqs_on = false;
    }

    /// Ends the busy time, which has been accounted.
    #[inline]
    pub(crate) fn end_busy(&mut self) {
        self.is_busy = false;
    }

    /// Returns the busy time up to `at` that was not accounted yet.
    pub(crate) fn unaccounted_time(&self, at: Nanos) -> Nanos {
        if self.is_busy { at.saturating_since(self.since) } else { Nanos::ZERO }
    }

    /// Returns the busy time that was not accounted yet; `None` if the CPU is not busy.
    #[inline]
    pub(crate) fn take_time(&mut self, now: Nanos) -> Option<Nanos> {
        self.is_busy.then(|| now - core::mem::replace(&mut self.since, now))
    }

    /// Extends the busy time. Returns false if the CPU is not busy, so that it must enter the kernel instead.
    #[inline]
    pub(crate) fn try_extend(&mut self, time: Nanos) -> bool {
        if self.is_busy {
            self.until += time;
        }
        self.is_busy
    }

    /// Returns the end of the phase and the version of a new event that ends it. Earlier events become stale.
    #[inline]
    pub(crate) fn plan_end(&mut self) -> (Nanos, u32) {
        self.version = self.version.wrapping_add(1);
        (self.until, self.version)
    }

    /// Whether an event ends the present phase rather than an earlier or extended one.
    #[inline]
    pub(crate) fn is_current(&self, version: u32) -> bool {
        version == self.version
    }

    /// Suspends a phase that runs with interrupts on. Returns whether there was one; then the CPU must leave
    /// the kernel until the phase resumes.
    #[inline]
    pub(crate) fn try_suspend(&mut self, now: Nanos) -> bool {
        let is_interruptible = self.is_busy && self.irqs_on && self.until > now;
        if is_interruptible {
            self.suspended = self.until - now;
            self.version = self.version.wrapping_add(1);
        }
        is_interruptible
    }

    /// Whether a phase is suspended.
    #[inline]
    pub(crate) fn is_suspended(&self) -> bool {
        self.suspended > Nanos::ZERO
    }

    /// Returns the rest of the suspended phase, which resumes.
    #[inline]
    pub(crate) fn take_suspended(&mut self) -> Nanos {
        core::mem::take(&mut self.suspended)
    }

    /// Sets whether the present phase runs with interrupts on.
    #[inline]
    pub(crate) fn set_irqs(&mut self, on: bool) {
        self.irqs_on = on;
    }

    /// Converts work to the time that it takes at a speed. A remainder below 1 ns is carried to the next
    /// phase, and so is all work while the CPU spins.
    #[inline]
    pub(crate) fn charge(&mut self, work: u128, speed: u64) -> Nanos {
        let work = work + self.carried_work;
        let is_spinning = self.is_busy && self.until == Nanos::NEVER;
        let took = if is_spinning { Nanos::ZERO } else { Nanos(whole_units(work, speed)) };
        self.carried_work = work - u128::from(took.0) * u128::from(speed);
        took
    }

    /// Whether interrupts wait.
    #[inline]
    pub(crate) fn has_interrupts(&self) -> bool {
        !self.interrupts.is_empty()
    }

    /// Adds an interrupt behind those that wait.
    #[inline]
    pub(crate) fn push_interrupt(&mut self, kind: EventKind) {
        self.interrupts.push_back(kind);
    }

    /// Returns an interrupt to the head of the queue, because it cannot be served yet.
    #[inline]
    pub(crate) fn return_interrupt(&mut self, kind: EventKind) {
        self.interrupts.push_front(kind);
    }

    /// Removes and returns the first interrupt.
    #[inline]
    pub(crate) fn pop_interrupt(&mut self) -> Option<EventKind> {
        self.interrupts.pop_front()
    }

    /// Whether work is queued.
    #[inline]
    pub(crate) fn has_queued_work(&self) -> bool {
        !self.work.is_empty()
    }

    /// Returns the first piece of work.
    #[inline]
    pub(crate) fn first_work(&self) -> Option<&KernelWork> {
        self.work.front()
    }

    /// Adds work behind the queued work.
    #[inline]
    pub(crate) fn queue_work(&mut self, work: KernelWork) {
        self.work.push_back(work);
    }

    /// Adds work before the queued work.
    #[inline]
    pub(crate) fn push_first_work(&mut self, work: KernelWork) {
        self.work.push_front(work);
    }

    /// Removes and returns the first piece of work.
    #[inline]
    pub(crate) fn pop_work(&mut self) -> Option<KernelWork> {
        self.work.pop_front()
    }

    /// Removes and returns the first piece of work, unless interrupts or packets come before it.
    #[inline]
    pub(crate) fn pop_next_work(&mut self) -> Option<KernelWork> {
        if self.has_interrupts() || self.net.is_running() { None } else { self.pop_work() }
    }

    /// Whether the completion of the running task must be planned again.
    #[inline]
    pub(crate) fn needs_plan(&self) -> bool {
        self.needs_plan
    }

    /// Records that the completion of the running task is planned.
    #[inline]
    pub(crate) fn end_need_of_plan(&mut self) {
        self.needs_plan = false;
    }
}
