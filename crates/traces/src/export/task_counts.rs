// SPDX-License-Identifier: GPL-2.0-or-later
//! Task statistics that the kernel keeps and the scheduler model does not, counted from records for the texts
//! about the end of a run.
//!
//! The names are those of `struct task_struct`, `struct sched_entity` and `struct sched_statistics` (6.1).
//! Each is counted where the kernel counts it: switches in `__schedule()`, migrations in `set_task_cpu()`,
//! wake-ups in `ttwu_stat()`, waiting and sleeping in `update_stats_wait_end()` and
//! `update_stats_enqueue_sleeper()`.

use super::record::{EventGroups, Group, RecordKind, TraceRecord};
use super::thread::ThreadId;
use fairlab_measure::slot_mut;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

pub(super) const GROUPS: EventGroups = EventGroups::from_slice(&[Group::Sched, Group::Stat]);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TaskCounts {
    /// Voluntary switches: the task blocked or exited.
    pub(super) nvcsw: u64,
    /// Involuntary switches: the task was preempted or yielded.
    pub(super) nivcsw: u64,
    pub(super) nr_migrations: u64,
    pub(super) wait_sum: Nanos,
    pub(super) wait_max: Nanos,
    pub(super) wait_count: u64,
    pub(super) sum_sleep_runtime: Nanos,
    pub(super) sleep_max: Nanos,
    pub(super) nr_wakeups: u64,
    /// Wake-ups after which the task was on another CPU than before.
    pub(super) nr_wakeups_migrate: u64,
    /// Wake-ups for the CPU of the waker.
    pub(super) nr_wakeups_local: u64,
    /// Wake-ups for another CPU than the waker's.
    pub(super) nr_wakeups_remote: u64,
    slept_since: Option<Nanos>,
    /// CPU of the waker and former CPU of the task, between `sched_waking` and `sched_wakeup`.
    waking: Option<(CpuId, CpuId)>,
}

impl TaskCounts {
    pub(super) const fn nr_switches(&self) -> u64 {
        self.nvcsw + self.nivcsw
    }

    fn end_sleep(&mut self, until: Nanos) {
        if let Some(since) = self.slept_since.take() {
            let slept = until.saturating_since(since);
            self.sum_sleep_runtime += slept;
            self.sleep_max = self.sleep_max.max(slept);
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct AllCounts(Vec<TaskCounts>);

impl AllCounts {
    pub(super) fn of(&self, thread: ThreadId) -> TaskCounts {
        self.0.get(thread.index()).copied().unwrap_or_default()
    }

    fn at(&mut self, thread: ThreadId) -> &mut TaskCounts {
        slot_mut(&mut self.0, thread.index())
    }

    pub(super) fn record(&mut self, record: &TraceRecord<'_>) {
        match record.what {
            RecordKind::Switch { prev, prev_state, .. } => {
                let counts = self.at(prev);
                match prev_state {
                    PrevState::Runnable => counts.nivcsw += 1,
                    PrevState::Blocked | PrevState::Dead => counts.nvcsw += 1,
                }
                counts.slept_since = (prev_state == PrevState::Blocked).then_some(record.at);
            }
            RecordKind::Waking { thread, target_cpu, .. } => self.at(thread).waking = Some((record.cpu, target_cpu)),
            RecordKind::Wakeup { thread, target_cpu, is_new } => {
                let counts = self.at(thread);
                counts.end_sleep(record.at);
                let (waker, task_cpu) = counts.waking.take().unwrap_or((record.cpu, target_cpu));
                if is_new {
                    return;
                }
                counts.nr_wakeups += 1;
                counts.nr_wakeups_migrate += u64::from(task_cpu != target_cpu);
                counts.nr_wakeups_local += u64::from(waker == target_cpu);
                counts.nr_wakeups_remote += u64::from(waker != target_cpu);
            }
            RecordKind::Migrate { thread, .. } => self.at(thread).nr_migrations += 1,
            RecordKind::StatWait { thread, delay } => {
                let counts = self.at(thread);
                counts.wait_sum += delay;
                counts.wait_max = counts.wait_max.max(delay);
                counts.wait_count += 1;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::ids::TaskId;

    #[test]
    fn switches_wake_ups_waits_and_sleeps_are_counted_as_the_kernel_does() {
        let (task, idle) = (ThreadId::from_task(TaskId(7)), ThreadId::from_task(TaskId(0)));
        let mut counts = AllCounts::default();
        let mut tell = |at, cpu, what| {
            counts.record(&TraceRecord { at: Nanos(at), cpu: CpuId(cpu), current: idle, what });
        };
        let wakeup = |is_new, cpu| RecordKind::Wakeup { thread: task, target_cpu: CpuId(cpu), is_new };
        let off = |prev_state| RecordKind::Switch { prev: task, prev_state, next: idle };
        tell(100, 0, wakeup(true, 0));
        tell(130, 0, RecordKind::StatWait { thread: task, delay: Nanos(30) });
        tell(200, 0, off(PrevState::Runnable));
        tell(250, 0, RecordKind::StatWait { thread: task, delay: Nanos(50) });
        tell(300, 0, off(PrevState::Blocked));
        tell(400, 2, RecordKind::Waking { thread: task, target_cpu: CpuId(0), by_interrupt: false });
        tell(400, 2, RecordKind::Migrate { thread: task, orig_cpu: CpuId(0), dest_cpu: CpuId(1) });
        tell(410, 1, wakeup(false, 1));
        tell(500, 1, off(PrevState::Blocked));
        tell(505, 1, RecordKind::Waking { thread: task, target_cpu: CpuId(1), by_interrupt: true });
        tell(505, 1, wakeup(false, 1));
        let all = counts.of(task);
        assert_eq!((all.nvcsw, all.nivcsw, all.nr_switches(), all.nr_migrations), (2, 1, 3, 1));
        assert_eq!((all.wait_sum, all.wait_max, all.wait_count), (Nanos(80), Nanos(50), 2));
        assert_eq!((all.sum_sleep_runtime, all.sleep_max), (Nanos(115), Nanos(110)));
        let wakeups = (all.nr_wakeups, all.nr_wakeups_migrate, all.nr_wakeups_local, all.nr_wakeups_remote);
        assert_eq!(wakeups, (2, 1, 1, 1), "a fork is not a wake-up; a local wake-up is for the waker's CPU");
    }
}
