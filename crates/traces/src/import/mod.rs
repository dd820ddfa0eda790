// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads traces of real machines, and traces that fairlab exported.
//!
//! Each format has a reader that turns a file into one stream of events ([`event`]): `trace.dat`,
//! `perf.data`, ftrace text, text of babeltrace2, systrace pages, and Perfetto. Compressed files are decompressed
//! first; `unread` names formats that are not read. Readers make one pass over the file, keep only
//! events, and check every length against the end of the file. `leaps` finds time stamps that leap, and `order`
//! sorts the events into an order in which they can have happened.
//!
//! [`behaviour`] makes a workload of the events. [`measure`] counts run times, waits and switches of threads
//! and CPUs, for a trace and for the run that replays it, and [`fidelity`] compares the two.

mod babeltrace;
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
mod unread;

#[cfg(test)]
mod tests;

pub use leaps::LeapHandling;
pub use unread::directory_error;

use compression::FileCompression;
use error::{ReadError, ReadResult};
use event::Recording;
use fairlab_workload::message::Message;
use std::borrow::Cow;

/// Largest trace, in bytes, also after decompression: a trace is kept in memory as a whole.
pub const MAX_TRACE_BYTES: u64 = 4 << 30;

/// Reads a trace. The first bytes decide the format; `file` is the name used in messages. `leaps` is the
/// treatment of events whose time stamps leap.
///
/// # Errors
/// If the format is unknown, the file is too damaged to be read, or it has no scheduler events. If
/// time stamps leap and `leaps` is [`LeapHandling::Reject`]. The error has the position in the file and a
/// remedy.
pub fn read(file: &str, bytes: &[u8], leaps: LeapHandling) -> Result<Recording, Message> {
    read_recording(bytes, leaps).map_err(|error| error.in_file(file))
}

/// Whether a file can only be a trace, or is one of a format that is named as not read: it is binary, a page of HTML, or has an
/// early line that is an event.
pub fn is_trace(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_DETECT_BYTES)]);
    !unread::is_text(&text) || is_html(&text) || babeltrace::is_babeltrace(&text) || text::is_text_trace(&text)
}

/// Whether a text begins as a page of HTML does.
fn is_html(text: &str) -> bool {
    let start = text.trim_start().get(..15).unwrap_or_default().to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

fn read_recording(bytes: &[u8], leaps: LeapHandling) -> ReadResult<Recording> {
    let mut recording = read_format(bytes)?;
    leaps::handle(&mut recording, leaps)?;
    order::sort_events(&mut recording);
    if recording.events.is_empty() {
        return Err(no_events(&recording, RECORD_EVENTS));
    }
    Ok(recording)
}

/// Remedy for traces without scheduler events.
const RECORD_EVENTS: &str =
    "record sched:sched_switch, sched:sched_waking, sched:sched_wakeup and others; see `fairlab import --help`";

/// Returns the error for a trace without usable events, with what it has instead.
fn no_events(recording: &Recording, help: &str) -> ReadError {
    let mut message = "the trace has no scheduler events that can be read".to_owned();
    if recording.others > 0 {
        message.push_str(&format!("; events of other kinds: {}", recording.others));
    }
    for (what, problem) in &recording.problems {
        message.push_str(&format!("; {what}: {} (first: {})", problem.count, problem.first));
    }
    ReadError::whole(message, help)
}

/// Reads a file. In a compressed file, positions of errors and problems are those of the decompressed content.
fn read_format(bytes: &[u8]) -> ReadResult<Recording> {
    let Some(compression) = FileCompression::of(bytes) else { return read_content(bytes) };
    let content = compression.decompress(bytes)?;
    let within = |place: &str| format!("{place} of the decompressed content");
    let mut recording = read_content(&content).map_err(|fault| {
        let place = if fault.place.is_empty() { "decompressed content".to_owned() } else { within(&fault.place) };
        ReadError { place, ..fault }
    })?;
    recording.problems.values_mut().for_each(|problem| problem.first = within(&problem.first));
    recording.order.is_decompressed = true;
    Ok(recording)
}

fn read_content(bytes: &[u8]) -> ReadResult<Recording> {
    if bytes.starts_with(trace_dat::MAGIC) {
        return trace_dat::read(bytes);
    }
    if bytes.starts_with(perf_data::MAGIC) {
        return perf_data::read(bytes);
    }
    if let Some(fault) = unread::by_magic(bytes) {
        return Err(fault);
    }
    let bytes = from_utf16(bytes);
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_DETECT_BYTES)]);
    if is_html(&text) {
        return systrace::read(&String::from_utf8_lossy(&bytes));
    }
    if babeltrace::is_babeltrace(&text) {
        return babeltrace::read(&String::from_utf8_lossy(&bytes));
    }
    if text::is_text_trace(&text) {
        return text::read(&String::from_utf8_lossy(&bytes), 1, "text");
    }
    if perfetto::is_perfetto(&bytes) && !unread::is_text(&text) {
        return perfetto::read(&bytes);
    }
    Err(unread::by_text(&bytes, &text))
}

/// Returns text as UTF-8 that a shell of Windows has written as UTF-16, and all other content as it is.
fn from_utf16(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Some(text) = bytes.strip_prefix(&[0xff, 0xfe]) else { return Cow::Borrowed(bytes) };
    let units = text.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    let chars = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    Cow::Owned(chars.collect::<String>().into_bytes())
}

/// Number of bytes at the start of a file that are checked for the text format.
const MAX_DETECT_BYTES: usize = 1 << 18;
