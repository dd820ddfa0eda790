// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of a row from the counters of its run, and of the run of the arm that it is compared with.

use super::case::{NR_CPUS, SisUtilCase};
use crate::report::MeasuredFigure;
use crate::window::WindowCounts;
use fairlab_measure::measure::search::SearchCounters;

/// Length of the published runs in seconds, to which counts are scaled.
const PUBLISHED_S: f64 = 100.0;

/// Returns the arm that the rows of a table are compared with, if they are changes.
pub(super) fn base_of(table: &str) -> Option<&'static str> {
    matches!(
        table,
        "netperf" | "hackbench" | "tbench" | "schbench" | "counters" | "lock waiting" | "stress-ng sock" | "OLTP"
    )
    .then_some("before")
}

/// Counters that the value of a row is computed from.
pub(super) struct RowFigures<'a> {
    pub(super) case: &'a SisUtilCase,
    pub(super) seen: &'a WindowCounts,
    pub(super) base: Option<&'a WindowCounts>,
}

/// Returns the relative change from one number to another, in percent.
fn change(before: f64, after: f64) -> f64 {
    if before == 0.0 { f64::INFINITY } else { 100.0 * (after - before) / before }
}

/// Returns a counter by its published name.
pub(super) fn counter(counters: &SearchCounters, name: &str) -> Option<f64> {
    Some(match name {
        "sis_search" => counters.sis_search,
        "sis_domain_search" => counters.sis_domain_search,
        "sis_scanned" => counters.sis_scanned,
        "sis_failed" => counters.sis_failed,
        _ => return None,
    } as f64)
}

impl RowFigures<'_> {
    /// Returns the value of a row in the named table; `None` for an unknown table or label.
    pub(super) fn measure(&self, table: &str, label: &str) -> Option<MeasuredFigure> {
        let Self { case, seen, base } = *self;
        let ratios = seen.search.ratios();
        let what = label.split(", ").nth(1);
        Some(MeasuredFigure::number(match table {
            "se_eff" => ratios.se_eff,
            "dom_eff" => ratios.dom_eff,
            "fast_rate" => ratios.fast_rate,
            "success_rate" => ratios.success_rate,
            "netperf" | "hackbench" | "tbench" | "OLTP" => {
                let (before, after) = (case.bench.throughput(base?), case.bench.throughput(seen));
                let remark = format!("{before:.0} and {after:.0} in a second");
                return Some(MeasuredFigure::number(change(before, after)).with_remark(remark));
            }
            "schbench" => {
                let (before, after) = (base?.since_noted.quantile(0.9), seen.since_noted.quantile(0.9));
                let remark = format!("{:.1} and {:.1} us", before as f64 / 1e3, after as f64 / 1e3);
                return Some(MeasuredFigure::number(-change(before as f64, after as f64)).with_remark(remark));
            }
            "latency" => {
                let quantile = |part| seen.between_marks.quantile(part) as f64 / 1e3;
                let remark = format!("median {:.1}, 90th {:.1} us", quantile(0.5), quantile(0.9));
                return Some(MeasuredFigure::number(quantile(0.99)).with_remark(remark));
            }
            "counters" => change(counter(&base?.search, what?)?, counter(&seen.search, what?)?),
            "counts" => counter(&seen.search, what?)? * PUBLISHED_S * 1e9 / seen.window.0 as f64 / f64::from(NR_CPUS),
            "lock waiting" => {
                let per_search = |seen: &WindowCounts| seen.lock_waits as f64 / seen.search.sis_search as f64;
                let waiting = |seen: &WindowCounts| seen.lock_waiting.0 as f64 / seen.search.sis_search as f64;
                let base = base?;
                let remark = format!("{:.1} and {:.1} ns of waiting for each wake-up", waiting(base), waiting(seen));
                return Some(MeasuredFigure::number(change(per_search(base), per_search(seen))).with_remark(remark));
            }
            "stress-ng sock" => match what? {
                "bogo ops" => {
                    let (before, after) = (case.bench.throughput(base?), case.bench.throughput(seen));
                    let remark = format!(
                        "{before:.0} and {after:.0} in a second, utilisation {:.0} and {:.0} %",
                        base?.util_percent, seen.util_percent
                    );
                    return Some(MeasuredFigure::number(change(before, after)).with_remark(remark));
                }
                "involuntary" => {
                    let in_ms = |seen: &WindowCounts| seen.preemptions as f64 * 1e6 / seen.window.0 as f64;
                    let (before, after) = (in_ms(base?), in_ms(seen));
                    let remark = format!("{before:.0} and {after:.0} in a millisecond");
                    return Some(MeasuredFigure::number(change(before, after)).with_remark(remark));
                }
                _ => return None,
            },
            "one CPU" => seen.search.sis_scanned as f64 / seen.search.sis_search as f64,
            "utilisation" => seen.util_percent,
            "histogram shares" | "untraced shares" => {
                let begin: u64 = what?.strip_suffix(" us")?.parse().ok()?;
                let count = |is_it: &dyn Fn(u64) -> bool| -> u64 {
                    seen.search_usecs.buckets().filter(|&(from, _)| is_it(from)).map(|(_, count)| count).sum()
                };
                100.0 * count(&|from| from == begin) as f64 / count(&|_| true).max(1) as f64
            }
            "histogram" => {
                let (begin, _) = seen.search_usecs.buckets().max_by_key(|&(_, count)| count)?;
                return Some(
                    MeasuredFigure::number(begin as f64).with_remark("the whole of it stands below the tables"),
                );
            }
            _ => return None,
        }))
    }
}
