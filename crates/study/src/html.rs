// SPDX-License-Identifier: GPL-2.0-or-later
//! HTML page of a study's report, in one file without external resources: first the effect with its interval,
//! then tables, charts and the method.

use crate::definition::{ArmDefinition, FigureValue, StudyDefinition};
use crate::evidence::Evidence;
use crate::report::{ReportRow, ReportTable, RowVerdict, StudyReport};
use fairlab_experiment::charts::{self, EffectPoint};
use fairlab_experiment::document::document;
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeSet;

/// Returns the HTML page of a report. `text` is the study's file.
pub fn page(report: &StudyReport, definition: &StudyDefinition, text: &str) -> String {
    let changes: BTreeSet<&str> =
        definition.tables.iter().filter(|table| table.reports_changes()).map(|table| table.name.as_str()).collect();
    let (effects, others): (Vec<&ReportTable>, Vec<&ReportTable>) =
        report.tables.iter().partition(|table| changes.contains(table.name.as_str()));
    let body = html! {
        h1 { (report.title) }
        p.source { (report.source) }
        p.headline { (report.headline().to_string()) }
        @if !effects.is_empty() {
            h2 { "The effect" }
            @for table in &effects { (effect_picture(table)) (table_of(table)) }
        }
        @for table in &others {
            h2 { (table.title) }
            (table_of(table))
        }
        @for picture in &report.pictures {
            figure { (PreEscaped(&picture.svg)) }
        }
        @for (heading, text) in &report.outputs {
            h2 { (heading) }
            pre { (text) }
        }
        h2 { "Method" }
        (arms_of(&definition.arms))
        ul { @for note in &report.notes { li { (note) } } }
        details {
            summary { "The study's file" }
            pre { (text) }
        }
        p.source { "fairlab " (env!("CARGO_PKG_VERSION")) ", study " code { (report.study) } }
    };
    document(&report.title, &body)
}

fn effect_picture(table: &ReportTable) -> Markup {
    let effect = |row: &ReportRow| -> Option<EffectPoint> {
        let published = row.published.as_ref().and_then(FigureValue::number);
        let label = format!("{}, {}", row.label, row.arm);
        Some((label, row.value.number()?, row.interval, published.map(|published| (published, row.published_spread))))
    };
    let rows: Vec<EffectPoint> = table.rows.iter().filter_map(effect).collect();
    if rows.is_empty() {
        return html! {};
    }
    let unit = table.rows.first().map_or("", |row| row.unit.as_str());
    let picture = charts::effects(&table.name, &table.title, unit, &rows);
    html! { figure { (PreEscaped(picture.svg)) } }
}

fn table_of(table: &ReportTable) -> Markup {
    let has_interval = table.rows.iter().any(|row| row.interval.is_some());
    let has_published = table.rows.iter().any(|row| row.published.is_some());
    html! {
        table {
            thead { tr {
                th { "row" } th { "arm" } th.n { "simulated" }
                @if has_interval { th.n { "95 %" } }
                @if has_published { th.n { "published" } }
                th { "unit" }
                @if has_published { th { "evidence" } th { "verdict" } }
                th { "reason" }
            } }
            tbody { @for row in &table.rows { (row_of(row, has_interval, has_published)) } }
        }
    }
}

fn row_of(row: &ReportRow, has_interval: bool, has_published: bool) -> Markup {
    let number = |value: f64| FigureValue::Number(value).to_string();
    let class = match row.verdict {
        RowVerdict::Reproduced => "reproduced",
        RowVerdict::DirectionOnly => "direction-only",
        RowVerdict::NotReproduced => "not-reproduced",
        RowVerdict::NotPublished => "",
    };
    html! {
        tr {
            td { (row.label) } td { (row.arm) }
            td.n { (row.value.to_string()) @if row.spread != 0.0 { " ±" (number(row.spread)) } }
            @if has_interval { td.n { @if let Some([low, high]) = row.interval { (number(low)) " to " (number(high)) } } }
            @if has_published {
                td.n {
                    @if let Some(published) = &row.published { (published.to_string()) }
                    @if let Some(spread) = row.published_spread { " ±" (number(spread)) }
                }
            }
            td { (row.unit) }
            @if has_published {
                td { (row.evidence.as_ref().map_or_else(String::new, evidence_of)) }
                td class=(class) { (row.verdict.to_string()) }
            }
            td.reason { @if row.reason != "nothing published" { (row.reason) } }
        }
    }
}

fn evidence_of(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Calibrated(what) => format!("calibrated: {what}"),
        Evidence::Follows(row) => format!("follows: {row}"),
        other => other.to_string(),
    }
}

fn arms_of(arms: &[ArmDefinition]) -> Markup {
    let switches = |arm: &ArmDefinition| {
        let kernel = arm.settings.kernel.iter().map(|kernel| format!("kernel {}", kernel.name));
        let features = arm.settings.features.iter().map(|(name, on)| format!("{}{name}", if *on { "" } else { "NO_" }));
        let tunables = arm.settings.tunables.iter().map(|(name, value)| format!("{name}={value}"));
        let prices = arm.settings.prices.operations.iter();
        let prices = prices.map(|(name, ps)| format!("{name} {} ns", *ps as f64 / 1000.0));
        let machine = arm.settings.machine_name().into_iter().map(|machine| format!("machine {machine}"));
        kernel.chain(features).chain(tunables).chain(prices).chain(machine).collect::<Vec<_>>().join(", ")
    };
    html! {
        table {
            thead { tr { th { "arm" } th { "is" } th { "meaning" } } }
            tbody { @for arm in arms { tr { td { (arm.name) } td { code { (switches(arm)) } } td { (arm.meaning) } } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::RowDefinition;
    use crate::report::MeasuredFigure;
    use fairlab_experiment::statistics::Statistic;

    #[test]
    fn the_effect_comes_first_with_its_interval_and_nothing_is_loaded_from_elsewhere() {
        let text = "name = 's'\ntitle = 'A < B'\nsource = 'here & there'\n[[arm]]\nname = 'a'\nmeaning = 'm'\nkernel = '5.4'\n\
            [[table]]\nname = 'plain'\ntitle = 'Plain'\nmetric = 'm'\nunit = 's'\n\
            [[table]]\nname = 'gain'\ntitle = 'Gain'\nmetric = 'm'\nunit = '%'\nchange = true\n";
        let definition = StudyDefinition::parse("s.toml", text).expect("it is a study");
        let filled = |name: &str| {
            let table = definition.table(name);
            let measured = MeasuredFigure::from_runs(Statistic::Mean, &[1.0, 2.0, 3.0, 4.0]);
            let row = ReportRow::new(table, &RowDefinition::unpublished("row", "a"), measured);
            ReportTable { name: table.name.clone(), title: table.title.clone(), rows: vec![row] }
        };
        let report = StudyReport { tables: vec![filled("plain"), filled("gain")], ..StudyReport::of(&definition) };
        let page = page(&report, &definition, text);
        let place = |what: &str| page.find(what).unwrap_or_else(|| panic!("{what} is missing in {page}"));
        assert!(place("The effect") < place("<svg") && place("<svg") < place("<h2>Plain"));
        assert!(page.contains("A &lt; B") && page.contains("here &amp; there") && page.contains("kernel 5.4"));
        assert!(page.contains("2.50") && page.contains("1.50 to 3.50"), "{page}");
        for outside in ["<script", "src=", "href=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}
