// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects that events name. rt-app creates each at its first mention.

use crate::object_names::ObjectNames;
use crate::step::{ObjectId, TimerMode};
use crate::workload::Objects;

/// Timers, and which of them keep their grid after a miss. In rt-app that is a property of the timer: one
/// event with `absolute` sets it for all events that name the timer.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    pub(super) names: ObjectNames,
    absolute: Vec<bool>,
}

impl Timers {
    pub(super) fn id(&mut self, name: &str, absolute: bool) -> ObjectId {
        let id = self.names.id(name);
        self.absolute.resize(self.names.list().len(), false);
        self.absolute[id] |= absolute;
        id
    }

    pub(super) fn mode(&self, id: ObjectId) -> TimerMode {
        if self.absolute[id] { TimerMode::Absolute } else { TimerMode::Relative }
    }
}

/// Barriers with their numbers of participants: every mention adds the instances of its task.
#[derive(Clone, Debug, Default)]
pub(super) struct Barriers {
    names: ObjectNames,
    participants: Vec<u32>,
}

impl Barriers {
    pub(super) fn id(&mut self, name: &str, instances: u32) -> ObjectId {
        let id = self.names.id(name);
        self.participants.resize(self.names.list().len(), 0);
        self.participants[id] = self.participants[id].saturating_add(instances);
        id
    }

    pub(super) fn len(&self) -> usize {
        self.names.list().len()
    }

    pub(super) fn participants(&self, id: ObjectId) -> u32 {
        self.participants[id]
    }

    /// Names of the barriers without participants, which never open.
    pub(super) fn without_participants(&self) -> impl Iterator<Item = &str> {
        let pairs = self.names.list().iter().zip(&self.participants);
        pairs.filter(|(_, participants)| **participants == 0).map(|(name, _)| name.as_str())
    }
}

/// All objects that threads share.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedObjects {
    /// Events that suspend under a name other than the task's own: byte offset, task, name.
    pub(super) suspended_as: Vec<(usize, String, String)>,
    pub(super) mutexes: ObjectNames,
    pub(super) conds: ObjectNames,
    pub(super) barriers: Barriers,
    pub(super) semaphores: ObjectNames,
    pub(super) timers: Timers,
    pub(super) suspends: ObjectNames,
    pub(super) points: ObjectNames,
}

impl SharedObjects {
    /// Returns names that are used both for conditions and for suspending. In rt-app they are one object.
    pub(super) fn cond_and_suspend_names(&self) -> impl Iterator<Item = &str> {
        self.conds.list().iter().filter(|name| self.suspends.contains(name)).map(String::as_str)
    }

    pub(super) fn into_objects(self, priority_inheritance: bool) -> Objects {
        let Barriers { names, participants } = self.barriers;
        Objects {
            mutexes: self.mutexes.into_list(),
            conds: self.conds.into_list(),
            barriers: names.into_list().into_iter().zip(participants).collect(),
            semaphores: self.semaphores.into_list(),
            untaken_semaphores: Vec::new(),
            start_barrier: None,
            timers: self.timers.names.into_list(),
            suspends: self.suspends.into_list(),
            points: self.points.into_list(),
            priority_inheritance,
            channels: Vec::new(),
            futexes: 0,
            lists: 0,
        }
    }
}
