// SPDX-License-Identifier: GPL-2.0-or-later
//! Text of `/sys/kernel/debug/sched/debug` at the end of a run, as 6.1 prints it.
//!
//! The format is that of `sched_debug_header()`, `print_cpu()`, `print_cfs_rq()`, `print_cfs_group_stats()`,
//! `print_rt_rq()`, `print_dl_rq()` and `print_task()` in `kernel/sched/debug.c` (6.1), version v0.11. It
//! models a kernel with task groups and schedstats, without real-time groups and NUMA balancing.
//!
//! Fields without a model are left out: `sched_clock_stable()`, `nr_uninterruptible`, `exec_clock`,
//! `nr_spread_over`, a group's `se->` statistics of waiting and sleeping, and the frequency after `cpu#N`,
//! which only x86 prints.

use super::proc_text::{has_ended, listed_tasks, ms_text, state_letter};
use super::record::{EventGroups, TraceRecord};
use super::sink::{BufferedOut, StateSink, TraceSink};
use super::task_counts::{self, AllCounts};
use super::thread::{ThreadId, ThreadTable};
use super::{ExportFormat, FormatOpener, SinkOpener};
use crate::cgroups::group_path;
use fairlab_machine::sim::Machine;
use fairlab_sched::features::Feature;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::state::rq::cfs_rq::CfsRq;
use std::fmt::{Display, Write as _};
use std::io::{self, Write};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "sched-debug",
    extension: "sched_debug",
    meaning: "the text of /sys/kernel/debug/sched/debug (6.1) at the end of the run",
    groups: task_counts::GROUPS,
    opener: FormatOpener::State(SinkOpener::File(|out, _, _| {
        Ok(Box::new(SchedDebug { out: BufferedOut::new(out), counts: AllCounts::default() }))
    })),
};

const RELEASE: &str = "6.1.192";

const TASKS: &str = "\
\nrunnable tasks:
 S            task   PID         tree-key  switches  prio     wait-time             sum-exec        sum-sleep
-------------------------------------------------------------------------------------------------------------
";

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
        self.out.next().extend_from_slice(header(machine).as_bytes());
        let sched = machine.sched();
        let mut tasks = vec![Vec::new(); sched.nr_cpus()];
        for task in listed_tasks(machine, threads).filter(|&task| !has_ended(machine, task)) {
            tasks[sched.task(task).cpu.index()].push(task);
        }
        for cpu in sched.cpu_ids().filter(|&cpu| sched.is_online(cpu)) {
            let mut text = CpuText { text: String::new(), machine, threads, counts: &self.counts };
            text.put(cpu, &tasks[cpu.index()]);
            self.out.next().extend_from_slice(text.text.as_bytes());
        }
    }
}

fn header(machine: &Machine) -> String {
    let (sched, now) = (machine.sched(), ms_text(machine.now().0));
    let mut text = format!("Sched Debug Version: v0.11, {RELEASE} fairlab\n");
    for clock in ["ktime", "sched_clk", "cpu_clk"] {
        let _ = writeln!(text, "{clock:<40}: {now}");
    }
    let _ = writeln!(text, "{:<40}: {}\n\nsysctl_sched", "jiffies", sched.jiffies());
    let tunables = sched.tunables();
    for (name, ns) in [
        ("sysctl_sched_latency", tunables.latency_ns),
        ("sysctl_sched_min_granularity", tunables.min_granularity_ns),
        ("sysctl_sched_idle_min_granularity", tunables.idle_min_granularity_ns),
        ("sysctl_sched_wakeup_granularity", tunables.wakeup_granularity_ns),
    ] {
        let _ = writeln!(text, "  .{name:<40}: {}", ms_text(ns));
    }
    let on = Feature::of_series(sched.series()).enumerate().filter(|(_, feature)| sched.features().has(*feature));
    let features = on.fold(0_u64, |bits, (place, _)| bits | 1 << place);
    let first = u32::from(tunables.child_runs_first);
    let _ = writeln!(text, "  .{:<40}: {first}", "sysctl_sched_child_runs_first");
    let _ = writeln!(text, "  .{:<40}: {features}", "sysctl_sched_features");
    // The defaults of the tunables grow with the logarithm of the number of CPUs.
    let _ = writeln!(text, "  .{:<40}: 1 (logarithmic)\n", "sysctl_sched_tunable_scaling");
    text
}

