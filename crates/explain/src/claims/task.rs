// SPDX-License-Identifier: GPL-2.0-or-later
//! Claims about a task: its state, its way to its CPU, its waits and what holds it up.
#![expect(
    missing_docs,
    reason = "names of fields describe their content; all times are in ns from the start of the run"
)]

use super::{Reason, TaskRef, cpu_list, time, write_lines};
use fairlab_measure::plural::counted;
use serde::Serialize;
use std::fmt;

/// State of a task at the explained moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    NotForked,
    /// Forked, and not runnable yet.
    New,
    Sleeps,
    Ended,
    Runs,
    Waits,
    /// Waits for runtime, not for a CPU.
    Throttled,
}

/// State of a task, and its begin.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct TaskStateClaim {
    pub task: TaskRef,
    pub at_ns: u64,
    pub state: RunState,
    /// CPU of the task; none before its fork.
    pub cpu: Option<u32>,
    pub since_ns: Option<u64>,
    /// Time at which it became runnable, while it is.
    pub runnable_since_ns: Option<u64>,
}

impl fmt::Display for TaskStateClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, at_ns, state, cpu, since_ns, .. } = self;
        let (at, cpu, begin) = (time(*at_ns), cpu.unwrap_or_default(), since_ns.unwrap_or_default());
        let (since, so_far) = (time(begin), time(at_ns.saturating_sub(begin)));
        match state {
            RunState::NotForked => write!(f, "By {at} task {task} has not been forked yet."),
            RunState::New => write!(f, "At {at} task {task} has been forked and is not runnable yet."),
            RunState::Sleeps => write!(f, "At {at} task {task} sleeps: it blocked at {since} on CPU {cpu}."),
            RunState::Ended => write!(f, "At {at} task {task} has ended: it ended at {since} on CPU {cpu}."),
            RunState::Runs => write!(f, "At {at} task {task} runs on CPU {cpu}, since {since}."),
            RunState::Waits => write!(f, "At {at} task {task} waits on CPU {cpu}, since {since} ({so_far} so far)."),
            RunState::Throttled => write!(
                f,
                "At {at} task {task} is throttled on CPU {cpu}, since {since} ({so_far} so far): it waits for runtime, not for \
                 a CPU."
            ),
        }
    }
}

/// Member of a family with its state.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct FamilyMember {
    pub name: String,
    pub state: RunState,
    pub cpu: Option<u32>,
    pub since_ns: Option<u64>,
}

/// Tasks of a family. The claims that follow are about one of them.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct FamilyClaim {
    pub family: String,
    pub at_ns: u64,
    pub nr_tasks: usize,
    /// First members, at most 16.
    pub members: Vec<FamilyMember>,
}

impl fmt::Display for FamilyClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = vec![format!("{} is a family of {} tasks.", self.family, self.nr_tasks)];
        for FamilyMember { name, state, cpu, since_ns } in &self.members {
            let (cpu, begin) = (cpu.unwrap_or_default(), since_ns.unwrap_or_default());
            let (since, so_far) = (time(begin), time(self.at_ns.saturating_sub(begin)));
            lines.push(match state {
                RunState::NotForked => format!("  {name}: has not been forked yet"),
                RunState::New => format!("  {name}: is being forked"),
                RunState::Sleeps => format!("  {name}: sleeps since {since}"),
                RunState::Ended => format!("  {name}: ended since {since}"),
                RunState::Runs => format!("  {name}: runs on CPU {cpu} since {since}"),
                RunState::Waits => format!("  {name}: waits on CPU {cpu} since {since}, for {so_far}"),
                RunState::Throttled => format!("  {name}: is throttled on CPU {cpu} since {since}, for {so_far}"),
            });
        }
        if self.nr_tasks > self.members.len() {
            lines.push(format!("  and {} more", self.nr_tasks - self.members.len()));
        }
        write_lines(f, &lines)
    }
}

/// CPU selection of a task's last wake-up, by the scheduler's record.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct SelectionClaim {
    pub task: TaskRef,
    pub at_ns: u64,
    pub is_fork: bool,
    pub waker_cpu: u32,
    /// Task that was current on the waker's CPU.
    pub waker: TaskRef,
    /// Whether the waker was about to sleep.
    pub sync: bool,
    pub cpu: u32,
    pub rule: Reason,
    pub prev: u32,
    pub target: u32,
    /// Result of `wake_affine()`, if it was called.
    pub affine: Option<Reason>,
    pub scanned: u32,
    /// CPUs that the scan checked, in their order; empty if they are not known.
    pub scanned_cpus: Vec<u32>,
    pub cores_scanned: u32,
    pub scan_limit: Option<u32>,
}

