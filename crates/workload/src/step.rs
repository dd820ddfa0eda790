// SPDX-License-Identifier: GPL-2.0-or-later
//! Steps of a task, and the trait that yields them one by one.

use fairlab_sched::units::Nanos;

/// Synchronisation object of a workload: its index in the list of its kind in [`crate::workload::Objects`].
pub type ObjectId = usize;

/// Task of a workload: its index in [`crate::workload::Workload::tasks`].
pub type TaskIndex = usize;

/// Timer that a [`Step::Timer`] waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerRef {
    /// Timer that tasks may share: its index in [`crate::workload::Objects::timers`].
    Shared(ObjectId),
    /// Timer that each instance of the task has for itself: its index in
    /// [`crate::workload::TaskSpec::own_timers`].
    Own(ObjectId),
}

/// Behaviour of a timer after a missed expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerMode {
    /// The next expiry counts from now (rt-app's default).
    Relative,
    /// Expiries stay on their original grid.
    Absolute,
}

/// One action of a task. A step takes CPU time, happens at once, or blocks the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Fixed work: takes this long on a CPU of capacity 1024 at its highest frequency, and longer on a slower
    /// one if the machine scales work.
    Run(Nanos),
    /// Busy until this much wall time has passed, whether or not the task had the CPU meanwhile. The task reads
    /// the clock after every 32 us of work.
    RunWall(Nanos),
    /// Busy like [`Step::RunWall`], but the task reads the clock continuously: ends exactly then, or when the
    /// task next has the CPU.
    Spin(Nanos),
    /// Block for this long.
    Sleep(Nanos),
    /// Block for this long in I/O wait.
    WaitIo(Nanos),
    /// Block until a timer's next expiry, which is its last one plus the period; continue at once if that has
    /// passed. Before its first use a timer counts as having expired at
    /// [`crate::workload::TaskSpec::timer_origin`] of the task that uses it first.
    Timer {
        /// Shared timer, or one of the task's own.
        timer: TimerRef,
        /// Time between two expiries.
        period: Nanos,
        /// Behaviour after a missed expiry.
        mode: TimerMode,
    },
    /// Block until the task's origin ([`crate::workload::TaskSpec::timer_origin`]); continue at once if that
    /// has passed.
    AwaitOrigin,
    /// Wake another task. A wakeup of a task that is not blocked is remembered for its next
    /// [`Step::WaitWake`].
    Wake {
        /// Task that is woken.
        target: TaskIndex,
        /// Whether the waker announces that it is about to sleep (`WF_SYNC`).
        sync: bool,
    },
    /// Block until woken by [`Step::Wake`], unless that happened already.
    WaitWake,
    /// Offer the CPU to other tasks: `sched_yield()`.
    Yield,
    /// Take a mutex, or block until it is free.
    Lock(ObjectId),
    /// Release a mutex.
    Unlock(ObjectId),
    /// Release the mutex, block until the condition is signalled, take the mutex again.
    CondWait {
        /// Condition to wait for.
        cond: ObjectId,
        /// Mutex that is released; if the task does not hold it, it is only taken afterwards.
        mutex: ObjectId,
    },
    /// Wake one task that waits for the condition.
    CondSignal(ObjectId),
    /// Wake all tasks that wait for the condition.
    CondBroadcast(ObjectId),
    /// Signal the condition and then wait for it, as one step (rt-app's `sync`).
    CondSync {
        /// Condition that is signalled and waited for.
        cond: ObjectId,
        /// Mutex that is released while the task waits.
        mutex: ObjectId,
    },
    /// Wait until all participants have arrived.
    Barrier(ObjectId),
    /// Add one to a semaphore.
    SemPost(ObjectId),
    /// Take one from a semaphore, or block until there is one.
    SemWait(ObjectId),
    /// Block under a name until another task resumes it; a resume that comes earlier is lost.
    Suspend(ObjectId),
    /// Wake all tasks that are suspended under this name.
    Resume(ObjectId),
    /// Put a message of this many bytes into a channel, or block while it is full. Wakes a waiting receiver, as a
    /// waker that is about to sleep.
    Send(ObjectId, u32),
    /// Take a message from a channel, or block while it is empty. Wakes waiting senders once there is room
    /// enough.
    Receive(ObjectId),
    /// Take this many bytes from a channel, as many as there are with each system call.
    ReceiveBytes {
        /// Channel that the bytes come from.
        channel: ObjectId,
        /// Number of bytes in all; at least 1.
        bytes: u32,
        /// Maximum number of bytes of a call; at least 1.
        buffer: u32,
        /// Work of the program between two calls.
        between: Nanos,
    },
    /// Send like [`Step::Send`], but a full channel takes no message: sleep for `or_sleep` instead.
    Offer {
        /// Channel that the message is for.
        channel: ObjectId,
        /// Time to sleep if the channel is full.
        or_sleep: Nanos,
    },
    /// Unpost a futex: from now on, tasks that wait for it block.
    FutexArm(ObjectId),
    /// Post a futex: wake its waiter. Nothing happens if it is posted already.
    FutexPost(ObjectId),
    /// Block until a futex is posted, unless it is.
    FutexWait(ObjectId),
    /// Add the task at the head of a list, with the futex for which it will wait.
    Enlist {
        /// List that gets the entry.
        list: ObjectId,
        /// Futex that [`Step::PostAll`] will post.
        futex: ObjectId,
    },
    /// Take all entries of a list, record the time for their tasks, and post their futexes one after the
    /// other, the last entry first.
    PostAll(ObjectId),
    /// Take the lock of the CPU on which the task runs; busy until it is free.
    LockCpu,
    /// Release the lock that [`Step::LockCpu`] took.
    UnlockCpu,
    /// Run the softirqs of the CPU, repeatedly while any are pending. Only ksoftirqd threads have this step.
    RunSoftirqs,
    /// Read the frequency that the governor chose for this frequency domain, and have the driver switch to
    /// it. Blocks for as long as the switch takes; nothing happens if the domain has the frequency. Only
    /// threads of a frequency governor have this step.
    BeginTransition(usize),
    /// Complete the frequency switch that [`Step::BeginTransition`] started in this domain.
    EndTransition(usize),
    /// Start an instance of a task that is a template.
    Fork(TaskIndex),
    /// Begin another program: `exec()`. The scheduler may move the task at this point (`sched_exec()`).
    Exec,
    /// Apply a set of attributes to this task: its index in [`crate::workload::TaskSpec::attributes`].
    SetAttributes(usize),
    /// Pass a point, for responses: its index in [`crate::workload::Objects::points`]. Takes no time.
    Point(ObjectId),
    /// Mark the beginning of a loop of the phase with this number, for measurements.
    Mark(u32),
    /// End of the task.
    Exit,
}

/// Position of an rt-app thread in its loops, as its markers count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopPlace {
    /// Number of times that the thread has been through all phases.
    pub thread_loop: u32,
    /// Index of the current phase.
    pub phase: u32,
    /// Number of times that the thread has been through the current phase since it came to it.
    pub phase_loop: u32,
}

/// Program of a task: yields its steps one after the other.
///
/// The machine requests the next step when the previous one is done or begins to block, so an implementation
/// must not depend on the time. Random lengths are drawn from the behaviour's own random stream.
pub trait Behaviour: Send {
    /// Position in the loops of an rt-app thread, at a [`Step::Mark`] with which a loop of a phase begins.
    fn loop_place(&self) -> Option<LoopPlace> {
        None
    }

    /// Returns the steps that may still come, in any order and each at least once; `None` if the behaviour cannot list
    /// them. Random lengths are not those that will be drawn.
    fn future_steps(&self) -> Option<Vec<Step>> {
        None
    }

    /// Returns the next step; never called again after [`Step::Exit`].
    fn next(&mut self) -> Step;
}
