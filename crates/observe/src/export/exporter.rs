// SPDX-License-Identifier: GPL-2.0-or-later
//! The observer that turns what happens into records, for as many traces as are wanted.
//!
//! It knows what a trace of a kernel has beyond the events themselves: who runs on which CPU, which priority tasks have, for how
//! long they ran and waited, how many are runnable, and when a CPU leaves its idle state.

use super::record::{Counter, Group, Groups, Marker, Record, What};
use super::sink::Sink;
use super::thread::{Thread, Threads};
use fairlab_machine::engine::{Machine, START};
use fairlab_machine::observer::{MachineEvent, Observer, Wants};
use fairlab_machine::seam::Engine;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_workload::step::LoopPlace;
use std::io;

/// State of `cpu_idle` on a machine that has no idle states: what a kernel without cpuidle tells.
const PLAIN_IDLE_STATE: u32 = 1;
/// Frequency of a CPU without a frequency domain, of which only parts of 1024 are known.
const PLAIN_KHZ_PER_PART: u64 = 1000;

/// What is known of a CPU.
struct Cpu {
    current: Thread,
    /// Since when its running time was not told.
    told_runtime: Nanos,
    /// Which idle state it is in.
    asleep: Option<Asleep>,
    /// Values of its counters, as told.
    counters: [Option<u64>; Counter::ALL.len()],
    nr_running: u64,
    /// Frequencies in kHz, ascending; none: it is in no domain.
    khz: Vec<u64>,
}

/// How a CPU idles.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asleep {
    /// In a state which the first interrupt ends; if nothing comes of it the CPU enters one anew.
    InState,
    /// On a machine without idle states: until a task runs.
    Plain,
}

/// What is known of a thread beyond its name.
#[derive(Clone, Copy, Default)]
struct Track {
    /// Where it is runnable.
    queued_on: Option<CpuId>,
    waits_since: Option<Nanos>,
    /// Its CPU.
    cpu: Option<CpuId>,
    /// The loop in which it is.
    place: Option<LoopPlace>,
    /// Whether who began to wake it was a timer or a device.
    is_woken_by_interrupt: bool,
}

/// A trace that is being written.
struct Trace {
    groups: Groups,
    sink: Box<dyn Sink>,
}

/// Listens to a run and writes traces of it.
pub struct Exporter {
    threads: Threads,
    cpus: Vec<Cpu>,
    tracks: Vec<Track>,
    /// Threads of the machine's tasks, by their places there.
    of_task: Vec<Thread>,
    traces: Vec<Trace>,
    groups: Groups,
    /// A fork that was not told yet, because nobody has said on which CPU it happens.
    fork: Option<(Thread, bool)>,
    /// Changes of frequency that the workload's machine makes by itself, the next one last.
    frequency_steps: Vec<(Nanos, CpuId, Capacity)>,
    has_markers: bool,
    /// The time from which rt-app's logs count was told.
    has_clock_ref: bool,
    only: Option<String>,
}

impl Exporter {
    /// For a machine whose run has not begun. `main` is the name of the process to which the workload's tasks belong, if they
    /// are its threads.
    pub fn new(machine: &Machine<impl Engine>, main: Option<&str>) -> Self {
        let threads = Threads::new(machine, main);
        let (hardware, nr_threads) = (machine.hardware(), threads.iter().len());
        let cpus = machine.sched().cpu_ids().map(|cpu| {
            let domain = hardware.frequency_domains.iter().find(|domain| domain.contains(cpu));
            Cpu {
                current: Threads::idle(cpu),
                told_runtime: START,
                asleep: None,
                counters: Default::default(),
                nr_running: 0,
                khz: domain.map(|domain| domain.khz().to_vec()).unwrap_or_default(),
            }
        });
        let mut frequency_steps = hardware.frequency_steps.clone();
        frequency_steps.sort_by_key(|&(at, ..)| at);
        frequency_steps.reverse();
        Self {
            cpus: cpus.collect(),
            tracks: vec![Track::default(); nr_threads],
            threads,
            of_task: Vec::new(),
            traces: Vec::new(),
            groups: Groups::default(),
            fork: None,
            frequency_steps,
            has_markers: main == Some("rt-app"),
            has_clock_ref: false,
            only: None,
        }
    }

