// SPDX-License-Identifier: GPL-2.0-or-later
//! Field values of the tracepoints that a record stands for. A record may yield several tracepoints, or none.

use super::Tracepoint;
use crate::export::record::{Counter, RecordKind, TraceRecord};
use crate::export::thread::{Comm, ThreadId, ThreadInfo, ThreadTable};
use fairlab_sched::ctx::{IpiKind, PrevState};
use fairlab_sched::ids::CpuId;
use fairlab_sched::types::pelt::SchedAvg;

/// State number of `cpu_idle` for an idle exit.
pub const LEFT_IDLE_STATE: u32 = u32::MAX;
/// Address that stands for `tracing_mark_write()`; the symbols of a trace file name it.
pub const MARK_WRITE_ADDRESS: u64 = 0xffff_ffff_8100_0000;
/// Address of the first of the texts that name the reasons of IPIs.
const REASON_ADDRESS: u64 = 0xffff_ffff_8200_0000;

/// Value of a field.
#[expect(missing_docs, reason = "the variants are named after the C types")]
#[derive(Clone, Copy, Debug)]
pub enum FieldValue<'a> {
    Comm(Comm),
    /// Value of an `int` or `pid_t` field.
    Int(i32),
    Short(i16),
    U32(u32),
    U64(u64),
    State(PrevState),
    /// CPU mask with a single CPU.
    Mask(CpuId),
    Reason(IpiKind),
    Address(u64),
    Text(&'a str),
}

/// Returns the kernel's bits of a state: `TASK_RUNNING`, `TASK_INTERRUPTIBLE`, `EXIT_DEAD`.
pub const fn state_bits(state: PrevState) -> i64 {
    match state {
        PrevState::Runnable => 0,
        PrevState::Blocked => 0x01,
        PrevState::Dead => 0x10,
    }
}

/// Returns the kernel's letter of a state.
pub const fn state_letter(state: PrevState) -> &'static str {
    match state {
        PrevState::Runnable => "R",
        PrevState::Blocked => "S",
        PrevState::Dead => "X",
    }
}

/// Returns the address and the text of an IPI's reason.
pub const fn reason(kind: IpiKind) -> (u64, &'static str) {
    match kind {
        IpiKind::Reschedule => (REASON_ADDRESS, "Rescheduling interrupts"),
        IpiKind::CallFunction => (REASON_ADDRESS + 32, "Function call interrupts"),
    }
}

