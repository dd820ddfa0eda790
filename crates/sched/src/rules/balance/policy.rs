// SPDX-License-Identifier: GPL-2.0-or-later
//! What a pass pulls, by somebody's own policy in the place of the kernel's rules.
//!
//! The kernel has nothing of the kind. A policy is asked when the statistics are there, so that whatever the kernel keeps by the way (whether the
//! machine is overloaded, how many CPUs a search may look at) is kept with a policy too, and their price is paid.

use crate::interface::balance::BalancedReason;
use crate::interface::ctx::Ctx;
use crate::interface::policy::{BalanceChoice, BalanceRequest, CpuSample, Proposal};
use crate::rules::balance::env::LbEnv;
use crate::state::State;
use crate::state::topology::SchedGroupId;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;

/// A pass that asks a policy: what the kernel has found, and where the policy's looks are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicyScan {
    /// The busiest group, or why there is none.
    pub found: Result<SchedGroupId, BalancedReason>,
    /// The CPU that is looked at next.
    pub next: CpuId,
    /// How many looks there were.
    pub nr_looks: u32,
}

impl State {
    /// Looks at the CPU that a policy wants to see, and asks it again.
    pub(crate) fn scan_for_balance(&self, ctx: &mut Ctx<'_>, env: &LbEnv, asking: &mut PolicyScan) -> BalanceChoice {
        ctx.charge(KernelOp::ScanCpu);
        ctx.work.touch_read(asking.next);
        asking.nr_looks += 1;
        let look = self.sample_cpu(asking.next);
        self.choose_balance(ctx, env, asking.found, Some(&look), asking.nr_looks)
    }

    /// What the policy says, now or after a look: the kernel's rules decide if there is none that decides on balancing.
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
        let Some(seat) = ctx.policy.as_deref_mut().filter(|seat| seat.decides().balancing) else {
            return BalanceChoice::Kernel;
        };
        let groups = &self.domains.groups;
        let kernel = found.map(|group| Proposal {
            busiest: &groups[group].span,
            migration: env.migration,
            imbalance: env.imbalance,
        });
        let local = &groups[self.domains.domains[env.sd].groups].span;
        let (on, cpu, level) = (env.decision.on, env.dst_cpu, env.decision.level);
        let request = BalanceRequest { now, on, cpu, idle: env.idle, level, cpus: &env.cpus, local, kernel };
        seat.ask_to_balance(&request, seen, nr_looks)
    }
}
