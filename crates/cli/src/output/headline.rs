// SPDX-License-Identifier: GPL-2.0-or-later
//! First lines of a run summary: responses, findings, tasks that waited or missed timers, and CPUs that were overloaded while others idled.
//!
//! A line is printed from its record alone. `--json` has the records with their lines, and the audit recomputes them.

use super::figures::{counted, cpus_named, time};
use super::{Styles, sanitize, wrap};
use fairlab_findings::{Finding, Severity};
use fairlab_measure::cpus::CpuSummary;
use fairlab_measure::families::{FamilySummary, LongestWait, RuntimeWaits};
use fairlab_measure::responses::ResponseSummary;
use fairlab_measure::summary::RunSummary;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::fmt;

const NR_FINDINGS: usize = 3;
const NR_FAMILIES: usize = 3;
/// A family waited if it was runnable without a CPU for at least this share of its runnable time, in percent.
const MIN_WAIT_PERCENT: f64 = 1.0;
/// A CPU is overloaded if it was busy for at least this share of the run, in percent.
const MIN_BUSY_PERCENT: f64 = 95.0;
/// A CPU had time to spare if it was idle for at least this share of the run, in percent.
const MIN_IDLE_PERCENT: f64 = 20.0;

/// First lines of a run summary.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Headline {
    /// Responses of one definition.
    Response(Box<ResponseSummary>),
    /// Numbers of findings.
    Findings(FindingCounts),
    /// Task families that waited for a CPU or for runtime.
    Waiting {
        /// Families that waited longest, the longest first.
        families: Vec<WaitingFamily>,
        /// Number of families that waited for at least 1 % of their runnable time.
        nr_families: usize,
    },
    /// No task family waited for at least 1 % of its runnable time.
    ShortWaits,
    /// Task families whose periodic timers had expired before the tasks arrived at them.
    MissedTimers {
        /// Families with most missed timers, the most first.
        families: Vec<MissedTimers>,
        /// Number of families with missed timers.
        nr_families: usize,
    },
    /// No periodic timer was missed.
    NoMissedTimers {
        /// Arrivals at periodic timers.
        arrivals: u64,
    },
    /// No CPU was busy for 95 % of the run.
    BusiestCpu {
        /// CPU that was busy for the longest time.
        cpu: u32,
        /// Time for which it was busy.
        busy_ns: u64,
        /// Length of the run.
        duration_ns: u64,
    },
    /// CPUs that were busy for at least 95 % of the run.
    Overload {
        /// Overloaded CPUs.
        cpus: Vec<u32>,
        /// Time for which each of them was busy at least.
        least_busy_ns: u64,
        /// CPUs that were idle for at least 20 % of the run.
        idle_cpus: Vec<u32>,
        /// Time for which these were idle on average.
        idle_ns: u64,
        /// Length of the run.
        duration_ns: u64,
    },
}

/// Numbers of findings. Those that belong only to the start of the run have no severity here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FindingCounts {
    pub(crate) high: usize,
    pub(crate) medium: usize,
    pub(crate) low: usize,
    pub(crate) only_at_start: usize,
}

/// Waits of a task family.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct WaitingFamily {
    pub(crate) family: String,
    /// Time for which its tasks ran or waited.
    pub(crate) runnable_ns: u64,
    /// Time for which its tasks waited for a CPU.
    pub(crate) wait_ns: u64,
    /// Longest wait for a CPU; null if there was none.
    pub(crate) longest_wait: Option<LongestWait>,
    /// Waits for runtime.
    pub(crate) runtime_waits: Vec<RuntimeWaits>,
}

/// Missed timers of a task family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct MissedTimers {
    pub(crate) family: String,
    pub(crate) missed: u64,
    pub(crate) arrivals: u64,
    /// Longest time after an expiry at which a task arrived; null if it was not recorded.
    pub(crate) max_late_ns: Option<u64>,
}

/// Record with its lines.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct HeadlineStatement {
    #[serde(flatten)]
    headline: Headline,
    /// Lines, printed from the record.
    text: Vec<String>,
}

impl From<Headline> for HeadlineStatement {
    fn from(headline: Headline) -> Self {
        let text = headline.to_string().lines().map(str::to_owned).collect();
        Self { headline, text }
    }
}

/// Returns the records of a run. Without `findings` (a compiled-kernel engine) there is none of them.
pub(crate) fn headlines(summary: &RunSummary, findings: Option<&[Finding]>) -> Vec<Headline> {
    let findings = findings.map(|findings| Headline::Findings(FindingCounts::new(findings)));
    let responses = summary.responses.iter().map(|response| Headline::Response(Box::new(response.clone())));
    responses.chain([findings, waiting(summary), timers(summary), cpus(summary)].into_iter().flatten()).collect()
}

