// SPDX-License-Identifier: GPL-2.0-or-later
//! The book's charts and tables of netperf's pairs, from the exported sweeps in `studies/states`.

use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const BOUNDARY: &str = "studies/states/boundary.csv";
const SEARCHES: &str = "studies/states/searches.csv";
const TRANSITIONS: &str = "studies/states/transitions.csv";
/// Moves per transaction from which on pairs are mixed.
const MIXED_MOVES: f64 = 0.1;
/// Share of transactions on one CPU of pairs that are stacked, and of those that are apart.
const STACKED_SHARE: f64 = 0.75;
const APART_SHARE: f64 = 0.25;

/// Rows of an exported sweep, each with its values by column.
fn rows(root: &Path, name: &'static str) -> Result<Vec<BTreeMap<String, String>>> {
    let text = fs::read_to_string(root.join(name)).context(name)?;
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().with_context(|| format!("{name} is empty"))?.split(',').collect();
    let row = |line: &str| head.iter().map(|key| (*key).to_owned()).zip(line.split(',').map(str::to_owned)).collect();
    Ok(lines.map(row).collect())
}

fn number(row: &BTreeMap<String, String>, key: &str) -> Result<f64> {
    row.get(key).and_then(|value| value.parse().ok()).with_context(|| format!("a row has no number `{key}`"))
}

/// Returns the number of CPUs in the name of a machine, such as `xeon-8.toml` or `xeon-1s-112`.
fn nr_cpus(row: &BTreeMap<String, String>) -> Result<u32> {
    let machine = row.get("machine").context("a row has no machine")?;
    let digits = machine.trim_end_matches(".toml").rsplit('-').next().unwrap_or_default();
    digits.parse().with_context(|| format!("the machine {machine} does not end in its number of CPUs"))
}

/// State of pairs, with the letter of the charts.
fn state(share: f64, moves: f64) -> char {
    match share {
        _ if moves >= MIXED_MOVES => 'M',
        share if share >= STACKED_SHARE => 'S',
        share if share <= APART_SHARE => 'a',
        _ => 'b',
    }
}

/// Point of the boundary: number of CPUs, pairs in percent of it, whether SIS_UTIL is on.
type Point = (u32, u32, bool);

/// Returns a chart of the states, and a table of the throughput for each pair.
pub(crate) fn boundary(root: &Path) -> Result<String> {
    let mut points: BTreeMap<Point, Vec<PointRun>> = BTreeMap::new();
    for row in rows(root, BOUNDARY)? {
        let (cpus, pairs) = (nr_cpus(&row)?, number(&row, "pairs")?);
        let load = (100.0 * pairs / f64::from(cpus)).round() as u32;
        let state = state(number(&row, "bench.on_one_cpu")?, number(&row, "bench.moves_per_transaction")?);
        let start = row.get("start").cloned().context("a row has no start")?;
        let point = (cpus, load, row.get("SIS_UTIL").is_some_and(|is_on| is_on == "true"));
        points.entry(point).or_default().push((start, state, number(&row, "bench.sum")? / pairs));
    }
    // The shell's runs first.
    points.values_mut().for_each(|starts| starts.sort_by(|(a, ..), (b, ..)| b.cmp(a)));
    Ok(format!("{}\n\n{}", chart(&points), throughput(&points)))
}

/// Run of a point: its start, its state, transactions per second and pair.
type PointRun = (String, char, f64);

/// Returns the states of a point's runs: one letter if all are in one, else those of each start.
fn letters(runs: &[PointRun]) -> String {
    let of = |start: &str| {
        let of_start = runs.iter().filter(|(name, ..)| name == start);
        of_start.map(|(_, state, _)| *state).collect::<BTreeSet<char>>().into_iter().collect::<String>()
    };
    let (shell, at_once) = (of("shell"), of("at-once"));
    if shell == at_once || at_once.is_empty() { shell } else { format!("{shell}/{at_once}") }
}

fn chart(points: &BTreeMap<Point, Vec<PointRun>>) -> String {
    let loads: BTreeSet<u32> = points.keys().map(|(_, load, _)| *load).collect();
    let cpus: BTreeSet<u32> = points.keys().map(|(cpus, ..)| *cpus).collect();
    let mut text = "```text\n".to_owned();
    for (is_on, title) in [(false, "without SIS_UTIL"), (true, "with SIS_UTIL")] {
        let head: String = loads.iter().map(|load| format!("{load:>6}")).collect();
        text.push_str(&format!("{title}: pairs in percent of the CPUs\n\nCPUs{head}\n"));
        for &cpus in &cpus {
            let cell = |load: &u32| {
                let runs = points.get(&(cpus, *load, is_on)).map_or(&[][..], Vec::as_slice);
                format!("{:>6}", letters(runs))
            };
            text.push_str(&format!("{cpus:>4}{}\n", loads.iter().map(cell).collect::<String>()));
        }
        text.push('\n');
    }
    text + "a apart, M mixed, S stacked, b some pairs apart and some stacked;\nM/S: mixed if a shell starts the pairs, stacked if all start at once; MS: either\n```"
}

