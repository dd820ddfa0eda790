// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab export`: the trace of an earlier run in the format of another tool.
//!
//! A run directory contains no events. The run is repeated, which gives equal events, and its digest is
//! compared with the manifest's.

use crate::args::ExportCommandArgs;
use crate::error::CliError;
use crate::execute::execute_alone;
use crate::exports::{Export, ExportArgs};
use crate::output::Output;
use crate::rerun;
use crate::whole_file::refuse_to_replace;
use fairlab_observe::export::FORMATS;
use fairlab_observe::export::record::Group;
use fairlab_run::job::RunOutputs;
use fairlab_run::manifest::Manifest;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Result of an export.
#[derive(Serialize)]
struct ExportOutput<'a> {
    format: &'static str,
    file: &'a str,
    digest: String,
    digest_matches: bool,
}

pub(crate) fn export(output: &mut Output, args: &ExportCommandArgs) -> Result<(), CliError> {
    if args.task.is_some() && !args.format.takes_task() {
        let able: Vec<&str> = FORMATS.iter().filter(|format| format.takes_task()).map(|format| format.name).collect();
        let help = format!("omit --task; it is for {}", able.join(", "));
        return Err(CliError::Input(format!("{} always contains all tasks\nhelp: {help}", args.format.name)));
    }
    let manifest = Manifest::read(&args.dir)?;
    let default = || args.dir.join(format!("trace.{}", args.format.extension)).display().to_string();
    let file = args.output.clone().unwrap_or_else(default);
    if file != "-" {
        refuse_to_replace(Path::new(&file), "-o", rerun::input_files(&args.dir).iter().map(PathBuf::as_path))?;
    }
    let mut outputs = RunOutputs { task: args.task.clone(), ..RunOutputs::default() };
    let export = vec![Export { format: args.format, file: file.clone() }];
    ExportArgs { export, events: args.events.clone() }.add_to(&mut outputs, None);
    let digest = execute_alone(output, &rerun::spec(&manifest), &outputs)?.result.digest;
    let difference = rerun::digest_warning(&digest, &manifest, &args.dir, "this is a trace of");
    if let Some(warning) = &difference {
        output.warn(warning)?;
    }
    if file == "-" {
        return Ok(());
    }
    if output.is_json() {
        let answer =
            ExportOutput { format: args.format.name, file: &file, digest, digest_matches: difference.is_none() };
        return output.json(&answer);
    }
    output.text(&format!("{file}: {}\n", args.format.meaning))
}

/// Returns the part of the command's help that lists formats and groups of events.
pub(crate) fn help() -> String {
    let mut text = "Formats:\n".to_owned();
    for format in FORMATS {
        text.push_str(&format!("  {:<12} {}\n", format.name, format.meaning));
    }
    text.push_str("\nEvents:\n");
    for group in Group::ALL {
        text.push_str(&format!("  {:<12} {}\n", group.name(), group.meaning()));
    }
    text.push_str(
        "\nExamples:\n  fairlab run app.json -o runs/1\n  fairlab export runs/1 --format trace-dat -o app.dat; trace-cmd report app.dat\n  \
         fairlab export runs/1 --format perf -o perf.data; perf sched timehist -i perf.data\n  \
         fairlab export runs/1 --format ftrace -o - --events sched,idle | grep sched_switch",
    );
    text
}
