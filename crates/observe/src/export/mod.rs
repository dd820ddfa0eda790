// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces of a run in the formats of other tools.
//!
//! An [`Exporter`] listens to a run and turns what happens into records ([`record`]), which all formats share. A format is a [`Sink`]: it
//! writes each record as it comes, so that memory does not grow with the length of a run. What a file needs at its beginning
//! and is known only at the end waits in a file of its own. Formats of tracepoints (`trace.dat`, `perf.data`, text) have a
//! common list of them ([`tracepoint`]).
//!
//! Formats are entries of [`FORMATS`].

mod bpftrace;
mod chrome;
pub mod columns;
mod details;
mod exporter;
mod ftrace_text;
mod passes;
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
pub use sink::Sink;

use bpftrace::Bpftrace;
use chrome::Chrome;
use fairlab_machine::engine::START;
use fairlab_machine::hardware::Hardware;
use ftrace_text::FtraceText;
use perf_data::PerfData;
use perfetto::Perfetto;
use proc_sched::ProcSched;
use record::{Group, Groups};
use sched_debug::SchedDebug;
use schedstat::Snapshots;
use std::io::{self, Write};
use std::path::Path;
use tables::{Csv, TableSink};
use thread::Threads;
use trace_dat::{TraceDat, Version};

/// Where a trace goes.
pub enum Target<'a> {
    /// A file.
    File {
        /// The file.
        out: Box<dyn Write>,
        /// A directory with room for what waits for the end of the run.
        directory: &'a Path,
    },
    /// A directory, which exists, for formats with several files.
    Directory(&'a Path),
}

/// What a format is told of the run.
struct Run<'a> {
    hardware: &'a Hardware,
    threads: &'a Threads,
    /// The only task of which something is told, where a format can do that.
    only: Option<&'a str>,
}

impl Run<'_> {
    fn nr_cpus(&self) -> usize {
        self.hardware.nr_cpus()
    }

    fn name(&self) -> String {
        self.hardware.name.clone()
    }
}

/// A format of traces.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// How names of its files usually end.
    pub extension: &'static str,
    /// What it is, and who reads it.
    pub meaning: &'static str,
    /// What it has unless something else is asked for.
    pub groups: Groups,
    /// It tells of the built-in scheduler's state, so that there is none of a run with another engine.
    pub is_of_state: bool,
    open: Opens,
}

/// A trace that has begun.
type Opened = io::Result<Box<dyn Sink>>;