    /// Formats that are added from now on and can do so tell only of this task, or of a family's: a name or a pid.
    pub fn tell_only_of(&mut self, task: String) {
        self.only = Some(task);
    }

    pub(super) fn only(&self) -> Option<&str> {
        self.only.as_deref()
    }

    /// Adds a trace, before the run.
    pub fn add(&mut self, groups: Groups, sink: Box<dyn Sink>) {
        self.groups = self.groups.or(groups);
        self.traces.push(Trace { groups, sink });
    }

    /// All threads that there have been so far.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// What is so at the start of a run: frequencies, capacities.
    pub fn begin(&mut self, machine: &Machine<impl Engine>) {
        for cpu in machine.sched().cpu_ids() {
            self.frequency(START, cpu, machine.sched().freq_capacity(cpu));
        }
        if self.has_markers {
            self.marker(START, CpuId(0), Marker::Main { starts: true });
        }
        self.sample(machine);
        if let Some(machine) = machine.built_in() {
            self.traces.iter_mut().for_each(|trace| trace.sink.begin(machine));
        }
    }

    /// Notes figures that nobody tells when they change. To be called now and then.
    pub fn sample(&mut self, machine: &Machine<impl Engine>) {
        if !self.groups.has(Group::Counters) {
            return;
        }
        let Some(machine) = machine.built_in() else { return self.sample_shown(machine) };
        let (now, sched) = (machine.now(), machine.sched());
        for cpu in sched.cpu_ids() {
            self.count(now, cpu, Counter::Capacity, sched.figures(cpu).cpu_capacity);
            let of_cpu = &sched.domains().cpus[cpu.index()];
            if let Some(shared) = of_cpu.sd_llc_shared.filter(|_| of_cpu.sd_llc_id == cpu) {
                let nr = sched.domains().shared[shared].nr_idle_scan;
                self.count(now, cpu, Counter::NrIdleScan, u64::try_from(nr).unwrap_or(0));
            }
        }
    }

    /// The same of a kernel engine, which does not tell either when averages and numbers of tasks change.
    fn sample_shown(&mut self, machine: &Machine<impl Engine>) {
        let (now, sched) = (machine.now(), machine.sched());
        for cpu in sched.cpu_ids() {
            let shown = sched.shows_rq(cpu);
            self.count(now, cpu, Counter::Capacity, shown.cpu_capacity);
            self.count(now, cpu, Counter::UtilAvg, shown.util_avg);
            self.count(now, cpu, Counter::NrRunning, u64::from(shown.nr_running));
            if let Some(llc) = sched.shows_llc(cpu) {
                self.count(now, cpu, Counter::NrIdleScan, u64::try_from(llc.nr_idle_scan).unwrap_or(0));
            }
        }
    }

    /// Ends all traces.
    ///
    /// # Errors
    /// For the first trace that could not be written: its place in the order in which they were added, and why.
    pub fn finish(&mut self, machine: &Machine<impl Engine>) -> Result<(), (usize, io::Error)> {
        self.sample(machine);
        if self.has_markers {
            // rt-app ends its threads when its time is over.
            for thread in std::mem::take(&mut self.of_task) {
                if let Some(cpu) = self.tracks[thread.index()].cpu {
                    self.end_loops(machine.now(), cpu, thread);
                }
            }
            self.marker(machine.now(), CpuId(0), Marker::Main { starts: false });
        }
        for (place, trace) in self.traces.iter_mut().enumerate() {
            if let Some(machine) = machine.built_in() {
                trace.sink.end(machine, &self.threads);
            }
            trace.sink.finish(&self.threads).map_err(|error| (place, error))?;
        }
        Ok(())
    }

