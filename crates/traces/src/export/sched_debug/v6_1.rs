// SPDX-License-Identifier: GPL-2.0-or-later
//! Parts that only 6.1 prints: tunables of CFS, virtual runtimes of cfs_rqs, the table of tasks.
//!
//! The format is that of `sched_debug_header()`, `print_cfs_rq()`, `print_rt_rq()`, `print_dl_rq()` and
//! `print_task()` in `kernel/sched/debug.c` (6.1).

use super::{CpuText, SeriesText, put_tunable};
use crate::export::proc_text::ms_text;
use crate::export::thread::ThreadId;
use fairlab_machine::sim::Machine;
use fairlab_measure::cgroups::group_path;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::state::rq::cfs_rq::CfsRq;
use std::fmt::Write as _;

pub(super) const TEXT: SeriesText = SeriesText {
    release: "6.1.192",
    put_tunables,
    put_cfs_rq,
    put_rt_rq,
    put_dl_rq,
    tasks: "\
\x20S            task   PID         tree-key  switches  prio     wait-time             sum-exec        sum-sleep
-------------------------------------------------------------------------------------------------------------
",
    put_task,
};

fn put_tunables(text: &mut String, machine: &Machine) {
    let tunables = machine.sched().tunables();
    for (name, ns) in [
        ("sysctl_sched_latency", tunables.latency_ns),
        ("sysctl_sched_min_granularity", tunables.min_granularity_ns),
        ("sysctl_sched_idle_min_granularity", tunables.idle_min_granularity_ns),
        ("sysctl_sched_wakeup_granularity", tunables.wakeup_granularity_ns),
    ] {
        put_tunable(text, name, ms_text(ns));
    }
    put_tunable(text, "sysctl_sched_child_runs_first", u32::from(tunables.child_runs_first));
}

fn put_cfs_rq(text: &mut CpuText<'_>, cfs_rq: &CfsRq) {
    // The kernel prints -1 for the vruntime of an empty queue.
    let empty = u64::MAX;
    let first = cfs_rq.timeline.first_vruntime().unwrap_or(empty);
    let last = cfs_rq.timeline.iter().last().map_or(empty, |(vruntime, _)| vruntime);
    text.time("MIN_vruntime", first);
    text.time("min_vruntime", cfs_rq.min_vruntime);
    text.time("max_vruntime", last);
    text.time("spread", last.wrapping_sub(first));
    let of_cpu0 = text.machine.sched().snapshot(CpuId(0)).min_vruntime;
    text.time("spread0", cfs_rq.min_vruntime.wrapping_sub(of_cpu0));
    text.field("nr_running", cfs_rq.nr_running);
    text.field("h_nr_running", cfs_rq.h_nr_running);
    text.field("idle_nr_running", cfs_rq.idle_nr_running);
    text.field("idle_h_nr_running", cfs_rq.idle_h_nr_running);
    text.put_averages(cfs_rq, "util_est_enqueued");
}

fn put_rt_rq(text: &mut CpuText<'_>) {
    let rt = text.machine.sched().rt_snapshot(text.cpu);
    text.field("rt_nr_running", rt.rt_nr_running);
    text.field("rt_nr_migratory", rt.rt_nr_migratory);
    text.field("rt_throttled", u32::from(rt.rt_throttled));
    text.time("rt_time", rt.rt_time.0);
    text.time("rt_runtime", rt.rt_runtime.map_or(u64::MAX, |runtime| runtime.0));
}

fn put_dl_rq(text: &mut CpuText<'_>) {
    let dl = text.machine.sched().dl_snapshot(text.cpu);
    text.field("dl_nr_running", dl.dl_nr_running);
    text.field("dl_nr_migratory", dl.dl_nr_migratory);
    text.field("dl_bw->bw", dl.bw.map_or(-1, |bw| bw as i64));
    text.field("dl_bw->total_bw", dl.total_bw);
}

fn put_task(text: &mut CpuText<'_>, id: TaskId) {
    let sched = text.machine.sched();
    let (task, se, counts) = (sched.task(id), sched.entity(id), text.counts.of(ThreadId::from_task(id)));
    let path = group_path(text.machine, task.group);
    // The last time, the sum of uninterruptible sleep, is 0: I/O waits count as interruptible sleep.
    let _ = write!(
        text.text,
        "{:>16} {:9} {:5} {:>16} {:>16} {:>16} {:>16} {path}",
        ms_text(se.vruntime),
        counts.nr_switches(),
        task.prio(),
        ms_text(counts.wait_sum.0),
        ms_text(se.sum_exec_runtime),
        ms_text(counts.sum_sleep_runtime.0),
        ms_text(0),
    );
}
