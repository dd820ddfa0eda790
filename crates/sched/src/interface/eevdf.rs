// SPDX-License-Identifier: GPL-2.0-or-later
//! Records of decisions that only kernels with EEVDF take: picks, wake-up preemption, delayed dequeues, limited lags and
//! steps of fair servers, with the rule that decided.
//!
//! The scheduler reports them to observers that want lags; rare ones ([`EevdfEvent::is_rare`]) to all that want events.
//! The enums name every exit of a decision.

use crate::interface::lag::{EntityLag, QueueLag};
use crate::interface::wakeup::rules;
use crate::types::ids::{CpuId, GroupId, TaskId};

rules! {
    /// Rule by which `pick_next_entity()` took an entity of a cfs_rq.
    PickRule
    OnlyEntity "It is the only entity of the queue."
    NextBuddy "It is the next buddy, and eligible (PICK_BUDDY)."
    SliceProtected "It runs, is eligible, and has not used up its slice (RUN_TO_PARITY)."
    EarliestDeadline "Of the eligible entities it has the earliest deadline."
    RunningEarlier "It runs, and of the eligible entities it has the earliest deadline."
    NoneElseEligible "It runs, and no waiting entity is eligible."
}

rules! {
    /// Rule by which `check_preempt_wakeup_fair()` decided whether a woken task preempts the running one.
    PreemptRule
    GroupThrottled "No: the group of the woken task is throttled."
    AlreadyDue "No: the CPU reschedules anyway."
    FeatureOff "No: WAKEUP_PREEMPTION is off."
    OverIdle "Yes: the running entity is idle (SCHED_IDLE or cpu.idle), and the woken one is not."
    UnderIdle "No: the woken entity is idle (SCHED_IDLE or cpu.idle), and the running one is not."
    BatchPolicy "No: tasks of SCHED_BATCH and SCHED_IDLE do not preempt."
    ShortSlice "Yes: its slice is shorter than that of the running entity (PREEMPT_SHORT), and it is the one to pick."
    ToBePicked "Yes: it is the one to pick."
    SliceProtected "No: the running entity is eligible and has not used up its slice (RUN_TO_PARITY)."
    NotPicked "No: another entity is the one to pick."
}

impl PreemptRule {
    /// Whether the woken task preempts the running one.
    pub const fn is_preemption(self) -> bool {
        matches!(self, Self::OverIdle | Self::ShortSlice | Self::ToBePicked)
    }
}

rules! {
    /// Step of a delayed dequeue.
    DelayStep
    Begins "The entity sleeps and is not eligible: it stays queued until it has made up for what it has received."
    Ends "The entity leaves the queue."
    Woken "A task of the entity has woken up: the entity stays."
}

rules! {
    /// Step of a CPU's fair server.
    ServerStep
    Started "The CPU has received its first fair task: the server waits until fair tasks starve."
    Extended "Fair tasks have run since the server began to wait: it waits that much longer."
    Starved "Fair tasks have not run for so long that the remaining budget just fits before the deadline: the server is queued."
    Replenished "The next period of the server begins: it is queued again."
    Picked "The server has the earliest deadline of its CPU: it runs a fair task."
    NewPeriod "Fair tasks have run for the whole budget without the server: a new period begins, and it waits."
    Exhausted "The server has used up its budget: it is throttled until its next period."
    Stopped "The CPU has no fair task: the server is stopped."
}

/// Entity among which EEVDF picks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PickCandidate {
    /// Virtual times of the entity.
    pub entity: EntityLag,
    /// Group of the entity; `None` for a task's entity.
    pub group: Option<GroupId>,
    /// Whether the entity runs.
    pub is_running: bool,
    /// Whether the entity has received no more service than it is due.
    pub is_eligible: bool,
}

/// Pick of an entity of one cfs_rq. A task is picked by one such pick on each level of its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PickDecision {
    /// Virtual time of the cfs_rq.
    pub queue: QueueLag,
    /// Group of the cfs_rq.
    pub group: GroupId,
    /// Entity that was picked. If its dequeue is delayed it leaves, and the pick starts again at the root.
    pub picked: PickCandidate,
    /// Rule that decided.
    pub rule: PickRule,
    /// Number of eligible entities.
    pub nr_eligible: u32,
}

/// Decision whether a woken fair task preempts the running one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreemptDecision {
    /// CPU of both tasks.
    pub cpu: CpuId,
    /// Task that became runnable.
    pub task: TaskId,
    /// Running task.
    pub curr: TaskId,
    /// Rule that decided.
    pub rule: PreemptRule,
    /// Virtual time of the cfs_rq on which both compete, directly or through their groups.
    pub queue: QueueLag,
    /// Entity of the woken task on that cfs_rq.
    pub woken: PickCandidate,
    /// Entity of the running task on that cfs_rq.
    pub running: PickCandidate,
}

/// Step of the delayed dequeue of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedDequeue {
    /// Step.
    pub step: DelayStep,
    /// Virtual times of the entity.
    pub entity: EntityLag,
    /// Virtual time of its cfs_rq.
    pub queue: QueueLag,
}

/// Lag of a task that leaves its cfs_rq, and that exceeds the limit of what it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitedLag {
    /// Task.
    pub task: TaskId,
    /// Weight without the extra bits of resolution.
    pub weight: u64,
    /// Lag without the limit, in ns of virtual time.
    pub lag: i64,
    /// Lag that the task keeps.
    pub kept: i64,
}

/// Step of a fair server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerRecord {
    /// CPU of the server.
    pub cpu: CpuId,
    /// Step.
    pub step: ServerStep,
    /// Remaining budget, in ns. It is negative if fair tasks have run for longer.
    pub runtime_ns: i64,
    /// Runtime in each period, in ns.
    pub max_runtime_ns: u64,
    /// Period in ns.
    pub period_ns: u64,
    /// Deadline, on the clock of the runqueue.
    pub deadline: u64,
    /// Time at which a waiting server is queued unless fair tasks run before; `None` if it does not wait.
    pub waits_until: Option<u64>,
}

/// Decision of a scheduler with EEVDF.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the records have descriptions")]
pub enum EevdfEvent<'a> {
    /// An entity of a cfs_rq from which the scheduler picks. The [`PickDecision`] follows after the last one.
    Candidate(&'a PickCandidate),
    Pick(&'a PickDecision),
    Preempt(&'a PreemptDecision),
    DelayedDequeue(&'a DelayedDequeue),
    LimitedLag(&'a LimitedLag),
    FairServer(&'a ServerRecord),
}

impl EevdfEvent<'_> {
    /// Whether the event is rare enough for observers that do not want lags.
    pub const fn is_rare(self) -> bool {
        match self {
            Self::LimitedLag(_) => true,
            Self::FairServer(record) => matches!(record.step, ServerStep::Picked),
            Self::Candidate(_) | Self::Pick(_) | Self::Preempt(_) | Self::DelayedDequeue(_) => false,
        }
    }
}
