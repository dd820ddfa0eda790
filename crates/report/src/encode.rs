// SPDX-License-Identifier: GPL-2.0-or-later
//! Encodes timeline segments as bytes, and bytes as base64.

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

/// Encodes bytes as base64 (RFC 4648), with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().enumerate().fold(0_u32, |word, (place, &byte)| word | u32::from(byte) << (16 - 8 * place));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
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

    #[test]
    fn base64_is_that_of_the_standard() {
        let pairs =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")];
        for (plain, coded) in pairs {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
