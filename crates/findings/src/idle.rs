// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `idle-while-waiting`: a CPU idles while a task that may use it waits, so scheduling is not
//! work-conserving.
//!
//! For each long wait, the rule finds the allowed CPU with the longest idle time during the wait. That can be the CPU
//! on which the task waits. It keeps
//! only the current and the last idle period of a CPU, which suffices for a wait that has just ended: earlier
//! periods were shorter than the limit or were interrupted by work.

use super::evidence::Sentence;
use super::rule::{FindingWait, Rule, RuleInfo, RuleSeverity};
use super::{ByFamily, Finding, FindingContext, FindingTasks, Limits, Severity, moment};
use fairlab_explain::Question;
use fairlab_machine::sim::{Machine, START};
use fairlab_measure::episodes::WaitReason;
use fairlab_measure::plural::counted;
use fairlab_measure::slot_mut;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::BalanceDecision;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Cause why an idle CPU did not take a waiting task, as far as it is recorded.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "cause")]
pub enum IdleCause {
    /// The task waited on the runqueue of the idle CPU.
    OwnRunqueue,
    /// A recorded trace has neither affinities nor decisions of load balancing.
    NotInTrace,
    /// Most frequent result of the idle CPU's last pass at the level of the common domain, over all waits.
    Passes { nr_waits: u64, meaning: &'static str },
    /// Result of the last pass of the idle CPU in that time.
    LastPass { meaning: &'static str },
    /// The idle CPU had no pass in that time.
    NoPass,
}

/// Evidence of a task that waited while a CPU that it may use idled.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct IdleCpuEvidence {
    pub family: String,
    pub task: String,
    pub cpu: u32,
    pub idle_cpu: u32,
    /// Whether a domain contains both CPUs; absent if that is not known: for a trace, and if one has gone offline.
    pub has_common_domain: Option<bool>,
    /// Lowest such domain.
    pub common_domain: Option<String>,
    #[serde(flatten)]
    pub cause: IdleCause,
}

impl Sentence for IdleCpuEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, task, cpu, idle_cpu, .. } = self;
        let (times, worst) = (finding.times_and_total(), finding.worst());
        write!(
            f,
            "{family} waited {times} while a CPU that it may use idled; worst: {task} on CPU {cpu} for {worst} while CPU \
             {idle_cpu} idled"
        )?;
        match (&self.cause, &self.common_domain) {
            (IdleCause::OwnRunqueue | IdleCause::NotInTrace, _) => {}
            (_, Some(name)) => write!(f, "; their common domain is {name}")?,
            (_, None) if self.has_common_domain == Some(false) => f.write_str("; they have no common domain")?,
            (_, None) => {}
        }
        self.write_cause(f)
    }
}

impl IdleCpuEvidence {
    fn write_cause(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let idle_cpu = self.idle_cpu;
        match &self.cause {
            IdleCause::OwnRunqueue => f.write_str("; it waited on the runqueue of this CPU"),
            IdleCause::NotInTrace => {
                f.write_str("; the task's affinity and the load-balance decisions are not in the trace")
            }
            IdleCause::Passes { nr_waits, meaning } => {
                let (waits, meaning) = (counted(*nr_waits, "wait", "waits"), meaning.trim_end_matches('.'));
                write!(f, "; most frequent last result there of the idle CPU, in {waits}: {meaning}")
            }
            IdleCause::LastPass { meaning } => {
                write!(f, "; last pass of CPU {idle_cpu} in that time: {}", meaning.trim_end_matches('.'))
            }
            IdleCause::NoPass => write!(f, "; CPU {idle_cpu} had no pass in that time"),
        }
    }
}

/// Worst wait of a family.
#[derive(Clone, Debug)]
struct WorstIdle {
    wait: FindingWait,
    /// Idle CPU, and the start of the time in which it idled and the task waited.
    idle: CpuId,
    from: Nanos,
    /// Last pass of the idle CPU at each level during the overlap, the latest last.
    passes: Vec<BalanceDecision>,
    /// Level and name of the lowest domain that contained both CPUs, as of the sample after the wait: hotplug may build the
    /// domains again before the run ends.
    common: Option<CommonDomain>,
}

