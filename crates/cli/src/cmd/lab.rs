// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab lab`: an HTML page that runs a workload in a browser, and the answers of its lessons.

mod answers;

use crate::args::LabArgs;
use crate::execution::page::{SimulatorPage, write_page};
use crate::execution::worker::portable;
use crate::output::Output;
use crate::values::error::CliError;
use crate::values::whole_file::refuse_to_replace;
use fairlab_report::Page;
use fairlab_run::input::InputFile;
use fairlab_run::prepare::prepare;
use fairlab_run::settings::Settings;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use serde_json::json;
use std::path::Path;

pub(crate) use answers::{LessonsOutput, SCHEMA};

/// Runs `fairlab lab`.
pub(crate) fn lab(output: &mut Output, args: &LabArgs) -> Result<(), CliError> {
    if let Some(files) = &args.check_answers {
        if args.settings.settings() != Settings::default() {
            return Err(CliError::with_help("lessons have their own settings", "leave out all options but --json"));
        }
        return answers::check(output, files);
    }
    let page = SimulatorPage::read(args.page.as_deref())?;
    let workload = match &args.file {
        Some(file) => WorkloadSpec::File(InputFile::new(file)),
        None => page.example.workload.clone(),
    };
    let spec = portable(&RunSpec { workload, settings: args.settings.settings() })?;
    prepare(&spec)?.with_whole_workload()?.boot()?;
    let inputs = args.page.iter().map(|page| page.as_path()).chain(args.file.iter().map(Path::new));
    refuse_to_replace(&args.output, "-o", inputs)?;
    let text = page.with_input(&Page { spec: Some(json!(spec)), ..Page::default() });
    write_page(&args.output, &text)?;
    if output.is_json() {
        return output.json(&json!({ "file": args.output, "workload": spec.workload.name() }));
    }
    output.text(&format!("{}: open it in a browser\n", args.output.display()))
}
