// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab import`: converts a recorded trace into a workload.

use crate::args::import::ImportArgs;
use crate::execution::recording::{convert, read};
use crate::output::figures::{counted, time};
use crate::output::{Output, wrap};
use crate::values::error::CliError;
use crate::values::whole_file::AtomicFile;
use fairlab_traces::import::behaviour::{Gaps, ImportedWorkload};
use fairlab_traces::import::event::{ImportProblem, TraceEventName};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

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

pub(crate) fn import(output: &mut Output, args: &ImportArgs) -> Result<(), CliError> {
    let recording = read(&args.trace, args.leaps)?;
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
    output.json_or_text(&import, |_| result_text(&import))
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
