// SPDX-License-Identifier: GPL-2.0-or-later
//! Decay of blocked load: averages of tasks that have left recently.
//!
//! Models `update_blocked_averages()`, `__update_blocked_fair()`, `cfs_rq_is_decayed()` and
//! `update_nohz_stats()` (6.1).

use crate::interface::blocked::{BlockedCaller, BlockedUpdate};
use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::state::State;
use crate::state::task::SchedClass;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::ids::{CfsRqId, CpuId};
use crate::types::work::KernelOp;

impl State {
    /// Updates all averages of a CPU. Clears `has_blocked_load` if nothing is left to decay.
    pub(crate) fn update_blocked_averages(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, caller: BlockedCaller) {
        let visited_before = ctx.op_counts.get(KernelOp::BlockedCfsRq);
        let rq = self.rq_lock(cpu);
        self.nohz.cpus[cpu].last_blocked_load_update_tick = self.jiffies;
        self.update_rq_clock(ctx, &rq);
        let rq = &mut self.rqs[cpu];
        let class = self.tasks[rq.curr].class;
        let mut has_decayed = rq.update_rt_rq_load_avg(ctx, &self.tunables, class == SchedClass::RealTime);
        has_decayed |= rq.update_dl_rq_load_avg(ctx, &self.tunables, class == SchedClass::Deadline);
        has_decayed |= self.tracks_thermal && rq.update_thermal_load_avg(ctx, &self.tunables);
        has_decayed |= rq.update_irq_load_avg(ctx, &self.tunables, 0);
        let mut has_blocked = rq.other_classes_have_blocked();
        has_decayed |= self.update_blocked_fair(ctx, cpu, &mut has_blocked);
        if !has_blocked {
            self.nohz.cpus[cpu].has_blocked_load = false;
        }
        if has_decayed {
            self.cpufreq_update_util(ctx, cpu);
        }
        let nr_cfs_rqs = ctx.op_counts.get(KernelOp::BlockedCfsRq) - visited_before;
        ctx.report(Event::BlockedUpdate(&BlockedUpdate { on: ctx.cpu, cpu, caller, nr_cfs_rqs }));
    }

    /// Updates the cfs_rqs that have load, children before parents. Returns whether the root's averages
    /// changed.
    ///
    /// For each cfs_rq:
    /// 1. Update its averages, and their contribution to the group.
    /// 2. Update those of its entity, if that has anything to decay or to propagate.
    /// 3. Remove the cfs_rq from the list if nothing is left, so that the next update is shorter.
    fn update_blocked_fair(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, has_blocked: &mut bool) -> bool {
        let root = CfsRqId::root(cpu);
        let mut root_changed = false;
        let mut next = self.rqs[cpu].leaf_list.first();
        while let Some(id) = next {
            ctx.charge(KernelOp::BlockedCfsRq);
            let (cfs_rq, rq) = (&mut self.fair.cfs_rqs[id], &self.rqs[cpu]);
            next = cfs_rq.next_leaf();
            if cfs_rq.update_load_avg(ctx, cfs_rq.clock_pelt(rq), rq.contribution_scale(&self.tunables)) {
                self.lb_cache.mark_cfs_rq_dirty(id);
                self.update_tg_load_avg(ctx, id);
                let cfs_rq = &mut self.fair.cfs_rqs[id];
                if cfs_rq.nr_running == 0 {
                    cfs_rq.update_idle_cfs_rq_clock_pelt();
                }
                root_changed |= id == root;
            }
            if let Some(se) = self.fair.cfs_rqs[id].entity
                && !self.fair.skip_blocked_update(se)
            {
                let (above, _) = self.fair.place_of(se);
                self.update_load_avg(ctx, above, se, UpdateLoad::TG);
            }
            if self.fair.cfs_rq_is_decayed(&self.rqs[cpu], &self.rules, id) {
                self.rqs[cpu].leaf_list.remove(&mut self.fair.cfs_rqs, id);
            }
            let avg = &self.fair.cfs_rqs[id].avg;
            *has_blocked |= avg.load_avg > 0 || avg.util_avg > 0;
        }
        root_changed
    }

    /// Updates the averages of a tickless CPU, at most once in a tick. Returns whether the CPU has blocked
    /// load.
    ///
    /// The tunable `blocked_limit` makes updates less frequent.
    pub(crate) fn update_nohz_stats(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, caller: BlockedCaller) -> bool {
        if self.nohz.nohz_stats_are_due(&self.tunables, self.jiffies, cpu) {
            self.update_blocked_averages(ctx, cpu, caller);
        }
        self.nohz.cpus[cpu].has_blocked_load && self.nohz.idle_cpus_mask.contains(cpu)
    }
}
