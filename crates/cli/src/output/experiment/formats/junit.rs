// SPDX-License-Identifier: GPL-2.0-or-later
//! A comparison as JUnit's XML: a suite for each arm, a case for each metric that is judged. What became worse has failed.

use fairlab_experiment::comparison::{ChangeVerdict, MetricRow};
use fairlab_experiment::metrics::MetricDirection;
use fairlab_experiment::report::ComparisonReport;
use fairlab_experiment::report::notes::Note;
use fairlab_experiment::report::values::figure_text;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

pub(super) fn text(report: &ComparisonReport) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let rows: Vec<&MetricRow> =
        report.comparison.rows.iter().filter(|row| row.metric.better != MetricDirection::Neither).collect();
    let title = report.title();
    writer.create_element("testsuites").with_attribute(("name", "fairlab compare")).write_inner_content(|writer| {
        for (which, arm) in report.arms.iter().enumerate().skip(1) {
            let of = |row: &&MetricRow| row.changes[which - 1].verdict;
            let count = |wanted: ChangeVerdict| rows.iter().filter(|row| of(row) == wanted).count().to_string();
            let skipped = rows.iter().filter(|row| skip_reason(report, of(row)).is_some()).count().to_string();
            let (tests, failures) = (rows.len().to_string(), count(ChangeVerdict::Worse));
            let suite = writer.create_element("testsuite").with_attributes([
                ("name", format!("{title}: {arm} beside {}", report.arms[0]).as_str()),
                ("tests", tests.as_str()),
                ("failures", failures.as_str()),
                ("errors", "0"),
                ("skipped", skipped.as_str()),
            ]);
            suite.write_inner_content(|writer| {
                if let Some(stopped) = report.stop_note().map(|note| note.to_string()) {
                    writer.create_element("properties").write_inner_content(|writer| {
                        let property = writer.create_element("property").with_attribute(("name", "stopped"));
                        property.with_attribute(("value", stopped.as_str())).write_empty()?;
                        Ok(())
                    })?;
                }
                for row in &rows {
                    case(writer, report, row, which)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    })?;
    let text = String::from_utf8(writer.into_inner()).map_err(io::Error::other)?;
    Ok(text + "\n")
}

fn case(writer: &mut Writer<Vec<u8>>, report: &ComparisonReport, row: &MetricRow, which: usize) -> io::Result<()> {
    let text = change_text(row, which);
    let class = format!("{}.{}", report.workload(), report.arms[which]);
    let case = writer
        .create_element("testcase")
        .with_attributes([("classname", class.as_str()), ("name", row.metric.name.as_str())]);
    case.write_inner_content(|writer| {
        match row.changes[which - 1].verdict {
            ChangeVerdict::Worse => {
                let failure = writer.create_element("failure").with_attribute(("message", text.as_str()));
                failure.with_attribute(("type", "worse")).write_empty()?;
            }
            verdict => {
                if let Some(why) = skip_reason(report, verdict) {
                    writer.create_element("skipped").with_attribute(("message", why.as_str())).write_empty()?;
                }
            }
        }
        writer.create_element("system-out").write_text_content(BytesText::new(&text))?;
        Ok(())
    })?;
    Ok(())
}

fn skip_reason(report: &ComparisonReport, verdict: ChangeVerdict) -> Option<String> {
    match verdict {
        ChangeVerdict::Untested => Some("one repetition: there is no test".to_owned()),
        ChangeVerdict::TooFew => report.too_few().map(|note| Note::TooFew(note).to_string()),
        _ => None,
    }
}

fn change_text(row: &MetricRow, arm: usize) -> String {
    let (unit, change) = (&row.metric.unit, &row.changes[arm - 1]);
    let from_to = format!("{} to {}", figure_text(unit, &row.arms[0]), figure_text(unit, &row.arms[arm]));
    let percent = change.percent.map_or_else(String::new, |percent| format!(", {percent:+.2} %"));
    let interval =
        change.percent_interval.map_or_else(String::new, |[low, high]| format!(" ({low:+.2} to {high:+.2} %)"));
    let p = change.p_corrected.map_or_else(String::new, |p| format!(", p {p:.4}"));
    let open = if change.rests_on_open_waits { "; rests on waits that have not ended" } else { "" };
    format!("{}: {from_to}{percent}{interval}{p}{open}", change.verdict)
}
