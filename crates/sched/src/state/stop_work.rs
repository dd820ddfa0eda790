// SPDX-License-Identifier: GPL-2.0-or-later
//! Work of a CPU's stopper.

use crate::types::ids::{CpuId, TaskId};

/// Work item for the stopper of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum StopWork {
    /// Push the running task to the CPU that asked for it: `active_load_balance_cpu_stop()`.
    ActiveBalance,
    /// Prepare the CPU to go offline: `sched_cpu_deactivate()`.
    Deactivate,
    /// Take the CPU back into use: `sched_cpu_activate()`.
    Activate,
    /// Push a task away, because the CPU goes offline: `__balance_push_cpu_stop()`.
    Push(TaskId),
    /// Move a task that executes a new program: `migration_cpu_stop()`.
    Exec { task: TaskId, to: CpuId },
    /// Move a task to a CPU that it may use: `migration_cpu_stop()`.
    Migrate {
        task: TaskId,
        to: CpuId,
        /// Task that waits until the migration is done.
        waiter: Option<TaskId>,
    },
}