/// Returns the lines. `findings` are sorted, the worst first.
pub(crate) fn lines(summary: &RunSummary, findings: Option<&[Finding]>, styles: Styles) -> String {
    let mut text = String::new();
    for headline in headlines(summary, findings) {
        let indent = if matches!(headline, Headline::Waiting { .. } | Headline::ShortWaits) { 4 } else { 2 };
        for line in headline.to_string().lines() {
            text.push_str(&wrap(&sanitize(line), indent));
        }
        if matches!(headline, Headline::Findings(_)) {
            for finding in findings.unwrap_or_default().iter().take(NR_FINDINGS) {
                text.push_str(&finding_line(finding, styles));
            }
        }
    }
    text
}

fn finding_line(finding: &Finding, styles: Styles) -> String {
    let severity = finding.severity.name();
    let severity = if finding.severity == Severity::High { styles.warning(severity) } else { severity.to_owned() };
    wrap(&format!("  {severity}: {}: {}", finding.rule, sanitize(&finding.sentence)), 4)
}

impl FindingCounts {
    fn new(findings: &[Finding]) -> Self {
        let mut counts = Self::default();
        for finding in findings {
            *match finding.severity {
                _ if finding.only_in_first_ns.is_some() => &mut counts.only_at_start,
                Severity::High => &mut counts.high,
                Severity::Medium => &mut counts.medium,
                Severity::Low => &mut counts.low,
            } += 1;
        }
        counts
    }
}

fn waiting(summary: &RunSummary) -> Option<Headline> {
    if summary.families.is_empty() {
        return None;
    }
    let waited = |family: &FamilySummary| family.wait_ns + family.throttled_ns;
    let share = |family: &FamilySummary| percent(waited(family), family.run_ns + waited(family));
    let mut families: Vec<&FamilySummary> =
        summary.families.iter().filter(|family| share(family) >= MIN_WAIT_PERCENT).collect();
    if families.is_empty() {
        return Some(Headline::ShortWaits);
    }
    families.sort_by_key(|family| Reverse(waited(family)));
    let named = families.iter().take(NR_FAMILIES).map(|family| WaitingFamily {
        family: family.name.clone(),
        runnable_ns: family.run_ns + waited(family),
        wait_ns: family.wait_ns,
        longest_wait: family.longest_wait.filter(|longest| longest.ns > 0),
        runtime_waits: family.runtime_waits.clone(),
    });
    Some(Headline::Waiting { families: named.collect(), nr_families: families.len() })
}

fn timers(summary: &RunSummary) -> Option<Headline> {
    let with_timers = summary.families.iter().filter_map(|family| Some((family, family.timers?)));
    let with_timers: Vec<_> = with_timers.collect();
    if with_timers.is_empty() {
        return None;
    }
    let mut missed: Vec<_> = with_timers.iter().filter(|(_, timers)| timers.missed > 0).collect();
    if missed.is_empty() {
        return Some(Headline::NoMissedTimers {
            arrivals: with_timers.iter().map(|(_, timers)| timers.arrivals).sum(),
        });
    }
    missed.sort_by_key(|(_, timers)| Reverse(timers.missed));
    let named = missed.iter().take(NR_FAMILIES).map(|(family, timers)| MissedTimers {
        family: family.name.clone(),
        missed: timers.missed,
        arrivals: timers.arrivals,
        max_late_ns: timers.slack.map(|slack| slack.min_ns.min(0).unsigned_abs()),
    });
    Some(Headline::MissedTimers { families: named.collect(), nr_families: missed.len() })
}

fn cpus(summary: &RunSummary) -> Option<Headline> {
    let duration_ns = summary.duration_ns;
    let busiest = summary.cpus.iter().max_by_key(|cpu| (cpu.busy_ns, Reverse(cpu.cpu)))?;
    let is_overloaded = |cpu: &&CpuSummary| percent(cpu.busy_ns, duration_ns) >= MIN_BUSY_PERCENT;
    let overloaded: Vec<&CpuSummary> = summary.cpus.iter().filter(is_overloaded).collect();
    let Some(least_busy_ns) = overloaded.iter().map(|cpu| cpu.busy_ns).min() else {
        return Some(Headline::BusiestCpu { cpu: busiest.cpu, busy_ns: busiest.busy_ns, duration_ns });
    };
    let has_time = |cpu: &&CpuSummary| percent(cpu.idle_ns, duration_ns) >= MIN_IDLE_PERCENT;
    let spare: Vec<&CpuSummary> = summary.cpus.iter().filter(has_time).collect();
    let idle_ns = spare.iter().map(|cpu| cpu.idle_ns).sum::<u64>().checked_div(spare.len() as u64).unwrap_or(0);
    let numbers = |cpus: &[&CpuSummary]| cpus.iter().map(|cpu| cpu.cpu).collect();
    Some(Headline::Overload {
        cpus: numbers(&overloaded),
        least_busy_ns,
        idle_cpus: numbers(&spare),
        idle_ns,
        duration_ns,
    })
}

