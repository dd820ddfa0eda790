// SPDX-License-Identifier: GPL-2.0-or-later
//! The steps of a task, and who says which comes next.

use fairlab_sched::units::Nanos;

/// A synchronisation object of a workload, by its place in the list of its kind.
pub type ObjectId = usize;

/// A task of a workload, by its place in [`crate::workload::Workload::tasks`].
pub type TaskIndex = usize;

/// Which timer a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerRef {
    /// A timer that tasks may share, by its place in [`crate::workload::Objects::timers`].
    Shared(ObjectId),
    /// A timer that each instance of the task has for itself, by its place in
    /// [`crate::workload::TaskSpec::own_timers`].
    Own(ObjectId),
}

/// How a timer goes on after it was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerMode {
    /// The next expiry counts from now (rt-app's default).
    Relative,
    /// The grid of expiries stays as it was.
    Absolute,
}

/// One thing that a task does. A step either takes CPU time, or happens at once, or blocks the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Fixed work: takes this long on a CPU of capacity 1024 at its highest frequency, and longer on a slower one if
    /// the machine scales work.
    Run(Nanos),
    /// Busy until this much wall time has passed, whether or not the task had the CPU meanwhile.
    RunWall(Nanos),
    /// As [`Step::RunWall`], but looking at the clock all the time: ends exactly then, or when the task next has the CPU.
    Spin(Nanos),
    /// Block for this long.
    Sleep(Nanos),
    /// Block for this long, for input or output.
    WaitIo(Nanos),
    /// Block until a timer's next expiry, which is its last one plus the period; go on at once if that has passed.
    /// Before its first use a timer counts as having expired at [`crate::workload::TaskSpec::timer_origin`] of the task
    /// that uses it first.
    Timer {
        /// Which timer.
        timer: TimerRef,
        /// Time between two expiries.
        period: Nanos,
        /// What happens after a missed expiry.
        mode: TimerMode,
    },
    /// Block until the task's origin ([`crate::workload::TaskSpec::timer_origin`]); go on at once if that has passed.
    AwaitOrigin,
    /// Wake another task; it is remembered if that is not blocked.
    Wake {
        /// Who is woken.
        target: TaskIndex,
        /// Whether the waker says that it is about to sleep (`WF_SYNC`).
        sync: bool,
    },
    /// Block until woken by [`Step::Wake`], unless that happened already.
    WaitWake,
    /// Give way to others: `sched_yield()`.
    Yield,
    /// Take a mutex, or block until it is free.
    Lock(ObjectId),
    /// Release a mutex.
    Unlock(ObjectId),
    /// Release the mutex, block until the condition is signalled, take the mutex again.
    CondWait {
        /// The condition.
        cond: ObjectId,
        /// The mutex; if the task does not hold it, it is only taken afterwards.
        mutex: ObjectId,
    },
    /// Wake one task that waits for the condition.
    CondSignal(ObjectId),
    /// Wake all tasks that wait for the condition.
    CondBroadcast(ObjectId),
    /// Signal the condition and then wait for it, as one step (rt-app's `sync`).
    CondSync {
        /// The condition.
        cond: ObjectId,
        /// The mutex.
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
    /// Put a message into a channel, or block while it is full. Wakes a receiver that waits, as a waker that is about to
    /// sleep.
    Send(ObjectId),
    /// Take a message from a channel, or block while it is empty. Wakes senders that wait once there is room enough.
    Receive(ObjectId),
    /// As [`Step::Send`], but a full channel takes no message: sleep for this long instead.
    Offer {
        /// The channel.
        channel: ObjectId,
        /// For how long.
        or_sleep: Nanos,
    },
    /// From now on a futex is not posted: who waits for it blocks.
    FutexArm(ObjectId),
    /// Post a futex: wake who waits for it. Nothing happens if it is posted already.
    FutexPost(ObjectId),
    /// Block until a futex is posted, unless it is.
    FutexWait(ObjectId),
    /// Enter oneself, with the futex for which one will wait, at the head of a list.
    Enlist {
        /// The list.
        list: ObjectId,
        /// The futex.
        futex: ObjectId,
    },
    /// Take all entries of a list, note the time for their tasks, and post their futexes one after the other, the last
    /// entry first.
    PostAll(ObjectId),
    /// Take the lock of the CPU on which the task runs; busy until it is free.
    LockCpu,
    /// Release the lock that [`Step::LockCpu`] took.
    UnlockCpu,
    /// Of a thread ksoftirqd: run the softirqs of its CPU, again and again while any are pending.
    RunSoftirqs,
    /// Of a frequency governor's thread: look for the frequency that was chosen, and have the driver switch to it. Blocks for as long as
    /// that takes; nothing happens if the domain has the frequency.
    BeginTransition(usize),
    /// The driver has switched.
    EndTransition(usize),
    /// Start an instance of a task that is a template.
    Fork(TaskIndex),
    /// Begin another program: `exec()`. A moment at which the scheduler may move the task.
    Exec,
    /// Apply a set of attributes to this task, by its place in [`crate::workload::TaskSpec::attributes`].
    SetAttributes(usize),
    /// A point worth noting in measurements: a loop of the phase with this number begins.
    Mark(u32),
    /// End.
    Exit,
}

/// Where a thread of rt-app is in its loops, as its markers count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopPlace {
    /// How often it has been through all phases.
    pub thread_loop: u32,
    /// The phase.
    pub phase: u32,
    /// How often it has been through this phase since it came to it.
    pub phase_loop: u32,
}

/// What a task does, one step after the other.
///
/// The machine asks for the next step at the moment when the one before is done or begins to block, so an answer must not
/// depend on the time. Random lengths are drawn from a stream of the behaviour's own.
pub trait Behaviour: Send {
    /// Where it is in its loops, at a [`Step::Mark`] with which a loop of a phase of rt-app begins.
    fn loop_place(&self) -> Option<LoopPlace> {
        None
    }

    /// The next step. After [`Step::Exit`] nobody asks again.
    fn next(&mut self) -> Step;
}
