// SPDX-License-Identifier: GPL-2.0-or-later
//! Reader of `trace.dat`, the file format of trace-cmd: versions 6 and 7, the latter also compressed with
//! zlib or zstd.
//!
//! The layout follows trace-cmd's description, `trace-cmd.dat.v6(5)` and `trace-cmd.dat.v7(5)`. In a file
//! with several buffers only the first one, which has no name, is read.

use super::bytes::{ByteReader, slice};
use super::compression::{self, Compression};
use super::error::{ReadError, ReadResult};
use super::event::Recording;
use super::format::TracepointFormats;
use super::ring::{self, PageLayout};
use super::text::time_of;
use std::borrow::Cow;

pub(super) const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// Option ids of both versions.
const OPTION_DONE: u16 = 0;
const OPTION_CPUSTAT: u16 = 2;
const OPTION_BUFFER: u16 = 3;
const OPTION_CLOCK: u16 = 4;
/// Option ids of version 7 that contain the position of a section.
const OPTION_HEADERS: u16 = 16;
const OPTION_FTRACE: u16 = 17;
const OPTION_EVENTS: u16 = 18;
const COMPRESSED: u16 = 1;
const PAGE_SIZES: std::ops::RangeInclusive<u32> = 4096..=1 << 20;
/// Length of the number of blocks before the compressed events of a CPU, which trace-cmd leaves out of their length.
const NR_BLOCKS_BYTES: u64 = 4;
/// Maximum number of options; more indicate a damaged file.
const MAX_OPTIONS: usize = 100_000;

#[derive(Debug, Default)]
struct TraceDatHeader {
    formats: TracepointFormats,
    pages: PageLayout,
}

impl TraceDatHeader {
    /// Reads the descriptions of pages and all event formats, which follow each other in version 6.
    fn read_all(&mut self, at: &mut ByteReader<'_>) -> ReadResult<()> {
        read_headers(at, self)?;
        read_ftrace(at, &mut self.formats)?;
        read_systems(at, &mut self.formats)
    }
}

struct CpuData {
    cpu: u32,
    at: u64,
    length: u64,
}

pub(super) fn read(file: &[u8]) -> ReadResult<Recording> {
    let mut recording = Recording { format: "trace.dat", ..Recording::default() };
    let mut at = ByteReader::new(file, 0);
    at.expect(MAGIC, "the header of a trace.dat")?;
    let version_at = at.at();
    let version = at.text("the version")?;
    let mut head = begin(&mut at)?;
    match version {
        "6" => read_v6(&mut recording, file, at, &mut head)?,
        "7" => read_v7(&mut recording, file, at, &mut head)?,
        other => {
            let help = "record with trace-cmd 2 or 3, or import the output of `trace-cmd report`";
            return Err(ReadError::at(version_at, format!("version {other:?} is not supported, only 6 and 7"), help));
        }
    }
    Ok(recording)
}

fn begin(at: &mut ByteReader<'_>) -> ReadResult<TraceDatHeader> {
    let place = at.at();
    if at.u8("the byte order")? != 0 {
        let help = "import the output of `trace-cmd report` instead";
        return Err(ReadError::at(place, "big-endian files are not supported", help));
    }
    at.u8("the word size")?;
    let pages = PageLayout { size: page_size(at)?, length_size: 8 };
    Ok(TraceDatHeader { pages, ..TraceDatHeader::default() })
}

fn page_size(at: &mut ByteReader<'_>) -> ReadResult<usize> {
    let place = at.at();
    let page = at.u32("the page size")?;
    if !PAGE_SIZES.contains(&page) {
        let message = format!("invalid page size of {page} bytes");
        return Err(ReadError::at(place, message, "the file is damaged: copy it again"));
    }
    Ok(page as usize)
}

/// Reads the formats in the tracing data of a `perf.data`, which resembles the header of a `trace.dat`.
pub(super) fn formats_of_perf(mut at: ByteReader<'_>) -> ReadResult<TracepointFormats> {
    at.expect(MAGIC, "the formats of events")?;
    at.text("the version")?;
    let mut head = begin(&mut at)?;
    head.read_all(&mut at)?;
    Ok(head.formats)
}

fn read_headers(at: &mut ByteReader<'_>, head: &mut TraceDatHeader) -> ReadResult<()> {
    for name in [&b"header_page\0"[..], b"header_event\0"] {
        at.expect(name, "the description of pages")?;
        let length = at.length("the length of the description of pages")?;
        let text = String::from_utf8_lossy(at.take(length, "the description of pages")?);
        if let Some(size) = TracepointFormats::size_of_field(&text, "commit") {
            head.pages.length_size = size;
        }
    }
    Ok(())
}

