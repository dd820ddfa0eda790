// SPDX-License-Identifier: GPL-2.0-or-later
//! Lags and deadlines of tasks over time (since 6.6), in a bounded number of samples.
//!
//! A task has a sample at each of its wake-ups and switches. Samples of a task in one interval of the resolution are
//! merged: the one with the largest lag stays, positive or negative. When the number of samples exceeds its limit, the
//! resolution doubles. A new sample is merged at the resolution of that time, so the resolution follows the length of
//! the run, not the number of samples.
//!
//! With a limit of M samples and N threads in a time T, the resolution is at most 2 N T / (M - N). Unless samples of a
//! thread have equal times, at least M / 2 of them remain.

use super::encode::put;
use fairlab_measure::slot_mut;
use fairlab_sched::ids::CpuId;
use fairlab_sched::interface::lag::LagMoment;
use fairlab_traces::export::record::TaskLag;
use fairlab_traces::export::thread::ThreadId;

/// Added to the phase of a sample on a different CPU than the previous one: lags of different queues are not
/// connected by a line.
const MOVED: u64 = 4;

/// Lag and deadline of a task at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LagSample {
    /// Time from the start of the run, in ns.
    at: u64,
    /// CPU of the queue that the task is on, or was on.
    cpu: CpuId,
    phase: Phase,
    /// Lag in ns of virtual time: positive if the task is owed service.
    lag: i64,
    /// Virtual time until the task's virtual deadline, in ns; negative if it has passed. 0 for a task that is not queued.
    until_deadline: i64,
}

impl LagSample {
    /// Merges the thread's next sample into this one if both are in one interval of the resolution. Returns whether it
    /// has.
    fn try_merge(&mut self, next: &Self, resolution: u64) -> bool {
        let is_close = resolution > 0 && next.at / resolution == self.at / resolution;
        if is_close && next.lag.unsigned_abs() > self.lag.unsigned_abs() {
            *self = *next;
        }
        is_close
    }
}

/// State of a task from a sample to the next one. The script of the page knows the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waits = 0,
    Runs = 1,
    Sleeps = 2,
    /// The task sleeps, and is still queued until its lag is no longer negative (DELAY_DEQUEUE).
    SleepsQueued = 3,
}

#[derive(Debug, Default)]
pub(super) struct Lags {
    of_thread: Vec<Vec<LagSample>>,
    nr: usize,
    max_samples: usize,
    /// Samples of a task in one interval of this length, in ns, are merged; 0 while nothing is merged.
    pub(super) resolution: u64,
}

impl Lags {
    pub(super) fn new(max_samples: usize) -> Self {
        Self { max_samples, ..Self::default() }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.nr == 0
    }

    /// Adds a sample, which is not earlier than the last one of its thread.
    pub(super) fn push(&mut self, at: u64, cpu: CpuId, thread: ThreadId, lag: &TaskLag) {
        let phase = match lag.moment {
            LagMoment::SwitchTo => Phase::Runs,
            _ if lag.is_delayed => Phase::SleepsQueued,
            _ if lag.deadline.is_none() => Phase::Sleeps,
            _ => Phase::Waits,
        };
        let until_deadline = lag.deadline.map_or(0, |deadline| deadline.wrapping_sub(lag.avg_vruntime));
        let sample = LagSample { at, cpu, phase, lag: lag.lag, until_deadline };
        let samples = slot_mut(&mut self.of_thread, thread.index());
        debug_assert!(samples.last().is_none_or(|last| last.at <= at), "the samples of a thread are in order");
        if samples.last_mut().is_some_and(|last| last.try_merge(&sample, self.resolution)) {
            return;
        }
        samples.push(sample);
        self.nr += 1;
        // With a resolution beyond the last time, each thread has one sample.
        while self.nr > self.max_samples && self.resolution <= at {
            self.resolution = (self.resolution * 2).max(1);
            let resolution = self.resolution;
            for samples in &mut self.of_thread {
                samples.dedup_by(|next, kept| kept.try_merge(next, resolution));
            }
            self.nr = self.of_thread.iter().map(Vec::len).sum();
        }
    }

