// SPDX-License-Identifier: GPL-2.0-or-later
//! Virtual times of entities and queues, in trees with lags.

use super::{Object, raw};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::lag::{EntityLag, QueueLag};
use std::ops::Range;

impl Object {
    /// Reports the virtual times of a record: of its task, then of each group above it.
    pub(crate) fn lags(&self, task: u32, places: Range<usize>, mut report: impl FnMut(EntityLag, QueueLag)) {
        if places.is_empty() {
            return;
        }
        let lags = call!(self, fl_lags());
        // SAFETY: the records that name places exist until they are forgotten, so the array has this length.
        let lags = unsafe { std::slice::from_raw_parts(lags, places.end) };
        for lag in &lags[places] {
            report(entity(lag, (lag.is_task != 0).then_some(TaskId(task))), queue(lag));
        }
    }

    /// Discards the virtual times of the records that were read.
    pub(crate) fn forget_lags(&self) {
        call!(self, fl_forget_lags());
    }

    /// Returns the virtual times of a task; `None` if the tree has no lags.
    pub fn lag(&self, task: u32) -> Option<EntityLag> {
        let mut lag = raw::RawLag::default();
        let is_known = call!(self, fl_show_lag(task, &raw mut lag)) != 0;
        is_known.then(|| entity(&lag, Some(TaskId(task))))
    }

    /// Returns the virtual time of the root queue of a CPU; `None` if the tree has no lags.
    pub fn queue_lag(&self, cpu: u32) -> Option<QueueLag> {
        let mut lag = raw::RawLag::default();
        let is_known = call!(self, fl_show_queue_lag(self.cpu(cpu), &raw mut lag)) != 0;
        is_known.then(|| queue(&lag))
    }
}

fn entity(lag: &raw::RawLag, task: Option<TaskId>) -> EntityLag {
    EntityLag {
        cpu: CpuId(lag.cpu),
        task,
        depth: lag.depth,
        on_rq: lag.on_rq != 0,
        is_delayed: lag.delayed != 0,
        has_relative_deadline: lag.has_relative_deadline != 0,
        has_custom_slice: lag.has_custom_slice != 0,
        weight: lag.weight,
        vruntime: lag.vruntime,
        deadline: lag.deadline,
        vlag: lag.vlag,
        slice: lag.slice,
    }
}

fn queue(lag: &raw::RawLag) -> QueueLag {
    QueueLag {
        cpu: CpuId(lag.cpu),
        depth: lag.depth,
        nr_queued: lag.nr_queued,
        h_nr_queued: lag.h_nr_queued,
        h_nr_runnable: lag.h_nr_runnable,
        zero_vruntime: lag.zero_vruntime,
        sum_w_vruntime: lag.sum_w_vruntime,
        sum_weight: lag.sum_weight,
        avg_vruntime: lag.avg_vruntime,
    }
}
