// SPDX-License-Identifier: GPL-2.0-or-later
//! Text of `/sys/kernel/debug/sched/debug` at the end of a run, as the kernel of the run prints it.
//!
//! The format is version v0.11 of `kernel/sched/debug.c`, of a kernel with task groups and schedstats, without
//! real-time groups and NUMA balancing. This module has the fields that both series print; [`v6_1`] and [`v6_12`] have the
//! rest.
//!
//! Fields without a model are left out: `sched_clock_stable()`, `nr_uninterruptible`, `exec_clock`,
//! `nr_spread_over`, a group's `se->` statistics of waiting and sleeping, and the frequency after `cpu#N`,
//! which only x86 prints.

mod v6_1;
mod v6_12;

use super::proc_text::{has_ended, listed_tasks, ms_text, state_letter};
use super::record::{EventGroups, TraceRecord};
use super::sink::{BufferedOut, StateSink, TraceSink};
use super::task_counts::{self, AllCounts};
use super::thread::{ThreadId, ThreadTable};
use super::{ExportFormat, FormatOpener, SinkOpener};
use fairlab_machine::sim::Machine;
use fairlab_measure::cgroups::group_path;
use fairlab_sched::features::Feature;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::state::rq::cfs_rq::CfsRq;
use std::fmt::{Display, Write as _};
use std::io::{self, Write};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "sched-debug",
    extension: "sched_debug",
    meaning: "the text of /sys/kernel/debug/sched/debug at the end of the run, as the run's kernel prints it",
    groups: task_counts::GROUPS,
    opener: FormatOpener::State(SinkOpener::File(|out, _, _| {
        Ok(Box::new(SchedDebug { out: BufferedOut::new(out), counts: AllCounts::default() }))
    })),
};

