// SPDX-License-Identifier: GPL-2.0-or-later
//! What a recorded task does: its operations, one after the other, once.

use super::{Op, SetKey};
use crate::step::{Behaviour, Step, TaskIndex, TimerMode, TimerRef};
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a task is in its operations.
#[derive(Debug)]
pub(super) struct Cursor {
    ops: Arc<[Op]>,
    /// Places of priorities and groups among the sets of attributes.
    sets: Arc<BTreeMap<SetKey, usize>>,
    /// The task's own semaphore.
    own: TaskIndex,
    at: usize,
    /// The last expiry of its timer.
    expiry: Nanos,
    /// Whether it first has to open the mask with which it was forked.
    opens: bool,
}

impl Cursor {
    pub(super) const fn new(
        ops: Arc<[Op]>,
        sets: Arc<BTreeMap<SetKey, usize>>,
        own: TaskIndex,
        origin: Nanos,
        opens: bool,
    ) -> Self {
        Self { ops, sets, own, at: 0, expiry: origin, opens }
    }
}

impl Behaviour for Cursor {
    fn next(&mut self) -> Step {
        if std::mem::take(&mut self.opens) {
            return Step::SetAttributes(0);
        }
        let Some(&op) = self.ops.get(self.at) else {
            // Nobody knows what it would have done.
            return Step::SemWait(self.own);
        };
        self.at += 1;
        match op {
            Op::Run(work) => Step::Run(work),
            Op::Sleep(time) => Step::Sleep(time),
            Op::Until(at) => {
                let period = at.saturating_since(std::mem::replace(&mut self.expiry, at));
                Step::Timer { timer: TimerRef::Own(0), period, mode: TimerMode::Absolute }
            }
            Op::Wait => Step::SemWait(self.own),
            Op::Wake(task) => Step::SemPost(task),
            Op::Fork(task) => Step::Fork(task),
            Op::Priority(_) | Op::Group(_) => Step::SetAttributes(self.sets[&SetKey::of(op)]),
            Op::Exec => Step::Exec,
            Op::Exit => Step::Exit,
        }
    }
}
