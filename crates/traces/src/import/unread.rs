// SPDX-License-Identifier: GPL-2.0-or-later
//! Inputs that are no traces which the import reads: each is named, with the command that helps.

use super::compression::FileCompression;
use super::error::ReadError;
use super::text;
use fairlab_workload::message::Message;
use std::path::{Path, PathBuf};

/// Formats that are read, for inputs that are none of them.
const READ: &str = "read are trace.dat, perf.data, ftrace text (trace-cmd report, perf script, atrace), text of babeltrace2, systrace \
                    pages and Perfetto traces";

/// First bytes of a format that is not read, its name and the remedy.
struct UnreadFormat {
    magic: &'static [u8],
    name: &'static str,
    help: &'static str,
}

const CTF_HELP: &str =
    "read the text of its directory: babeltrace2 --clock-seconds DIR >trace.txt; fairlab import trace.txt";
const PERF_TOO_OLD: &str =
    "record again on a little-endian machine with a current perf, or import the output of `perf script`";
const DATABASE_HELP: &str = "give the trace that it was made of";

const UNREAD_FORMATS: &[UnreadFormat] = &[
    UnreadFormat { magic: b"PERFFILE", name: "a perf.data in the format of perf before 2.6.33", help: PERF_TOO_OLD },
    UnreadFormat { magic: b"2ELIFREP", name: "a big-endian perf.data", help: PERF_TOO_OLD },
    UnreadFormat { magic: b"\xfd7zXZ", name: "compressed with xz", help: "decompress it first: xz -dk FILE" },
    UnreadFormat { magic: b"BZh", name: "compressed with bzip2", help: "decompress it first: bzip2 -dk FILE" },
    UnreadFormat {
        magic: b"\x04\x22\x4d\x18",
        name: "compressed with lz4",
        help: "decompress it first: lz4 -d FILE TRACE",
    },
    UnreadFormat {
        magic: b"PK\x03\x04",
        name: "a zip archive",
        help: "unpack it, and give the trace inside: unzip FILE",
    },
    UnreadFormat {
        magic: b"7z\xbc\xaf\x27\x1c",
        name: "a 7z archive",
        help: "unpack it, and give the trace inside: 7z x FILE",
    },
    UnreadFormat { magic: b"\xc1\x1f\xfc\xc1", name: "a stream of a CTF trace (LTTng)", help: CTF_HELP },
    UnreadFormat { magic: b"\xc1\xfc\x1f\xc1", name: "a stream of a CTF trace (LTTng)", help: CTF_HELP },
    UnreadFormat { magic: b"\x57\x1d\xd1\x75", name: "the metadata of a CTF trace (LTTng)", help: CTF_HELP },
    UnreadFormat { magic: b"\x75\xd1\x1d\x57", name: "the metadata of a CTF trace (LTTng)", help: CTF_HELP },
    UnreadFormat { magic: b"/* CTF 1", name: "the metadata of a CTF trace (LTTng)", help: CTF_HELP },
    UnreadFormat { magic: b"SQLite format 3\0", name: "an SQLite database", help: DATABASE_HELP },
    UnreadFormat { magic: b"PAR1", name: "a Parquet table", help: DATABASE_HELP },
];
/// Position and text of the mark of tar archives.
const TAR_MARK: (usize, &[u8]) = (257, b"ustar");

/// Returns the error for a file whose first bytes belong to a format that is not read.
pub(super) fn by_magic(file: &[u8]) -> Option<ReadError> {
    if FileCompression::of(file).is_some() {
        return Some(is_a("compressed twice", "decompress it once: gzip -d, zstd -d"));
    }
    if file.is_empty() {
        let help = "record again; an export or a download may have been interrupted";
        return Some(ReadError::whole("the file is empty", help));
    }
    if file.get(TAR_MARK.0..).is_some_and(|rest| rest.starts_with(TAR_MARK.1)) {
        return Some(is_a("a tar archive", "unpack it, and give the trace inside: tar -xf FILE"));
    }
    UNREAD_FORMATS.iter().find(|format| file.starts_with(format.magic)).map(|format| is_a(format.name, format.help))
}

fn is_a(name: &str, help: &str) -> ReadError {
    ReadError::whole(format!("the file is {name}, which is not read"), help)
}

/// Returns the error for a file that no reader recognises. `text` is its start.
pub(super) fn by_text(file: &[u8], text: &str) -> ReadError {
    if !is_text(text) {
        let bytes: Vec<String> = file.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        return ReadError::whole(
            format!("the file has no known trace format (first bytes: {})", bytes.join(" ")),
            READ,
        );
    }
    if is_json(text) {
        return json_error(text);
    }
    if let Some(fault) = event_without_parts(text) {
        return fault;
    }
    let Some((line, first)) = text.lines().enumerate().find(|(_, line)| !line.trim().is_empty()) else {
        return ReadError::whole("the file has only blank lines", READ);
    };
    let first: String = first.trim().chars().take(40).collect();
    at_line(line, format!("the text has no events of a trace; it begins with `{first}`"), READ)
}

/// Whether the start of a file is text.
pub(super) fn is_text(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && !c.is_whitespace())
}

