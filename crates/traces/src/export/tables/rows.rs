// SPDX-License-Identifier: GPL-2.0-or-later
//! Conversion of a record to rows of the tables.

use super::{Cell, Table};
use crate::export::details::kind_name;
use crate::export::record::{Marker, RecordKind, TraceRecord};
use crate::export::thread::{ThreadId, ThreadTable};
use crate::export::tracepoint::values::{reason, state_letter};
use fairlab_measure::measure::passes::idle_type_name;
use fairlab_sched::ids::CpuId;
use fairlab_sched::interface::lag::LagMoment;
use fairlab_sched::interface::wakeup::WakeupDecision;
use fairlab_sched::probe::{BalanceDecision, KickDecision};
use fairlab_sched::types::pelt::SchedAvg;

fn int<'a>(number: impl TryInto<i64>) -> Cell<'a> {
    Cell::Int(number.try_into().unwrap_or(i64::MAX))
}

fn cpu<'a>(cpu: CpuId) -> Cell<'a> {
    int(cpu.0)
}

fn maybe<'a>(number: Option<u32>) -> Cell<'a> {
    number.map_or(Cell::Null, int)
}

fn word<'a>(word: Option<&'a str>) -> Cell<'a> {
    word.map_or(Cell::Null, Cell::Text)
}

/// Calls `visit` for each row that a record adds.
pub(super) fn visit(threads: &ThreadTable, record: &TraceRecord<'_>, mut visit: impl FnMut(Table, &[Cell<'_>])) {
    let (at, on) = (int(record.at.0), cpu(record.cpu));
    let pid = |thread: ThreadId| int(threads.get(thread).pid);
    let comm = |thread: ThreadId| Cell::Text(threads.get(thread).comm.as_str());
    let prio = |thread: ThreadId| int(threads.get(thread).prio);
    match record.what {
        RecordKind::Switch { prev, prev_state, next } => {
            let state = Cell::Text(state_letter(prev_state));
            let row = [at, on, pid(prev), comm(prev), prio(prev), state, pid(next), comm(next), prio(next)];
            visit(Table::Switches, &row);
        }
        RecordKind::Waking { thread, target_cpu, .. } => {
            visit(Table::Wakings, &[at, on, pid(record.current), pid(thread), comm(thread), cpu(target_cpu)]);
        }
        RecordKind::Wakeup { thread, target_cpu, is_new } => {
            visit(Table::Wakeups, &[at, on, pid(thread), comm(thread), cpu(target_cpu), int(is_new)]);
        }
        RecordKind::Migrate { thread, orig_cpu, dest_cpu } => {
            visit(Table::Migrations, &[at, on, pid(thread), comm(thread), cpu(orig_cpu), cpu(dest_cpu)]);
        }
        RecordKind::Fork { parent, child } => visit(Table::Forks, &[at, on, pid(parent), pid(child), comm(child)]),
        RecordKind::Exit { thread } => visit(Table::Exits, &[at, on, pid(thread), comm(thread)]),
        RecordKind::StatWait { thread, delay } => {
            visit(Table::Waits, &[at, on, pid(thread), comm(thread), int(delay.0)]);
        }
        RecordKind::End | RecordKind::Wait { .. } => {}
        RecordKind::StatRuntime { thread, runtime } => {
            visit(Table::Runtimes, &[at, on, pid(thread), comm(thread), int(runtime.0)]);
        }
        RecordKind::Idle { cpu_id, state } => visit(Table::Idle, &[at, cpu(cpu_id), maybe(state)]),
        RecordKind::Frequency { cpu_id, khz } => visit(Table::Frequencies, &[at, cpu(cpu_id), int(khz)]),
        RecordKind::Ipi { target, kind } => visit(Table::Ipis, &[at, on, cpu(target), Cell::Text(reason(kind).1)]),
        RecordKind::PeltSe { thread, of, avg } => {
            let name = if thread.is_some() { "task" } else { "group" };
            visit(Table::Averages, &averages(at, cpu(of), name, thread.map_or(Cell::Null, pid), avg));
        }
        RecordKind::PeltCfs { of, is_root, avg } => {
            let name = if is_root { "cpu" } else { "group_on_cpu" };
            visit(Table::Averages, &averages(at, cpu(of), name, Cell::Null, avg));
        }
        RecordKind::Counter { of, counter, value } => {
            visit(Table::Counters, &[at, cpu(of), Cell::Text(counter.name()), int(value)]);
        }
        RecordKind::Selected { thread, decision } => {
            visit(Table::Selections, &selection(at, pid(thread), comm(thread), decision));
        }
        RecordKind::BalancedReason(decision) => visit(Table::Passes, &pass(at, decision)),
        RecordKind::Kicked(decision) => visit(Table::Kicks, &kick(at, decision)),
        RecordKind::Path { path, began, took, waited, ends } => {
            let row = [int(began.0), on, Cell::Text(path.name()), int(took.0), int(waited.0), int(ends)];
            visit(Table::Paths, &row);
        }
        RecordKind::Lag { thread, ref lag } => {
            let moment = match lag.moment {
                LagMoment::Wakeup => "wakeup",
                LagMoment::SwitchFrom => "switch_from",
                LagMoment::SwitchTo => "switch_to",
            };
            let [vruntime, avg_vruntime, kept] = [lag.vruntime, lag.avg_vruntime, lag.lag].map(Cell::Int);
            let row = [
                at,
                on,
                pid(thread),
                comm(thread),
                Cell::Text(moment),
                int(lag.is_delayed),
                vruntime,
                avg_vruntime,
                kept,
                lag.deadline.map_or(Cell::Null, Cell::Int),
                int(lag.slice),
                int(lag.weight),
            ];
            visit(Table::Lags, &row);
        }
        RecordKind::Marker(marker) => {
            let thread = record.current;
            let null = Cell::Null;
            let border = |starts| if starts { "start" } else { "end" };
            let (name, event, [a, b, c]) = match marker {
                Marker::Main { starts } => ("main", border(starts), [null; 3]),
                Marker::ClockRef { .. } => ("main", "clock_ref", [null; 3]),
                Marker::Task { starts, .. } => ("task", border(starts), [null; 3]),
                Marker::Loop { starts, place, .. } => {
                    ("loop", border(starts), [place.thread_loop, place.phase, place.phase_loop].map(int))
                }
            };
            visit(Table::Markers, &[at, pid(thread), comm(thread), Cell::Text(name), Cell::Text(event), a, b, c]);
        }
        RecordKind::Setprio { .. } => {}
    }
}

