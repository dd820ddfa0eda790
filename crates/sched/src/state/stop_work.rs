// SPDX-License-Identifier: GPL-2.0-or-later
//! What the stopper of a CPU has to do.

use crate::types::ids::{CpuId, TaskId};

/// Work for the stopper of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopWork {
    /// Push a running task to the CPU that asked for it: `active_load_balance_cpu_stop()`.
    ActiveBalance,
    /// Prepare the CPU to go offline: `sched_cpu_deactivate()`.
    Deactivate,
    /// Take the CPU back into use: `sched_cpu_activate()`.
    Activate,
    /// Push a task away, because the CPU goes offline: `__balance_push_cpu_stop()`.
    Push(TaskId),
    /// Move a task that begins another program: `migration_cpu_stop()`.
    Exec {
        /// The task.
        task: TaskId,
        /// Where to.
        to: CpuId,
    },
    /// Move a task to a CPU that it may use: `migration_cpu_stop()`.
    Migrate {
        /// The task.
        task: TaskId,
        /// Where to.
        to: CpuId,
        /// Who waits until that is done.
        waiter: Option<TaskId>,
    },
}