/// Level and name of a domain.
#[derive(Clone, Debug)]
enum CommonDomain {
    Is(u32, String),
    None,
    /// A CPU has gone offline since.
    Unknown,
}

/// Returns the lowest domain of a CPU that contains another one.
fn common_domain(machine: &Machine, idle: CpuId, cpu: CpuId) -> CommonDomain {
    let sched = machine.sched();
    if !sched.is_online(idle) || !sched.is_online(cpu) {
        return CommonDomain::Unknown;
    }
    let domains = sched.domains();
    let common = domains.chain(idle).map(|sd| &domains.domains[sd]).find(|sd| sd.span.contains(cpu));
    common.map_or(CommonDomain::None, |sd| CommonDomain::Is(sd.level, sd.name.to_string()))
}

/// Idle periods of CPUs, and the waits that overlap with them.
#[derive(Debug, Default)]
pub(super) struct IdleCpus {
    limit: Nanos,
    /// Current or last idle period of each CPU: start, and end if it is over.
    times: Vec<(Nanos, Option<Nanos>)>,
    /// Last pass for each CPU at each level.
    passes: Vec<Vec<Option<(Nanos, BalanceDecision)>>>,
    found: ByFamily<WorstIdle>,
    /// Number of passes of idle CPUs during such waits, by family, level and result.
    pass_reasons: BTreeMap<usize, BTreeMap<(u32, &'static str), u64>>,
}

impl Rule for IdleCpus {
    const INFO: RuleInfo = RuleInfo {
        name: "idle-while-waiting",
        condition: "a task waited, and an allowed CPU idled for two ticks, at least 4 ms, of that time (`--idle`)",
        severity: RuleSeverity::Raised {
            to: Severity::High,
            above: "1 % of the run or 50 ms at a time",
            from: Severity::Medium,
        },
        is_for_traces: true,
    };

    fn new(nr_cpus: usize, limits: Limits) -> Self {
        Self {
            limit: limits.idle,
            times: vec![(START, None); nr_cpus],
            passes: vec![Vec::new(); nr_cpus],
            found: ByFamily::new(),
            pass_reasons: BTreeMap::new(),
        }
    }

    #[inline]
    fn on_idle(&mut self, now: Nanos, cpu: CpuId, begins: bool) {
        if begins {
            self.times[cpu.index()] = (now, None);
        } else {
            self.times[cpu.index()].1 = Some(now);
        }
    }

    #[inline]
    fn on_balance(&mut self, now: Nanos, decision: &BalanceDecision) {
        let passes = &mut self.passes[decision.dst_cpu.index()];
        *slot_mut(passes, decision.level as usize) = Some((now, *decision));
    }

    #[inline]
    fn on_wait(&mut self, wait: &FindingWait, allowed: Option<&CpuMask>) {
        let is_for_cpu = matches!(wait.episode.reason, WaitReason::Cpu | WaitReason::Unknown);
        if let Some(allowed) = allowed
            && is_for_cpu
            && wait.episode.length() >= self.limit
        {
            self.on_long_wait(wait, allowed);
        }
    }

