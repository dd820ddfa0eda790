// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab study`: published measurements of scheduler changes beside simulated ones.

mod sensitivity;

use crate::args::study::{StudyArgs, StudyCommand, StudyRunArgs};
use crate::execution::worker::study::{StudyWorkers, study_error};
use crate::output::progress::StudyProgress;
use crate::output::table::{Cell, Table};
use crate::output::{Output, Styles, wrap};
use crate::values::error::CliError;
use crate::values::whole_file::AtomicFile;
use fairlab_run::settings::Settings;
use fairlab_study::definition::StudyDefinition;
use fairlab_study::loaded::LoadedStudy;
use fairlab_study::report::{ReportRow, RowVerdict, StudyReport};
use fairlab_study::{StudyLength, StudyOptions, html, template};
use fairlab_workload::message::Message;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Serialize)]
struct StudyRow {
    name: String,
    title: String,
    source: String,
    arms: Vec<String>,
    tables: usize,
}

pub(crate) fn study(output: &mut Output, args: &StudyArgs) -> Result<(), CliError> {
    match &args.command {
        StudyCommand::List => list(output),
        StudyCommand::New { name } => create_file(output, name),
        StudyCommand::Check { study, jobs } => {
            jobs.apply();
            check(output, study)
        }
        StudyCommand::Run(args) => {
            args.jobs.apply();
            run(output, args)
        }
        StudyCommand::Sensitivity(args) => {
            args.jobs.apply();
            sensitivity::sensitivity(output, args)
        }
    }
}

/// Writes the file of a new study. The file must not exist yet.
fn create_file(output: &mut Output, given: &str) -> Result<(), CliError> {
    let path = if given.ends_with(".toml") { PathBuf::from(given) } else { PathBuf::from(format!("{given}.toml")) };
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let (text, shown) = (template::of(&name), path.display());
    StudyDefinition::parse(&shown.to_string(), &text).map_err(CliError::input)?;
    let file = std::fs::File::create_new(&path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        CliError::with_help(
            format!("{shown}: cannot be written: {error}"),
            "give a name of a file that does not exist yet",
        )
    })?;
    output.text(&format!(
        "{shown}: a complete study; edit it to make your own\n  fairlab study check {shown}\n  fairlab study run {shown} --quick -o out\n"
    ))
}

fn check(output: &mut Output, study: &str) -> Result<(), CliError> {
    let study = LoadedStudy::new(study).map_err(study_error)?;
    let runs = study.check(&StudyOptions::default()).map_err(study_error)?;
    let definition = &study.definition;
    let rows: usize = definition.tables.iter().map(|table| table.rows.len()).sum();
    let published =
        definition.tables.iter().flat_map(|table| &table.rows).filter(|row| row.published.is_some()).count();
    output.text(&format!(
        "{}: OK: {} arms, {} tables with {rows} rows, {published} of them published; {runs} runs of data\n",
        study.file,
        definition.arms.len(),
        definition.tables.len()
    ))
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
    output.json_or_text(&rows, |styles| {
        let mut table = Table::default().left(["study"]).right(["arms", "tables"]).wrapped("title");
        for row in &rows {
            table.text_row(
                [&row.name, &row.arms.len().to_string(), &row.tables.to_string(), &row.title].map(String::as_str),
            );
        }
        table.render(styles)
    })
}

fn run(output: &mut Output, args: &StudyRunArgs) -> Result<(), CliError> {
    let directory = args.output.as_deref();
    if let Some(directory) = directory {
        std::fs::create_dir_all(directory).map_err(|error| {
            CliError::Input(Message::in_file(directory, error.to_string()).with_help("-o takes a directory"))
        })?;
    }
    args.settings.refuse_several_engines()?;
    let choices = study_options(args);
    let study = LoadedStudy::new(&args.study).map_err(study_error)?;
    let progress = StudyProgress::new();
    let report = match choices.settings.kernel_engine() {
        Some(name) => {
            let workers = StudyWorkers::new(&study.definition.name, &args.study, name, &choices)?;
            study.run_with(&choices, &workers, &progress)
        }
        None => study.run(&choices, &progress),
    };
    progress.clear();
    let report = report.map_err(study_error)?;
    if let Some(directory) = directory {
        write(directory, &study, &report)?;
    }
    output.json_or_text(&report, |styles| result_text(&report, &study.definition, styles))
}

fn study_options(args: &StudyRunArgs) -> StudyOptions {
    StudyOptions {
        options: StudyLength { quick: args.quick },
        seeds: args.seeds,
        settings: Settings { duration: args.span, ..args.settings.settings() },
        tables: args.tables.clone(),
        rows: args.rows.clone(),
    }
}

/// Writes the HTML page, the data and the charts.
fn write(directory: &Path, study: &LoadedStudy, report: &StudyReport) -> Result<(), CliError> {
    let write = |name: String, text: &[u8]| {
        let path = directory.join(name);
        AtomicFile::write(&path, text)
    };
    let mut json = serde_json::to_vec_pretty(report).map_err(CliError::failed)?;
    json.push(b'\n');
    write(format!("{}.json", report.study), &json)?;
    let page = html::page(report, &study.definition, &study.text);
    write(format!("{}.html", report.study), page.as_bytes())?;
    report.pictures.iter().try_for_each(|picture| write(format!("{}.svg", picture.name), picture.svg.as_bytes()))
}

fn result_text(report: &StudyReport, definition: &StudyDefinition, styles: Styles) -> String {
    let mut page = format!("{}\n{}{}\n", styles.bold(&report.title), wrap(&report.source, 0), report.headline());
    for table in &report.tables {
        page.push_str(&format!("\n{}\n", styles.bold(&table.title)));
        let is_change = definition.tables.iter().any(|one| one.name == table.name && one.reports_changes());
        let rows = Table::default().left(["row", "arm"]).right(["simulated"]);
        let rows = if is_change { rows.right(["95 %"]) } else { rows };
        let mut rows = rows.right(["published"]).left(["unit", "evidence", "verdict"]).wrapped("reason");
        for row in &table.rows {
            let mut cells = cells(row);
            if is_change {
                let interval = row.interval.map_or_else(String::new, |[low, high]| format!("{low:.2} to {high:.2}"));
                cells.insert(3, interval.into());
            }
            rows.row(cells);
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

fn cells(row: &ReportRow) -> Vec<Cell> {
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
            RowVerdict::Reproduced => verdict.good(),
            RowVerdict::DirectionOnly => verdict.notable(),
            RowVerdict::NotReproduced => verdict.bad(),
            _ => verdict,
        },
        row.reason.as_str().into(),
    ]
}
