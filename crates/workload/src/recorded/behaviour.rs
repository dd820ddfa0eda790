// SPDX-License-Identifier: GPL-2.0-or-later
//! Behaviour of a recorded task: its operations, one after the other, once.

use super::{RecordedOp, SetKey};
use crate::step::{Behaviour, Step, TaskIndex, TimerMode, TimerRef};
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Position of a task in its operations.
#[derive(Debug)]
pub(super) struct RecordedCursor {
    ops: Arc<[RecordedOp]>,
    /// Index of each priority and group in the sets of attributes.
    sets: Arc<BTreeMap<SetKey, usize>>,
    /// Semaphore of the task, which its wakers post.
    own: TaskIndex,
    at: usize,
    /// Last expiry of the task's timer, from the start of the run.
    expiry: Nanos,
    /// Whether the first step must widen the affinity with which the task was forked.
    opens: bool,
}

impl RecordedCursor {
    pub(super) const fn new(
        ops: Arc<[RecordedOp]>,
        sets: Arc<BTreeMap<SetKey, usize>>,
        own: TaskIndex,
        origin: Nanos,
        opens: bool,
    ) -> Self {
        Self { ops, sets, own, at: 0, expiry: origin, opens }
    }
}

impl Behaviour for RecordedCursor {
    fn next(&mut self) -> Step {
        if std::mem::take(&mut self.opens) {
            return Step::SetAttributes(0);
        }
        let Some(&op) = self.ops.get(self.at) else {
            // The trace does not show the rest of the task's life, so the task blocks for good.
            return Step::SemWait(self.own);
        };
        self.at += 1;
        match op {
            RecordedOp::Run(work) => Step::Run(work),
            RecordedOp::Sleep(time) => Step::Sleep(time),
            RecordedOp::Until(at) => {
                let period = at.saturating_since(std::mem::replace(&mut self.expiry, at));
                Step::Timer { timer: TimerRef::Own(0), period, mode: TimerMode::Absolute }
            }
            RecordedOp::Wait => Step::SemWait(self.own),
            RecordedOp::Wake(task) => Step::SemPost(task),
            RecordedOp::Fork(task) => Step::Fork(task),
            RecordedOp::Priority(_) | RecordedOp::Group(_) => Step::SetAttributes(self.sets[&SetKey::from_op(op)]),
            RecordedOp::Exec => Step::Exec,
            RecordedOp::Exit => Step::Exit,
        }
    }
}
