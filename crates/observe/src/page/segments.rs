// SPDX-License-Identifier: GPL-2.0-or-later
//! What ran on each CPU, in as much detail as a page has room for.
//!
//! A segment is a time in which one task ran. As long as there is room each has its own; when there is none left, neighbours that are short
//! become one, which knows the task that ran longest in it and how much of it any task ran. So a page does not grow with the run, and
//! long segments stay exact.

use crate::export::thread::ThreadId;

/// A time in which tasks ran on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Who ran, or who ran longest.
    pub(super) thread: ThreadId,
    /// For how long anybody ran.
    pub(super) busy: u64,
    /// How many segments it was.
    pub(super) nr: u32,
    /// How long the task had waited before.
    pub(super) waited: u64,
    /// The rule that chose its CPU, by number; 0: none is known.
    pub(super) rule: u8,
}

/// The segments of all CPUs.
#[derive(Debug)]
pub(super) struct Segments {
    pub(super) of_cpu: Vec<Vec<Segment>>,
    nr: usize,
    most: usize,
    /// Segments shorter than this become one with their neighbours.
    pub(super) resolution: u64,
}

impl Segments {
    /// Room for so many.
    pub(super) fn new(nr_cpus: usize, most: usize) -> Self {
        Self { of_cpu: vec![Vec::new(); nr_cpus], nr: 0, most, resolution: 0 }
    }

    /// Adds one, which begins where the last one of its CPU has ended, or later.
    pub(super) fn push(&mut self, cpu: usize, segment: Segment) {
        self.of_cpu[cpu].push(segment);
        self.nr += 1;
        while self.nr > self.most {
            self.resolution = (self.resolution * 2).max(1 << 12);
            let resolution = self.resolution;
            self.of_cpu.iter_mut().for_each(|segments| coarsen(segments, resolution));
            self.nr = self.of_cpu.iter().map(Vec::len).sum();
        }
    }
}

/// Makes one of neighbours that lie within the resolution.
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
        Segment { start, end, thread: ThreadId::MAIN, busy: end - start, nr: 1, waited: 0, rule: 0 }
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
        assert!(all.len() <= 100, "{}", all.len());
        assert_eq!(all.last(), Some(&segment(200_000, 900_000)));
        assert_eq!(all.iter().map(|segment| segment.busy).sum::<u64>(), 100 * 500 + 700_000, "no time is lost");
        assert_eq!(all.iter().map(|segment| segment.nr).sum::<u32>(), 101);
        assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start), "they are in order");
    }
}
