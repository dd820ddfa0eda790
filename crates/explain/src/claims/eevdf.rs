// SPDX-License-Identifier: GPL-2.0-or-later
//! Claims about decisions of EEVDF: picks, wake-up preemption, delayed dequeues, and the fair server.
//!
//! Virtual times are printed relative to the virtual time V of their queue, with a sign. The lag of an entity is V less
//! its virtual runtime: the service that it is owed.
#![expect(
    missing_docs,
    reason = "names of fields describe their content; all times are in ns from the start of the run"
)]

use super::{Reason, TaskRef, signed, time, write_lines};
use fairlab_measure::plural::counted;
use serde::Serialize;
use std::fmt;

/// Entity of a cfs_rq at the time of a decision.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct EntityRecord {
    pub task: Option<TaskRef>,
    /// Path of a group's entity.
    pub group: Option<String>,
    pub eligible: bool,
    pub running: bool,
    /// Whether it sleeps and its dequeue is delayed.
    pub delayed: bool,
    pub lag_ns: i64,
    pub vruntime: i64,
    pub deadline: i64,
    /// Deadline less the virtual time of the queue.
    pub deadline_from_now_ns: i64,
    pub slice_ns: u64,
    /// Weight as in `sched_prio_to_weight`.
    pub weight: u64,
}

impl EntityRecord {
    fn name(&self) -> String {
        match (&self.task, &self.group) {
            (Some(task), _) => task.to_string(),
            (None, Some(group)) => format!("group {group}"),
            (None, None) => "an entity".to_owned(),
        }
    }

    fn clause(&self, names_running: bool) -> String {
        let mut text = format!(
            "{}, lag {}, deadline V{}, slice {}, weight {}",
            if self.eligible { "eligible" } else { "not eligible" },
            signed(self.lag_ns),
            signed(self.deadline_from_now_ns),
            time(self.slice_ns),
            self.weight
        );
        if self.running && names_running {
            text.push_str("; it was running");
        }
        if self.delayed {
            text.push_str("; it sleeps, and its dequeue is delayed");
        }
        text
    }
}

/// Pick of an entity of one cfs_rq, as part of the last pick of a CPU.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct PickClaim {
    pub cpu: u32,
    pub at_ns: u64,
    /// Group of the cfs_rq; `/` is the root.
    pub group: String,
    pub is_root: bool,
    pub rule: Reason,
    /// Whether the queue had no other entity, so that nothing was compared.
    pub is_only_entity: bool,
    pub virtual_time: i64,
    pub nr_eligible: u32,
    pub picked: EntityRecord,
    /// Number of entities of the queue.
    pub nr_entities: usize,
    /// First entities of the queue, the earliest deadline first; at most 8.
    pub entities: Vec<EntityRecord>,
}

impl PickClaim {
    /// Largest number of entities of a queue that are listed.
    pub(crate) const MAX_LISTED: usize = 8;
}

impl fmt::Display for PickClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.is_root {
            format!("The last pick of a fair task on CPU {} was at {}", self.cpu, time(self.at_ns))
        } else {
            format!("In group {}", self.group)
        };
        let name = self.picked.name();
        if self.is_only_entity {
            return write!(f, "{place}: {name}, the only entity of the queue.");
        }
        let mut lines = vec![format!(
            "{place}: {name}, by rule {}. {} on the queue, {} eligible, at virtual time V = {}:",
            self.rule,
            counted(self.nr_entities, "entity was", "entities were"),
            self.nr_eligible,
            self.virtual_time
        )];
        for entity in &self.entities {
            lines.push(format!("  {}: {}", entity.name(), entity.clause(true)));
        }
        if self.nr_entities > self.entities.len() {
            lines.push(format!("  and {} more with later deadlines", self.nr_entities - self.entities.len()));
        }
        write_lines(f, &lines)
    }
}

/// Decision whether a task's last wake-up preempted the running task.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct PreemptionClaim {
    pub task: TaskRef,
    pub at_ns: u64,
    /// Task that was running.
    pub current: TaskRef,
    pub preempts: bool,
    pub rule: Reason,
    /// Whether the woken entity lost in a comparison with the running one.
    pub is_not_picked: bool,
    pub virtual_time: i64,
    pub woken: EntityRecord,
    pub running: EntityRecord,
}

