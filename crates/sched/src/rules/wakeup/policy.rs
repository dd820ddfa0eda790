// SPDX-License-Identifier: GPL-2.0-or-later
//! The selection of a CPU by somebody's own policy, in the place of the kernel's rules.
//!
//! The kernel has nothing of the kind (sched_ext came later, and is another class). A policy's looks are a search like the kernel's own: each sees a
//! CPU as it is when the search comes to it, and pauses are the affair of who carries it on.

use super::search::{IdleScan, ScanBudget, ScanOrder, Selection};
use crate::interface::ctx::Ctx;
use crate::interface::policy::{CpuSample, WakeChoice, WakeRequest};
use crate::interface::wakeup::{WakeFlags, WakeRule, WakeupDecision};
use crate::state::State;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;

/// Where a policy's search is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicyScanOrder {
    /// The CPU that is looked at next.
    next: CpuId,
    /// How many looks there were.
    nr_looks: u32,
    /// Why a CPU is selected.
    flags: WakeFlags,
    /// What the policy has come to; `None`: the kernel's rules are to decide.
    answer: Option<CpuId>,
}

impl State {
    /// Asks the policy for a CPU.
    ///
    /// Rules, in order:
    /// 1. What it answers is chosen, if the task may use it.
    /// 2. If it wants to look at a CPU first, a search begins, in which it is asked again after each look.
    /// 3. If it leaves the choice to the kernel, the kernel's rules decide as they would have without it.
    /// 4. What cannot be used counts as rule 3; the seat remembers it.
    pub(super) fn scan_by_policy(
        &mut self,
        ctx: &mut Ctx<'_>,
        decision: WakeupDecision,
        flags: WakeFlags,
    ) -> Selection {
        match self.policy_choice(ctx, &decision, flags, None, 0) {
            WakeChoice::Look(next) => {
                let walk = ScanOrder::Policy(PolicyScanOrder { next, nr_looks: 0, flags, answer: None });
                Selection::Search(IdleScan::new(ctx, walk, decision, Self::conclude_policy))
            }
            WakeChoice::Cpu(cpu) => Selection::chosen(decision, cpu, WakeRule::Policy),
            WakeChoice::Kernel | WakeChoice::Fail(_) => self.select_by_rules(ctx, decision, flags),
        }
    }

    /// Rule 2 of [`State::scan_by_policy`], for so many looks. Returns whether the search is over.
    pub(super) fn scan_for_policy(
        &self,
        ctx: &mut Ctx<'_>,
        walk: &mut PolicyScanOrder,
        decision: &mut WakeupDecision,
        mut looks: ScanBudget,
    ) -> bool {
        while looks.take() {
            ctx.charge(KernelOp::ScanCpu);
            ctx.work.touch_read(walk.next);
            walk.nr_looks += 1;
            decision.nr_scanned += 1;
            let look = self.sample_cpu(walk.next);
            match self.policy_choice(ctx, decision, walk.flags, Some(&look), walk.nr_looks) {
                WakeChoice::Look(next) => walk.next = next,
                WakeChoice::Cpu(cpu) => {
                    walk.answer = Some(cpu);
                    return true;
                }
                WakeChoice::Kernel | WakeChoice::Fail(_) => return true,
            }
        }
        false
    }

    /// The policy has seen enough: rules 1 and 3 of [`State::scan_by_policy`].
    fn conclude_policy(&mut self, ctx: &mut Ctx<'_>, search: IdleScan) -> Selection {
        let ScanOrder::Policy(PolicyScanOrder { answer, flags, .. }) = search.walk else {
            unreachable!("only a policy's search ends here: {:?}", search.walk)
        };
        match answer {
            Some(cpu) => Selection::chosen(search.decision, cpu, WakeRule::Policy),
            None => self.select_by_rules(ctx, search.decision, flags),
        }
    }

    /// What the policy says, now or after a look.
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
        let p = &self.tasks[task.index()];
        let request = WakeRequest {
            now,
            task,
            pid: p.pid,
            prev,
            waker,
            sync,
            in_interrupt: flags.in_interrupt,
            util: self.task_util_est(task),
            allowed: &p.cpus_allowed,
            active: &self.hotplug.active,
            cache: self.domains.cpus[prev.index()].sd_llc.map(|sd| &self.domains.domains[sd].span),
        };
        seat.ask(&request, seen, nr_looks)
    }

    /// What a look at a CPU shows.
    pub(crate) fn sample_cpu(&self, cpu: CpuId) -> CpuSample {
        let rq = &self.rqs[cpu.index()];
        CpuSample {
            cpu,
            is_idle: self.is_idle_for_wakeup(cpu),
            nr_running: rq.nr_running,
            util: self.cpu_util_cfs(cpu),
            load: self.cfs_rqs[cpu.index()].avg.load_avg,
            capacity_orig: rq.cpu_capacity_orig,
            capacity: rq.cpu_capacity,
        }
    }
}
