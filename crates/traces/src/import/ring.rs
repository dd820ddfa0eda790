// SPDX-License-Identifier: GPL-2.0-or-later
//! Pages of the kernel's ring buffer: a time and a length, then events, each with the time since the previous
//! one.

use super::bytes::ByteReader;
use super::error::ReadResult;
use super::event::{MAX_CPUS, Recording};
use super::fields::{self, EventHead};
use super::file_order::{Anchor, TimeStamp};
use super::format::TracepointFormats;

/// Special values of an event's type field (see `header_event`); smaller values are lengths in words.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Flags in a page's length: events were lost before this page, and their number follows its last event.
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const LENGTH: u64 = (1 << 30) - 1;
/// Bits of an absolute time stamp; the higher bits are those of the page's time.
const STAMP_BITS: u32 = 59;

const DELTA: TimeStamp = TimeStamp::Delta(0);

/// Layout of the pages in a file, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PageLayout {
    pub(super) size: usize,
    /// Size of the length field in the page header.
    pub(super) length_size: usize,
}

/// Reads the pages of a CPU. A damaged page is recorded as a problem, and the next page is read.
pub(super) fn read(
    recording: &mut Recording,
    formats: &TracepointFormats,
    pages: PageLayout,
    cpu: u32,
    bytes: ByteReader<'_>,
) {
    recording.nr_cpus = recording.nr_cpus.max(cpu.saturating_add(1).min(MAX_CPUS));
    let (all, from) = (bytes.rest(), bytes.at());
    for (place, page) in all.chunks(pages.size).enumerate() {
        let at = from + place * pages.size;
        if read_page(recording, formats, pages, cpu, ByteReader::new(page, at)).is_err() {
            recording.record_problem("damaged pages of events", || format!("byte {at}"));
        }
    }
}

fn read_page(
    recording: &mut Recording,
    formats: &TracepointFormats,
    pages: PageLayout,
    cpu: u32,
    mut page: ByteReader<'_>,
) -> ReadResult<()> {
    let position = page.at();
    let mut time = page.u64("the time of a page")?;
    let length = match pages.length_size {
        4 => u64::from(page.u32("the length of a page")?),
        _ => page.u64("the length of a page")?,
    };
    let used = (length & LENGTH) as usize;
    let mut events = page.part(used, "the events of a page")?;
    if used > 0 {
        recording.order.anchors.push(Anchor { cpu, stamp: DELTA, at: time, index: recording.events.len() });
    }
    if length & MISSED != 0 {
        let nr = if length & MISSED_STORED != 0 { page.u64("the number of lost events").ok() } else { None };
        recording.push_lost(time, cpu, nr, position, DELTA);
    }
    while !events.is_empty() {
        let at = events.at();
        let head = events.u32("the header of an event")?;
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        let length = match kind {
            PADDING if delta == 0 => break,
            PADDING => {
                time = time.wrapping_add(delta);
                let length = events.u32("the length of padding")? as usize;
                events.take(length.saturating_sub(4), "padding")?;
                continue;
            }
            TIME_EXTEND | TIME_STAMP => {
                let high = u64::from(events.u32("the second half of a time")?);
                let value = high << 27 | delta;
                time = match kind {
                    TIME_EXTEND => time.wrapping_add(value),
                    _ => value | time >> STAMP_BITS << STAMP_BITS,
                };
                continue;
            }
            0 => (events.u32("the length of an event")? as usize).saturating_sub(4).next_multiple_of(4),
            words => 4 * words as usize,
        };
        time = time.wrapping_add(delta);
        let data = events.take(length, "an event")?;
        push(recording, formats, EventHead::new(time, cpu, at, DELTA), data);
    }
    Ok(())
}

/// Adds an event, decoded with its format, which also has the thread and the context.
pub(super) fn push(recording: &mut Recording, formats: &TracepointFormats, head: EventHead, data: &[u8]) {
    let Some(event) = formats.of(data) else {
        return recording
            .record_problem("events of which the file has no format", || format!("byte {}", head.position));
    };
    match event.format.tracepoint {
        Some(tracepoint) => {
            let (pid, context) = event.common();
            fields::push(recording, EventHead { pid, context, ..head }, tracepoint, &event);
        }
        None => recording.push_other(head.at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a page with one event, of an unknown format. `damage` is added to the page's length field.
    fn page(length_size: usize, damage: usize) -> Vec<u8> {
        let mut events = Vec::new();
        events.extend_from_slice(&(5_u32 << 5 | 1).to_le_bytes());
        events.extend_from_slice(&7_u32.to_le_bytes());
        let mut page = 1000_u64.to_le_bytes().to_vec();
        page.extend_from_slice(&(events.len() + damage).to_le_bytes()[..length_size]);
        page.extend_from_slice(&events);
        page.resize(64, 0);
        page
    }

    #[test]
    fn pages_of_32_bit_and_64_bit_kernels_are_read_and_damaged_ones_located() {
        for length_size in [4, 8] {
            let bytes: Vec<u8> = [page(length_size, 0), page(length_size, 0), page(length_size, 1000)].concat();
            let mut recording = Recording::default();
            let pages = PageLayout { size: 64, length_size };
            read(&mut recording, &TracepointFormats::default(), pages, 3, ByteReader::new(&bytes, 100));
            assert_eq!(recording.nr_cpus, 4);
            let (unknown, damaged) = match recording.problems.values().collect::<Vec<_>>()[..] {
                [damaged, unknown] => (unknown, damaged),
                ref problems => panic!("{problems:?}"),
            };
            assert_eq!((unknown.count, damaged.count), (2, 1), "{:?}", recording.problems);
            assert_eq!(damaged.first, "byte 228", "the third page begins there");
            assert_eq!(unknown.first, format!("byte {}", 100 + 8 + length_size));
        }
    }
}
