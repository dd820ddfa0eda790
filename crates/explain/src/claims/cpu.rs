// SPDX-License-Identifier: GPL-2.0-or-later
//! Claims about a CPU: its state, the tasks that wait meanwhile, and its tick.
#![expect(
    missing_docs,
    reason = "names of fields describe their content; all times are in ns from the start of the run"
)]

use super::{TaskRef, cpu_list, time, write_lines};
use fairlab_measure::plural::counted;
use serde::Serialize;
use std::fmt;

/// Task that left a CPU, and its state then.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct PreviousTask {
    pub task: TaskRef,
    /// `blocked`, `ended` or `runnable`.
    pub state: &'static str,
}

/// State of a CPU at the explained moment.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct CpuStateClaim {
    pub cpu: u32,
    pub at_ns: u64,
    pub is_offline: bool,
    pub is_idle: bool,
    pub current: TaskRef,
    /// Begin of the state: the last switch, or the time at which the CPU went offline.
    pub since_ns: u64,
    /// Task before the current one.
    pub previous: Option<PreviousTask>,
    /// Tasks of the workload that run here or wait for this CPU.
    pub nr_runnable: usize,
}

impl fmt::Display for CpuStateClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cpu, at, since) = (self.cpu, time(self.at_ns), time(self.since_ns));
        if self.is_offline {
            return write!(f, "At {at} CPU {cpu} is offline, since {since}.");
        }
        if !self.is_idle {
            return write!(f, "At {at} CPU {cpu} runs {}, since {since}.", self.current);
        }
        write!(f, "At {at} CPU {cpu} is idle, since {since}")?;
        match &self.previous {
            None => f.write_str(" (it has not run a task yet).")?,
            Some(PreviousTask { task, state: "runnable" }) => {
                write!(f, ", when {task} was switched out while runnable.")?;
            }
            Some(PreviousTask { task, state }) => write!(f, ", when {task} {state}.")?,
        }
        Ok(())
    }
}

/// Runqueues of waiting tasks, as seen from a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitPlace {
    /// The CPU's own runqueue while it is busy.
    BusyRunqueue,
    /// The CPU's own runqueue while it is idle.
    IdleRunqueue,
    /// Runqueues of the other CPUs.
    Elsewhere,
}

/// Task that waits for a CPU.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct WaitingTask {
    pub task: TaskRef,
    pub cpu: u32,
    pub since_ns: u64,
    pub allowed: Vec<u32>,
}

/// Tasks of the workload that wait for a CPU, the longest wait first.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct WaitingTasksClaim {
    /// CPU of the question.
    pub cpu: u32,
    pub at_ns: u64,
    pub place: WaitPlace,
    pub tasks: Vec<WaitingTask>,
}

const MAX_NAMED_TASKS: usize = 8;

impl fmt::Display for WaitingTasksClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wait = counted(self.tasks.len(), "task waits", "tasks wait");
        let mut lines = match (self.place, self.tasks.len()) {
            (WaitPlace::BusyRunqueue, 0) => vec!["No task waits on its runqueue.".to_owned()],
            (WaitPlace::BusyRunqueue, _) => vec![format!("{wait} on its runqueue.")],
            (WaitPlace::IdleRunqueue, _) => Vec::new(),
            (WaitPlace::Elsewhere, 0) => vec!["No task waits on another CPU.".to_owned()],
            (WaitPlace::Elsewhere, _) => vec![format!("Meanwhile {wait} on other CPUs.")],
        };
        let may_not_run = |wait: &&WaitingTask| !wait.allowed.contains(&self.cpu);
        for wait in self.tasks.iter().take(MAX_NAMED_TASKS) {
            let since = time(wait.since_ns);
            let so_far = time(self.at_ns - wait.since_ns);
            let mut line = format!("Task {} waits on CPU {} since {since} ({so_far})", wait.task, wait.cpu);
            if may_not_run(&wait) {
                line.push_str(&format!(" and may not run on CPU {} (allowed: {})", self.cpu, cpu_list(&wait.allowed)));
            }
            lines.push(format!("{line}."));
        }
        if self.tasks.len() > MAX_NAMED_TASKS {
            let rest = &self.tasks[MAX_NAMED_TASKS..];
            let nr_barred = rest.iter().filter(may_not_run).count();
            lines.push(format!("And {} more, of which {nr_barred} may not run on CPU {}.", rest.len(), self.cpu));
        }
        write_lines(f, &lines)
    }
}

/// Throttled tasks of all CPUs.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct ThrottledTasksClaim {
    pub at_ns: u64,
    pub tasks: Vec<TaskRef>,
}

impl fmt::Display for ThrottledTasksClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = counted(self.tasks.len(), "task is throttled and waits", "tasks are throttled and wait");
        write!(f, "{tasks} for runtime, which no idle CPU can give.")
    }
}

/// CPU without sched domain.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct NoDomainClaim {
    pub cpu: u32,
}

impl fmt::Display for NoDomainClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("It has no sched domain, so it never balances.")
    }
}

/// State of the tick of an idle CPU.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct TickClaim {
    pub cpu: u32,
    pub is_stopped: bool,
    /// Whether NOHZ balancing counts the CPU as tickless (`nohz.idle_cpus_mask`). A CPU that has run a task since its
    /// tick stopped counts until its next tick.
    pub is_tickless: bool,
}

impl fmt::Display for TickClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.is_stopped, self.is_tickless) {
            (true, _) => {
                "Its tick is stopped: idle passes are made for it only after a kick, by which the tick of a busy CPU makes an idle CPU balance for all tickless CPUs."
            }
            (false, true) => {
                "Its tick runs again: it balances at its own ticks. Until the first of them it counts as tickless, and a kick may choose it."
            }
            (false, false) => "Its tick is not stopped: it balances at its own ticks.",
        })
    }
}
