// SPDX-License-Identifier: GPL-2.0-or-later
//! A CPU idles while a task waits that it may run: work is not conserved.
//!
//! Of each long wait, the idle time of each allowed CPU that lies in it. Known of a CPU are its present and its last idle time, which is
//! enough for a wait that has just ended: earlier ones were shorter than the limit or have been interrupted by work.

use super::waits::Wait;
use super::{About, ByFamily, Finding, Severity, moment};
use crate::explain::Question;
use fairlab_machine::engine::START;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::BalanceDecision;
use fairlab_sched::units::Nanos;

/// The worst wait of a family.
#[derive(Clone, Copy, Debug)]
struct Worst {
    wait: Wait,
    /// Where the task waited, and who idled meanwhile, from when.
    cpu: CpuId,
    idle: CpuId,
    from: Nanos,
    /// The last pass of the idle CPU in that time.
    pass: Option<BalanceDecision>,
}

/// Who idles.
#[derive(Debug)]
pub(super) struct IdleCpus {
    /// Since when, and until when if it is over.
    times: Vec<(Nanos, Option<Nanos>)>,
    passes: Vec<Option<(Nanos, BalanceDecision)>>,
    found: ByFamily<Worst>,
}

impl IdleCpus {
    pub(super) fn new(nr_cpus: usize) -> Self {
        Self { times: vec![(START, None); nr_cpus], passes: vec![None; nr_cpus], found: ByFamily::new() }
    }

    pub(super) fn nr_cpus(&self) -> usize {
        self.times.len()
    }

    pub(super) fn begins(&mut self, now: Nanos, cpu: CpuId) {
        self.times[cpu.index()] = (now, None);
    }

    pub(super) fn ends(&mut self, now: Nanos, cpu: CpuId) {
        self.times[cpu.index()].1 = Some(now);
    }

    pub(super) fn balanced(&mut self, now: Nanos, decision: &BalanceDecision) {
        self.passes[decision.dst_cpu.index()] = Some((now, *decision));
    }

    /// A task has waited on a CPU.
    pub(super) fn waited(&mut self, wait: Wait, cpu: CpuId, allowed: &CpuMask, limit: Nanos) {
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
            let pass = self.passes[idle.index()].filter(|&(at, _)| at >= from && at <= wait.until);
            let worst = Worst { wait, cpu, idle, from, pass: pass.map(|(_, decision)| decision) };
            self.found.entry(wait.family).or_default().add(time, worst);
        }
    }

    pub(super) fn findings(&self, about: &About<'_>) -> Vec<Finding> {
        let now = about.now;
        let found = self.found.iter().filter_map(|(&family, tally)| {
            let (time, worst) = tally.worst.as_ref()?;
            let is_bad = tally.total.0 * 100 > now.saturating_since(START).0 || time.0 > 50_000_000;
            let level = about.machine.map(|machine| {
                let domains = machine.sched().domains();
                let common = domains.chain(worst.idle).find(|&sd| domains.domains[sd].span.contains(worst.cpu));
                common.map_or("no domain", |sd| domains.domains[sd].name)
            });
            let meets = level.map_or_else(String::new, |level| format!(", which it meets in {level}"));
            let why = match worst.pass {
                None if about.machine.is_none() => {
                    "whether it may run there, and what balancing found, is not in the trace".to_owned()
                }
                Some(pass) => format!(
                    "the last pass of CPU {} in that time: {}",
                    worst.idle.0,
                    pass.balanced.map_or_else(|| pass.verdict.meaning(), |balanced| balanced.meaning())
                ),
                None => format!("no pass for CPU {} in that time", worst.idle.0),
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
