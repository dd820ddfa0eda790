// SPDX-License-Identifier: GPL-2.0-or-later
//! A run as the stream of events that traces become.

use super::event::{Context, Event, Name, Names, State, What, Who};
use crate::export::record::{self, Record};
use crate::export::{Sink, thread};
use fairlab_machine::engine::Machine;
use fairlab_sched::ctx::PrevState;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;

/// Who hears of events.
pub type Listener = Rc<RefCell<dyn FnMut(&Event, &Names)>>;

/// Turns records of a run into events.
pub struct Listening {
    names: Names,
    to: Listener,
}

impl Listening {
    /// Tells somebody.
    pub fn new(to: Listener) -> Self {
        Self { names: Names::default(), to }
    }

    fn who(&mut self, threads: &thread::Threads, thread: thread::Thread) -> Who {
        let info = threads.get(thread);
        let comm: Name = self.names.of(info.comm.as_str());
        Who { pid: info.pid, comm, prio: Some(info.prio) }
    }

    fn what(&mut self, threads: &thread::Threads, what: &record::What<'_>) -> Option<What> {
        Some(match *what {
            record::What::Switch { prev, prev_state, next } => What::Switch {
                prev: self.who(threads, prev),
                state: match prev_state {
                    PrevState::Runnable => State::Runnable,
                    PrevState::Blocked => State::Blocked,
                    PrevState::Dead => State::Dead,
                },
                next: self.who(threads, next),
            },
            record::What::Waking { thread, .. } => What::Waking { who: self.who(threads, thread) },
            record::What::Wakeup { thread, target_cpu, is_new } => {
                What::Wakeup { who: self.who(threads, thread), cpu: target_cpu.0, is_new }
            }
            record::What::Migrate { thread, dest_cpu, .. } => {
                What::Migrate { pid: threads.get(thread).pid, to: dest_cpu.0 }
            }
            record::What::Fork { parent, child } => {
                What::Fork { parent: threads.get(parent).pid, child: self.who(threads, child) }
            }
            record::What::Exit { thread } => What::Exit { pid: threads.get(thread).pid },
            record::What::Idle { cpu_id, state } => What::Idle { cpu: cpu_id.0, state },
            record::What::Frequency { cpu_id, khz } => What::Frequency { cpu: cpu_id.0, khz },
            _ => return None,
        })
    }
}

impl Sink for Listening {
    fn begin(&mut self, _machine: &Machine) {}

    fn record(&mut self, threads: &thread::Threads, record: &Record<'_>) {
        let Some(what) = self.what(threads, &record.what) else { return };
        let context = match record.what {
            record::What::Waking { by_interrupt: true, .. } => Context::Interrupt,
            _ => Context::Thread,
        };
        let pid = threads.get(record.current).pid;
        let event = Event { at: record.at.0, cpu: record.cpu.0, pid, context, what };
        (self.to.borrow_mut())(&event, &self.names);
    }

    fn finish(&mut self, _threads: &thread::Threads) -> io::Result<()> {
        Ok(())
    }

    fn has_failed(&self) -> bool {
        false
    }
}
