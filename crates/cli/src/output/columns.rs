// SPDX-License-Identifier: GPL-2.0-or-later
//! Columns of the run summary: tasks, latencies, timers, cgroups and CPUs.
//!
//! A column is one entry of a list: its heading, alignment, cells, and the condition under which it is shown.

use super::figures::{bar, format_cpu_list, percent, time, whole_percent};
use super::table::{Align, Cell, Table};
use fairlab_measure::cgroups::{CgroupBandwidth, CgroupSummary};
use fairlab_measure::cpus::CpuSummary;
use fairlab_measure::families::{FamilySummary, LongestWait, TimerSummary};
use fairlab_measure::latency::LatencySummary;
use fairlab_measure::responses::{ResponseQuantiles, ResponseSummary};
use fairlab_measure::slack::SlackSummary;
use fairlab_measure::summary::RunSummary;

const BAR: usize = 10;
/// Wake-up latency that is highlighted, in nanoseconds: one tick at 250 Hz.
const LONG_LATENCY_NS: u64 = 4_000_000;

/// Column of a table whose rows describe an `R` each.
pub(super) struct Column<R> {
    heading: &'static str,
    align: Align,
    cell: fn(&RunSummary, &R) -> Cell,
    is_shown: fn(&RunSummary, &[R]) -> bool,
}

impl<R> Column<R> {
    const fn left(heading: &'static str, cell: fn(&RunSummary, &R) -> Cell) -> Self {
        Self { heading, align: Align::Left, cell, is_shown: |_, _| true }
    }

    const fn right(heading: &'static str, cell: fn(&RunSummary, &R) -> Cell) -> Self {
        Self { align: Align::Right, ..Self::left(heading, cell) }
    }

    const fn when(self, is_shown: fn(&RunSummary, &[R]) -> bool) -> Self {
        Self { is_shown, ..self }
    }
}

pub(super) fn table<R>(columns: &[Column<R>], summary: &RunSummary, rows: &[R]) -> Table {
    let shown: Vec<&Column<R>> = columns.iter().filter(|column| (column.is_shown)(summary, rows)).collect();
    let head = |table: Table, column: &&Column<R>| table.column(column.heading, column.align);
    let mut table = shown.iter().fold(Table::default(), head);
    for row in rows {
        table.row(shown.iter().map(|column| (column.cell)(summary, row)).collect());
    }
    table
}

pub(super) const TASKS: &[Column<FamilySummary>] = &[
    Column::left("task", |_, family| family.name.as_str().into()),
    Column::right("n", |_, family| family.tasks.to_string().into()),
    Column::right("run", |_, family| span(family.run_ns)),
    Column::right("%CPU", |summary, family| percent(family.run_ns, summary.duration_ns).into()),
    Column::right("wait", |_, family| span(family.wait_ns)),
    // Beside throttled time there is no room for it in 80 columns; the lines above the table have both.
    Column::right("longest", |_, family: &FamilySummary| longest_wait(family.longest_wait))
        .when(|_, rows| rows.iter().all(|family| family.throttled_ns == 0)),
    Column::right("throttled", |_, family: &FamilySummary| span(family.throttled_ns).notable())
        .when(|_, rows| rows.iter().any(|family| family.throttled_ns > 0)),
    Column::right("wake-ups", |_, family| count(family.wakeups)),
    Column::right("vol", |_, family| count(family.voluntary_switches)),
    Column::right("invol", |_, family| count(family.involuntary_switches)),
    Column::right("migr", |_, family| count(family.migrations)),
];

/// Columns of latencies after wake-ups: from wake-up to run, and the part of it spent on the runqueue.
pub(super) const LATENCIES: &[Column<FamilySummary>] = &[
    Column::left("wake to run", |_, family| family.name.as_str().into()),
    Column::right("p50", |_, family| latency(family.wake_to_run.as_ref(), "p50_ns")),
    Column::right("p90", |_, family| latency(family.wake_to_run.as_ref(), "p90_ns")),
    Column::right("p99", |_, family| latency(family.wake_to_run.as_ref(), "p99_ns")),
    Column::right("max", |_, family| latency(family.wake_to_run.as_ref(), "max_ns")),
    Column::right("runq p50", |_, family| latency(family.wakeup_latency.as_ref(), "p50_ns")),
    Column::right("p90", |_, family| latency(family.wakeup_latency.as_ref(), "p90_ns")),
    Column::right("p99", |_, family| latency(family.wakeup_latency.as_ref(), "p99_ns")),
    Column::right("max", |_, family| latency(family.wakeup_latency.as_ref(), "max_ns")),
];