impl fmt::Display for Headline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response(response) => write_response(f, response),
            Self::Findings(counts) => counts.fmt(f),
            Self::Waiting { families, nr_families } => {
                let noun = if *nr_families == 1 { "task family" } else { "task families" };
                let more = if *nr_families > families.len() {
                    format!("; the {} that waited longest", families.len())
                } else {
                    String::new()
                };
                write!(f, "waiting: {nr_families} {noun}{more}")?;
                families.iter().try_for_each(|family| write!(f, "\n  {family}"))
            }
            Self::ShortWaits => {
                write!(f, "waiting: less than {MIN_WAIT_PERCENT} % of the runnable time, in all task families")
            }
            Self::MissedTimers { families, nr_families } => {
                let named: Vec<String> = families.iter().map(ToString::to_string).collect();
                write!(f, "missed timers: {}", named.join("; "))?;
                match nr_families - families.len() {
                    0 => Ok(()),
                    more => write!(f, "; and {more} more"),
                }
            }
            Self::NoMissedTimers { arrivals } => write!(f, "missed timers: none of {arrivals}"),
            Self::BusiestCpu { cpu, busy_ns, duration_ns } => {
                let busy = percent(*busy_ns, *duration_ns);
                write!(f, "CPUs: none was busy all the time; CPU {cpu} most, {busy:.0} %")
            }
            Self::Overload { cpus, least_busy_ns, idle_cpus, idle_ns, duration_ns } => {
                let were = |cpus: &[u32]| if cpus.len() == 1 { "was" } else { "were" };
                let at_least = if cpus.len() == 1 { "" } else { "at least " };
                // Rounded down: a CPU that was idle at times was not busy for 100 %.
                let least = percent(*least_busy_ns, *duration_ns).floor();
                write!(f, "{} {} busy for {at_least}{least:.0} % of the time", cpus_named(cpus), were(cpus))?;
                if idle_cpus.is_empty() {
                    return Ok(());
                }
                let average = if idle_cpus.len() == 1 { "" } else { " on average" };
                let idle = percent(*idle_ns, *duration_ns);
                write!(f, ", while {} {} idle for {idle:.0} %{average}", cpus_named(idle_cpus), were(idle_cpus))
            }
        }
    }
}

/// Writes the responses of one definition: their number and times, and what has become of those that did not end in time.
fn write_response(f: &mut fmt::Formatter<'_>, response: &ResponseSummary) -> fmt::Result {
    let ResponseSummary { name, count, open, lost, dropped, dropped_at, deadline_ns, late, time: times, .. } = response;
    write!(f, "{name}: {}", counted(*count, "response"))?;
    if *count == 0 {
        return Ok(());
    }
    for (member, ns) in [("p50", times.p50_ns), ("p99", times.p99_ns), ("max", times.max_ns)] {
        let at_least =
            if times.lower_bounds.iter().any(|bound| bound.trim_end_matches("_ns") == member) { "≥" } else { "" };
        match ns {
            Some(ns) => write!(f, ", {member} {at_least}{}", time(ns))?,
            None => write!(f, ", {member} never")?,
        }
    }
    if let (Some(deadline), Some(late)) = (deadline_ns, late) {
        let late = if *late == 0 { "none".to_owned() } else { late.to_string() };
        write!(f, "; {late} later than {}", time(*deadline))?;
    }
    for (count, what) in [(*open, "not ended"), (*lost, "lost"), (*dropped, "dropped")] {
        if count > 0 {
            write!(f, "; {count} {what}")?;
        }
    }
    let places: Vec<String> = dropped_at
        .iter()
        .map(|place| match &place.semaphore {
            Some(semaphore) => format!("{} by {}, which took the next one from {semaphore}", place.count, place.task),
            None => format!("{} by {}, which was woken for the next one", place.count, place.task),
        })
        .collect();
    if !places.is_empty() {
        write!(f, " ({})", places.join("; "))?;
    }
    longest_delay(response).map_or(Ok(()), |(of, ns, delays, why)| {
        // Rounded down: a part is not 100 %.
        write!(f, "; {:.0} % of what delayed {of} {why}", percent(ns, delays).floor())
    })
}

