// SPDX-License-Identifier: GPL-2.0-or-later
//! Parts that only 6.12 prints: the base slice, virtual times of cfs_rqs, the table of tasks with deadlines and slices.
//!
//! The format is that of `sched_debug_header()`, `print_cfs_rq()`, `print_rt_rq()`, `print_dl_rq()`, `print_rq()` and
//! `print_task()` in `kernel/sched/debug.c` (6.12.117).

use super::{CpuText, SeriesText, put_tunable};
use crate::export::proc_text::ms_text;
use crate::export::thread::ThreadId;
use fairlab_machine::sim::Machine;
use fairlab_measure::cgroups::group_path;
use fairlab_sched::ids::TaskId;
use fairlab_sched::state::rq::cfs_rq::CfsRq;
use std::fmt::Write as _;

pub(super) const TEXT: SeriesText = SeriesText {
    release: "6.12.117",
    put_tunables,
    put_cfs_rq,
    put_rt_rq,
    put_dl_rq,
    tasks: concat!(
        " S            task   PID       vruntime   eligible    deadline             slice          sum-exec      ",
        "switches  prio         wait-time        sum-sleep       sum-block  group-path\n",
        "------------------------------------------------------------------------------------------",
        "---------------------------------------------------------------------------------------\n",
    ),
    put_task,
};

fn put_tunables(text: &mut String, machine: &Machine) {
    put_tunable(text, "sysctl_sched_base_slice", ms_text(machine.sched().tunables().base_slice_ns));
}

fn put_cfs_rq(text: &mut CpuText<'_>, cfs_rq: &CfsRq) {
    let times = text.machine.sched().fair().virtual_times_snapshot(cfs_rq);
    // The kernel prints -1 for times of an entity that an empty queue does not have.
    let of_waiting = |time: Option<u64>| time.unwrap_or(u64::MAX);
    let (left, right) = (of_waiting(times.min_vruntime), of_waiting(times.last_vruntime));
    text.time("left_deadline", of_waiting(times.first_deadline));
    text.time("left_vruntime", left);
    text.time("zero_vruntime", times.zero_vruntime);
    text.time("avg_vruntime", times.avg_vruntime);
    text.time("right_vruntime", right);
    text.time("spread", right.wrapping_sub(left));
    text.field("nr_running", cfs_rq.nr_running);
    text.field("h_nr_runnable", cfs_rq.h_nr_runnable);
    text.field("h_nr_queued", cfs_rq.h_nr_running);
    text.field("h_nr_delayed", cfs_rq.h_nr_running - cfs_rq.h_nr_runnable);
    text.field("idle_nr_running", cfs_rq.idle_nr_running);
    text.field("idle_h_nr_running", cfs_rq.idle_h_nr_running);
    text.put_averages(cfs_rq, "util_est");
}

fn put_rt_rq(text: &mut CpuText<'_>) {
    text.field("rt_nr_running", text.machine.sched().rt_snapshot(text.cpu).rt_nr_running);
}

fn put_dl_rq(text: &mut CpuText<'_>) {
    let dl = text.machine.sched().dl_snapshot(text.cpu);
    text.field("dl_nr_running", dl.dl_nr_running);
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
        "{:>16}   {}   {:>16} {} {:>16} {:>16} {:9}   {:5} {:>16} {:>16} {:>16}        {path}",
        ms_text(se.vruntime),
        if sched.is_eligible(id) { 'E' } else { 'N' },
        ms_text(se.deadline),
        if se.has_custom_slice { 'S' } else { ' ' },
        ms_text(se.slice),
        ms_text(se.sum_exec_runtime),
        counts.nr_switches(),
        task.prio(),
        ms_text(counts.wait_sum.0),
        ms_text(counts.sum_sleep_runtime.0),
        ms_text(0),
    );
}
