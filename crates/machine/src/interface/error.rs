// SPDX-License-Identifier: GPL-2.0-or-later
//! Reasons why a run cannot continue.

use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use std::fmt;

/// Result of a step of the machine. The error is rare, and a pointer to it fits into a register.
pub(crate) type SimResult<T = ()> = Result<T, Box<RunError>>;

impl From<Box<Self>> for RunError {
    fn from(error: Box<Self>) -> Self {
        *error
    }
}

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

impl From<&RunError> for Message {
    fn from(error: &RunError) -> Self {
        match error {
            RunError::NoProgress { cpu, at, task: Some(task) } => {
                let what = format!("the program of task {task} neither runs nor blocks");
                Self::new(format!("no progress after {at} on CPU {}: {what}", cpu.0))
                    .with_help("give it a run or sleep step")
            }
            RunError::NoProgress { cpu, at, task: None } => {
                Self::new(format!("no progress after {at} on CPU {}: events at that instant do not end", cpu.0))
                    .with_help("give tasks that wake each other a run step, and periodic events a longer period")
            }
            RunError::ForkLimit { task, limit } => {
                Self::new(format!("task {task} is forked more than {limit} times, the limit of rt-app"))
            }
            RunError::Misuse { task, what } => Self::new(format!("task {task} {what}")),
            RunError::Policy { asked, at, what } => Self::new(format!("the policy, asked after {at} {asked}, {what}")),
        }
    }
}

impl From<RunError> for Message {
    fn from(error: RunError) -> Self {
        Self::from(&error)
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Message::from(self).fmt(f)
    }
}

impl std::error::Error for RunError {}
