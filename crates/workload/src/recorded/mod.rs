// SPDX-License-Identifier: GPL-2.0-or-later
//! Recorded workloads: what the tasks of a trace did, each as a list of operations that is done once.
//!
//! Work is in nanoseconds at full capacity and frequency. Who woke whom is kept: each task has a semaphore for which it waits, and
//! which its wakers post, so that no wake-up gets lost where tasks get on at another pace than they had. Sleeps are kept by
//! their length, or by the time of their end where a periodic timer ended them.
//!
//! The text form ([`parse`], [`Recorded::to_text`]) is what `fairlab import` writes. Besides the tasks it has what the trace told of
//! its machine, so that it runs without another one.

mod behaviour;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use read::parse;

use crate::step::TaskIndex;
use crate::workload::{Affinity, Attributes, GroupSpec, Objects, Policy, TaskSpec, Workload};
use behaviour::RecordedCursor;
use fairlab_sched::topology::{CpuPlace, MachineTopology, TopologyLevel};
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The word with which such a file begins.
pub const KEYWORD: &str = "recorded";
/// The version of the form.
pub const VERSION: u32 = 1;

/// Policy and nice value, which a task may change as it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Priority {
    /// The policy: fair, or one of fixed priority.
    pub policy: Policy,
    /// The nice value of a fair task.
    pub nice: i8,
}

impl Priority {
    /// What a priority of the kernel means: 100 to 139 are nice values, 0 to 98 real-time priorities. `None` for others.
    pub fn of_prio(prio: i32) -> Option<Self> {
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

/// Something that a task did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedOp {
    /// Work: so long at full capacity and frequency.
    Run(Nanos),
    /// Block for this long.
    Sleep(Nanos),
    /// Block until this time, from the start; go on at once if it has passed.
    Until(Nanos),
    /// Block until somebody wakes it, once for each time that somebody does.
    Wait,
    /// Wake a task.
    Wake(TaskIndex),
    /// Fork a task, which has no start of its own.
    Fork(TaskIndex),
    /// Have another priority from now on.
    Priority(Priority),
    /// Be in another task group from now on: its place in [`Recorded::groups`]; `None` is the root group.
    Group(Option<usize>),
    /// Begin another program.
    Exec,
    /// End.
    Exit,
}

/// A task of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedTask {
    /// Its name: at most 15 characters, unique, without blanks.
    pub name: String,
    /// Its name in the trace, which others may have too; the same rules otherwise.
    pub family: String,
    /// The CPU on which it is forked.
    pub cpu: u32,
    /// When; `None`: another task forks it.
    pub start_at: Option<Nanos>,
    /// Whether it was there before the trace: then it begins on its CPU, wherever the scheduler would put a new task.
    pub is_placed: bool,
    /// Its priority at the start.
    pub priority: Priority,
    /// The CPUs that it may use, first and last, if that is known.
    pub mask: Option<(u32, u32)>,
    /// The task group in which it starts: its place in [`Recorded::groups`]; `None` is the root group.
    pub group: Option<usize>,
    /// What it did. After the last operation it blocks for good.
    pub ops: Vec<RecordedOp>,
}

/// The workload of a trace, with what the trace told of its machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// How many CPUs the recorded machine has.
    pub nr_cpus: u32,
    /// Their capacities, by which work was counted; empty: all of full capacity.
    pub capacities: Vec<Capacity>,
    /// Recorded changes of frequency: when, which CPU, what part of 1024 of the highest.
    pub frequency_steps: Vec<(Nanos, u32, Capacity)>,
    /// Length of the recording.
    pub end: Nanos,
    /// Paths of task groups (`/a/b`), parents before children. Their weights are the default.
    pub groups: Vec<String>,
    /// The tasks.
    pub tasks: Vec<RecordedTask>,
    /// What the trace did not say and was taken for granted, and what was left out.
    pub notes: Vec<String>,
}

impl Recorded {
    /// The machine as far as the trace has told: its CPUs share one cache.
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

    /// Leaves out the threads of schedutil (`sugov:N`), for a machine that has its own; tells how many. They keep their places, and never
    /// start.
    pub fn leave_out_governor_threads(&mut self) -> usize {
        let mut left_out = 0;
        for task in self.tasks.iter_mut().filter(|task| is_governor_thread(&task.family)) {
            (task.start_at, task.ops) = (None, Vec::new());
            left_out += 1;
        }
        if left_out > 0 {
            self.notes
                .push(format!("{left_out} threads of schedutil (sugov:N) are left out: this machine has its own"));
        }
        left_out
    }

    /// The workload on a machine with so many CPUs.
    pub fn into_workload(self, nr_cpus: u32) -> Workload {
        let Self { tasks, end, notes, nr_cpus: own, groups, .. } = self;
        let mut workload = Workload { duration: Some(end), assumptions: notes, ..Workload::default() };
        workload.groups = groups.iter().map(|path| group_of(path, &groups)).collect();
        workload.objects =
            Objects { semaphores: tasks.iter().map(|task| task.name.clone()).collect(), ..Objects::default() };
        if nr_cpus < own {
            workload.warnings.push(format!(
                "the recorded machine has {own} CPUs and this one {nr_cpus}: tasks of the others begin on CPU N modulo {nr_cpus}, and masks \
                 that name them are dropped"
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
        // A task that was there before the trace is forked where it was; then it may go where it might.
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
            known.entry(SetKey::of(*op)).or_insert_with(|| {
                sets.push(attributes);
                sets.len() - 1
            });
        }
        let origin = start_at.unwrap_or(Nanos::ZERO);
        let ops: Arc<[RecordedOp]> = ops.into();
        let known = Arc::new(known);
        TaskSpec {
            name,
            family,
            start,
            attributes: sets,
            cpuset: None,
            start_cpu: cpu,
            start_at,
            own_timers: vec!["recorded".to_owned()],
            timer_origin: origin,
            is_kthread: false,
            awaits_origin: false,
            behaviour: Box::new(move |_| {
                Box::new(RecordedCursor::new(Arc::clone(&ops), Arc::clone(&known), place, origin, opens))
            }),
        }
    }
}

/// Whether a thread of that name is schedutil's.
pub fn is_governor_thread(name: &str) -> bool {
    name.strip_prefix("sugov:").is_some_and(|cpu| !cpu.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A task group by its path.
fn group_of(path: &str, all: &[String]) -> GroupSpec {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    GroupSpec {
        name: path.to_owned(),
        parent: all.iter().position(|own| own == parent),
        shares: GROUP_SHARES,
        quota: None,
        idle: false,
        uclamp: None,
    }
}

/// The kernel's default of `cpu.shares`.
const GROUP_SHARES: u64 = 1024;

/// By what a set of attributes is found again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SetKey {
    Priority(i8, String),
    Group(Option<usize>),
}

impl SetKey {
    /// Of an operation that sets attributes.
    fn of(op: RecordedOp) -> Self {
        match op {
            RecordedOp::Group(group) => Self::Group(group),
            RecordedOp::Priority(priority) => Self::Priority(priority.nice, write::policy(priority.policy)),
            _ => unreachable!("only groups and priorities are attributes"),
        }
    }
}
