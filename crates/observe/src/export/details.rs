// SPDX-License-Identifier: GPL-2.0-or-later
//! Decisions as names and values, for formats that show such: which rule decided, and what it knew.

use super::passes::Span;
use super::thread::Thread;
use super::thread::Threads;
use fairlab_sched::probe::{BalanceDecision, KickDecision};
use fairlab_sched::told::wakeup::{WakeKind, WakeupDecision};
use fairlab_sched::topology::CpuIdleType;
use fairlab_sched::units::Nanos;

/// A value of a decision.
#[derive(Clone, Copy, Debug)]
pub(super) enum Detail {
    Number(i64),
    /// A word of the program's own.
    Word(&'static str),
    /// Whose.
    Thread(Thread),
}

/// Values with names, the first of which is what the decision is called.
pub(super) type Details = Vec<(&'static str, Detail)>;

fn number(number: impl Into<i64>) -> Detail {
    Detail::Number(number.into())
}

fn time(time: Nanos) -> Detail {
    Detail::Number(i64::try_from(time.0).unwrap_or(i64::MAX))
}

/// What a selection is called, and what it knew.
pub(super) fn of_selection(thread: Thread, decision: &WakeupDecision) -> (&'static str, Details) {
    let kind = match decision.kind {
        WakeKind::Wakeup => "wakeup",
        WakeKind::Fork => "fork",
        WakeKind::Exec => "exec",
    };
    let mut details = vec![
        ("task", Detail::Thread(thread)),
        ("kind", Detail::Word(kind)),
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

/// What a pass is called, and what it knew.
pub(super) fn of_pass(decision: &BalanceDecision) -> (&'static str, Details) {
    let idle = match decision.idle {
        CpuIdleType::Idle => "idle",
        CpuIdleType::NotIdle => "busy",
        CpuIdleType::NewlyIdle => "newidle",
    };
    let reason = decision.balanced.map_or_else(|| decision.verdict.meaning(), |balanced| balanced.meaning());
    let mut details = vec![
        ("verdict", Detail::Word(decision.verdict.name())),
        ("reason", Detail::Word(reason)),
        ("dst_cpu", number(decision.dst_cpu.0)),
        ("level", number(decision.level)),
        ("idle", Detail::Word(idle)),
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

/// What a kick is called, and what it knew. Nothing if nobody was to be kicked.
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

/// What is known of a span of balancing.
pub(super) fn of_span(span: &Span) -> Details {
    vec![
        ("passes", number(span.passes)),
        ("passes_with_moves", number(span.with_moves)),
        ("nr_moved", number(span.moved)),
        ("took_ns", time(span.took)),
        ("waited_ns", time(span.waited)),
    ]
}

/// A thread's name and pid, as one text.
pub(super) fn thread_text(threads: &Threads, thread: Thread) -> String {
    let info = threads.get(thread);
    format!("{} ({})", info.comm.as_str(), info.pid)
}