/// Most scanned CPUs that a sentence lists.
const MAX_LISTED_CPUS: usize = 12;

impl SelectionClaim {
    /// Returns the scanned CPUs in parentheses, if they are known.
    fn scanned_list(&self) -> String {
        let listed = self.scanned_cpus.iter().take(MAX_LISTED_CPUS);
        let listed: Vec<String> = listed.map(u32::to_string).collect();
        match self.scanned_cpus.len().saturating_sub(MAX_LISTED_CPUS) {
            _ if listed.is_empty() => String::new(),
            0 => format!(" ({})", listed.join(", ")),
            nr_left => format!(" ({} and {nr_left} more)", listed.join(", ")),
        }
    }
}

impl fmt::Display for SelectionClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.is_fork { "forked" } else { "woken" };
        let by = match &self.waker {
            TaskRef::Idle { .. } => format!("on CPU {}, which was idle", self.waker_cpu),
            waker => format!("on CPU {}, where {waker} was current", self.waker_cpu),
        };
        let sync = if self.sync { " (and about to sleep: a synchronous wake-up)" } else { "" };
        let at = time(self.at_ns);
        let affine = self.affine.map_or_else(String::new, |affine| format!(" ({affine})"));
        let mut lines = vec![
            format!("It was {verb} at {at} {by}{sync}, and placed on CPU {} by rule {}.", self.cpu, self.rule),
            format!("Its previous CPU was {}; the target of the selection was CPU {}{affine}.", self.prev, self.target),
        ];
        if self.scanned > 0 || self.scan_limit.is_some() {
            let cores = match self.cores_scanned {
                0 => String::new(),
                cores => format!(" of {}", counted(cores, "core", "cores")),
            };
            let limit = self.scan_limit.map_or_else(String::new, |limit| format!("; the limit was {limit}"));
            let cpus = self.scanned_list();
            lines.push(format!("The scan checked {}{cores}{cpus}{limit}.", counted(self.scanned, "CPU", "CPUs")));
        }
        write_lines(f, &lines)
    }
}

/// Class that a task has joined since the CPU selection of its last wake-up.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct FormerClassClaim {
    pub task: TaskRef,
    /// Present class: `real-time` or `deadline`.
    pub class: &'static str,
}

impl fmt::Display for FormerClassClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "That was before it became a {} task.", self.class)
    }
}

/// Time between the CPU selection of a wake-up and the enqueue on that CPU.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct EnqueueClaim {
    pub task: TaskRef,
    pub cpu: u32,
    pub selected_at_ns: u64,
    /// Time of the enqueue; none if it is still to come.
    pub at_ns: Option<u64>,
}

impl fmt::Display for EnqueueClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at_ns {
            None => write!(f, "CPU {} has not enqueued it yet.", self.cpu),
            Some(at) => write!(
                f,
                "CPU {} enqueued it at {}, {} later: from then on it was runnable.",
                self.cpu,
                time(at),
                time(at - self.selected_at_ns)
            ),
        }
    }
}

/// Cause of a wake-up without CPU selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "cause")]
pub enum NoSelectionCause {
    /// Delayed dequeue: the task was still on the queue.
    OnQueue,
    /// Membership of another class, whose selections are not recorded; `prio` is the kernel's priority at that time.
    OtherClass {
        prio: i32,
    },
    Unknown,
}

/// Wake-up of a task for which no CPU selection is recorded.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct UnplacedClaim {
    pub task: TaskRef,
    pub at_ns: u64,
    pub cpu: u32,
    pub is_fork: bool,
    #[serde(flatten)]
    pub cause: NoSelectionCause,
}

impl fmt::Display for UnplacedClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.is_fork { "forked" } else { "woken" };
        let why = match self.cause {
            NoSelectionCause::OnQueue => {
                "no CPU was selected, because it was still on the queue there: its dequeue was delayed".to_owned()
            }
            NoSelectionCause::OtherClass { prio } => {
                format!("the reason for this CPU is not recorded, because it was not a fair task (priority {prio})")
            }
            NoSelectionCause::Unknown => "the reason for this CPU is not recorded".to_owned(),
        };
        write!(f, "It was {verb} at {} on CPU {}; {why}.", time(self.at_ns), self.cpu)
    }
}

