// SPDX-License-Identifier: GPL-2.0-or-later
//! Episodes: the waits of tasks. All statements about waits are derived from them.
//!
//! [`TaskActivity`] turns the events of one task into its state and its episodes. An episode begins when a task becomes
//! runnable or is switched out while runnable, and ends when the task gets a CPU. Throttling divides it: a throttled
//! task waits for runtime of a limit, which no CPU can give.
//!
//! An episode that has not ended is open. It counts with the time that it has lasted, as a lower bound.

use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::RuntimeLimit;
use fairlab_sched::units::Nanos;

/// Reason of a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitReason {
    /// A CPU.
    #[default]
    Cpu,
    /// Runtime of a limit, although CPUs may idle.
    Runtime(RuntimeLimit),
    /// A CPU or runtime: a recorded trace does not contain throttling.
    Unknown,
}

/// Event with which an episode begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitCause {
    /// The task was woken.
    Woken,
    /// The task was forked.
    #[default]
    Forked,
    /// The task was switched out on this CPU while it was runnable.
    LostCpu(CpuId),
    /// The episode before it ended with the start or the end of throttling.
    Throttling,
}

/// Wait of a task, with one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Episode {
    /// Start of the episode.
    pub since: Nanos,
    /// End of the episode, or present time if it is open.
    pub until: Nanos,
    /// Whether the episode has not ended.
    pub is_open: bool,
    /// Reason of the wait.
    pub reason: WaitReason,
    /// Event with which the episode began.
    pub cause: WaitCause,
    /// CPU of the task at the end.
    pub cpu: CpuId,
    /// Time that the task waited for a CPU since its wake-up, without throttling. `None` if the task has run since its
    /// wake-up, if it was forked, and for an episode after which it still waits.
    pub queued: Option<Nanos>,
}

impl Episode {
    /// Returns the length; of an open episode, the time that it has lasted.
    #[inline]
    pub fn length(&self) -> Nanos {
        self.until - self.since
    }
}

/// State of a task, since a time.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskState {
    /// Not runnable since its fork.
    #[default]
    NotStarted,
    /// Blocked, on its last CPU.
    Blocked { since: Nanos, cpu: CpuId },
    /// Exited, on its last CPU.
    Ended { since: Nanos, cpu: CpuId },
    /// Runnable, but not running, on the runqueue of a CPU.
    Waiting { since: Nanos, cpu: CpuId },
    /// Running.
    Running { since: Nanos, cpu: CpuId },
}

impl TaskState {
    /// Whether the task waits or runs.
    #[inline]
    pub const fn is_runnable(self) -> bool {
        matches!(self, Self::Waiting { .. } | Self::Running { .. })
    }
}

/// State of a task with its current episode.
#[derive(Clone, Copy, Debug)]
pub struct TaskActivity {
    state: TaskState,
    /// Reason of the task's waits at present.
    reason: WaitReason,
    cause: WaitCause,
    /// Time that the task has waited for a CPU since its wake-up, in episodes that are over. `None` once it has run.
    queued: Option<Nanos>,
}

impl Default for TaskActivity {
    fn default() -> Self {
        Self::NEW
    }
}

impl TaskActivity {
    /// State of a task that has not been forked.
    pub const NEW: Self =
        Self { state: TaskState::NotStarted, reason: WaitReason::Cpu, cause: WaitCause::Forked, queued: None };

    /// Returns the activity of a task of a recorded trace.
    pub const fn of_trace() -> Self {
        Self { reason: WaitReason::Unknown, ..Self::NEW }
    }

    /// State of the task.
    #[inline]
    pub const fn state(&self) -> TaskState {
        self.state
    }

    /// Whether the task waits for a CPU, as far as is known.
    pub const fn waits_for_cpu(&self) -> bool {
        matches!(self.state, TaskState::Waiting { .. }) && !matches!(self.reason, WaitReason::Runtime(_))
    }

    /// CPU of the task: its runqueue's, or the last one on which it ran.
    pub const fn cpu(&self) -> CpuId {
        match self.state {
            TaskState::NotStarted => CpuId(0),
            TaskState::Blocked { cpu, .. }
            | TaskState::Ended { cpu, .. }
            | TaskState::Waiting { cpu, .. }
            | TaskState::Running { cpu, .. } => cpu,
        }
    }