/// Calls `visit` for each tracepoint that a record stands for, with the values of its fields.
pub fn visit(threads: &ThreadTable, record: &TraceRecord<'_>, mut visit: impl FnMut(Tracepoint, &[FieldValue<'_>])) {
    use FieldValue::{Int, State, U64};
    let full = |thread: ThreadId| {
        let &ThreadInfo { comm, pid, prio, .. } = threads.get(thread);
        [FieldValue::Comm(comm), Int(pid), Int(prio)]
    };
    let named = |thread: ThreadId| {
        let [comm, pid, _] = full(thread);
        (comm, pid)
    };
    let cpu = |cpu: CpuId| Int(cpu.0 as i32);
    match record.what {
        RecordKind::Switch { prev, prev_state, next } => {
            let ([a, b, c], [d, e, f]) = (full(prev), full(next));
            visit(Tracepoint::Switch, &[a, b, c, State(prev_state), d, e, f]);
        }
        RecordKind::Waking { thread, target_cpu, .. } => {
            let [a, b, c] = full(thread);
            visit(Tracepoint::Waking, &[a, b, c, cpu(target_cpu)]);
        }
        RecordKind::Wakeup { thread, target_cpu, is_new } => {
            let [a, b, c] = full(thread);
            let tracepoint = if is_new { Tracepoint::WakeupNew } else { Tracepoint::Wakeup };
            visit(tracepoint, &[a, b, c, cpu(target_cpu)]);
        }
        RecordKind::Migrate { thread, orig_cpu, dest_cpu } => {
            let [a, b, c] = full(thread);
            visit(Tracepoint::Migrate, &[a, b, c, cpu(orig_cpu), cpu(dest_cpu)]);
        }
        RecordKind::Fork { parent, child } => {
            let ((a, b), (c, d)) = (named(parent), named(child));
            visit(Tracepoint::Fork, &[a, b, c, d]);
            visit(Tracepoint::Rename, &[d, a, c, FieldValue::Short(0)]);
        }
        RecordKind::Exit { thread } => visit(Tracepoint::Exit, &full(thread)),
        RecordKind::Setprio { thread, oldprio, newprio } => {
            let (a, b) = named(thread);
            visit(Tracepoint::Setprio, &[a, b, Int(oldprio), Int(newprio)]);
        }
        RecordKind::End | RecordKind::Wait { .. } => {}
        RecordKind::StatRuntime { thread, runtime } => {
            let (a, b) = named(thread);
            visit(Tracepoint::StatRuntime, &[a, b, U64(runtime.0)]);
        }
        RecordKind::StatWait { thread, delay } => {
            let (a, b) = named(thread);
            visit(Tracepoint::StatWait, &[a, b, U64(delay.0)]);
        }
        RecordKind::Idle { cpu_id, state } => {
            visit(Tracepoint::Idle, &[FieldValue::U32(state.unwrap_or(LEFT_IDLE_STATE)), FieldValue::U32(cpu_id.0)]);
        }
        RecordKind::Frequency { cpu_id, khz } => {
            let khz = u32::try_from(khz).unwrap_or(u32::MAX);
            visit(Tracepoint::Frequency, &[FieldValue::U32(khz), FieldValue::U32(cpu_id.0)]);
        }
        RecordKind::Ipi { target, kind } => {
            visit(Tracepoint::Ipi, &[FieldValue::Mask(target), FieldValue::Reason(kind)]);
        }
        RecordKind::PeltSe { thread, of: on, avg } => {
            let (a, b) = thread.map_or_else(|| (FieldValue::Comm(Comm::new("(null)")), Int(-1)), named);
            // Records of group averages do not contain the path of the group.
            let path = FieldValue::Comm(Comm::new(if thread.is_some() { "(null)" } else { "/?" }));
            let [load, runnable, util, time] = averages(avg);
            visit(Tracepoint::PeltSe, &[cpu(on), path, a, b, load, runnable, util, time]);
            if thread.is_some() {
                let est = avg.util_est;
                let [enqueued, ewma] = [est.enqueued, est.ewma].map(FieldValue::U32);
                visit(Tracepoint::UtilEstSe, &[cpu(on), path, a, b, enqueued, ewma, util]);
            }
        }
        RecordKind::PeltCfs { of: on, is_root, avg } => {
            let path = FieldValue::Comm(Comm::new(if is_root { "/" } else { "/?" }));
            let [load, runnable, util, time] = averages(avg);
            visit(Tracepoint::PeltCfs, &[cpu(on), path, load, runnable, util, time]);
        }
        RecordKind::Counter { of: on, counter: Counter::NrRunning, value } => {
            let nr = FieldValue::U32(u32::try_from(value).unwrap_or(u32::MAX));
            visit(Tracepoint::UpdateNrRunning, &[cpu(on), Int(0), nr]);
        }
        RecordKind::Counter { of: on, counter: Counter::Capacity, value } => {
            visit(Tracepoint::CpuCapacity, &[cpu(on), U64(value)]);
        }
        RecordKind::Marker(marker) => {
            let text = marker.text();
            visit(Tracepoint::Print, &[FieldValue::Address(MARK_WRITE_ADDRESS), FieldValue::Text(&text)]);
        }
        RecordKind::Counter { .. }
        | RecordKind::Selected { .. }
        | RecordKind::BalancedReason(_)
        | RecordKind::Kicked(_)
        | RecordKind::Path { .. }
        | RecordKind::Lag { .. } => {}
    }
}

fn averages(avg: &SchedAvg) -> [FieldValue<'static>; 4] {
    [avg.load_avg, avg.runnable_avg, avg.util_avg, avg.last_update_time].map(FieldValue::U64)
}
