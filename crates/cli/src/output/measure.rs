// SPDX-License-Identifier: GPL-2.0-or-later
//! Measurements of a run: lines of the run summary, and detailed tables for `--measure`.

use super::columns::count;
use super::figures::{cpus_named, format_cpu_list, time};
use super::table::{Cell, Table};
use super::{Styles, residency, wrap};
use clap::ValueEnum;
use fairlab_measure::energy::EnergyDomain;
use fairlab_measure::measure::kernel_time::KernelTimeRow;
use fairlab_measure::measure::kicks::KickRow;
use fairlab_measure::measure::search::SearchCounters;
use fairlab_measure::measure::text::{ParsedRow, schedstat_parse};
use fairlab_measure::summary::RunSummary;
use std::collections::BTreeSet;

/// Measurement that `--measure` prints in detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measure {
    /// Scan for an idle CPU: counters and ratios, as `schedstat_parse.py` prints them
    Search,
    /// Calls of `kick_ilb()` by CPU and reason
    Kicks,
    /// Calls of `update_blocked_averages()` by caller
    Blocked,
    /// Passes of `load_balance()` by domain level and idle state of the CPU, with their work
    Balance,
    /// Energy by performance domain, operating point and idle state
    Energy,
    /// Time of each task family by CPU type and operating point
    Residency,
    /// Time in kernel paths and lock wait time; only with a cost model
    Times,
    /// Histograms of time in kernel paths, in the format of bpftrace
    Histograms,
    /// All measurements
    All,
}

const NO_TIMES_REASON: &str =
    "none: kernel code has zero cost in this run (a scenario, a machine without costs, or --prices zero)";

type MeasureTableFn = fn(&RunSummary, Styles) -> String;

pub(crate) fn lines(summary: &RunSummary) -> String {
    let measure = &summary.measure;
    let mut text = String::new();
    let SearchCounters { sis_search, .. } = measure.search.total;
    if sis_search > 0 {
        let ratios = &measure.search.ratios;
        let line = format!(
            "idle-CPU scans: {sis_search}; se_eff {:.1}%, dom_eff {:.1}%, fast_rate {:.1}%, success_rate {:.1}%",
            ratios.se_eff, ratios.dom_eff, ratios.fast_rate, ratios.success_rate
        );
        text.push_str(&wrap(&line, 2));
    }
    let blocked = &measure.blocked;
    if blocked.calls > 0 {
        let callers = blocked.by_caller.iter().map(|row| format!("{} {:.0}", row.caller, row.calls_per_s));
        let callers: Vec<String> = callers.collect();
        text.push_str(&wrap(
            &format!("blocked load: {:.0} updates per second ({})", blocked.calls_per_s, callers.join(", ")),
            2,
        ));
    }
    if let Some(energy) = &summary.energy {
        let domain = |domain: &EnergyDomain| format!("{} {}", cpus_named(&domain.cpus), joules(domain.busy_uj));
        let domains: Vec<String> = energy.domains.iter().map(domain).collect();
        let idle = energy.idle_uj.map_or_else(|| "idle not modelled".to_owned(), |uj| format!("idle {}", joules(uj)));
        let line = format!("energy: busy {} ({}), {idle}", joules(energy.busy_uj), domains.join(", "));
        text.push_str(&wrap(&line, 2));
    }
    text
}

pub(crate) fn tables(summary: &RunSummary, styles: Styles, wanted: &[Measure]) -> String {
    let is_wanted = |measure| wanted.contains(&measure) || wanted.contains(&Measure::All);
    let parts: &[(Measure, &str, MeasureTableFn)] = &[
        (Measure::Search, "scans for an idle CPU", search),
        (Measure::Kicks, "calls of kick_ilb()", kicks),
        (Measure::Blocked, "calls of update_blocked_averages()", blocked),
        (Measure::Balance, "passes of load_balance()", balance),
        (Measure::Energy, "energy", energy),
        (
            Measure::Residency,
            "time by CPU type and operating point, as a share of the family's run time",
            residency::by_operating_point,
        ),
        (Measure::Times, "time in kernel paths", times),
        (Measure::Histograms, "histograms of time in kernel paths, in microseconds", histograms),
    ];
    let mut text = String::new();
    for &(measure, head, table) in parts {
        if is_wanted(measure) {
            text.push_str(&format!("\n{}\n{}", styles.bold(head), table(summary, styles)));
        }
    }
    text
}