    /// Encodes all samples. Each number has a variable length; signed ones have their sign in the lowest bit.
    ///
    /// A thread with samples starts with its index and its number of samples. The fields of a sample are:
    /// 1. time in ns since the thread's previous sample
    /// 2. phase, plus [`MOVED`] if the thread's previous sample is of a different CPU
    /// 3. lag
    /// 4. virtual time until the deadline
    pub(super) fn bytes(&self) -> Vec<u8> {
        let signed = |number: i64| ((number << 1) ^ (number >> 63)) as u64;
        let mut bytes = Vec::new();
        for (thread, samples) in self.of_thread.iter().enumerate().filter(|(_, samples)| !samples.is_empty()) {
            put(&mut bytes, thread as u64);
            put(&mut bytes, samples.len() as u64);
            let (mut last, mut cpu) = (0, samples[0].cpu);
            for sample in samples {
                put(&mut bytes, sample.at - last);
                put(&mut bytes, sample.phase as u64 + if sample.cpu == cpu { 0 } else { MOVED });
                put(&mut bytes, signed(sample.lag));
                put(&mut bytes, signed(sample.until_deadline));
                (last, cpu) = (sample.at, sample.cpu);
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::ids::TaskId;

    fn lag(moment: LagMoment, lag: i64, deadline: Option<i64>) -> TaskLag {
        TaskLag {
            moment,
            is_delayed: false,
            vruntime: 100 - lag,
            avg_vruntime: 100,
            lag,
            deadline,
            slice: 3,
            weight: 1024,
        }
    }

    #[test]
    fn a_sample_has_its_phase_a_mark_of_a_different_cpu_its_lag_and_the_way_to_its_deadline() {
        let mut lags = Lags::new(100);
        assert!(lags.is_empty());
        let mut push = |at, cpu, lag: TaskLag| lags.push(at, CpuId(cpu), ThreadId::MAIN, &lag);
        push(10, 3, lag(LagMoment::Wakeup, 0, Some(103)));
        push(12, 2, lag(LagMoment::SwitchTo, 2, Some(99)));
        push(15, 2, lag(LagMoment::SwitchFrom, -2, None));
        push(16, 2, TaskLag { is_delayed: true, ..lag(LagMoment::SwitchFrom, -1, Some(101)) });
        assert_eq!(lags.bytes(), [0, 4, 10, 0, 0, 6, 2, 1 + 4, 4, 1, 3, 2, 3, 0, 1, 3, 1, 2]);
    }

    #[test]
    fn of_merged_samples_the_first_of_the_largest_lags_stays() {
        let mut lags = Lags::new(100);
        (0..3).for_each(|at| lags.push(at, CpuId(0), ThreadId::MAIN, &lag(LagMoment::Wakeup, at as i64, Some(0))));
        let [small, large, larger] = lags.of_thread[0][..] else { panic!("three samples") };
        let negative = LagSample { lag: -larger.lag, ..small };
        let mut merged = small;
        assert!(merged.try_merge(&large, 10) && merged.lag == large.lag);
        assert!(merged.try_merge(&larger, 10) && merged.try_merge(&negative, 10) && merged.lag == larger.lag);
        assert!(!merged.try_merge(&large, 0), "without a resolution samples stay");
    }

    #[test]
    fn close_samples_are_merged_into_the_one_with_the_largest_lag() {
        let mut lags = Lags::new(100);
        for step in 0..101_u64 {
            let lag = lag(LagMoment::Wakeup, if step == 50 { -9 } else { 1 }, Some(0));
            lags.push(1_000 * step, CpuId(0), ThreadId::MAIN, &lag);
        }
        let samples = &lags.of_thread[0];
        assert_eq!((samples.len(), lags.nr, lags.resolution), (98, 98, 1 << 10));
        assert!(samples.iter().any(|sample| sample.at == 50_000 && sample.lag == -9));
        assert!(samples.is_sorted_by_key(|sample| sample.at));
    }

    #[test]
    fn ten_times_the_limit_of_samples_stay_in_order_at_a_resolution_near_the_limit() {
        const MAX_SAMPLES: usize = 1000;
        for nr_threads in [1_u64, 7, 40] {
            let (mut lags, nr) = (Lags::new(MAX_SAMPLES), 10 * MAX_SAMPLES as u64);
            for step in 0..nr {
                let thread = ThreadId::from_task(TaskId::from_index((step % nr_threads) as usize));
                lags.push(1_500 * step, CpuId(0), thread, &lag(LagMoment::Wakeup, (step % 13) as i64 - 6, Some(0)));
                assert!(lags.nr <= MAX_SAMPLES, "{} samples", lags.nr);
            }
            let count: usize = lags.of_thread.iter().map(Vec::len).sum();
            assert_eq!(count, lags.nr);
            assert!(count >= MAX_SAMPLES / 4, "{count} of {MAX_SAMPLES} samples, {nr_threads} threads");
            for samples in &lags.of_thread {
                assert!(samples.windows(2).all(|pair| pair[0].at < pair[1].at), "{nr_threads} threads");
            }
            let bound = 2 * nr_threads * 1_500 * nr / (MAX_SAMPLES as u64 - nr_threads);
            assert!(lags.resolution <= bound, "{} above {bound}, {nr_threads} threads", lags.resolution);
            assert!(!lags.bytes().is_empty());
        }
    }

    #[test]
    fn more_threads_than_samples_have_one_sample_each() {
        let mut lags = Lags::new(2);
        for step in 0..3_000_u64 {
            let thread = ThreadId::from_task(TaskId::from_index((step % 3) as usize));
            lags.push(step, CpuId(0), thread, &lag(LagMoment::Wakeup, 1, Some(0)));
        }
        assert_eq!((lags.nr, lags.resolution), (3, 4096));
    }
}