fn averages<'a>(at: Cell<'a>, of: Cell<'a>, name: &'a str, pid: Cell<'a>, avg: &SchedAvg) -> [Cell<'a>; 9] {
    let est = avg.util_est;
    let [load, runnable, util] = [avg.load_avg, avg.runnable_avg, avg.util_avg].map(int);
    [at, of, Cell::Text(name), pid, load, runnable, util, int(est.enqueued), int(est.ewma)]
}

fn selection<'a>(at: Cell<'a>, pid: Cell<'a>, comm: Cell<'a>, decision: &WakeupDecision) -> [Cell<'a>; 14] {
    [
        at,
        cpu(decision.waker),
        pid,
        comm,
        Cell::Text(kind_name(decision.kind)),
        int(decision.sync),
        cpu(decision.prev),
        cpu(decision.target),
        cpu(decision.cpu),
        Cell::Text(decision.affine.name()),
        Cell::Text(decision.rule.name()),
        int(decision.nr_scanned),
        int(decision.nr_cores_scanned),
        maybe(decision.nr_idle_scan),
    ]
}

fn pass<'a>(at: Cell<'a>, decision: &BalanceDecision) -> [Cell<'a>; 18] {
    [
        at,
        cpu(decision.on),
        cpu(decision.dst_cpu),
        int(decision.level),
        Cell::Text(idle_type_name(decision.idle)),
        Cell::Text(decision.verdict.name()),
        word(decision.balanced.map(|of| of.name())),
        word(decision.local_type.map(|of| of.name())),
        word(decision.busiest_type.map(|of| of.name())),
        maybe(decision.busiest_queue.map(|cpu| cpu.0)),
        word(decision.migration.map(|of| of.name())),
        int(decision.imbalance),
        int(decision.nr_cpus),
        int(decision.nr_locks),
        int(decision.nr_scanned),
        int(decision.nr_moved),
        int(decision.redos),
        int(decision.emptied),
    ]
}

fn kick<'a>(at: Cell<'a>, decision: &KickDecision) -> [Cell<'a>; 6] {
    let (reason, target) = (Cell::Text(decision.reason.name()), maybe(decision.target.map(|cpu| cpu.0)));
    [at, cpu(decision.cpu), reason, int(decision.flags), target, int(decision.kicked)]
}