/// Parts of the text that only one series of kernels prints.
struct SeriesText {
    release: &'static str,
    put_tunables: fn(&mut String, &Machine),
    put_cfs_rq: fn(&mut CpuText<'_>, &CfsRq),
    put_rt_rq: fn(&mut CpuText<'_>),
    put_dl_rq: fn(&mut CpuText<'_>),
    /// Heading of the table of tasks.
    tasks: &'static str,
    put_task: fn(&mut CpuText<'_>, TaskId),
}

impl SeriesText {
    const fn of(series: KernelSeries) -> &'static Self {
        match series {
            KernelSeries::V6_1 => &v6_1::TEXT,
            KernelSeries::V6_12 => &v6_12::TEXT,
        }
    }
}

struct SchedDebug<W: Write> {
    out: BufferedOut<W>,
    counts: AllCounts,
}

impl<W: Write> TraceSink for SchedDebug<W> {
    fn needs(&self) -> EventGroups {
        task_counts::GROUPS
    }

    fn record(&mut self, _threads: &ThreadTable, record: &TraceRecord<'_>) {
        self.counts.record(record);
    }

    fn finish(&mut self, _threads: &ThreadTable) -> io::Result<()> {
        self.out.finish()
    }

    fn has_failed(&self) -> bool {
        self.out.has_failed()
    }
}

impl<W: Write> StateSink for SchedDebug<W> {
    fn end(&mut self, machine: &Machine, threads: &ThreadTable) {
        let sched = machine.sched();
        let series = SeriesText::of(sched.series());
        self.out.next().extend_from_slice(header(machine, series).as_bytes());
        let mut tasks = vec![Vec::new(); sched.nr_cpus()];
        for task in listed_tasks(machine, threads).filter(|&task| !has_ended(machine, task)) {
            tasks[sched.task(task).cpu.index()].push(task);
        }
        for cpu in sched.cpu_ids().filter(|&cpu| sched.is_online(cpu)) {
            let mut text = CpuText { text: String::new(), cpu, machine, threads, counts: &self.counts };
            text.put(series, &tasks[cpu.index()]);
            self.out.next().extend_from_slice(text.text.as_bytes());
        }
    }
}

fn header(machine: &Machine, series: &SeriesText) -> String {
    let (sched, now) = (machine.sched(), ms_text(machine.now().0));
    let mut text = format!("Sched Debug Version: v0.11, {} fairlab\n", series.release);
    for clock in ["ktime", "sched_clk", "cpu_clk"] {
        let _ = writeln!(text, "{clock:<40}: {now}");
    }
    let _ = writeln!(text, "{:<40}: {}\n\nsysctl_sched", "jiffies", sched.jiffies());
    (series.put_tunables)(&mut text, machine);
    let on = Feature::of_series(sched.series()).enumerate().filter(|(_, feature)| sched.features().has(*feature));
    let features = on.fold(0_u64, |bits, (place, _)| bits | 1 << place);
    put_tunable(&mut text, "sysctl_sched_features", features);
    // The defaults of the tunables grow with the logarithm of the number of CPUs.
    put_tunable(&mut text, "sysctl_sched_tunable_scaling", "1 (logarithmic)\n");
    text
}

fn put_tunable(text: &mut String, name: &str, value: impl Display) {
    let _ = writeln!(text, "  .{name:<40}: {value}");
}

/// Text of one CPU, with what it is made from.
struct CpuText<'a> {
    text: String,
    cpu: CpuId,
    machine: &'a Machine,
    threads: &'a ThreadTable,
    counts: &'a AllCounts,
}

impl CpuText<'_> {
    fn field(&mut self, name: &str, value: impl Display) {
        let _ = writeln!(self.text, "  .{name:<30}: {value}");
    }

    fn time(&mut self, name: &str, ns: u64) {
        self.field(name, ms_text(ns));
    }

    fn put(&mut self, series: &SeriesText, tasks: &[TaskId]) {
        let (sched, cpu) = (self.machine.sched(), self.cpu);
        self.put_rq();
        for cfs_rq in sched.leaf_cfs_rqs(cpu) {
            let _ = writeln!(self.text, "\ncfs_rq[{}]:{}", cpu.0, group_path(self.machine, cfs_rq.group));
            (series.put_cfs_rq)(self, cfs_rq);
        }
        let _ = writeln!(self.text, "\nrt_rq[{}]:", cpu.0);
        (series.put_rt_rq)(self);
        let _ = writeln!(self.text, "\ndl_rq[{}]:", cpu.0);
        (series.put_dl_rq)(self);
        let _ = write!(self.text, "\nrunnable tasks:\n{}", series.tasks);
        for &task in tasks {
            let state = self.machine.sched().task(task).state;
            let mark = if sched.curr(cpu) == task { '>' } else { ' ' };
            let letter = if mark == '>' { 'R' } else { state_letter(state) };
            let info = self.threads.get(ThreadId::from_task(task));
            let _ = write!(self.text, "{mark}{letter} {:>15} {:5} ", info.comm.as_str(), info.pid);
            (series.put_task)(self, task);
            self.text.push('\n');
        }
        self.text.push('\n');
    }

    fn put_rq(&mut self) {
        let (sched, cpu) = (self.machine.sched(), self.cpu);
        let rq = sched.snapshot(cpu);
        let _ = writeln!(self.text, "cpu#{}", cpu.0);
        self.field("nr_running", rq.nr_running);
        self.field("nr_switches", rq.nr_switches);
        // `next_balance` is in jiffies, but the kernel prints it in the format of a time in ns.
        self.time("next_balance", rq.next_balance);
        self.field("curr->pid", self.threads.get(ThreadId::from_task(sched.curr(cpu))).pid);
        self.time("clock", rq.clock);
        self.time("clock_task", rq.clock_task);
        self.field("avg_idle", rq.avg_idle.0);
        self.field("max_idle_balance_cost", rq.max_idle_balance_cost.0);
        self.field("yld_count", rq.stats.yld_count);
        self.field("sched_count", rq.stats.sched_count);
        self.field("sched_goidle", rq.stats.sched_goidle);
        self.field("ttwu_count", rq.stats.ttwu_count);
        self.field("ttwu_local", rq.stats.ttwu_local);
    }

    /// Writes load, averages and throttling of a cfs_rq, and the entity that represents its group. `util_est` is the
    /// name of the estimated utilisation.
    fn put_averages(&mut self, cfs_rq: &CfsRq, util_est: &str) {
        let sched = self.machine.sched();
        self.field("load", cfs_rq.load.weight);
        let avg = &cfs_rq.avg;
        self.field("load_avg", avg.load_avg);
        self.field("runnable_avg", avg.runnable_avg);
        self.field("util_avg", avg.util_avg);
        self.field(util_est, avg.util_est.enqueued);
        self.field("removed.load_avg", cfs_rq.removed.load_avg);
        self.field("removed.util_avg", cfs_rq.removed.util_avg);
        self.field("removed.runnable_avg", cfs_rq.removed.runnable_avg);
        self.field("tg_load_avg_contrib", cfs_rq.tg_load_avg_contrib);
        self.field("tg_load_avg", sched.group(cfs_rq.group).load_avg);
        self.field("throttled", u32::from(cfs_rq.throttled));
        self.field("throttle_count", cfs_rq.throttle_count);
        let Some(se) = sched.fair().entity_of_cfs_rq(cfs_rq) else { return };
        self.time("se->exec_start", se.exec_start);
        self.time("se->vruntime", se.vruntime);
        self.time("se->sum_exec_runtime", se.sum_exec_runtime);
        self.field("se->load.weight", se.load.weight);
        self.field("se->avg.load_avg", se.avg.load_avg);
        self.field("se->avg.util_avg", se.avg.util_avg);
        self.field("se->avg.runnable_avg", se.avg.runnable_avg);
    }
}
