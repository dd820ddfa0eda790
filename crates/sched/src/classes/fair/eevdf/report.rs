// SPDX-License-Identifier: GPL-2.0-or-later
//! Virtual times of entities and queues, and records of decisions, for observers.

use crate::classes::fair::enqueue::DequeueFlags;
use crate::interface::ctx::Ctx;
use crate::interface::eevdf::{
    DelayStep, DelayedDequeue, EevdfEvent, LimitedLag, PickCandidate, PickDecision, PickRule, PreemptDecision,
    PreemptRule, ServerRecord, ServerStep,
};
use crate::interface::lag::{EntityLag, LagMoment, QueueLag, VirtualTimesSnapshot};
use crate::interface::probe::Event;
use crate::state::State;
use crate::state::deadline::DlEntity;
use crate::state::fair_tree::FairTree;
use crate::state::rq::Rq;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::rq::virtual_time::{RunningEntity, VirtualTime};
use crate::state::task::{SchedClass, Task, Tasks};
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};

impl State {
    /// Whether EEVDF may pick a task now, or could if it were queued: its entity has received no more service than it is
    /// due.
    pub fn is_eligible(&self, task: TaskId) -> bool {
        let se = self.tasks[task].se;
        self.fair.entity_eligible(self.fair.entities[se].cfs_rq, se)
    }
}