/// Origin of a migration.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum MigrationBy {
    /// A load-balance pass for a CPU.
    Balance { balanced_cpu: u32 },
    /// Another path, with the task that was current on the CPU that executed it.
    Other { executing_cpu: u32, current: TaskRef },
}

/// Migrations of a task while it waited, since its last wake-up.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct MigrationsClaim {
    pub task: TaskRef,
    pub count: u32,
    pub last_at_ns: u64,
    pub from: u32,
    pub to: u32,
    #[serde(flatten)]
    pub by: MigrationBy,
}

impl fmt::Display for MigrationsClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match &self.by {
            MigrationBy::Balance { balanced_cpu } => format!("by the load balancing of CPU {balanced_cpu}"),
            MigrationBy::Other { executing_cpu, current } => {
                format!("by CPU {executing_cpu}, where {current} was current")
            }
        };
        write!(
            f,
            "Since then it has migrated {}, last at {} from CPU {} to CPU {}, {by}.",
            counted(self.count, "time", "times"),
            time(self.last_at_ns),
            self.from,
            self.to
        )
    }
}

/// Event with which a wait began.
#[expect(missing_docs, reason = "the names describe the event")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "begin")]
pub enum WaitStart {
    Woken,
    Forked,
    /// Switched out while runnable.
    SwitchedOut {
        switched_out_on: u32,
    },
    ThrottlingEnded,
}

/// Time of a task on a CPU while another task waited.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct CpuTime {
    pub task: TaskRef,
    pub ns: u64,
}

/// Last wait of a task for a CPU since its last wake-up, and the tasks that ran meanwhile.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct WaitClaim {
    pub task: TaskRef,
    #[serde(flatten)]
    pub start: WaitStart,
    pub since_ns: u64,
    /// End of the wait, or the explained moment if it is open.
    pub until_ns: u64,
    pub is_open: bool,
    /// CPUs on which it waited, in order.
    pub cpus: Vec<u32>,
    /// Tasks that ran on these CPUs, the longest time first.
    pub ran: Vec<CpuTime>,
    /// First part of the wait, of which no switches are kept.
    pub unrecorded_ns: u64,
}

const MAX_NAMED_TASKS: usize = 6;

impl fmt::Display for WaitClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = match self.start {
            WaitStart::Woken => "it was woken".to_owned(),
            WaitStart::Forked => "it was forked".to_owned(),
            WaitStart::SwitchedOut { switched_out_on } => {
                format!("it was switched out on CPU {switched_out_on} without blocking")
            }
            WaitStart::ThrottlingEnded => "its throttling ended".to_owned(),
        };
        let (since, until, length) = (time(self.since_ns), time(self.until_ns), time(self.until_ns - self.since_ns));
        if self.is_open {
            write!(f, "It has waited {length} since {cause} at {since}")?;
        } else if length.0 == 0 {
            write!(f, "When {cause}, at {until}, it did not have to wait")?;
        } else {
            write!(f, "After {cause} at {since} it waited {length}, until {until}")?;
        }
        let describe = |ran: &CpuTime| {
            let nothing = if ran.task.is_idle_task() { " (nothing ran)" } else { "" };
            format!("{} for {}{nothing}", ran.task, time(ran.ns))
        };
        let mut names: Vec<String> = self.ran.iter().take(MAX_NAMED_TASKS).map(describe).collect();
        if self.ran.len() > MAX_NAMED_TASKS {
            names.push(format!("{} more", self.ran.len() - MAX_NAMED_TASKS));
        }
        if !names.is_empty() {
            let places = match self.cpus[..] {
                [cpu] => format!("CPU {cpu}"),
                _ => "its CPUs".to_owned(),
            };
            write!(f, "; meanwhile {places} ran {}", names.join(", "))?;
        }
        if self.unrecorded_ns > 0 {
            write!(f, "; the tasks of the first {} are not recorded", time(self.unrecorded_ns))?;
        }
        f.write_str(".")
    }
}

/// Difference of the virtual runtimes of two tasks of one cfs_rq, as of the last update.
#[derive(Clone, Copy, Debug, Serialize, schemars::JsonSchema)]
pub struct VruntimeGap {
    /// Virtual runtime of the running task less that of the waiting one.
    pub ahead_ns: i64,
    pub running_weight: u64,
    pub waiting_weight: u64,
}

