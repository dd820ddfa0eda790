// SPDX-License-Identifier: GPL-2.0-or-later
//! Counters of sched domains. Each increase is counted in the domain and reported as an event.
//!
//! Stands for `schedstat_inc()` and `schedstat_add()` on a `struct sched_domain` in `fair.c` (6.1).

use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::state::topology::{DomainStats, SchedDomain};
use crate::types::idle_type::CpuIdleType;

/// Counter that a domain keeps for each [`CpuIdleType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LbCounter {
    Count,
    Balanced,
    Failed,
    Imbalance,
    Gained,
    HotGained,
    NobusyG,
    NobusyQ,
}

/// Counter of a sched domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DomainCounter {
    Lb(LbCounter, CpuIdleType),
    AlbCount,
    AlbFailed,
    AlbPushed,
    TtwuMoveAffine,
}

impl DomainCounter {
    /// Field name in the kernel's `struct sched_domain`.
    #[inline]
    const fn name(self) -> &'static str {
        match self {
            Self::Lb(LbCounter::Count, _) => "lb_count",
            Self::Lb(LbCounter::Balanced, _) => "lb_balanced",
            Self::Lb(LbCounter::Failed, _) => "lb_failed",
            Self::Lb(LbCounter::Imbalance, _) => "lb_imbalance",
            Self::Lb(LbCounter::Gained, _) => "lb_gained",
            Self::Lb(LbCounter::HotGained, _) => "lb_hot_gained",
            Self::Lb(LbCounter::NobusyG, _) => "lb_nobusyg",
            Self::Lb(LbCounter::NobusyQ, _) => "lb_nobusyq",
            Self::AlbCount => "alb_count",
            Self::AlbFailed => "alb_failed",
            Self::AlbPushed => "alb_pushed",
            Self::TtwuMoveAffine => "ttwu_move_affine",
        }
    }

    #[inline]
    fn of(self, stats: &mut DomainStats) -> &mut u32 {
        match self {
            Self::Lb(LbCounter::Count, idle) => &mut stats.lb[idle].count,
            Self::Lb(LbCounter::Balanced, idle) => &mut stats.lb[idle].balanced,
            Self::Lb(LbCounter::Failed, idle) => &mut stats.lb[idle].failed,
            Self::Lb(LbCounter::Imbalance, idle) => &mut stats.lb[idle].imbalance,
            Self::Lb(LbCounter::Gained, idle) => &mut stats.lb[idle].gained,
            Self::Lb(LbCounter::HotGained, idle) => &mut stats.lb[idle].hot_gained,
            Self::Lb(LbCounter::NobusyG, idle) => &mut stats.lb[idle].nobusyg,
            Self::Lb(LbCounter::NobusyQ, idle) => &mut stats.lb[idle].nobusyq,
            Self::AlbCount => &mut stats.alb_count,
            Self::AlbFailed => &mut stats.alb_failed,
            Self::AlbPushed => &mut stats.alb_pushed,
            Self::TtwuMoveAffine => &mut stats.ttwu_move_affine,
        }
    }
}

impl SchedDomain {
    /// Increases a counter of the domain. Counters have 32 bits and wrap.
    #[inline]
    pub(crate) fn count(&mut self, ctx: &mut Ctx<'_>, counter: DomainCounter, amount: i64) {
        let value = counter.of(&mut self.stats);
        *value = value.wrapping_add(amount as u32);
        let idle = match counter {
            DomainCounter::Lb(_, idle) => Some(idle),
            _ => None,
        };
        let (on, cpu, level) = (ctx.cpu, self.cpu, self.level);
        ctx.report(Event::DomainStat { on, cpu, level, counter: counter.name(), idle, amount });
    }
}
