// SPDX-License-Identifier: GPL-2.0-or-later
//! The run summary: what matters first, then the tables that the workload calls for, and others on request.

use super::columns::{self, CpuRow, TimerRow};
use super::figures::{counted, cpus_named, rate, ratio, time, whole_percent};
use super::measure::{self, Measure};
use super::{headline, residency};

use super::{Styles, wrap};
use clap::ValueEnum;
use fairlab_findings::Finding;
use fairlab_machine::hardware::Hardware;
use fairlab_measure::cgroups::CgroupSummary;
use fairlab_measure::cpus::CpuSummary;
use fairlab_measure::families::FamilySummary;
use fairlab_measure::summary::RunSummary;
use fairlab_sched::units::Nanos;

/// With more CPUs than this, rows are for whole caches.
const MAX_CPU_ROWS: usize = 16;
/// With more families than this, the rest is one row.
const MAX_FAMILY_ROWS: usize = 24;

/// A table that is printed on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportTables {
    /// Share of each kind of CPU in the time of task families, and their energy
    Residency,
    /// CPUs: busy time, switches, ticks, interrupts, idle states
    Cpus,
    /// Time at each frequency
    Frequencies,
    /// CPU selection, load balancing, blocked load, energy
    Decisions,
    /// All tables
    All,
}

/// How much is printed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SummaryOptions<'a> {
    /// Every CPU and every family.
    pub(crate) per_cpu: bool,
    pub(crate) is_default_duration: bool,
    /// Tables beyond those that the workload calls for.
    pub(crate) tables: &'a [ReportTables],
    pub(crate) measures: &'a [Measure],
}

pub(crate) fn run(
    summary: &RunSummary,
    findings: Option<&[Finding]>,
    hardware: &Hardware,
    styles: Styles,
    options: &SummaryOptions<'_>,
) -> String {
    let is_wanted = |table| options.tables.contains(&table) || options.tables.contains(&ReportTables::All);
    let mut parts = vec![headline::lines(summary, findings, styles)];
    if !summary.responses.is_empty() {
        parts.push(columns::table(columns::RESPONSES, summary, &summary.responses).render(styles));
    }
    parts.push(tasks(summary, styles, options));
    if summary.families.iter().any(|family| family.wake_to_run.is_some()) {
        parts.push(latencies(summary, styles, options));
    }
    if summary.families.iter().any(|family| family.timers.is_some()) {
        parts.push(timers(summary, styles));
    }
    let is_used = |group: &&CgroupSummary| group.usage_ns > 0 || group.bandwidth.is_some();
    let cgroups: Vec<CgroupSummary> = summary.cgroups.iter().filter(is_used).cloned().collect();
    if cgroups.iter().any(|group| group.entitlement.is_some() || group.bandwidth.is_some()) {
        parts.push(columns::table(columns::CGROUPS, summary, &cgroups).render(styles));
    }
    if is_wanted(ReportTables::Residency) {
        let residency = residency::table(summary, &shown_families(summary, options));
        parts.extend(residency.map(|table| table.render(styles)));
    }
    if is_wanted(ReportTables::Cpus) || options.per_cpu {
        parts.push(cpus(summary, styles, options));
    }
    if is_wanted(ReportTables::Frequencies) {
        parts.push(frequencies(summary, hardware));
    }
    if is_wanted(ReportTables::Decisions) {
        parts.push(reasons(summary) + &measure::lines(summary));
    }
    let mut page = head(summary, hardware, styles, options);
    for part in parts.iter().filter(|part| !part.is_empty()) {
        page.push('\n');
        page.push_str(part);
    }
    page.push_str(&measure::tables(summary, styles, options.measures));
    page.push('\n');
    page.push_str(&foot(summary, styles));
    if options.tables.is_empty() && options.measures.is_empty() {
        page.push_str(&format!("{}\n", styles.dim("more: --tables all, --measure all, --json")));
    }
    page
}