/// Returns the longest delay of late responses, or of all if there is no deadline: whose it is, its length, that of all
/// delays, and its description. Work at full speed and sleeps are no delays. Returns `None` without delays.
fn longest_delay(response: &ResponseSummary) -> Option<(&'static str, u64, u64, String)> {
    let (of, parts) = match response.deadline_ns {
        Some(_) => ("the late ones", response.late_parts?),
        None => ("them", response.parts?),
    };
    let waits = [
        (parts.idle_exit_ns, "was for idle CPUs to wake up"),
        (parts.quota_ns, "was for runtime"),
        (parts.mutex_ns, "was for mutexes"),
        (parts.object_ns, "was for objects"),
        (parts.queue_ns, "was for tasks that were busy with other work"),
        (parts.interrupt_ns, "was for interrupts"),
        (parts.slow_ns, "was work on smaller or slower CPUs"),
        (parts.kernel_ns, "was kernel code"),
    ];
    let delays = waits.iter().map(|(ns, _)| ns).sum::<u64>() + parts.cpu_ns;
    let behind = response.behind.iter().map(|row| {
        let family = if row.family.is_empty() { "kernel threads".to_owned() } else { format!("`{}`", row.family) };
        (row.ns, format!("was behind {family} on {}", cpus_named(&row.cpus)))
    });
    let waits = waits.into_iter().map(|(ns, why)| (ns, why.to_owned()));
    // Of equal delays the first counts.
    let longest = behind.chain(waits).reduce(|longest, wait| if wait.0 > longest.0 { wait } else { longest })?;
    (longest.0 > 0).then_some((of, longest.0, delays, longest.1))
}

impl fmt::Display for FindingCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { high, medium, low, only_at_start } = *self;
        let counts = [(high, "high"), (medium, "medium"), (low, "low"), (only_at_start, "only at the start")];
        let counts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
        let counts = if counts.is_empty() { "none".to_owned() } else { counts.join(", ") };
        write!(f, "findings: {counts}")?;
        if high + medium + low + only_at_start > NR_FINDINGS {
            write!(f, "; the {NR_FINDINGS} most important")?;
        }
        Ok(())
    }
}

impl fmt::Display for WaitingFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |ns: u64| percent(ns, self.runnable_ns);
        let mut parts: Vec<String> = Vec::new();
        if let Some(longest) = self.longest_wait {
            let (waited, part) = (time(self.wait_ns), share(self.wait_ns));
            parts.push(format!("{waited} for a CPU ({part:.1} % of its runnable time), {}", lasted(longest)));
        }
        parts.extend(self.runtime_waits.iter().map(|waits| {
            let part = share(waits.ns);
            format!("{} for {} ({part:.1} %), {}", time(waits.ns), waits.description(), lasted(waits.longest))
        }));
        write!(f, "{}: {}", self.family, parts.join("; "))
    }
}

impl fmt::Display for MissedTimers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, missed, arrivals, max_late_ns } = self;
        write!(f, "{family} {missed} of {arrivals}")?;
        max_late_ns.map_or(Ok(()), |late| write!(f, ", at most {} late", time(late)))
    }
}

