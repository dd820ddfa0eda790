// SPDX-License-Identifier: GPL-2.0-or-later
//! Threads of a trace: one for each pid, and another one when a pid is used again. Whoever goes through the same events gets the
//! same threads in the same order.

use super::event::{Event, Name, State, UNKNOWN_PID, What, Who};
use std::collections::HashMap;

/// A thread of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its pid.
    pub pid: i32,
    /// The last name that it had.
    pub comm: Name,
}

/// All threads so far, without idle tasks.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    list: Vec<Thread>,
    by_pid: HashMap<i32, usize>,
}

impl Threads {
    /// All of them, in the order in which they were seen first.
    pub fn list(&self) -> &[Thread] {
        &self.list
    }

    /// The thread of a pid; `None` for idle tasks and where the pid is not known.
    pub fn find(&self, pid: i32) -> Option<usize> {
        self.by_pid.get(&pid).copied()
    }

    fn see(&mut self, who: Who) {
        if who.pid <= 0 {
            return;
        }
        match self.find(who.pid) {
            Some(place) if who.comm != Name::default() => self.list[place].comm = who.comm,
            Some(_) => {}
            None => self.add(who),
        }
    }

    fn add(&mut self, who: Who) {
        self.by_pid.insert(who.pid, self.list.len());
        self.list.push(Thread { pid: who.pid, comm: who.comm });
    }

    /// Takes note of the threads that an event names, before it is used.
    pub fn note(&mut self, event: &Event) {
        match event.what {
            What::Switch { prev, next, .. } => {
                self.see(prev);
                self.see(next);
            }
            What::Waking { who } | What::Wakeup { who, .. } | What::Rename { who } => self.see(who),
            // A pid that is forked is another thread than the one that had it before.
            What::Fork { child, .. } if child.pid > 0 => self.add(child),
            _ => {}
        }
    }

    /// Forgets that a pid is in use, after the event in which its thread ended was used.
    pub fn forget_dead(&mut self, event: &Event) {
        if let What::Switch { prev, state: State::Dead, .. } = event.what
            && prev.pid != UNKNOWN_PID
        {
            self.by_pid.remove(&prev.pid);
        }
    }
}