fn head(summary: &RunSummary, hardware: &Hardware, styles: Styles, options: &SummaryOptions<'_>) -> String {
    let run = &summary.run;
    let machine = if run.machine == "scenario" { "its own machine" } else { run.machine.as_str() };
    let by_default = match summary.cut_short_of_ns {
        Some(whole) => format!(" of {}, stopped before the end", Nanos(whole)),
        None if options.is_default_duration => " (by default; --for LENGTH)".to_owned(),
        None => String::new(),
    };
    let nr_cpus = summary.cpus.len();
    let is_free = if hardware.costs.is_zero_cost() { "; zero-cost kernel code" } else { "" };
    let kernel = match &summary.engine {
        Some(engine) => format!("engine {} (Linux {})", engine.name, engine.version),
        None => format!("kernel {}", run.kernel),
    };
    let settled = match summary.settling {
        Some(settling) if settling.has_settled => format!("; {}", settling.sentence()),
        _ => String::new(),
    };
    let line = format!(
        "{}: {} on {machine}, {}, {kernel}, {} simulated{by_default}{settled}{is_free}",
        styles.bold(&run.workload),
        run.kind,
        counted(nr_cpus, "CPU"),
        Nanos(summary.duration_ns)
    );
    let mut head = wrap(&line, 2);
    for assumption in &summary.assumptions {
        head.push_str(&wrap(assumption, 2));
    }
    head
}

fn tasks(summary: &RunSummary, styles: Styles, options: &SummaryOptions<'_>) -> String {
    columns::table(columns::TASKS, summary, &shown_families(summary, options)).render(styles)
}

/// The families that have a row, the rest as one.
fn shown_families(summary: &RunSummary, options: &SummaryOptions<'_>) -> Vec<FamilySummary> {
    let shown = if options.per_cpu { summary.families.len() } else { MAX_FAMILY_ROWS };
    let mut rows: Vec<FamilySummary> = summary.families.iter().take(shown).cloned().collect();
    let hidden = &summary.families[rows.len()..];
    if !hidden.is_empty() {
        rows.push(FamilySummary::sum(format!("({} more)", hidden.len()), hidden));
    }
    rows
}

fn latencies(summary: &RunSummary, styles: Styles, options: &SummaryOptions<'_>) -> String {
    let shown = if options.per_cpu { summary.families.len() } else { MAX_FAMILY_ROWS };
    let families = summary.families.iter().take(shown).filter(|family| family.wake_to_run.is_some());
    let rows: Vec<FamilySummary> = families.cloned().collect();
    columns::table(columns::LATENCIES, summary, &rows).render(styles)
}

fn timers(summary: &RunSummary, styles: Styles) -> String {
    let row = |family: &FamilySummary| family.timers.map(|timers| (family.name.clone(), timers));
    let rows: Vec<TimerRow> = summary.families.iter().filter_map(row).collect();
    columns::table(columns::TIMERS, summary, &rows).render(styles)
}

/// Neighbours in a list of CPUs that become one row.
fn rows_of<'a>(summary: &'a RunSummary, options: &SummaryOptions<'_>) -> Vec<CpuRow<'a>> {
    let mut rows: Vec<CpuRow<'_>> = Vec::new();
    let by_cache = !options.per_cpu && summary.cpus.len() > MAX_CPU_ROWS;
    let is_unused = |cpu: &CpuSummary| cpu.busy_ns == 0 && cpu.switches == 0;
    for cpu in &summary.cpus {
        let belongs = |row: &&mut CpuRow<'_>| {
            let first = row[0];
            let is_alike = first.capacity == cpu.capacity && first.llc == cpu.llc;
            is_alike && (by_cache || (!options.per_cpu && is_unused(first) && is_unused(cpu)))
        };
        match rows.iter_mut().find(belongs) {
            Some(row) => row.push(cpu),
            None => rows.push(vec![cpu]),
        }
    }
    rows
}

