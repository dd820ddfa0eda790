// SPDX-License-Identifier: GPL-2.0-or-later
//! End of the pass over a trace: turns the collected operations of threads into the tasks of a workload.

use super::{DraftOp, FULL_SPEED, ImportedThread, ThreadPhase, WorkloadBuilder};
use crate::import::behaviour::timers::{self, Sleep};
use crate::import::behaviour::{ImportedWorkload, names};
use fairlab_sched::units::Nanos;
use fairlab_workload::recorded::{RecordedOp, RecordedTask, RecordedWorkload};
use std::collections::BTreeSet;

/// Time for which threads that run or wait at the end of the trace continue, to not block before it.
const BEHIND_THE_END: Nanos = Nanos(1);

impl WorkloadBuilder<'_> {
    pub(in crate::import::behaviour) fn finish(mut self) -> ImportedWorkload {
        let (start, end) = self.recording.span().unwrap_or_default();
        for cpu in 0..self.recording.nr_cpus {
            self.settle(end, cpu);
        }
        for task in &mut self.tasks {
            let has_more = matches!(task.state, ThreadPhase::Running { .. } | ThreadPhase::Runnable);
            self.gaps.cut_at_the_end += u64::from(has_more);
            if has_more {
                task.work += u128::from(BEHIND_THE_END.0) * FULL_SPEED;
                task.flush();
            }
        }
        let (tasks, task_of) = self.take_tasks();
        let mut recorded = RecordedWorkload {
            nr_cpus: self.recording.nr_cpus.max(1),
            capacities: self.rates.capacities(),
            frequency_steps: std::mem::take(&mut self.frequency_steps),
            end: Nanos(end - start),
            tasks,
            groups: self.cgroups.into_paths(),
            notes: Vec::new(),
        };
        if recorded.capacities.iter().all(|&capacity| capacity == 1024) {
            recorded.capacities.clear();
        }
        recorded.notes = self.gaps.notes(self.recording, self.has_machine);
        ImportedWorkload { recorded, task_of, gaps: self.gaps }
    }

    /// Returns the tasks in the order of their threads, without omitted threads, and the task of each thread.
    fn take_tasks(&mut self) -> (Vec<RecordedTask>, Vec<Option<usize>>) {
        let mut task_of = Vec::new();
        let mut nr = 0;
        for thread in 0..self.tasks.len() {
            let is_stopper = self.is_left_out(thread);
            self.gaps.stoppers += u64::from(is_stopper);
            let is_task = !is_stopper && self.tasks[thread].cpu.is_some();
            task_of.push(is_task.then_some(nr));
            nr += usize::from(is_task);
        }
        let mut taken = BTreeSet::new();
        let mut all = Vec::new();
        for (place, task) in std::mem::take(&mut self.tasks).into_iter().enumerate() {
            if task_of[place].is_none() {
                continue;
            }
            let thread = self.threads.list()[place];
            let comm = self.recording.names.get(thread.comm);
            let word = names::word(comm, thread.pid);
            let cpu = task.cpu.unwrap_or(0).min(self.recording.nr_cpus.saturating_sub(1));
            let own = names::cpu_of(comm)
                .filter(|&own| task.cpus.iter().all(|&cpu| cpu == own) && own < self.recording.nr_cpus);
            self.gaps.per_cpu_threads += u64::from(own.is_some());
            let ops = self.ops_of(&task, &task_of);
            all.push(RecordedTask {
                name: names::unique(&word, thread.pid, &mut taken),
                family: word,
                cpu: own.unwrap_or(cpu),
                start_at: task.start_at.map(Nanos),
                is_placed: task.is_placed,
                priority: task.first,
                mask: own.map(|cpu| (cpu, cpu)),
                group: task.first_group,
                ops,
            });
        }
        (all, task_of)
    }

    fn ops_of(&mut self, task: &ImportedThread, task_of: &[Option<usize>]) -> Vec<RecordedOp> {
        let sleep = |draft: &DraftOp| if let DraftOp::Sleep(sleep) = draft { Some(*sleep) } else { None };
        let sleeps: Vec<Sleep> = task.drafts.iter().filter_map(sleep).collect();
        let has_timer = timers::period_of(&sleeps).is_some();
        let ops = task.drafts.iter().filter_map(|draft| {
            Some(match *draft {
                DraftOp::Sleep(sleep) if has_timer => {
                    self.gaps.timer_sleeps += 1;
                    RecordedOp::Until(Nanos(sleep.to))
                }
                DraftOp::Sleep(sleep) => RecordedOp::Sleep(Nanos(sleep.to - sleep.from)),
                DraftOp::Op(RecordedOp::Wake(thread)) => RecordedOp::Wake(task_of[thread]?),
                DraftOp::Op(RecordedOp::Fork(thread)) => RecordedOp::Fork(task_of[thread]?),
                DraftOp::Op(op) => op,
            })
        });
        ops.collect()
    }
}
