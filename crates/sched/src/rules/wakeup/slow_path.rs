// SPDX-License-Identifier: GPL-2.0-or-later
//! Slow path of CPU selection: the idlest CPU of a domain, at fork and exec.
//!
//! Models `find_idlest_cpu()` and `find_idlest_group_cpu()` (6.1). The task has no warm cache, so the search
//! goes from the widest domain down and may be expensive. [`super::idlest_group`] compares the groups of one
//! level, or, as before 5.5, [`super::idlest_group_by_load`].

use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{WakeKind, WakeRule, WakeupDecision};
use crate::state::State;
use crate::state::topology::{DomainId, SchedGroupId};
use crate::types::ids::{CfsRqId, CpuId, TaskId};
use crate::types::units::Nanos;
use crate::types::work::KernelOp;

impl State {
    /// Searches a domain of this CPU for the idlest CPU.
    ///
    /// Rules, in order:
    /// 1. If the domain contains no allowed CPU: the previous CPU.
    /// 2. The blocked utilisation of the task is decayed first, unless the task is new.
    /// 3. At each level, from the widest down: the idlest group, then its idlest CPU. If that is another CPU,
    ///    the search continues with the next narrower domain of that CPU; otherwise with the next narrower
    ///    domain of the same CPU.
    pub(crate) fn find_idlest_cpu(&mut self, ctx: &mut Ctx<'_>, widest: DomainId, decision: &mut WakeupDecision) {
        let WakeupDecision { task, kind, prev, waker, .. } = *decision;
        let (p, span) = (&self.tasks[task], &self.domains.domains[widest].span);
        if !span.intersects(&p.cpus_allowed) {
            return decision.choose(prev, WakeRule::SlowPathNotAllowed);
        }
        if kind != WakeKind::Fork {
            self.fair.sync_entity_load_avg(ctx, p.se);
        }
        let occasion = kind.domain_flag();
        let mut cpu = waker;
        let mut level = Some(widest);
        while let Some(sd) = level {
            level = self.domains.domains[sd].child;
            if !self.domains.domains[sd].flags.contains(occasion) {
                continue;
            }
            let group = if self.tunables.changes.fork_by_load {
                self.find_idlest_group_by_load(ctx, sd, cpu, decision)
            } else {
                self.find_idlest_group(ctx, sd, cpu, decision)
            };
            let Some(group) = group else { continue };
            let idlest = self.find_idlest_group_cpu(ctx, group, task, cpu);
            if idlest != cpu {
                cpu = idlest;
                let width = self.domains.domains[sd].span_weight;
                let narrower = self.domains.chain(cpu).take_while(|&sd| self.domains.domains[sd].span_weight < width);
                level = narrower.filter(|&sd| self.domains.domains[sd].flags.contains(occasion)).last();
            }
        }
        decision.choose(cpu, if cpu == waker { WakeRule::SlowPathStays } else { WakeRule::SlowPathIdlest });
    }

    /// Returns the idlest CPU of a group.
    ///
    /// Rules, in order:
    /// 1. The only CPU of a group of one.
    /// 2. The first CPU that runs only SCHED_IDLE tasks.
    /// 3. The idle CPU with the shortest exit latency; among equals, the one that went idle last, because its
    ///    caches are the warmest. A CPU outside idle states is compared only by that time.
    /// 4. The least loaded CPU before the first idle one, or `this_cpu`.
    ///
    /// With the tunable `fork_by_load`, as before 5.5, an idle CPU comes before one that runs only SCHED_IDLE
    /// tasks, and load is the runnable load.
    pub(crate) fn find_idlest_group_cpu(
        &self,
        ctx: &mut Ctx<'_>,
        group: SchedGroupId,
        task: TaskId,
        this_cpu: CpuId,
    ) -> CpuId {
        let group = &self.domains.groups[group];
        if group.group_weight == 1 {
            return group.span.first().expect("a group of one CPU has one");
        }
        let (mut least_loaded, mut min_load) = (this_cpu, u64::MAX);
        let (mut best_idle, mut min_latency, mut latest_stamp) = (None, Nanos::NEVER, 0);
        let by_runnable = self.tunables.changes.fork_by_load;
        let mut only_idle_tasks = None;
        for cpu in group.span.iter_and(&self.tasks[task].cpus_allowed) {
            ctx.charge(KernelOp::ScanCpu);
            ctx.op_counts.touch_read(cpu);
            let has_only_idle_tasks = self.fair.is_idle_but_for_idle_tasks(&self.tunables, &self.rqs[cpu]);
            if has_only_idle_tasks && !by_runnable {
                return cpu;
            }
            if self.rqs[cpu].is_idle() {
                let rq = &self.rqs[cpu];
                let latency = rq.idle_exit_latency.unwrap_or(min_latency);
                if latency < min_latency || (latency == min_latency && rq.idle_stamp > latest_stamp) {
                    (best_idle, min_latency, latest_stamp) = (Some(cpu), latency, rq.idle_stamp);
                }
            } else if has_only_idle_tasks {
                only_idle_tasks = only_idle_tasks.or(Some(cpu));
            } else if best_idle.is_none() {
                let root = CfsRqId::root(cpu);
                let load =
                    if by_runnable { self.fair.runnable_load(root) } else { self.fair.cfs_rqs[root].avg.load_avg };
                if load < min_load {
                    (least_loaded, min_load) = (cpu, load);
                }
            }
        }
        best_idle.or(only_idle_tasks).unwrap_or(least_loaded)
    }
}
