// SPDX-License-Identifier: GPL-2.0-or-later
//! Recorded workloads: the tasks of a trace, each as a list of operations that runs once.
//!
//! Work is in nanoseconds at full capacity and frequency. Wake-ups keep their wakers: each task waits for its
//! own semaphore, which its wakers post, so that no wake-up is lost where tasks progress faster or slower
//! than in the trace. Sleeps keep their length, or the time of their end where a periodic timer ended them.
//!
//! `fairlab import` writes the text format ([`parse`], [`RecordedWorkload::to_text`]). Besides the tasks it
//! contains the facts that the trace has about its machine, so that a recorded workload runs without a
//! machine file.

mod behaviour;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use read::parse;

use crate::policy::policy_word;
use crate::step::TaskIndex;
use crate::workload::{Affinity, Attributes, GroupSpec, Objects, TaskSpec, Workload};
use behaviour::RecordedCursor;
use fairlab_sched::task::Policy;
use fairlab_sched::topology::{CpuPlace, MachineTopology, TopologyLevel};
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Keyword with which a recorded workload begins.
pub const KEYWORD: &str = "recorded";
/// Version of the text format.
pub const VERSION: u32 = 1;

/// Policy and nice value, which a task may change while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedPriority {
    /// Policy of the fair class, or one of fixed priority.
    pub policy: Policy,
    /// Nice value of a fair task, -20 to 19.
    pub nice: i8,
}

impl RecordedPriority {
    /// Converts a priority of the kernel: 100 to 139 are nice values, 0 to 98 real-time priorities. `None`
    /// for others.
    pub fn from_prio(prio: i32) -> Option<Self> {
        match prio {
            100..=139 => Some(Self { policy: Policy::Normal, nice: (prio - 120) as i8 }),
            0..=98 => Some(Self { policy: Policy::Fifo((99 - prio) as u8), nice: 0 }),
            _ => None,
        }
    }

    fn attributes(self) -> Attributes {
        Attributes { policy: Some(self.policy), nice: Some(self.nice), ..Attributes::default() }
    }
}

/// Recorded action of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are named after what they mean")]
pub enum RecordedOp {
    /// Work, as time at full capacity and frequency.
    Run(Nanos),
    /// Block for this long.
    Sleep(Nanos),
    /// Block until this time, from the start; continue at once if it has passed.
    Until(Nanos),
    /// Block until a task wakes this one. Each wake-up ends one wait.
    Wait,
    Wake(TaskIndex),
    /// Fork a task that has no start time of its own.
    Fork(TaskIndex),
    /// Change policy and nice value.
    Priority(RecordedPriority),
    /// Move to a task group: its index in [`RecordedWorkload::groups`]; `None` is the root group.
    Group(Option<usize>),
    /// Begin another program: `exec()`.
    Exec,
    Exit,
}

/// Task of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedTask {
    /// Name, at most 15 bytes, unique, without blanks.
    pub name: String,
    /// Name in the trace, at most 15 bytes, without blanks. Several tasks may have it.
    pub family: String,
    /// CPU on which the task is forked.
    pub cpu: u32,
    /// Time of the fork, from the start; `None` if another task forks it.
    pub start_at: Option<Nanos>,
    /// Whether the task existed before the trace. Then it begins on its CPU, wherever the scheduler would put a
    /// new task.
    pub is_placed: bool,
    /// Policy and nice value at the start.
    pub priority: RecordedPriority,
    /// First and last CPU that the task may use, if known.
    pub mask: Option<(u32, u32)>,
    /// Task group at the start: its index in [`RecordedWorkload::groups`]; `None` is the root group.
    pub group: Option<usize>,
    /// Operations of the task. After the last one it blocks for good.
    pub ops: Vec<RecordedOp>,
}

/// Workload of a trace, with the facts that the trace contains about its machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct RecordedWorkload {
    /// Number of CPUs of the recorded machine.
    pub nr_cpus: u32,
    /// Capacities of the CPUs, which scaled the recorded work; empty if all have full capacity.
    pub capacities: Vec<Capacity>,
    /// Recorded changes of frequency: time, CPU, and share of the highest frequency, of 1024.
    pub frequency_steps: Vec<(Nanos, u32, Capacity)>,
    /// Length of the recording.
    pub end: Nanos,
    /// Paths of task groups (`/a/b`), parents before children. Their weights are the default.
    pub groups: Vec<String>,
    pub tasks: Vec<RecordedTask>,
    /// Assumptions about facts that the trace does not contain, and parts of the trace that were left out.
    pub notes: Vec<String>,
}

impl RecordedWorkload {
    /// Returns the machine as far as the trace describes it: its CPUs share one cache.
    pub fn topology(&self) -> MachineTopology {
        let place = |cpu| CpuPlace { core: cpu, cluster: cpu, llc: 0, package: 0, node: 0 };
        let capacity = |cpu: u32| self.capacities.get(cpu as usize).copied().unwrap_or(SCHED_CAPACITY_SCALE);
        MachineTopology {
            cpus: (0..self.nr_cpus).map(place).collect(),
            capacity: (0..self.nr_cpus).map(capacity).collect(),
            levels: vec![TopologyLevel::Mc, TopologyLevel::All],
            distances: if self.nr_cpus == 0 { Vec::new() } else { vec![vec![10]] },
        }
    }