fn read_ftrace(at: &mut ByteReader<'_>, formats: &mut TracepointFormats) -> ReadResult<()> {
    (0..at.u32("the number of formats")?).try_for_each(|_| {
        let length = at.length("the length of a format")?;
        formats.add(&String::from_utf8_lossy(at.take(length, "a format")?));
        Ok(())
    })
}

fn read_systems(at: &mut ByteReader<'_>, formats: &mut TracepointFormats) -> ReadResult<()> {
    (0..at.u32("the number of groups of formats")?).try_for_each(|_| {
        at.text("the name of a group of formats")?;
        read_ftrace(at, formats)
    })
}

fn skip32(at: &mut ByteReader<'_>, what: &str) -> ReadResult<()> {
    let length = at.u32(what)? as usize;
    at.take(length, what).map(|_| ())
}

fn read_v6(
    recording: &mut Recording,
    file: &[u8],
    mut at: ByteReader<'_>,
    head: &mut TraceDatHeader,
) -> ReadResult<()> {
    head.read_all(&mut at)?;
    skip32(&mut at, "the kernel's symbols")?;
    skip32(&mut at, "the kernel's texts")?;
    let length = at.length("the length of the names")?;
    at.take(length, "the names")?;
    let nr_cpus = at.u32("the number of CPUs")?;
    let place = at.at();
    let mut kind = at.take(10, "the file type")?;
    if kind == b"options  \0" {
        for _ in 0..MAX_OPTIONS {
            let id = at.u16("an option")?;
            if id == OPTION_DONE {
                break;
            }
            let length = at.u32("the length of an option")? as usize;
            let data = at.part(length, "an option")?;
            option(recording, id, data)?;
        }
        kind = at.take(10, "the file type")?;
    }
    if kind != b"flyrecord\0" {
        let help = "record with `trace-cmd record`; files of its `latency` tracers have no events";
        return Err(ReadError::at(place, "the file has no recorded events", help));
    }
    for cpu in 0..nr_cpus {
        read_cpu(recording, file, head, None, &read_cpu_data(&mut at, cpu)?)?;
    }
    Ok(())
}

fn read_cpu_data(data: &mut ByteReader<'_>, cpu: u32) -> ReadResult<CpuData> {
    let at = data.u64("the position of a CPU's events")?;
    Ok(CpuData { cpu, at, length: data.u64("the length of a CPU's events")? })
}

/// Reads the events of a CPU; of a truncated file, the events up to its end.
fn read_cpu(
    recording: &mut Recording,
    file: &[u8],
    head: &TraceDatHeader,
    packing: Option<Compression>,
    data: &CpuData,
) -> ReadResult<()> {
    let &CpuData { cpu, at, length } = data;
    let there = (file.len() as u64).saturating_sub(at).min(length);
    if there < length {
        recording.record_problem("events behind the end of the file, which is cut", || format!("byte {at}"));
    }
    if there == 0 {
        return Ok(());
    }
    let there = match packing {
        Some(_) => (file.len() as u64 - at).min(there + NR_BLOCKS_BYTES),
        None => there,
    };
    let bytes = slice(file, at, there, "a CPU's events")?;
    match packing {
        None => ring::read(recording, &head.formats, head.pages, cpu, bytes),
        Some(packing) => {
            compression::chunks(packing, bytes, &mut |unpacked, at| {
                ring::read(recording, &head.formats, head.pages, cpu, ByteReader::new(unpacked, at));
            })?;
        }
    }
    Ok(())
}

fn option(recording: &mut Recording, id: u16, data: ByteReader<'_>) -> ReadResult<()> {
    let text = String::from_utf8_lossy(data.rest());
    match id {
        OPTION_CLOCK => refuse_clock(&text, data.at()),
        OPTION_CPUSTAT => {
            let lost = text.lines().filter_map(|line| {
                let (key, value) = line.split_once(':')?;
                ["overrun", "dropped events"].contains(&key.trim()).then(|| value.trim().parse::<u64>().ok())?
            });
            recording.overrun = lost.fold(recording.overrun, u64::saturating_add);
            let ends = text.lines().filter_map(|line| time_of(line.trim().strip_prefix("now ts:")?.trim()));
            recording.order.end_of_recording = ends.chain(recording.order.end_of_recording).max();
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Rejects clocks that do not count nanoseconds. The text lists all clocks, with the one in use in brackets.
fn refuse_clock(text: &str, at: usize) -> ReadResult<()> {
    let used = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(clock, _)| clock);
    let counts = ["counter", "uptime", "x86-tsc", "tsc2nsec", "ppc-tb"];
    if counts.contains(&used.trim()) {
        let help = "record with a nanosecond clock: trace-cmd record -C mono";
        let message = format!("the trace's clock is `{}`, which does not count nanoseconds", used.trim());
        return Err(ReadError::at(at, message, help));
    }
    Ok(())
}

/// Section of version 7, with its content, decompressed if it is compressed.
struct FileSection<'a> {
    packing: Option<Compression>,
    at: usize,
    content: Cow<'a, [u8]>,
}

impl FileSection<'_> {
    fn bytes(&self) -> ByteReader<'_> {
        ByteReader::new(&self.content, self.at)
    }
}

