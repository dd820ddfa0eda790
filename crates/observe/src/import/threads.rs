// SPDX-License-Identifier: GPL-2.0-or-later
//! Threads of a trace: one for each pid, and another one when a pid is used again. Whoever goes through the same events gets the
//! same threads in the same order.

use super::event::{InternedName, ThreadRef, ThreadState, TraceEvent, TraceEventKind, UNKNOWN_PID};
use std::collections::HashMap;

/// A thread of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceThread {
    /// Its pid.
    pub pid: i32,
    /// The last name that it had.
    pub comm: InternedName,
}

/// All threads so far, without idle tasks.
#[derive(Clone, Debug, Default)]
pub struct TraceThreads {
    list: Vec<TraceThread>,
    by_pid: HashMap<i32, usize>,
}

impl TraceThreads {
    /// All of them, in the order in which they were seen first.
    pub fn list(&self) -> &[TraceThread] {
        &self.list
    }

    /// The thread of a pid; `None` for idle tasks and where the pid is not known.
    pub fn find(&self, pid: i32) -> Option<usize> {
        self.by_pid.get(&pid).copied()
    }

    fn register(&mut self, who: ThreadRef) {
        if who.pid <= 0 {
            return;
        }
        match self.find(who.pid) {
            Some(place) if who.comm != InternedName::default() => self.list[place].comm = who.comm,
            Some(_) => {}
            None => self.add(who),
        }
    }

    fn add(&mut self, who: ThreadRef) {
        self.by_pid.insert(who.pid, self.list.len());
        self.list.push(TraceThread { pid: who.pid, comm: who.comm });
    }

    /// Takes note of the threads that an event names, before it is used.
    pub fn register_threads(&mut self, event: &TraceEvent) {
        match event.kind {
            TraceEventKind::Switch { prev, next, .. } => {
                self.register(prev);
                self.register(next);
            }
            TraceEventKind::Waking { who } | TraceEventKind::Wakeup { who, .. } | TraceEventKind::Rename { who } => {
                self.register(who)
            }
            // A pid that is forked is another thread than the one that had it before.
            TraceEventKind::Fork { child, .. } if child.pid > 0 => self.add(child),
            _ => {}
        }
    }

    /// Forgets that a pid is in use, after the event in which its thread ended was used.
    pub fn remove_dead(&mut self, event: &TraceEvent) {
        if let TraceEventKind::Switch { prev, state: ThreadState::Dead, .. } = event.kind
            && prev.pid != UNKNOWN_PID
        {
            self.by_pid.remove(&prev.pid);
        }
    }
}
