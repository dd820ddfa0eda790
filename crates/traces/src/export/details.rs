// SPDX-License-Identifier: GPL-2.0-or-later
//! Decisions as named values, for formats that show the deciding rule and its inputs.

use super::pass_spans::PassSpan;
use super::thread::{ThreadId, ThreadTable};
use fairlab_measure::measure::passes::idle_type_name;
use fairlab_sched::interface::wakeup::{WakeKind, WakeupDecision};
use fairlab_sched::probe::{BalanceDecision, KickDecision};
use fairlab_sched::units::Nanos;

#[derive(Clone, Copy, Debug)]
pub(super) enum Detail {
    Number(i64),
    /// Name or sentence of the program, not of the workload.
    Word(&'static str),
    Thread(ThreadId),
}

/// Named values of a decision, in the order of display.
pub(super) type Details = Vec<(&'static str, Detail)>;

fn number(number: impl Into<i64>) -> Detail {
    Detail::Number(number.into())
}

fn time(time: Nanos) -> Detail {
    number(i64::try_from(time.0).unwrap_or(i64::MAX))
}

pub(super) const fn kind_name(kind: WakeKind) -> &'static str {
    match kind {
        WakeKind::Wakeup => "wakeup",
        WakeKind::Fork => "fork",
        WakeKind::Exec => "exec",
    }
}

/// Returns the name of a CPU selection's rule, and the selection's inputs and result.
pub(super) fn of_selection(thread: ThreadId, decision: &WakeupDecision) -> (&'static str, Details) {
    let mut details = vec![
        ("task", Detail::Thread(thread)),
        ("kind", Detail::Word(kind_name(decision.kind))),
        ("rule", Detail::Word(decision.rule.name())),
        ("reason", Detail::Word(decision.rule.meaning())),
        ("affine", Detail::Word(decision.affine.name())),
        ("prev_cpu", number(decision.prev.0)),
        ("target", number(decision.target.0)),
        ("cpu", number(decision.cpu.0)),
        ("nr_scanned", number(decision.nr_scanned)),
    ];
    details.extend(decision.nr_idle_scan.map(|nr| ("nr_idle_scan", number(nr))));
    (decision.rule.name(), details)
}

/// Returns the name of a load-balance pass's verdict, and the pass's inputs and result.
pub(super) fn of_pass(decision: &BalanceDecision) -> (&'static str, Details) {
    let reason = decision.balanced.map_or_else(|| decision.verdict.meaning(), |balanced| balanced.meaning());
    let mut details = vec![
        ("verdict", Detail::Word(decision.verdict.name())),
        ("reason", Detail::Word(reason)),
        ("dst_cpu", number(decision.dst_cpu.0)),
        ("level", number(decision.level)),
        ("idle", Detail::Word(idle_type_name(decision.idle))),
    ];
    details.extend(decision.balanced.map(|balanced| ("balanced", Detail::Word(balanced.name()))));
    details.extend(decision.local_type.map(|of| ("local_type", Detail::Word(of.name()))));
    details.extend(decision.busiest_type.map(|of| ("busiest_type", Detail::Word(of.name()))));
    details.extend(decision.busiest_queue.map(|cpu| ("busiest_cpu", number(cpu.0))));
    if let Some(migration) = decision.migration {
        details.extend([
            ("migration_type", Detail::Word(migration.name())),
            ("imbalance", number(decision.imbalance)),
            ("nr_scanned", number(decision.nr_scanned)),
            ("nr_moved", number(decision.nr_moved)),
        ]);
    }
    (decision.verdict.name(), details)
}

/// Returns the name of a kick's reason, and its details. `None` if no CPU was to be kicked.
pub(super) fn of_kick(decision: &KickDecision) -> Option<(&'static str, Details)> {
    if decision.flags == 0 {
        return None;
    }
    let mut details = vec![
        ("reason", Detail::Word(decision.reason.meaning())),
        ("flags", number(decision.flags)),
        ("kicked", number(i64::from(decision.kicked))),
    ];
    details.extend(decision.target.map(|cpu| ("target", number(cpu.0))));
    Some((decision.reason.name(), details))
}

pub(super) fn of_span(span: &PassSpan) -> Details {
    vec![
        ("passes", number(span.passes)),
        ("passes_with_moves", number(span.with_moves)),
        ("nr_moved", number(span.moved)),
        ("took_ns", time(span.took)),
        ("waited_ns", time(span.waited)),
    ]
}

pub(super) fn thread_text(threads: &ThreadTable, thread: ThreadId) -> String {
    let info = threads.get(thread);
    format!("{} ({})", info.comm.as_str(), info.pid)
}
