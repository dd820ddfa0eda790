// SPDX-License-Identifier: GPL-2.0-or-later
//! Helpers of the texts of the kernel's `kernel/sched/debug.c`: times, group paths, task states and
//! policies.

use super::thread::{ThreadId, ThreadTable};
use fairlab_machine::sim::Machine;
use fairlab_sched::ids::TaskId;
use fairlab_sched::task::{Policy, TaskState};

/// Splits a time into milliseconds and ns. Only whole milliseconds keep the sign, as in `SPLIT_NS()`.
const fn split_ns(ns: i64) -> (i64, u64) {
    let size = ns.unsigned_abs();
    let whole = (size / 1_000_000) as i64;
    (if ns < 0 { -whole } else { whole }, size % 1_000_000)
}

/// Returns a time as the kernel prints it: milliseconds with six decimal places.
pub(super) fn ms_text(ns: u64) -> String {
    let (ms, rest) = split_ns(ns as i64);
    format!("{ms}.{rest:06}")
}

/// Returns the letter of a task's state: `task_state_to_char()`. New and waking tasks are runnable.
pub(super) const fn state_letter(state: TaskState) -> char {
    match state {
        TaskState::New | TaskState::Running | TaskState::Waking => 'R',
        TaskState::Interruptible => 'S',
        TaskState::Dead => 'X',
    }
}

/// Returns the number of a policy: `SCHED_NORMAL` and so on in `include/uapi/linux/sched.h`.
pub(super) const fn policy_number(policy: Policy) -> u32 {
    match policy {
        Policy::Normal => 0,
        Policy::Fifo(_) => 1,
        Policy::RoundRobin(_) => 2,
        Policy::Batch => 3,
        Policy::Idle => 5,
        Policy::Deadline { .. } => 6,
    }
}

/// Returns the tasks in the order of their creation, without idle tasks, which `/proc` does not list.
pub(super) fn listed_tasks<'a>(machine: &'a Machine, threads: &'a ThreadTable) -> impl Iterator<Item = TaskId> + 'a {
    let all = (0..machine.sched().nr_tasks()).map(TaskId::from_index);
    all.filter(|&task| !threads.is_idle(ThreadId::from_task(task)))
}

/// Whether a task has exited and left its CPU, so that `/proc` no longer has it.
pub(super) fn has_ended(machine: &Machine, task: TaskId) -> bool {
    let task = machine.sched().task(task);
    task.state == TaskState::Dead && !task.on_cpu
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_split_so_that_only_whole_milliseconds_have_a_sign() {
        assert_eq!(split_ns(12_345_678), (12, 345_678));
        assert_eq!(split_ns(-12_345_678), (-12, 345_678));
        assert_eq!(split_ns(-1), (0, 1), "the kernel's vruntime of an empty queue");
    }
}
