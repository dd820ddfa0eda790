// SPDX-License-Identifier: GPL-2.0-or-later
//! Reader of `perf.data` from `perf sched record` or `perf record -e 'sched:*'`: samples of tracepoints with
//! their raw records.
//!
//! `perf_event_open(2)` documents the layout of records. The file layout is in the kernel tree's
//! `tools/perf/Documentation/perf.data-file-format.txt`.

use super::bytes::{ByteReader, slice};
use super::error::{ReadError, ReadResult};
use super::event::{MAX_CPUS, Recording};
use super::fields::EventHead;
use super::file_order::TimeStamp;
use super::format::TracepointFormats;
use super::{compression, ring, trace_dat};
use fairlab_workload::message::Message;
use std::collections::HashMap;

pub(super) const MAGIC: &[u8] = b"PERFILE2";
/// Type of attributes that select a tracepoint: `PERF_TYPE_TRACEPOINT`.
const TRACEPOINT: u32 = 2;
/// Record types that the import uses: `PERF_RECORD_*`.
const LOST: u32 = 2;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;
/// Compressed records; newer releases of perf write the second kind, whose data begins with its length.
const COMPRESSED: u32 = 81;
const COMPRESSED2: u32 = 83;
/// Bits of the sample type, in the order of the fields in a sample up to the raw record.
const IP: u64 = 1 << 0;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const IDENTIFIER: u64 = 1 << 16;
/// Bits of the read format.
const READ_TIME_ENABLED: u64 = 1;
const READ_TIME_RUNNING: u64 = 2;
const READ_ID: u64 = 4;
const READ_GROUP: u64 = 8;
const READ_LOST: u64 = 16;
/// Bit numbers of the features with the event formats and with the number of CPUs.
const FEATURE_TRACING_DATA: u32 = 1;
const FEATURE_NR_CPUS: u32 = 7;
const MIN_ATTRIBUTE_BYTES: usize = 64;
/// Remedy for files without usable tracepoints.
const HINT: &str = "record again: perf sched record, or perf record -a -e 'sched:*'";

#[derive(Clone, Copy, Debug)]
struct Attribute {
    is_tracepoint: bool,
    sample_type: u64,
    read_format: u64,
}

struct Attributes {
    all: Vec<Attribute>,
    by_id: HashMap<u64, usize>,
}

/// Length of the header in pipe mode, in which descriptions of events are among the records.
const PIPE_HEADER_LENGTH: u64 = 16;

/// Reads the recording in a `perf.data` file. Fails with the position of the first damage.
pub(super) fn read(file: &[u8]) -> ReadResult<Recording> {
    let mut recording = Recording { format: "perf.data", ..Recording::default() };
    let mut head = ByteReader::new(file, 0);
    head.expect(MAGIC, "the header of a perf.data")?;
    if head.u64("the length of the header")? == PIPE_HEADER_LENGTH {
        let message = "the file is in the pipe mode of perf (`perf record -o -`), which cannot be read";
        let help = "read the text of it: perf script -i FILE >trace.txt; or record into a file";
        return Err(ReadError::at(8, message, help));
    }
    let attribute_length = head.length("the length of attributes")?;
    let mut section = |what: &str| Ok::<_, ReadError>((head.u64(what)?, head.u64(what)?));
    let (attributes, data) = (section("the attributes")?, section("the records")?);
    section("the event types")?;
    let features = head.u64("the features")?;
    if data.1 == 0 {
        let message = "the file is incomplete: its header reports no records";
        return Err(ReadError::at(40, message, "record again, and stop `perf record` with Ctrl-C"));
    }
    let attributes = read_attributes(file, attributes, attribute_length)?;
    let there = data.1.min((file.len() as u64).saturating_sub(data.0));
    if there < data.1 {
        let message = "the file is truncated: the event descriptions at its end are missing";
        return Err(ReadError::at(file.len(), message, "copy it again"));
    }
    let mut formats = None;
    let mut table = slice(file, data.0 + data.1, 16 * u64::from(features.count_ones()), "the table of features")?;
    for bit in (0..64).filter(|bit| features & (1 << bit) != 0) {
        let (at, length) = (table.u64("the position of a feature")?, table.u64("the length of a feature")?);
        match bit {
            FEATURE_TRACING_DATA => {
                formats = Some(trace_dat::formats_of_perf(slice(file, at, length, "the formats")?)?);
            }
            FEATURE_NR_CPUS => {
                let mut content = slice(file, at, length, "the number of CPUs")?;
                recording.nr_cpus = content.u32("the number of CPUs")?.min(MAX_CPUS);
            }
            _ => {}
        }
    }
    let Some(formats) = formats.filter(|formats| !formats.is_empty()) else {
        return Err(ReadError::whole("the file has no tracepoints, only samples of other events", HINT));
    };
    let records = slice(file, data.0, data.1, "the records")?;
    let reader = RecordReader { formats: &formats, attributes: &attributes };
    let compressed = reader.read(&mut recording, records, None)?;
    if let Some(first) = compressed.at {
        let damaged = |why: Message| {
            let help = "copy the file again; if perf can read it: perf inject -i FILE -o PLAIN";
            ReadError::at(first, format!("the compressed records are damaged: {why}"), help)
        };
        let plain = compression::perf_records(&compressed.stream).map_err(damaged)?;
        reader.read(&mut recording, ByteReader::new(&plain, 0), Some(first))?;
    }
    Ok(recording)
}

