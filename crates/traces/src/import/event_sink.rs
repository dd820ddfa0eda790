// SPDX-License-Identifier: GPL-2.0-or-later
//! Trace sink that turns a run into the event stream of an imported trace.

use super::event::{Context, NameTable, ThreadRef, TraceEvent, TraceEventKind};
use crate::export::TraceSink;
use crate::export::record::{RecordKind, TraceRecord};
use crate::export::thread::{ThreadId, ThreadTable};
use std::cell::RefCell;
use std::rc::Rc;

/// Callback for each event, with the table of thread names.
pub type TraceEventFn = Rc<RefCell<dyn FnMut(&TraceEvent, &NameTable)>>;

/// Trace sink that passes events to a callback.
pub struct TraceEventSink {
    names: NameTable,
    to: TraceEventFn,
}

impl TraceEventSink {
    /// Creates a sink that calls `to` for each event.
    pub fn new(to: TraceEventFn) -> Self {
        Self { names: NameTable::default(), to }
    }

    fn thread_ref(&mut self, threads: &ThreadTable, thread: ThreadId) -> ThreadRef {
        let info = threads.get(thread);
        ThreadRef { pid: info.pid, comm: self.names.intern(info.comm.as_str()), prio: Some(info.prio) }
    }

    fn event_kind(&mut self, threads: &ThreadTable, what: &RecordKind<'_>) -> Option<TraceEventKind> {
        Some(match *what {
            RecordKind::Switch { prev, prev_state, next } => TraceEventKind::Switch {
                prev: self.thread_ref(threads, prev),
                state: prev_state,
                next: self.thread_ref(threads, next),
            },
            RecordKind::Waking { thread, .. } => {
                TraceEventKind::Waking { thread_ref: self.thread_ref(threads, thread) }
            }
            RecordKind::Wakeup { thread, target_cpu, is_new } => {
                TraceEventKind::Wakeup { thread_ref: self.thread_ref(threads, thread), cpu: target_cpu.0, is_new }
            }
            RecordKind::Migrate { thread, dest_cpu, .. } => {
                TraceEventKind::Migrate { pid: threads.get(thread).pid, to: dest_cpu.0 }
            }
            RecordKind::Fork { parent, child } => {
                TraceEventKind::Fork { parent: threads.get(parent).pid, child: self.thread_ref(threads, child) }
            }
            RecordKind::Exit { thread } => TraceEventKind::Exit { pid: threads.get(thread).pid },
            RecordKind::Idle { cpu_id, state } => TraceEventKind::Idle { cpu: cpu_id.0, state },
            RecordKind::Frequency { cpu_id, khz } => TraceEventKind::Frequency { cpu: cpu_id.0, khz },
            _ => return None,
        })
    }
}

impl TraceSink for TraceEventSink {
    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        let Some(what) = self.event_kind(threads, &record.what) else { return };
        let context = match record.what {
            RecordKind::Waking { by_interrupt: true, .. } => Context::Interrupt,
            _ => Context::Thread,
        };
        let pid = threads.get(record.current).pid;
        let event = TraceEvent { at: record.at.0, cpu: record.cpu.0, pid, context, kind: what };
        (self.to.borrow_mut())(&event, &self.names);
    }
}