/// Describes the longest wait: a lower bound if it has not ended.
fn lasted(longest: LongestWait) -> String {
    if longest.is_open {
        format!("at least {} at a time (not ended)", time(longest.ns))
    } else {
        format!("at most {} at a time", time(longest.ns))
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_measure::families::TimerSummary;

    fn cpu(cpu: u32, busy_ns: u64) -> CpuSummary {
        CpuSummary { cpu, busy_ns, idle_ns: 100 - busy_ns, ..CpuSummary::default() }
    }

    fn line_of(headline: Option<Headline>) -> Option<String> {
        headline.map(|headline| headline.to_string())
    }

    #[test]
    fn overloaded_cpus_are_named_beside_idle_ones() {
        let cpus = vec![cpu(0, 10), cpu(1, 99), cpu(2, 97), cpu(3, 30)];
        let summary = RunSummary { duration_ns: 100, cpus, ..RunSummary::default() };
        let line = "CPUs 1-2 were busy for at least 97 % of the time, while CPUs 0,3 were idle for 80 % on average";
        assert_eq!(line_of(super::cpus(&summary)).as_deref(), Some(line));
        let summary = RunSummary { duration_ns: 100, cpus: vec![cpu(0, 10), cpu(1, 99)], ..RunSummary::default() };
        let line = "CPU 1 was busy for 99 % of the time, while CPU 0 was idle for 90 %";
        assert_eq!(line_of(super::cpus(&summary)).as_deref(), Some(line));
    }

    #[test]
    fn a_cpu_that_was_offline_had_no_time_to_spare() {
        let offline = CpuSummary { cpu: 1, busy_ns: 30, idle_ns: 10, offline_ns: 60, ..CpuSummary::default() };
        let summary = RunSummary { duration_ns: 100, cpus: vec![cpu(0, 100), offline], ..RunSummary::default() };
        assert_eq!(line_of(cpus(&summary)).as_deref(), Some("CPU 0 was busy for 100 % of the time"));
    }

    #[test]
    fn no_overload_names_the_busiest_cpu() {
        let summary = RunSummary { duration_ns: 100, cpus: vec![cpu(0, 10), cpu(1, 60)], ..RunSummary::default() };
        assert_eq!(line_of(cpus(&summary)).as_deref(), Some("CPUs: none was busy all the time; CPU 1 most, 60 %"));
    }

    #[test]
    fn findings_are_counted_by_severity_and_by_the_start_of_the_run() {
        let counts = |high, medium, low, only_at_start| {
            Headline::Findings(FindingCounts { high, medium, low, only_at_start }).to_string()
        };
        assert_eq!(counts(0, 0, 0, 0), "findings: none");
        assert_eq!(counts(1, 0, 2, 0), "findings: 1 high, 2 low");
        assert_eq!(counts(0, 2, 0, 2), "findings: 2 medium, 2 only at the start; the 3 most important");
    }

    #[test]
    fn families_that_waited_or_missed_are_named_the_worst_first() {
        let family = |name: &str, wait_ns, missed| FamilySummary {
            name: name.to_owned(),
            run_ns: 900,
            wait_ns,
            longest_wait: Some(LongestWait { ns: wait_ns, is_open: name == "a" }),
            timers: Some(TimerSummary { arrivals: 50, missed, ..TimerSummary::default() }),
            ..FamilySummary::default()
        };
        let lines_of = |families: &[FamilySummary]| {
            let summary = RunSummary { families: families.to_vec(), ..RunSummary::default() };
            (line_of(waiting(&summary)).expect("there are families"), line_of(timers(&summary)).expect("and timers"))
        };
        let mut families = vec![family("a", 100, 0), family("b", 1, 2), family("c", 300, 9)];
        let c = "  c: 300ns for a CPU (25.0 % of its runnable time), at most 300ns at a time";
        let a = "  a: 100ns for a CPU (10.0 % of its runnable time), at least 100ns at a time (not ended)";
        let (waits, missed) = lines_of(&families);
        assert_eq!(waits, format!("waiting: 2 task families\n{c}\n{a}"));
        assert_eq!(missed, "missed timers: c 9 of 50; b 2 of 50");
        families.extend([family("d", 200, 1), family("e", 50, 1)]);
        let (waits, missed) = lines_of(&families);
        assert!(waits.starts_with("waiting: 4 task families; the 3 that waited longest\n"), "{waits}");
        assert_eq!(missed, "missed timers: c 9 of 50; b 2 of 50; d 1 of 50; and 1 more");
        let (waits, missed) = lines_of(&families[1..2]);
        assert_eq!(
            (waits.as_str(), missed.as_str()),
            ("waiting: less than 1 % of the runnable time, in all task families", "missed timers: b 2 of 50",)
        );
        let (waits, missed) = lines_of(&families[..1]);
        assert_eq!(waits, format!("waiting: 1 task family\n{a}"));
        assert_eq!(missed, "missed timers: none of 50");
    }

    #[test]
    fn waits_for_runtime_are_named_with_their_limit() {
        let longest = LongestWait { ns: 40, is_open: false };
        let waits = RuntimeWaits {
            limit: fairlab_measure::families::LimitKind::Quota,
            group: Some("g".to_owned()),
            ns: 60,
            longest,
        };
        let family = WaitingFamily {
            family: "a".to_owned(),
            runnable_ns: 200,
            wait_ns: 0,
            longest_wait: None,
            runtime_waits: vec![waits],
        };
        assert_eq!(family.to_string(), "a: 60ns for the quota of g (30.0 %), at most 40ns at a time");
        let timers = MissedTimers { family: "a".to_owned(), missed: 1, arrivals: 2, max_late_ns: Some(1500) };
        assert_eq!(timers.to_string(), "a 1 of 2, at most 1.50us late");
    }
}
