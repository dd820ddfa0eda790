// SPDX-License-Identifier: GPL-2.0-or-later
//! Claims of explanations: records from which the sentences are printed.
//!
//! A sentence is printed from its claim alone, so it cannot contain what the claim does not: `Display` has no access to
//! the machine or to the history. `--json` contains the claims, and the audit recomputes their fields from the event
//! log. A new kind of claim is one entry of the list below; the audit fails until it checks the kind.
//!
//! Times are in ns from the start of the run.

mod balance;
mod cpu;
mod eevdf;
mod response;
mod task;
#[cfg(test)]
mod tests;

pub use balance::{
    DomainLevelClaim, DomainName, IdlePassesClaim, KickClaim, KickRecord, NewlyIdleClaim, PassRecordClaim, PassesClaim,
};
pub use cpu::{
    CpuStateClaim, NoDomainClaim, PreviousTask, ThrottledTasksClaim, TickClaim, WaitPlace, WaitingTask,
    WaitingTasksClaim,
};
pub use eevdf::{DelayEnd, DelayedDequeueClaim, EntityRecord, FairServerClaim, PickClaim, PreemptionClaim};
pub use response::{PathSegmentRecord, ResponsePathClaim, ResponseState};
pub use task::{
    AllowedCpusClaim, CpuTime, CurrentTaskClaim, EnqueueClaim, FamilyClaim, FamilyMember, FormerClassClaim,
    MigrationBy, MigrationsClaim, NoSelectionCause, RunState, SelectionClaim, TaskStateClaim, Throttling,
    ThrottlingClaim, UnplacedClaim, VruntimeGap, WaitClaim, WaitStart,
};

use fairlab_board::format_cpu_list as cpu_list;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::fmt;

/// Declares the kinds of claims: variant, record, and name of the kind.
macro_rules! claims {
    ($($variant:ident($record:ty) = $kind:literal,)*) => {
        /// Claim of an explanation.
        #[expect(missing_docs, reason = "the records are documented")]
        #[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
        #[serde(tag = "kind")]
        pub enum Claim {
            $(#[serde(rename = $kind)] $variant($record),)*
        }

        impl Claim {
            /// Names of all kinds, as in JSON.
            pub const KINDS: &[&str] = &[$($kind),*];

            /// Name of the kind, as in JSON.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $kind,)*
                }
            }
        }

        impl fmt::Display for Claim {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(record) => record.fmt(f),)*
                }
            }
        }

        $(impl From<$record> for Statement {
            fn from(record: $record) -> Self {
                Self::new(Claim::$variant(record))
            }
        })*
    };
}

claims! {
    TaskState(TaskStateClaim) = "task-state",
    Family(FamilyClaim) = "family",
    Selection(SelectionClaim) = "selection",
    FormerClass(FormerClassClaim) = "former-class",
    Enqueue(EnqueueClaim) = "enqueue",
    Unplaced(UnplacedClaim) = "no-selection",
    Migrations(MigrationsClaim) = "migrations",
    Wait(WaitClaim) = "wait",
    CurrentTask(CurrentTaskClaim) = "current-task",
    AllowedCpus(AllowedCpusClaim) = "allowed-cpus",
    Throttling(ThrottlingClaim) = "throttling",
    Preemption(PreemptionClaim) = "preemption",
    DelayedDequeue(DelayedDequeueClaim) = "delayed-dequeue",
    Pick(PickClaim) = "pick",
    FairServer(FairServerClaim) = "fair-server",
    CpuState(CpuStateClaim) = "cpu-state",
    WaitingTasks(WaitingTasksClaim) = "waiting-tasks",
    ThrottledTasks(ThrottledTasksClaim) = "throttled-tasks",
    NoDomain(NoDomainClaim) = "no-domain",
    NewlyIdle(NewlyIdleClaim) = "newly-idle",
    IdlePasses(IdlePassesClaim) = "idle-passes",
    Tick(TickClaim) = "tick",
    Kick(KickClaim) = "kick",
    Passes(PassesClaim) = "passes",
    DomainLevel(DomainLevelClaim) = "domain-level",
    ResponsePath(ResponsePathClaim) = "response-path",
}

/// Claim with its sentences.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Statement {
    /// Content of the sentences.
    #[serde(flatten)]
    pub claim: Claim,
    /// Sentences, printed from the claim.
    pub text: Vec<String>,
}

impl Statement {
    fn new(claim: Claim) -> Self {
        let text = claim.to_string().lines().map(str::to_owned).collect();
        Self { claim, text }
    }
}

/// Task of the workload, or a CPU's own task.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum TaskRef {
    Workload { name: String, pid: i32 },
    Idle { idle_task_of_cpu: u32 },
    Stopper { stopper_of_cpu: u32 },
    Other { pid: i32 },
}

impl TaskRef {
    /// Whether it is the idle task of a CPU.
    pub const fn is_idle_task(&self) -> bool {
        matches!(self, Self::Idle { .. })
    }
}

impl fmt::Display for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workload { name, pid } => write!(f, "{name} (pid {pid})"),
            Self::Idle { idle_task_of_cpu } => write!(f, "the idle task of CPU {idle_task_of_cpu}"),
            Self::Stopper { stopper_of_cpu } => write!(f, "the stopper of CPU {stopper_of_cpu}"),
            Self::Other { pid } => write!(f, "pid {pid}"),
        }
    }
}

/// Rule or outcome that the scheduler reports, with its meaning.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Reason {
    pub name: &'static str,
    pub meaning: &'static str,
}

impl Reason {
    /// Returns the meaning as a clause, without its full stop.
    fn clause(&self) -> &'static str {
        self.meaning.trim_end_matches('.')
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.clause())
    }
}

/// Formats a time in ns.
const fn time(ns: u64) -> Nanos {
    Nanos(ns)
}

/// Formats a time with its sign: `+1.2ms`.
fn signed(ns: i64) -> String {
    let sign = if ns < 0 { '-' } else { '+' };
    format!("{sign}{}", Nanos(ns.unsigned_abs()))
}

/// Writes paragraphs of a claim, one line for each.
fn write_lines(f: &mut fmt::Formatter<'_>, lines: &[String]) -> fmt::Result {
    f.write_str(&lines.join("\n"))
}
