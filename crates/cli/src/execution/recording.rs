// SPDX-License-Identifier: GPL-2.0-or-later
//! Recorded traces, and the workloads that they become.

use crate::args::import::LeapArgs;
use crate::values::error::CliError;
use fairlab_machine::hardware::Hardware;
use fairlab_run::input::InputFile;
use fairlab_run::manifest::MANIFEST;
use fairlab_traces::import;
use fairlab_traces::import::behaviour::{self, ImportedWorkload};
use fairlab_traces::import::event::Recording;
use fairlab_workload::files;
use fairlab_workload::message::Message;
use std::path::Path;

/// Reads a trace from a file, or from standard input for `-`.
pub(crate) fn read(trace: &str, leaps: LeapArgs) -> Result<Recording, CliError> {
    let path = Path::new(trace);
    if trace != "-" && path.is_dir() {
        if path.join(MANIFEST).is_file() {
            let help = format!("this is a run directory: `fairlab export {trace} --format trace-dat` writes its trace");
            return Err(CliError::with_help(format!("{trace}: is a directory, not a trace"), help));
        }
        return Err(CliError::input(import::directory_error(path)));
    }
    let bytes = if trace == "-" {
        files::read_all(std::io::stdin().lock(), import::MAX_TRACE_BYTES)
    } else {
        files::read_file(path, import::MAX_TRACE_BYTES)
    };
    let bytes = bytes.map_err(|error| {
        let help = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file; give the path of a trace",
            std::io::ErrorKind::PermissionDenied => "this user may not read it",
            _ => "give a trace; shorten a long one with trace-cmd split or perf script --time, or record for less time",
        };
        CliError::with_help(format!("{trace}: cannot be read: {error}"), help)
    })?;
    import::read(trace, &bytes, leaps.handling()).map_err(CliError::input)
}

/// Converts a trace into a workload; `machine` is the machine on which it was recorded.
pub(crate) fn convert(recording: &Recording, machine: Option<&str>) -> Result<ImportedWorkload, CliError> {
    let machine = machine.map(|machine| InputFile::new(machine).read_machine()).transpose()?;
    let hardware = machine.map(|machine| Hardware::from_description(&machine.description));
    if let Some(hardware) = &hardware
        && hardware.nr_cpus() < recording.nr_cpus as usize
    {
        let help = "give the machine on which the trace was recorded: see `fairlab machine capture`";
        let message = Message::new(format!(
            "the trace has events of {} CPUs, but the machine {} has {}",
            recording.nr_cpus,
            hardware.name,
            hardware.nr_cpus()
        ))
        .with_help(help);
        return Err(CliError::Input(message));
    }
    Ok(behaviour::import(recording, hardware.as_ref()))
}
