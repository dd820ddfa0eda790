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
