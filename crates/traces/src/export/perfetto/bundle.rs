// SPDX-License-Identifier: GPL-2.0-or-later
//! Events of a CPU as Perfetto's `FtraceEventBundle`: switches and wakings in columns (`compact_sched`), all
//! others one by one.

use super::proto::{Packed, put_bytes, put_message, put_number, put_signed};
use crate::export::record::{RecordKind, TraceRecord};
use crate::export::thread::{ThreadId, ThreadInfo, ThreadTable};
use crate::export::tracepoint::values::{LEFT_IDLE_STATE, MARK_WRITE_ADDRESS, reason, state_bits};
use std::collections::BTreeMap;

const MAX_BUNDLE_BYTES: usize = 1 << 15;
/// Field numbers of the protocol's `FtraceEventBundle`.
const CPU: u32 = 1;
const EVENT: u32 = 2;
const COMPACT_SCHED: u32 = 4;
/// Field of `CompactSched` for the interned names.
const NAMES: u32 = 5;
/// Field numbers of the protocol's `FtraceEvent`.
const TIMESTAMP: u32 = 1;
const PID: u32 = 2;

/// Columns of `CompactSched`. The first has the times, as differences.
#[derive(Default)]
struct Columns {
    columns: [Packed; 6],
    last: u64,
    nr_rows: usize,
}

impl Columns {
    fn push(&mut self, at: u64, values: &[u64]) {
        let delta = at - std::mem::replace(&mut self.last, at);
        let row = std::iter::once(delta).chain(values.iter().copied());
        self.columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        self.nr_rows += 1;
    }
}

#[derive(Default)]
pub(super) struct BundleWriter {
    /// Fields 1 to 4 and 6 (field 5 is the list of names): time, `prev_state`, `next_pid`, `next_prio`, name.
    switches: Columns,
    /// Fields 7 to 12: time, pid, `target_cpu`, prio, name, flags.
    wakings: Columns,
    names: Vec<u8>,
    named: BTreeMap<ThreadId, u64>,
    events: Vec<u8>,
}

impl BundleWriter {
    /// Adds a record. Returns whether the bundle is large enough to be written.
    pub(super) fn push(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) -> bool {
        let at = record.at.0;
        match record.what {
            RecordKind::Switch { prev_state, next, .. } => {
                let (name, info) = (self.name(threads, next), threads.get(next));
                let state = state_bits(prev_state) as u64;
                self.switches.push(at, &[state, info.pid as u64, i64::from(info.prio) as u64, name]);
            }
            RecordKind::Waking { thread, target_cpu, .. } => {
                let (name, info) = (self.name(threads, thread), threads.get(thread));
                let (prio, flags) = (i64::from(info.prio) as u64, record.what.flags().into());
                self.wakings.push(at, &[info.pid as u64, target_cpu.0.into(), prio, name, flags]);
            }
            _ => put_event(&mut self.events, threads, record),
        }
        self.events.len() + 8 * (self.switches.nr_rows + self.wakings.nr_rows) > MAX_BUNDLE_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.switches.nr_rows + self.wakings.nr_rows == 0
    }

    fn name(&mut self, threads: &ThreadTable, thread: ThreadId) -> u64 {
        let next = self.named.len() as u64;
        *self.named.entry(thread).or_insert_with(|| {
            put_bytes(&mut self.names, NAMES, threads.get(thread).comm.as_str().as_bytes());
            next
        })
    }

    pub(super) fn take_into(&mut self, bytes: &mut Vec<u8>, cpu: u32) {
        put_number(bytes, CPU, cpu.into());
        bytes.append(&mut self.events);
        let (switches, wakings) = (std::mem::take(&mut self.switches), std::mem::take(&mut self.wakings));
        put_message(bytes, COMPACT_SCHED, |bytes| {
            for (field, mut column) in [1, 2, 3, 4, 6].into_iter().zip(switches.columns) {
                if field > NAMES {
                    bytes.append(&mut self.names);
                }
                column.take_into(bytes, field);
            }
            (7..).zip(wakings.columns).for_each(|(field, mut column)| column.take_into(bytes, field));
        });
        self.named.clear();
    }
}

