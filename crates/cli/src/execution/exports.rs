// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces that a command writes: `--export FORMAT=FILE`, and the events in them.

use crate::args::exports::{Export, events_from_name, groups};
use crate::values::error::CliError;
use crate::values::whole_file::{AtomicFile, refuse_to_replace};
use fairlab_machine::engine::Engine;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::Machine;
use fairlab_run::job::RunOutputs;
use fairlab_traces::export::record::EventGroups;
use fairlab_traces::export::{ExportTarget, Exporter};
use fairlab_workload::message::Message;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Files of the traces that are being written.
pub(crate) struct ExportWriters {
    /// Names of the files, for messages.
    names: Vec<String>,
    /// Files that get their final names at the end.
    files: Vec<AtomicFile>,
}

/// File of a trace of JSON lines that is being written.
pub(crate) struct OpenTrace {
    /// Name of the output in error messages.
    name: String,
    /// File that gets its name when the trace is complete.
    file: Option<AtomicFile>,
}

impl OpenTrace {
    /// Opens a file, or standard output for `-`.
    pub(crate) fn create(file: &str, option: &str, inputs: &[&Path]) -> Result<(Self, Box<dyn Write>), CliError> {
        if file == "-" {
            let name = "standard output".to_owned();
            return Ok((Self { name, file: None }, Box::new(std::io::stdout())));
        }
        let path = Path::new(file);
        refuse_to_replace(path, option, inputs.iter().copied())?;
        let (whole, out) = AtomicFile::create(path).map_err(|error| {
            let help = format!("{option} takes a file that can be written, or - for standard output");
            CliError::Input(Message::in_file(path, format!("cannot be written: {error}")).with_help(help))
        })?;
        Ok((Self { name: file.to_owned(), file: Some(whole) }, Box::new(out)))
    }

    /// Completes the file after the last line was `written`.
    pub(crate) fn finish(self, written: std::io::Result<()>) -> Result<(), CliError> {
        written.map_err(|error| CliError::write(&self.name, &error))?;
        self.file.map_or(Ok(()), AtomicFile::finish)
    }
}

/// Rejects a trace file that is also an input.
pub(crate) fn refuse_to_replace_inputs(outputs: &RunOutputs, inputs: &[&Path]) -> Result<(), CliError> {
    let files = outputs.exports.iter().filter(|export| export.file != "-");
    files
        .map(|export| Path::new(&export.file))
        .try_for_each(|file| refuse_to_replace(file, "--export", inputs.iter().copied()))
}

impl ExportWriters {
    /// Opens the requested traces of a run that has not begun; `None` if no trace was requested.
    pub(crate) fn open(
        outputs: &RunOutputs,
        machine: &Machine<impl Engine>,
        process: Option<&str>,
    ) -> Result<Option<(Exporter, Self)>, CliError> {
        if outputs.exports.is_empty() {
            return if outputs.events.is_empty() {
                Ok(None)
            } else {
                let help = "add --export FORMAT=FILE, or omit --events";
                Err(CliError::with_help("--events selects events of a trace, but no trace is written", help))
            };
        }
        let events = outputs.events.iter().map(|name| events_from_name(name)).collect::<Result<Vec<_>, _>>();
        let events = groups(&events.map_err(CliError::Input)?);
        let mut exporter = Exporter::new(machine, process);
        if let Some(task) = &outputs.task {
            exporter.emit_only_for(task.clone());
        }
        let mut files = Vec::new();
        let exports = outputs.exports.iter().map(Export::from_output).collect::<Result<Vec<_>, _>>();
        let exports = exports.map_err(CliError::Input)?;
        for export in &exports {
            if export.format.is_of_state() && machine.as_built_in().is_none() {
                let error = Message::new(format!(
                    "{} contains state of the built-in scheduler, which compiled-kernel engines do not have",
                    export.format.name
                ));
                return Err(CliError::Input(error.with_help("omit it, or omit --engine")));
            }
            files.extend(open(export, events, machine.hardware(), &mut exporter)?);
        }
        exporter.begin(machine);
        let names = exports.iter().map(|export| export.name().to_owned()).collect();
        Ok(Some((exporter, Self { names, files })))
    }

    /// Completes all traces after the run.
    pub(crate) fn finish(self, exporter: &mut Exporter, machine: &Machine<impl Engine>) -> Result<(), CliError> {
        let finished = exporter.finish(machine);
        finished.map_err(|(place, error)| CliError::write(&self.names[place], &error))?;
        self.files.into_iter().try_for_each(AtomicFile::finish)
    }
}

fn open(
    export: &Export,
    groups: Option<EventGroups>,
    hardware: &Hardware,
    exporter: &mut Exporter,
) -> Result<Option<AtomicFile>, CliError> {
    let wrong = |error: std::io::Error| {
        let help = "--export takes FORMAT=FILE with a writable file, or - for standard output";
        CliError::Input(Message::in_file(export.name(), format!("cannot be written: {error}")).with_help(help))
    };
    if export.format.is_directory() {
        if export.file == "-" {
            let help = "give the name of a directory";
            let message =
                Message::new(format!("{} writes a directory of files, not standard output", export.format.name))
                    .with_help(help);
            return Err(CliError::Input(message));
        }
        std::fs::create_dir_all(&export.file).map_err(wrong)?;
        let target = ExportTarget::Directory(Path::new(&export.file));
        export.format.open(target, groups, hardware, exporter).map_err(wrong)?;
        return Ok(None);
    }
    let (out, directory, whole): (Box<dyn Write>, PathBuf, _) = if export.file == "-" {
        (Box::new(std::io::stdout()), std::env::temp_dir(), None)
    } else {
        let path = Path::new(&export.file);
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let (whole, file) = AtomicFile::create(path).map_err(wrong)?;
        (Box::new(file), parent.unwrap_or_else(|| Path::new(".")).to_owned(), Some(whole))
    };
    let target = ExportTarget::File { out, directory: &directory };
    export.format.open(target, groups, hardware, exporter).map_err(wrong)?;
    Ok(whole)
}