    #[inline]
    const fn wait(&mut self, now: Nanos, cpu: CpuId, cause: WaitCause) {
        self.state = TaskState::Waiting { since: now, cpu };
        self.cause = cause;
    }

    /// Records a wake-up. Returns whether an episode begins: a wake-up of a runnable task only cancels its sleep.
    #[inline]
    pub fn wake(&mut self, now: Nanos, cpu: CpuId, is_new: bool) -> bool {
        if self.state.is_runnable() {
            return false;
        }
        self.queued = (!is_new).then_some(Nanos::ZERO);
        self.wait(now, cpu, if is_new { WaitCause::Forked } else { WaitCause::Woken });
        true
    }

    /// Records that the task is switched in. Returns the episode that ends.
    #[inline]
    pub fn switch_in(&mut self, now: Nanos, cpu: CpuId) -> Option<Episode> {
        let before = std::mem::replace(&mut self.state, TaskState::Running { since: now, cpu });
        let queued = self.queued.take();
        let TaskState::Waiting { since, .. } = before else { return None };
        let of_cpu = if let WaitReason::Runtime(_) = self.reason { Nanos::ZERO } else { now - since };
        let queued = queued.map(|queued| queued + of_cpu);
        Some(Episode { since, until: now, is_open: false, reason: self.reason, cause: self.cause, cpu, queued })
    }

    /// Records that the task is switched out. Returns the time for which it ran; `None` if the switch to it is unknown.
    #[inline]
    pub fn switch_out(&mut self, now: Nanos, cpu: CpuId, state: PrevState) -> Option<Nanos> {
        let ran = match self.state {
            TaskState::Running { since, .. } => Some(now - since),
            _ => None,
        };
        self.queued = None;
        match state {
            PrevState::Runnable => self.wait(now, cpu, WaitCause::LostCpu(cpu)),
            PrevState::Blocked => self.state = TaskState::Blocked { since: now, cpu },
            PrevState::Dead => self.state = TaskState::Ended { since: now, cpu },
        }
        ran
    }

    /// Records a migration to another CPU.
    #[inline]
    pub const fn migrate(&mut self, to: CpuId) {
        match &mut self.state {
            TaskState::NotStarted => {}
            TaskState::Blocked { cpu, .. }
            | TaskState::Ended { cpu, .. }
            | TaskState::Waiting { cpu, .. }
            | TaskState::Running { cpu, .. } => *cpu = to,
        }
    }

    /// Records the start of throttling by a limit, or its end. Returns the episode that ends, if the task waits.
    pub fn throttle(&mut self, now: Nanos, limit: Option<RuntimeLimit>) -> Option<Episode> {
        let ended = self.episode(now);
        self.reason = limit.map_or(WaitReason::Cpu, WaitReason::Runtime);
        let ended = ended?;
        if ended.reason == WaitReason::Cpu
            && let Some(queued) = &mut self.queued
        {
            *queued += ended.length();
        }
        self.wait(now, ended.cpu, WaitCause::Throttling);
        Some(Episode { is_open: false, queued: None, ..ended })
    }

    /// Returns the current episode as an open one.
    #[inline]
    pub fn episode(&self, now: Nanos) -> Option<Episode> {
        let TaskState::Waiting { since, cpu } = self.state else { return None };
        let of_cpu = if let WaitReason::Runtime(_) = self.reason { Nanos::ZERO } else { now - since };
        Some(Episode {
            since,
            until: now,
            is_open: true,
            reason: self.reason,
            cause: self.cause,
            cpu,
            queued: self.queued.map(|queued| queued + of_cpu),
        })
    }

    /// Forgets the state, because a trace lacks events of the task.
    pub const fn forget(&mut self) {
        (self.state, self.queued) = (TaskState::NotStarted, None);
    }

