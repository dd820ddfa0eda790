// SPDX-License-Identifier: GPL-2.0-or-later
//! Virtual times of entities and queues for observers.

use crate::interface::ctx::Ctx;
use crate::interface::lag::{EntityLag, LagMoment, QueueLag};
use crate::interface::probe::Event;
use crate::state::State;
use crate::state::rq::virtual_time::VirtualTime;
use crate::state::task::SchedClass;
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};

impl State {
    /// Reports the virtual times of a fair task and of each group above it, if an observer wants them.
    #[inline]
    pub(crate) fn report_lags(&self, ctx: &mut Ctx<'_>, task: TaskId, moment: LagMoment) {
        if ctx.wants_lags {
            self.report_lags_upwards(ctx, task, moment);
        }
    }

    #[cold]
    fn report_lags_upwards(&self, ctx: &mut Ctx<'_>, task: TaskId, moment: LagMoment) {
        let task = &self.tasks[task.index()];
        let mut entity = Some(task.se).filter(|_| self.series.is_eevdf() && task.class == SchedClass::Fair);
        while let Some(se) = entity {
            let (cfs_rq, parent) = self.place_of(se);
            let (lag, queue) = (self.entity_lag_snapshot(se), self.queue_lag_of(cfs_rq));
            ctx.report(Event::Lag { moment, entity: &lag, queue: &queue });
            entity = parent;
        }
    }

    fn entity_lag_snapshot(&self, id: EntityId) -> EntityLag {
        let se = &self.entities[id.index()];
        EntityLag {
            cpu: self.cfs_rqs[se.cfs_rq.index()].cpu,
            task: se.task(),
            depth: se.depth,
            on_rq: se.on_rq,
            is_delayed: se.is_delayed,
            has_relative_deadline: se.has_relative_deadline,
            has_custom_slice: se.has_custom_slice,
            weight: se.load.weight,
            vruntime: se.vruntime as i64,
            deadline: se.deadline as i64,
            vlag: se.vlag,
            slice: se.slice,
        }
    }

    fn queue_lag_of(&self, id: CfsRqId) -> QueueLag {
        let queue = &self.cfs_rqs[id.index()];
        let VirtualTime { zero_vruntime, sum_w_vruntime, sum_weight } = queue.virtual_time;
        QueueLag {
            cpu: queue.cpu,
            depth: queue.entity.map_or(0, |above| self.entities[above.index()].depth + 1),
            nr_queued: queue.nr_running,
            h_nr_queued: queue.h_nr_running,
            h_nr_runnable: queue.h_nr_runnable,
            zero_vruntime: zero_vruntime as i64,
            sum_w_vruntime,
            sum_weight: sum_weight as u64,
            avg_vruntime: queue.virtual_time.clone().advance(self.running_entity(id)) as i64,
        }
    }

    /// Returns the virtual times of a task; `None` if the kernel has no lags.
    pub fn lag_snapshot(&self, task: TaskId) -> Option<EntityLag> {
        let se = self.tasks[task.index()].se;
        self.series.is_eevdf().then(|| EntityLag { cpu: self.tasks[task.index()].cpu, ..self.entity_lag_snapshot(se) })
    }

    /// Returns the virtual time of the root cfs_rq of a CPU; `None` if the kernel has no lags.
    pub fn queue_lag_snapshot(&self, cpu: CpuId) -> Option<QueueLag> {
        self.series.is_eevdf().then(|| self.queue_lag_of(self.root_cfs_rq(cpu)))
    }
}
