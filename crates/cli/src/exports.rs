// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces that a command writes: `--export FORMAT=FILE`, and the events in them.

use crate::error::CliError;
use crate::hints::{self, with_hints};
use crate::whole_file::{AtomicFile, refuse_to_replace};
use clap::Args as ClapArgs;
use fairlab_machine::engine::Engine;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::Machine;
use fairlab_observe::export::record::{EventGroups, Group};
use fairlab_observe::export::{ExportFormat, ExportTarget, Exporter, FORMATS};
use fairlab_observe::trace_jsonl::TraceJsonl;
use fairlab_run::job::{ExportOutput, RunOutputs};
use fairlab_workload::suggest;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Trace to write: format and file.
#[derive(Clone, Debug)]
pub(crate) struct Export {
    pub(crate) format: &'static ExportFormat,
    /// Path of the file; `-` is standard output.
    pub(crate) file: String,
}

/// Trace options of commands that run a simulation.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct ExportArgs {
    /// Write a trace for another tool; may be repeated (see `fairlab export --help` for formats)
    ///
    /// `-` is standard output. With a run directory (-o), a relative FILE is placed in it.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = with_hints(parse_export, hints::exports))]
    pub(crate) export: Vec<Export>,
    /// Groups of events in these traces [default: the groups that suit the format]
    ///
    /// Groups: sched, stat, idle, freq, ipi, pelt, counters, decisions, paths, markers; all.
    #[arg(long, value_name = "GROUP,GROUP", value_delimiter = ',', value_parser = with_hints(events_from_name, hints::groups))]
    pub(crate) events: Vec<EventGroups>,
}

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
    pub(crate) fn create(file: &str, inputs: &[&Path]) -> Result<(Self, Box<dyn Write>), CliError> {
        if file == "-" {
            let name = "standard output".to_owned();
            return Ok((Self { name, file: None }, Box::new(std::io::stdout())));
        }
        let path = Path::new(file);
        refuse_to_replace(path, "--trace-jsonl", inputs.iter().copied())?;
        let (whole, out) = AtomicFile::create(path).map_err(|error| {
            let help = "--trace-jsonl takes a file that can be written, or - for standard output";
            CliError::Input(format!("{}: cannot be written: {error}\nhelp: {help}", path.display()))
        })?;
        Ok((Self { name: file.to_owned(), file: Some(whole) }, Box::new(out)))
    }

    /// Ends the trace after the run.
    pub(crate) fn finish(self, lines: TraceJsonl<Box<dyn Write>>) -> Result<(), CliError> {
        lines.finish().map_err(|error| CliError::write(&self.name, &error))?;
        self.file.map_or(Ok(()), AtomicFile::finish)
    }
}

/// Returns the union of the requested groups, or `None` if none was requested.
pub(crate) fn groups(events: &[EventGroups]) -> Option<EventGroups> {
    events.iter().copied().reduce(EventGroups::or)
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
                Err(CliError::Input(format!(
                    "--events selects events of a trace, but no trace is written\nhelp: {help}"
                )))
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
                let what = format!(
                    "{} contains state of the built-in scheduler, which compiled-kernel engines do not have",
                    export.format.name
                );
                return Err(CliError::Input(format!("{what}\nhelp: omit it, or omit --engine")));
            }
            files.extend(export.open(events, machine.hardware(), &mut exporter)?);
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

impl ExportArgs {
    /// Whether a trace is written to standard output, which then carries nothing else.
    pub(crate) fn is_on_stdout(&self) -> bool {
        self.export.iter().any(|export| export.file == "-")
    }

    /// Rejects standard output for a command that writes its results there.
    pub(crate) fn refuse_stdout(&self, command: &str) -> Result<(), CliError> {
        if !self.is_on_stdout() {
            return Ok(());
        }
        let help = "give --export the name of a file";
        Err(CliError::Input(format!(
            "{command} writes its results to standard output, so a trace cannot be written there\nhelp: {help}"
        )))
    }

    /// Adds the traces to the outputs of a run. Relative files are placed in a run directory, if there is one.
    pub(crate) fn add_to(&self, outputs: &mut RunOutputs, directory: Option<&Path>) {
        outputs.exports.extend(self.export.iter().map(|export| {
            let file = match directory.filter(|_| export.file != "-") {
                Some(directory) => directory.join(&export.file).display().to_string(),
                None => export.file.clone(),
            };
            ExportOutput { format: export.format.name.to_owned(), file }
        }));
        if let Some(groups) = groups(&self.events) {
            let names = Group::ALL.iter().filter(|group| groups.contains(**group)).map(|group| group.name());
            outputs.events.extend(names.map(str::to_owned));
        }
    }

