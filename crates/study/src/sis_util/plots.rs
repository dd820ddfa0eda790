// SPDX-License-Identifier: GPL-2.0-or-later
//! Charts of the study: throughput and search metrics by load, and the time that searches take.

use crate::report::{ReportRow, ReportTable};
use fairlab_experiment::charts::{Chart, Line, bars, lines};

/// Draws the tables that have rows for more than one load, and the histogram.
pub(super) fn pictures(tables: &[ReportTable]) -> Vec<Chart> {
    let of = |name: &str| tables.iter().find(|table| table.name == name);
    let mut pictures = Vec::new();
    for bench in ["TCP_RR", "UDP_RR"] {
        pictures.extend(of("netperf").and_then(|table| {
            let name = format!("sis-util-throughput-{bench}");
            by_load(table, bench, &name, "throughput after the change", "change, %")
        }));
        for (metric, unit) in [("se_eff", "%"), ("dom_eff", "%"), ("fast_rate", "%"), ("success_rate", "%")] {
            pictures.extend(of(metric).and_then(|table| {
                by_load(
                    table,
                    bench,
                    &format!("sis-util-{metric}-{bench}"),
                    &format!("{metric} before the change"),
                    unit,
                )
            }));
        }
    }
    pictures.extend(of("histogram shares").filter(|table| !table.rows.is_empty()).map(histogram));
    pictures
}

/// Returns the number of threads from a label such as `TCP_RR 28 threads`.
fn threads(row: &ReportRow, bench: &str) -> Option<f64> {
    row.label.strip_prefix(bench)?.trim_start().split(' ').next()?.parse().ok()
}

/// Draws simulated and published values of a benchmark by its number of threads.
fn by_load(table: &ReportTable, bench: &str, name: &str, what: &str, unit: &str) -> Option<Chart> {
    let mut simulated: Vec<(f64, f64)> = Vec::new();
    let mut published = Vec::new();
    for row in &table.rows {
        let Some(load) = threads(row, bench) else { continue };
        simulated.extend(row.value.number().map(|value| (load, value)));
        published.extend(row.published.as_ref().and_then(|figure| figure.number()).map(|value| (load, value)));
    }
    // A line needs two points.
    let both: [Line<'_>; 2] = [("simulated", simulated), ("published", published)];
    (both[0].1.len() > 1).then(|| lines(name, &format!("netperf {bench}: {what}"), ("threads", unit), &both))
}

/// Draws the shares of calls by bucket.
fn histogram(table: &ReportTable) -> Chart {
    let bars_of = table.rows.iter().map(|row| {
        let begin = row.label.split(", ").nth(1).unwrap_or(&row.label).to_owned();
        let published = row.published.as_ref().and_then(|figure| figure.number());
        (begin, row.value.number().unwrap_or(0.0), published)
    });
    let title = "Time in select_idle_cpu(), from the begin of each bucket";
    bars("sis-util-histogram", title, "calls, %", &bars_of.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::StudyDefinition;
    use crate::report::MeasuredFigure;

    fn drawn(measured: impl Fn(f64) -> f64) -> Vec<Chart> {
        let text = include_str!("../../../../studies/sis-util.toml");
        let study = StudyDefinition::parse("studies/sis-util.toml", text).expect("the data are well formed");
        let table = |name: &str| {
            ReportTable::fill(study.table(name), |row| {
                let published = row.published.as_ref().and_then(|figure| figure.number());
                MeasuredFigure::number(measured(published.unwrap_or(0.0)))
            })
        };
        pictures(&["netperf", "se_eff", "dom_eff", "fast_rate", "success_rate", "histogram shares"].map(table))
    }

    #[test]
    fn there_is_a_picture_of_each_metric_and_benchmark_and_one_of_the_histogram() {
        let pictures = drawn(|published| published);
        assert_eq!(pictures.len(), 2 * 5 + 1);
        let named = |name: &str| pictures.iter().find(|picture| picture.name == name).expect("there is such a picture");
        let throughput = &named("sis-util-throughput-TCP_RR").svg;
        assert!(throughput.contains("threads") && throughput.contains("simulated") && throughput.contains("published"));
        assert!(named("sis-util-histogram").svg.contains("1024 us"));
    }

    #[test]
    fn a_loss_is_drawn_below_zero() {
        let svg = |pictures: Vec<Chart>| pictures.into_iter().next().expect("the first is of throughput").svg;
        assert!(svg(drawn(|_| -80.0)).contains("-50"), "the axis goes down to the lowest point");
    }
}
