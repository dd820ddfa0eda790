// SPDX-License-Identifier: GPL-2.0-or-later
//! What a thread of rt-app does: phases in their order, each in a loop, all of them in a loop.

use crate::step::{Behaviour, LoopPlace, Step};
use std::sync::Arc;

/// How often something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loops {
    Endless,
    Times(u32),
}

/// A phase.
#[derive(Debug)]
pub(super) struct Phase {
    pub(super) steps: Vec<Step>,
    /// Not 0 times.
    pub(super) loops: Loops,
    /// Attributes that change when the phase begins in the first loop of the thread.
    pub(super) first_attributes: Option<usize>,
    /// Attributes that change when it begins in a later loop.
    pub(super) later_attributes: Option<usize>,
}

/// What all threads of a task do.
#[derive(Debug)]
pub(super) struct Plan {
    /// At least one.
    pub(super) phases: Vec<Phase>,
    pub(super) loops: Loops,
}

/// What a thread does before its first phase: it meets the others at the start, unless it is forked, and waits for its delay.
pub(super) type Prologue = [Option<Step>; 2];

/// Where a thread is in its plan.
#[derive(Debug)]
pub(super) struct RtAppCursor {
    plan: Arc<Plan>,
    /// What comes before the first phase.
    prologue: Prologue,
    place: Place,
    phase: usize,
    phase_loops: u32,
    thread_loops: u32,
}

/// What comes next in the current phase.
#[derive(Clone, Copy, Debug)]
enum Place {
    Prologue(usize),
    Attributes,
    Mark,
    Step(usize),
    End,
}

impl RtAppCursor {
    pub(super) const fn new(plan: Arc<Plan>, prologue: Prologue) -> Self {
        Self { plan, prologue, place: Place::Prologue(0), phase: 0, phase_loops: 0, thread_loops: 0 }
    }

    /// What follows the last event of a phase: the phase again, the next one, the first one, or the end.
    fn after_loop(&mut self) -> Place {
        self.phase_loops = self.phase_loops.saturating_add(1);
        match self.plan.phases[self.phase].loops {
            Loops::Times(times) if self.phase_loops >= times => {}
            _ => return Place::Mark,
        }
        self.phase_loops = 0;
        self.phase += 1;
        if self.phase < self.plan.phases.len() {
            return Place::Attributes;
        }
        self.phase = 0;
        self.thread_loops = self.thread_loops.saturating_add(1);
        match self.plan.loops {
            Loops::Times(times) if self.thread_loops >= times => Place::End,
            _ => Place::Attributes,
        }
    }
}

impl Behaviour for RtAppCursor {
    /// Asked at the mark itself, before its phase goes on.
    fn loop_place(&self) -> Option<LoopPlace> {
        let phase = u32::try_from(self.phase).unwrap_or(u32::MAX);
        Some(LoopPlace { thread_loop: self.thread_loops, phase, phase_loop: self.phase_loops })
    }

    fn next(&mut self) -> Step {
        loop {
            let phase = &self.plan.phases[self.phase];
            let step = match self.place {
                Place::Prologue(at) if at < self.prologue.len() => {
                    self.place = Place::Prologue(at + 1);
                    self.prologue[at]
                }
                Place::Prologue(_) => {
                    let never = self.plan.loops == Loops::Times(0);
                    self.place = if never { Place::End } else { Place::Attributes };
                    None
                }
                Place::Attributes => {
                    self.place = Place::Mark;
                    let set = if self.thread_loops == 0 { phase.first_attributes } else { phase.later_attributes };
                    set.map(Step::SetAttributes)
                }
                Place::Mark => {
                    self.place = Place::Step(0);
                    Some(Step::Mark(u32::try_from(self.phase).unwrap_or(u32::MAX)))
                }
                Place::Step(at) => {
                    let step = phase.steps.get(at).copied();
                    self.place = if step.is_some() { Place::Step(at + 1) } else { self.after_loop() };
                    step
                }
                Place::End => Some(Step::Exit),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }
}
