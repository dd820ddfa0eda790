// SPDX-License-Identifier: GPL-2.0-or-later
//! Policy hook of load-balance passes: a user's policy that decides what a pass pulls, in place of the
//! kernel's rules.
//!
//! The kernel has no such hook. The policy is called after the statistics were collected. Updates that the
//! kernel makes with them (overload status, limit of idle scans) therefore happen with a policy too, and are
//! charged.

use crate::interface::balance::BalancedReason;
use crate::interface::ctx::Ctx;
use crate::interface::policy::{BalanceChoice, BalanceRequest, CpuSample, PullProposal};
use crate::rules::balance::env::LbEnv;
use crate::state::State;
use crate::state::topology::SchedGroupId;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;

/// Pass that consults a policy hook: the kernel's proposal, and the progress of the policy's samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BalancePolicyScan {
    /// The busiest group, or the reason why there is none.
    pub found: Result<SchedGroupId, BalancedReason>,
    /// CPU that is sampled next.
    pub next: CpuId,
    /// Number of samples so far.
    pub nr_looks: u32,
}

impl State {
    /// Samples the CPU that a policy has requested, and calls the policy again.
    pub(crate) fn scan_for_balance(
        &self,
        ctx: &mut Ctx<'_>,
        env: &LbEnv,
        asking: &mut BalancePolicyScan,
    ) -> BalanceChoice {
        ctx.charge(KernelOp::ScanCpu);
        ctx.op_counts.touch_read(asking.next);
        asking.nr_looks += 1;
        let look = self.fair.sample_cpu(self.features, &self.tunables, &self.rqs[asking.next]);
        self.choose_balance(ctx, env, asking.found, Some(&look), asking.nr_looks)
    }

    /// Returns the choice of the policy hook, before or after a sample. Without a hook for load balancing the
    /// kernel's rules decide.
    #[inline]
    pub(crate) fn choose_balance(
        &self,
        ctx: &mut Ctx<'_>,
        env: &LbEnv,
        found: Result<SchedGroupId, BalancedReason>,
        seen: Option<&CpuSample>,
        nr_looks: u32,
    ) -> BalanceChoice {
        let now = ctx.now;
        let Some(seat) = ctx.policy.as_deref_mut().filter(|seat| seat.scope().balancing) else {
            return BalanceChoice::Kernel;
        };
        let groups = &self.domains.groups;
        let kernel = found.map(|group| PullProposal {
            busiest: &groups[group].span,
            migration: env.migration,
            imbalance: env.imbalance,
        });
        let local = &groups[self.domains.domains[env.sd].groups].span;
        let (on, cpu, level) = (env.decision.on, env.dst_cpu, env.decision.level);
        let request = BalanceRequest { now, on, cpu, idle: env.idle, level, cpus: &env.cpus, local, kernel };
        seat.choose_pull(&request, seen, nr_looks)
    }
}
