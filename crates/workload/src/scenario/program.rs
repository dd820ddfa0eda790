// SPDX-License-Identifier: GPL-2.0-or-later
//! Program of a scenario's task: a list of operations that repeats, with random lengths.
//!
//! Each random operation draws once, in the order of the program. Drawing in [`Behaviour::next`] therefore
//! gives the values that the grammar defines, at whatever time the machine requests a step.

use crate::step::{Behaviour, ObjectId, Step, TaskIndex, TimerMode, TimerRef};
use fairlab_sched::units::Nanos;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Number of the first task of a scenario; the others follow in the order of the file.
pub const FIRST_PID: u64 = 1000;

/// Operation of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProgramOp {
    Run(Nanos),
    RunRandom(RangeInclusive<u64>),
    Sleep(Nanos),
    SleepRandom(RangeInclusive<u64>),
    RunExponential(Nanos),
    SleepExponential(Nanos),
    Every { timer: usize, period: Nanos },
    Wake { target: TaskIndex, sync: bool },
    Wait,
    Lock(ObjectId),
    Unlock(ObjectId),
    Post(ObjectId),
    Take(ObjectId),
    Point(ObjectId),
    Yield,
    Exit,
}

/// Program: its operations, and the index of the operation that follows the last one.
#[derive(Debug)]
pub(super) struct Program {
    /// Operations in their order; at least one.
    pub(super) ops: Vec<ProgramOp>,
    /// Less than the number of operations.
    pub(super) loop_start: usize,
}

/// Position of a task in its program.
#[derive(Debug)]
pub(super) struct ProgramCursor {
    program: Arc<Program>,
    at: usize,
    random: SplitMix64,
}

impl ProgramCursor {
    /// Returns the start of the program of the task with this index in the file.
    pub(super) fn new(program: Arc<Program>, task: TaskIndex, vary: Option<u64>) -> Self {
        let mut random = SplitMix64::of_task(task);
        if let Some(seed) = vary {
            random.state ^= SplitMix64 { state: seed }.next();
        }
        Self { program, at: 0, random }
    }
}

impl Behaviour for ProgramCursor {
    fn future_steps(&self) -> Option<Vec<Step>> {
        let (ops, loop_start) = (&self.program.ops, self.program.loop_start);
        let (before, after) = ops.split_at(self.at);
        let again = before.get(loop_start..).unwrap_or_default();
        // The random numbers are drawn from a copy.
        let mut random = self.random.clone();
        let mut steps = Vec::with_capacity(after.len() + again.len());
        for op in after.iter().chain(again) {
            steps.push(op.step(&mut random));
            if *op == ProgramOp::Exit {
                break;
            }
        }
        Some(steps)
    }

    fn next(&mut self) -> Step {
        let op = &self.program.ops[self.at];
        self.at = if self.at + 1 < self.program.ops.len() { self.at + 1 } else { self.program.loop_start };
        op.step(&mut self.random)
    }
}

impl ProgramOp {
    fn step(&self, random: &mut SplitMix64) -> Step {
        match self {
            Self::Run(length) => Step::Run(*length),
            Self::RunRandom(range) => Step::Run(random.draw(range)),
            Self::Sleep(length) => Step::Sleep(*length),
            Self::SleepRandom(range) => Step::Sleep(random.draw(range)),
            Self::RunExponential(mean) => Step::Run(random.exponential(*mean)),
            Self::SleepExponential(mean) => Step::Sleep(random.exponential(*mean)),
            Self::Every { timer, period } => {
                Step::Timer { timer: TimerRef::Own(*timer), period: *period, mode: TimerMode::Absolute }
            }
            Self::Wake { target, sync } => Step::Wake { target: *target, sync: *sync },
            Self::Wait => Step::WaitWake,
            Self::Lock(mutex) => Step::Lock(*mutex),
            Self::Unlock(mutex) => Step::Unlock(*mutex),
            Self::Post(semaphore) => Step::SemPost(*semaphore),
            Self::Take(semaphore) => Step::SemWait(*semaphore),
            Self::Point(point) => Step::Point(*point),
            Self::Yield => Step::Yield,
            Self::Exit => Step::Exit,
        }
    }
}