    /// Removes the threads of schedutil (`sugov:N`), for a machine that has its own, and returns their
    /// number. They keep their indices, and never start.
    pub fn remove_governor_threads(&mut self) -> usize {
        let mut left_out = 0;
        for task in self.tasks.iter_mut().filter(|task| is_governor_thread(&task.family)) {
            (task.start_at, task.ops) = (None, Vec::new());
            left_out += 1;
        }
        if left_out > 0 {
            let threads = if left_out == 1 {
                "1 thread of schedutil (sugov:N) is"
            } else {
                &format!("{left_out} threads of schedutil (sugov:N) are")
            };
            self.notes.push(format!("{threads} left out: this machine has its own"));
        }
        left_out
    }

    /// Returns the workload on a machine with `nr_cpus` CPUs.
    pub fn into_workload(self, nr_cpus: u32) -> Workload {
        let Self { tasks, end, notes, nr_cpus: own, groups, .. } = self;
        let mut workload = Workload { duration: Some(end), assumptions: notes, ..Workload::default() };
        workload.groups = groups.iter().map(|path| group_spec(path, &groups)).collect();
        workload.objects =
            Objects { semaphores: tasks.iter().map(|task| task.name.clone()).collect(), ..Objects::default() };
        if nr_cpus < own {
            workload.warnings.push(format!(
                "the recorded machine has {own} CPUs and this machine {nr_cpus}: tasks of a missing CPU N begin on CPU N modulo {nr_cpus}, \
                 and affinity masks with missing CPUs are dropped"
            ));
        }
        workload.tasks = tasks.into_iter().enumerate().map(|(place, task)| task.into_spec(place, nr_cpus)).collect();
        workload
    }
}

impl RecordedTask {
    fn into_spec(self, place: TaskIndex, nr_cpus: u32) -> TaskSpec {
        let Self { name, family, cpu, start_at, is_placed, priority, mask, group, ops } = self;
        let cpu = cpu % nr_cpus.max(1);
        let mask = mask.filter(|&(_, last)| last < nr_cpus);
        let allowed = mask.map_or(Affinity::All, |(first, last)| Affinity::Cpus((first..=last).collect()));
        let mut sets: Vec<Attributes> = Vec::new();
        let mut start = priority.attributes();
        start.group = Some(group);
        start.affinity = Some(allowed.clone());
        // A task that existed before the trace is forked on its CPU. Its first step then widens its affinity
        // to the recorded one.
        if is_placed && allowed != Affinity::Cpus(vec![cpu]) {
            start.affinity = Some(Affinity::Cpus(vec![cpu]));
            sets.push(Attributes { affinity: Some(allowed), ..Attributes::default() });
        }
        let opens = !sets.is_empty();
        let mut known: BTreeMap<SetKey, usize> = BTreeMap::new();
        for op in &ops {
            let attributes = match *op {
                RecordedOp::Priority(priority) => priority.attributes(),
                RecordedOp::Group(group) => Attributes { group: Some(group), ..Attributes::default() },
                _ => continue,
            };
            known.entry(SetKey::from_op(*op)).or_insert_with(|| {
                sets.push(attributes);
                sets.len() - 1
            });
        }
        let origin = start_at.unwrap_or(Nanos::ZERO);
        let ops: Arc<[RecordedOp]> = ops.into();
        let known = Arc::new(known);
        let behaviour = move |_| RecordedCursor::new(Arc::clone(&ops), Arc::clone(&known), place, origin, opens);
        TaskSpec {
            start,
            attributes: sets,
            start_cpu: cpu,
            start_at,
            own_timers: vec!["recorded".to_owned()],
            timer_origin: origin,
            ..TaskSpec::new(name, &family, behaviour)
        }
    }
}

/// Whether a thread of that name is a thread of schedutil.
pub fn is_governor_thread(name: &str) -> bool {
    name.strip_prefix("sugov:").is_some_and(|cpu| !cpu.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the task group with a path.
fn group_spec(path: &str, all: &[String]) -> GroupSpec {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    GroupSpec::new(path.to_owned(), all.iter().position(|own| own == parent))
}

/// Key by which a set of attributes is looked up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SetKey {
    Priority(i8, String),
    Group(Option<usize>),
}

impl SetKey {
    /// Returns the key of an operation that sets attributes.
    fn from_op(op: RecordedOp) -> Self {
        match op {
            RecordedOp::Group(group) => Self::Group(group),
            RecordedOp::Priority(priority) => Self::Priority(priority.nice, policy_word(priority.policy)),
            _ => unreachable!("only groups and priorities are attributes"),
        }
    }
}
