// SPDX-License-Identifier: GPL-2.0-or-later
//! Text of `/proc/PID/sched` of each task at the end of a run, as the run's kernel prints it, in files `PID/sched`
//! of a directory.
//!
//! The format is that of `proc_sched_show_task()` in `kernel/sched/debug.c` (6.1 and 6.12.117), of a kernel with
//! schedstats and utilisation clamps and without NUMA balancing. The state of a task that has exited is the
//! state at its exit.
//!
//! Fields without a model are left out: `sum_block_runtime`, `wait_start`, `sleep_start`, `block_start`,
//! `block_max`, `exec_max`, `slice_max`, `iowait_sum`, `iowait_count`, `nr_migrations_cold`, the counts of
//! failed and forced migrations, `nr_wakeups_sync`, `_affine`, `_affine_attempts`, `_passive` and `_idle`,
//! `core_forceidle_sum`, `ext.enabled`, and `clock-delta`, which measures the printing kernel itself.

use super::proc_text::{has_ended, listed_tasks, ms_text, policy_number};
use super::record::{EventGroups, TraceRecord};
use super::sink::{StateSink, TraceSink};
use super::task_counts::{self, AllCounts, TaskCounts};
use super::thread::{ThreadId, ThreadTable};
use super::{ExportFormat, FormatOpener, SinkOpener};
use fairlab_machine::sim::Machine;
use fairlab_measure::task_names::find_tasks;
use fairlab_sched::ids::TaskId;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::state::entity::SchedEntity;
use fairlab_sched::task::Policy;
use fairlab_sched::types::pelt::util_est::UTIL_AVG_UNCHANGED;
use std::fmt::{Display, Write};
use std::io;
use std::path::{Path, PathBuf};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "proc-sched",
    extension: "proc.d",
    meaning: "a directory with PID/sched for each task: the text of /proc/PID/sched at the end of the run, as its kernel prints it",
    groups: task_counts::GROUPS,
    opener: FormatOpener::State(SinkOpener::Tasks(|directory, run| Ok(Box::new(ProcSched::new(directory, run.only))))),
};

struct ProcSched {
    directory: PathBuf,
    /// Task or family to write; `None` for all tasks.
    only: Option<String>,
    counts: AllCounts,
    error: Option<io::Error>,
}

impl ProcSched {
    fn new(directory: &Path, only: Option<&str>) -> Self {
        let (directory, only) = (directory.to_owned(), only.map(str::to_owned));
        Self { directory, only, counts: AllCounts::default(), error: None }
    }

    fn selected_tasks(&self, machine: &Machine, threads: &ThreadTable) -> io::Result<Vec<TaskId>> {
        let Some(only) = &self.only else { return Ok(listed_tasks(machine, threads).collect()) };
        let places = find_tasks(machine, only).map_err(io::Error::other)?;
        let tasks: Vec<TaskId> = places.into_iter().filter_map(|place| machine.tasks()[place].id).collect();
        if tasks.is_empty() {
            return Err(io::Error::other(format!("`{only}` has not been forked")));
        }
        Ok(tasks)
    }

    fn write(&self, machine: &Machine, threads: &ThreadTable) -> io::Result<()> {
        let tasks = listed_tasks(machine, threads).filter(|&task| !has_ended(machine, task));
        let mut alive = std::collections::BTreeMap::new();
        for thread in tasks.map(ThreadId::from_task).chain([ThreadId::MAIN]) {
            *alive.entry(threads.get(thread).tgid).or_insert(0) += 1;
        }
        for task in self.selected_tasks(machine, threads)? {
            let (thread, info) = (ThreadId::from_task(task), threads.get(ThreadId::from_task(task)));
            let directory = self.directory.join(info.pid.to_string());
            std::fs::create_dir_all(&directory)?;
            // A task that has exited adds itself to the threads of its process that are alive.
            let nr_threads = alive.get(&info.tgid).copied().unwrap_or(0) + u32::from(has_ended(machine, task));
            let text = format!("{} ({}, #threads: {nr_threads})\n", info.comm.as_str(), info.pid);
            let text = TaskText { text, machine }.of(task, self.counts.of(thread));
            std::fs::write(directory.join("sched"), text)?;
        }
        Ok(())
    }
}

impl TraceSink for ProcSched {
    fn needs(&self) -> EventGroups {
        task_counts::GROUPS
    }

    fn record(&mut self, _threads: &ThreadTable, record: &TraceRecord<'_>) {
        self.counts.record(record);
    }

