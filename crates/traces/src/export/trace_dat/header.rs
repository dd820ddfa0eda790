// SPDX-License-Identifier: GPL-2.0-or-later
//! Header of a `trace.dat`: formats, symbols, names, and the location of each CPU's pages.
//!
//! In version 6 these parts have a fixed order. In version 7 each part is a numbered section, and the last
//! one, the options, gives the location of the buffer.

use super::TraceDatVersion;
use super::page::PAGE;
use crate::export::sink::{put_u16, put_u32, put_u64};
use crate::export::thread::ThreadTable;
use crate::export::tracepoint::format::{HEADER_EVENT, HEADER_PAGE, format_of, symbols, texts};
use crate::export::tracepoint::{TRACEPOINTS, TracepointDefinition};

const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// Name of the trace clock, which all CPUs share.
const CLOCK: &str = "[global]";
/// Option ids: buffer location, clock, machine, number of CPUs.
const OPTION_BUFFER: u16 = 3;
const OPTION_CLOCK: u16 = 4;
const OPTION_UNAME: u16 = 5;
const OPTION_CPUS: u16 = 8;
/// Section ids of version 7.
const SECTION_OPTIONS: u16 = 0;
const SECTION_BUFFER: u16 = 3;
const SECTION_HEADERS: u16 = 16;
const SECTION_FTRACE: u16 = 17;
const SECTION_EVENTS: u16 = 18;
const SECTION_SYMBOLS: u16 = 19;
const SECTION_TEXTS: u16 = 20;
const SECTION_NAMES: u16 = 21;
const SECTION_STRINGS: u16 = 15;

pub(super) struct TraceDatHead<'a> {
    pub(super) threads: &'a ThreadTable,
    pub(super) machine: &'a str,
}

impl TraceDatHead<'_> {
    /// Returns the header up to the first page. `lengths` are the numbers of bytes of events for each CPU.
    pub(super) fn bytes(&self, version: TraceDatVersion, lengths: &[u64]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(if version == TraceDatVersion::V6 { b"6\0" } else { b"7\0" });
        // Little endian, 64 bits, pages of 4 KiB.
        bytes.extend_from_slice(&[0, 8]);
        put_u32(&mut bytes, PAGE as u32);
        match version {
            TraceDatVersion::V6 => self.put_v6(&mut bytes, lengths),
            TraceDatVersion::V7 => self.put_v7(&mut bytes, lengths),
        }
        bytes
    }

    fn put_v6(&self, bytes: &mut Vec<u8>, lengths: &[u64]) {
        put_descriptions(bytes, self.threads);
        let nr_cpus = lengths.len();
        put_u32(bytes, nr_cpus as u32);
        bytes.extend_from_slice(b"options  \0");
        self.put_options(bytes, nr_cpus);
        put_u16(bytes, 0);
        bytes.extend_from_slice(b"flyrecord\0");
        let first = (bytes.len() + 16 * nr_cpus).next_multiple_of(PAGE);
        let mut offset = first as u64;
        for &length in lengths {
            put_u64(bytes, offset);
            put_u64(bytes, length);
            offset += length;
        }
        bytes.resize(first, 0);
    }

    fn put_v7(&self, bytes: &mut Vec<u8>, lengths: &[u64]) {
        // Name and version of the compression algorithm: none.
        bytes.extend_from_slice(b"none\0\0");
        let options_at = bytes.len();
        bytes.extend_from_slice(&[0; 8]);
        let mut places = Vec::new();
        let mut section = |bytes: &mut Vec<u8>, id: u16, put: &dyn Fn(&mut Vec<u8>)| {
            places.push((id, bytes.len() as u64));
            put_section(bytes, id, put);
        };
        section(bytes, SECTION_HEADERS, &put_headers);
        section(bytes, SECTION_FTRACE, &put_ftrace_formats);
        section(bytes, SECTION_EVENTS, &put_event_formats);
        section(bytes, SECTION_SYMBOLS, &|bytes| put_sized32(bytes, &symbols()));
        section(bytes, SECTION_TEXTS, &|bytes| put_sized32(bytes, &texts()));
        section(bytes, SECTION_NAMES, &|bytes| put_sized64(bytes, &names(self.threads)));
        // No option points to this section; readers find it by a scan of all sections.
        put_section(bytes, SECTION_STRINGS, &|bytes| bytes.extend_from_slice(b"fairlab\0"));
        let options = bytes.len() as u64;
        bytes[options_at..options_at + 8].copy_from_slice(&options.to_le_bytes());
        // The options locate the buffer section, which follows them and whose data begin at a page boundary.
        let options_length = self.options_v7(&places, lengths, 0).len();
        let buffer_at = bytes.len() + SECTION_HEAD + options_length;
        let content = self.options_v7(&places, lengths, buffer_at);
        put_section(bytes, SECTION_OPTIONS, &|bytes| bytes.extend_from_slice(&content));
        let first = (bytes.len() + SECTION_HEAD).next_multiple_of(PAGE);
        let length = lengths.iter().sum::<u64>() + (first - bytes.len() - SECTION_HEAD) as u64;
        put_section_head(bytes, SECTION_BUFFER, length);
        bytes.resize(first, 0);
    }

    /// Returns the options of version 7 for a buffer section at offset `buffer_at`.
    fn options_v7(&self, places: &[(u16, u64)], lengths: &[u64], buffer_at: usize) -> Vec<u8> {
        let mut options = Vec::new();
        self.put_options(&mut options, lengths.len());
        for &(id, at) in places {
            put_option(&mut options, id, &at.to_le_bytes());
        }
        let mut offset = (buffer_at + SECTION_HEAD).next_multiple_of(PAGE) as u64;
        let mut data = (buffer_at as u64).to_le_bytes().to_vec();
        // Buffer name (empty), clock, page length, number of CPUs.
        data.extend_from_slice(b"\0global\0");
        put_u32(&mut data, PAGE as u32);
        put_u32(&mut data, lengths.len() as u32);
        for (cpu, &length) in lengths.iter().enumerate() {
            put_u32(&mut data, cpu as u32);
            put_u64(&mut data, offset);
            put_u64(&mut data, length);
            offset += length;
        }
        put_option(&mut options, OPTION_BUFFER, &data);
        // End of the options: no further options section follows.
        put_option(&mut options, 0, &[0; 8]);
        options
    }

    fn put_options(&self, bytes: &mut Vec<u8>, nr_cpus: usize) {
        let text = |text: &str| [text.as_bytes(), b"\0"].concat();
        put_option(bytes, OPTION_CLOCK, &text(CLOCK));
        put_option(bytes, OPTION_UNAME, &text(&format!("Linux {} fairlab", self.machine)));
        put_option(bytes, OPTION_CPUS, &(nr_cpus as u32).to_le_bytes());
    }
}

