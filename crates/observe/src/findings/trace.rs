// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds problems in a recorded trace, as far as its events allow: long waits, late wake-ups, CPUs that idle
//! meanwhile, and ping-pong migrations.
//!
//! A family consists of the threads with one name.

use super::RuleSet;
use super::rule::{EndedWait, FindingMigration, FindingWait};
use super::{Finding, FindingContext, Limits};
use crate::import::event::{Recording, TraceEventKind, TraceEventName};
use crate::import::threads::TraceThreads;
use crate::states::TaskActivity;
use fairlab_machine::sim::START;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default)]
struct TraceTask {
    activity: TaskActivity,
    woken_at: Option<Nanos>,
    cpu: Option<CpuId>,
}

struct TraceScan<'a> {
    recording: &'a Recording,
    threads: TraceThreads,
    tracks: Vec<TraceTask>,
    all: CpuMask,
    rules: RuleSet,
    families: BTreeMap<String, usize>,
    first: u64,
}

/// Returns the findings of a trace, the worst first. Times count from its first event.
pub fn find_in_trace(recording: &Recording, limits: Limits) -> Vec<Finding> {
    let nr_cpus = recording.nr_cpus as usize;
    let (first, last) = recording.span().unwrap_or_default();
    let mut all = CpuMask::new(nr_cpus);
    all.set_all();
    let mut scan = TraceScan {
        recording,
        threads: TraceThreads::default(),
        tracks: Vec::new(),
        all,
        rules: RuleSet::new(nr_cpus, limits),
        families: BTreeMap::new(),
        first,
    };
    // The state of a CPU is unknown up to its first switch.
    (0..nr_cpus).for_each(|cpu| scan.rules.on_idle(START, CpuId::from_index(cpu), false));
    let has_wakeups = recording.events.iter().any(|event| event.kind.name() == TraceEventName::SchedWakeup);
    for event in &recording.events {
        scan.event(event, has_wakeups);
    }
    scan.finish(START + Nanos(last - first))
}

impl TraceScan<'_> {
    fn event(&mut self, event: &crate::import::event::TraceEvent, has_wakeups: bool) {
        self.threads.register_threads(event);
        self.tracks.resize(self.threads.list().len(), TraceTask::default());
        let now = START + Nanos(event.at - self.first);
        match event.kind {
            TraceEventKind::Switch { prev, state, next } => {
                let cpu = CpuId(event.cpu);
                if prev.pid == 0 {
                    self.rules.on_idle(now, cpu, false);
                }
                if next.pid == 0 {
                    self.rules.on_idle(now, cpu, true);
                }
                if let Some(prev) = self.threads.find(prev.pid) {
                    let track = &mut self.tracks[prev];
                    // A thread without a recorded switch-in waited for an unknown time.
                    track.activity.switch_out(now, cpu, state);
                    track.woken_at = None;
                }
                if let Some(next) = self.threads.find(next.pid) {
                    self.on_run(now, cpu, next);
                }
            }
            TraceEventKind::Wakeup { who, is_new, .. } => self.on_wakeup(now, who.pid, is_new),
            TraceEventKind::Waking { who } if !has_wakeups => self.on_wakeup(now, who.pid, false),
            _ => {}
        }
        self.threads.remove_dead(event);
    }

    fn on_wakeup(&mut self, now: Nanos, pid: i32, is_new: bool) {
        let Some(thread) = self.threads.find(pid) else { return };
        let track = &mut self.tracks[thread];
        if track.activity.wake(now) {
            track.woken_at = (!is_new).then_some(now);
        }
    }

    fn family(&mut self, thread: usize) -> usize {
        let name = self.recording.names.get(self.threads.list()[thread].comm);
        if let Some(&family) = self.families.get(name) {
            return family;
        }
        let family = self.families.len();
        self.families.insert(name.to_owned(), family);
        family
    }

    fn on_run(&mut self, now: Nanos, cpu: CpuId, thread: usize) {
        let family = self.family(thread);
        let track = &mut self.tracks[thread];
        let (before, woken_at) = (track.activity.switch_in(now, cpu), track.woken_at.take());
        if let Some(from) = track.cpu.replace(cpu).filter(|&from| from != cpu) {
            self.rules.on_migrate(now, FindingMigration { task: thread, family, from, to: cpu });
        }
        let Some(since) = before.waits_since() else { return };
        let wait = FindingWait { task: thread, family, since, until: now };
        self.rules.on_wait(&EndedWait { wait, woken_at, cpu: Some(cpu), allowed: Some(&self.all) });
    }

    fn finish(mut self, now: Nanos) -> Vec<Finding> {
        let name = |thread: usize| {
            let thread = self.threads.list()[thread];
            format!("{}-{}", self.recording.names.get(thread.comm), thread.pid)
        };
        let mut families = vec![String::new(); self.families.len()];
        for (family, place) in &self.families {
            families[*place].clone_from(family);
        }
        let about =
            FindingContext { name: &name, families: &families, summaries: &[], machine: None, since: START, now };
        self.rules.findings(&about)
    }
}
