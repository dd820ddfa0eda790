// SPDX-License-Identifier: GPL-2.0-or-later
//! Policy hook of wake-ups: a user's policy that selects a CPU in place of the kernel's rules.
//!
//! The kernel has no such hook (sched_ext came later, and is a separate class). The samples of a policy are a
//! scan like the kernel's own: each sees the CPU at the moment of the sample, and the caller decides when the
//! scan yields.

use super::search::{IdleScan, ScanBudget, ScanOrder, Selection};
use crate::interface::ctx::Ctx;
use crate::interface::policy::{CpuSample, WakeChoice, WakeRequest};
use crate::interface::wakeup::{WakeFlags, WakeRule, WakeupDecision};
use crate::state::State;
use crate::state::fair_tree::FairTree;
use crate::state::rq::Rq;
use crate::types::features::FeatureSet;
use crate::types::ids::CpuId;
use crate::types::tunables::Tunables;
use crate::types::work::KernelOp;

/// Position of a policy's scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WakePolicyScan {
    /// CPU that is sampled next.
    next: CpuId,
    /// Number of samples so far.
    nr_looks: u32,
    /// Kind of the wake-up for which a CPU is selected.
    flags: WakeFlags,
    /// CPU that the policy has chosen; `None` leaves the choice to the kernel's rules.
    choice: Option<CpuId>,
}

impl State {
    /// Lets the policy hook select a CPU.
    ///
    /// Rules, in order:
    /// 1. The CPU that it returns is chosen, if the task may use it.
    /// 2. If it requests a sample first, a scan begins; the hook is called again after each sample.
    /// 3. If it leaves the choice to the kernel, the kernel's rules decide as they would without it.
    /// 4. An invalid choice counts as rule 3, and is stored in the policy slot.
    pub(super) fn scan_by_policy(
        &mut self,
        ctx: &mut Ctx<'_>,
        decision: WakeupDecision,
        flags: WakeFlags,
    ) -> Selection {
        match self.policy_choice(ctx, &decision, flags, None, 0) {
            WakeChoice::Sample(next) => {
                let scan = ScanOrder::Policy(WakePolicyScan { next, nr_looks: 0, flags, choice: None });
                Selection::Search(IdleScan::new(scan, decision, Self::conclude_policy))
            }
            WakeChoice::Cpu(cpu) => Selection::chosen(decision, cpu, WakeRule::Policy),
            WakeChoice::Kernel | WakeChoice::Fail(_) => self.select_by_rules(ctx, decision, flags),
        }
    }

    /// Applies rule 2 of [`State::scan_by_policy`] within the budget. Returns whether the scan is over.
    pub(super) fn scan_for_policy(
        &self,
        ctx: &mut Ctx<'_>,
        scan: &mut WakePolicyScan,
        decision: &mut WakeupDecision,
        mut scan_budget: ScanBudget,
    ) -> bool {
        while scan_budget.take() {
            ctx.charge(KernelOp::ScanCpu);
            ctx.op_counts.touch_read(scan.next);
            scan.nr_looks += 1;
            decision.nr_scanned += 1;
            let look = self.fair.sample_cpu(self.features, &self.tunables, &self.rqs[scan.next]);
            match self.policy_choice(ctx, decision, scan.flags, Some(&look), scan.nr_looks) {
                WakeChoice::Sample(next) => scan.next = next,
                WakeChoice::Cpu(cpu) => {
                    scan.choice = Some(cpu);
                    return true;
                }
                WakeChoice::Kernel | WakeChoice::Fail(_) => return true,
            }
        }
        false
    }

    /// Applies rules 1 and 3 of [`State::scan_by_policy`] at the end of the scan.
    fn conclude_policy(&mut self, ctx: &mut Ctx<'_>, search: IdleScan) -> Selection {
        let ScanOrder::Policy(WakePolicyScan { choice: answer, flags, .. }) = search.order else {
            unreachable!("not a scan of a policy hook: {:?}", search.order)
        };
        match answer {
            Some(cpu) => Selection::chosen(search.decision, cpu, WakeRule::Policy),
            None => self.select_by_rules(ctx, search.decision, flags),
        }
    }

    /// Returns the choice of the policy hook, before or after a sample.
    fn policy_choice(
        &self,
        ctx: &mut Ctx<'_>,
        decision: &WakeupDecision,
        flags: WakeFlags,
        seen: Option<&CpuSample>,
        nr_looks: u32,
    ) -> WakeChoice {
        let now = ctx.now;
        let Some(seat) = ctx.policy.as_deref_mut() else { return WakeChoice::Kernel };
        let &WakeupDecision { task, prev, waker, sync, .. } = decision;
        let p = &self.tasks[task];
        let request = WakeRequest {
            now,
            task,
            pid: p.pid,
            prev,
            waker,
            sync,
            in_interrupt: flags.in_interrupt,
            util: self.entity(task).avg.task_util_est(),
            allowed: &p.cpus_allowed,
            active: &self.hotplug.active,
            cache: self.domains.cpus[prev].sd_llc.map(|sd| &self.domains.domains[sd].span),
        };
        seat.choose_cpu(&request, seen, nr_looks)
    }
}

impl FairTree {
    /// Samples a CPU for a policy hook.
    pub(crate) fn sample_cpu(&self, features: FeatureSet, tunables: &Tunables, rq: &Rq) -> CpuSample {
        CpuSample {
            cpu: rq.cpu,
            is_idle: self.is_idle_for_wakeup(tunables, rq),
            nr_running: rq.nr_running,
            util: self.cpu_util_cfs(features, rq),
            load: self.root_cfs_rq(rq.cpu).avg.load_avg,
            capacity_orig: rq.cpu_capacity_orig,
            capacity: rq.cpu_capacity,
        }
    }
}
