// SPDX-License-Identifier: GPL-2.0-or-later
//! The page about a run: what a kernel engineer wants to know at a glance.

use super::figures::{bar, cpu_list, percent, rate, ratio, time, whole_percent};
use super::measure::{self, Measure};
use super::table::{Align, Cell, Table};
use super::{Styles, wrap};
use fairlab_machine::hardware::Hardware;
use fairlab_observe::cpus::CpuSummary;
use fairlab_observe::families::FamilySummary;
use fairlab_observe::latency::LatencySummary;
use fairlab_observe::summary::Summary;
use fairlab_sched::units::Nanos;

/// With more CPUs than this, rows are for whole caches.
const MOST_CPUS: usize = 16;
/// With more families than this, the rest is one row.
const MOST_FAMILIES: usize = 24;
/// Width of bars.
const BAR: usize = 10;
/// A wake-up latency that is worth a look: a tick of most kernels.
const LONG_LATENCY_NS: u64 = 4_000_000;

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
pub(crate) fn run(summary: &Summary, hardware: &Hardware, styles: Styles, options: &Options<'_>) -> String {
    let mut page = head(summary, styles, options);
    for warning in &summary.warnings {
        page.push_str(&wrap(&format!("{} {warning}", styles.warning("warning:")), 2));
    }
    page.push('\n');
    page.push_str(&tasks(summary, styles, options));
    if summary.families.iter().any(|family| family.timers.is_some()) {
        page.push('\n');
        page.push_str(&timers(summary, styles));
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

fn head(summary: &Summary, styles: Styles, options: &Options<'_>) -> String {
    let run = &summary.run;
    let machine = if run.kind == "scenario" { "its own machine" } else { run.machine.as_str() };
    let by_default = if options.is_default_duration { " (--for says how long)" } else { "" };
    let nr_cpus = summary.cpus.len();
    let line = format!(
        "{}: {} on {machine}, {nr_cpus} CPU{}, kernel {}, {} simulated{by_default}",
        styles.bold(&run.workload),
        run.kind,
        if nr_cpus == 1 { "" } else { "s" },
        run.kernel,
        Nanos(summary.duration_ns)
    );
    wrap(&line, 2)
}

/// Nothing is a dash.
fn count(number: u64) -> Cell {
    if number == 0 { Cell::from("-").quiet() } else { number.to_string().into() }
}

fn span(ns: u64) -> Cell {
    if ns == 0 { Cell::from("0").quiet() } else { time(ns).into() }
}

fn quantiles(latency: Option<&LatencySummary>) -> Vec<Cell> {
    let Some(latency) = latency else { return vec![Cell::from("-").quiet(); 4] };
    let cell = |ns| if ns >= LONG_LATENCY_NS { span(ns).notable() } else { span(ns) };
    [latency.p50_ns, latency.p90_ns, latency.p99_ns, latency.max_ns].map(cell).into()
}

fn tasks(summary: &Summary, styles: Styles, options: &Options<'_>) -> String {
    let is_asymmetric = summary.families.iter().any(|family| family.run_by_capacity.len() > 1);
    let mut columns = vec![("task", Align::Left), ("n", Align::Right), ("run", Align::Right), ("%CPU", Align::Right)];
    if is_asymmetric {
        columns.push(("%big", Align::Right));
    }
    let rest = ["wait", "wake-ups", "lat p50", "p90", "p99", "max", "vol", "invol", "migr"];
    columns.extend(rest.map(|name| (name, Align::Right)));
    let mut table = Table::new(&columns);
    let shown = if options.per_cpu { summary.families.len() } else { MOST_FAMILIES };
    let row = |family: &FamilySummary| {
        let mut cells: Vec<Cell> = vec![
            family.name.as_str().into(),
            family.tasks.to_string().into(),
            span(family.run_ns),
            percent(family.run_ns, summary.duration_ns).into(),
        ];
        if is_asymmetric {
            let big = family.run_by_capacity.last().map_or(0, |&(_, ns)| ns);
            cells.push(percent(big, family.run_ns).into());
        }
        cells.extend([span(family.wait_ns), count(family.wakeups)]);
        cells.extend(quantiles(family.wakeup_latency.as_ref()));
        cells.extend([count(family.voluntary_switches), count(family.involuntary_switches), count(family.migrations)]);
        cells
    };
    for family in summary.families.iter().take(shown) {
        table.row(row(family));
    }
    let hidden = &summary.families[shown.min(summary.families.len())..];
    if !hidden.is_empty() {
        table.row(row(&sum_of(hidden)));
    }
    table.render(styles)
}

/// Families that have no rows of their own.
fn sum_of(families: &[FamilySummary]) -> FamilySummary {
    let sum = |what: fn(&FamilySummary) -> u64| families.iter().map(what).sum();
    let mut run_by_capacity = families[0].run_by_capacity.clone();
    for family in &families[1..] {
        for (sum, more) in run_by_capacity.iter_mut().zip(&family.run_by_capacity) {
            sum.1 += more.1;
        }
    }
    FamilySummary {
        name: format!("({} more)", families.len()),
        tasks: sum(|family| family.tasks),
        run_ns: sum(|family| family.run_ns),
        run_by_capacity,
        wait_ns: sum(|family| family.wait_ns),
        wakeups: sum(|family| family.wakeups),
        wakeup_latency: None,
        voluntary_switches: sum(|family| family.voluntary_switches),
        involuntary_switches: sum(|family| family.involuntary_switches),
        migrations: sum(|family| family.migrations),
        timers: None,
    }
}

/// Periodic timers, in the words of rt-app's log.
fn timers(summary: &Summary, styles: Styles) -> String {
    let mut table = Table::new(&[
        ("timer of", Align::Left),
        ("arrivals", Align::Right),
        ("missed", Align::Right),
        ("slack min", Align::Right),
        ("p50", Align::Right),
        ("wu_lat p50", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
    ]);
    for family in &summary.families {
        let Some(timers) = &family.timers else { continue };
        let missed = count(timers.missed);
        let mut cells: Vec<Cell> = vec![
            family.name.as_str().into(),
            timers.arrivals.to_string().into(),
            if timers.missed > 0 { missed.notable() } else { missed },
        ];
        let slack = |what: fn(&LatencySummary) -> u64| {
            timers.slack.as_ref().map_or_else(|| Cell::from("-").quiet(), |slack| span(what(slack)))
        };
        cells.extend([slack(|slack| slack.min_ns), slack(|slack| slack.p50_ns)]);
        cells.extend(quantiles(timers.wakeup_latency.as_ref()));
        table.row(cells);
    }
    table.render(styles)
}

/// Neighbours in a list of CPUs that become one row.
fn rows_of<'a>(summary: &'a Summary, options: &Options<'_>) -> Vec<Vec<&'a CpuSummary>> {
    let mut rows: Vec<Vec<&CpuSummary>> = Vec::new();
    let by_cache = !options.per_cpu && summary.cpus.len() > MOST_CPUS;
    let is_unused = |cpu: &CpuSummary| cpu.busy_ns == 0 && cpu.switches == 0;
    for cpu in &summary.cpus {
        let belongs = |row: &&mut Vec<&CpuSummary>| {
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

fn cpus(summary: &Summary, styles: Styles, options: &Options<'_>) -> String {
    let rows = rows_of(summary, options);
    let is_asymmetric = summary.cpus.windows(2).any(|pair| pair[0].capacity != pair[1].capacity);
    let is_grouped = rows.iter().any(|row| row.len() > 1 && row.iter().any(|cpu| cpu.busy_ns > 0));
    let has_states = summary.cpus.iter().any(|cpu| !cpu.idle_states.is_empty());
    let has_prices = summary.totals.kernel_ns > 0;
    let mut columns = vec![("CPU", Align::Left)];
    let mut optional = |is_shown: bool, column| {
        if is_shown {
            columns.push(column);
        }
    };
    optional(is_asymmetric, ("cap", Align::Right));
    optional(true, ("busy", Align::Left));
    optional(true, ("%busy", Align::Right));
    optional(is_grouped, ("min-max", Align::Right));
    optional(has_prices, ("%sys", Align::Right));
    for name in ["switches", "ticks", "resched", "call"] {
        optional(true, (name, Align::Right));
    }
    optional(has_states, ("idle states", Align::Left));
    let mut table = Table::new(&columns);
    for row in &rows {
        let sum = |what: fn(&CpuSummary) -> u64| row.iter().map(|cpu| what(cpu)).sum::<u64>();
        let whole = summary.duration_ns * row.len() as u64;
        let busy = sum(|cpu| cpu.busy_ns);
        let numbers: Vec<u32> = row.iter().map(|cpu| cpu.cpu).collect();
        let mut cells: Vec<Cell> = vec![cpu_list(&numbers).into()];
        if is_asymmetric {
            cells.push(row[0].capacity.to_string().into());
        }
        cells.extend([bar(busy, whole, BAR).into(), percent(busy, whole).into()]);
        if is_grouped {
            cells.push(range_of(row, summary.duration_ns));
        }
        if has_prices {
            cells.push(percent(sum(|cpu| cpu.kernel_ns), whole).into());
        }
        cells.extend([
            count(sum(|cpu| cpu.switches)),
            count(sum(|cpu| cpu.ticks)),
            count(sum(|cpu| cpu.reschedule_ipis)),
            count(sum(|cpu| cpu.call_function_ipis)),
        ]);
        if has_states {
            cells.push(idle_states(row).into());
        }
        table.row(cells);
    }
    table.render(styles)
}

fn range_of(row: &[&CpuSummary], duration: u64) -> Cell {
    let parts = || row.iter().map(|cpu| cpu.busy_ns);
    let (Some(min), Some(max)) = (parts().min(), parts().max()) else { return Cell::default() };
    if row.len() == 1 {
        return Cell::default();
    }
    format!("{}-{}", percent(min, duration), percent(max, duration)).into()
}

fn idle_states(row: &[&CpuSummary]) -> String {
    let idle: u64 = row.iter().map(|cpu| cpu.idle_ns).sum();
    let states = row[0].idle_states.iter().enumerate().map(|(index, state)| {
        let time: u64 = row.iter().filter_map(|cpu| cpu.idle_states.get(index)).map(|state| state.ns).sum();
        (state.state.as_str(), time)
    });
    let used = states.filter(|(_, time)| *time > 0);
    used.map(|(name, time)| format!("{name} {}", whole_percent(time, idle))).collect::<Vec<_>>().join("  ")
}

/// A line for each frequency domain: how long it had which frequency.
fn frequencies(summary: &Summary, hardware: &Hardware) -> String {
    let mut text = String::new();
    let domains = hardware.frequency_domains.iter().map(|domain| domain.cpus().map(|cpu| cpu.0).collect());
    let mut domains: Vec<Vec<u32>> = domains.collect();
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
        text.push_str(&wrap(&format!("frequency of CPUs {}: {}", cpu_list(&cpus), times.join(", ")), 2));
    }
    text
}

fn reasons(summary: &Summary) -> String {
    let selection = &summary.selection;
    let selections = selection.wakeups + selection.forks;
    let mut text = String::new();
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

fn foot(summary: &Summary, styles: Styles) -> String {
    let totals = &summary.totals;
    let speed = summary.speed.map_or_else(String::new, |speed| {
        let memory =
            speed.peak_rss_bytes.map_or_else(String::new, |bytes| format!(", {} MiB", bytes.div_ceil(1 << 20)));
        format!(
            "{} events in {}: {}/s, {} times real time{memory}",
            totals.events,
            time((speed.wall_s * 1e9) as u64),
            rate(speed.events_per_s),
            ratio(speed.simulated_per_s)
        )
    });
    format!("{}\n", styles.dim(&format!("digest {}  {speed}", summary.digest)))
}
