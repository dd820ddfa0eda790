// SPDX-License-Identifier: GPL-2.0-or-later
//! Sorts events into an order in which they can have happened.
//!
//! Files store events by CPU or in columns. Events of several CPUs with equal times are ordered so that a
//! thread runs only after its wake-up, and is woken only after it blocked.

use super::event::{Context, Recording, ThreadRef, TraceEvent, TraceEventKind, TraceEventName, UNKNOWN_PID};
use fairlab_sched::ctx::PrevState;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Largest number of simultaneous events that are ordered. More indicate a trace without times.
const MAX_EVENTS_AT_ONCE: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OrderThreadState {
    Running,
    Runnable,
    Blocked,
    Waking,
}

#[derive(Default)]
struct OrderContext {
    threads: HashMap<i32, OrderThreadState>,
    current: HashMap<u32, ThreadRef>,
    has_wakings: bool,
    /// Threads that are forked or woken at the current time; without a known state they run only after that.
    announced: HashSet<i32>,
    /// Threads that are forked at the current time, in the order in which the kernel assigns pids.
    forked: BTreeSet<i32>,
    /// Whether switches and wake-ups come from columns, whose order relative to each other is unknown.
    in_columns: bool,
}

/// Sorts the events of a recording, and completes the previous and current threads that a format leaves out.
pub(super) fn sort_events(recording: &mut Recording) {
    let events = &mut recording.events;
    events.sort_by_key(|event| event.at);
    let mut known = OrderContext {
        has_wakings: events.iter().any(|event| event.kind.name() == TraceEventName::SchedWaking),
        in_columns: events
            .iter()
            .any(|event| matches!(event.kind, TraceEventKind::Switch { prev, .. } if prev.pid == UNKNOWN_PID)),
        ..OrderContext::default()
    };
    let mut from = 0;
    while from < events.len() {
        let at = events[from].at;
        let nr = events[from..].iter().take_while(|event| event.at == at).count();
        let group = &mut events[from..from + nr];
        if (2..=MAX_EVENTS_AT_ONCE).contains(&nr) {
            sort_instant(&mut known, group);
        } else {
            group.iter_mut().for_each(|event| known.apply(event));
        }
        from += nr;
    }
}

fn sort_instant(known: &mut OrderContext, group: &mut [TraceEvent]) {
    let mut left: Vec<Option<TraceEvent>> = group.iter().copied().map(Some).collect();
    known.announced = group.iter().filter_map(announced_pid).collect();
    let forked_pid = |kind| if let TraceEventKind::Fork { child, .. } = kind { Some(child.pid) } else { None };
    known.forked = group.iter().filter_map(|event| forked_pid(event.kind)).collect();
    for slot in group {
        let mut tried = Vec::new();
        let mut first = None;
        let mut chosen = None;
        for (index, event) in left.iter().enumerate() {
            let Some(event) = event else { continue };
            first.get_or_insert(index);
            let lane = known.lane(event);
            if tried.contains(&lane) {
                continue;
            }
            tried.push(lane);
            let is_waking = matches!(event.kind, TraceEventKind::Waking { .. });
            if (chosen.is_none() || is_waking) && known.can_happen(event) {
                chosen = Some(index);
                // A waking from another column takes precedence over a switch.
                if !(known.in_columns && matches!(event.kind, TraceEventKind::Switch { .. })) {
                    break;
                }
            }
        }
        let index = chosen.or(first).expect("there is an event left for each slot");
        let mut event = left[index].take().expect("a chosen event is still there");
        known.apply(&mut event);
        *slot = event;
    }
    known.announced.clear();
    known.forked.clear();
}

fn announced_pid(event: &TraceEvent) -> Option<i32> {
    match event.kind {
        TraceEventKind::Waking { thread_ref }
        | TraceEventKind::Wakeup { thread_ref, .. }
        | TraceEventKind::Fork { child: thread_ref, .. } => Some(thread_ref.pid),
        _ => None,
    }
}

impl OrderContext {
    /// Returns the sequence whose order is known: a CPU, or a column of a CPU.
    fn lane(&self, event: &TraceEvent) -> (u32, u8) {
        let column = match event.kind {
            _ if !self.in_columns => 0,
            TraceEventKind::Switch { .. } => 1,
            TraceEventKind::Waking { .. } => 2,
            _ => 3,
        };
        (event.cpu, column)
    }

    fn state_of(&self, pid: i32) -> Option<OrderThreadState> {
        self.threads.get(&pid).copied()
    }

