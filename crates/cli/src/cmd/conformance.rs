// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab conformance`: cases with inputs and exact results for the test of another EEVDF scheduler.

use super::schema;
use crate::args::ConformanceArgs;
use crate::output::Output;
use crate::values::error::CliError;
use crate::values::whole_file::AtomicFile;
use fairlab_measure::plural::counted;
use fairlab_run::drive::drive_to;
use fairlab_run::input::InputFile;
use fairlab_run::prepare::prepare;
use fairlab_run::settings::Settings;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_run::values::kernel_from_name;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_traces::conformance::{CASES, ConformanceRecorder};
use fairlab_workload::message::Message;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Guide of the kit, which is also a page of the book.
const README: &str = include_str!("../../../../docs/book/src/guides/conformance.md");

/// Result of the command.
#[derive(Serialize)]
struct ConformanceOutput {
    cases: Vec<WrittenCase>,
}

#[derive(Serialize)]
struct WrittenCase {
    name: String,
    records: usize,
}

/// Case to write.
struct Case {
    name: String,
    input: InputFile,
}

pub(crate) fn conformance(output: &mut Output, args: &ConformanceArgs) -> Result<(), CliError> {
    check_directory(&args.dir)?;
    let cases = if args.scenarios.is_empty() { built_in_cases() } else { own_cases(&args.scenarios)? };
    let written = cases.iter().map(|case| write_case(&args.dir, case)).collect::<Result<Vec<_>, _>>()?;
    write_file(&args.dir, "README.md", README)?;
    let schema = serde_json::to_string_pretty(&schema::by_name("conformance")?).map_err(CliError::failed)?;
    write_file(&args.dir, "conformance.schema.json", &format!("{schema}\n"))?;
    if output.is_json() {
        return output.json(&ConformanceOutput { cases: written });
    }
    let (nr_cases, nr_records) = (written.len(), written.iter().map(|case| case.records).sum::<usize>());
    let (cases, dir) = (counted(nr_cases, "case", "cases"), args.dir.display());
    output.text(&format!("{cases} with {nr_records} records in {dir}; start with {dir}/README.md\n"))
}

/// Rejects a directory with files, which the cases could replace.
fn check_directory(dir: &Path) -> Result<(), CliError> {
    match fs::read_dir(dir) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => {
                let help = "give a directory that does not exist or is empty";
                Err(CliError::Input(Message::in_file(dir, "has files already").with_help(help)))
            }
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(CliError::write(&dir.display().to_string(), &error)),
    }
}

fn built_in_cases() -> Vec<Case> {
    let case = |name: &str, text: &'static str| {
        let input = InputFile::new(format!("{name}.scn")).with_text(text);
        Case { name: name.to_owned(), input }
    };
    CASES.iter().map(|built_in| case(built_in.name, built_in.scenario)).collect()
}

fn own_cases(scenarios: &[String]) -> Result<Vec<Case>, CliError> {
    let mut cases: Vec<Case> = Vec::new();
    for given in scenarios {
        let input = InputFile::new(given.clone()).read_workload()?;
        let stem = Path::new(given).file_stem().unwrap_or_default();
        let name = if given == "-" { "stdin".to_owned() } else { stem.to_string_lossy().into_owned() };
        if cases.iter().any(|case| case.name == name) {
            let help = "rename one of the files: a case is named after its file";
            return Err(CliError::with_help(format!("{given}: a second case {name}"), help));
        }
        cases.push(Case { name, input });
    }
    Ok(cases)
}

/// Runs a case with the rules of 6.12, and writes its scenario and its records.
fn write_case(dir: &Path, case: &Case) -> Result<WrittenCase, CliError> {
    let kernel = KernelSeries::V6_12.to_string();
    let settings =
        Settings { kernel: Some(kernel_from_name(&kernel).map_err(CliError::input)?), ..Settings::default() };
    let spec = RunSpec { workload: WorkloadSpec::File(case.input.clone()), settings };
    let mut machine = prepare(&spec)?.boot()?.machine;
    let scenario = case.input.text().unwrap_or_default();
    let mut bytes = Vec::new();
    let mut recorder = ConformanceRecorder::new(&mut bytes, &machine, &case.name, &kernel, scenario);
    let name = &case.input.given;
    drive_to(&mut machine, &mut recorder, Nanos(u64::MAX))
        .map_err(|error| CliError::Run(Message::from(error).about(name)))?;
    recorder.finish().map_err(CliError::failed)?;
    let records = String::from_utf8(bytes).map_err(CliError::failed)?;
    write_file(dir, &format!("{}.scn", case.name), scenario)?;
    write_file(dir, &format!("{}.jsonl", case.name), &records)?;
    Ok(WrittenCase { name: case.name.clone(), records: records.lines().count() })
}

/// Writes a file below the directory, and creates its folder.
fn write_file(dir: &Path, name: &str, text: &str) -> Result<(), CliError> {
    let path: PathBuf = dir.join(name);
    let folder = path.parent().unwrap_or(dir);
    fs::create_dir_all(folder).map_err(|error| CliError::write(&folder.display().to_string(), &error))?;
    AtomicFile::write(&path, text.as_bytes())
}
