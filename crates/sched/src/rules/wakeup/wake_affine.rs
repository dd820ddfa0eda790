// SPDX-License-Identifier: GPL-2.0-or-later
//! Affine wake-ups: whether the target is the waker's CPU or the task's previous one.
//!
//! Models `wake_affine()`, `wake_affine_idle()` and `wake_affine_weight()` (6.1). The target is only the CPU
//! at which the search for an idle CPU starts.

use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{AffineRule, WakeupDecision};
use crate::state::State;
use crate::state::counters::DomainCounter;
use crate::state::topology::DomainId;
use crate::types::features::Feature;

impl State {
    /// Chooses the target of a wake-up between the waker's CPU and the previous one, which are different.
    ///
    /// Rules, in order:
    /// 1. WA_IDLE.
    /// 2. If that is undecided, WA_WEIGHT.
    /// 3. Otherwise the previous CPU.
    ///
    /// A pull is counted in the domain (`ttwu_move_affine`).
    pub(crate) fn wake_affine(&mut self, ctx: &mut Ctx<'_>, sd: DomainId, decision: &mut WakeupDecision) {
        let mut rule = None;
        ctx.op_counts.touch_read(decision.prev);
        ctx.op_counts.touch_read(decision.waker);
        if self.features.has(Feature::WaIdle) {
            rule = self.wake_affine_idle(decision);
        }
        if rule.is_none() && self.features.has(Feature::WaWeight) {
            rule = Some(self.wake_affine_weight(sd, decision));
        }
        decision.affine = rule.unwrap_or(AffineRule::NotCompared);
        decision.target = if decision.affine.is_pull() { decision.waker } else { decision.prev };
        if decision.affine.is_pull() {
            self.domains.domains[sd].count(ctx, DomainCounter::TtwuMoveAffine, 1);
        }
    }

    /// Applies WA_IDLE; `None` if undecided.
    ///
    /// Rules, in order:
    /// 1. The waker's CPU is idle and shares the cache: the waker's CPU, unless the previous CPU is idle too.
    /// 2. The waker is about to sleep and is alone on its CPU: the waker's CPU.
    /// 3. The previous CPU is idle: the previous CPU.
    fn wake_affine_idle(&self, decision: &WakeupDecision) -> Option<AffineRule> {
        let (this_cpu, prev) = (decision.waker, decision.prev);
        let is_prev_idle = self.rqs[prev].is_idle();
        if self.rqs[this_cpu].is_idle() && self.domains.cpus_share_cache(this_cpu, prev) {
            Some(if is_prev_idle { AffineRule::BothIdle } else { AffineRule::ThisIdle })
        } else if decision.sync && self.fair.runnable_tasks(&self.rules, &self.rqs[this_cpu]) == 1 {
            Some(AffineRule::SyncAlone)
        } else {
            is_prev_idle.then_some(AffineRule::PrevIdle)
        }
    }

    /// Compares the loads that both CPUs would have with the task, in proportion to the capacity that the
    /// fair class has there.
    ///
    /// Rules, in order:
    /// 1. A waker that is about to sleep does not count; if its load exceeds that of its CPU, this CPU is
    ///    chosen at once.
    /// 2. The task's load is moved from the previous CPU to the waker's.
    /// 3. WA_BIAS: half of the domain's imbalance margin favours the waker's CPU.
    /// 4. The waker's CPU must be less loaded; for a waker that is about to sleep, an equal load is enough.
    fn wake_affine_weight(&mut self, sd: DomainId, decision: &WakeupDecision) -> AffineRule {
        let (this_cpu, prev) = (decision.waker, decision.prev);
        let mut this_load = self.fair.root_cfs_rq(this_cpu).avg.load_avg as i64;
        if decision.sync {
            let waker_load = self.fair.task_h_load(self.tasks[self.rqs[this_cpu].curr].se, self.jiffies) as i64;
            // Compared as unsigned numbers.
            if waker_load as u64 > this_load as u64 {
                return AffineRule::SyncAllLoad;
            }
            this_load = this_load.wrapping_sub(waker_load);
        }
        let task_load = self.fair.task_h_load(self.tasks[decision.task].se, self.jiffies) as i64;
        let (this_percent, prev_percent) = if self.features.has(Feature::WaBias) {
            (100, 100 + i64::from((self.domains.domains[sd].imbalance_pct - 100) / 2))
        } else {
            (1, 1)
        };
        let scale = |load: i64, percent: i64, other_cpu| {
            load.wrapping_mul(percent).wrapping_mul(self.rqs[other_cpu].cpu_capacity as i64)
        };
        let this_eff_load = scale(this_load.wrapping_add(task_load), this_percent, prev);
        let prev_eff_load =
            scale((self.fair.root_cfs_rq(prev).avg.load_avg as i64).wrapping_sub(task_load), prev_percent, this_cpu);
        if this_eff_load < prev_eff_load.wrapping_add(i64::from(decision.sync)) {
            AffineRule::LessLoad
        } else {
            AffineRule::NotLessLoad
        }
    }
}

impl AffineRule {
    /// Whether this rule makes the waker's CPU the target.
    pub const fn is_pull(self) -> bool {
        matches!(self, Self::ThisIdle | Self::SyncAlone | Self::SyncAllLoad | Self::LessLoad)
    }
}