    fn can_happen(&self, event: &TraceEvent) -> bool {
        match event.kind {
            TraceEventKind::Switch { prev, next, .. } => {
                let comes = match self.state_of(next.pid) {
                    None => !self.announced.contains(&next.pid),
                    is => next.pid == 0 || is == Some(OrderThreadState::Runnable),
                };
                let leaves = match self.current.get(&event.cpu) {
                    Some(current) => prev.pid == UNKNOWN_PID || prev.pid == current.pid,
                    None => true,
                };
                comes && leaves
            }
            TraceEventKind::Waking { thread_ref } => {
                let is_asleep = matches!(self.state_of(thread_ref.pid), None | Some(OrderThreadState::Blocked));
                let current = self.current.get(&event.cpu).map(|thread_ref| thread_ref.pid);
                // All formats except those with columns report the thread that ran.
                let runs = match (event.pid, current) {
                    (UNKNOWN_PID, Some(0)) => event.context != Context::Thread,
                    (UNKNOWN_PID, _) | (_, None) => true,
                    (pid, Some(current)) => pid == current,
                };
                is_asleep && runs
            }
            TraceEventKind::Wakeup { thread_ref, is_new: false, .. } => match self.state_of(thread_ref.pid) {
                Some(OrderThreadState::Blocked) => !self.has_wakings,
                Some(OrderThreadState::Running) => false,
                _ => true,
            },
            TraceEventKind::Fork { child, .. } => self.forked.first() == Some(&child.pid),
            _ => true,
        }
    }

    fn apply(&mut self, event: &mut TraceEvent) {
        if let TraceEventKind::Switch { prev, .. } = &mut event.kind
            && prev.pid == UNKNOWN_PID
            && let Some(&current) = self.current.get(&event.cpu)
        {
            *prev = current;
        }
        if event.pid == UNKNOWN_PID
            && let Some(current) = self.current.get(&event.cpu)
        {
            event.pid = current.pid;
        }
        match event.kind {
            TraceEventKind::Switch { prev, state, next } => {
                let is =
                    if state == PrevState::Runnable { OrderThreadState::Runnable } else { OrderThreadState::Blocked };
                self.threads.insert(prev.pid, is);
                self.threads.insert(next.pid, OrderThreadState::Running);
                self.current.insert(event.cpu, next);
            }
            TraceEventKind::Waking { thread_ref }
                if self.state_of(thread_ref.pid) != Some(OrderThreadState::Running) =>
            {
                self.threads.insert(thread_ref.pid, OrderThreadState::Waking);
            }
            TraceEventKind::Wakeup { thread_ref, .. }
                if self.state_of(thread_ref.pid) != Some(OrderThreadState::Running) =>
            {
                self.threads.insert(thread_ref.pid, OrderThreadState::Runnable);
            }
            TraceEventKind::Fork { child, .. } => {
                self.forked.remove(&child.pid);
            }
            TraceEventKind::Lost { .. } => {
                self.threads.clear();
                self.current.remove(&event.cpu);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::event::InternedName;

    fn thread_ref(pid: i32) -> ThreadRef {
        ThreadRef { pid, comm: InternedName::default(), prio: Some(120) }
    }

    fn event(at: u64, cpu: u32, pid: i32, what: TraceEventKind) -> TraceEvent {
        TraceEvent { at, cpu, pid, context: Context::Thread, kind: what }
    }

    fn switch(prev: i32, next: i32) -> TraceEventKind {
        TraceEventKind::Switch { prev: thread_ref(prev), state: PrevState::Blocked, next: thread_ref(next) }
    }

    #[test]
    fn a_wake_up_comes_before_the_switch_to_its_thread_whichever_cpu_comes_first_in_the_file() {
        let before = event(1, 0, 7, switch(7, 0));
        let waking = event(5, 1, 9, TraceEventKind::Waking { thread_ref: thread_ref(7) });
        let wakeup = event(5, 1, 9, TraceEventKind::Wakeup { thread_ref: thread_ref(7), cpu: 0, is_new: false });
        let to = event(5, 0, 0, switch(0, 7));
        let mut recording = Recording { events: vec![before, to, waking, wakeup], ..Recording::default() };
        sort_events(&mut recording);
        assert_eq!(recording.events, [before, waking, wakeup, to]);
    }

    #[test]
    fn in_columns_a_thread_wakes_another_before_it_leaves_and_gaps_are_filled() {
        let unknown = |at, what| event(at, 0, UNKNOWN_PID, what);
        let comes = |next| TraceEventKind::Switch {
            prev: thread_ref(UNKNOWN_PID),
            state: PrevState::Blocked,
            next: thread_ref(next),
        };
        let events = vec![
            unknown(1, comes(7)),
            unknown(5, comes(0)),
            unknown(5, TraceEventKind::Waking { thread_ref: thread_ref(8) }),
            unknown(9, comes(8)),
        ];
        let mut recording = Recording { events, ..Recording::default() };
        sort_events(&mut recording);
        let pids: Vec<i32> = recording.events.iter().map(|event| event.pid).collect();
        assert_eq!(pids, [UNKNOWN_PID, 7, 7, 0], "thread 7 is the waker");
        assert_eq!(
            recording.events[2].kind,
            TraceEventKind::Switch { prev: thread_ref(7), state: PrevState::Blocked, next: thread_ref(0) }
        );
    }
}
