// SPDX-License-Identifier: GPL-2.0-or-later
//! Tracepoints that the import uses, and their conversion to events, independent of the file format.

use super::event::{
    Context, InternedName, Recording, ThreadRef, TraceEvent, TraceEventKind, UNKNOWN_PID, state_from_bits,
};
use super::file_order::TimeStamp;
use fairlab_sched::ctx::PrevState;
use std::borrow::Cow;

pub(super) trait TracepointFields {
    fn number(&self, name: &str) -> Option<i64>;

    fn text(&self, name: &str) -> Option<Cow<'_, str>>;

    /// Returns the state of a thread that is switched out: from bits, unless the format prints letters.
    fn state(&self, name: &str) -> Option<PrevState> {
        self.number(name).map(state_from_bits)
    }
}

/// Declares the tracepoints that the import uses, with their names.
macro_rules! tracepoints {
    ($($tracepoint:ident $name:literal)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Tracepoint {
            $($tracepoint,)*
        }

        impl Tracepoint {
            pub(super) fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$tracepoint),)*
                    _ => None,
                }
            }
        }
    };
}

tracepoints! {
    Switch "sched_switch"
    Waking "sched_waking"
    Wakeup "sched_wakeup"
    WakeupNew "sched_wakeup_new"
    Migrate "sched_migrate_task"
    Fork "sched_process_fork"
    Exec "sched_process_exec"
    Exit "sched_process_exit"
    Rename "task_rename"
    Attach "cgroup_attach_task"
    Idle "cpu_idle"
    Frequency "cpu_frequency"
}

#[derive(Clone, Copy, Debug)]
pub(super) struct EventHead {
    pub(super) at: u64,
    pub(super) cpu: u32,
    pub(super) pid: i32,
    pub(super) context: Context,
    pub(super) position: usize,
    pub(super) stamp: TimeStamp,
}

impl EventHead {
    pub(super) const fn new(at: u64, cpu: u32, position: usize, stamp: TimeStamp) -> Self {
        Self { at, cpu, pid: UNKNOWN_PID, context: Context::Unknown, position, stamp }
    }
}

/// State number of `cpu_idle` for an idle exit.
const LEFT_IDLE_STATE: i64 = 0xffff_ffff;

/// End of the description of a problem, after the name of the tracepoint.
pub(super) const LACKS_FIELD: &str = "events without a field that they need";

/// Adds the event, or records a problem if a field is missing.
pub(super) fn push(recording: &mut Recording, head: EventHead, tracepoint: Tracepoint, fields: &dyn TracepointFields) {
    match event_kind(recording, tracepoint, fields) {
        Some(Some(kind)) => {
            let EventHead { at, cpu, pid, context, position, stamp } = head;
            recording.push(TraceEvent { at, cpu, pid, context, kind }, position, stamp);
        }
        Some(None) => {}
        None => {
            let place = recording.order.place(head.position);
            recording.record_problem(&format!("{tracepoint:?} {LACKS_FIELD}"), || place);
        }
    }
}

/// Returns the event, `Some(None)` for a tracepoint without effect, or `None` if a field is missing.
fn event_kind(
    recording: &mut Recording,
    tracepoint: Tracepoint,
    fields: &dyn TracepointFields,
) -> Option<Option<TraceEventKind>> {
    let int = |name: &str| fields.number(name).and_then(|number| i32::try_from(number).ok());
    let cpu = |name: &str| fields.number(name).and_then(|cpu| u32::try_from(cpu).ok());
    let mut comm =
        |name: &str| fields.text(name).map_or_else(InternedName::default, |comm| recording.names.intern(&comm));
    let mut thread_ref = |comm_name: &str, pid_name: &str, prio_name: &str| {
        Some(ThreadRef { pid: int(pid_name)?, comm: comm(comm_name), prio: int(prio_name) })
    };
    Some(Some(match tracepoint {
        Tracepoint::Switch => {
            let prev = thread_ref("prev_comm", "prev_pid", "prev_prio")?;
            let state = fields.state("prev_state")?;
            TraceEventKind::Switch { prev, state, next: thread_ref("next_comm", "next_pid", "next_prio")? }
        }
        // Before 4.17, kernels report in `success` whether there was a task to wake.
        Tracepoint::Waking | Tracepoint::Wakeup | Tracepoint::WakeupNew if fields.number("success") == Some(0) => {
            return Some(None);
        }
        Tracepoint::Waking => TraceEventKind::Waking { thread_ref: thread_ref("comm", "pid", "prio")? },
        Tracepoint::Wakeup | Tracepoint::WakeupNew => TraceEventKind::Wakeup {
            thread_ref: thread_ref("comm", "pid", "prio")?,
            cpu: cpu("target_cpu")?,
            is_new: tracepoint == Tracepoint::WakeupNew,
        },
        Tracepoint::Migrate => TraceEventKind::Migrate { pid: int("pid")?, to: cpu("dest_cpu")? },
        Tracepoint::Fork => {
            // The text format prints the record's `parent_comm` and `parent_pid` as `comm=` and `pid=`.
            let parent = int("parent_pid").or_else(|| int("pid")).unwrap_or(UNKNOWN_PID);
            TraceEventKind::Fork { parent, child: thread_ref("child_comm", "child_pid", "")? }
        }
        Tracepoint::Exec => TraceEventKind::Exec { pid: int("pid")? },
        Tracepoint::Exit => TraceEventKind::Exit { pid: int("pid")? },
        Tracepoint::Rename => TraceEventKind::Rename { thread_ref: thread_ref("newcomm", "pid", "")? },
        Tracepoint::Attach => {
            let (root, path) = (int("dst_root")?, fields.text("dst_path")?);
            TraceEventKind::Attach { pid: int("pid")?, root, path: recording.names.intern(&path) }
        }
        Tracepoint::Idle => {
            let state = fields.number("state")?;
            let state = if state == LEFT_IDLE_STATE || state < 0 { None } else { u32::try_from(state).ok() };
            TraceEventKind::Idle { cpu: cpu("cpu_id")?, state }
        }
        Tracepoint::Frequency => {
            TraceEventKind::Frequency { cpu: cpu("cpu_id")?, khz: u64::try_from(fields.number("state")?).ok()? }
        }
    }))
}