    /// Whether a trace could not be written, so that the rest of it is lost.
    pub fn has_failed(&self) -> bool {
        self.traces.iter().any(|trace| trace.sink.has_failed())
    }

    #[inline]
    fn tell(&mut self, at: Nanos, cpu: CpuId, what: What<'_>) {
        self.tell_of(at, cpu, self.cpus[cpu.index()].current, what);
    }

    fn tell_of(&mut self, at: Nanos, cpu: CpuId, current: Thread, what: What<'_>) {
        let group = what.group();
        let record = Record { at, cpu, current, what };
        for trace in self.traces.iter_mut().filter(|trace| trace.groups.has(group)) {
            trace.sink.record(&self.threads, &record);
        }
    }

    fn count(&mut self, now: Nanos, of: CpuId, counter: Counter, value: u64) {
        let told = &mut self.cpus[of.index()].counters[counter as usize];
        if told.replace(value) != Some(value) {
            self.tell(now, of, What::Counter { of, counter, value });
        }
    }

    fn marker(&mut self, now: Nanos, cpu: CpuId, marker: Marker) {
        let current = match marker {
            Marker::Main { .. } => Thread::MAIN,
            Marker::ClockRef { thread, .. } | Marker::Task { thread, .. } | Marker::Loop { thread, .. } => thread,
        };
        self.tell_of(now, cpu, current, What::Marker(marker));
    }

    fn frequency(&mut self, now: Nanos, cpu_id: CpuId, part: Capacity) {
        let khz = &self.cpus[cpu_id.index()].khz;
        // The frequency of which this is the part, rounded as the scheduler rounds it.
        let of_part = khz.iter().copied().find(|own| own * 1024 / khz[khz.len() - 1] == part);
        let highest = khz.last().copied();
        let khz = of_part.or_else(|| highest.map(|khz| khz * part / 1024)).unwrap_or(part * PLAIN_KHZ_PER_PART);
        self.tell(now, cpu_id, What::Frequency { cpu_id, khz });
    }

    /// Changes of frequency that have come by now.
    fn step_frequencies(&mut self, now: Nanos) {
        while let Some(&(at, cpu, part)) = self.frequency_steps.last().filter(|(at, ..)| START + *at <= now) {
            self.frequency_steps.pop();
            self.frequency(START + at, cpu, part);
        }
    }

    /// A CPU does something in the kernel, so that it is not in an idle state any more.
    #[inline]
    fn acts(&mut self, now: Nanos, cpu: CpuId) {
        if self.cpus[cpu.index()].asleep == Some(Asleep::InState) {
            self.leave_idle_state(now, cpu);
        }
    }

    fn leave_idle_state(&mut self, now: Nanos, cpu_id: CpuId) {
        if self.cpus[cpu_id.index()].asleep.take().is_some() {
            self.tell(now, cpu_id, What::Idle { cpu_id, state: None });
        }
    }

    fn tell_runtime(&mut self, now: Nanos, cpu: CpuId) {
        let host = &mut self.cpus[cpu.index()];
        let (thread, since) = (host.current, std::mem::replace(&mut host.told_runtime, now));
        if !self.threads.is_idle(thread) && now > since {
            self.tell(now, cpu, What::StatRuntime { thread, runtime: now - since });
        }
    }

    fn add_runnable(&mut self, now: Nanos, cpu: CpuId, by: i64) {
        let nr = &mut self.cpus[cpu.index()].nr_running;
        *nr = nr.saturating_add_signed(by);
        let nr = *nr;
        if self.groups.has(Group::Counters) {
            self.count(now, cpu, Counter::NrRunning, nr);
        }
    }