fn names(threads: &ThreadTable) -> String {
    let named = threads.iter().filter(|info| info.pid != 0);
    named.map(|info| format!("{} {}\n", info.pid, info.comm.as_str())).collect()
}

/// Appends page and event headers, formats, symbols, texts and thread names.
fn put_descriptions(bytes: &mut Vec<u8>, threads: &ThreadTable) {
    put_headers(bytes);
    put_ftrace_formats(bytes);
    put_event_formats(bytes);
    put_sized32(bytes, &symbols());
    put_sized32(bytes, &texts());
    put_sized64(bytes, &names(threads));
}

/// Appends the tracing data that a `perf.data` includes.
pub(in crate::export) fn put_tracing_data(bytes: &mut Vec<u8>, threads: &ThreadTable) {
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(b"0.6\0");
    bytes.extend_from_slice(&[0, 8]);
    put_u32(bytes, PAGE as u32);
    put_descriptions(bytes, threads);
}

const SECTION_HEAD: usize = 16;

fn put_section_head(bytes: &mut Vec<u8>, id: u16, length: u64) {
    put_u16(bytes, id);
    // No compression. The section's description is the first string of the strings section.
    put_u16(bytes, 0);
    put_u32(bytes, 0);
    put_u64(bytes, length);
}

fn put_section(bytes: &mut Vec<u8>, id: u16, put: &dyn Fn(&mut Vec<u8>)) {
    let mut content = Vec::new();
    put(&mut content);
    put_section_head(bytes, id, content.len() as u64);
    bytes.extend_from_slice(&content);
}

fn put_headers(bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(b"header_page\0");
    put_sized64(bytes, HEADER_PAGE);
    bytes.extend_from_slice(b"header_event\0");
    put_sized64(bytes, HEADER_EVENT);
}

fn formats<'a>(system: &'a str) -> impl Iterator<Item = &'static TracepointDefinition> + 'a {
    TRACEPOINTS.iter().filter(move |definition| definition.system == system)
}

/// Writes the formats of ftrace's own events, which have no system.
fn put_ftrace_formats(bytes: &mut Vec<u8>) {
    put_u32(bytes, formats("ftrace").count() as u32);
    formats("ftrace").for_each(|definition| put_sized64(bytes, &format_of(definition)));
}

fn put_event_formats(bytes: &mut Vec<u8>) {
    let mut systems: Vec<&str> = TRACEPOINTS.iter().map(|definition| definition.system).collect();
    systems.retain(|&system| system != "ftrace");
    systems.sort_unstable();
    systems.dedup();
    put_u32(bytes, systems.len() as u32);
    for system in systems {
        bytes.extend_from_slice(system.as_bytes());
        bytes.push(0);
        put_u32(bytes, formats(system).count() as u32);
        formats(system).for_each(|definition| put_sized64(bytes, &format_of(definition)));
    }
}

fn put_option(bytes: &mut Vec<u8>, id: u16, data: &[u8]) {
    put_u16(bytes, id);
    put_u32(bytes, data.len() as u32);
    bytes.extend_from_slice(data);
}

fn put_sized32(bytes: &mut Vec<u8>, text: &str) {
    put_u32(bytes, text.len() as u32);
    bytes.extend_from_slice(text.as_bytes());
}

fn put_sized64(bytes: &mut Vec<u8>, text: &str) {
    put_u64(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}