/// Random number generator SplitMix64 of Steele, Lea and Flood ("Fast splittable pseudorandom number
/// generators", 2014).
#[derive(Clone, Debug)]
struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    fn of_task(task: TaskIndex) -> Self {
        let pid = FIRST_PID + task as u64;
        Self { state: 0x00ab_cdef ^ (pid << 20) }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Draws a time from the exponential distribution: the mean times -ln of a number between 0 and 1, in
    /// fixed point with 32 fractional bits. It is at most the longest duration of the grammar.
    fn exponential(&mut self, mean: Nanos) -> Nanos {
        const LONGEST: u128 = 1_000_000_000_000_000_000;
        const LN_2: u128 = 2_977_044_472;
        let nats = (minus_log2(self.next()) * LN_2) >> 32;
        Nanos(((u128::from(mean.0) * nats) >> 32).min(LONGEST) as u64)
    }

    fn draw(&mut self, range: &RangeInclusive<u64>) -> Nanos {
        // The longest duration is 10^18 ns, so the number of values fits into 64 bits.
        Nanos(range.start() + self.next() % (range.end() - range.start() + 1))
    }
}

/// Returns -log2 of (x + 1) / 2^64 with 32 fractional bits: leading zeros, and then bit by bit by squaring.
fn minus_log2(x: u64) -> u128 {
    let Some(number) = x.checked_add(1) else { return 0 };
    let zeros = number.leading_zeros();
    // Between 1 and 2, with 63 fractional bits.
    let mut mantissa = u128::from(number << zeros);
    let mut fraction = 0_u128;
    for _ in 0..32 {
        mantissa = (mantissa * mantissa) >> 63;
        fraction <<= 1;
        if mantissa >= 1 << 64 {
            mantissa >>= 1;
            fraction |= 1;
        }
    }
    (u128::from(zeros + 1) << 32) - fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn future_steps_are_those_that_the_program_still_reaches() {
        let wake = |target| ProgramOp::Wake { target, sync: false };
        let steps = |ops: Vec<ProgramOp>, loop_start, at| {
            let cursor = ProgramCursor { at, ..ProgramCursor::new(Arc::new(Program { ops, loop_start }), 0, None) };
            let targets = cursor.future_steps().expect("a program can list its steps").into_iter();
            let target = |step| if let Step::Wake { target, .. } = step { Some(target) } else { None };
            targets.filter_map(target).collect::<Vec<usize>>()
        };
        assert_eq!(steps(vec![wake(1), wake(2), wake(3)], 1, 0), [1, 2, 3]);
        assert_eq!(steps(vec![wake(1), wake(2), wake(3)], 1, 2), [3, 2]);
        assert_eq!(steps(vec![wake(1), wake(2), ProgramOp::Exit], 0, 1), [2]);
    }

    #[test]
    fn logarithms_are_exact_to_nine_digits() {
        for (x, expected) in [(u64::MAX, 0.0), ((1 << 63) - 1, 1.0), (0, 64.0), (0x7fff_ffff, 33.0)] {
            assert_eq!(minus_log2(x) as f64 / 4_294_967_296.0, expected);
        }
        let third = minus_log2(u64::MAX / 3) as f64 / 4_294_967_296.0;
        assert!((third - 3_f64.log2()).abs() < 1e-9, "{third}");
    }

    #[test]
    fn exponential_times_have_their_mean_and_their_median() {
        let mut random = SplitMix64::of_task(0);
        let mut times: Vec<u64> = (0..20_000).map(|_| random.exponential(Nanos::from_millis(10)).0).collect();
        times.sort_unstable();
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        assert!((mean / 1e7 - 1.0).abs() < 0.03, "{mean}");
        assert!((times[10_000] as f64 / 1e7 - 2_f64.ln()).abs() < 0.03, "{}", times[10_000]);
    }
}
