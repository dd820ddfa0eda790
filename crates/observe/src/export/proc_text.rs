// SPDX-License-Identifier: GPL-2.0-or-later
//! What both texts of the kernel's `kernel/sched/debug.c` (6.1) have in common: how times, states and places are written.

use super::thread::{ThreadId, ThreadTable};
use fairlab_machine::sim::Machine;
use fairlab_sched::ids::{GroupId, TaskId};
use fairlab_sched::task::{Policy, TaskState};

/// A time in ms with six digits, as `SPLIT_NS()` parts it: whole ms, with the sign, and the rest without.
pub(super) const fn split_ns(ns: i64) -> (i64, u64) {
    let size = ns.unsigned_abs();
    let whole = (size / 1_000_000) as i64;
    (if ns < 0 { -whole } else { whole }, size % 1_000_000)
}

/// The path of a task group: `cgroup_path()`. A name may be a path already, as in files of rt-app.
pub(super) fn group_path(machine: &Machine, group: GroupId) -> String {
    let groups = &machine.workload().groups;
    let mut path = String::new();
    let mut at = machine.groups().iter().position(|&own| own == group);
    while let Some(place) = at {
        let name = &groups[place].name;
        path.insert_str(0, name);
        if name.starts_with('/') {
            break;
        }
        path.insert(0, '/');
        at = groups[place].parent;
    }
    if path.is_empty() { "/".to_owned() } else { path }
}

/// The letter of a task's state: `task_state_to_char()`. One that is being woken or was never woken counts as runnable.
pub(super) const fn state_letter(state: TaskState) -> char {
    match state {
        TaskState::New | TaskState::Running | TaskState::Waking => 'R',
        TaskState::Interruptible => 'S',
        TaskState::Dead => 'X',
    }
}

/// The number of a policy: `SCHED_NORMAL` and so on in `include/uapi/linux/sched.h`.
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

/// The scheduler's tasks but the idle ones, which no list of processes has, in the order of their creation.
pub(super) fn listed_tasks<'a>(machine: &'a Machine, threads: &'a ThreadTable) -> impl Iterator<Item = TaskId> + 'a {
    let all = (0..machine.sched().nr_tasks()).map(TaskId::from_index);
    all.filter(|&task| !threads.is_idle(ThreadId::from_task(task)))
}

/// Whether a task has ended for good: `/proc` does not have it any more.
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
        assert_eq!(split_ns(-1), (0, 1), "as the kernel writes the vruntime of nobody");
    }
}
