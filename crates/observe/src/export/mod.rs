// SPDX-License-Identifier: GPL-2.0-or-later
//! Exports traces of a run in the formats of other tools.
//!
//! An [`Exporter`] observes a run and turns its events into records ([`record`]), which all formats share. A
//! format is a [`TraceSink`]: it writes each record at once, so memory use does not grow with the length of a
//! run. Data that belongs at the beginning of a file and is known only at the end is kept in a temporary
//! file. The tracepoint formats (`trace.dat`, `perf.data`, text) share the definitions in [`tracepoint`].
//!
//! [`FORMATS`] lists all formats. The opposite direction, reading a recorded trace, is [`crate::import`].

mod bpftrace;
mod chrome;
pub mod columns;
mod details;
mod exporter;
mod ftrace_text;
mod pass_spans;
mod perf_data;
mod perfetto;
mod proc_sched;
mod proc_text;
pub mod record;
mod sched_debug;
pub mod schedstat;
mod sink;
mod tables;
mod task_counts;
pub mod thread;
mod trace_dat;
pub mod tracepoint;

pub use exporter::Exporter;
pub use sink::TraceSink;

use bpftrace::Bpftrace;
use chrome::Chrome;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::START;
use ftrace_text::FtraceText;
use perf_data::PerfData;
use perfetto::Perfetto;
use proc_sched::ProcSched;
use record::{EventGroups, Group};
use sched_debug::SchedDebug;
use schedstat::SchedstatFiles;
use std::io::{self, Write};
use std::path::Path;
use tables::{Csv, TableSink};
use thread::ThreadTable;
use trace_dat::{TraceDat, TraceDatVersion};

/// Destination of a trace.
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum ExportTarget<'a> {
    /// One file, for a format that writes a single file.
    File {
        out: Box<dyn Write>,
        /// Directory for temporary files; its disk must have room for a copy of the trace.
        directory: &'a Path,
    },
    /// Existing directory, for a format that writes several files.
    Directory(&'a Path),
}

/// Properties of a run that a format needs when its sink is opened.
struct ExportRun<'a> {
    hardware: &'a Hardware,
    threads: &'a ThreadTable,
    /// Name or pid of the only task to write, for formats that can write single tasks.
    only: Option<&'a str>,
}

impl ExportRun<'_> {
    fn nr_cpus(&self) -> usize {
        self.hardware.nr_cpus()
    }

    fn name(&self) -> String {
        self.hardware.name.clone()
    }
}

/// Trace format, with its name and the default groups of events.
#[derive(Clone, Copy)]
pub struct ExportFormat {
    /// Name on the command line.
    pub name: &'static str,
    /// Usual file name extension, without the leading dot.
    pub extension: &'static str,
    /// Description for help texts: the format and the tools that read it.
    pub meaning: &'static str,
    /// Groups of events that are written if the user selects none.
    pub groups: EventGroups,
    /// Whether the format prints state of the built-in scheduler, so it is not available for runs of another
    /// engine.
    pub is_of_state: bool,
    open: SinkOpener,
}

/// Result of opening a sink.
type OpenedSink = io::Result<Box<dyn TraceSink>>;