impl DlEntity {
    /// Reports a step of a CPU's fair server, if an observer wants it. The pick of a task is reported in any case.
    #[inline]
    pub(crate) fn report_server(&self, ctx: &mut Ctx<'_>, cpu: CpuId, step: ServerStep) {
        if ctx.wants_lags || step == ServerStep::Picked {
            ctx.report(Event::Eevdf(EevdfEvent::FairServer(&self.server_record(cpu, step))));
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn server_record(&self, cpu: CpuId, step: ServerStep) -> ServerRecord {
        ServerRecord {
            cpu,
            step,
            runtime_ns: self.runtime,
            max_runtime_ns: self.dl_runtime,
            period_ns: self.dl_period,
            deadline: self.deadline,
            waits_until: self.server.is_armed.then(|| self.latest_start()),
        }
    }
}

impl FairTree {
    fn entity_lag_snapshot(&self, id: EntityId) -> EntityLag {
        let se = &self.entities[id];
        EntityLag {
            cpu: self.cfs_rqs[se.cfs_rq].cpu,
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

    pub(in crate::classes::fair) fn queue_lag_of(&self, id: CfsRqId) -> QueueLag {
        let queue = &self.cfs_rqs[id];
        let VirtualTime { zero_vruntime, sum_w_vruntime, sum_weight } = queue.virtual_time;
        QueueLag {
            cpu: queue.cpu,
            depth: queue.entity.map_or(0, |above| self.entities[above].depth + 1),
            nr_queued: queue.nr_running,
            h_nr_queued: queue.h_nr_running,
            h_nr_runnable: queue.h_nr_runnable,
            zero_vruntime: zero_vruntime as i64,
            sum_w_vruntime,
            sum_weight: sum_weight as u64,
            avg_vruntime: queue.virtual_time.clone().advance(queue.running_entity(&self.entities)) as i64,
        }
    }

    fn pick_candidate(&self, cfs_rq: CfsRqId, se: EntityId) -> PickCandidate {
        PickCandidate {
            entity: self.entity_lag_snapshot(se),
            group: self.entities[se].my_q().map(|below| self.cfs_rqs[below].group),
            is_running: self.cfs_rqs[cfs_rq].curr == Some(se),
            is_eligible: self.entity_eligible(cfs_rq, se),
        }
    }

    /// Reports a pick from a cfs_rq with all of its entities, if an observer wants it.
    #[inline]
    pub(super) fn report_pick(&self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, picked: EntityId, rule: PickRule) {
        if ctx.wants_lags {
            self.report_pick_of(ctx, cfs_rq, picked, rule);
        }
    }

    #[cold]
    fn report_pick_of(&self, ctx: &mut Ctx<'_>, id: CfsRqId, picked: EntityId, rule: PickRule) {
        let queue = &self.cfs_rqs[id];
        let running = queue.curr.filter(|curr| self.entities[*curr].on_rq);
        let mut nr_eligible = 0;
        for se in running.into_iter().chain(queue.timeline.iter().map(|(_, se)| se)) {
            let candidate = self.pick_candidate(id, se);
            nr_eligible += u32::from(candidate.is_eligible);
            ctx.report(Event::Eevdf(EevdfEvent::Candidate(&candidate)));
        }
        let decision = PickDecision {
            queue: self.queue_lag_of(id),
            group: queue.group,
            picked: self.pick_candidate(id, picked),
            rule,
            nr_eligible,
        };
        ctx.report(Event::Eevdf(EevdfEvent::Pick(&decision)));
    }

    /// Reports a step of a delayed dequeue, if an observer wants it.
    #[inline]
    pub(super) fn report_delay(&self, ctx: &mut Ctx<'_>, se: EntityId, step: DelayStep) {
        if ctx.wants_lags {
            let queue = self.queue_lag_of(self.entities[se].cfs_rq);
            let record = DelayedDequeue { step, entity: self.entity_lag_snapshot(se), queue };
            ctx.report(Event::Eevdf(EevdfEvent::DelayedDequeue(&record)));
        }
    }

    /// Reports that a task leaves its cfs_rq with a lag beyond the limit. A lag at the end of a delayed dequeue is not
    /// kept anyway, and is not reported.
    #[cold]
    pub(super) fn report_limited_lag(&self, ctx: &mut Ctx<'_>, se: EntityId, lag: i64, flags: DequeueFlags) {
        let se = &self.entities[se];
        if let Some(task) = se.task().filter(|_| !flags.delayed) {
            let record = LimitedLag { task, weight: se.weight(), lag, kept: se.vlag };
            ctx.report(Event::Eevdf(EevdfEvent::LimitedLag(&record)));
        }
    }

    /// Returns the virtual times of a cfs_rq. They have a meaning if the kernel has EEVDF.
    pub fn virtual_times_snapshot(&self, cfs_rq: &CfsRq) -> VirtualTimesSnapshot {
        let running = cfs_rq.curr.map(|curr| &self.entities[curr]).filter(|curr| curr.on_rq);
        let running = running.map(|curr| RunningEntity { vruntime: curr.vruntime, weight: curr.weight() as i64 });
        let origin = cfs_rq.virtual_time.zero_vruntime;
        let vruntimes = || cfs_rq.timeline.iter().map(|(_, se)| self.entities[se].vruntime);
        VirtualTimesSnapshot {
            first_deadline: cfs_rq.timeline.first_vruntime(),
            min_vruntime: vruntimes().min_by_key(|vruntime| vruntime.wrapping_sub(origin) as i64),
            zero_vruntime: origin,
            avg_vruntime: cfs_rq.virtual_time.clone().advance(running),
            last_vruntime: vruntimes().last(),
        }
    }

    /// Reports whether a woken task preempts the running one.
    #[cold]
    pub(super) fn report_preemption(&self, ctx: &mut Ctx<'_>, rq: &Rq, tasks: &Tasks, task: TaskId, rule: PreemptRule) {
        let curr = rq.curr;
        let (running, woken) = self.find_matching_se(tasks[curr].se, tasks[task].se);
        let cfs_rq = self.entities[woken].cfs_rq;
        let decision = PreemptDecision {
            cpu: rq.cpu,
            task,
            curr,
            rule,
            queue: self.queue_lag_of(cfs_rq),
            woken: self.pick_candidate(cfs_rq, woken),
            running: self.pick_candidate(cfs_rq, running),
        };
        ctx.report(Event::Eevdf(EevdfEvent::Preempt(&decision)));
    }

    /// Returns the virtual times of a task.
    pub(in crate::classes::fair) fn lag_snapshot_eevdf(&self, task: &Task) -> EntityLag {
        EntityLag { cpu: task.cpu, ..self.entity_lag_snapshot(task.se) }
    }

    /// Reports the virtual times of a fair task and of each group above it, if an observer wants them.
    #[inline]
    pub(in crate::classes::fair) fn report_lags_eevdf(&self, ctx: &mut Ctx<'_>, task: &Task, moment: LagMoment) {
        if ctx.wants_lags {
            self.report_lags_upwards(ctx, task, moment);
        }
    }

    #[cold]
    fn report_lags_upwards(&self, ctx: &mut Ctx<'_>, task: &Task, moment: LagMoment) {
        let mut entity = Some(task.se).filter(|_| task.class == SchedClass::Fair);
        while let Some(se) = entity {
            let (cfs_rq, parent) = self.place_of(se);
            let (lag, queue) = (self.entity_lag_snapshot(se), self.queue_lag_of(cfs_rq));
            ctx.report(Event::Lag { moment, entity: &lag, queue: &queue });
            entity = parent;
        }
    }
}
