// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds problems in a recorded trace, as far as its events allow: long waits, late wake-ups, CPUs that idle
//! meanwhile, and ping-pong migrations.
//!
//! A family consists of the threads with one name.

use super::rule::{FindingMigration, FindingWait};
use super::{Finding, FindingContext, Limits, RuleSet};
use crate::occupancy::{ClassTimes, Occupancy, RunClass, WaitOccupancy};
use fairlab_machine::sim::START;
use fairlab_measure::episodes::{Episode, TaskActivity};
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use fairlab_traces::import::event::{Recording, ThreadRef, TraceEventKind, TraceEventName};
use fairlab_traces::import::threads::TraceThreads;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct TraceTask {
    activity: TaskActivity,
    ran: WaitOccupancy,
    /// Last CPU on which the thread ran.
    cpu: Option<CpuId>,
}

impl TraceTask {
    fn new() -> Self {
        Self { activity: TaskActivity::of_trace(), ran: WaitOccupancy::default(), cpu: None }
    }
}

struct TraceScan<'a> {
    recording: &'a Recording,
    threads: TraceThreads,
    tracks: Vec<TraceTask>,
    all: CpuMask,
    rules: RuleSet,
    occupancy: Occupancy,
    /// Whether the trace has migrations, so that the CPU of each wait is known.
    has_migrations: bool,
    families: BTreeMap<String, usize>,
    first: u64,
}

/// Returns the findings of a trace, the worst first. Times count from its first event.
pub fn find_in_trace(recording: &Recording, limits: Limits) -> Vec<Finding> {
    let nr_cpus = recording.nr_cpus as usize;
    let (first, last) = (recording.span().unwrap_or_default().0, recording.end());
    let mut all = CpuMask::new(nr_cpus);
    all.set_all();
    let has = |name| recording.events.iter().any(|event| event.kind.name() == name);
    let mut scan = TraceScan {
        recording,
        threads: TraceThreads::default(),
        tracks: Vec::new(),
        all,
        rules: RuleSet::new(nr_cpus, limits),
        occupancy: Occupancy::new(nr_cpus, START),
        has_migrations: has(TraceEventName::SchedMigrateTask),
        families: BTreeMap::new(),
        first,
    };
    // The state of a CPU is unknown up to its first switch.
    (0..nr_cpus).for_each(|cpu| scan.rules.on_idle(START, CpuId::from_index(cpu), false));
    let has_wakeups = has(TraceEventName::SchedWakeup);
    for event in &recording.events {
        scan.event(event, has_wakeups);
    }
    scan.finish(START + Nanos(last - first))
}

impl TraceScan<'_> {
    fn event(&mut self, event: &fairlab_traces::import::event::TraceEvent, has_wakeups: bool) {
        self.threads.register_threads(event);
        self.tracks.resize(self.threads.list().len(), TraceTask::new());
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
                self.occupancy.switch(now, cpu, class_of(next));
                if let Some(prev) = self.threads.find(prev.pid) {
                    let track = &mut self.tracks[prev];
                    track.activity.switch_out(now, cpu, state);
                    track.ran = WaitOccupancy::default();
                }
                if let Some(next) = self.threads.find(next.pid) {
                    self.on_run(now, cpu, next);
                }
            }
            TraceEventKind::Wakeup { thread_ref, cpu, is_new } => {
                self.on_wakeup(now, thread_ref.pid, Some(CpuId(cpu)), is_new);
            }
            TraceEventKind::Waking { thread_ref } if !has_wakeups => self.on_wakeup(now, thread_ref.pid, None, false),
            TraceEventKind::Lost { .. } => self.on_lost(CpuId(event.cpu)),
            TraceEventKind::Migrate { pid, to } => self.on_migrate(now, pid, CpuId(to)),
            _ => {}
        }
        self.threads.remove_dead(event);
    }

    /// Records a wake-up, on the thread's last CPU if the CPU is unknown.
    fn on_wakeup(&mut self, now: Nanos, pid: i32, cpu: Option<CpuId>, is_new: bool) {
        let Some(thread) = self.threads.find(pid) else { return };
        let track = &mut self.tracks[thread];
        let cpu = cpu.unwrap_or_else(|| track.activity.cpu());
        if track.activity.wake(now, cpu, is_new) {
            track.ran = WaitOccupancy::default();
        }
    }

    fn on_migrate(&mut self, now: Nanos, pid: i32, to: CpuId) {
        let Some(thread) = self.threads.find(pid) else { return };
        let track = &mut self.tracks[thread];
        if let Some(episode) = track.activity.episode(now) {
            track.ran.migrate(&self.occupancy, episode.since, now, episode.cpu);
        }
        track.activity.migrate(to);
    }

    /// Forgets the waits on a CPU of which events are lost: the threads may have run.
    fn on_lost(&mut self, cpu: CpuId) {
        let tracks = self.tracks.iter_mut().map(|track| &mut track.activity);
        tracks.filter(|activity| activity.cpu() == cpu).for_each(TaskActivity::forget);
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
        if let Some(from) = self.tracks[thread].cpu.replace(cpu).filter(|&from| from != cpu) {
            let family = self.family(thread);
            self.rules.on_migrate(now, FindingMigration { task: thread, family, from, to: cpu });
        }
        // A trace without migrations shows the CPU of a wait only at its end.
        if let Some(episode) = self.tracks[thread].activity.switch_in(now, cpu) {
            self.report_wait(thread, &episode);
        }
    }

    fn report_wait(&mut self, thread: usize, episode: &Episode) {
        let family = self.family(thread);
        let ran = if self.has_migrations {
            self.tracks[thread].ran.up_to(&self.occupancy, episode.since, episode.until, episode.cpu)
        } else {
            ClassTimes::default()
        };
        let wait = FindingWait { task: thread, family, episode: *episode, deadline: None, ran };
        self.rules.on_wait(&wait, Some(&self.all));
    }

    fn finish(mut self, now: Nanos) -> Vec<Finding> {
        for thread in 0..self.tracks.len() {
            if let Some(episode) = self.tracks[thread].activity.episode(now) {
                self.report_wait(thread, &episode);
            }
        }
        let name = |thread: usize| {
            let thread = self.threads.list()[thread];
            format!("{}-{}", self.recording.names.get(thread.comm), thread.pid)
        };
        let mut families = vec![String::new(); self.families.len()];
        for (family, place) in &self.families {
            families[*place].clone_from(family);
        }
        let about = FindingContext {
            name: &name,
            families: &families,
            lifetimes: &[],
            groups: &[],
            summaries: &[],
            machine: None,
            since: START,
            now,
        };
        self.rules.findings(&about)
    }
}

/// Returns the class of a thread that is switched in.
fn class_of(thread: ThreadRef) -> RunClass {
    if thread.pid == 0 { RunClass::Idle } else { thread.prio.map_or(RunClass::Fair, RunClass::from_prio) }
}
