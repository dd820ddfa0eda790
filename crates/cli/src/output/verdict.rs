// SPDX-License-Identifier: GPL-2.0-or-later
//! First lines of a run summary: findings, tasks that waited or missed timers, and CPUs that were overloaded while others idled.

use super::figures::{cpus_named, time};
use super::{Styles, sanitize, wrap};
use fairlab_observe::cpus::CpuSummary;
use fairlab_observe::families::{FamilySummary, LongestWait};
use fairlab_observe::findings::{Finding, Severity};
use fairlab_observe::summary::RunSummary;
use std::iter;

const NR_FINDINGS: usize = 3;
const NR_FAMILIES: usize = 3;
/// A family waited if it was runnable without a CPU for at least this share of its runnable time, in percent.
const MIN_WAIT_PERCENT: f64 = 1.0;
/// A CPU is overloaded if it was busy for at least this share of the run, in percent.
const MIN_BUSY_PERCENT: f64 = 95.0;
/// A CPU had time to spare if it was idle for at least this share of the run, in percent.
const MIN_IDLE_PERCENT: f64 = 20.0;

/// Returns the lines. `findings` are sorted, the worst first; without them (a compiled-kernel engine) there is no such line.
pub(crate) fn lines(summary: &RunSummary, findings: Option<&[Finding]>, styles: Styles) -> String {
    let mut text = String::new();
    if let Some(findings) = findings {
        text.push_str(&finding_lines(findings, styles));
    }
    for line in waiting(summary) {
        text.push_str(&wrap(&sanitize(&line), 4));
    }
    for line in [timers(summary), cpus(summary)].into_iter().flatten() {
        text.push_str(&wrap(&sanitize(&line), 2));
    }
    text
}

fn finding_lines(findings: &[Finding], styles: Styles) -> String {
    if findings.is_empty() {
        return "findings: none\n".to_owned();
    }
    let lasting = || findings.iter().filter(|finding| finding.only_in_first_ns.is_none());
    let count = |severity: Severity| lasting().filter(|finding| finding.severity == severity).count();
    let counts = [Severity::High, Severity::Medium, Severity::Low].map(|severity| (count(severity), severity.name()));
    let mut counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
    let nr_at_start = findings.len() - lasting().count();
    if nr_at_start > 0 {
        counts.push(format!("{nr_at_start} only at the start"));
    }
    let more = if findings.len() > NR_FINDINGS { format!("; the {NR_FINDINGS} most important") } else { String::new() };
    let mut text = format!("findings: {}{more}\n", counts.join(", "));
    for finding in findings.iter().take(NR_FINDINGS) {
        let severity = finding.severity.name();
        let severity = if finding.severity == Severity::High { styles.warning(severity) } else { severity.to_owned() };
        text.push_str(&wrap(&format!("  {severity}: {}: {}", finding.rule, sanitize(&finding.sentence)), 4));
    }
    text
}

/// Returns a heading, and a line for each family that waited longest for a CPU or runtime, the longest time first.
fn waiting(summary: &RunSummary) -> Vec<String> {
    if summary.families.is_empty() {
        return Vec::new();
    }
    let waited = |family: &FamilySummary| family.wait_ns + family.throttled_ns;
    let share = |ns: u64, family: &FamilySummary| percent(ns, family.run_ns + waited(family));
    let is_shown = |family: &&FamilySummary| share(waited(family), family) >= MIN_WAIT_PERCENT;
    let mut families: Vec<&FamilySummary> = summary.families.iter().filter(is_shown).collect();
    families.sort_by_key(|family| std::cmp::Reverse(waited(family)));
    if families.is_empty() {
        return vec![format!("waiting: less than {MIN_WAIT_PERCENT} % of the runnable time, in all task families")];
    }
    let named = families.iter().take(NR_FAMILIES).map(|family| {
        let mut parts: Vec<String> = Vec::new();
        if let Some(longest) = family.longest_wait.filter(|longest| longest.ns > 0) {
            let part = share(family.wait_ns, family);
            parts.push(format!(
                "{} for a CPU ({part:.1} % of its runnable time), {}",
                time(family.wait_ns),
                lasted(longest)
            ));
        }
        parts.extend(family.runtime_waits.iter().map(|waits| {
            let part = share(waits.ns, family);
            format!("{} for {} ({part:.1} %), {}", time(waits.ns), waits.description(), lasted(waits.longest))
        }));
        format!("  {}: {}", family.name, parts.join("; "))
    });
    let noun = if families.len() == 1 { "task family" } else { "task families" };
    let more =
        if families.len() > NR_FAMILIES { format!("; the {NR_FAMILIES} that waited longest") } else { String::new() };
    let heading = format!("waiting: {} {noun}{more}", families.len());
    iter::once(heading).chain(named).collect()
}

/// Describes the longest wait: a lower bound if it has not ended.
fn lasted(longest: LongestWait) -> String {
    if longest.is_open {
        format!("at least {} at a time (not ended)", time(longest.ns))
    } else {
        format!("at most {} at a time", time(longest.ns))
    }
}