    /// Returns the options for one of several runs, with the run's name in each file name.
    pub(crate) fn of_run(&self, run: &str) -> Self {
        Self { export: self.export.iter().map(|export| export.of_run(run)).collect(), ..self.clone() }
    }
}

impl Export {
    fn from_output(output: &ExportOutput) -> Result<Self, String> {
        Ok(Self { format: format_from_name(&output.format)?, file: output.file.clone() })
    }

    fn name(&self) -> &str {
        if self.file == "-" { "standard output" } else { &self.file }
    }

    fn open(
        &self,
        groups: Option<EventGroups>,
        hardware: &Hardware,
        exporter: &mut Exporter,
    ) -> Result<Option<AtomicFile>, CliError> {
        let wrong = |error: std::io::Error| {
            let help = "--export takes FORMAT=FILE with a writable file, or - for standard output";
            CliError::Input(format!("{}: cannot be written: {error}\nhelp: {help}", self.name()))
        };
        if self.format.is_directory() {
            if self.file == "-" {
                let help = "give the name of a directory";
                let message =
                    format!("{} writes a directory of files, not standard output\nhelp: {help}", self.format.name);
                return Err(CliError::Input(message));
            }
            std::fs::create_dir_all(&self.file).map_err(wrong)?;
            let target = ExportTarget::Directory(Path::new(&self.file));
            self.format.open(target, groups, hardware, exporter).map_err(wrong)?;
            return Ok(None);
        }
        let (out, directory, whole): (Box<dyn Write>, PathBuf, _) = if self.file == "-" {
            (Box::new(std::io::stdout()), std::env::temp_dir(), None)
        } else {
            let path = Path::new(&self.file);
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let (whole, file) = AtomicFile::create(path).map_err(wrong)?;
            (Box::new(file), parent.unwrap_or_else(|| Path::new(".")).to_owned(), Some(whole))
        };
        let target = ExportTarget::File { out, directory: &directory };
        self.format.open(target, groups, hardware, exporter).map_err(wrong)?;
        Ok(whole)
    }

    /// Returns the trace for one of several runs: the run's name is inserted before the file's extension.
    fn of_run(&self, run: &str) -> Self {
        let run: String = run.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
        let path = Path::new(&self.file);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let extension = path.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
        let file = path.with_file_name(format!("{stem}-{run}{extension}"));
        Self { format: self.format, file: file.display().to_string() }
    }
}

pub(crate) fn format_from_name(name: &str) -> Result<&'static ExportFormat, String> {
    ExportFormat::from_name(name).ok_or_else(|| {
        if name == "parquet" {
            let build = "cargo build --release --features parquet";
            return format!("this fairlab was built without Parquet; build it with `{build}`, or use csv");
        }
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        match suggest::nearest(name, &names) {
            Some(near) => format!("unknown format; did you mean {near}?"),
            None => format!("unknown format; known formats: {}", names.join(", ")),
        }
    })
}

fn parse_export(text: &str) -> Result<Export, String> {
    let (format, file) = text.split_once('=').ok_or("write FORMAT=FILE, such as perfetto=run.pftrace")?;
    if file.is_empty() {
        return Err("the file has no name; write FORMAT=FILE".to_owned());
    }
    Ok(Export { format: format_from_name(format)?, file: file.to_owned() })
}

pub(crate) fn events_from_name(name: &str) -> Result<EventGroups, String> {
    if name == "all" {
        return Ok(EventGroups::from_slice(Group::ALL));
    }
    let group = Group::ALL.iter().find(|group| group.name() == name);
    group.map(|group| EventGroups::from_slice(&[*group])).ok_or_else(|| {
        let names: Vec<&str> = Group::ALL.iter().map(|group| group.name()).collect();
        format!("unknown group of events; known groups: {}, all", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_groups_are_known_or_suggested() {
        let export = parse_export("trace-dat=a=b.dat").expect("the name of a file may have any character");
        assert_eq!((export.format.name, export.file.as_str()), ("trace-dat", "a=b.dat"));
        assert!(parse_export("trace-dta=x").expect_err("misspelt").contains("trace-dat"));
        assert!(parse_export("ftrace").is_err() && parse_export("ftrace=").is_err());
        assert!(events_from_name("irq").expect_err("there is none").contains("ipi"));
        assert!(Group::ALL.iter().all(|group| events_from_name("all").expect("all of them").contains(*group)));
    }

    #[test]
    fn each_of_several_runs_has_a_file_of_its_own() {
        let export = parse_export("ftrace=dir/run.txt").expect("a format and a file");
        assert_eq!(export.of_run("NO_SIS_UTIL,kernel=5.4").file, "dir/run-NO_SIS_UTIL-kernel-5-4.txt");
    }
}