fn none(what: &str) -> String {
    format!("  {what}\n")
}

fn search(summary: &RunSummary, styles: Styles) -> String {
    let search = &summary.measure.search;
    let name = std::path::Path::new(&summary.run.workload).file_stem().and_then(|name| name.to_str());
    let row = |load: &str, ratios| ParsedRow {
        case: name.unwrap_or(&summary.run.workload).to_owned(),
        load: load.to_owned(),
        ratios,
    };
    let tasks = format!("{} tasks", summary.totals.tasks);
    let mut text = schedstat_parse(&[row(&tasks, search.ratios), row("mean of CPUs", search.cpu_mean)]);
    let mut table = Table::default().left(["counter"]).right(["sum", "avg of CPUs"]);
    let total = search.total;
    for (name, sum) in [
        ("sis_search", total.sis_search),
        ("sis_domain_search", total.sis_domain_search),
        ("sis_scanned", total.sis_scanned),
        ("sis_failed", total.sis_failed),
    ] {
        let average = sum as f64 / search.per_cpu.len().max(1) as f64;
        table.row(vec![name.into(), sum.to_string().into(), format!("{average:.0}").into()]);
    }
    text.push_str(&table.render(styles));
    text
}

fn kicks(summary: &RunSummary, styles: Styles) -> String {
    let rows = &summary.measure.kicks;
    if rows.is_empty() {
        return none("none");
    }
    let reasons: BTreeSet<&str> = rows.iter().flat_map(|row| row.by_reason.keys().map(String::as_str)).collect();
    let mut table = Table::default().left(["CPU"]).right(["calls", "sent"]).right(&reasons);
    let mut add = |name: String, rows: &[&KickRow]| {
        let sum = |what: &dyn Fn(&KickRow) -> u64| rows.iter().map(|row| what(row)).sum::<u64>();
        let mut cells: Vec<Cell> = vec![name.into(), count(sum(&|row| row.calls)), count(sum(&|row| row.interrupts))];
        cells.extend(
            reasons.iter().map(|&reason| count(sum(&|row| row.by_reason.get(reason).copied().unwrap_or_default()))),
        );
        table.row(cells);
    };
    // CPUs without a call have a row too: the published tables contain their zeros.
    let quiet: Vec<u32> =
        summary.cpus.iter().map(|cpu| cpu.cpu).filter(|cpu| rows.iter().all(|row| row.cpu != *cpu)).collect();
    for row in rows {
        add(row.cpu.to_string(), &[row]);
    }
    if !quiet.is_empty() {
        add(format_cpu_list(&quiet), &[]);
    }
    add("all".to_owned(), &rows.iter().collect::<Vec<_>>());
    table.render(styles)
}

fn blocked(summary: &RunSummary, styles: Styles) -> String {
    let blocked = &summary.measure.blocked;
    if blocked.calls == 0 {
        return none("none");
    }
    let mut table = Table::default().left(["caller"]).right(["calls", "calls/s", "cfs_rqs each"]);
    let mut add = |caller: &str, calls: u64, per_s: f64, cfs_rqs: u64| {
        let each = format!("{:.1}", cfs_rqs as f64 / calls as f64);
        table.row(vec![caller.into(), calls.to_string().into(), format!("{per_s:.1}").into(), each.into()]);
    };
    for row in &blocked.by_caller {
        add(&row.caller, row.calls, row.calls_per_s, row.cfs_rqs);
    }
    add("all", blocked.calls, blocked.calls_per_s, blocked.cfs_rqs);
    table.render(styles)
}

