// SPDX-License-Identifier: GPL-2.0-or-later
//! Timeline of a run in progress, in parts: what a page does not have yet.

use crate::collect::PageCollector;
use crate::encode::{put, put_segments};
use crate::segments::{Segment, Segments};

/// Position up to which a page has the timeline of a run.
#[derive(Clone, Debug, Default)]
pub struct StreamPosition {
    /// Number of segments of each CPU that were sent.
    segments: Vec<usize>,
    /// Resolution of the sent segments, in ns.
    resolution_ns: u64,
    nr_threads: usize,
}

/// Part of the timeline of a run.
#[derive(Clone, Debug)]
pub struct TimelinePart {
    /// Whether this part replaces all earlier ones: segments that were sent have been merged since.
    pub is_restart: bool,
    /// Neighbouring segments that together are no longer than this, in ns, are merged; 0 if none is.
    pub resolution_ns: u64,
    /// Index of the first thread that is new; see [`PageCollector::threads_from`].
    pub first_thread: usize,
    /// New segments of each CPU, the first one with its time since the start of the run. After the segments of a CPU follows
    /// the thread that it runs, counted from 1, and when it was switched in; for an idle CPU, 0.
    pub segments: Vec<u8>,
}

impl StreamPosition {
    /// Returns whether all segments are to be sent again, and the new ones of each CPU.
    fn advance<'a>(&mut self, segments: &'a Segments, is_over: bool) -> (bool, Vec<&'a [Segment]>) {
        let is_restart = segments.resolution != self.resolution_ns;
        if is_restart {
            self.segments.clear();
            self.resolution_ns = segments.resolution;
        }
        self.segments.resize(segments.of_cpu.len(), 0);
        // The next segment may be merged into the last one.
        let nr_open = usize::from(segments.resolution > 0 && !is_over);
        let new = segments.of_cpu.iter().zip(&mut self.segments).map(|(of_cpu, sent)| {
            let end = of_cpu.len().saturating_sub(nr_open).max(*sent);
            &of_cpu[std::mem::replace(sent, end)..end]
        });
        (is_restart, new.collect())
    }
}

impl PageCollector {
    /// Returns what has been collected since a position, and moves the position. `is_over`: whether the run has ended.
    pub fn part_since(&self, position: &mut StreamPosition, is_over: bool) -> TimelinePart {
        let collected = self.0.borrow();
        let (is_restart, new) = position.advance(&collected.segments, is_over);
        let mut bytes = Vec::new();
        for (segments, running) in new.into_iter().zip(collected.occupants()) {
            put_segments(&mut bytes, segments);
            match running {
                Some((thread, since)) => [thread.index() as u64 + 1, since].iter().for_each(|&it| put(&mut bytes, it)),
                None => put(&mut bytes, 0),
            }
        }
        let first_thread = position.nr_threads;
        position.nr_threads = collected.threads.len();
        TimelinePart { is_restart, resolution_ns: position.resolution_ns, first_thread, segments: bytes }
    }

    /// Sets the length of the run in ns, before its end: a run may end earlier than planned.
    pub fn set_length(&self, length_ns: u64) {
        self.0.borrow_mut().length = length_ns;
    }

    /// Returns averages of CPUs over time as bytes: utilisation, frequency, runnable tasks, idle states.
    pub fn series(&self) -> Vec<u8> {
        self.0.borrow().series()
    }

    /// Returns the lags of all tasks over time, as bytes, and the resolution of the samples in ns.
    pub fn lags(&self) -> (Vec<u8>, u64) {
        let lags = &self.0.borrow().lags;
        (lags.bytes(), lags.resolution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_traces::export::thread::ThreadId;

    fn segment(start: u64) -> Segment {
        let end = start + 10;
        Segment { start, end, thread: ThreadId::MAIN, busy: 10, nr: 1, waited: 0, throttled: 0, rule: 0 }
    }

    #[test]
    fn each_segment_is_sent_once_and_all_again_when_they_have_been_merged() {
        let (mut segments, mut position, mut sent) = (Segments::new(1, 4), StreamPosition::default(), Vec::new());
        let mut nr_restarts = 0;
        for step in 0..40 {
            segments.push(0, segment(step * 15));
            let (is_restart, new) = position.advance(&segments, step == 39);
            nr_restarts += u32::from(is_restart);
            if is_restart {
                sent.clear();
            }
            sent.extend_from_slice(new[0]);
            let open = usize::from(segments.resolution > 0 && step < 39);
            assert_eq!(sent, segments.of_cpu[0][..segments.of_cpu[0].len() - open], "step {step}");
        }
        assert!(nr_restarts > 2, "{nr_restarts}");
        assert_eq!(sent.iter().map(|segment| segment.nr).sum::<u32>(), 40);
    }
}
