// SPDX-License-Identifier: GPL-2.0-or-later
//! Schemas of the study's tables. A label names a run, such as `TCP_RR 28 threads`, and in some tables the
//! value to report.

use super::case::SisUtilBench;
use super::{eight_cpus, figures, nr_scan, small_llc};
use crate::table_schema::TableSchema;
use fairlab_measure::measure::search::SearchCounters;

/// Examples of runs, for messages.
const RUNS: &[&str] = &[
    "TCP_RR 28 threads",
    "UDP_RR 28 threads",
    "tbench 28 threads",
    "schbench 1 mthread",
    "schbench 2 mthreads",
    "process-pipe 1 group",
    "process-sockets 2 groups",
    "threads-pipe 4 groups",
    "threads-sockets 8 groups",
    "OLTP 28 clients",
];
/// Examples of rows with counters, for messages.
const COUNTED: &[&str] = &[
    "TCP_RR 224 threads, sis_search",
    "TCP_RR 224 threads, sis_domain_search",
    "TCP_RR 224 threads, sis_scanned",
    "TCP_RR 224 threads, sis_failed",
];

/// Schemas of all tables that the code fills.
pub(crate) const TABLES: &[TableSchema] = &[
    TableSchema::read("nr_scan", |_, label| nr_scan::parse_label(label).is_some(), &["25 % of 112 CPUs"]),
    TableSchema::read("se_eff", is_label, RUNS),
    TableSchema::read("dom_eff", is_label, RUNS),
    TableSchema::read("fast_rate", is_label, RUNS),
    TableSchema::read("success_rate", is_label, RUNS),
    TableSchema::read("netperf", is_label, RUNS),
    TableSchema::read("hackbench", is_label, RUNS),
    TableSchema::read("tbench", is_label, RUNS),
    TableSchema::read("schbench", is_label, RUNS),
    TableSchema::read("latency", is_label, RUNS),
    TableSchema::read("counters", is_label, COUNTED),
    TableSchema::read("counts", is_label, COUNTED),
    TableSchema::read("lock waiting", is_label, RUNS),
    TableSchema::read("one CPU", is_label, RUNS),
    TableSchema::read("utilisation", is_label, RUNS),
    TableSchema::read("histogram", is_label, &["TCP_RR 224 threads, traced"]),
    TableSchema::read("histogram shares", is_label, &["TCP_RR 224 threads, 64 us, traced"]),
    TableSchema::read("untraced shares", is_label, &["TCP_RR 224 threads, 64 us, untraced"]),
    TableSchema::read("OLTP", is_label, RUNS),
    TableSchema::read("stress-ng sock", is_label, &["sock 112, bogo ops", "sock 112, involuntary"]),
    TableSchema::one_of(small_llc::TABLE, small_llc::LABELS),
    TableSchema::one_of(eight_cpus::TABLE, eight_cpus::LABELS),
];

/// Whether a label names a run, and after it a value that the table reports.
fn is_label(table: &str, label: &str) -> bool {
    let (run, what) = label.split_once(", ").unwrap_or((label, ""));
    is_run(run)
        && match table {
            "counters" | "counts" => is_counter(what),
            "histogram" => what == "traced",
            "histogram shares" => what.strip_suffix(", traced").is_some_and(is_bucket),
            "untraced shares" => what.strip_suffix(", untraced").is_some_and(is_bucket),
            "stress-ng sock" => matches!(what, "bogo ops" | "involuntary"),
            _ => what.is_empty(),
        }
}

/// Whether a text such as `TCP_RR 28 threads` has a benchmark, its load, and the unit of the load.
fn is_run(run: &str) -> bool {
    let mut words = run.splitn(3, ' ');
    let Some(bench) = words.next().and_then(SisUtilBench::from_name) else { return false };
    let Some(load) = words.next().and_then(|load| load.parse::<u32>().ok()) else { return false };
    let units: &[&str] = match bench {
        SisUtilBench::TcpRr | SisUtilBench::UdpRr | SisUtilBench::Tbench => &["threads"],
        SisUtilBench::Schbench => &["mthread", "mthreads"],
        SisUtilBench::Hackbench { .. } => &["group", "groups"],
        SisUtilBench::Oltp => &["clients"],
        SisUtilBench::StressSock => &[""],
    };
    load > 0 && units.contains(&words.next().unwrap_or(""))
}

fn is_counter(name: &str) -> bool {
    figures::counter(&SearchCounters::default(), name).is_some()
}

/// Whether a text such as `64 us` is the lower bound of a histogram bucket.
fn is_bucket(text: &str) -> bool {
    let begin = text.strip_suffix(" us").and_then(|begin| begin.parse::<u64>().ok());
    begin.is_some_and(u64::is_power_of_two)
}
