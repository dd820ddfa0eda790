// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces that a command is to write: `--export FORMAT=FILE`, and which events they have.

use crate::error::CliError;
use crate::hints::{self, hinted};
use crate::whole_file::{WholeFile, refuse_to_replace};
use clap::Args as ClapArgs;
use fairlab_machine::engine::Engine;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::Machine;
use fairlab_observe::export::record::{EventGroups, Group};
use fairlab_observe::export::{ExportFormat, ExportTarget, Exporter, FORMATS};
use fairlab_workload::suggest;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A trace that is wanted: format and file.
#[derive(Clone, Debug)]
pub(crate) struct Export {
    pub(crate) format: &'static ExportFormat,
    /// `-` is standard output.
    pub(crate) file: String,
}

/// The options of commands that run something.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct ExportArgs {
    /// Write a trace for another tool, several times if need be: see `fairlab export --help` for formats
    ///
    /// `-` is standard output. With a run directory (-o), a relative FILE is put into it.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = hinted(export_of, hints::exports))]
    pub(crate) export: Vec<Export>,
    /// Which events such traces have [default: what suits the format]
    ///
    /// Groups: sched, stat, idle, freq, ipi, pelt, counters, decisions, paths, markers; all.
    #[arg(long, value_name = "GROUP,GROUP", value_delimiter = ',', value_parser = hinted(group_of, hints::groups))]
    pub(crate) events: Vec<EventGroups>,
    /// The only task of which formats that can do so tell.
    #[arg(skip)]
    pub(crate) task: Option<String>,
}

/// Traces that are being written.
pub(crate) struct Traces {
    pub(crate) exporter: Exporter,
    /// Their files, for messages.
    names: Vec<String>,
    /// Those that get their names at the end.
    files: Vec<WholeFile>,
}

/// The process to which the tasks of a kind of workload belong, if they are its threads.
pub(crate) fn process_of(kind: &str) -> Option<&str> {
    (kind == "rt-app").then_some("rt-app")
}

/// The groups that were asked for, if any were.
pub(crate) fn groups(events: &[EventGroups]) -> Option<EventGroups> {
    events.iter().copied().reduce(EventGroups::or)
}

impl Traces {
    /// Begins what is wanted of a run that has not begun; nothing if nothing is.
    pub(crate) fn open(
        args: &ExportArgs,
        machine: &Machine<impl Engine>,
        process: Option<&str>,
    ) -> Result<Option<Self>, CliError> {
        if args.export.is_empty() {
            return if args.events.is_empty() {
                Ok(None)
            } else {
                let help = "add --export FORMAT=FILE, or leave --events out";
                Err(CliError::Input(format!("--events says what a trace has, but none is to be written\nhelp: {help}")))
            };
        }
        let mut exporter = Exporter::new(machine, process);
        if let Some(task) = &args.task {
            exporter.emit_only_for(task.clone());
        }
        let mut files = Vec::new();
        for export in &args.export {
            if export.format.is_of_state && machine.built_in().is_none() {
                let what = format!(
                    "{} tells of the built-in scheduler's state, which kernel engines have not",
                    export.format.name
                );
                return Err(CliError::Input(format!("{what}\nhelp: leave it out, or --engine")));
            }
            files.extend(export.open(groups(&args.events), machine.hardware(), &mut exporter)?);
        }
        exporter.begin(machine);
        let names = args.export.iter().map(|export| export.name().to_owned()).collect();
        Ok(Some(Self { exporter, names, files }))
    }

    /// Those of an exporter that writes no files.
    pub(crate) const fn unnamed(exporter: Exporter) -> Self {
        Self { exporter, names: Vec::new(), files: Vec::new() }
    }

    /// Ends all of them, after the run.
    pub(crate) fn finish(mut self, machine: &Machine<impl Engine>) -> Result<(), CliError> {
        let finished = self.exporter.finish(machine);
        finished.map_err(|(place, error)| CliError::write(&self.names[place], &error))?;
        self.files.into_iter().try_for_each(WholeFile::finish)
    }
}

impl ExportArgs {
    /// Whether a trace goes to standard output, which then carries nothing else.
    pub(crate) fn is_on_stdout(&self) -> bool {
        self.export.iter().any(|export| export.file == "-")
    }

    /// The words of a command line that say the same.
    pub(crate) fn words(&self) -> Vec<String> {
        let of_export = |export: &Export| ["--export".to_owned(), format!("{}={}", export.format.name, export.file)];
        let mut words: Vec<String> = self.export.iter().flat_map(of_export).collect();
        if let Some(groups) = groups(&self.events) {
            let names = Group::ALL.iter().filter(|group| groups.contains(**group)).map(|group| group.name());
            words.extend(["--events".to_owned(), names.collect::<Vec<_>>().join(",")]);
        }
        words
    }