fn throughput(points: &BTreeMap<Point, Vec<PointRun>>) -> String {
    let mut text =
        "| CPUs | pairs, % | state without | thousand/s per pair | state with | thousand/s per pair | change, % |\n"
            .to_owned();
    text.push_str(&"|---".repeat(7));
    text.push_str("|\n");
    let places: BTreeSet<(u32, u32)> = points.keys().map(|(cpus, load, _)| (*cpus, *load)).collect();
    for (cpus, load) in places {
        let of_shell = |is_on| {
            let runs = points.get(&(cpus, load, is_on)).map_or(&[][..], Vec::as_slice);
            let rates: Vec<f64> = runs.iter().filter(|(start, ..)| start == "shell").map(|(.., rate)| *rate).collect();
            (letters(runs), rates.iter().sum::<f64>() / rates.len().max(1) as f64)
        };
        let ((without, before), (with, after)) = (of_shell(false), of_shell(true));
        let change = 100.0 * (after / before - 1.0);
        text.push_str(&format!(
            "| {cpus} | {load} | {without} | {:.1} | {with} | {:.1} | {change:+.0} |\n",
            before / 1000.0,
            after / 1000.0
        ));
    }
    text
}

/// Returns the table of searches for an idle CPU soon after the last start.
pub(crate) fn searches(root: &Path) -> Result<String> {
    const MEASURED_NS: f64 = 5e6;
    let mut table: BTreeMap<(u32, u32, bool), String> = BTreeMap::new();
    for row in rows(root, SEARCHES)? {
        let (cpus, pairs) = (nr_cpus(&row)?, number(&row, "pairs")?);
        let load = (100.0 * pairs / f64::from(cpus)).round() as u32;
        let is_on = row.get("SIS_UTIL").is_some_and(|is_on| is_on == "true");
        let count = |name: &str| number(&row, &format!("measure.search.total.{name}"));
        let idle = 100.0 * number(&row, "totals.idle_ns")? / (f64::from(cpus) * MEASURED_NS);
        let scanned = count("sis_scanned")? / count("sis_domain_search")?.max(1.0);
        let failed = 100.0 * count("sis_failed")? / count("sis_search")?.max(1.0);
        let shared = 100.0 * number(&row, "bench.on_one_cpu")?;
        let name = if is_on { "with" } else { "without" };
        let text = format!("| {cpus} | {load} | {name} | {idle:.0} | {scanned:.1} | {failed:.2} | {shared:.0} |\n");
        table.insert((cpus, load, is_on), text);
    }
    let head = "| CPUs | pairs, % | SIS_UTIL | idle time, % | CPUs scanned per domain search | failed searches, % | on one CPU, % |\n";
    Ok(format!("{head}{}|\n{}", "|---".repeat(7), table.into_values().collect::<String>()))
}

/// Returns what a row of the transitions changes.
fn change(row: &BTreeMap<String, String>) -> &'static str {
    let is = |key: &str, value: &str| row.get(key).is_some_and(|given| given == value);
    match () {
        () if is("SIS_PROP", "false") => "NO_SIS_PROP: searches scan all CPUs",
        () if !is("migration_cost_ns", "500000") => "no newly-idle balancing (`migration_cost_ns` 100 ms)",
        () if is("autogroup", "off") => "without autogroup",
        () => "none",
    }
}

/// Returns the table of the times until the pairs are stacked.
pub(crate) fn transitions(root: &Path) -> Result<String> {
    let mut groups: Vec<(&str, Vec<Option<f64>>)> = Vec::new();
    for row in rows(root, TRANSITIONS)? {
        let after = number(&row, "bench.stacked_after_ns?").ok().map(|ns| ns / 1e6);
        match groups.iter_mut().find(|(name, _)| *name == change(&row)) {
            Some((_, times)) => times.push(after),
            None => groups.push((change(&row), vec![after])),
        }
    }
    let mut text =
        "| change | runs | not stacked at the end | least, ms | lower quartile | median | upper quartile | most |\n"
            .to_owned();
    text.push_str(&"|---".repeat(8));
    text.push_str("|\n");
    for (name, runs) in groups {
        let mut times: Vec<f64> = runs.iter().copied().flatten().collect();
        times.sort_by(f64::total_cmp);
        // Runs that are not stacked at the end are the slowest.
        let quantile = |quarters: usize| {
            let time = times.get(quarters * (runs.len() - 1) / 4);
            time.map_or_else(|| "-".to_owned(), |time| format!("{time:.0}"))
        };
        let quantiles: Vec<String> = (0..=4).map(quantile).collect();
        let not_stacked = runs.len() - times.len();
        text.push_str(&format!("| {name} | {} | {not_stacked} | {} |\n", runs.len(), quantiles.join(" | ")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_follows_from_the_share_on_one_cpu_and_the_moves() {
        let of = [(0.0, 0.0), (0.3, 1.4), (0.9, 0.0), (0.5, 0.01)].map(|(share, moves)| state(share, moves));
        assert_eq!(of, ['a', 'M', 'S', 'b']);
    }

    #[test]
    fn starts_that_end_apart_have_both_letters() {
        let starts = |a, b| vec![("shell".to_owned(), a, 2000.0), ("at-once".to_owned(), b, 4000.0)];
        let points = BTreeMap::from([((8, 100, false), starts('M', 'S')), ((8, 100, true), starts('S', 'S'))]);
        let chart = chart(&points);
        assert!(chart.contains("CPUs   100\n   8   M/S\n") && chart.contains("CPUs   100\n   8     S\n"), "{chart}");
        assert!(throughput(&points).contains("| 8 | 100 | M/S | 2.0 | S | 2.0 | +0 |"), "{}", throughput(&points));
    }
}
