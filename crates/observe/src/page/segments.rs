// SPDX-License-Identifier: GPL-2.0-or-later
//! Timeline segments of each CPU, in a bounded number.
//!
//! A segment is a time in which one task ran. When the number of segments reaches its limit, short neighbours are merged. A
//! merged segment records the task that ran longest and the time in which any task ran. The size of a page is therefore
//! bounded, and long segments stay exact.

use crate::export::thread::ThreadId;

/// Time in which tasks ran on a CPU, in ns from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Thread that ran; in a merged segment the thread that ran longest.
    pub(super) thread: ThreadId,
    /// Time in which any thread ran, in ns.
    pub(super) busy: u64,
    pub(super) nr: u32,
    /// Wait of the thread for a CPU before the segment, in ns; the longest one if segments are merged.
    pub(super) waited: u64,
    /// Time for which the thread was throttled before the segment, in ns; the longest one if segments are merged.
    pub(super) throttled: u64,
    /// Rule that selected the CPU, counted from 1; 0 if none is known.
    pub(super) rule: u8,
}

#[derive(Debug, Default)]
pub(super) struct Segments {
    pub(super) of_cpu: Vec<Vec<Segment>>,
    nr: usize,
    max_segments: usize,
    /// Neighbours that together are no longer than this, in ns, are merged; 0 while nothing is merged.
    pub(super) resolution: u64,
}

impl Segments {
    pub(super) fn new(nr_cpus: usize, max_segments: usize) -> Self {
        Self { of_cpu: vec![Vec::new(); nr_cpus], max_segments, ..Self::default() }
    }

    /// Adds a segment, which begins at or after the end of the last one of its CPU.
    pub(super) fn push(&mut self, cpu: usize, segment: Segment) {
        self.of_cpu[cpu].push(segment);
        self.nr += 1;
        while self.nr > self.max_segments {
            self.resolution = (self.resolution * 2).max(1 << 12);
            let resolution = self.resolution;
            self.of_cpu.iter_mut().for_each(|segments| coarsen(segments, resolution));
            self.nr = self.of_cpu.iter().map(Vec::len).sum();
        }
    }
}

/// Merges neighbours that together are no longer than the resolution.
fn coarsen(segments: &mut Vec<Segment>, resolution: u64) {
    let mut kept: Vec<Segment> = Vec::with_capacity(segments.len() / 2);
    let mut longest = 0;
    for &segment in segments.iter() {
        match kept.last_mut() {
            Some(last) if segment.end - last.start <= resolution => {
                let busy = segment.busy;
                if busy > longest {
                    longest = busy;
                    (last.thread, last.rule) = (segment.thread, segment.rule);
                }
                last.end = segment.end;
                last.busy += busy;
                last.nr += segment.nr;
                last.waited = last.waited.max(segment.waited);
                last.throttled = last.throttled.max(segment.throttled);
            }
            _ => {
                longest = segment.busy;
                kept.push(segment);
            }
        }
    }
    kept.shrink_to_fit();
    *segments = kept;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(start: u64, end: u64) -> Segment {
        Segment { start, end, thread: ThreadId::MAIN, busy: end - start, nr: 1, waited: 0, throttled: 0, rule: 0 }
    }

    #[test]
    fn short_neighbours_become_one_and_long_ones_stay_exact() {
        let mut segments = Segments::new(1, 100);
        for at in 0..100_u64 {
            segments.push(0, segment(1_000 * at, 1_000 * at + 500));
        }
        assert_eq!((segments.of_cpu[0].len(), segments.resolution), (100, 0), "there is room for all");
        segments.push(0, segment(200_000, 900_000));
        let all = &segments.of_cpu[0];
        assert_eq!((all.len(), segments.resolution), (26, 1 << 12), "four short ones each, and the long one");
        assert_eq!(all.last(), Some(&segment(200_000, 900_000)));
        assert_eq!(all.iter().map(|segment| segment.busy).sum::<u64>(), 100 * 500 + 700_000, "no time is lost");
        assert_eq!(all.iter().map(|segment| segment.nr).sum::<u32>(), 101);
        assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start), "they are in order");
    }
}