    fn finish(&mut self, _threads: &ThreadTable) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    fn has_failed(&self) -> bool {
        self.error.is_some()
    }
}

impl StateSink for ProcSched {
    fn end(&mut self, machine: &Machine, threads: &ThreadTable) {
        self.error = self.write(machine, threads).err();
    }
}

/// Fields that only one series of kernels prints.
struct SeriesFields {
    put_util_est: fn(&mut TaskText<'_>, &SchedEntity),
    put_slice: fn(&mut TaskText<'_>, &SchedEntity),
}

impl SeriesFields {
    const fn of(series: KernelSeries) -> Self {
        match series {
            KernelSeries::V6_1 => Self {
                put_util_est: |text, se| {
                    let util_est = se.avg.util_est;
                    text.field("se.avg.util_est.ewma", util_est.ewma);
                    text.field("se.avg.util_est.enqueued", util_est.enqueued & !UTIL_AVG_UNCHANGED);
                },
                put_slice: |_, _| {},
            },
            KernelSeries::V6_12 => Self {
                put_util_est: |text, se| {
                    text.field("se.avg.util_est", se.avg.util_est.enqueued & !UTIL_AVG_UNCHANGED);
                },
                put_slice: |text, se| text.field("se.slice", se.slice),
            },
        }
    }
}

struct TaskText<'a> {
    text: String,
    machine: &'a Machine,
}

impl TaskText<'_> {
    fn field(&mut self, name: &str, value: impl Display) {
        let _ = writeln!(self.text, "{name:<45}:{value:>21}");
    }

    fn time(&mut self, name: &str, ns: u64) {
        self.field(name, ms_text(ns));
    }

    fn of(mut self, id: TaskId, counts: TaskCounts) -> String {
        let sched = self.machine.sched();
        let (task, se) = (sched.task(id), sched.entity(id));
        let series = SeriesFields::of(sched.series());
        self.text.push_str("-------------------------------------------------------------------\n");
        self.time("se.exec_start", se.exec_start);
        self.time("se.vruntime", se.vruntime);
        self.time("se.sum_exec_runtime", se.sum_exec_runtime);
        self.field("se.nr_migrations", counts.nr_migrations);
        self.time("sum_sleep_runtime", counts.sum_sleep_runtime.0);
        self.time("sleep_max", counts.sleep_max.0);
        self.time("wait_max", counts.wait_max.0);
        self.time("wait_sum", counts.wait_sum.0);
        self.field("wait_count", counts.wait_count);
        self.field("nr_wakeups", counts.nr_wakeups);
        self.field("nr_wakeups_migrate", counts.nr_wakeups_migrate);
        self.field("nr_wakeups_local", counts.nr_wakeups_local);
        self.field("nr_wakeups_remote", counts.nr_wakeups_remote);
        // The kernel prints -1 if the task had no switch or no migration.
        let average = |nr: u64| se.sum_exec_runtime.checked_div(nr).unwrap_or(u64::MAX);
        self.time("avg_atom", average(counts.nr_switches()));
        self.time("avg_per_cpu", average(counts.nr_migrations));
        self.field("nr_switches", counts.nr_switches());
        self.field("nr_voluntary_switches", counts.nvcsw);
        self.field("nr_involuntary_switches", counts.nivcsw);
        self.field("se.load.weight", se.load.weight);
        let avg = &se.avg;
        self.field("se.avg.load_sum", avg.load_sum);
        self.field("se.avg.runnable_sum", avg.runnable_sum);
        self.field("se.avg.util_sum", avg.util_sum);
        self.field("se.avg.load_avg", avg.load_avg);
        self.field("se.avg.runnable_avg", avg.runnable_avg);
        self.field("se.avg.util_avg", avg.util_avg);
        self.field("se.avg.last_update_time", avg.last_update_time);
        (series.put_util_est)(&mut self, se);
        let effective = sched.uclamp_eff(id);
        self.field("uclamp.min", task.uclamp.min);
        self.field("uclamp.max", task.uclamp.max);
        self.field("effective uclamp.min", effective.min);
        self.field("effective uclamp.max", effective.max);
        self.field("policy", policy_number(task.policy));
        self.field("prio", task.prio());
        match task.policy {
            Policy::Deadline { .. } => {
                self.field("dl.runtime", task.dl.runtime);
                self.field("dl.deadline", task.dl.deadline);
            }
            Policy::Normal | Policy::Batch => (series.put_slice)(&mut self, se),
            Policy::Idle | Policy::Fifo(_) | Policy::RoundRobin(_) => {}
        }
        self.text
    }
}
