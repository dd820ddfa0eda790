// SPDX-License-Identifier: GPL-2.0-or-later
//! The program of a scenario's task: a list of operations that repeats, with random lengths.
//!
//! Each random operation draws once, in the order of the program, so drawing at [`Behaviour::next`] gives the values that
//! the grammar promises whenever the machine asks.

use crate::step::{Behaviour, Step, TaskIndex};
use fairlab_sched::units::Nanos;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Number of the first task of a scenario; the others follow in the order of the file.
pub const FIRST_PID: u64 = 1000;

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Run(Nanos),
    RunRandom(RangeInclusive<u64>),
    Sleep(Nanos),
    SleepRandom(RangeInclusive<u64>),
    Wake { target: TaskIndex, sync: bool },
    Wait,
    Yield,
    Exit,
}

/// A program: its operations, and the one after which it goes on behind the last.
#[derive(Debug)]
pub(super) struct Program {
    /// At least one.
    pub(super) ops: Vec<Op>,
    /// Less than the number of operations.
    pub(super) loop_start: usize,
}

/// Where a task is in its program.
#[derive(Debug)]
pub(super) struct Cursor {
    program: Arc<Program>,
    at: usize,
    random: SplitMix64,
}

impl Cursor {
    /// At the start of the program of the task with this place in the file.
    pub(super) fn new(program: Arc<Program>, task: TaskIndex) -> Self {
        Self { program, at: 0, random: SplitMix64::of_task(task) }
    }
}

impl Behaviour for Cursor {
    fn next(&mut self) -> Step {
        let op = &self.program.ops[self.at];
        self.at = if self.at + 1 < self.program.ops.len() { self.at + 1 } else { self.program.loop_start };
        match op {
            Op::Run(length) => Step::Run(*length),
            Op::RunRandom(range) => Step::Run(self.random.draw(range)),
            Op::Sleep(length) => Step::Sleep(*length),
            Op::SleepRandom(range) => Step::Sleep(self.random.draw(range)),
            Op::Wake { target, sync } => Step::Wake { target: *target, sync: *sync },
            Op::Wait => Step::WaitWake,
            Op::Yield => Step::Yield,
            Op::Exit => Step::Exit,
        }
    }
}

/// Steele, Lea and Flood's SplitMix64 ("Fast splittable pseudorandom number generators", 2014).
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

    fn draw(&mut self, range: &RangeInclusive<u64>) -> Nanos {
        // Durations are at most 10^18 and a bit, so the number of values fits.
        Nanos(range.start() + self.next() % (range.end() - range.start() + 1))
    }
}
