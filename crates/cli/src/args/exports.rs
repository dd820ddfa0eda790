// SPDX-License-Identifier: GPL-2.0-or-later
//! Options for the traces that a command writes: `--export FORMAT=FILE`, and the events in them.

use crate::values::error::CliError;
use crate::values::hints::{self, with_hints};
use clap::{Args as ClapArgs, ValueHint};
use fairlab_run::job::{ExportOutput, RunOutputs};
use fairlab_traces::export::record::{EventGroups, Group};
use fairlab_traces::export::{ExportFormat, FORMATS};
use fairlab_workload::message::Message;
use fairlab_workload::suggest;
use std::path::Path;

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
    /// Write all events of the scheduler and the machine, unprocessed, as lines of JSON
    ///
    /// The log holds what metrics are computed from, so that they can be recomputed; `cargo xtask audit` does.
    /// `-` is standard output.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) event_log: Option<String>,
}

/// Returns the union of the requested groups, or `None` if none was requested.
pub(crate) fn groups(events: &[EventGroups]) -> Option<EventGroups> {
    events.iter().copied().reduce(EventGroups::or)
}

impl ExportArgs {
    /// Whether a trace is written to standard output, which then carries nothing else.
    pub(crate) fn is_on_stdout(&self) -> bool {
        self.event_log.as_deref() == Some("-") || self.export.iter().any(|export| export.file == "-")
    }

    /// Whether a file is written for each run.
    pub(crate) fn writes_files(&self) -> bool {
        self.event_log.is_some() || !self.export.is_empty()
    }

    /// Rejects standard output for a command that writes its results there.
    pub(crate) fn refuse_stdout(&self, command: &str) -> Result<(), CliError> {
        if !self.is_on_stdout() {
            return Ok(());
        }
        let help = "give --export the name of a file";
        Err(CliError::with_help(
            format!("{command} writes its results to standard output, so a trace cannot be written there"),
            help,
        ))
    }

    /// Adds the traces to the outputs of a run.
    pub(crate) fn add_to(&self, outputs: &mut RunOutputs) {
        outputs.exports.extend(
            self.export
                .iter()
                .map(|export| ExportOutput { format: export.format.name.to_owned(), file: export.file.clone() }),
        );
        outputs.event_log.clone_from(&self.event_log);
        if let Some(groups) = groups(&self.events) {
            let names = Group::ALL.iter().filter(|group| groups.contains(**group)).map(|group| group.name());
            outputs.events.extend(names.map(str::to_owned));
        }
    }

    /// Returns the options for one of several runs, with the run's name in each file name.
    pub(crate) fn of_run(&self, run: &str) -> Self {
        Self {
            export: self.export.iter().map(|export| export.of_run(run)).collect(),
            event_log: self.event_log.as_deref().map(|file| file_of_run(file, run)),
            ..self.clone()
        }
    }
}

impl Export {
    pub(crate) fn from_output(output: &ExportOutput) -> Result<Self, Message> {
        Ok(Self { format: format_from_name(&output.format)?, file: output.file.clone() })
    }

    pub(crate) fn name(&self) -> &str {
        if self.file == "-" { "standard output" } else { &self.file }
    }

    /// Returns the trace for one of several runs.
    fn of_run(&self, run: &str) -> Self {
        Self { format: self.format, file: file_of_run(&self.file, run) }
    }
}

/// Returns the file for one of several runs: the run's name is inserted before the extension.
fn file_of_run(file: &str, run: &str) -> String {
    let run: String = run.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let path = Path::new(file);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-{run}{extension}")).display().to_string()
}

pub(crate) fn format_from_name(name: &str) -> Result<&'static ExportFormat, Message> {
    ExportFormat::from_name(name).ok_or_else(|| {
        if name == "parquet" {
            let build = "cargo build --release --features parquet";
            return Message::new("this fairlab was built without Parquet")
                .with_help(format!("build it with `{build}`, or use csv"));
        }
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        Message::new("unknown format").with_help(match suggest::nearest(name, &names) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("known formats: {}", names.join(", ")),
        })
    })
}

fn parse_export(text: &str) -> Result<Export, Message> {
    let help = "write FORMAT=FILE, such as perfetto=run.pftrace";
    let (format, file) = text.split_once('=').ok_or_else(|| Message::new("the file is missing").with_help(help))?;
    if file.is_empty() {
        return Err(Message::new("the file has no name").with_help(help));
    }
    Ok(Export { format: format_from_name(format)?, file: file.to_owned() })
}

pub(crate) fn events_from_name(name: &str) -> Result<EventGroups, Message> {
    if name == "all" {
        return Ok(EventGroups::from_slice(Group::ALL));
    }
    let group = Group::ALL.iter().find(|group| group.name() == name);
    group.map(|group| EventGroups::from_slice(&[*group])).ok_or_else(|| {
        let names: Vec<&str> = Group::ALL.iter().map(|group| group.name()).collect();
        Message::new("unknown group of events").with_help(format!("known groups: {}, all", names.join(", ")))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_groups_are_known_or_suggested() {
        let export = parse_export("trace-dat=a=b.dat").expect("the name of a file may have any character");
        assert_eq!((export.format.name, export.file.as_str()), ("trace-dat", "a=b.dat"));
        assert!(parse_export("trace-dta=x").expect_err("misspelt").to_string().contains("trace-dat"));
        assert!(parse_export("ftrace").is_err() && parse_export("ftrace=").is_err());
        assert!(events_from_name("irq").expect_err("there is none").to_string().contains("ipi"));
        assert!(Group::ALL.iter().all(|group| events_from_name("all").expect("all of them").contains(*group)));
    }

    #[test]
    fn each_of_several_runs_has_a_file_of_its_own() {
        let export = parse_export("ftrace=dir/run.txt").expect("a format and a file");
        assert_eq!(export.of_run("NO_SIS_UTIL,kernel=5.4").file, "dir/run-NO_SIS_UTIL-kernel-5-4.txt");
    }
}