    /// A fork is told when its CPU is known.
    fn tell_fork(&mut self, now: Nanos, cpu: CpuId) {
        if let Some((child, is_started)) = self.fork.take() {
            let current = self.cpus[cpu.index()].current;
            let parent = if is_started { Thread::MAIN } else { current };
            self.tell(now, cpu, What::Fork { parent, child });
        }
    }

    fn woke(&mut self, now: Nanos, thread: Thread, target_cpu: CpuId, is_new: bool, on: CpuId) {
        self.acts(now, on);
        self.tell_fork(now, on);
        let track = &mut self.tracks[thread.index()];
        track.cpu = Some(target_cpu);
        let was_queued = track.queued_on.replace(target_cpu);
        if was_queued.is_none() {
            track.waits_since = Some(now);
        }
        self.tell(now, on, What::Wakeup { thread, target_cpu, is_new });
        if was_queued.is_none() {
            self.add_runnable(now, target_cpu, 1);
        }
    }

    fn migrated(&mut self, now: Nanos, thread: Thread, orig_cpu: CpuId, dest_cpu: CpuId, on: CpuId) {
        self.acts(now, on);
        self.tell(now, on, What::Migrate { thread, orig_cpu, dest_cpu });
        let track = &mut self.tracks[thread.index()];
        track.cpu = Some(dest_cpu);
        if let Some(queued_on) = &mut track.queued_on {
            *queued_on = dest_cpu;
            self.add_runnable(now, orig_cpu, -1);
            self.add_runnable(now, dest_cpu, 1);
        }
    }

    fn switched(&mut self, now: Nanos, cpu: CpuId, prev: Thread, next: Thread, prev_state: PrevState) {
        self.leave_idle_state(now, cpu);
        self.tell_runtime(now, cpu);
        if prev_state == PrevState::Dead {
            self.end_loops(now, cpu, prev);
            self.tell(now, cpu, What::Exit { thread: prev });
        }
        let waited = self.tracks[next.index()].waits_since.take().filter(|_| !self.threads.is_idle(next));
        if let Some(since) = waited {
            self.tell(now, cpu, What::StatWait { thread: next, delay: now - since });
        }
        self.tell(now, cpu, What::Switch { prev, prev_state, next });
        self.cpus[cpu.index()].current = next;
        let track = &mut self.tracks[prev.index()];
        if prev_state == PrevState::Runnable {
            track.waits_since = Some(now);
        } else if track.queued_on.take().is_some() {
            self.add_runnable(now, cpu, -1);
        }
    }

    /// A thread of rt-app begins a loop, or its first one.
    fn begin_loop(&mut self, now: Nanos, thread: Thread, place: LoopPlace) {
        let track = &mut self.tracks[thread.index()];
        let before = track.place.replace(place);
        let cpu = track.cpu.expect("a thread that runs was woken");
        match before {
            Some(place) => self.marker(now, cpu, Marker::Loop { thread, starts: false, place }),
            None => {
                if !std::mem::replace(&mut self.has_clock_ref, true) {
                    self.marker(now, cpu, Marker::ClockRef { thread, time: now });
                }
                self.marker(now, cpu, Marker::Task { thread, starts: true });
            }
        }
        self.marker(now, cpu, Marker::Loop { thread, starts: true, place });
    }

    fn end_loops(&mut self, now: Nanos, cpu: CpuId, thread: Thread) {
        if let Some(place) = self.tracks[thread.index()].place.take() {
            self.marker(now, cpu, Marker::Loop { thread, starts: false, place });
            self.marker(now, cpu, Marker::Task { thread, starts: false });
        }
    }
}

