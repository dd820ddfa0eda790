// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that made no progress: blocked ones that no task can wake, and ones that never ran.

use fairlab_machine::engine::Engine;
use fairlab_machine::sim::{BlockedOn, BlockedTask, Machine, START};
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

const MAX_NAMED_TASKS: usize = 8;

/// Task that is blocked at the end of the run although no task can wake it any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StuckTask {
    /// Name of the task.
    pub task: String,
    /// Time since which it is blocked, from the start of the run, in nanoseconds.
    pub since_ns: u64,
    /// Description of what it waits for.
    pub waits_for: String,
    /// Whether it waits for a mutex that it can never acquire, even if other tasks continue.
    pub is_deadlocked: bool,
    /// Whether the wait is the normal end of a recorded task, or that of a benchmark's task for requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_expected: bool,
}

/// Task whose wake-up the scheduler has lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LostWakeup {
    /// Name of the task.
    pub task: String,
    /// Time of the wake-up, from the start of the run, in nanoseconds.
    pub at_ns: u64,
}

/// Tasks that made no progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stall {
    /// Tasks that are blocked although no task can wake them any more.
    pub stuck: Vec<StuckTask>,
    /// Tasks whose wake-up the scheduler has lost: it accepted the wake-up and did not queue the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_wakeups: Vec<LostWakeup>,
    /// Tasks that were started but never ran.
    pub never_ran: Vec<String>,
    /// Tasks whose start time is after the end of the run.
    pub never_started: Vec<String>,
}

impl Stall {
    /// Returns the tasks without progress at the end of a machine's run.
    pub fn from_machine(machine: &Machine<impl Engine>) -> Self {
        let names = |is_so: &dyn Fn(usize) -> bool| {
            let of_task = machine.tasks().iter().enumerate().filter(|&(place, _)| is_so(place));
            of_task.map(|(_, task)| task.name.clone()).collect()
        };
        let task = |place: usize| &machine.tasks()[place];
        let spec = |place: usize| &machine.workload().tasks[task(place).spec];
        let comes_later = |place: usize| {
            let (spec, is_forked) = (spec(place), task(place).id.is_some());
            let waits = spec.awaits_origin && spec.timer_origin >= machine.duration();
            spec.start_at.is_some() && (!is_forked || waits)
        };
        Self {
            lost_wakeups: machine
                .lost_wakeups()
                .into_iter()
                .map(|(task, at)| LostWakeup {
                    task: machine.tasks()[task].name.clone(),
                    at_ns: at.saturating_since(START).0,
                })
                .collect(),
            stuck: machine.stuck().iter().map(|waiting| stuck_task(machine, waiting)).collect(),
            never_ran: names(&|place| {
                task(place).id.is_some()
                    && task(place).runtime_ns == 0
                    && !task(place).is_dead
                    && !machine.is_kthread(place)
            }),
            never_started: names(&comes_later),
        }
    }

    /// Whether some tasks can never run again although they should: they wait for ever, or their wake-up is lost.
    pub fn is_failure(&self) -> bool {
        self.stuck.iter().any(|task| !task.is_expected) || !self.lost_wakeups.is_empty()
    }

    /// Returns warnings about these tasks.
    pub fn sentences(&self) -> Vec<String> {
        let of_stuck = |is_deadlocked: bool| {
            let of_kind = self.stuck.iter().filter(move |task| task.is_deadlocked == is_deadlocked);
            let tell =
                |task: &StuckTask| format!("{} since {} for {}", task.task, Nanos(task.since_ns), task.waits_for);
            of_kind.map(tell).collect::<Vec<String>>()
        };
        let lost = self.lost_wakeups.iter().map(|lost| format!("{} at {}", lost.task, Nanos(lost.at_ns))).collect();
        let groups = [
            ("the scheduler has lost these wake-ups: ", lost),
            ("deadlock: these tasks can never continue: ", of_stuck(true)),
            ("stall: no task can wake these tasks any more: ", of_stuck(false)),
            ("these tasks were started but never had a CPU: ", self.never_ran.clone()),
            ("these tasks start after the end of the run: ", self.never_started.clone()),
        ];
        let sentence = groups.into_iter().filter(|(_, tasks)| !tasks.is_empty());
        sentence.map(|(what, tasks)| format!("{what}{}", name_list(&tasks))).collect()
    }
}

fn name_list(tasks: &[String]) -> String {
    let named = tasks.iter().take(MAX_NAMED_TASKS).cloned().collect::<Vec<_>>().join(", ");
    match tasks.len().checked_sub(MAX_NAMED_TASKS).filter(|&more| more > 0) {
        Some(more) => format!("{named}, and {more} more"),
        None => named,
    }
}

fn stuck_task(machine: &Machine<impl Engine>, waiting: &BlockedTask) -> StuckTask {
    StuckTask {
        task: machine.tasks()[waiting.task].name.clone(),
        since_ns: waiting.since.saturating_since(START).0,
        waits_for: blocked_on_text(machine, waiting),
        is_deadlocked: waiting.is_deadlocked,
        is_expected: !waiting.is_mistake(),
    }
}

/// Returns what a task waits for, such as "the semaphore s".
pub fn blocked_on_text(machine: &Machine<impl Engine>, waiting: &BlockedTask) -> String {
    let objects = &machine.workload().objects;
    match waiting.blocked_on {
        BlockedOn::Mutex { mutex, owner } => {
            let owner = match owner {
                Some(owner) if owner == waiting.task => ", which it holds itself".to_owned(),
                Some(owner) if machine.tasks()[owner].is_dead => {
                    format!(", which {} held when it ended", machine.tasks()[owner].name)
                }
                Some(owner) => format!(", which {} holds", machine.tasks()[owner].name),
                None => String::new(),
            };
            format!("the mutex {}{owner}", objects.mutexes[mutex])
        }
        BlockedOn::Cond(cond) => format!("the condition {}", objects.conds[cond]),
        BlockedOn::Barrier { barrier, arrived, participants } => {
            format!("the barrier {}, at which {arrived} of {participants} are", objects.barriers[barrier].0)
        }
        BlockedOn::Semaphore(semaphore) => format!("the semaphore {}", objects.semaphores[semaphore]),
        BlockedOn::Resume(name) => format!("a task to resume {}", objects.suspends[name]),
        BlockedOn::Message(_) => "a message".to_owned(),
        BlockedOn::Room(_) => "room for a message".to_owned(),
        BlockedOn::Futex(_) => "a futex".to_owned(),
        BlockedOn::Wake => "a task to wake it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_tasks_are_named_and_the_rest_are_counted() {
        let tasks: Vec<String> = (0..10).map(|nr| format!("t{nr}")).collect();
        assert_eq!(name_list(&tasks[..8]), "t0, t1, t2, t3, t4, t5, t6, t7");
        assert_eq!(name_list(&tasks), "t0, t1, t2, t3, t4, t5, t6, t7, and 2 more");
    }
}