/// Task that runs on the CPU of a waiting task.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct CurrentTaskClaim {
    /// Waiting task.
    pub task: TaskRef,
    pub cpu: u32,
    pub current: TaskRef,
    pub running_for_ns: u64,
    pub is_of_higher_class: bool,
    /// Both are fair tasks of one cfs_rq.
    pub vruntime: Option<VruntimeGap>,
    /// Tasks of the workload that run on this CPU or wait for it.
    pub nr_runnable: usize,
}

impl fmt::Display for CurrentTaskClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CPU {} has run {} continuously for {}", self.cpu, self.current, time(self.running_for_ns))?;
        if self.is_of_higher_class {
            f.write_str(", which is of a higher class")?;
        } else if let Some(VruntimeGap { ahead_ns, running_weight, waiting_weight }) = self.vruntime {
            let word = if ahead_ns > 0 { "ahead of" } else { "behind" };
            write!(
                f,
                ", whose vruntime is {} {word} that of the waiting task as of the last update (weights {running_weight} and \
                 {waiting_weight})",
                time(ahead_ns.unsigned_abs())
            )?;
        }
        write!(f, "; {} on the runqueue.", counted(self.nr_runnable, "runnable task", "runnable tasks"))
    }
}

/// CPUs that a waiting task may use, and which of them are idle.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct AllowedCpusClaim {
    pub task: TaskRef,
    pub allowed: Vec<u32>,
    /// Idle CPUs among them, other than the task's own.
    pub idle: Vec<u32>,
}

impl fmt::Display for AllowedCpusClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let allowed = cpu_list(&self.allowed);
        if self.allowed.len() == 1 {
            write!(f, "It may run on CPU {allowed} only.")
        } else if self.idle.is_empty() {
            write!(f, "None of the other CPUs that it may use ({allowed}) is idle.")
        } else {
            let idle = cpus_are(&self.idle);
            write!(f, "{idle} idle and allowed for it; use --cpu to see why such a CPU did not take the task.")
        }
    }
}

/// Limit that holds a throttled task, with the state that shows how it was reached.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "limit")]
pub enum Throttling {
    /// Runtime of a CPU's real-time tasks.
    RealTime,
    /// `sched_yield()` of a deadline task.
    DeadlineYield,
    /// Wake-up of a deadline task after its deadline, before its next period.
    DeadlineWakeup { remaining_ns: i64 },
    /// Runtime of a deadline task that is used up.
    DeadlineRuntime { remaining_ns: i64 },
    /// Quota of the task's group, or of one above it.
    Quota {
        /// Group with the quota.
        group: String,
        own_group: String,
        /// Idle CPUs that the task may use.
        idle: Vec<u32>,
    },
}

/// Reason for a task's throttling.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct ThrottlingClaim {
    pub task: TaskRef,
    pub cpu: u32,
    #[serde(flatten)]
    pub throttling: Throttling,
}

impl fmt::Display for ThrottlingClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpu = self.cpu;
        match &self.throttling {
            Throttling::RealTime => write!(
                f,
                "The real-time tasks of CPU {cpu} have used up their runtime, and continue when a later period refills it."
            ),
            Throttling::DeadlineYield => {
                f.write_str("It has yielded the rest of its runtime, and continues with its next replenishment.")
            }
            Throttling::DeadlineWakeup { .. } => f.write_str(
                "It was woken after its deadline and before its next period, in which it gets new runtime and continues.",
            ),
            Throttling::DeadlineRuntime { .. } => {
                f.write_str("It has used up its runtime, and continues with its next replenishment.")
            }
            Throttling::Quota { group, own_group, idle } => {
                // Neither a wake-up nor load balancing moves a throttled task.
                let are = if idle.is_empty() { String::new() } else { format!(", although {} idle", cpus_are(idle)) };
                let relation = if group == own_group {
                    format!("Its group {group} has")
                } else {
                    format!("Its group {own_group} is below group {group}, which has")
                };
                write!(
                    f,
                    "{relation} used up its quota on CPU {cpu}, and is throttled there. No other CPU pulls the task meanwhile{are}: \
                     it continues when a later period refills the quota."
                )
            }
        }
    }
}

/// Formats a list of CPUs as the subject of a sentence: `CPU 3 is`, `CPUs 0-2 are`.
fn cpus_are(cpus: &[u32]) -> String {
    let (noun, verb) = if cpus.len() == 1 { ("CPU", "is") } else { ("CPUs", "are") };
    format!("{noun} {} {verb}", cpu_list(cpus))
}