/// Columns of responses.
pub(super) const RESPONSES: &[Column<ResponseSummary>] = &[
    Column::left("response", |_, response| response.name.as_str().into()),
    Column::right("n", |_, response| response.count.to_string().into()),
    Column::right("p50", |_, response| response_time(&response.time, "p50_ns", response.time.p50_ns)),
    Column::right("p90", |_, response| response_time(&response.time, "p90_ns", response.time.p90_ns)),
    Column::right("p99", |_, response| response_time(&response.time, "p99_ns", response.time.p99_ns)),
    Column::right("max", |_, response| response_time(&response.time, "max_ns", response.time.max_ns)),
    Column::right("deadline", |_, response: &ResponseSummary| response.deadline_ns.map_or_else(|| "-".into(), span))
        .when(|_, rows| rows.iter().any(|response| response.deadline_ns.is_some())),
    Column::right("late", |_, response: &ResponseSummary| response.late.map_or_else(|| "-".into(), notable_count))
        .when(|_, rows| rows.iter().any(|response| response.deadline_ns.is_some())),
    Column::right("open", |_, response| count(response.open)),
    Column::right("lost", |_, response: &ResponseSummary| notable_count(response.lost))
        .when(|_, rows| rows.iter().any(|response| response.lost > 0)),
    Column::right("dropped", |_, response: &ResponseSummary| notable_count(response.dropped))
        .when(|_, rows| rows.iter().any(|response| response.dropped > 0)),
];

pub(super) type TimerRow = (String, TimerSummary);

/// Columns of periodic timers, with the terms of rt-app's log.
pub(super) const TIMERS: &[Column<TimerRow>] = &[
    Column::left("timer of", |_, (name, _)| name.as_str().into()),
    Column::right("arrivals", |_, (_, timers)| timers.arrivals.to_string().into()),
    Column::right("missed", |_, (_, timers)| notable_count(timers.missed)),
    Column::right("slack min", |_, (_, timers)| slack(timers, |slack| slack.min_ns)),
    Column::right("p10", |_, (_, timers)| slack(timers, |slack| slack.p10_ns)),
    Column::right("p50", |_, (_, timers)| slack(timers, |slack| slack.p50_ns)),
    Column::right("wu_lat p50", |_, (_, timers)| latency(timers.wakeup_latency.as_ref(), "p50_ns")),
    Column::right("p90", |_, (_, timers)| latency(timers.wakeup_latency.as_ref(), "p90_ns")),
    Column::right("p99", |_, (_, timers)| latency(timers.wakeup_latency.as_ref(), "p99_ns")),
    Column::right("max", |_, (_, timers)| latency(timers.wakeup_latency.as_ref(), "max_ns")),
];

/// Columns of cgroups: CPU time, the part of what weight and quota allow, and counters of the quota.
pub(super) const CGROUPS: &[Column<CgroupSummary>] = &[
    Column::left("cgroup", |_, group| group.name.as_str().into()),
    Column::right("run", |_, group| span(group.usage_ns)),
    Column::right("%entitled", |_, group: &CgroupSummary| {
        group.entitlement.map_or_else(|| "-".to_owned(), |of| percent(of.got_ns, of.due_ns)).into()
    })
    .when(|_, groups| groups.iter().any(|group| group.entitlement.is_some())),
    Column::right("quota", |_, group: &CgroupSummary| {
        in_quota(group, |of| of.quota_ns.map_or_else(|| "max".to_owned(), time).into())
    })
    .when(has_quotas),
    Column::right("period", |_, group: &CgroupSummary| in_quota(group, |of| time(of.period_ns).into()))
        .when(has_quotas),
    Column::right("%quota", |_, group: &CgroupSummary| {
        in_quota(group, |of| percent(of.used_ns, of.available_ns).into())
    })
    .when(has_quotas),
    Column::right("periods", |_, group: &CgroupSummary| in_quota(group, |of| count(of.nr_periods))).when(has_quotas),
    Column::right("throttled", |_, group: &CgroupSummary| in_quota(group, |of| notable_count(of.nr_throttled)))
        .when(has_quotas),
    Column::right("for", |_, group: &CgroupSummary| in_quota(group, |of| time(of.throttled_ns).into()))
        .when(has_quotas),
    Column::right("bursts", |_, group: &CgroupSummary| in_quota(group, |of| count(of.nr_bursts))).when(has_bursts),
    Column::right("by", |_, group: &CgroupSummary| in_quota(group, |of| time(of.burst_ns).into())).when(has_bursts),
];

/// Returns a cell about the quota of a cgroup, if it has or had one.
fn in_quota(group: &CgroupSummary, cell: fn(&CgroupBandwidth) -> Cell) -> Cell {
    group.bandwidth.as_ref().map_or_else(|| Cell::from("-").quiet(), cell)
}

fn has_quotas(_: &RunSummary, groups: &[CgroupSummary]) -> bool {
    groups.iter().any(|group| group.bandwidth.is_some())
}

fn has_bursts(_: &RunSummary, groups: &[CgroupSummary]) -> bool {
    groups.iter().any(|group| group.bandwidth.is_some_and(|of| of.nr_bursts > 0))
}

/// CPUs that share a row.
pub(super) type CpuRow<'a> = Vec<&'a CpuSummary>;

