// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces of real machines, and our own, read again.
//!
//! Each format has a reader, which makes one stream of events ([`event`]) of it: `trace.dat`, `perf.data`, text, systrace's page,
//! Perfetto. Readers go through a file once, keep nothing of it but events, and never trust a length. [`order`] puts the events in the
//! order in which they can have happened; [`behaviour`] makes a workload of them, [`measure`] counts what threads and CPUs did,
//! the same for a trace and for the run that replays it, and [`credibility`] sets the two side by side.

pub mod behaviour;
mod bytes;
mod compression;
mod error;
pub mod event;
pub mod event_sink;
pub mod fidelity;
mod fields;
mod format;
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

use error::{ReadError, ReadResult};
use event::Recording;

/// Reads a trace, whatever its format: that shows in its first bytes. `file` is its name in messages.
///
/// # Errors
/// If it is no trace of a known format, or damaged so that nothing can be read; with the place and the way out.
pub fn read(file: &str, bytes: &[u8]) -> Result<Recording, ImportError> {
    let mut recording = read_format(bytes).map_err(|fault| fault.in_file(file))?;
    order::sort_events(&mut recording);
    if recording.events.is_empty() {
        let help =
            "record sched:sched_switch, sched:sched_waking, sched:sched_wakeup and others; see `fairlab import --help`";
        return Err(ReadError::whole("the trace has no events of the scheduler", help).in_file(file));
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
        let help =
            "record again on a little-endian machine with a perf of this decade, or give what `perf script` writes";
        return Err(ReadError::whole("a perf.data of an old or big-endian kind, which is not read", help));
    }
    if bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(b"\xfd7zXZ") || bytes.starts_with(b"PK\x03\x04") {
        return Err(ReadError::whole("the file is compressed", "unpack it first: gunzip, xz -d, unzip"));
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
    let help = "give a trace.dat, a perf.data, ftrace text (trace-cmd report, perf script), a page of systrace, or a trace of Perfetto";
    Err(ReadError::whole("this is no trace of a known format", help))
}

/// As much of a file shows what it is.
const MAX_DETECT_BYTES: usize = 1 << 18;
