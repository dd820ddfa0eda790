// SPDX-License-Identifier: GPL-2.0-or-later
//! The idlest CPU of a domain, for tasks that are new or begin another program.
//!
//! Models `find_idlest_cpu()` and `find_idlest_group_cpu()` (6.1). Nothing is warm in any cache, so the search goes from the
//! widest domain down and is not afraid of work; [`super::idlest_group`] compares the groups of one level, or, as before 5.5,
//! [`super::idlest_group_by_load`].

use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{WakeKind, WakeRule, WakeupDecision};
use crate::state::State;
use crate::state::topology::{DomainId, SchedGroupId};
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::Nanos;
use crate::types::work::KernelOp;

impl State {
    /// Searches a domain of this CPU for the idlest CPU.
    ///
    /// Rules, in order:
    /// 1. Without any CPU there that the task may use: its previous one.
    /// 2. Blocked utilisation of the task is decayed first, unless it is new.
    /// 3. At each level, from the widest down: the idlest group, then the idlest CPU in it. If that is another CPU, the
    ///    search goes on with that one's next narrower domain; otherwise with the next narrower of the same CPU.
    pub(crate) fn find_idlest_cpu(&mut self, ctx: &mut Ctx<'_>, widest: DomainId, decision: &mut WakeupDecision) {
        let WakeupDecision { task, kind, prev, waker, .. } = *decision;
        let (p, span) = (&self.tasks[task.index()], &self.domains.domains[widest].span);
        if !span.intersects(&p.cpus_allowed) {
            return decision.choose(prev, WakeRule::SlowPathNotAllowed);
        }
        if kind != WakeKind::Fork {
            self.sync_entity_load_avg(ctx, p.se);
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

    /// The idlest CPU of a group.
    ///
    /// Rules, in order:
    /// 1. A group of one CPU has no other.
    /// 2. The first CPU that runs only SCHED_IDLE tasks.
    /// 3. Of the idle CPUs the one whose idle state can be left the soonest; of equals, the one that went idle last, since its
    ///    caches are the warmest. A CPU that is in no idle state is compared only by that.
    /// 4. The least loaded CPU before the first idle one, or `this_cpu`.
    ///
    /// Before 5.5 an idle CPU came before one that runs only SCHED_IDLE tasks, and load was that of what is runnable.
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
        for cpu in group.span.iter_and(&self.tasks[task.index()].cpus_allowed) {
            ctx.charge(KernelOp::ScanCpu);
            ctx.work.touch_read(cpu);
            let has_only_idle_tasks = self.is_idle_but_for_idle_tasks(cpu);
            if has_only_idle_tasks && !by_runnable {
                return cpu;
            }
            if self.available_idle_cpu(cpu) {
                let rq = &self.rqs[cpu.index()];
                let latency = rq.idle_exit_latency.unwrap_or(min_latency);
                if latency < min_latency || (latency == min_latency && rq.idle_stamp > latest_stamp) {
                    (best_idle, min_latency, latest_stamp) = (Some(cpu), latency, rq.idle_stamp);
                }
            } else if has_only_idle_tasks {
                only_idle_tasks = only_idle_tasks.or(Some(cpu));
            } else if best_idle.is_none() {
                let load = if by_runnable { self.cpu_runnable_load(cpu) } else { self.cpu_load(cpu) };
                if load < min_load {
                    (least_loaded, min_load) = (cpu, load);
                }
            }
        }
        best_idle.or(only_idle_tasks).unwrap_or(least_loaded)
    }
}