impl Probe for Exporter {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.step_frequencies(now);
        match *event {
            Event::Waking { task, cpu, on } => {
                self.acts(now, on);
                let thread = Thread::of(task);
                let by_interrupt = std::mem::take(&mut self.tracks[thread.index()].is_woken_by_interrupt);
                self.tell(now, on, What::Waking { thread, target_cpu: cpu, by_interrupt });
            }
            Event::Wakeup { task, cpu, is_new, on } => self.woke(now, Thread::of(task), cpu, is_new, on),
            Event::Switch { cpu, prev, next, prev_state } => {
                self.switched(now, cpu, Thread::of(prev), Thread::of(next), prev_state);
            }
            Event::Migrate { task, from, to, on } => self.migrated(now, Thread::of(task), from, to, on),
            Event::Priority { task, prio, is_inherited, on } => {
                let thread = Thread::of(task);
                let oldprio = self.threads.set_prio(thread, prio);
                if is_inherited {
                    self.tell(now, on, What::Setprio { thread, oldprio, newprio: prio });
                }
            }
            Event::Frequency { cpu, capacity } => self.frequency(now, cpu, capacity),
            Event::Ipi { cpu, kind, on } => self.tell(now, on, What::Ipi { target: cpu, kind }),
            Event::WakeupDecision(decision) => {
                self.acts(now, decision.waker);
                self.tell_fork(now, decision.waker);
                self.tell(now, decision.waker, What::Selected { thread: Thread::of(decision.task), decision });
            }
            Event::BalanceDecision(decision) => self.tell(now, decision.on, What::Balanced(decision)),
            Event::KickDecision(decision) => self.tell(now, decision.cpu, What::Kicked(decision)),
            Event::PeltEntity { task, cpu, avg, .. } => {
                self.tell(now, cpu, What::PeltSe { thread: task.map(Thread::of), of: cpu, avg });
            }
            Event::PeltCfsRq { cpu, is_root, avg } => {
                self.tell(now, cpu, What::PeltCfs { of: cpu, is_root, avg });
                if is_root && self.groups.has(Group::Counters) {
                    self.count(now, cpu, Counter::UtilAvg, avg.util_avg);
                }
            }
            Event::DomainStat { .. } | Event::Overutilized { .. } | Event::BlockedUpdate(_) | Event::Warning { .. } => {
            }
        }
    }

    fn wants_pelt(&self) -> bool {
        self.groups.has(Group::Pelt) || self.groups.has(Group::Counters)
    }
}

impl<E: Engine> Observer<E> for Exporter {
    fn wants(&self) -> Wants {
        Wants { events: true, details: self.groups.has(Group::Ipi), pelt: self.wants_pelt() }
    }

    fn wants_kernel_paths(&self) -> bool {
        true
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        self.step_frequencies(now);
        match *event {
            MachineEvent::Forked { task, id, pid, spec } => {
                let (thread, is_started) = self.threads.forked(id, pid, spec);
                self.of_task.resize(task + 1, thread);
                self.of_task[task] = thread;
                self.tracks.push(Track::default());
                self.fork = Some((thread, is_started));
            }
            MachineEvent::Waking { task, by_interrupt, .. } => {
                // One that was not forked yet is not woken.
                if let Some(&thread) = self.of_task.get(task) {
                    self.tracks[thread.index()].is_woken_by_interrupt = by_interrupt;
                }
            }
            MachineEvent::Tick { cpu } => self.tell_runtime(now, cpu),
            MachineEvent::IdleEnter { cpu, state } => {
                self.leave_idle_state(now, cpu);
                let asleep = if state.is_some() { Asleep::InState } else { Asleep::Plain };
                self.cpus[cpu.index()].asleep = Some(asleep);
                let state = state.map_or(PLAIN_IDLE_STATE, |state| state as u32);
                self.tell(now, cpu, What::Idle { cpu_id: cpu, state: Some(state) });
            }
            MachineEvent::Kernel { cpu, path, began, took, waited, ends } => {
                self.acts(now, cpu);
                self.tell(now, cpu, What::Path { path, began, took, waited, ends });
            }
            MachineEvent::LoopBegins { task, place } => self.begin_loop(now, self.of_task[task], place),
            _ => {}
        }
    }
}
