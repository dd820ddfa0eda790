// SPDX-License-Identifier: GPL-2.0-or-later
//! Records of a conformance case, as they are written.

use fairlab_sched::interface::eevdf::DelayStep;
use fairlab_sched::probe::{EntityLag, QueueLag};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Name and version of the format.
pub const SCHEMA: &str = "conformance/1";

/// Line of a conformance case. Times count from the start of the case, in ns. Records of one time are in the order
/// in which they happen.
///
/// Virtual times are in ns of a task with nice value 0. Their origin has no meaning: compare differences within
/// one queue, such as `lag`, or `deadline - vruntime`.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum ConformanceRecord {
    /// First line: the case, its tasks, and the switches of the kernel.
    Case { case: Box<CaseHeader> },
    /// Input: a task becomes runnable, after its fork, a sleep or a wait. Result: its entities on the queue.
    Runnable {
        at_ns: u64,
        /// CPU on which the task is queued.
        cpu: u32,
        task: String,
        /// Whether the task is new.
        is_new: bool,
        /// Entity of the task, then those of its groups, from the bottom up; none for a task that is not fair.
        entities: Vec<QueuedEntity>,
    },
    /// Input: a CPU ticks.
    Tick { at_ns: u64, cpu: u32 },
    /// Input: why the previous task stops. Result: the next task.
    Switch { at_ns: u64, cpu: u32, prev: SwitchedTask, next: SwitchedTask },
    /// Input: load balancing, a wake-up or a change moves a task to another CPU. Its entities follow when it
    /// becomes runnable or runs.
    Migration { at_ns: u64, task: String, from: u32, to: u32 },
    /// Result: a step of the delayed dequeue of an entity.
    DelayedDequeue {
        at_ns: u64,
        cpu: u32,
        step: DelayedStep,
        /// Task of the entity; null for a group's entity.
        task: Option<String>,
        entity: QueuedEntity,
    },
    /// Input: a statement of the scenario changes a task or a group.
    Change {
        at_ns: u64,
        /// Statement of the scenario.
        statement: String,
        task: Option<String>,
        group: Option<String>,
    },
}

/// Properties of a conformance case.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize, JsonSchema)]
pub struct CaseHeader {
    /// Name and version of this format.
    pub schema: &'static str,
    /// Name of the case.
    pub name: String,
    /// Property that the case tests.
    pub title: String,
    /// Kernel release whose behaviour the results are.
    pub kernel: String,
    pub nr_cpus: u32,
    pub tick_ns: u64,
    pub features: BTreeMap<String, bool>,
    /// Tunables with integer values, in the units that their names end in.
    pub tunables: BTreeMap<String, i64>,
    pub tasks: Vec<CaseTask>,
    pub groups: Vec<CaseGroup>,
}

/// Task of a conformance case.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize, JsonSchema)]
pub struct CaseTask {
    pub name: String,
    /// Scheduling policy, as the options of a scenario write it: `fair`, `batch`, `idlepol`, `fifo=P`, ...
    pub policy: String,
    /// Nice value, from which the weight follows.
    pub nice: i8,
    /// Slice of its own; null for the kernel's base slice.
    pub slice_ns: Option<u64>,
    /// Group; null for the root group.
    pub group: Option<String>,
}

/// Task group of a conformance case.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize, JsonSchema)]
pub struct CaseGroup {
    pub name: String,
    /// Parent; null for the root group.
    pub parent: Option<String>,
    pub shares: u64,
    /// Whether the group is idle (`cpu.idle`).
    pub is_idle: bool,
}

/// Task before or after a switch.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SwitchedTask {
    /// Name; null for the idle task.
    pub task: Option<String>,
    /// State of the task after the switch.
    pub state: SwitchedState,
    /// Entity of the task, then those of its groups, from the bottom up; none for a task that is not fair.
    pub entities: Vec<QueuedEntity>,
}

/// State of a task after a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchedState {
    /// The task runs.
    Running,
    /// The task waits for a CPU: it was preempted, or has yielded.
    Runnable,
    /// The task sleeps.
    Sleeping,
    /// The task has exited.
    Exited,
}

/// Step of a delayed dequeue.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DelayedStep {
    /// The entity sleeps and is not eligible: it stays queued.
    Begins,
    /// The entity leaves the queue.
    Ends,
    /// A task of the entity has woken up: the entity stays.
    Woken,
}

impl From<DelayStep> for DelayedStep {
    fn from(step: DelayStep) -> Self {
        match step {
            DelayStep::Begins => Self::Begins,
            DelayStep::Ends => Self::Ends,
            DelayStep::Woken => Self::Woken,
        }
    }
}

/// Entity with its virtual times and those of its queue.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueuedEntity {
    /// Number of groups above the entity, without the root group.
    pub depth: u32,
    pub is_queued: bool,
    /// Whether the entity sleeps and is still queued (`sched_delayed`).
    pub is_delayed: bool,
    /// Weight; that of nice value 0 is 1048576.
    pub weight: u64,
    pub slice_ns: u64,
    pub vruntime: i64,
    /// Virtual deadline.
    pub deadline: i64,
    /// Whether `deadline` is relative to `vruntime` until the entity is queued again.
    pub is_deadline_relative: bool,
    /// Lag: `v - vruntime` of a queued entity; of another one, the limited lag that it left with (`vlag`).
    pub lag: i64,
    /// Virtual time of the queue: the average virtual runtime, rounded down.
    pub v: i64,
    /// Number of entities on the queue.
    pub nr_queued: u32,
}

impl QueuedEntity {
    pub(super) fn new(entity: &EntityLag, queue: &QueueLag) -> Self {
        Self {
            depth: entity.depth,
            is_queued: entity.on_rq,
            is_delayed: entity.is_delayed,
            weight: entity.weight,
            slice_ns: entity.slice,
            vruntime: entity.vruntime,
            deadline: entity.deadline,
            is_deadline_relative: entity.has_relative_deadline,
            lag: if entity.on_rq { queue.avg_vruntime.wrapping_sub(entity.vruntime) } else { entity.vlag },
            v: queue.avg_vruntime,
            nr_queued: queue.nr_queued,
        }
    }
}
