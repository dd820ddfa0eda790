// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab import`: converts a recorded trace into a workload.

use crate::error::CliError;
use crate::hints;
use crate::output::figures::{counted, time};
use crate::output::{Output, wrap};
use crate::whole_file::AtomicFile;
use clap::{Args as ClapArgs, ValueHint};
use fairlab_machine::files;
use fairlab_machine::hardware::Hardware;
use fairlab_observe::import::behaviour::{self, Gaps, ImportedWorkload};
use fairlab_observe::import::event::{ImportProblem, Recording, TraceEventName};
use fairlab_observe::import::{self};
use fairlab_run::input::InputFile;
use fairlab_run::manifest::MANIFEST;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

const EXAMPLES: &str = "\
TRACE is a trace.dat of trace-cmd, a perf.data, ftrace text (the kernel's trace file, trace-cmd report, perf script), \
a page of systrace, or a trace of Perfetto. Record at least sched_switch; each of these events makes the workload more \
exact:

  trace-cmd record -e sched_switch -e sched_waking -e sched_wakeup \\
      -e sched_wakeup_new -e sched_migrate_task -e sched_process_fork \\
      -e sched_process_exec -e sched_process_exit -e task_rename \\
      -e cgroup_attach_task -e cpu_idle -e cpu_frequency -- COMMAND

Examples:
  fairlab import trace.dat                      contents, and missing events
  fairlab import trace.dat --machine board.toml -o board.rec
  fairlab run board.rec --machine xeon-2s-224   run it on another machine
  fairlab replay trace.dat --as-recorded --machine board.toml";

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct ImportArgs {
    /// Trace to read; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) trace: String,
    /// Machine on which the trace was recorded, for capacities, frequencies and idle states: a name or a TOML
    /// file [default: described by the trace]
    #[arg(long, value_name = "NAME|PATH", value_parser = hints::text(hints::machines))]
    pub(crate) machine: Option<String>,
    /// Write the workload, for `fairlab run` and all other commands; `-` is standard output
    #[arg(short, long, value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<String>,
}

/// Result of an import.
#[derive(Serialize)]
struct ImportOutput<'a> {
    trace: &'a str,
    format: &'static str,
    length_ns: u64,
    cpus: u32,
    tasks: usize,
    operations: usize,
    events: BTreeMap<TraceEventName, u64>,
    other_events: u64,
    problems: &'a BTreeMap<String, ImportProblem>,
    gaps: &'a Gaps,
    notes: &'a [String],
}

/// Reads a trace from a file, or from standard input for `-`.
pub(crate) fn read(trace: &str) -> Result<Recording, CliError> {
    let bytes = if trace == "-" {
        files::read_all(std::io::stdin().lock(), MAX_BYTES)
    } else {
        files::read_file(Path::new(trace), MAX_BYTES)
    };
    let bytes = bytes.map_err(|error| {
        let path = Path::new(trace);
        if path.join(MANIFEST).is_file() {
            let help = format!("this is a run directory: `fairlab export {trace} --format trace-dat` writes its trace");
            return CliError::Input(format!("{trace}: is a directory, not a trace\nhelp: {help}"));
        }
        let help = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file; give the path of a trace",
            std::io::ErrorKind::IsADirectory => "give the path of a trace, which is a file",
            std::io::ErrorKind::PermissionDenied => "this user may not read it",
            _ => "give a trace; shorten a long one with trace-cmd split or perf report --time, or record for less time",
        };
        CliError::Input(format!("{trace}: cannot be read: {error}\nhelp: {help}"))
    })?;
    import::read(trace, &bytes).map_err(CliError::input)
}

/// Largest trace, in bytes: a trace is kept in memory as a whole.
const MAX_BYTES: u64 = 4 << 30;

/// Converts a trace into a workload; `machine` is the machine on which it was recorded.
pub(crate) fn convert(recording: &Recording, machine: Option<&str>) -> Result<ImportedWorkload, CliError> {
    let machine = machine.map(|machine| InputFile::new(machine).read_machine()).transpose()?;
    let hardware = machine.map(|machine| Hardware::from_description(&machine.description));
    if let Some(hardware) = &hardware
        && hardware.nr_cpus() < recording.nr_cpus as usize
    {
        let help = "give the machine on which the trace was recorded: see `fairlab machine capture`";
        let message = format!(
            "the trace has events of {} CPUs, but the machine {} has {}\nhelp: {help}",
            recording.nr_cpus,
            hardware.name,
            hardware.nr_cpus()
        );
        return Err(CliError::Input(message));
    }
    Ok(behaviour::import(recording, hardware.as_ref()))
}

pub(crate) fn import(output: &mut Output, args: &ImportArgs) -> Result<(), CliError> {
    let recording = read(&args.trace)?;
    let ImportedWorkload { recorded, gaps, .. } = convert(&recording, args.machine.as_deref())?;
    let to_stdout = args.output.as_deref() == Some("-");
    match args.output.as_deref() {
        Some("-") => output.text(&recorded.to_text())?,
        Some(path) => AtomicFile::write(Path::new(path), recorded.to_text().as_bytes())?,
        None => {}
    }
    let import = ImportOutput {
        trace: &args.trace,
        format: recording.format,
        length_ns: recorded.end.0,
        cpus: recording.nr_cpus,
        tasks: recorded.tasks.len(),
        operations: recorded.tasks.iter().map(|task| task.ops.len()).sum(),
        events: recording.counts(),
        other_events: recording.others,
        problems: &recording.problems,
        gaps: &gaps,
        notes: &recorded.notes,
    };
    if to_stdout {
        return recorded.notes.iter().try_for_each(|note| output.eprint(&wrap(note, 2)));
    }
    if output.is_json() {
        return output.json(&import);
    }
    let text = result_text(&import);
    output.text(&text)
}

fn result_text(import: &ImportOutput<'_>) -> String {
    let mut text = format!(
        "{}: {}, {}, {} recorded\n",
        import.trace,
        import.format,
        counted(import.cpus, "CPU"),
        time(import.length_ns)
    );
    let events = import.events.iter().map(|(kind, nr)| format!("{nr} {}", tracepoint_name(*kind)));
    let mut events: Vec<String> = events.collect();
    if import.other_events > 0 {
        events.push(format!("{} others, which are ignored", import.other_events));
    }
    text.push_str(&wrap(&format!("events: {}", events.join(", ")), 2));
    let Gaps { edges, sleeps, timer_sleeps, .. } = import.gaps;
    text.push_str(&wrap(
        &format!(
            "workload: {} tasks, {} operations; {edges} wake-ups by other tasks, {sleeps} by timers and devices, {timer_sleeps} of these on the \
             grid of a periodic timer",
            import.tasks, import.operations
        ),
        2,
    ));
    text.push_str("missing in the trace, and the assumptions made instead:\n");
    import.notes.iter().for_each(|note| text.push_str(&wrap(&format!("- {note}"), 2)));
    text
}

/// Returns the kernel's name of a tracepoint.
fn tracepoint_name(kind: TraceEventName) -> String {
    serde_json::to_value(kind).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}
