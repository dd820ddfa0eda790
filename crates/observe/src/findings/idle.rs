// SPDX-License-Identifier: GPL-2.0-or-later
//! A CPU idles while a task waits that it may run: work is not conserved.
//!
//! Of each long wait, the idle time of each allowed CPU that lies in it. Known of a CPU are its present and its last idle time, which is
//! enough for a wait that has just ended: earlier ones were shorter than the limit or have been interrupted by work.

use super::waits::FindingWait;
use super::{ByFamily, Finding, FindingContext, Severity, moment};
use crate::explain::Question;
use fairlab_machine::sim::START;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::BalanceDecision;
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;

/// The worst wait of a family.
#[derive(Clone, Debug)]
struct WorstIdle {
    wait: FindingWait,
    /// Where the task waited, and who idled meanwhile, from when.
    cpu: CpuId,
    idle: CpuId,
    from: Nanos,
    /// The last pass of the idle CPU in that time at each level, the latest last.
    passes: Vec<BalanceDecision>,
}

/// Who idles.
#[derive(Debug)]
pub(super) struct IdleCpus {
    /// Since when, and until when if it is over.
    times: Vec<(Nanos, Option<Nanos>)>,
    /// The last pass for each CPU at each level.
    passes: Vec<BTreeMap<u32, (Nanos, BalanceDecision)>>,
    found: ByFamily<WorstIdle>,
    /// What passes of idle CPUs in such times found, by family: at which level, what, how often.
    pass_reasons: BTreeMap<usize, BTreeMap<(u32, &'static str), u64>>,
}

impl IdleCpus {
    pub(super) fn new(nr_cpus: usize) -> Self {
        Self {
            times: vec![(START, None); nr_cpus],
            passes: vec![BTreeMap::new(); nr_cpus],
            found: ByFamily::new(),
            pass_reasons: BTreeMap::new(),
        }
    }

    pub(super) fn nr_cpus(&self) -> usize {
        self.times.len()
    }

    pub(super) fn begin_idle(&mut self, now: Nanos, cpu: CpuId) {
        self.times[cpu.index()] = (now, None);
    }

    pub(super) fn end_idle(&mut self, now: Nanos, cpu: CpuId) {
        self.times[cpu.index()].1 = Some(now);
    }

    pub(super) fn on_balance(&mut self, now: Nanos, decision: &BalanceDecision) {
        self.passes[decision.dst_cpu.index()].insert(decision.level, (now, *decision));
    }

    /// A task has waited on a CPU.
    pub(super) fn on_wait(&mut self, wait: FindingWait, cpu: CpuId, allowed: &CpuMask, limit: Nanos) {
        let overlap = |idle: CpuId| {
            let (from, to) = self.times[idle.index()];
            let from = from.max(wait.since);
            (to.unwrap_or(wait.until).min(wait.until).saturating_since(from), from)
        };
        let others = allowed.iter().filter(|&other| other != cpu);
        let Some((time, from, idle)) = others
            .map(|other| {
                let (time, from) = overlap(other);
                (time, from, other)
            })
            .max_by_key(|&(time, _, other)| (time, std::cmp::Reverse(other)))
        else {
            return;
        };
        if time >= limit {
            let mut passes: Vec<(Nanos, BalanceDecision)> = self.passes[idle.index()]
                .values()
                .filter(|(at, _)| (from..=wait.until).contains(at))
                .copied()
                .collect();
            passes.sort_by_key(|&(at, _)| at);
            let passes: Vec<BalanceDecision> = passes.into_iter().map(|(_, decision)| decision).collect();
            let said = self.pass_reasons.entry(wait.family).or_default();
            passes.iter().for_each(|pass| *said.entry((pass.level, meaning(pass))).or_default() += 1);
            let worst = WorstIdle { wait, cpu, idle, from, passes };
            self.found.entry(wait.family).or_default().add(time, worst);
        }
    }

    pub(super) fn findings(&self, about: &FindingContext<'_>) -> Vec<Finding> {
        let now = about.now;
        let found = self.found.iter().filter_map(|(&family, tally)| {
            let (time, worst) = tally.worst.as_ref()?;
            let is_bad = tally.total.0 * 100 > now.saturating_since(START).0 || time.0 > 50_000_000;
            let common = about.machine.and_then(|machine| {
                let domains = machine.sched().domains();
                let common = domains.chain(worst.idle).find(|&sd| domains.domains[sd].span.contains(worst.cpu));
                common.map(|sd| &domains.domains[sd])
            });
            let meets = match common {
                _ if about.machine.is_none() => String::new(),
                Some(sd) => format!(", which it meets in {}", sd.name),
                None => ", which it meets in no domain".to_owned(),
            };
            let there = self.pass_reasons.get(&family).into_iter().flatten();
            let there = there.filter(|((level, _), _)| common.is_some_and(|sd| *level == sd.level));
            let why = match (there.max_by_key(|(_, nr)| **nr), worst.passes.last()) {
                _ if about.machine.is_none() => {
                    "whether it may run there, and what balancing found, is not in the trace".to_owned()
                }
                (Some(((_, meaning), nr)), _) => {
                    format!("passes of idle CPUs there said most often ({nr} times): {}", meaning.trim_end_matches('.'))
                }
                (None, Some(pass)) => {
                    let meaning = meaning(pass).trim_end_matches('.');
                    format!("the last pass of CPU {} in that time: {meaning}", worst.idle.0)
                }
                (None, None) => format!("no pass for CPU {} in that time", worst.idle.0),
            };
            let name = (about.name)(worst.wait.task);
            Some(Finding {
                rule: "idle-while-waiting",
                severity: if is_bad { Severity::High } else { Severity::Medium },
                sentence: format!(
                    "{} waited {} times ({} in sum) while a CPU idled that it may use; at the worst {name} on CPU {} for {time} while CPU {} \
                     idled{meets}; {why}",
                    about.families[family], tally.count, tally.total, worst.cpu.0, worst.idle.0
                ),
                count: tally.count,
                total_ns: tally.total.0,
                worst_ns: time.0,
                at_ns: moment(worst.from) + time.0 / 2,
                question: Question::Cpu(worst.idle.0),
            })
        });
        found.collect()
    }
}

/// What a pass found, in words.
fn meaning(pass: &BalanceDecision) -> &'static str {
    pass.balanced.map_or_else(|| pass.verdict.meaning(), |balanced| balanced.meaning())
}