fn section(
    file: &[u8],
    at: u64,
    wanted: u16,
    packing: Option<Compression>,
    unpack: bool,
) -> ReadResult<FileSection<'_>> {
    let mut head = slice(file, at, 16, "the header of a section")?;
    let id = head.u16("the number of a section")?;
    let flags = head.u16("the flags of a section")?;
    head.u32("the name of a section")?;
    let length = head.u64("the length of a section")?;
    if id != wanted {
        let help = "the file is damaged: copy it again";
        return Err(ReadError::at(at as usize, format!("found section {id} instead of section {wanted}"), help));
    }
    let there = length.min((file.len() as u64).saturating_sub(at + 16));
    let mut content = slice(file, at + 16, if unpack { length } else { there }, "a section")?;
    let packing = if flags & COMPRESSED != 0 { packing } else { None };
    let at = content.at();
    let content = match packing.filter(|_| unpack) {
        Some(packing) => compression::block(packing, &mut content)?.into(),
        None => content.rest().into(),
    };
    Ok(FileSection { packing, at, content })
}

fn read_v7(
    recording: &mut Recording,
    file: &[u8],
    mut at: ByteReader<'_>,
    head: &mut TraceDatHeader,
) -> ReadResult<()> {
    let place = at.at();
    let algorithm = at.text("the name of the compression")?;
    at.text("the version of the compression")?;
    let packing = match algorithm {
        "none" => None,
        "zlib" => Some(Compression::Zlib),
        "zstd" => Some(Compression::Zstd),
        name => {
            let help = "decompress it first: trace-cmd convert --compression none";
            return Err(ReadError::at(place, format!("compression `{name}` is not supported"), help));
        }
    };
    let mut options_at = at.u64("the position of the options")?;
    let mut buffer = None;
    for _ in 0..MAX_OPTIONS {
        let options = section(file, options_at, OPTION_DONE, packing, true)?;
        let mut options = options.bytes();
        options_at = 0;
        while !options.is_empty() {
            let id = options.u16("an option")?;
            let length = options.u32("the length of an option")? as usize;
            let mut data = options.part(length, "an option")?;
            match id {
                OPTION_DONE => options_at = data.u64("the position of more options").unwrap_or(0),
                OPTION_HEADERS | OPTION_FTRACE | OPTION_EVENTS => {
                    let content = section(file, data.u64("the position of a section")?, id, packing, true)?;
                    let mut content = content.bytes();
                    match id {
                        OPTION_HEADERS => read_headers(&mut content, head)?,
                        OPTION_FTRACE => read_ftrace(&mut content, &mut head.formats)?,
                        _ => read_systems(&mut content, &mut head.formats)?,
                    }
                }
                OPTION_BUFFER if buffer.is_none() => buffer = Some(read_buffer(&mut data)?),
                OPTION_BUFFER => {
                    recording.record_problem("further buffers, which are not read", || format!("byte {}", data.at()));
                }
                _ => option(recording, id, data)?,
            }
            if id == OPTION_DONE {
                break;
            }
        }
        if options_at == 0 {
            break;
        }
    }
    let Some(Buffer { at, page, cpus }) = buffer else {
        return Err(ReadError::whole("the file has no event buffer", "record with `trace-cmd record`"));
    };
    head.pages.size = page;
    // The flags of the buffer's section contain whether its pages are compressed.
    let packing = section(file, at, OPTION_BUFFER, packing, false)?.packing;
    for cpu in &cpus {
        read_cpu(recording, file, head, packing, cpu)?;
    }
    Ok(())
}

struct Buffer {
    at: u64,
    page: usize,
    cpus: Vec<CpuData>,
}

fn read_buffer(data: &mut ByteReader<'_>) -> ReadResult<Buffer> {
    let at = data.u64("the position of a buffer")?;
    data.text("the name of a buffer")?;
    let clock_at = data.at();
    let clock = data.text("the clock of a buffer")?;
    refuse_clock(&format!("[{clock}]"), clock_at)?;
    let page = page_size(data)?;
    let nr_cpus = data.u32("the number of CPUs")?;
    let cpus = (0..nr_cpus).map(|_| {
        let cpu = data.u32("a CPU")?;
        read_cpu_data(data, cpu)
    });
    Ok(Buffer { at, page, cpus: cpus.collect::<ReadResult<_>>()? })
}
