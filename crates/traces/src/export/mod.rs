// SPDX-License-Identifier: GPL-2.0-or-later
//! Exports traces of a run in the formats of other tools.
//!
//! An [`Exporter`] observes a run and turns its events into records ([`record`]), which all formats share. A
//! format is a [`TraceSink`]: it writes each record at once, so memory use does not grow with the length of a
//! run. Data that belongs at the beginning of a file and is known only at the end is kept in a temporary
//! file. The tracepoint formats (`trace.dat`, `perf.data`, text) share the definitions in [`tracepoint`].
//!
//! A format is described by a constant in its own file; [`FORMATS`] lists all of them. The opposite direction, reading a recorded trace, is [`crate::import`].

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
pub use sink::{StateSink, TraceSink};

use fairlab_machine::hardware::Hardware;
use record::{EventGroups, Group};
use sink::OpenedSink;
use std::io::{self, Write};
use std::path::Path;
use thread::ThreadTable;

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

/// Trace format, with its name and the default groups of events. Each is the constant of its own file.
pub struct ExportFormat {
    /// Name on the command line.
    pub name: &'static str,
    /// Usual file name extension, without the leading dot.
    pub extension: &'static str,
    /// Description for help texts: the format and the tools that read it.
    pub meaning: &'static str,
    /// Groups of events that are written if the user selects none.
    pub groups: EventGroups,
    opener: FormatOpener,
}

enum FormatOpener {
    /// Events, which every engine has.
    Events(SinkOpener<dyn TraceSink>),
    /// State of the built-in scheduler.
    State(SinkOpener<dyn StateSink>),
}

type Opened<S> = io::Result<Box<S>>;

/// Function that opens a sink, by where it writes.
enum SinkOpener<S: ?Sized> {
    /// Opens a single file; the second argument is the directory for temporary files.
    File(fn(Box<dyn Write>, &Path, &ExportRun<'_>) -> Opened<S>),
    Directory(fn(&Path, &ExportRun<'_>) -> Opened<S>),
    /// Opens a directory with one file per task; the user may restrict it to one task or one family.
    Tasks(fn(&Path, &ExportRun<'_>) -> Opened<S>),
}

impl<S: ?Sized> SinkOpener<S> {
    fn open(&self, target: ExportTarget<'_>, run: &ExportRun<'_>) -> Opened<S> {
        match (self, target) {
            (Self::File(open), ExportTarget::File { out, directory }) => open(out, directory, run),
            (Self::Directory(open) | Self::Tasks(open), ExportTarget::Directory(directory)) => open(directory, run),
            _ => Err(io::Error::other("the target of the trace is a file for a format of a directory, or the reverse")),
        }
    }
}

/// Groups that the kernel's tracepoints cover, without PELT averages, which would be most of a trace.
const EVENT_GROUPS: EventGroups =
    EventGroups::from_slice(&[Group::Sched, Group::Stat, Group::Idle, Group::Frequency, Group::Ipi, Group::Markers]);

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

/// Perfetto's own format. A program that uses this constant contains the writer of this format alone.
pub const PERFETTO: ExportFormat = perfetto::FORMAT;

/// All formats, in the order in which the help lists them.
pub const FORMATS: &[ExportFormat] = &[
    PERFETTO,
    chrome::FORMAT,
    trace_dat::FORMAT_6,
    trace_dat::FORMAT_7,
    ftrace_text::FORMAT,
    perf_data::FORMAT,
    tables::csv::FORMAT,
    #[cfg(feature = "parquet")]
    tables::parquet::FORMAT,
    schedstat::FORMAT,
    schedstat::FORMAT_16,
    sched_debug::FORMAT,
    proc_sched::FORMAT,
    bpftrace::FORMAT,
];

impl ExportFormat {
    /// Whether the format writes a directory of files.
    pub const fn is_directory(&self) -> bool {
        !matches!(self.opener, FormatOpener::Events(SinkOpener::File(_)) | FormatOpener::State(SinkOpener::File(_)))
    }

    /// Whether the format can be restricted to one task or one family: see [`Exporter::emit_only_for`].
    pub const fn takes_task(&self) -> bool {
        matches!(self.opener, FormatOpener::Events(SinkOpener::Tasks(_)) | FormatOpener::State(SinkOpener::Tasks(_)))
    }

    /// Whether the format prints state of the built-in scheduler, which other engines do not have.
    pub const fn is_of_state(&self) -> bool {
        matches!(self.opener, FormatOpener::State(_))
    }

    /// Returns the format with the given command-line name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Opens a trace and adds it to the exporter. Must be called before the run begins. `groups` replaces the
    /// default groups of the format; groups that the format needs are always added.
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
        let sink = match &self.opener {
            FormatOpener::Events(opener) => OpenedSink::Events(opener.open(target, &run)?),
            FormatOpener::State(opener) => OpenedSink::State(opener.open(target, &run)?),
        };
        exporter.add_opened(groups.unwrap_or(self.groups), sink);
        Ok(())
    }
}

impl std::fmt::Debug for ExportFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExportFormat").field("name", &self.name).field("groups", &self.groups).finish_non_exhaustive()
    }
}
