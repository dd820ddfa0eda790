// SPDX-License-Identifier: GPL-2.0-or-later
//! Samples of state that changes without an event: CPU time and attributes of tasks, limits of groups, utilisation of CPUs.
//!
//! A sample has the rows that differ from the last sample.

use crate::state::Machine;
use fairlab_sched::ids::{CpuId, GroupId, TaskId};
use fairlab_sched::task::Policy;
use serde_json::{Value, json};

/// Rows of the last sample, by task, group and CPU.
#[derive(Debug, Default)]
pub(super) struct LastSample {
    tasks: Vec<Value>,
    groups: Vec<Value>,
    cpus: Vec<Value>,
}

impl LastSample {
    /// Samples the tasks of a machine. Returns the rows that differ from the last sample.
    pub(super) fn take_tasks(&mut self, machine: &Machine) -> Vec<Value> {
        let tasks = (0..machine.tasks().len()).filter_map(|index| machine.tasks()[index].id.map(|id| (index, id)));
        changed_rows(&mut self.tasks, tasks.map(|(index, id)| (index, task_row(machine, index, id))))
    }

    /// Samples a machine. Returns the rows of tasks, groups and CPUs that differ from the last sample.
    pub(super) fn take(&mut self, machine: &Machine) -> [Vec<Value>; 3] {
        let groups =
            machine.groups().iter().enumerate().map(|(index, &group)| (index, group_row(machine, index, group)));
        let cpus = machine.sched().cpu_ids().map(|cpu| (cpu.index(), cpu_row(machine, cpu)));
        [self.take_tasks(machine), changed_rows(&mut self.groups, groups), changed_rows(&mut self.cpus, cpus)]
    }
}

fn changed_rows(last: &mut Vec<Value>, rows: impl Iterator<Item = (usize, Value)>) -> Vec<Value> {
    let mut changed = Vec::new();
    for (index, row) in rows {
        if last.len() <= index {
            last.resize(index + 1, Value::Null);
        }
        if last[index] != row {
            last[index] = row.clone();
            changed.push(row);
        }
    }
    changed
}

fn task_row(machine: &Machine, index: usize, id: TaskId) -> Value {
    let (sched, task) = (machine.sched(), machine.sched().task(id));
    let policy = match task.policy {
        Policy::Normal => "normal",
        Policy::Batch => "batch",
        Policy::Idle => "idle",
        Policy::Fifo(_) => "fifo",
        Policy::RoundRobin(_) => "rr",
        Policy::Deadline { .. } => "deadline",
    };
    let entity = sched.entity(id);
    json!({
        "task": id.index(),
        "ran": machine.tasks()[index].runtime_ns,
        "is_dead": machine.tasks()[index].is_dead,
        "group": machine.groups().iter().position(|&group| group == task.group),
        "policy": policy,
        "nice": task.nice,
        "slice": entity.has_custom_slice.then_some(entity.slice),
        "cpus": task.cpus_allowed.iter().map(|cpu| cpu.0).collect::<Vec<_>>(),
    })
}

fn group_row(machine: &Machine, index: usize, id: GroupId) -> Value {
    let group = machine.sched().group(id);
    let limits = group.bandwidth.limits;
    json!({
        "group": index,
        "shares": group.shares,
        "quota": limits.quota().map(|quota| quota.0),
        "period": limits.period().0,
        "burst": limits.burst().0,
        "slice": machine.sched().tunables().cfs_bandwidth_slice_us * 1000,
        "throttled_time": group.bandwidth.stats.throttled_time,
        "is_throttled": !group.bandwidth.throttled.is_empty(),
    })
}

fn cpu_row(machine: &Machine, cpu: CpuId) -> Value {
    let (snapshot, is_idle) = (machine.sched().snapshot(cpu), machine.sched().is_idle(cpu));
    json!({ "cpu": cpu.0, "util": snapshot.cfs_avg.util_avg, "part": snapshot.freq_capacity, "is_idle": is_idle })
}