fn cpus(summary: &RunSummary, styles: Styles, options: &SummaryOptions<'_>) -> String {
    columns::table(&columns::of_cpus(), summary, &rows_of(summary, options)).render(styles)
}

/// A line for those CPUs that have one frequency: how long which.
fn frequencies(summary: &RunSummary, hardware: &Hardware) -> String {
    let mut text = String::new();
    let peers = hardware.frequency_peers().into_iter();
    let mut domains: Vec<Vec<u32>> = peers.map(|cpus| cpus.iter().map(|cpu| cpu.0).collect()).collect();
    if domains.is_empty() {
        let stepped = hardware.frequency_steps.iter().map(|(_, cpu, _)| cpu.0);
        domains = stepped.collect::<std::collections::BTreeSet<u32>>().into_iter().map(|cpu| vec![cpu]).collect();
    }
    for cpus in domains {
        let Some(cpu) = cpus.first().and_then(|&cpu| summary.cpus.get(cpu as usize)) else { continue };
        let times = cpu.frequencies.iter().map(|at| {
            let name = at.khz.map_or_else(|| format!("{}/1024", at.part), |khz| format!("{} MHz", khz / 1000));
            format!("{name} {}", whole_percent(at.ns, summary.duration_ns))
        });
        let times: Vec<String> = times.collect();
        text.push_str(&wrap(&format!("frequency of {}: {}", cpus_named(&cpus), times.join(", ")), 2));
    }
    text
}

fn reasons(summary: &RunSummary) -> String {
    let selection = &summary.selection;
    let selections = selection.wakeups + selection.forks + selection.execs;
    let mut text = String::new();
    if summary.cpus.windows(2).any(|pair| pair[0].capacity != pair[1].capacity) {
        let placement = &summary.placement;
        let on = if placement.by_energy { "on" } else { "off" };
        text.push_str(&wrap(&format!("energy-aware scheduling: {on}: {}", placement.why), 2));
    }
    if selections > 0 {
        let rules = selection.by_rule.iter().take(6);
        let rules: Vec<String> =
            rules.map(|(rule, count)| format!("{rule} {}", whole_percent(*count, selections))).collect();
        let execs = if selection.execs > 0 { format!(", {}", counted(selection.execs, "exec")) } else { String::new() };
        let of_wakeups = if selection.wakeups > 0 {
            let scanned = selection.cpus_scanned as f64 / selection.wakeups as f64;
            let stayed = whole_percent(selection.stayed, selection.wakeups);
            format!("; {stayed} of the wake-ups stayed, {scanned:.2} CPUs scanned per wake-up")
        } else {
            String::new()
        };
        text.push_str(&wrap(
            &format!(
                "CPU selection: {}, {}{execs}{of_wakeups}; {}",
                counted(selection.wakeups, "wake-up"),
                counted(selection.forks, "fork"),
                rules.join(", ")
            ),
            2,
        ));
    }
    let balance = &summary.balance;
    if balance.passes + balance.kicks > 0 {
        text.push_str(&wrap(
            &format!(
                "load balancing: {}, {} moved {}, {} active, {} failed; {}",
                counted(balance.passes, "pass"),
                balance.moved,
                counted(balance.tasks_moved, "task"),
                balance.active,
                balance.failed,
                counted(balance.kicks, "nohz kick")
            ),
            2,
        ));
    }
    text
}

fn foot(summary: &RunSummary, styles: Styles) -> String {
    let totals = &summary.totals;
    let speed = summary.speed.map_or_else(String::new, |speed| {
        let memory =
            speed.peak_rss_bytes.map_or_else(String::new, |bytes| format!(", {} MiB", bytes.div_ceil(1 << 20)));
        format!(
            "{} events in {}: {}/s, {}x real time{memory}",
            totals.events,
            time((speed.wall_s * 1e9) as u64),
            rate(speed.events_per_s),
            ratio(speed.simulated_per_s)
        )
    });
    format!("{}\n", styles.dim(&format!("digest {}  {speed}", summary.digest)))
}
