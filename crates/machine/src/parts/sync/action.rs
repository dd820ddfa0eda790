// SPDX-License-Identifier: GPL-2.0-or-later
//! Steps on shared objects that block: their result, and their rest.

use fairlab_sched::ids::CpuId;
use fairlab_workload::step::ObjectId;

/// Rest of a step that has blocked a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResumeAction {
    Nothing,
    /// Take a mutex, after waiting for a condition or for the mutex itself.
    Lock(ObjectId),
    /// Decrement a semaphore.
    SemWait(ObjectId),
    Send(ObjectId, u32),
    Receive(ObjectId),
    /// Post the remaining futexes of a list.
    Post,
    LockCpu(CpuId),
    /// Return from a system call that has had its effect.
    EndCall,
}

/// Result of a step on a shared object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    Continue,
    Wait,
    /// The task is busy until it may try again.
    Spin,
}