/// Function that opens the sink of a format.
#[derive(Clone, Copy)]
enum SinkOpener {
    /// Opens a single file; the second argument is the directory for temporary files.
    File(fn(Box<dyn Write>, &Path, &ExportRun<'_>) -> OpenedSink),
    /// Opens a directory of files.
    Directory(fn(&Path, &ExportRun<'_>) -> OpenedSink),
    /// Opens a directory with one file per task; the user may restrict it to one task or one family.
    Tasks(fn(&Path, &ExportRun<'_>) -> OpenedSink),
}

/// Groups that the kernel's tracepoints cover. PELT averages are left out by default, because they would be
/// most of a trace.
const EVENT_GROUPS: EventGroups =
    EventGroups::from_slice(&[Group::Sched, Group::Stat, Group::Idle, Group::Frequency, Group::Ipi, Group::Markers]);

/// Groups that trace viewers draw.
const CHART_GROUPS: EventGroups = EventGroups::from_slice(&[
    Group::Sched,
    Group::Idle,
    Group::Frequency,
    Group::Ipi,
    Group::Counters,
    Group::Decisions,
    Group::Paths,
    Group::Markers,
]);

/// All formats, in the order in which the help lists them.
pub const FORMATS: &[ExportFormat] = &[
    ExportFormat {
        name: "perfetto",
        extension: "pftrace",
        meaning: "Perfetto's protocol buffers: ui.perfetto.dev, trace_processor",
        groups: CHART_GROUPS,
        is_of_state: false,
        open: SinkOpener::File(|out, _, run| Ok(Box::new(Perfetto::new(out, run.nr_cpus(), &run.name(), run.threads)))),
    },
    ExportFormat {
        name: "chrome",
        extension: "json",
        meaning: "Chrome's trace events in JSON: chrome://tracing, ui.perfetto.dev",
        groups: CHART_GROUPS,
        is_of_state: false,
        open: SinkOpener::File(|out, _, run| Ok(Box::new(Chrome::new(out, run.nr_cpus(), START)))),
    },
    ExportFormat {
        name: "trace-dat",
        extension: "dat",
        meaning: "trace.dat of version 6: trace-cmd, KernelShark, LISA",
        groups: EVENT_GROUPS,
        is_of_state: false,
        open: SinkOpener::File(|out, directory, run| open_trace_dat(out, directory, run, TraceDatVersion::V6)),
    },
    ExportFormat {
        name: "trace-dat-7",
        extension: "dat",
        meaning: "trace.dat of version 7, not compressed: trace-cmd since 3.0",
        groups: EVENT_GROUPS,
        is_of_state: false,
        open: SinkOpener::File(|out, directory, run| open_trace_dat(out, directory, run, TraceDatVersion::V7)),
    },
    ExportFormat {
        name: "ftrace",
        extension: "txt",
        meaning: "the text of the kernel's trace file: systrace, Perfetto, LISA, grep",
        groups: EVENT_GROUPS,
        is_of_state: false,
        open: SinkOpener::File(|out, _, run| Ok(Box::new(FtraceText::new(out, run.nr_cpus())))),
    },
    ExportFormat {
        name: "perf",
        extension: "data",
        meaning: "perf.data: perf script, perf sched timehist, latency and map",
        groups: EVENT_GROUPS,
        is_of_state: false,
        open: SinkOpener::File(|out, directory, run| {
            Ok(Box::new(PerfData::new(out, run.nr_cpus(), run.name(), run.threads, directory)?))
        }),
    },
    ExportFormat {
        name: "csv",
        extension: "csv.d",
        meaning: "a directory of tables as comma-separated values, one file each: spreadsheets, pandas, sqlite",
        groups: EventGroups::from_slice(Group::ALL),
        is_of_state: false,
        open: SinkOpener::Directory(|directory, _| Ok(Box::new(TableSink(Csv::new(directory))))),
    },
    #[cfg(feature = "parquet")]
    ExportFormat {
        name: "parquet",
        extension: "parquet.d",
        meaning: "a directory of tables as Parquet, one file each: pandas, polars, DuckDB",
        groups: EventGroups::from_slice(Group::ALL),
        is_of_state: false,
        open: SinkOpener::Directory(|directory, _| Ok(Box::new(TableSink(tables::Parquet::new(directory))))),
    },
    ExportFormat {
        name: "schedstat",
        extension: "schedstat.d",
        meaning: "a directory with /proc/schedstat (version 15) before and after the run: sched-scoreboard, scripts",
        groups: EventGroups::from_slice(&[]),
        is_of_state: true,
        open: SinkOpener::Directory(|directory, _| {
            Ok(Box::new(SchedstatFiles::new(directory, schedstat::SchedstatVersion::V15)))
        }),
    },
    ExportFormat {
        name: "schedstat-16",
        extension: "schedstat.d",
        meaning: "a directory with /proc/schedstat (version 16, since Linux 6.8) before and after the run",
        groups: EventGroups::from_slice(&[]),
        is_of_state: true,
        open: SinkOpener::Directory(|directory, _| {
            Ok(Box::new(SchedstatFiles::new(directory, schedstat::SchedstatVersion::V16)))
        }),
    },
    ExportFormat {
        name: "sched-debug",
        extension: "sched_debug",
        meaning: "the text of /sys/kernel/debug/sched/debug (6.1) at the end of the run",
        groups: task_counts::GROUPS,
        is_of_state: true,
        open: SinkOpener::File(|out, _, _| Ok(Box::new(SchedDebug::new(out)))),
    },
    ExportFormat {
        name: "proc-sched",
        extension: "proc.d",
        meaning: "a directory with PID/sched for each task: the text of /proc/PID/sched (6.1) at the end of the run",
        groups: task_counts::GROUPS,
        is_of_state: true,
        open: SinkOpener::Tasks(|directory, run| Ok(Box::new(ProcSched::new(directory, run.only)))),
    },
    ExportFormat {
        name: "bpftrace",
        extension: "hist.txt",
        meaning: "bpftrace's histograms of runqueue latency, run time and idle exit latency, in us",
        groups: bpftrace::GROUPS,
        is_of_state: false,
        open: SinkOpener::File(|out, _, run| Ok(Box::new(Bpftrace::new(out, run.nr_cpus())))),
    },
];

fn open_trace_dat(out: Box<dyn Write>, directory: &Path, run: &ExportRun<'_>, version: TraceDatVersion) -> OpenedSink {
    Ok(Box::new(TraceDat::new(out, version, run.nr_cpus(), run.name(), directory)?))
}

impl ExportFormat {
    /// Whether the format writes a directory of files.
    pub const fn is_directory(&self) -> bool {
        matches!(self.open, SinkOpener::Directory(_) | SinkOpener::Tasks(_))
    }

    /// Whether the format can be restricted to one task or one family: see [`Exporter::emit_only_for`].
    pub const fn takes_task(&self) -> bool {
        matches!(self.open, SinkOpener::Tasks(_))
    }

    /// Returns the format with the given command-line name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Opens a trace and adds it to the exporter. Must be called before the run begins.
    ///
    /// `groups` replaces the default groups of the format; groups that the format needs are always added.
    ///
    /// # Errors
    /// If the files or the temporary file cannot be created, or `target` is a file for a format that
    /// writes a directory, or the reverse.
    pub fn open(
        &self,
        target: ExportTarget<'_>,
        groups: Option<EventGroups>,
        hardware: &Hardware,
        exporter: &mut Exporter,
    ) -> io::Result<()> {
        let run = ExportRun { hardware, threads: exporter.threads(), only: exporter.task_filter() };
        let sink = match (self.open, target) {
            (SinkOpener::File(open), ExportTarget::File { out, directory }) => open(out, directory, &run)?,
            (SinkOpener::Directory(open) | SinkOpener::Tasks(open), ExportTarget::Directory(directory)) => {
                open(directory, &run)?
            }
            _ => {
                return Err(io::Error::other(
                    "the target of the trace is a file for a format of a directory, or the reverse",
                ));
            }
        };
        exporter.add(groups.unwrap_or(self.groups).or(sink.needs()), sink);
        Ok(())
    }
}

impl std::fmt::Debug for ExportFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExportFormat").field("name", &self.name).field("groups", &self.groups).finish_non_exhaustive()
    }
}