/// Appends an event that has no columns. Fields and their numbers are those of Perfetto's `ftrace` protocol.
fn put_event(bytes: &mut Vec<u8>, threads: &ThreadTable, record: &TraceRecord<'_>) {
    let named = |bytes: &mut Vec<u8>, thread: ThreadId, comm: u32, pid: u32| {
        let info = threads.get(thread);
        put_bytes(bytes, comm, info.comm.as_str().as_bytes());
        put_signed(bytes, pid, info.pid.into());
    };
    let full = |bytes: &mut Vec<u8>, thread: ThreadId, prio: u32| {
        named(bytes, thread, 1, 2);
        put_signed(bytes, prio, threads.get(thread).prio.into());
    };
    let current = threads.get(record.current);
    let mut event = |field: u32, put: &dyn Fn(&mut Vec<u8>)| {
        put_message(bytes, EVENT, |bytes| {
            put_number(bytes, TIMESTAMP, record.at.0);
            put_number(bytes, PID, current.pid as u64);
            put_message(bytes, field, put);
        });
    };
    match record.what {
        RecordKind::Wakeup { thread, target_cpu, is_new } => event(if is_new { 114 } else { 17 }, &|bytes| {
            full(bytes, thread, 3);
            put_number(bytes, 5, target_cpu.0.into());
        }),
        RecordKind::Migrate { thread, orig_cpu, dest_cpu } => event(491, &|bytes| {
            full(bytes, thread, 3);
            put_number(bytes, 4, orig_cpu.0.into());
            put_number(bytes, 5, dest_cpu.0.into());
        }),
        RecordKind::Fork { parent, child } => {
            event(239, &|bytes| {
                named(bytes, parent, 1, 2);
                named(bytes, child, 3, 4);
            });
            event(236, &|bytes| {
                let &ThreadInfo { pid, comm, .. } = threads.get(child);
                put_signed(bytes, 1, pid.into());
                put_bytes(bytes, 2, threads.get(parent).comm.as_str().as_bytes());
                put_bytes(bytes, 3, comm.as_str().as_bytes());
                put_signed(bytes, 4, 0);
            });
        }
        RecordKind::Exit { thread } => event(238, &|bytes| {
            named(bytes, thread, 1, 2);
            put_signed(bytes, 3, threads.get(thread).tgid.into());
            put_signed(bytes, 4, threads.get(thread).prio.into());
        }),
        RecordKind::Setprio { thread, oldprio, newprio } => event(353, &|bytes| {
            put_bytes(bytes, 1, threads.get(thread).comm.as_str().as_bytes());
            put_signed(bytes, 2, newprio.into());
            put_signed(bytes, 3, oldprio.into());
            put_signed(bytes, 4, threads.get(thread).pid.into());
        }),
        RecordKind::Idle { cpu_id, state } => event(13, &|bytes| {
            put_number(bytes, 1, state.unwrap_or(LEFT_IDLE_STATE).into());
            put_number(bytes, 2, cpu_id.0.into());
        }),
        RecordKind::Frequency { cpu_id, khz } => event(11, &|bytes| {
            put_number(bytes, 1, khz);
            put_number(bytes, 2, cpu_id.0.into());
        }),
        RecordKind::Ipi { target, kind } => event(23, &|bytes| {
            // The field is a mask of 32 bits, so it can name only the first 32 CPUs.
            put_number(bytes, 1, if target.0 < 32 { 1 << target.0 } else { 0 });
            put_bytes(bytes, 2, reason(kind).1.as_bytes());
        }),
        RecordKind::Marker(marker) => event(3, &|bytes| {
            put_number(bytes, 1, MARK_WRITE_ADDRESS);
            put_bytes(bytes, 2, format!("{}\n", marker.text()).as_bytes());
        }),
        _ => {}
    }
}