/// How a format begins.
#[derive(Clone, Copy)]
enum Opens {
    /// With a file and a directory for what waits.
    File(fn(Box<dyn Write>, &Path, &Run<'_>) -> Opened),
    /// With a directory for its files.
    Directory(fn(&Path, &Run<'_>) -> Opened),
    /// The same with files of tasks, of which one or a family may be asked for.
    Tasks(fn(&Path, &Run<'_>) -> Opened),
}

/// What tracepoints tell, without averages: those are most of a trace.
const EVENTS: Groups =
    Groups::of(&[Group::Sched, Group::Stat, Group::Idle, Group::Frequency, Group::Ipi, Group::Markers]);

/// What pictures show.
const PICTURES: Groups = Groups::of(&[
    Group::Sched,
    Group::Idle,
    Group::Frequency,
    Group::Ipi,
    Group::Counters,
    Group::Decisions,
    Group::Paths,
    Group::Markers,
]);

/// All formats.
pub const FORMATS: &[Format] = &[
    Format {
        name: "perfetto",
        extension: "pftrace",
        meaning: "Perfetto's protocol buffers: ui.perfetto.dev, trace_processor",
        groups: PICTURES,
        is_of_state: false,
        open: Opens::File(|out, _, run| Ok(Box::new(Perfetto::new(out, run.nr_cpus(), &run.name(), run.threads)))),
    },
    Format {
        name: "chrome",
        extension: "json",
        meaning: "Chrome's trace events in JSON: chrome://tracing, ui.perfetto.dev",
        groups: PICTURES,
        is_of_state: false,
        open: Opens::File(|out, _, run| Ok(Box::new(Chrome::new(out, run.nr_cpus(), START)))),
    },
    Format {
        name: "trace-dat",
        extension: "dat",
        meaning: "trace.dat of version 6: trace-cmd, KernelShark, LISA",
        groups: EVENTS,
        is_of_state: false,
        open: Opens::File(|out, directory, run| open_trace_dat(out, directory, run, Version::V6)),
    },
    Format {
        name: "trace-dat-7",
        extension: "dat",
        meaning: "trace.dat of version 7, not compressed: trace-cmd since 3.0",
        groups: EVENTS,
        is_of_state: false,
        open: Opens::File(|out, directory, run| open_trace_dat(out, directory, run, Version::V7)),
    },
    Format {
        name: "ftrace",
        extension: "txt",
        meaning: "the kernel's own text: systrace, Perfetto, LISA, grep",
        groups: EVENTS,
        is_of_state: false,
        open: Opens::File(|out, _, run| Ok(Box::new(FtraceText::new(out, run.nr_cpus())))),
    },
    Format {
        name: "perf",
        extension: "data",
        meaning: "perf.data: perf script, perf sched timehist, latency and map",
        groups: EVENTS,
        is_of_state: false,
        open: Opens::File(|out, directory, run| {
            Ok(Box::new(PerfData::new(out, run.nr_cpus(), run.name(), run.threads, directory)?))
        }),
    },
    Format {
        name: "csv",
        extension: "csv.d",
        meaning: "a directory of tables as comma-separated values, one file each: spreadsheets, pandas, sqlite",
        groups: Groups::of(Group::ALL),
        is_of_state: false,
        open: Opens::Directory(|directory, _| Ok(Box::new(TableSink(Csv::new(directory))))),
    },
    #[cfg(feature = "parquet")]
    Format {
        name: "parquet",
        extension: "parquet.d",
        meaning: "a directory of the same tables as Parquet: pandas, polars, DuckDB",
        groups: Groups::of(Group::ALL),
        is_of_state: false,
        open: Opens::Directory(|directory, _| Ok(Box::new(TableSink(tables::Parquet::new(directory))))),
    },
    Format {
        name: "schedstat",
        extension: "schedstat.d",
        meaning: "a directory with /proc/schedstat (version 15) before and after the run: sched-scoreboard, scripts",
        groups: Groups::of(&[]),
        is_of_state: true,
        open: Opens::Directory(|directory, _| Ok(Box::new(Snapshots::new(directory, schedstat::Version::V15)))),
    },
    Format {
        name: "schedstat-16",
        extension: "schedstat.d",
        meaning: "the same in version 16, as since 6.8",
        groups: Groups::of(&[]),
        is_of_state: true,
        open: Opens::Directory(|directory, _| Ok(Box::new(Snapshots::new(directory, schedstat::Version::V16)))),
    },
    Format {
        name: "sched-debug",
        extension: "sched_debug",
        meaning: "the text of /sys/kernel/debug/sched/debug (6.1) at the end of the run: scripts, people",
        groups: task_counts::GROUPS,
        is_of_state: true,
        open: Opens::File(|out, _, _| Ok(Box::new(SchedDebug::new(out)))),
    },
    Format {
        name: "proc-sched",
        extension: "proc.d",
        meaning: "a directory with PID/sched for each task: the text of /proc/PID/sched (6.1) at the end of the run",
        groups: task_counts::GROUPS,
        is_of_state: true,
        open: Opens::Tasks(|directory, run| Ok(Box::new(ProcSched::new(directory, run.only)))),
    },
    Format {
        name: "bpftrace",
        extension: "hist.txt",
        meaning: "histograms as bpftrace prints them: waiting and running of tasks, ends of idling, in us",
        groups: bpftrace::GROUPS,
        is_of_state: false,
        open: Opens::File(|out, _, run| Ok(Box::new(Bpftrace::new(out, run.nr_cpus())))),
    },
];

fn open_trace_dat(out: Box<dyn Write>, directory: &Path, run: &Run<'_>, version: Version) -> Opened {
    Ok(Box::new(TraceDat::new(out, version, run.nr_cpus(), run.name(), directory)?))
}

impl Format {
    /// Whether it writes a directory of files.
    pub const fn is_directory(&self) -> bool {
        matches!(self.open, Opens::Directory(_) | Opens::Tasks(_))
    }

    /// Whether it can tell of one task, or of a family, only: see [`Exporter::tell_only_of`].
    pub const fn takes_task(&self) -> bool {
        matches!(self.open, Opens::Tasks(_))
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Begins a trace of a run that has not begun, and adds it to what the exporter writes.
    ///
    /// # Errors
    /// If there is no room for what has to wait for the end.
    pub fn open(
        &self,
        target: Target<'_>,
        groups: Option<Groups>,
        hardware: &Hardware,
        exporter: &mut Exporter,
    ) -> io::Result<()> {
        let run = Run { hardware, threads: exporter.threads(), only: exporter.only() };
        let sink = match (self.open, target) {
            (Opens::File(open), Target::File { out, directory }) => open(out, directory, &run)?,
            (Opens::Directory(open) | Opens::Tasks(open), Target::Directory(directory)) => open(directory, &run)?,
            _ => return Err(io::Error::other("the format wants a directory, and got a file, or the other way round")),
        };
        exporter.add(groups.unwrap_or(self.groups).or(sink.needs()), sink);
        Ok(())
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Format").field("name", &self.name).field("groups", &self.groups).finish_non_exhaustive()
    }
}
