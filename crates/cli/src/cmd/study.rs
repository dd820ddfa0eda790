// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab study`: published measurements of scheduler changes beside simulated ones.

use crate::args::{StudyArgs, StudyCommand};
use crate::error::CliError;
use crate::output::progress::StudyProgress;
use crate::output::table::{Align, Cell, Table};
use crate::output::{Output, Styles, wrap};
use fairlab_study::definition::StudyDefinition;
use fairlab_study::report::{Report, Row, Verdict};
use fairlab_study::{Options, StudyError};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct StudyRow {
    name: String,
    title: String,
    source: String,
    arms: Vec<String>,
    tables: usize,
}

/// Runs the command.
pub(crate) fn study(output: &mut Output, args: &StudyArgs) -> Result<(), CliError> {
    match &args.command {
        StudyCommand::List => list(output),
        StudyCommand::Run { name, quick, output: directory, jobs } => {
            jobs.apply();
            run(output, name, *quick, directory.as_deref())
        }
    }
}

fn list(output: &mut Output) -> Result<(), CliError> {
    let row = |study: StudyDefinition| StudyRow {
        name: study.name,
        title: study.title,
        source: study.source,
        arms: study.arms.into_iter().map(|arm| arm.name).collect(),
        tables: study.tables.len(),
    };
    let studies = fairlab_study::list().map_err(CliError::run)?;
    let rows: Vec<StudyRow> = studies.into_iter().map(row).collect();
    if output.is_json() {
        return output.json(&rows);
    }
    let mut table =
        Table::new(&[("study", Align::Left), ("arms", Align::Right), ("tables", Align::Right), ("title", Align::Wrap)]);
    for row in rows {
        table.row(vec![
            row.name.into(),
            row.arms.len().to_string().into(),
            row.tables.to_string().into(),
            row.title.into(),
        ]);
    }
    let text = table.render(output.styles());
    output.text(&text)
}

fn run(output: &mut Output, name: &str, quick: bool, directory: Option<&Path>) -> Result<(), CliError> {
    if let Some(directory) = directory {
        std::fs::create_dir_all(directory).map_err(|error| {
            CliError::Input(format!("{}: {error}\nhelp: -o takes a directory", directory.display()))
        })?;
    }
    let progress = StudyProgress::new();
    let report = fairlab_study::run(name, Options { quick }, &progress);
    progress.clear();
    let report = report.map_err(|error| match error {
        StudyError::Unknown(..) => CliError::Input(format!("{error}\nhelp: see `fairlab study list`")),
        error => CliError::run(error),
    })?;
    if let Some(directory) = directory {
        let path = directory.join(format!("{name}.json"));
        let mut text = serde_json::to_vec_pretty(&report).map_err(CliError::run)?;
        text.push(b'\n');
        std::fs::write(&path, text).map_err(|error| CliError::write(&path.display().to_string(), &error))?;
        for picture in &report.pictures {
            let path = directory.join(format!("{}.svg", picture.name));
            std::fs::write(&path, &picture.svg)
                .map_err(|error| CliError::write(&path.display().to_string(), &error))?;
        }
    }
    if output.is_json() {
        return output.json(&report);
    }
    let text = page(&report, output.styles());
    output.text(&text)
}

fn page(report: &Report, styles: Styles) -> String {
    let mut page = format!("{}\n{}{}\n", styles.bold(&report.title), wrap(&report.source, 0), report.headline());
    for table in &report.tables {
        page.push_str(&format!("\n{}\n", styles.bold(&table.title)));
        let mut rows = Table::new(&[
            ("row", Align::Left),
            ("arm", Align::Left),
            ("simulated", Align::Right),
            ("published", Align::Right),
            ("unit", Align::Left),
            ("evidence", Align::Left),
            ("verdict", Align::Left),
            ("reason", Align::Wrap),
        ]);
        for row in &table.rows {
            rows.row(cells(row));
        }
        page.push_str(&rows.render(styles));
    }
    for (heading, text) in &report.outputs {
        page.push_str(&format!("\n{}\n{text}", styles.bold(heading)));
    }
    page.push('\n');
    for note in &report.notes {
        page.push_str(&wrap(note, 2));
    }
    page
}

fn cells(row: &Row) -> Vec<Cell> {
    let spread = if row.spread == 0.0 { String::new() } else { format!(" ±{:.2}", row.spread) };
    let verdict = Cell::from(row.verdict.to_string());
    vec![
        row.label.as_str().into(),
        row.arm.as_str().into(),
        format!("{}{spread}", row.value).into(),
        row.published.as_ref().map_or_else(String::new, ToString::to_string).into(),
        row.unit.as_str().into(),
        row.evidence.as_ref().map_or_else(String::new, ToString::to_string).into(),
        match row.verdict {
            Verdict::Reproduced => verdict.good(),
            Verdict::DirectionOnly => verdict.notable(),
            Verdict::NotReproduced => verdict.bad(),
            _ => verdict,
        },
        row.reason.as_str().into(),
    ]
}