    fn sample(&mut self, machine: &Machine, _tasks: &FindingTasks, _at: Nanos) {
        self.find_common_domains(machine);
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        if let Some(machine) = about.machine {
            // Waits that ended after the last sample.
            self.find_common_domains(machine);
        }
        let length_ns = about.length_ns();
        let found = self.found.iter().filter_map(|(&family, tally)| {
            let (time, worst) = tally.worst.as_ref()?;
            let is_bad = tally.total.0 * 100 > length_ns || time.0 > 50_000_000;
            let cpu = worst.wait.episode.cpu;
            let (has_common_domain, level, name) = match &worst.common {
                Some(CommonDomain::Is(level, name)) => (Some(true), Some(*level), Some(name.clone())),
                Some(CommonDomain::None) => (Some(false), None, None),
                Some(CommonDomain::Unknown) | None => (None, None, None),
            };
            let there = self.pass_reasons.get(&family).into_iter().flatten();
            let there = there.filter(|((other, _), _)| Some(*other) == level);
            let cause = match (there.max_by_key(|(_, nr)| **nr), worst.passes.last()) {
                _ if worst.idle == cpu => IdleCause::OwnRunqueue,
                _ if about.machine.is_none() => IdleCause::NotInTrace,
                (Some((&(_, meaning), &nr_waits)), _) => IdleCause::Passes { nr_waits, meaning },
                (None, Some(pass)) => IdleCause::LastPass { meaning: meaning(pass) },
                (None, None) => IdleCause::NoPass,
            };
            let evidence = IdleCpuEvidence {
                family: about.families[family].clone(),
                task: (about.name)(worst.wait.task),
                cpu: cpu.0,
                idle_cpu: worst.idle.0,
                has_common_domain,
                common_domain: name,
                cause,
            };
            Some(Finding {
                severity: Self::INFO.severity.of(is_bad),
                at_ns: moment(worst.from) + time.0 / 2,
                ..tally.in_finding(Self::INFO.finding(evidence, Question::Cpu(worst.idle.0)))
            })
        });
        found.collect()
    }
}

impl IdleCpus {
    /// Records the common domains of worst waits that have none yet.
    fn find_common_domains(&mut self, machine: &Machine) {
        for tally in self.found.values_mut() {
            if let Some((_, worst)) = &mut tally.worst
                && worst.common.is_none()
            {
                worst.common = Some(common_domain(machine, worst.idle, worst.wait.episode.cpu));
            }
        }
    }

    fn on_long_wait(&mut self, wait: &FindingWait, allowed: &CpuMask) {
        let (since, until) = (wait.episode.since, wait.episode.until);
        let overlap = |idle: CpuId| {
            let (from, to) = self.times[idle.index()];
            let from = from.max(since);
            (to.unwrap_or(until).min(until).saturating_since(from), from)
        };
        let Some((time, from, idle)) = allowed
            .iter()
            .map(|cpu| {
                let (time, from) = overlap(cpu);
                (time, from, cpu)
            })
            .max_by_key(|&(time, _, cpu)| (time, std::cmp::Reverse(cpu)))
        else {
            return;
        };
        if time >= self.limit {
            let mut passes: Vec<(Nanos, BalanceDecision)> = self.passes[idle.index()]
                .iter()
                .flatten()
                .filter(|(at, _)| (from..=until).contains(at))
                .copied()
                .collect();
            passes.sort_by_key(|&(at, _)| at);
            let passes: Vec<BalanceDecision> = passes.into_iter().map(|(_, decision)| decision).collect();
            let named = self.pass_reasons.entry(wait.family).or_default();
            passes.iter().for_each(|pass| *named.entry((pass.level, meaning(pass))).or_default() += 1);
            let worst = WorstIdle { wait: *wait, idle, from, passes, common: None };
            self.found.entry(wait.family).or_default().add(until, time, worst);
        }
    }
}

fn meaning(pass: &BalanceDecision) -> &'static str {
    pass.balanced.map_or_else(|| pass.verdict.meaning(), |balanced| balanced.meaning())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{family_and_task, found, found_in, of, sentence};

    #[test]
    fn a_wait_while_a_cpu_idles_names_both_cpus_and_the_cause() {
        let of = |cause, common_domain: Option<&str>| {
            let has_common_domain = Some(common_domain.is_some());
            let (family, task) = family_and_task();
            let common_domain = common_domain.map(str::to_owned);
            sentence(IdleCpuEvidence { family, task, cpu: 1, idle_cpu: 2, has_common_domain, common_domain, cause })
        };
        let start = "f waited 2 times (3ms in total) while a CPU that it may use idled; worst: f0 on CPU 1 for 2ms while CPU 2 idled; ";
        let cases = [
            (IdleCause::OwnRunqueue, Some("MC"), "it waited on the runqueue of this CPU"),
            (IdleCause::NotInTrace, None, "the task's affinity and the load-balance decisions are not in the trace"),
            (
                IdleCause::Passes { nr_waits: 1, meaning: "Balanced." },
                Some("MC"),
                "their common domain is MC; most frequent last result there of the idle CPU, in 1 wait: Balanced",
            ),
            (
                IdleCause::LastPass { meaning: "Moved." },
                None,
                "they have no common domain; last pass of CPU 2 in that time: Moved",
            ),
            (IdleCause::NoPass, Some("MC"), "their common domain is MC; CPU 2 had no pass in that time"),
        ];
        for (cause, domain, end) in cases {
            assert_eq!(of(cause, domain), format!("{start}{end}"));
        }
    }