struct CpuText<'a> {
    text: String,
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

    fn put(&mut self, cpu: CpuId, tasks: &[TaskId]) {
        let sched = self.machine.sched();
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
        for cfs_rq in sched.leaf_cfs_rqs(cpu) {
            self.put_cfs_rq(cpu, cfs_rq);
        }
        self.put_rt_rq(cpu);
        self.put_dl_rq(cpu);
        self.text.push_str(TASKS);
        for &task in tasks {
            self.put_task(cpu, task);
        }
        self.text.push('\n');
    }

    fn put_cfs_rq(&mut self, cpu: CpuId, cfs_rq: &CfsRq) {
        let sched = self.machine.sched();
        let _ = writeln!(self.text, "\ncfs_rq[{}]:{}", cpu.0, group_path(self.machine, cfs_rq.group));
        // The kernel prints -1 for the vruntime of an empty queue.
        let empty = u64::MAX;
        let first = cfs_rq.timeline.first_vruntime().unwrap_or(empty);
        let last = cfs_rq.timeline.iter().last().map_or(empty, |(vruntime, _)| vruntime);
        self.time("MIN_vruntime", first);
        self.time("min_vruntime", cfs_rq.min_vruntime);
        self.time("max_vruntime", last);
        self.time("spread", last.wrapping_sub(first));
        let of_cpu0 = sched.snapshot(CpuId(0)).min_vruntime;
        self.time("spread0", cfs_rq.min_vruntime.wrapping_sub(of_cpu0));
        self.field("nr_running", cfs_rq.nr_running);
        self.field("h_nr_running", cfs_rq.h_nr_running);
        self.field("idle_nr_running", cfs_rq.idle_nr_running);
        self.field("idle_h_nr_running", cfs_rq.idle_h_nr_running);
        self.field("load", cfs_rq.load.weight);
        let avg = &cfs_rq.avg;
        self.field("load_avg", avg.load_avg);
        self.field("runnable_avg", avg.runnable_avg);
        self.field("util_avg", avg.util_avg);
        self.field("util_est_enqueued", avg.util_est.enqueued);
        self.field("removed.load_avg", cfs_rq.removed.load_avg);
        self.field("removed.util_avg", cfs_rq.removed.util_avg);
        self.field("removed.runnable_avg", cfs_rq.removed.runnable_avg);
        self.field("tg_load_avg_contrib", cfs_rq.tg_load_avg_contrib);
        self.field("tg_load_avg", sched.group(cfs_rq.group).load_avg);
        self.field("throttled", u32::from(cfs_rq.throttled));
        self.field("throttle_count", cfs_rq.throttle_count);
        let Some(se) = sched.entity_of_cfs_rq(cfs_rq) else { return };
        self.time("se->exec_start", se.exec_start);
        self.time("se->vruntime", se.vruntime);
        self.time("se->sum_exec_runtime", se.sum_exec_runtime);
        self.field("se->load.weight", se.load.weight);
        self.field("se->avg.load_avg", se.avg.load_avg);
        self.field("se->avg.util_avg", se.avg.util_avg);
        self.field("se->avg.runnable_avg", se.avg.runnable_avg);
    }

    fn put_rt_rq(&mut self, cpu: CpuId) {
        let rt = self.machine.sched().rt_snapshot(cpu);
        let _ = writeln!(self.text, "\nrt_rq[{}]:", cpu.0);
        self.field("rt_nr_running", rt.rt_nr_running);
        self.field("rt_nr_migratory", rt.rt_nr_migratory);
        self.field("rt_throttled", u32::from(rt.rt_throttled));
        self.time("rt_time", rt.rt_time.0);
        self.time("rt_runtime", rt.rt_runtime.map_or(u64::MAX, |runtime| runtime.0));
    }

    fn put_dl_rq(&mut self, cpu: CpuId) {
        let dl = self.machine.sched().dl_snapshot(cpu);
        let _ = writeln!(self.text, "\ndl_rq[{}]:", cpu.0);
        self.field("dl_nr_running", dl.dl_nr_running);
        self.field("dl_nr_migratory", dl.dl_nr_migratory);
        self.field("dl_bw->bw", dl.bw.map_or(-1, |bw| bw as i64));
        self.field("dl_bw->total_bw", dl.total_bw);
    }

    fn put_task(&mut self, cpu: CpuId, id: TaskId) {
        let sched = self.machine.sched();
        let (task, se, thread) = (sched.task(id), sched.entity(id), ThreadId::from_task(id));
        let (info, counts) = (self.threads.get(thread), self.counts.of(thread));
        let state = if sched.curr(cpu) == id { ">R".to_owned() } else { format!(" {}", state_letter(task.state)) };
        let path = group_path(self.machine, task.group);
        // The last column, the sum of uninterruptible sleep, is 0: I/O waits count as interruptible sleep.
        let _ = writeln!(
            self.text,
            "{state} {:>15} {:5} {:>16} {:9} {:5} {:>16} {:>16} {:>16} {:>16} {path}",
            info.comm.as_str(),
            info.pid,
            ms_text(se.vruntime),
            counts.nr_switches(),
            task.prio(),
            ms_text(counts.wait_sum.0),
            ms_text(se.sum_exec_runtime),
            ms_text(counts.sum_sleep_runtime.0),
            ms_text(0),
        );
    }
}