pub(super) fn of_cpus<'a>() -> Vec<Column<CpuRow<'a>>> {
    vec![
        Column::left("CPU", |_, row| format_cpu_list(&row.iter().map(|cpu| cpu.cpu).collect::<Vec<u32>>()).into()),
        Column::right("cap", |_, row: &CpuRow<'a>| row[0].capacity.to_string().into())
            .when(|summary, _| summary.cpus.windows(2).any(|pair| pair[0].capacity != pair[1].capacity)),
        // The summary is 80 columns wide: beside idle states it has no room for bars.
        Column::left("busy", |summary, row: &CpuRow<'a>| {
            bar(sum(row, |cpu| cpu.busy_ns), whole(summary, row), BAR).into()
        })
        .when(|summary, _| summary.cpus.iter().all(|cpu| cpu.idle_states.is_empty())),
        Column::right("%busy", |summary, row| percent(sum(row, |cpu| cpu.busy_ns), whole(summary, row)).into()),
        Column::right("min-max", |summary, row: &CpuRow<'a>| range_of(row, summary.duration_ns))
            .when(|_, rows| rows.iter().any(|row| row.len() > 1 && row.iter().any(|cpu| cpu.busy_ns > 0))),
        Column::right("%sys", |summary, row: &CpuRow<'a>| {
            percent(sum(row, |cpu| cpu.kernel_ns), whole(summary, row)).into()
        })
        .when(|summary, _| summary.totals.kernel_ns > 0),
        Column::right("switches", |_, row| count(sum(row, |cpu| cpu.switches))),
        Column::right("ticks", |_, row| count(sum(row, |cpu| cpu.ticks))),
        Column::right("resched", |_, row| count(sum(row, |cpu| cpu.reschedule_ipis))),
        Column::right("call", |_, row| count(sum(row, |cpu| cpu.call_function_ipis))),
        Column::left("idle states", |_, row: &CpuRow<'a>| idle_states(row).into())
            .when(|summary, _| summary.cpus.iter().any(|cpu| !cpu.idle_states.is_empty())),
    ]
}

/// Formats a count; zero is a dash.
pub(super) fn count(number: u64) -> Cell {
    if number == 0 { Cell::from("-").quiet() } else { number.to_string().into() }
}

fn notable_count(number: u64) -> Cell {
    if number == 0 { count(0) } else { count(number).notable() }
}

fn span(ns: u64) -> Cell {
    if ns == 0 { Cell::from("0").quiet() } else { time(ns).into() }
}

/// Formats a member of a latency's statistics; long ones are highlighted, and lower bounds are marked.
fn latency(latency: Option<&LatencySummary>, member: &str) -> Cell {
    let Some((latency, ns)) = latency.and_then(|latency| Some((latency, latency.member(member)?))) else {
        return Cell::from("-").quiet();
    };
    if latency.lower_bounds.has(member) {
        return Cell::from(format!("≥{}", time(ns))).notable();
    }
    if ns >= LONG_LATENCY_NS { span(ns).notable() } else { span(ns) }
}

/// Returns the cell of a response time: a lower bound if its response is open, `never` if it was lost or dropped.
fn response_time(times: &ResponseQuantiles, member: &str, ns: Option<u64>) -> Cell {
    match ns {
        None => Cell::from("never").notable(),
        Some(ns) if times.lower_bounds.iter().any(|bound| bound == member) => {
            Cell::from(format!("≥{}", time(ns))).notable()
        }
        Some(ns) => span(ns),
    }
}

/// Formats the longest wait of a family; one that has not ended is marked.
fn longest_wait(longest: Option<LongestWait>) -> Cell {
    match longest {
        None => Cell::from("-").quiet(),
        Some(LongestWait { ns, is_open: true }) => Cell::from(format!("≥{}", time(ns))).notable(),
        Some(LongestWait { ns, is_open: false }) => span(ns),
    }
}

fn slack(timers: &TimerSummary, quantile: fn(&SlackSummary) -> i64) -> Cell {
    match timers.slack.as_ref().map(quantile) {
        None => Cell::from("-").quiet(),
        Some(ns) if ns < 0 => Cell::from(format!("-{}", time(ns.unsigned_abs()))).notable(),
        Some(ns) => span(ns.unsigned_abs()),
    }
}

fn sum(row: &[&CpuSummary], what: fn(&CpuSummary) -> u64) -> u64 {
    row.iter().map(|cpu| what(cpu)).sum()
}

/// Returns the time of all CPUs of a row together, in nanoseconds.
fn whole(summary: &RunSummary, row: &[&CpuSummary]) -> u64 {
    summary.duration_ns * row.len() as u64
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
    let idle = sum(row, |cpu| cpu.idle_ns);
    // CPUs of a row may have different states.
    let mut states: Vec<(&str, u64)> = Vec::new();
    for state in row.iter().flat_map(|cpu| &cpu.idle_states) {
        match states.iter_mut().find(|(name, _)| *name == state.state) {
            Some((_, time)) => *time += state.ns,
            None => states.push((&state.state, state.ns)),
        }
    }
    // States with less than half a percent of idle time would only take space.
    let used = states.into_iter().filter(|(_, time)| *time > 0 && 200 * *time >= idle);
    used.map(|(name, time)| format!("{name} {}", whole_percent(time, idle))).collect::<Vec<_>>().join(", ")
}