fn read_attributes(file: &[u8], (at, length): (u64, u64), attribute_length: usize) -> ReadResult<Attributes> {
    let mut attributes = Attributes { all: Vec::new(), by_id: HashMap::new() };
    if attribute_length < MIN_ATTRIBUTE_BYTES + 16 {
        return Err(ReadError::at(16, format!("event attributes of {attribute_length} bytes are too short"), HINT));
    }
    let mut bytes = slice(file, at, length, "the attributes")?;
    while bytes.rest().len() >= attribute_length {
        let mut one = bytes.part(attribute_length, "an attribute")?;
        let kind = one.u32("an attribute")?;
        one.take(4 + 8 + 8, "an attribute")?;
        let (sample_type, read_format) = (one.u64("an attribute")?, one.u64("an attribute")?);
        let rest = one.rest().len() - 16;
        one.take(rest, "an attribute")?;
        let ids = (one.u64("the ids of an event")?, one.u64("the ids of an event")?);
        let attribute = Attribute { is_tracepoint: kind == TRACEPOINT, sample_type, read_format };
        let mut list = slice(file, ids.0, ids.1, "the ids of an event")?;
        while list.rest().len() >= 8 {
            attributes.by_id.insert(list.u64("an id")?, attributes.all.len());
        }
        attributes.all.push(attribute);
    }
    if attributes.all.is_empty() {
        return Err(ReadError::at(24, "the file describes no events", HINT));
    }
    Ok(attributes)
}

impl Attributes {
    /// Returns the attribute of a sample. All attributes have the same fields before the id.
    fn of(&self, mut record: ByteReader<'_>) -> Option<&Attribute> {
        let first = &self.all[0];
        if self.all.len() == 1 {
            return Some(first);
        }
        let before = [IP, TID, TIME, ADDR].into_iter().filter(|part| first.sample_type & part != 0).count();
        let words = match first.sample_type {
            with if with & IDENTIFIER != 0 => 0,
            with if with & ID != 0 => before,
            _ => return Some(first),
        };
        record.take(8 * words, "a sample").ok()?;
        Some(&self.all[*self.by_id.get(&record.u64("an id").ok()?)?])
    }
}

/// Parts of one zstd stream, in which `perf record -z` stores other records.
#[derive(Default)]
struct CompressedRecords {
    /// Position of the first part in the file.
    at: Option<usize>,
    stream: Vec<u8>,
}

struct RecordReader<'a> {
    formats: &'a TracepointFormats,
    attributes: &'a Attributes,
}

