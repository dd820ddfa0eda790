// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls of `kick_ilb()`: which CPU's tick asked a tickless one for help, and why.

use fairlab_sched::interface::balance::NOHZ_STATS_KICK;
use fairlab_sched::probe::{KickDecision, KickReason};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why `kick_ilb()` was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KickCause {
    /// Balancing, by one of the rules.
    Balance(KickReason),
    /// Blocked load is to be updated, and nothing else.
    BlockedLoad,
    /// CPUs have become tickless: `next_balance` is to be brought up to date.
    NextBalance,
}

/// The calls that a CPU made.
#[derive(Clone, Debug, Default)]
struct CpuKicks {
    calls: u64,
    interrupts: u64,
    nobody_idle: u64,
    by_reason: BTreeMap<KickCause, u64>,
    /// Ticks that thought of it and made no call, by what they found.
    none: BTreeMap<KickReason, u64>,
}

/// Counts the calls.
#[derive(Clone, Debug, Default)]
pub struct KickStats {
    per_cpu: Vec<CpuKicks>,
}

/// The calls of `kick_ilb()` that a CPU made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KickRow {
    /// The CPU.
    pub cpu: u32,
    /// Calls.
    pub calls: u64,
    /// Calls that interrupted somebody. The others found one who had been asked before, or nobody idle.
    pub interrupts: u64,
    /// Calls that found nobody idle.
    pub nobody_idle: u64,
    /// Calls by reason: a rule of `nohz_balancer_kick()`, `BlockedLoad` or `NextBalance`.
    pub by_reason: BTreeMap<String, u64>,
}

/// The ticks of a CPU that thought of calling `kick_ilb()` and did not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NoKickRow {
    /// The CPU.
    pub cpu: u32,
    /// Ticks by what they found: a rule of `nohz_balancer_kick()`.
    pub by_reason: BTreeMap<String, u64>,
}

impl KickStats {
    /// For a machine with so many CPUs.
    pub fn new(nr_cpus: usize) -> Self {
        Self { per_cpu: vec![CpuKicks::default(); nr_cpus] }
    }

    /// A tick thought of tickless CPUs.
    #[inline]
    pub fn on_kick_decision(&mut self, decision: &KickDecision) {
        if decision.flags == 0 {
            *self.per_cpu[decision.cpu.index()].none.entry(decision.reason).or_default() += 1;
            return;
        }
        let why = if decision.reason.tries_kick() {
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

    /// What was counted, of the CPUs that made calls.
    pub fn rows(&self) -> Vec<KickRow> {
        let row = |(cpu, calls): (usize, &CpuKicks)| KickRow {
            cpu: cpu as u32,
            calls: calls.calls,
            interrupts: calls.interrupts,
            nobody_idle: calls.nobody_idle,
            by_reason: calls.by_reason.iter().map(|(why, &count)| (why.name().to_owned(), count)).collect(),
        };
        self.per_cpu.iter().enumerate().filter(|(_, calls)| calls.calls > 0).map(row).collect()
    }
}

impl KickStats {
    /// The ticks that made no call, of the CPUs that have any.
    pub fn rows_without(&self) -> Vec<NoKickRow> {
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