impl fmt::Display for PreemptionClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.preempts { "preempted" } else { "did not preempt" };
        let why = self.rule.clause();
        let why = why.split_once(": ").map_or(why, |(_, why)| why);
        write!(f, "Its wake-up {verb} {}, by rule {}: {why}", self.current, self.rule.name)?;
        if self.is_not_picked {
            f.write_str(match self.woken.eligible {
                true => ", because its deadline is later",
                false => ", because it was not eligible",
            })?;
        }
        write!(
            f,
            ". At virtual time V = {} it was {}; the running entity was {}.",
            self.virtual_time,
            self.woken.clause(true),
            self.running.clause(false)
        )
    }
}

/// End of a delayed dequeue.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct DelayEnd {
    pub at_ns: u64,
    /// Whether it was woken, and stayed on the queue.
    pub woken: bool,
    pub lag_ns: i64,
    /// Whether DELAY_ZERO discards the positive lag.
    pub is_zeroed: bool,
}

/// Last delayed dequeue of a task.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct DelayedDequeueClaim {
    pub task: TaskRef,
    pub at_ns: u64,
    pub cpu: u32,
    pub since_ns: u64,
    pub lag_ns: i64,
    pub end: Option<DelayEnd>,
}

impl fmt::Display for DelayedDequeueClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "When it blocked at {} it was not eligible (lag {}): its dequeue was delayed, so it stayed on the queue of CPU {} and \
             counted for the virtual time, but was not runnable",
            time(self.since_ns),
            signed(self.lag_ns),
            self.cpu
        )?;
        let Some(end) = &self.end else {
            return write!(f, ". It is still queued, {} later.", time(self.at_ns - self.since_ns));
        };
        let how = if end.woken { "it was woken and stayed" } else { "it left the queue" };
        let zeroed = if end.is_zeroed { ", of which it keeps nothing (DELAY_ZERO)" } else { "" };
        let later = time(end.at_ns - self.since_ns);
        write!(f, ". At {}, {later} later, {how}, with a lag of {}{zeroed}.", time(end.at_ns), signed(end.lag_ns))
    }
}

/// Fair server of a CPU: its budget at the explained moment, and its last steps.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct FairServerClaim {
    pub cpu: u32,
    pub max_runtime_ns: u64,
    pub period_ns: u64,
    /// Whether it has fair tasks to serve.
    pub active: bool,
    /// Remaining runtime; negative if it is overdrawn.
    pub runtime_ns: i64,
    pub last_step: Option<Reason>,
    pub last_step_at_ns: Option<u64>,
    /// Earliest time at which it runs a fair task, while a task above the fair class runs.
    pub runs_from_ns: Option<u64>,
    pub last_ran_ns: Option<u64>,
    /// Time at which it was queued before it last ran, within a period.
    pub last_starved_ns: Option<u64>,
}

impl fmt::Display for FairServerClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = self.runtime_ns.max(0).unsigned_abs();
        let used = (self.max_runtime_ns as i64).saturating_sub(self.runtime_ns).max(0).unsigned_abs();
        let budget = match self.active {
            true => format!("{} left ({} used)", time(left), time(used)),
            false => "no fair task to serve".to_owned(),
        };
        let mut lines = vec![format!(
            "The fair server of CPU {} has {} in each {} for fair tasks that starve, and at the last update {budget}.",
            self.cpu,
            time(self.max_runtime_ns),
            time(self.period_ns)
        )];
        if let (Some(step), Some(at)) = (self.last_step, self.last_step_at_ns) {
            lines.push(format!("Its last step was at {}: {}.", time(at), step.clause()));
        }
        if let Some(from) = self.runs_from_ns {
            lines.push(format!("It runs a fair task at {} at the earliest, unless one runs before.", time(from)));
        }
        if let Some(ran) = self.last_ran_ns {
            let why = self.last_starved_ns.map_or_else(String::new, |starved| {
                format!(", after it was queued at {} because they starved", time(starved))
            });
            lines.push(format!("It last ran a fair task at {}{why}.", time(ran)));
        }
        write_lines(f, &lines)
    }
}
