// SPDX-License-Identifier: GPL-2.0-or-later
//! HTML page of a validation, in one file without external resources.

use super::{Validation, ValidationRow, error_text, short_name, time_text};
use fairlab_experiment::document::document;
use fairlab_native::spread::Spread;
use maud::{Markup, html};

/// Width of the chart's scale and of its labels, height of a row, in pixels.
const SCALE: f64 = 560.0;
const LABELS: f64 = 190.0;
const ROW: f64 = 20.0;

/// The chart ends at a factor of 100 in both directions.
const MAX_FACTOR: f64 = 100.0;

pub(super) fn page(validation: &Validation) -> String {
    let Validation { machine, costs, kernel, disturbance, rows, .. } = validation;
    let title = format!("Validation of {machine}");
    let body = html! {
        h1 { (title) }
        p.source { "Costs: " (costs) ". Measured on " (kernel.text()) "." }
        p.headline { (validation.headline()) }
        h2 { "Simulated divided by measured" }
        figure { (chart(rows)) }
        h2 { "All operations" }
        (table(rows))
        h2 { "Method" }
        p {
            "Each value is the duration of one operation. Measured values are medians of batches of about 20 ms, with quartiles; batches of all \
             operations alternate. Simulated values are medians over seeds. The error is the simulated median divided by the \
             measured one, minus 1. Operations without a model have no simulated value."
        }
        p {
            "During the measurement other processes used " (percent(disturbance.other_processes)) " of the machine's CPU time, and the \
             hypervisor gave " (percent(disturbance.stolen)) " to other guests."
        }
    };
    document(&title, &body)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn table(rows: &[ValidationRow]) -> Markup {
    html! {
        table {
            thead { tr { th { "Operation" } th { "Time of a" } th.n { "Measured" } th.n { "Quartiles" } th.n { "Simulated" } th.n { "Range" } th.n { "Error" } } }
            tbody {
                @for row in rows {
                    tr {
                        td { (row.test) } td { (row.unit) }
                        td.n { (time_text(row.measured.median)) } td.n { (quartiles(&row.measured)) }
                        td.n { @match &row.simulated { Some(spread) => (time_text(spread.median)), None => "no model" } }
                        td.n { @if let Some(spread) = &row.simulated { (quartiles(spread)) } }
                        td.n { @if let Some(error) = row.error { (error_text(error)) } }
                    }
                }
            }
        }
    }
}

fn quartiles(spread: &Spread) -> String {
    format!("{} to {}", time_text(spread.low), time_text(spread.high))
}

/// Returns a chart of the ratios on a logarithmic scale, with the range of 15 percent marked.
fn chart(rows: &[ValidationRow]) -> Markup {
    let compared: Vec<(&ValidationRow, f64)> = rows.iter().filter_map(|row| Some((row, 1.0 + row.error?))).collect();
    let x = |ratio: f64| {
        let place = ratio.clamp(1.0 / MAX_FACTOR, MAX_FACTOR).log10() / MAX_FACTOR.log10();
        LABELS + SCALE / 2.0 * (1.0 + place)
    };
    let height = ROW * (compared.len() as f64 + 1.5);
    let (from, to) = (x(1.0 / 1.15), x(1.15));
    html! {
        svg width=(LABELS + SCALE + 20.0) height=(height) viewBox=(format!("0 0 {} {height}", LABELS + SCALE + 20.0)) role="img"
            aria-label="Simulated time of each operation divided by the measured one, on a logarithmic scale" font-size="12" {
            rect x=(from) y="0" width=(to - from) height=(height - ROW) fill="#d7f0dc" {}
            @for (ratio, label) in [(0.01, "1/100"), (0.1, "1/10"), (1.0, "equal"), (10.0, "x 10"), (100.0, "x 100")] {
                line x1=(x(ratio)) x2=(x(ratio)) y1="0" y2=(height - ROW) stroke="#9aa4b0" {}
                text x=(x(ratio)) y=(height - 5.0) text-anchor="middle" { (label) }
            }
            @for (place, (row, ratio)) in compared.iter().enumerate() {
                @let y = ROW * (place as f64 + 0.75);
                text x=(LABELS - 10.0) y=(y + 4.0) text-anchor="end" { (short_name(&row.test)) }
                line x1=(x(1.0)) x2=(x(*ratio)) y1=(y) y2=(y) stroke="#3572b0" stroke-width="2" {}
                circle cx=(x(*ratio)) cy=(y) r="4" fill="#3572b0" { title { (format!("{}: {}", row.test, error_text(ratio - 1.0))) } }
            }
        }
    }
}