/// Families whose periodic timers had expired before they arrived.
fn timers(summary: &RunSummary) -> Option<String> {
    let with_timers = summary.families.iter().filter_map(|family| Some((family, family.timers?)));
    let with_timers: Vec<_> = with_timers.collect();
    if with_timers.is_empty() {
        return None;
    }
    let mut missed: Vec<_> = with_timers.iter().filter(|(_, timers)| timers.missed > 0).collect();
    missed.sort_by_key(|(_, timers)| std::cmp::Reverse(timers.missed));
    if missed.is_empty() {
        let arrivals: u64 = with_timers.iter().map(|(_, timers)| timers.arrivals).sum();
        return Some(format!("missed timers: none of {arrivals}"));
    }
    let named = missed.iter().take(NR_FAMILIES).map(|(family, timers)| {
        let late = timers
            .slack
            .map_or_else(String::new, |slack| format!(", at most {} late", time(slack.min_ns.min(0).unsigned_abs())));
        format!("{} {} of {}{late}", family.name, timers.missed, timers.arrivals)
    });
    let named: Vec<String> = named.collect();
    Some(format!("missed timers: {}{}", named.join("; "), and_more(missed.len())))
}

/// CPUs that were overloaded, and those that had time to spare meanwhile.
fn cpus(summary: &RunSummary) -> Option<String> {
    let busy = |cpu: &&CpuSummary| percent(cpu.busy_ns, summary.duration_ns);
    let overloaded: Vec<&CpuSummary> = summary.cpus.iter().filter(|cpu| busy(cpu) >= MIN_BUSY_PERCENT).collect();
    let idle = |cpu: &&CpuSummary| percent(cpu.idle_ns, summary.duration_ns);
    let spare: Vec<&CpuSummary> = summary.cpus.iter().filter(|cpu| idle(cpu) >= MIN_IDLE_PERCENT).collect();
    let busiest = summary.cpus.iter().max_by_key(|cpu| (cpu.busy_ns, std::cmp::Reverse(cpu.cpu)))?;
    if overloaded.is_empty() {
        return Some(format!("CPUs: none was busy all the time; CPU {} most, {:.0} %", busiest.cpu, busy(&busiest)));
    }
    // Rounded down: a CPU that was idle at times was not busy for 100 %.
    let least = overloaded.iter().map(busy).fold(f64::INFINITY, f64::min).floor();
    let names = |cpus: &[&CpuSummary]| cpus_named(&cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<u32>>());
    let were = |cpus: &[&CpuSummary]| if cpus.len() == 1 { "was" } else { "were" };
    let at_least = if overloaded.len() == 1 { "" } else { "at least " };
    let line = format!("{} {} busy for {at_least}{least:.0} % of the time", names(&overloaded), were(&overloaded));
    if spare.is_empty() {
        return Some(line);
    }
    let idle = spare.iter().map(|cpu| cpu.idle_ns).sum::<u64>() / spare.len() as u64;
    let average = if spare.len() == 1 { "" } else { " on average" };
    Some(format!(
        "{line}, while {} {} idle for {:.0} %{average}",
        names(&spare),
        were(&spare),
        percent(idle, summary.duration_ns)
    ))
}

fn and_more(nr_families: usize) -> String {
    match nr_families.saturating_sub(NR_FAMILIES) {
        0 => String::new(),
        more => format!("; and {more} more"),
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_observe::families::TimerSummary;

    fn cpu(cpu: u32, busy_ns: u64) -> CpuSummary {
        CpuSummary { cpu, busy_ns, idle_ns: 100 - busy_ns, ..CpuSummary::default() }
    }

    #[test]
    fn overloaded_cpus_are_named_beside_idle_ones() {
        let cpus = vec![cpu(0, 10), cpu(1, 99), cpu(2, 97), cpu(3, 30)];
        let summary = RunSummary { duration_ns: 100, cpus, ..RunSummary::default() };
        let line = "CPUs 1-2 were busy for at least 97 % of the time, while CPUs 0, 3 were idle for 80 % on average";
        assert_eq!(super::cpus(&summary).as_deref().map(|text| text.replace(",3", ", 3")), Some(line.to_owned()));
    }

    #[test]
    fn a_cpu_that_was_offline_had_no_time_to_spare() {
        let offline = CpuSummary { cpu: 1, busy_ns: 30, idle_ns: 10, offline_ns: 60, ..CpuSummary::default() };
        let summary = RunSummary { duration_ns: 100, cpus: vec![cpu(0, 100), offline], ..RunSummary::default() };
        assert_eq!(cpus(&summary).as_deref(), Some("CPU 0 was busy for 100 % of the time"));
    }

    #[test]
    fn no_overload_names_the_busiest_cpu() {
        let summary = RunSummary { duration_ns: 100, cpus: vec![cpu(0, 10), cpu(1, 60)], ..RunSummary::default() };
        assert_eq!(cpus(&summary).as_deref(), Some("CPUs: none was busy all the time; CPU 1 most, 60 %"));
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
        let families = vec![family("a", 100, 0), family("b", 1, 2), family("c", 300, 9)];
        let summary = RunSummary { families, ..RunSummary::default() };
        let expected = [
            "waiting: 2 task families",
            "  c: 300ns for a CPU (25.0 % of its runnable time), at most 300ns at a time",
            "  a: 100ns for a CPU (10.0 % of its runnable time), at least 100ns at a time (not ended)",
        ];
        assert_eq!(waiting(&summary), expected);
        assert_eq!(timers(&summary).as_deref(), Some("missed timers: c 9 of 50; b 2 of 50"));
    }
}
