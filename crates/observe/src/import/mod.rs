// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads traces of real machines, and traces that fairlab exported.
//!
//! Each format has a reader that turns a file into one stream of events ([`event`]): `trace.dat`,
//! `perf.data`, ftrace text, systrace pages, and Perfetto. Readers make one pass over the file, keep only
//! events, and check every length against the end of the file. `leaps` finds time stamps that leap, and `order`
//! sorts the events into an order in which they can have happened.
//!
//! [`behaviour`] makes a workload of the events. [`measure`] counts run times, waits and switches of threads
//! and CPUs, for a trace and for the run that replays it, and [`fidelity`] compares the two.

pub mod behaviour;
mod bytes;
mod compression;
mod error;
pub mod event;
pub mod event_sink;
pub mod fidelity;
mod fields;
mod file_order;
mod format;
mod leaps;
pub mod measure;
mod order;
mod perf_data;
mod perfetto;
mod ring;
mod systrace;
mod text;
pub mod threads;
mod trace_dat;

#[cfg(test)]
mod tests;

pub use error::ImportError;
pub use leaps::LeapHandling;

use error::ReadResult;
use event::Recording;

/// Reads a trace. The first bytes decide the format; `file` is the name used in messages. `leaps` is the
/// treatment of events whose time stamps leap.
///
/// # Errors
/// If the format is unknown, the file is too damaged to be read, or it has no scheduler events. If
/// time stamps leap and `leaps` is [`LeapHandling::Reject`]. The error has the position in the file and a
/// remedy.
pub fn read(file: &str, bytes: &[u8], leaps: LeapHandling) -> Result<Recording, ImportError> {
    let mut recording = read_format(bytes).map_err(|fault| fault.in_file(file))?;
    leaps::handle(&mut recording, leaps).map_err(|fault| fault.in_file(file))?;
    order::sort_events(&mut recording);
    if recording.events.is_empty() {
        let help =
            "record sched:sched_switch, sched:sched_waking, sched:sched_wakeup and others; see `fairlab import --help`";
        return Err(ImportError::whole("the trace has no scheduler events", help).in_file(file));
    }
    Ok(recording)
}

fn read_format(bytes: &[u8]) -> ReadResult<Recording> {
    if bytes.starts_with(trace_dat::MAGIC) {
        return trace_dat::read(bytes);
    }
    if bytes.starts_with(perf_data::MAGIC) {
        return perf_data::read(bytes);
    }
    if bytes.starts_with(b"PERFFILE") || bytes.starts_with(b"2ELIFREP") {
        let help = "record again on a little-endian machine with a current perf, or import the output of `perf script`";
        return Err(ImportError::whole("old and big-endian perf.data files are not supported", help));
    }
    if bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(b"\xfd7zXZ") || bytes.starts_with(b"PK\x03\x04") {
        return Err(ImportError::whole("the file is compressed", "decompress it first: gunzip, xz -d, unzip"));
    }
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_DETECT_BYTES)]);
    let start = text.trim_start().get(..15).unwrap_or_default().to_ascii_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        return systrace::read(&String::from_utf8_lossy(bytes));
    }
    if text::is_text_trace(&text) {
        return text::read(&String::from_utf8_lossy(bytes), 1, "text");
    }
    if perfetto::is_perfetto(bytes) {
        return perfetto::read(bytes);
    }
    let help = "supported are trace.dat, perf.data, ftrace text (trace-cmd report, perf script), systrace pages and Perfetto traces";
    Err(ImportError::whole("the file has no known trace format", help))
}

/// Number of bytes at the start of a file that are checked for the text format.
const MAX_DETECT_BYTES: usize = 1 << 18;
