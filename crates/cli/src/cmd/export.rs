// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab export`: the trace of an earlier run in the format of another tool.
//!
//! A run directory contains no events. The run is repeated, which gives equal events, and its digest is
//! compared with the manifest's.

use crate::args::ExportCommandArgs;
use crate::args::exports::{Export, ExportArgs};
use crate::execution::execute::execute_alone;
use crate::execution::rerun;
use crate::output::Output;
use crate::values::error::CliError;
use crate::values::whole_file::refuse_to_replace;
use fairlab_run::job::RunOutputs;
use fairlab_run::manifest::Manifest;
use fairlab_traces::export::FORMATS;
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
        return Err(CliError::with_help(format!("{} always contains all tasks", args.format.name), help));
    }
    let manifest = Manifest::read(&args.dir)?;
    let default = || args.dir.join(format!("trace.{}", args.format.extension)).display().to_string();
    let file = args.output.clone().unwrap_or_else(default);
    if file != "-" {
        refuse_to_replace(Path::new(&file), "-o", rerun::input_files(&args.dir).iter().map(PathBuf::as_path))?;
    }
    let mut outputs = RunOutputs { task: args.task.clone(), ..RunOutputs::default() };
    let export = vec![Export { format: args.format, file: file.clone() }];
    ExportArgs { export, events: args.events.clone(), event_log: None }.add_to(&mut outputs);
    let digest = execute_alone(output, &rerun::spec(&manifest), &outputs)?.result.digest;
    let difference = rerun::digest_warning(&digest, &manifest, &args.dir, "this is a trace of");
    if let Some(warning) = &difference {
        output.warn(warning)?;
    }
    if file == "-" {
        return Ok(());
    }
    let answer = ExportOutput { format: args.format.name, file: &file, digest, digest_matches: difference.is_none() };
    output.json_or_text(&answer, |_| format!("{file}: {}\n", args.format.meaning))
}
