// SPDX-License-Identifier: GPL-2.0-or-later
//! The page about a run: what a kernel engineer wants to know at a glance.

use super::columns::{self, CpuRow, TimerRow};
use super::figures::{cpus_named, rate, ratio, time, whole_percent};
use super::measure::{self, Measure};
use super::residency;
use super::{Styles, wrap};
use fairlab_machine::hardware::Hardware;
use fairlab_observe::cpus::CpuSummary;
use fairlab_observe::families::FamilySummary;
use fairlab_observe::summary::RunSummary;
use fairlab_sched::units::Nanos;

/// With more CPUs than this, rows are for whole caches.
const MOST_CPUS: usize = 16;
/// With more families than this, the rest is one row.
const MOST_FAMILIES: usize = 24;

/// How much is shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options<'a> {
    /// Every CPU and every family.
    pub(crate) per_cpu: bool,
    /// Nobody said how long to simulate.
    pub(crate) is_default_duration: bool,
    /// What is shown at length.
    pub(crate) measures: &'a [Measure],
}

/// The page about a run.
pub(crate) fn run(summary: &RunSummary, hardware: &Hardware, styles: Styles, options: &Options<'_>) -> String {
    let mut page = head(summary, hardware, styles, options);
    page.push('\n');
    page.push_str(&tasks(summary, styles, options));
    let residency = residency::table(summary, &shown_families(summary, options));
    if let Some(residency) = residency {
        page.push('\n');
        page.push_str(&residency.render(styles));
    }
    if summary.families.iter().any(|family| family.wake_to_run.is_some()) {
        page.push('\n');
        page.push_str(&latencies(summary, styles, options));
    }
    if summary.families.iter().any(|family| family.timers.is_some()) {
        page.push('\n');
        page.push_str(&timers(summary, styles));
    }
    if !summary.cgroups.is_empty() {
        page.push('\n');
        page.push_str(&columns::table(columns::CGROUPS, summary, &summary.cgroups).render(styles));
    }
    page.push('\n');
    page.push_str(&cpus(summary, styles, options));
    let frequencies = frequencies(summary, hardware);
    if !frequencies.is_empty() {
        page.push('\n');
        page.push_str(&frequencies);
    }
    page.push('\n');
    page.push_str(&reasons(summary));
    page.push_str(&measure::lines(summary));
    page.push_str(&measure::tables(summary, styles, options.measures));
    page.push_str(&foot(summary, styles));
    page
}

fn head(summary: &RunSummary, hardware: &Hardware, styles: Styles, options: &Options<'_>) -> String {
    let run = &summary.run;
    let machine = if run.machine == "scenario" { "its own machine" } else { run.machine.as_str() };
    let by_default = match summary.cut_short_of_ns {
        Some(whole) => format!(" of {}: STOPPED before its end", Nanos(whole)),
        None if options.is_default_duration => " (by default; --for LENGTH)".to_owned(),
        None => String::new(),
    };
    let nr_cpus = summary.cpus.len();
    let is_free = if hardware.prices.is_free() { "; kernel code is free here" } else { "" };
    let kernel = match &summary.engine {
        Some(engine) => format!("engine {} (Linux {})", engine.name, engine.version),
        None => format!("kernel {}", run.kernel),
    };
    let line = format!(
        "{}: {} on {machine}, {nr_cpus} CPU{}, {kernel}, {} simulated{by_default}{is_free}",
        styles.bold(&run.workload),
        run.kind,
        if nr_cpus == 1 { "" } else { "s" },
        Nanos(summary.duration_ns)
    );
    let mut head = wrap(&line, 2);
    for assumption in &summary.assumptions {
        head.push_str(&wrap(assumption, 2));
    }
    head
}

fn tasks(summary: &RunSummary, styles: Styles, options: &Options<'_>) -> String {
    columns::table(columns::TASKS, summary, &shown_families(summary, options)).render(styles)
}

/// The families that have a row, the rest as one.
fn shown_families(summary: &RunSummary, options: &Options<'_>) -> Vec<FamilySummary> {
    let shown = if options.per_cpu { summary.families.len() } else { MOST_FAMILIES };
    let mut rows: Vec<FamilySummary> = summary.families.iter().take(shown).cloned().collect();
    let hidden = &summary.families[rows.len()..];
    if !hidden.is_empty() {
        rows.push(FamilySummary::sum(format!("({} more)", hidden.len()), hidden));
    }
    rows
}

/// Latencies of those families that were woken.
fn latencies(summary: &RunSummary, styles: Styles, options: &Options<'_>) -> String {
    let shown = if options.per_cpu { summary.families.len() } else { MOST_FAMILIES };
    let families = summary.families.iter().take(shown).filter(|family| family.wake_to_run.is_some());
    let rows: Vec<FamilySummary> = families.cloned().collect();
    columns::table(columns::LATENCIES, summary, &rows).render(styles)
}

/// Periodic timers.
fn timers(summary: &RunSummary, styles: Styles) -> String {
    let row = |family: &FamilySummary| family.timers.map(|timers| (family.name.clone(), timers));
    let rows: Vec<TimerRow> = summary.families.iter().filter_map(row).collect();
    columns::table(columns::TIMERS, summary, &rows).render(styles)
}

/// Neighbours in a list of CPUs that become one row.
fn rows_of<'a>(summary: &'a RunSummary, options: &Options<'_>) -> Vec<CpuRow<'a>> {
    let mut rows: Vec<CpuRow<'_>> = Vec::new();
    let by_cache = !options.per_cpu && summary.cpus.len() > MOST_CPUS;
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

fn cpus(summary: &RunSummary, styles: Styles, options: &Options<'_>) -> String {
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
    let selections = selection.wakeups + selection.forks;
    let mut text = String::new();
    if summary.cpus.windows(2).any(|pair| pair[0].capacity != pair[1].capacity) {
        let placement = &summary.placement;
        let on = if placement.by_energy { "on" } else { "off" };
        text.push_str(&wrap(&format!("placement by energy: {on}: {}", placement.why), 2));
    }
    if selections > 0 {
        let rules = selection.by_rule.iter().take(6);
        let rules: Vec<String> =
            rules.map(|(rule, count)| format!("{rule} {}", whole_percent(*count, selections))).collect();
        let scanned = selection.cpus_scanned as f64 / selections as f64;
        text.push_str(&wrap(
            &format!(
                "CPU selection: {} wake-ups, {} forks; {} stayed; {scanned:.2} CPUs scanned each; {}",
                selection.wakeups,
                selection.forks,
                whole_percent(selection.stayed, selections),
                rules.join(", ")
            ),
            2,
        ));
    }
    let balance = &summary.balance;
    if balance.passes + balance.kicks > 0 {
        text.push_str(&wrap(
            &format!(
                "load balancing: {} passes, {} moved {} tasks, {} active, {} failed; {} nohz kicks",
                balance.passes, balance.moved, balance.tasks_moved, balance.active, balance.failed, balance.kicks
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
