// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle CPU near the target of a wake-up: likely CPUs first, then a scan.
//!
//! Models `select_idle_sibling()` and `available_idle_cpu()` (6.1 and 6.12). There is no hypervisor that could preempt
//! an idle CPU, so `available_idle_cpu()` is `idle_cpu()`.

use super::search::Selection;
use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{WakeRule, WakeupDecision};
use crate::state::State;
use crate::track::fits::ClampedUtil;
use crate::types::ids::CpuId;

impl State {
    /// Searches for an idle CPU near the target of a wake-up. CPUs that run only SCHED_IDLE tasks count as
    /// idle.
    ///
    /// Rules, in order; with asymmetric capacities, a CPU of rules 1 to 4 must also fit the task:
    /// 1. The target itself.
    /// 2. The previous CPU, if it shares the target's cache.
    /// 3. The previous CPU even if busy, if it is this CPU and the waker is a per-CPU kernel thread: for
    ///    example a worker that has completed the work for which the task waits, and that sleeps next.
    /// 4. The CPU before the previous one (`recent_used_cpu`), if it shares the target's cache. The previous
    ///    one takes its place in the record.
    /// 5. With asymmetric capacities: a scan over all capacities, whose result is final.
    /// 6. Without a cache domain, the target.
    /// 7. With SMT, and if no core is expected to be idle: a sibling of the previous CPU, if that shares the
    ///    target's cache.
    /// 8. A scan of the cache domain; the target if it finds no CPU.
    pub(crate) fn select_idle_sibling(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut decision: WakeupDecision,
        in_interrupt: bool,
    ) -> Selection {
        let util = self.domains.asym_cpucapacity.then(|| {
            self.fair.sync_entity_load_avg(ctx, self.tasks[decision.task].se);
            self.clamped_util(decision.task)
        });
        let mut fallback = None;
        if let Some((cpu, rule)) = self.guess_idle_cpu(ctx, &decision, util, in_interrupt, &mut fallback) {
            return Selection::chosen(decision, cpu, rule);
        }
        let WakeupDecision { prev, target, .. } = decision;
        let at_hand = self.domains.cpus[target];
        if let (Some(util), Some(sd)) = (util, at_hand.sd_asym_cpucapacity) {
            return self.select_idle_capacity(sd, util, decision);
        }
        let Some(sd) = at_hand.sd_llc else {
            return Selection::chosen(decision, target, WakeRule::NoCacheDomain);
        };
        if self.domains.cluster_active {
            return self.select_in_clusters(ctx, sd, decision, fallback);
        }
        if !self.domains.smt_present {
            return self.select_idle_cpu(ctx, sd, decision);
        }
        if self.domains.test_idle_cores(target) {
            return self.select_idle_core(ctx, sd, decision);
        }
        if self.domains.cpus_share_cache(prev, target)
            && let Some(cpu) = self.select_idle_smt(ctx, sd, &mut decision)
        {
            return Selection::chosen(decision, cpu, WakeRule::IdleSmt);
        }
        self.select_idle_cpu(ctx, sd, decision)
    }

    /// Applies rules 1 to 4 of [`State::select_idle_sibling`]. With clusters (6.12), a CPU of rules 2 and 4 in another
    /// cluster than the target's is not chosen but becomes the fallback.
    fn guess_idle_cpu(
        &mut self,
        ctx: &mut Ctx<'_>,
        decision: &WakeupDecision,
        util: Option<ClampedUtil>,
        in_interrupt: bool,
        fallback: &mut Option<(CpuId, WakeRule)>,
    ) -> Option<(CpuId, WakeRule)> {
        let &WakeupDecision { task, prev, target, .. } = decision;
        let this_cpu = ctx.cpu;
        let mut is_idle = |cpu| {
            ctx.op_counts.touch_read(cpu);
            let rq = &self.rqs[cpu];
            self.fair.is_idle_for_wakeup(&self.tunables, rq) && rq.asym_fits(util, &self.rules, self.uclamp_used)
        };
        if is_idle(target) {
            return Some((target, WakeRule::TargetIdle));
        }
        if prev != target && self.domains.cpus_share_cache(prev, target) && is_idle(prev) {
            if self.domains.is_in_other_cluster(prev, target) {
                *fallback = Some((prev, WakeRule::PrevIdle));
            } else {
                return Some((prev, WakeRule::PrevIdle));
            }
        }
        let this_rq = &self.rqs[this_cpu];
        if prev == this_cpu
            && !in_interrupt
            && self.tasks[this_rq.curr].is_per_cpu_kthread
            && this_rq.nr_running <= 1
            && this_rq.asym_fits(util, &self.rules, self.uclamp_used)
        {
            return Some((prev, WakeRule::PerCpuKthread));
        }
        let recent = self.tasks[task].recent_used_cpu;
        let is_recent_idle = recent != prev
            && recent != target
            && self.domains.cpus_share_cache(recent, target)
            && self.tasks[task].cpus_allowed.contains(recent)
            && is_idle(recent);
        self.tasks[task].recent_used_cpu = prev;
        if is_recent_idle && self.domains.is_in_other_cluster(recent, target) {
            fallback.get_or_insert((recent, WakeRule::RecentUsedIdle));
            return None;
        }
        is_recent_idle.then_some((recent, WakeRule::RecentUsedIdle))
    }
}
