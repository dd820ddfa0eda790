// SPDX-License-Identifier: GPL-2.0-or-later
//! Reasons why a run cannot continue.

use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use std::fmt;

/// Reason why a run cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum RunError {
    /// A program neither runs nor blocks.
    NoProgress {
        cpu: CpuId,
        /// Time since the start of the run.
        at: Nanos,
        /// Task of the program; `None` if other events repeat.
        task: Option<String>,
    },
    /// A template was forked too often.
    ForkLimit {
        task: String,
        /// Maximum number of forks.
        limit: u32,
    },
    /// A task did something that the programs it models cannot do.
    Misuse {
        task: String,
        /// Predicate of the message, whose subject is the task.
        what: String,
    },
    /// A custom policy returned an unusable choice.
    Policy {
        /// The request: a wake-up, a balancing pass or an idle-state choice.
        asked: String,
        /// Time since the start of the run.
        at: Nanos,
        /// Description of the unusable choice.
        what: String,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgress { cpu, at, task: Some(task) } => write!(
                f,
                "no progress after {at} on CPU {}: the program of task {task} neither runs nor blocks\n\
                 help: give it a run or sleep step",
                cpu.0
            ),
            Self::NoProgress { cpu, at, task: None } => write!(
                f,
                "no progress after {at} on CPU {}: events at that instant do not end\n\
                 help: give tasks that wake each other a run step, and periodic events a longer period",
                cpu.0
            ),
            Self::ForkLimit { task, limit } => {
                write!(f, "task {task} is forked more than {limit} times, the limit of rt-app")
            }
            Self::Misuse { task, what } => write!(f, "task {task} {what}"),
            Self::Policy { asked, at, what } => write!(f, "the policy, asked after {at} {asked}, {what}"),
        }
    }
}

impl std::error::Error for RunError {}