    /// Lets the present wait or run count from `now`. The time since a wake-up is kept.
    pub fn restart(&mut self, now: Nanos) {
        let waited = self.episode(now).map(|episode| episode.queued);
        match &mut self.state {
            TaskState::NotStarted | TaskState::Blocked { .. } | TaskState::Ended { .. } => {}
            TaskState::Running { since, .. } => *since = now,
            TaskState::Waiting { since, .. } => *since = now,
        }
        self.queued = waited.unwrap_or(self.queued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: CpuId = CpuId(1);

    #[test]
    fn an_episode_begins_with_a_wake_up_or_a_preemption_and_ends_on_a_cpu() {
        let mut task = TaskActivity::default();
        assert!(task.wake(Nanos(1), CPU, false) && !task.wake(Nanos(2), CPU, false), "it waits already");
        let woken = task.switch_in(Nanos(5), CPU).expect("it waited");
        assert_eq!((woken.since, woken.until, woken.is_open), (Nanos(1), Nanos(5), false));
        assert_eq!((woken.reason, woken.cause, woken.queued), (WaitReason::Cpu, WaitCause::Woken, Some(Nanos(4))));
        assert!(!task.wake(Nanos(6), CPU, false), "nor does the wake-up of a running task begin one");
        assert_eq!(task.switch_out(Nanos(7), CPU, PrevState::Runnable), Some(Nanos(2)));
        task.migrate(CpuId(3));
        let open = task.episode(Nanos(9)).expect("it waits");
        assert_eq!((open.length(), open.is_open, open.cpu), (Nanos(2), true, CpuId(3)));
        let lost = task.switch_in(Nanos(9), CPU).expect("it waited");
        assert_eq!((lost.cause, lost.queued), (WaitCause::LostCpu(CPU), None));
        task.switch_out(Nanos(10), CPU, PrevState::Dead);
        assert_eq!(task.state(), TaskState::Ended { since: Nanos(10), cpu: CPU });
        assert!(task.episode(Nanos(11)).is_none() && task.wake(Nanos(11), CPU, true));
        assert_eq!(task.switch_in(Nanos(12), CPU).expect("it waited").queued, None, "a fork is no wake-up");
    }

    #[test]
    fn throttling_divides_a_wait_and_does_not_count_as_time_on_the_runqueue() {
        let limit = RuntimeLimit::Deadline;
        let mut task = TaskActivity::default();
        task.wake(Nanos(1), CPU, false);
        let before = task.throttle(Nanos(3), Some(limit)).expect("it waited for a CPU");
        assert_eq!((before.length(), before.reason, before.queued), (Nanos(2), WaitReason::Cpu, None));
        assert_eq!((task.state(), task.waits_for_cpu()), (TaskState::Waiting { since: Nanos(3), cpu: CPU }, false));
        let throttled = task.throttle(Nanos(7), None).expect("it waited for runtime");
        assert_eq!((throttled.length(), throttled.reason), (Nanos(4), WaitReason::Runtime(limit)));
        let last = task.switch_in(Nanos(8), CPU).expect("it waited for a CPU");
        assert_eq!((last.length(), last.cause, last.queued), (Nanos(1), WaitCause::Throttling, Some(Nanos(3))));
        assert_eq!(task.throttle(Nanos(9), Some(limit)), None, "a running task is switched out first");
        task.switch_out(Nanos(9), CPU, PrevState::Runnable);
        assert_eq!((task.state(), task.waits_for_cpu()), (TaskState::Waiting { since: Nanos(9), cpu: CPU }, false));
    }

    #[test]
    fn the_end_of_a_warm_up_shortens_an_episode_and_not_the_time_since_the_wake_up() {
        let mut task = TaskActivity::of_trace();
        task.wake(Nanos(1), CPU, false);
        task.restart(Nanos(5));
        assert_eq!((task.state(), task.waits_for_cpu()), (TaskState::Waiting { since: Nanos(5), cpu: CPU }, true));
        let episode = task.switch_in(Nanos(8), CPU).expect("it waited");
        assert_eq!((episode.length(), episode.queued), (Nanos(3), Some(Nanos(7))));
        task.restart(Nanos(10));
        assert_eq!(task.switch_out(Nanos(12), CPU, PrevState::Blocked), Some(Nanos(2)));
    }
}