    #[test]
    fn a_task_that_waits_while_a_cpu_idles_is_found_once_it_may_run_there() {
        let pinned = "cpus 2\nend 300ms\ntask a mask=0-0 cpu=0 run 10s\ntask b mask=0-0 cpu=0 run 10s\n";
        let findings = found(pinned);
        assert!(of(&findings, "idle-while-waiting").is_none(), "it may not run there: {findings:?}");
        let findings = found(&format!("{pinned}affinity 101ms b 0-1\n"));
        let finding = of(&findings, "idle-while-waiting").unwrap_or_else(|| panic!("{findings:?}"));
        assert!((100_000_000..120_000_000).contains(&finding.at_ns), "{finding:?}");
        assert_eq!(finding.question, Question::Cpu(1));
        assert!(finding.sentence.contains("CPU 1 idled"), "{}", finding.sentence);
    }

    /// Returns how long tasks of a family waited while a CPU that they may use idled, in ms, and the finding's
    /// sentence.
    fn idled(findings: &[Finding], family: &str) -> (u64, String) {
        let is_meant =
            |finding: &&Finding| finding.rule == "idle-while-waiting" && finding.sentence.starts_with(family);
        let finding = findings.iter().find(is_meant);
        finding.map_or((0, String::new()), |finding| (finding.total_ns / 1_000_000, finding.sentence.clone()))
    }

    // The four bugs of "The Linux scheduler: a decade of wasted cores" (EuroSys 2016), or their effects: three
    // exist in 6.1, one only with a switch.

    #[test]
    fn an_average_of_heavy_tasks_that_hides_an_idle_cpu_is_found_and_named() {
        let (ms, sentence) = idled(&found_in("wasted-group-imbalance.scn", |text| text, &[]), "crowd");
        assert!(ms > 3000 && sentence.contains("CPU 7 idled"), "{ms} {sentence}");
        assert!(
            sentence.contains("Both groups are overloaded, and the local one has at least as much load"),
            "{sentence}"
        );
        let (ms, sentence) =
            idled(&found_in("wasted-group-imbalance.scn", |text| text.replace("nice=-15 ", ""), &[]), "crowd");
        assert!(ms < 1000, "light tasks hide nothing: {ms} {sentence}");
    }

    #[test]
    fn an_overloaded_node_that_its_group_hides_from_an_idle_one_is_found_and_named() {
        let (ms, sentence) = idled(&found_in("wasted-groups.scn", |text| text, &[]), "hog");
        assert!(
            ms > 600 && sentence.contains("common domain is NUMA") && sentence.contains("The computed imbalance is 0"),
            "{ms} {sentence}"
        );
        let (ms, sentence) = idled(&found_in("wasted-groups.scn", |text| text.replace("22", "16"), &[]), "hog");
        assert!(ms < 100, "one hop: {ms} {sentence}");
    }

    #[test]
    fn a_wake_up_on_a_busy_cache_while_another_one_idles_is_found_and_named() {
        let findings = found_in("wasted-wakeup.scn", |text| text, &[]);
        let (ms, sentence) = idled(&findings, "late");
        assert!(ms > 0 && sentence.contains("common domain is"), "{findings:?}");
        let findings = found_in("wasted-wakeup.scn", |text| text.replace("llc=2", "llc=4"), &[]);
        assert_eq!(idled(&findings, "late").0, 0, "one cache: {findings:?}");
    }

    #[test]
    fn domains_that_are_missing_are_found_and_named() {
        let (ms, sentence) =
            idled(&found_in("switches/wasted-domains.scn", |text| text, &["numa_domains_lost"]), "hog");
        assert!(ms > 900 && sentence.contains("they have no common domain"), "{ms} {sentence}");
        let (ms, sentence) = idled(&found_in("switches/wasted-domains.scn", |text| text, &[]), "hog");
        assert!(ms < 300, "domains of all nodes: {ms} {sentence}");
    }
}