    /// Refuses standard output for a command that writes its results there.
    pub(crate) fn refuse_stdout(&self, command: &str) -> Result<(), CliError> {
        if !self.is_on_stdout() {
            return Ok(());
        }
        let help = "give --export the name of a file";
        Err(CliError::Input(format!(
            "{command} writes its results to standard output, so no trace can go there\nhelp: {help}"
        )))
    }

    /// Refuses to write a trace over what is run.
    pub(crate) fn refuse_to_replace(&self, inputs: &[&Path]) -> Result<(), CliError> {
        let files = self.export.iter().filter(|export| export.file != "-");
        files
            .map(|export| Path::new(&export.file))
            .try_for_each(|file| refuse_to_replace(file, "--export", inputs.iter().copied()))
    }

    /// The same, with relative files in a run directory.
    pub(crate) fn inside(&self, directory: Option<&Path>) -> Self {
        let mut args = self.clone();
        if let Some(directory) = directory {
            for export in args.export.iter_mut().filter(|export| export.file != "-") {
                export.file = directory.join(&export.file).display().to_string();
            }
        }
        args
    }

    /// The same for one of several runs.
    pub(crate) fn of_run(&self, run: &str) -> Self {
        Self { export: self.export.iter().map(|export| export.of_run(run)).collect(), ..self.clone() }
    }
}

impl Export {
    fn name(&self) -> &str {
        if self.file == "-" { "standard output" } else { &self.file }
    }

    fn open(
        &self,
        groups: Option<EventGroups>,
        hardware: &Hardware,
        exporter: &mut Exporter,
    ) -> Result<Option<WholeFile>, CliError> {
        let wrong = |error: std::io::Error| {
            let help = "--export takes FORMAT=FILE with a file that can be written, or - for standard output";
            CliError::Input(format!("{}: cannot be written: {error}\nhelp: {help}", self.name()))
        };
        if self.format.is_directory() {
            if self.file == "-" {
                let help = "give the name of a directory";
                let message =
                    format!("{} is a directory of files, not one for standard output\nhelp: {help}", self.format.name);
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
            let (whole, file) = WholeFile::create(path).map_err(wrong)?;
            (Box::new(file), parent.unwrap_or_else(|| Path::new(".")).to_owned(), Some(whole))
        };
        let target = ExportTarget::File { out, directory: &directory };
        self.format.open(target, groups, hardware, exporter).map_err(wrong)?;
        Ok(whole)
    }

    /// The same for one of several runs: its name comes before the end of the file's name.
    fn of_run(&self, run: &str) -> Self {
        let run: String = run.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
        let path = Path::new(&self.file);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let extension = path.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
        let file = path.with_file_name(format!("{stem}-{run}{extension}"));
        Self { format: self.format, file: file.display().to_string() }
    }
}

pub(crate) fn format_of(name: &str) -> Result<&'static ExportFormat, String> {
    ExportFormat::from_name(name).ok_or_else(|| {
        if name == "parquet" {
            let build = "cargo build --release --features parquet";
            return format!("this fairlab was built without Parquet; `{build}` makes one with it, and csv needs none");
        }
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        match suggest::nearest(name, &names) {
            Some(near) => format!("there is no such format; did you mean {near}?"),
            None => format!("there is no such format; there are {}", names.join(", ")),
        }
    })
}

fn export_of(text: &str) -> Result<Export, String> {
    let (format, file) = text.split_once('=').ok_or("write FORMAT=FILE, such as perfetto=run.pftrace")?;
    if file.is_empty() {
        return Err("the file has no name; write FORMAT=FILE".to_owned());
    }
    Ok(Export { format: format_of(format)?, file: file.to_owned() })
}

pub(crate) fn group_of(name: &str) -> Result<EventGroups, String> {
    if name == "all" {
        return Ok(EventGroups::from_slice(Group::ALL));
    }
    let group = Group::ALL.iter().find(|group| group.name() == name);
    group.map(|group| EventGroups::from_slice(&[*group])).ok_or_else(|| {
        let names: Vec<&str> = Group::ALL.iter().map(|group| group.name()).collect();
        format!("there is no such group of events; there are {}, all", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_groups_are_known_or_suggested() {
        let export = export_of("trace-dat=a=b.dat").expect("the name of a file may have any character");
        assert_eq!((export.format.name, export.file.as_str()), ("trace-dat", "a=b.dat"));
        assert!(export_of("trace-dta=x").expect_err("misspelt").contains("trace-dat"));
        assert!(export_of("ftrace").is_err() && export_of("ftrace=").is_err());
        assert!(group_of("irq").expect_err("there is none").contains("ipi"));
        assert!(Group::ALL.iter().all(|group| group_of("all").expect("all of them").contains(*group)));
    }

    #[test]
    fn each_of_several_runs_has_a_file_of_its_own() {
        let export = export_of("ftrace=dir/run.txt").expect("a format and a file");
        assert_eq!(export.of_run("NO_SIS_UTIL,kernel=5.4").file, "dir/run-NO_SIS_UTIL-kernel-5-4.txt");
    }
}
