// SPDX-License-Identifier: GPL-2.0-or-later
//! Timeline segments of each CPU, in a bounded number.
//!
//! A segment is a time in which one task ran. Neighbours that together are no longer than the resolution are merged. A
//! merged segment records the task that ran longest and the time in which any task ran. The size of a page is therefore
//! bounded, and long segments stay exact. When the number of segments exceeds its limit, the resolution doubles. A new
//! segment is merged at the resolution of that time, so the resolution follows the length of the run, not the number of
//! segments.
//!
//! With a limit of M segments and N CPUs in a time T, the resolution is at most 4 N T / (M - N), and at least M / 3
//! segments remain: two neighbours are longer than the resolution, so doubling it merges at most three.

use fairlab_traces::export::thread::ThreadId;

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
    /// For each CPU, the longest time in ns in which one thread ran in the last segment.
    longest: Vec<u64>,
    nr: usize,
    max_segments: usize,
    /// Neighbours that together are no longer than this, in ns, are merged; 0 while nothing is merged.
    pub(super) resolution: u64,
}

impl Segments {
    pub(super) fn new(nr_cpus: usize, max_segments: usize) -> Self {
        let (of_cpu, longest) = (vec![Vec::new(); nr_cpus], vec![0; nr_cpus]);
        Self { of_cpu, longest, max_segments, ..Self::default() }
    }

    /// Adds a segment, which begins at or after the end of the last one of its CPU.
    pub(super) fn push(&mut self, cpu: usize, segment: Segment) {
        let (segments, longest) = (&mut self.of_cpu[cpu], &mut self.longest[cpu]);
        debug_assert!(segments.last().is_none_or(|last| last.end <= segment.start), "the segments are in order");
        if segments.last_mut().is_some_and(|last| last.try_merge(&segment, longest, self.resolution)) {
            return;
        }
        *longest = segment.busy;
        segments.push(segment);
        self.nr += 1;
        // With a resolution beyond the last time, each CPU has one segment.
        while self.nr > self.max_segments && self.resolution <= segment.end {
            self.resolution = (self.resolution * 2).max(1);
            let resolution = self.resolution;
            let of_cpus = self.of_cpu.iter_mut().zip(&mut self.longest);
            of_cpus.for_each(|(segments, longest)| coarsen(segments, longest, resolution));
            self.nr = self.of_cpu.iter().map(Vec::len).sum();
        }
    }
}

impl Segment {
    /// Merges the CPU's next segment into this one if together they are no longer than the resolution. `longest` is the
    /// longest time of one thread in this segment. Returns whether it has.
    fn try_merge(&mut self, next: &Self, longest: &mut u64, resolution: u64) -> bool {
        if resolution == 0 || next.end - self.start > resolution {
            return false;
        }
        if next.busy > *longest {
            *longest = next.busy;
            (self.thread, self.rule) = (next.thread, next.rule);
        }
        self.end = next.end;
        self.busy += next.busy;
        self.nr += next.nr;
        self.waited = self.waited.max(next.waited);
        self.throttled = self.throttled.max(next.throttled);
        true
    }
}

/// Merges neighbours that together are no longer than the resolution. Returns the longest time of one thread in the
/// last segment in `longest`.
fn coarsen(segments: &mut Vec<Segment>, longest: &mut u64, resolution: u64) {
    *longest = segments.first().map_or(0, |segment| segment.busy);
    segments.dedup_by(|next, kept| {
        let is_merged = kept.try_merge(next, longest, resolution);
        if !is_merged {
            *longest = next.busy;
        }
        is_merged
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(start: u64, end: u64) -> Segment {
        Segment { start, end, thread: ThreadId::MAIN, busy: end - start, nr: 1, waited: 0, throttled: 0, rule: 0 }
    }

    #[test]
    fn a_merged_segment_has_the_thread_of_the_longest_and_of_equal_ones_the_first() {
        let of = |start, end, rule| Segment { rule, ..segment(start, end) };
        let merged = |next: Segment| {
            let (mut first, mut longest) = (of(0, 100, 1), 100);
            assert!(first.try_merge(&next, &mut longest, 1_000) && first.busy == 100 + next.busy);
            (first.rule, longest)
        };
        assert_eq!(
            [merged(of(200, 250, 2)), merged(of(200, 300, 2)), merged(of(200, 301, 2))],
            [(1, 100), (1, 100), (2, 101)]
        );
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
        assert_eq!((all.len(), segments.resolution), (51, 1 << 11), "two short ones each, and the long one");
        assert_eq!(all.last(), Some(&segment(200_000, 900_000)));
        assert_eq!(all.iter().map(|segment| segment.busy).sum::<u64>(), 100 * 500 + 700_000, "no time is lost");
        assert_eq!(all.iter().map(|segment| segment.nr).sum::<u32>(), 101);
        assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start), "they are in order");
    }

    #[test]
    fn ten_times_the_limit_of_segments_stay_in_order_at_a_resolution_near_the_limit() {
        const MAX_SEGMENTS: usize = 1000;
        for nr_cpus in [1_usize, 7, 40] {
            let (mut segments, nr) = (Segments::new(nr_cpus, MAX_SEGMENTS), 10 * MAX_SEGMENTS as u64);
            for step in 0..nr {
                segments
                    .push((step % nr_cpus as u64) as usize, segment(1_500 * step, 1_500 * step + 700 + step % 3 * 100));
                let count: usize = segments.of_cpu.iter().map(Vec::len).sum();
                assert!(count <= MAX_SEGMENTS, "{count} segments");
            }
            let count: usize = segments.of_cpu.iter().map(Vec::len).sum();
            assert!(count >= MAX_SEGMENTS / 4, "{count} of {MAX_SEGMENTS} segments, {nr_cpus} CPUs");
            let all = || segments.of_cpu.iter().flatten();
            assert_eq!(all().map(|segment| segment.nr).sum::<u32>(), nr as u32);
            assert_eq!(
                all().map(|segment| segment.busy).sum::<u64>(),
                (0..nr).map(|step| 700 + step % 3 * 100).sum::<u64>()
            );
            for of_cpu in &segments.of_cpu {
                assert!(of_cpu.windows(2).all(|pair| pair[0].end <= pair[1].start), "{nr_cpus} CPUs");
            }
            let bound = 4 * nr_cpus as u64 * 1_500 * nr / (MAX_SEGMENTS - nr_cpus) as u64;
            assert!(segments.resolution <= bound, "{} above {bound}, {nr_cpus} CPUs", segments.resolution);
        }
    }
}
