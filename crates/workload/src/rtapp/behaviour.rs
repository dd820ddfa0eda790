// SPDX-License-Identifier: GPL-2.0-or-later
//! Behaviour of an rt-app thread: each phase runs in a loop, and the sequence of phases runs in a loop.

use crate::step::{Behaviour, LoopPlace, Step};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoopCount {
    Endless,
    Times(u32),
}

/// Phase of a task: its steps and their repetitions.
#[derive(Debug)]
pub(super) struct RtAppPhase {
    pub(super) steps: Vec<Step>,
    /// Number of repetitions; never `Times(0)`.
    pub(super) loops: LoopCount,
    /// Index of the attributes that the phase sets in the first loop of the thread.
    pub(super) first_attributes: Option<usize>,
    /// Index of the attributes that the phase sets in later loops of the thread.
    pub(super) later_attributes: Option<usize>,
}

/// Program that all threads of a task share.
#[derive(Debug)]
pub(super) struct ThreadProgram {
    /// Phases in their order; at least one.
    pub(super) phases: Vec<RtAppPhase>,
    pub(super) loops: LoopCount,
}

/// Steps of a thread before its first phase: the barrier of the start, unless it is forked, and the wait for
/// its delay.
pub(super) type Prologue = [Option<Step>; 2];

/// Position of a thread in its program.
#[derive(Debug)]
pub(super) struct RtAppCursor {
    plan: Arc<ThreadProgram>,
    prologue: Prologue,
    place: CursorPosition,
    phase: usize,
    phase_loops: u32,
    thread_loops: u32,
}

/// Next step of the current phase.
#[derive(Clone, Copy, Debug)]
enum CursorPosition {
    Prologue(usize),
    Attributes,
    Mark,
    Step(usize),
    End,
}

impl RtAppCursor {
    pub(super) const fn new(plan: Arc<ThreadProgram>, prologue: Prologue) -> Self {
        Self { plan, prologue, place: CursorPosition::Prologue(0), phase: 0, phase_loops: 0, thread_loops: 0 }
    }

    /// Returns the position after the last event of a phase: the phase again, the next one, the first one, or
    /// the end.
    fn after_loop(&mut self) -> CursorPosition {
        self.phase_loops = self.phase_loops.saturating_add(1);
        match self.plan.phases[self.phase].loops {
            LoopCount::Times(times) if self.phase_loops >= times => {}
            _ => return CursorPosition::Mark,
        }
        self.phase_loops = 0;
        self.phase += 1;
        if self.phase < self.plan.phases.len() {
            return CursorPosition::Attributes;
        }
        self.phase = 0;
        self.thread_loops = self.thread_loops.saturating_add(1);
        match self.plan.loops {
            LoopCount::Times(times) if self.thread_loops >= times => CursorPosition::End,
            _ => CursorPosition::Attributes,
        }
    }
}

impl Behaviour for RtAppCursor {
    /// The machine calls it at the mark itself, before the phase continues.
    fn loop_place(&self) -> Option<LoopPlace> {
        let phase = u32::try_from(self.phase).unwrap_or(u32::MAX);
        Some(LoopPlace { thread_loop: self.thread_loops, phase, phase_loop: self.phase_loops })
    }

    fn future_steps(&self) -> Option<Vec<Step>> {
        let is_last = |done: u32, loops| matches!(loops, LoopCount::Times(times) if done.saturating_add(1) >= times);
        let (phases, is_last_loop) = (&self.plan.phases, is_last(self.thread_loops, self.plan.loops));
        let mut steps = Vec::new();
        if let CursorPosition::Prologue(at) = self.place {
            steps.extend(self.prologue.iter().skip(at).flatten());
        }
        let has_ended = matches!(self.place, CursorPosition::End) || self.plan.loops == LoopCount::Times(0);
        if !has_ended {
            let (first, done) = match self.place {
                CursorPosition::Step(at) if is_last(self.phase_loops, phases[self.phase].loops) => (self.phase, at),
                _ => (self.phase, 0),
            };
            let mut is_endless = false;
            for (index, phase) in phases.iter().enumerate().skip(first) {
                steps.extend(phase.steps.iter().skip(if index == first { done } else { 0 }));
                is_endless = phase.loops == LoopCount::Endless;
                if is_endless {
                    break;
                }
            }
            if !is_endless && !is_last_loop {
                steps.extend(phases.iter().flat_map(|phase| &phase.steps));
            }
        }
        Some(steps)
    }

    fn next(&mut self) -> Step {
        loop {
            let phase = &self.plan.phases[self.phase];
            let step = match self.place {
                CursorPosition::Prologue(at) if at < self.prologue.len() => {
                    self.place = CursorPosition::Prologue(at + 1);
                    self.prologue[at]
                }
                CursorPosition::Prologue(_) => {
                    let never = self.plan.loops == LoopCount::Times(0);
                    self.place = if never { CursorPosition::End } else { CursorPosition::Attributes };
                    None
                }
                CursorPosition::Attributes => {
                    self.place = CursorPosition::Mark;
                    let set = if self.thread_loops == 0 { phase.first_attributes } else { phase.later_attributes };
                    set.map(Step::SetAttributes)
                }
                CursorPosition::Mark => {
                    self.place = CursorPosition::Step(0);
                    Some(Step::Mark(u32::try_from(self.phase).unwrap_or(u32::MAX)))
                }
                CursorPosition::Step(at) => {
                    let step = phase.steps.get(at).copied();
                    self.place = if step.is_some() { CursorPosition::Step(at + 1) } else { self.after_loop() };
                    step
                }
                CursorPosition::End => Some(Step::Exit),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the semaphores that a thread may still post after `done` steps, in ascending order.
    fn posts(loops: LoopCount, phases: [LoopCount; 2], done: usize) -> Vec<usize> {
        let phase = |loops, first: usize| RtAppPhase {
            steps: vec![Step::SemPost(first), Step::SemPost(first + 1)],
            loops,
            first_attributes: None,
            later_attributes: None,
        };
        let plan = ThreadProgram { phases: vec![phase(phases[0], 0), phase(phases[1], 2)], loops };
        let mut cursor = RtAppCursor::new(Arc::new(plan), [Some(Step::SemPost(9)), None]);
        (0..done).for_each(|_| _ = cursor.next());
        let steps = cursor.future_steps().expect("a thread can list its steps");
        let post = |step| if let Step::SemPost(semaphore) = step { Some(semaphore) } else { None };
        let mut posts: Vec<usize> = steps.into_iter().filter_map(post).collect();
        posts.sort_unstable();
        posts.dedup();
        posts
    }

    #[test]
    fn future_steps_are_those_that_the_thread_still_reaches() {
        use LoopCount::{Endless, Times};
        assert_eq!(posts(Times(1), [Times(1), Times(1)], 0), [0, 1, 2, 3, 9]);
        // Steps: that of the start, a mark, two steps, a mark, two steps, the end.
        assert_eq!(posts(Times(1), [Times(1), Times(1)], 3), [1, 2, 3]);
        assert_eq!(posts(Times(1), [Times(2), Times(1)], 3), [0, 1, 2, 3]);
        assert_eq!(posts(Times(1), [Times(1), Times(1)], 6), [3]);
        assert_eq!(posts(Times(2), [Times(1), Times(1)], 6), [0, 1, 2, 3]);
        assert_eq!(posts(Times(1), [Times(1), Times(1)], 8), [0; 0]);
        assert_eq!(posts(Endless, [Endless, Times(1)], 3), [0, 1]);
        assert_eq!(posts(Times(0), [Times(1), Times(1)], 0), [9]);
    }
}
