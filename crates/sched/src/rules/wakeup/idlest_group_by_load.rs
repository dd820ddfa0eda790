// SPDX-License-Identifier: GPL-2.0-or-later
//! Which group of a domain is the idlest, as kernels before 5.5 saw it: by loads, not by classes of groups.
//!
//! Models what `find_idlest_group()` did before "Rework find_idlest_group()" (5.5), and `capacity_spare_without()` (until 4.19
//! `capacity_spare_wake()`). The group with the least *runnable load* (of what is queued) wins; *load* (with what sleeps) decides
//! where runnable loads are close. A task that calls exec has a utilisation, so room for it counts before all that.
//!
//! Left out: load indexes. Where forks and execs were balanced theirs was 0, so that loads were those of the moment.

use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{WakeKind, WakeupDecision};
use crate::state::State;
use crate::state::topology::{DomainId, SchedGroup, SchedGroupId, SdFlags};
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};
use crate::types::units::SCHED_CAPACITY_SCALE;
use crate::types::weight::{NICE_0_LOAD, scale_load_down};
use crate::types::work::KernelOp;

/// What a group is like. Loads are in proportion to its capacity.
#[derive(Clone, Copy, Debug)]
struct Loads {
    runnable: u64,
    with_sleepers: u64,
    /// What the CPU with the most room has left.
    spare: u64,
}

impl Loads {
    /// Before any group was seen.
    const NONE: Self = Self { runnable: u64::MAX, with_sleepers: u64::MAX, spare: 0 };
}

/// How much loads of a domain's groups may differ.
#[derive(Clone, Copy, Debug)]
struct Margin {
    /// Runnable loads that differ by less than this are close.
    imbalance: u64,
    /// By how many percent one of two other figures must exceed the other, and 100.
    scale: u64,
}

impl Margin {
    const fn of(imbalance_pct: u32) -> Self {
        let above = imbalance_pct as u64 - 100;
        Self { imbalance: scale_load_down(NICE_0_LOAD) * above / 100, scale: 100 + above / 2 }
    }

    /// Whether one figure is less than another one by more than half of the domain's margin.
    const fn is_clearly_less(self, a: u64, b: u64) -> bool {
        a.saturating_mul(self.scale) < b.saturating_mul(100)
    }
}

impl State {
    /// The idlest group of a domain for a task, or `None` if the group of `this_cpu` is as good.
    ///
    /// Rules, in order; groups without CPUs that the task may use do not count:
    /// 1. Exec: the local group if a CPU there has room for half of the task and the roomiest CPU elsewhere has not clearly more; or
    ///    else the group of that one, if it has room for half of the task.
    /// 2. Without another group, the local one.
    /// 3. Between nodes the local group, unless its runnable load exceeds the least one by more than the margin.
    /// 4. The local group if its runnable load is less by more than the margin; and if it is not more by that much, and its load is
    ///    clearly less.
    /// 5. The other group of least load.
    pub(crate) fn find_idlest_group_by_load(
        &self,
        ctx: &mut Ctx<'_>,
        sd: DomainId,
        this_cpu: CpuId,
        decision: &mut WakeupDecision,
    ) -> Option<SchedGroupId> {
        let domain = &self.domains.domains[sd];
        let margin = Margin::of(domain.imbalance_pct);
        let (task, kind) = (decision.task, decision.kind);
        let (mut local, mut least) = (Loads::NONE, Loads::NONE);
        let (mut idlest, mut roomiest) = (None, None);
        for id in self.domains.ring(sd) {
            let group = &self.domains.groups[id];
            if !group.span.intersects(&self.tasks[task.index()].cpus_allowed) {
                continue;
            }
            let loads = self.loads_of(ctx, group, task);
            decision.nr_scanned += group.group_weight;
            if group.span.contains(this_cpu) {
                local = loads;
                continue;
            }
            if least.runnable > loads.runnable.saturating_add(margin.imbalance) {
                (least.runnable, least.with_sleepers, idlest) = (loads.runnable, loads.with_sleepers, Some(id));
            } else if loads.runnable < least.runnable.saturating_add(margin.imbalance)
                && margin.is_clearly_less(loads.with_sleepers, least.with_sleepers)
            {
                // Close by what is runnable: that stays what others are compared with.
                (least.with_sleepers, idlest) = (loads.with_sleepers, Some(id));
            }
            if loads.spare > least.spare {
                (least.spare, roomiest) = (loads.spare, Some(id));
            }
        }
        // What a new task will use is not known before it has a CPU.
        if kind != WakeKind::Fork {
            let half = self.task_avg(task).util_avg / 2;
            if local.spare > half && local.spare.saturating_mul(margin.scale) > least.spare.saturating_mul(100) {
                return None;
            }
            if least.spare > half {
                return roomiest;
            }
        }
        let far = least.runnable.saturating_add(margin.imbalance);
        let stays_near = domain.flags.contains(SdFlags::NUMA) && far >= local.runnable;
        // Without a local group the kernel's sum wraps, and so it does here: then only a nearly idle group is better.
        let is_local_lower = least.runnable > local.runnable.wrapping_add(margin.imbalance);
        let is_local_idler = local.runnable < far && margin.is_clearly_less(local.with_sleepers, least.with_sleepers);
        idlest.filter(|_| !stays_near && !is_local_lower && !is_local_idler)
    }

    /// Looks at all CPUs of a group, those that the task may not use among them.
    fn loads_of(&self, ctx: &mut Ctx<'_>, group: &SchedGroup, task: TaskId) -> Loads {
        let capacity = self.domains.capacities[group.capacity].capacity;
        let mut sums = Loads { runnable: 0, with_sleepers: 0, spare: 0 };
        for cpu in group.span.iter() {
            ctx.charge(KernelOp::GroupStatCpu);
            ctx.work.touch_read(cpu);
            sums.runnable += self.cpu_runnable_load(cpu);
            sums.with_sleepers += self.cpu_load(cpu);
            let spare = self.capacity_of(cpu).saturating_sub(self.cpu_util_without(cpu, task));
            sums.spare = sums.spare.max(spare);
        }
        let in_proportion = |load: u64| load * SCHED_CAPACITY_SCALE / capacity;
        Loads { runnable: in_proportion(sums.runnable), with_sleepers: in_proportion(sums.with_sleepers), ..sums }
    }

    /// Load of what is runnable on a CPU: `weighted_cpuload()`, in 5.4 `cpu_runnable_load()`.
    // DIFFERS: the kernels that had it kept an average of its own, which decays with time between updates; here it is the sum of the
    // loads of queued entities as they are, and a group counts by the part of its load that is queued.
    pub(crate) fn cpu_runnable_load(&self, cpu: CpuId) -> u64 {
        self.runnable_load(CfsRqId::from_index(cpu.index()))
    }

    fn runnable_load(&self, cfs_rq: CfsRqId) -> u64 {
        let cfs_rq = &self.cfs_rqs[cfs_rq.index()];
        let waiting: u64 = cfs_rq.timeline.iter().map(|(_, se)| self.runnable_load_of_entity(se)).sum();
        waiting + cfs_rq.curr.map_or(0, |se| self.runnable_load_of_entity(se))
    }

    fn runnable_load_of_entity(&self, se: EntityId) -> u64 {
        let se = &self.entities[se.index()];
        let load = se.avg.load_avg;
        match se.my_q() {
            None => load,
            Some(inner) => {
                let all = self.cfs_rqs[inner.index()].avg.load_avg.max(1);
                load * self.runnable_load(inner).min(all) / all
            }
        }
    }
}
