// SPDX-License-Identifier: GPL-2.0-or-later
//! Threads of a trace, one per pid; a pid that is used again is a new thread. Every pass over the same events
//! yields the same threads in the same order.

use super::event::{InternedName, ThreadRef, TraceEvent, TraceEventKind, UNKNOWN_PID};
use fairlab_sched::ctx::PrevState;
use std::collections::HashMap;

/// Thread of a trace, with its last name.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceThread {
    pub pid: i32,
    pub comm: InternedName,
}

/// Threads seen so far, without idle tasks.
#[derive(Clone, Debug, Default)]
pub struct TraceThreads {
    list: Vec<TraceThread>,
    by_pid: HashMap<i32, usize>,
}

impl TraceThreads {
    /// All threads, in the order of their first event.
    pub fn list(&self) -> &[TraceThread] {
        &self.list
    }

    /// Returns the index of the thread with this pid; `None` for idle tasks and unknown pids.
    pub fn find(&self, pid: i32) -> Option<usize> {
        self.by_pid.get(&pid).copied()
    }

    fn register(&mut self, thread_ref: ThreadRef) {
        match self.find(thread_ref.pid) {
            Some(place) if thread_ref.comm != InternedName::default() => self.list[place].comm = thread_ref.comm,
            None if thread_ref.pid > 0 => self.add(thread_ref),
            _ => {}
        }
    }

    fn add(&mut self, thread_ref: ThreadRef) {
        self.by_pid.insert(thread_ref.pid, self.list.len());
        self.list.push(TraceThread { pid: thread_ref.pid, comm: thread_ref.comm });
    }

    /// Adds the threads that an event names. To be called before the event is processed.
    pub fn register_threads(&mut self, event: &TraceEvent) {
        match event.kind {
            TraceEventKind::Switch { prev, next, .. } => {
                self.register(prev);
                self.register(next);
            }
            TraceEventKind::Waking { thread_ref }
            | TraceEventKind::Wakeup { thread_ref, .. }
            | TraceEventKind::Rename { thread_ref } => {
                self.register(thread_ref);
            }
            // A forked pid is a new thread, even if the pid was used before.
            TraceEventKind::Fork { child, .. } if child.pid > 0 => self.add(child),
            _ => {}
        }
    }

    /// Frees the pid of a thread that exits. To be called after its last event is processed.
    pub fn remove_dead(&mut self, event: &TraceEvent) {
        if let TraceEventKind::Switch { prev, state: PrevState::Dead, .. } = event.kind
            && prev.pid != UNKNOWN_PID
        {
            self.by_pid.remove(&prev.pid);
        }
    }
}