impl RecordReader<'_> {
    /// Reads records, and collects compressed ones. `within` is the position of the compressed records from which
    /// these come: their own positions do not exist in the file.
    fn read(
        &self,
        recording: &mut Recording,
        mut records: ByteReader<'_>,
        within: Option<usize>,
    ) -> ReadResult<CompressedRecords> {
        let mut last = (0, 0);
        let mut compressed = CompressedRecords::default();
        while !records.is_empty() {
            let at = within.unwrap_or_else(|| records.at());
            let (kind, _, length) = (records.u32("a record")?, records.u16("a record")?, records.u16("a record")?);
            let Some(length) = usize::from(length).checked_sub(8) else {
                return Err(ReadError::at(
                    at,
                    "a record is shorter than its header",
                    "the file is damaged: copy it again",
                ));
            };
            let mut record = records.part(length, "a record")?;
            match kind {
                SAMPLE => match self.attributes.of(record) {
                    Some(attribute) if attribute.is_tracepoint && attribute.sample_type & RAW != 0 => {
                        match sample(attribute, record) {
                            Ok((time, cpu, raw)) => {
                                last = (time, cpu);
                                let head = EventHead::new(time, cpu, at, TimeStamp::Absolute);
                                ring::push(recording, self.formats, head, raw);
                            }
                            Err(_) => recording.record_problem("damaged samples", || format!("byte {at}")),
                        }
                    }
                    Some(_) => recording.push_other(last.0),
                    None => recording.record_problem("samples of no known event", || format!("byte {at}")),
                },
                LOST | LOST_SAMPLES => {
                    // perf does not report the time of the loss, so the time of the previous sample is used.
                    let first = record.u64("lost events");
                    let nr = if kind == LOST { first.and_then(|_| record.u64("lost events")) } else { first };
                    recording.push_lost(last.0, last.1, nr.ok(), at, TimeStamp::Borrowed);
                }
                COMPRESSED | COMPRESSED2 if within.is_none() => {
                    let length = match kind {
                        COMPRESSED2 => record.length("the length of compressed records")?,
                        _ => record.rest().len(),
                    };
                    compressed.at.get_or_insert(at);
                    compressed.stream.extend_from_slice(record.take(length, "compressed records")?);
                }
                _ => {}
            }
        }
        Ok(compressed)
    }
}

/// Returns the time, the CPU and the raw record of a tracepoint's sample.
fn sample<'a>(attribute: &Attribute, mut record: ByteReader<'a>) -> ReadResult<(u64, u32, &'a [u8])> {
    let has = |part: u64| attribute.sample_type & part != 0;
    let (mut at, mut cpu) = (0, 0);
    let parts = [IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD];
    for part in parts.into_iter().filter(|&part| has(part)) {
        let value = record.u64("a sample")?;
        match part {
            TIME => at = value,
            // The upper half is reserved.
            CPU => cpu = value as u32,
            _ => {}
        }
    }
    if has(READ) {
        skip_reading(attribute.read_format, &mut record)?;
    }
    if has(CALLCHAIN) {
        let nr = record.length("the length of a call chain")?;
        record.take(nr.saturating_mul(8), "a call chain")?;
    }
    let length = record.u32("the length of a raw record")? as usize;
    let raw = record.take(length, "a raw record")?;
    if !has(TIME) || !has(CPU) {
        return Err(ReadError::at(record.at(), "samples without time or CPU", HINT));
    }
    Ok((at, cpu, raw))
}

fn skip_reading(format: u64, record: &mut ByteReader<'_>) -> ReadResult<()> {
    let has = |part: u64| usize::from(format & part != 0);
    let times = has(READ_TIME_ENABLED) + has(READ_TIME_RUNNING);
    let each = 1 + has(READ_ID) + has(READ_LOST);
    let words = if format & READ_GROUP != 0 {
        let nr = record.length("the length of a reading")?;
        nr.saturating_mul(each).saturating_add(times)
    } else {
        each + times
    };
    record.take(words.saturating_mul(8), "a reading").map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_belongs_to_the_event_with_its_id() {
        for (sample_type, id_at) in [(IP | TIME | ID, 2), (IP | TIME | IDENTIFIER, 0)] {
            let attribute = |is_tracepoint| Attribute { is_tracepoint, sample_type, read_format: 0 };
            let attributes =
                Attributes { all: vec![attribute(true), attribute(false)], by_id: HashMap::from([(5, 0), (9, 1)]) };
            for (id, is_tracepoint) in [(5, Some(true)), (9, Some(false)), (7, None)] {
                let mut words = [1_u64; 3];
                words[id_at] = id;
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let found = attributes.of(ByteReader::new(&bytes, 0));
                assert_eq!(found.map(|attribute| attribute.is_tracepoint), is_tracepoint);
            }
        }
    }
}
