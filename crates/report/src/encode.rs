// SPDX-License-Identifier: GPL-2.0-or-later
//! Encodes timeline segments as bytes.

use super::segments::{Segment, Segments};

/// Appends a number as LEB128: seven bits per byte, least significant first.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Encodes the segments of all CPUs, one CPU after the other.
pub(super) fn segments_of(segments: &Segments) -> Vec<u8> {
    let mut bytes = Vec::new();
    segments.of_cpu.iter().for_each(|of_cpu| put_segments(&mut bytes, of_cpu));
    bytes
}

/// Appends segments of a CPU. Each number has a variable length, and times are in ns.
///
/// The number of segments precedes them. The fields of a segment are:
/// 1. time since the end of the previous segment, or since the start of the run
/// 2. length
/// 3. thread
/// 4. number of merged segments
/// 5. time in which tasks ran, only if the number of merged segments is above 1
/// 6. wait for a CPU before the segment
/// 7. throttled time before the segment
/// 8. rule of CPU selection
pub(super) fn put_segments(bytes: &mut Vec<u8>, segments: &[Segment]) {
    put(bytes, segments.len() as u64);
    let mut last = 0;
    for segment in segments {
        put(bytes, segment.start - last);
        put(bytes, segment.end - segment.start);
        put(bytes, segment.thread.index() as u64);
        put(bytes, u64::from(segment.nr));
        if segment.nr > 1 {
            put(bytes, segment.busy);
        }
        put(bytes, segment.waited);
        put(bytes, segment.throttled);
        put(bytes, segment.rule.into());
        last = segment.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_traces::export::thread::ThreadId;

    #[test]
    fn only_merged_segments_have_the_time_in_which_tasks_ran() {
        let one =
            Segment { start: 10, end: 210, thread: ThreadId::MAIN, busy: 200, nr: 1, waited: 5, throttled: 7, rule: 2 };
        let merged = Segment { start: 215, end: 230, busy: 9, nr: 3, ..one };
        let mut segments = Segments::new(1, 10);
        segments.push(0, one);
        segments.push(0, merged);
        assert_eq!(segments_of(&segments), [2, 10, 0xC8, 1, 0, 1, 5, 7, 2, 5, 15, 0, 3, 9, 5, 7, 2]);
    }
}
