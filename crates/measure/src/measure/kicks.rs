// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls of `kick_ilb()`, in which a CPU's tick kicks a tickless CPU, with their reasons.

use fairlab_sched::interface::balance::NOHZ_STATS_KICK;
use fairlab_sched::probe::{KickDecision, KickReason};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Reason for a call of `kick_ilb()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KickCause {
    /// Load balancing, by one of the rules of `nohz_balancer_kick()`.
    Balance(KickReason),
    /// Only an update of blocked load.
    BlockedLoad,
    /// Update of `nohz.next_balance` for CPUs that have become tickless.
    NextBalance,
}

#[derive(Clone, Debug, Default)]
struct CpuKicks {
    calls: u64,
    interrupts: u64,
    nobody_idle: u64,
    by_reason: BTreeMap<KickCause, u64>,
    /// Number of ticks that considered a call and made none, by rule.
    none: BTreeMap<KickReason, u64>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct KickStats {
    per_cpu: Vec<CpuKicks>,
}

/// Calls of `kick_ilb()` by one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KickRow {
    /// CPU that made the calls.
    pub cpu: u32,
    /// Number of calls of `kick_ilb()`.
    pub calls: u64,
    /// Number of calls that sent an interrupt. The others found a CPU that was already kicked, or no idle
    /// CPU.
    pub interrupts: u64,
    /// Number of calls that found no idle CPU.
    pub nobody_idle: u64,
    /// Number of calls by reason: a rule of `nohz_balancer_kick()`, `BlockedLoad` or `NextBalance`.
    pub by_reason: BTreeMap<String, u64>,
}

/// Ticks of one CPU that considered calling `kick_ilb()` and did not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NoKickRow {
    /// CPU that handled the ticks.
    pub cpu: u32,
    /// Number of ticks by the rule of `nohz_balancer_kick()` that decided.
    pub by_reason: BTreeMap<String, u64>,
}

impl KickStats {
    pub(crate) fn new(nr_cpus: usize) -> Self {
        Self { per_cpu: vec![CpuKicks::default(); nr_cpus] }
    }

    #[inline]
    pub(crate) fn on_kick_decision(&mut self, decision: &KickDecision) {
        if decision.flags == 0 {
            *self.per_cpu[decision.cpu.index()].none.entry(decision.reason).or_default() += 1;
            return;
        }
        let why = if decision.reason.requests_kick() {
            KickCause::Balance(decision.reason)
        } else if decision.flags & NOHZ_STATS_KICK != 0 {
            KickCause::BlockedLoad
        } else {
            KickCause::NextBalance
        };
        let calls = &mut self.per_cpu[decision.cpu.index()];
        calls.calls += 1;
        calls.interrupts += u64::from(decision.kicked);
        calls.nobody_idle += u64::from(decision.target.is_none());
        *calls.by_reason.entry(why).or_default() += 1;
    }

    pub(crate) fn rows(&self) -> Vec<KickRow> {
        let row = |(cpu, calls): (usize, &CpuKicks)| KickRow {
            cpu: cpu as u32,
            calls: calls.calls,
            interrupts: calls.interrupts,
            nobody_idle: calls.nobody_idle,
            by_reason: calls.by_reason.iter().map(|(why, &count)| (why.name().to_owned(), count)).collect(),
        };
        self.per_cpu.iter().enumerate().filter(|(_, calls)| calls.calls > 0).map(row).collect()
    }

    pub(crate) fn rows_without(&self) -> Vec<NoKickRow> {
        let row = |(cpu, calls): (usize, &CpuKicks)| NoKickRow {
            cpu: cpu as u32,
            by_reason: calls.none.iter().map(|(why, &count)| (why.name().to_owned(), count)).collect(),
        };
        self.per_cpu.iter().enumerate().filter(|(_, calls)| !calls.none.is_empty()).map(row).collect()
    }
}

impl KickCause {
    const fn name(self) -> &'static str {
        match self {
            Self::Balance(reason) => reason.name(),
            Self::BlockedLoad => "BlockedLoad",
            Self::NextBalance => "NextBalance",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::ids::CpuId;
    use fairlab_sched::interface::balance::{NOHZ_BALANCE_KICK, NOHZ_NEXT_KICK};

    #[test]
    fn calls_are_counted_with_their_reasons_whether_or_not_they_interrupt() {
        let mut kicks = KickStats::new(3);
        let mut tick = |reason, flags, target: Option<u32>, kicked| {
            let target = target.map(CpuId);
            kicks.on_kick_decision(&KickDecision { cpu: CpuId(1), reason, flags, target, kicked });
        };
        tick(KickReason::Misfit, NOHZ_STATS_KICK | NOHZ_BALANCE_KICK, Some(2), true);
        tick(KickReason::Misfit, NOHZ_STATS_KICK | NOHZ_BALANCE_KICK, Some(2), false);
        tick(KickReason::NotDue, NOHZ_STATS_KICK | NOHZ_NEXT_KICK, Some(2), true);
        tick(KickReason::NoReason, NOHZ_NEXT_KICK, None, false);
        tick(KickReason::NotDue, 0, None, false);
        let rows = kicks.rows();
        let by_reason = [("BlockedLoad", 1), ("Misfit", 2), ("NextBalance", 1)];
        let by_reason = by_reason.map(|(name, count)| (name.to_owned(), count)).into();
        assert_eq!(rows, [KickRow { cpu: 1, calls: 4, interrupts: 2, nobody_idle: 1, by_reason }]);
    }
}