fn at_line(index: usize, message: impl Into<String>, help: &str) -> ReadError {
    ReadError { place: format!("line {}", index + 1), ..ReadError::whole(message, help) }
}

/// Whether a text is JSON: an object, or an array of objects. A line of a trace may begin with a CPU in brackets.
fn is_json(text: &str) -> bool {
    let text = text.trim_start();
    let inside = text.strip_prefix('[').map_or(text, str::trim_start);
    inside.starts_with('{')
}

fn json_error(text: &str) -> ReadError {
    if text.contains("\"traceEvents\"") || text.contains("\"ph\"") {
        let help = "record the scheduler's events with Perfetto, atrace, trace-cmd or perf; of a run, export trace-dat: \
                    `fairlab export RUN --format trace-dat`";
        return is_a("a Chrome trace (JSON) of slices, without the scheduler's events", help);
    }
    let help = "a workload (rt-app) is run, not imported: `fairlab run FILE`";
    is_a("JSON", &format!("{help}; {READ}"))
}

/// Names of tracepoints that each usable trace has one of.
const SCHEDULER_EVENTS: [&str; 4] = ["sched_switch:", "sched_waking:", "sched_wakeup:", "sched_stat_runtime:"];

/// Returns the error for a text with events of the scheduler that lack their CPU, time or thread.
fn event_without_parts(text: &str) -> Option<ReadError> {
    let mut lines = text.lines().enumerate();
    let (index, line) = lines.find(|(_, line)| SCHEDULER_EVENTS.iter().any(|name| line.contains(name)))?;
    let head = SCHEDULER_EVENTS.iter().find_map(|name| line.split_once(name)).map_or(line, |(head, _)| head);
    // perf prints the event's group before its name.
    let head = head.rsplit_once(char::is_whitespace).map_or("", |(head, _)| head);
    let has_cpu = head.split_once('[').is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()));
    let has_time = head.split_whitespace().any(|word| word.strip_suffix(':').and_then(text::time_of).is_some());
    let lacks = match (has_cpu, has_time) {
        (false, false) => "CPU and time",
        (false, true) => "CPU",
        (true, false) => "time in seconds",
        (true, true) => "thread",
    };
    let help = "print all of it: perf script -F comm,pid,tid,cpu,time,event,trace (of a recording of all CPUs: -a); trace-cmd report \
                without options; for the kernel's trace file: echo nop >current_tracer, echo 0 >options/latency-format";
    Some(at_line(index, format!("an event of the scheduler without its {lacks}"), help))
}

/// Largest depth, and largest number of entries of a directory, in which traces are searched. LTTng puts a trace of
/// the kernel into `SESSION/kernel`, and one of programs into `SESSION/ust/uid/UID/64-bit`.
const MAX_DEPTH: usize = 5;
const MAX_ENTRIES: usize = 1000;

/// Returns the error for a directory that is given as a trace.
pub fn directory_error(directory: &Path) -> Message {
    let error = match ctf_traces(directory).as_slice() {
        [] => other_directory(directory),
        [first, rest @ ..] => {
            let is_kernel = |trace: &&PathBuf| trace.ends_with("kernel");
            let trace = rest.iter().chain([first]).find(is_kernel).unwrap_or(first).display().to_string();
            let help =
                format!("read its text: babeltrace2 --clock-seconds {trace} >trace.txt; fairlab import trace.txt");
            let message = match *first == *directory {
                true => "is a CTF trace (LTTng), which is not read directly".to_owned(),
                false => format!("has a CTF trace (LTTng) in {trace}, which is not read directly"),
            };
            ReadError::whole(message, help)
        }
    };
    error.in_file(&directory.display().to_string())
}

/// Returns the directories of CTF traces in a directory: those with a file `metadata`.
fn ctf_traces(directory: &Path) -> Vec<PathBuf> {
    let mut traces = Vec::new();
    let mut open = vec![(directory.to_owned(), 0)];
    while let Some((path, depth)) = open.pop() {
        if path.join("metadata").is_file() {
            traces.push(path);
        } else if depth < MAX_DEPTH {
            open.extend(entries(&path).into_iter().filter(|entry| entry.is_dir()).map(|entry| (entry, depth + 1)));
        }
        if open.len() > MAX_ENTRIES {
            break;
        }
    }
    traces.sort();
    traces
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().take(MAX_ENTRIES);
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn other_directory(directory: &Path) -> ReadError {
    let has = |file: &str| directory.join(file).is_file();
    if has("data") && has("data.0") {
        let help =
            "record without `--threads`, which makes directories; or read the text: perf script -i DIR >trace.txt";
        ReadError::whole("is a directory of `perf record --threads`, which is not read", help)
    } else {
        let is_trace =
            |path: &PathBuf| path.extension().is_some_and(|kind| ["dat", "data"].iter().any(|name| kind == *name));
        let help = match entries(directory).into_iter().find(|path| path.is_file() && is_trace(path)) {
            Some(path) => format!("give the trace inside: {}", path.display()),
            None => format!("give the path of a trace, which is a file; {READ}"),
        };
        ReadError::whole("is a directory without a trace, and not one of a run", help)
    }
}