fn balance(summary: &RunSummary, styles: Styles) -> String {
    let rows = &summary.measure.passes;
    if rows.is_empty() {
        return none("none");
    }
    let table =
        Table::default().left(["domain", "kind"]).right(["passes", "not this CPU", "balanced", "moved", "active"]);
    let mut table = table.right(["failed", "CPUs", "locks", "scanned", "tasks", "redos", "max cost"]);
    for row in rows {
        let mut cells: Vec<Cell> = vec![row.domain.as_str().into(), row.kind.as_str().into()];
        let counts = [
            row.passes,
            row.not_ours,
            row.balanced,
            row.moved,
            row.active,
            row.failed,
            row.cpus,
            row.locks,
            row.tasks_looked_at,
            row.tasks_moved,
            row.redos,
        ];
        cells.extend(counts.map(count));
        cells.push(row.max_newidle_lb_cost_ns.map_or_else(Cell::default, |cost| time(cost).into()));
        table.row(cells);
    }
    table.render(styles)
}

pub(super) fn joules(uj: u64) -> String {
    format!("{:.3} J", uj as f64 / 1e6)
}

fn energy(summary: &RunSummary, styles: Styles) -> String {
    let Some(energy) = &summary.energy else {
        return none("unknown: the machine has no frequency domain with power values");
    };
    let mut table = Table::default().left(["CPUs", "point"]).right(["power", "busy", "idle", "energy"]);
    for domain in &energy.domains {
        let cpus = format_cpu_list(&domain.cpus);
        let mut row = |point: String, power: Option<u64>, busy: u64, idle: u64, uj: Option<u64>| {
            let power = power.map_or_else(|| "-".to_owned(), |power| format!("{:.1} mW", power as f64 / 1e3));
            let energy = uj.map_or_else(|| "not modelled".to_owned(), joules);
            table.text_row([cpus.clone(), point, power, time(busy), time(idle), energy]);
        };
        for opp in &domain.opps {
            row(format!("{} MHz", opp.khz / 1000), Some(opp.power_uw), opp.busy_ns, opp.idle_ns, Some(opp.busy_uj));
        }
        for state in &domain.idle_states {
            row(state.state.clone(), state.power_uw, 0, state.ns, state.uj);
        }
    }
    let mut text = table.render(styles);
    if !energy.unknown_cpus.is_empty() {
        text.push_str(&none(&format!("the power of {} is unknown", cpus_named(&energy.unknown_cpus))));
    }
    text
}

fn times(summary: &RunSummary, styles: Styles) -> String {
    let rows = &summary.measure.times;
    if rows.is_empty() {
        return none(NO_TIMES_REASON);
    }
    let columns = ["calls", "total", "p50", "p90", "p99", "max", "lock waits", "waited", "wait p99"];
    let mut table = Table::default().left(["path"]).right(columns);
    for row in rows {
        let call = &row.call;
        let mut cells: Vec<Cell> = vec![row.path.as_str().into(), call.count.to_string().into()];
        let spans = [row.total_ns, call.p50_ns, call.p90_ns, call.p99_ns, call.max_ns];
        cells.extend(spans.map(|ns| Cell::from(time(ns))));
        let waits = row.lock_wait.as_ref().map_or(0, |wait| wait.count);
        let p99 = row.lock_wait.as_ref().map_or_else(|| Cell::from("-").quiet(), |wait| time(wait.p99_ns).into());
        cells.extend([count(waits), time(row.waited_ns).into(), p99]);
        table.row(cells);
    }
    table.render(styles)
}

fn histograms(summary: &RunSummary, _: Styles) -> String {
    let rows = &summary.measure.times;
    if rows.is_empty() {
        return none(NO_TIMES_REASON);
    }
    rows.iter().map(KernelTimeRow::bpftrace).collect::<Vec<_>>().join("\n")
}
