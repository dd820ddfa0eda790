// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds problems in a run with fixed rules. Each finding has a count, a total time, its worst moment, and
//! the question that [`crate::explain`] answers about it.
//!
//! [`Findings`] observes a run. The rules are modules:
//! - [`idle`]: a CPU idles while a task that may use it waits.
//! - [`waits`]: starvation and late wake-ups.
//! - [`moves`]: tasks that migrate back and forth.
//! - [`misfit`]: tasks too big for their CPU while a bigger CPU idles.
//! - [`kicks`]: NOHZ kicks after which no task moved.
//! - [`unfair`]: tasks that get less than half of their fair share.
//! - [`flapping`]: frequent changes of the over-utilised state.
//! - [`slow`]: frequencies too low for the utilisation.
//!
//! Missed timers come from the family statistics. [`trace`] applies the rules to a recorded trace as far as
//! its events allow. [`Limits`] holds the thresholds.

mod episodes;
mod flapping;
mod idle;
mod kicks;
mod misfit;
mod moves;
mod run;
mod slow;
#[cfg(test)]
mod tests;
mod trace;
mod unfair;
mod waits;

pub use run::{find, sampling_interval};
pub use trace::find_in_trace;

use crate::eas::EasStatus;
use crate::explain::Question;
use crate::families::FamilySummary;
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START};
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth checking, with little effect.
    Low,
    /// Costs latency or throughput.
    Medium,
    /// Starves tasks or wastes CPUs.
    High,
}

impl Severity {
    /// Name of the severity, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Problem found in a run or in a trace.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Finding {
    /// Name of the rule.
    pub rule: &'static str,
    /// Severity of the problem.
    pub severity: Severity,
    /// Description of the problem in one sentence.
    pub sentence: String,
    /// Number of times that the problem occurred.
    pub count: u64,
    /// Total duration in ns; 0 if the problem has no duration.
    pub total_ns: u64,
    /// Longest duration in ns; 0 if the problem has no duration.
    pub worst_ns: u64,
    /// Time of the worst occurrence in ns from the start of the run, for `fairlab explain --at`.
    pub at_ns: u64,
    /// Question whose explanation gives the cause.
    #[serde(skip)]
    pub question: Question,
}

/// Thresholds of the rules.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Shortest idle time of a CPU, while a task that may use it waits, that is reported.
    pub idle: Nanos,
    /// Longest wake-up latency that is not reported.
    pub latency: Nanos,
    /// Longest wait for a CPU that is not reported.
    pub starvation: Nanos,
    /// Longest stay on a CPU after which a migration back counts as ping-pong.
    pub back_within: Nanos,
    /// Shortest time of a misfit task, or of a frequency that is too low, that is reported.
    pub misfit: Nanos,
}

impl Limits {
    /// Returns the thresholds for a machine: an idle CPU should be detected within two ticks.
    pub fn of(machine: &Machine) -> Self {
        Self::of_tick(machine.hardware().tick)
    }

    /// Returns the thresholds for a machine whose ticks have this length.
    pub fn of_tick(tick: Nanos) -> Self {
        let tick = tick.0;
        Self {
            idle: Nanos((2 * tick).max(4_000_000)),
            latency: Nanos::from_millis(10),
            starvation: Nanos::from_millis(500),
            back_within: Nanos::from_millis(1),
            misfit: Nanos::from_millis(20),
        }
    }
}

/// State of a task while a run is observed.
#[derive(Clone, Debug, Default)]
struct TaskWaitState {
    /// Index among the machine's tasks.
    place: usize,
    family: usize,
    /// Start of the current wait for a CPU.
    waits_since: Option<Nanos>,
    /// Time of the wake-up, until the task runs.
    woken_at: Option<Nanos>,
    cpu: Option<CpuId>,
    /// Affinity at the last sample.
    allowed: Option<CpuMask>,
}

/// Number of occurrences, total time, and the worst occurrence.
#[derive(Clone, Copy, Debug)]
struct Occurrences<W> {
    count: u64,
    total: Nanos,
    worst: Option<(Nanos, W)>,
}

impl<W> Default for Occurrences<W> {
    fn default() -> Self {
        Self { count: 0, total: Nanos::ZERO, worst: None }
    }
}

impl<W> Occurrences<W> {
    fn add(&mut self, time: Nanos, what: W) {
        self.count += 1;
        self.total += time;
        if self.worst.as_ref().is_none_or(|(worst, _)| time > *worst) {
            self.worst = Some((time, what));
        }
    }
}

/// Occurrences of a finding, by index of the family.
type ByFamily<W> = BTreeMap<usize, Occurrences<W>>;

/// Observer of a run that applies the rules.
#[derive(Debug)]
pub struct Findings {
    limits: Limits,
    tasks: BTreeMap<TaskId, TaskWaitState>,
    /// Names of families, and the family of each task of the workload.
    families: Vec<String>,
    family_of: Vec<usize>,
    idle: idle::IdleCpus,
    waits: waits::Waits,
    moves: moves::Moves,
    misfit: misfit::Misfits,
    kicks: kicks::WastedKicks,
    unfair: unfair::Shares,
    flapping: flapping::Flapping,
    slow: slow::SlowCpus,
}

impl Findings {
    /// Creates an observer for a machine whose run has not begun.
    pub fn new(machine: &Machine, limits: Limits) -> Self {
        let mut families: Vec<String> = Vec::new();
        let family_of = machine.workload().tasks.iter().map(|spec| {
            families.iter().position(|own| *own == spec.family).unwrap_or_else(|| {
                families.push(spec.family.clone());
                families.len() - 1
            })
        });
        let family_of = family_of.collect();
        let nr_cpus = machine.hardware().nr_cpus();
        Self {
            limits,
            tasks: BTreeMap::new(),
            families,
            family_of,
            idle: idle::IdleCpus::new(nr_cpus),
            waits: waits::Waits::default(),
            moves: moves::Moves::default(),
            misfit: misfit::Misfits::new(nr_cpus),
            kicks: kicks::WastedKicks::new(nr_cpus),
            unfair: unfair::Shares::default(),
            flapping: flapping::Flapping::default(),
            slow: slow::SlowCpus::new(nr_cpus),
        }
    }

    /// Checks state for which no events exist. To be called at intervals during the run.
    pub fn sample(&mut self, machine: &Machine) {
        for (&id, track) in &mut self.tasks {
            // A task of a throttled group waits for quota, not for a CPU.
            if track.waits_since.is_some() && machine.sched().waits_for_quota(id) {
                track.waits_since = Some(machine.now());
                track.woken_at = None;
            }
            let allowed = &machine.sched().task(id).cpus_allowed;
            if track.allowed.as_ref() != Some(allowed) {
                track.allowed = Some(allowed.clone());
            }
        }
        self.misfit.sample(machine, self.limits.misfit);
        self.slow.sample(machine, self.limits.misfit);
        self.unfair.sample(machine, self.tasks.iter().map(|(&id, track)| (id, track.place, track.family)));
    }

    /// Returns the findings, the worst first. `families` are those of the run's summary.
    pub fn finish(mut self, machine: &Machine, families: &[FamilySummary]) -> Vec<Finding> {
        let now = machine.now();
        let waiting: Vec<TaskId> =
            self.tasks.iter().filter(|(_, track)| track.waits_since.is_some()).map(|(&id, _)| id).collect();
        for id in waiting {
            self.end_waiting(now, id);
        }
        let name = |task: usize| machine.tasks()[task].name.clone();
        let about = FindingContext { name: &name, families: &self.families, machine: Some(machine), now };
        let mut all = self.idle.findings(&about);
        all.extend(self.waits.findings(&about, self.limits));
        all.extend(self.moves.findings(&about, self.limits));
        all.extend(self.misfit.findings(machine, now, self.limits.misfit));
        all.extend(self.kicks.findings());
        all.extend(self.unfair.findings(machine, &self.families));
        all.extend(self.flapping.findings(now, EasStatus::from_machine(machine).by_energy));
        all.extend(self.slow.findings(machine, now, self.limits.misfit));
        all.extend(families.iter().filter_map(|family| missed_timers(machine, family)));
        sort_worst_first(&mut all);
        all
    }

    /// Ends the wait of a task that gets a CPU, or at the end of the run, and applies the limits to it.
    fn end_waiting(&mut self, now: Nanos, id: TaskId) {
        let Some(track) = self.tasks.get_mut(&id) else { return };
        let Some(since) = track.waits_since.take() else { return };
        let woken = track.woken_at.take();
        let wait = waits::FindingWait { task: track.place, family: track.family, since, until: now };
        if let Some(woken) = woken.filter(|woken| now - *woken > self.limits.latency) {
            self.waits.record_late(wait, now - woken);
        }
        if now - since > self.limits.starvation {
            self.waits.record_starved(wait);
        }
        if now - since >= self.limits.idle
            && let (Some(allowed), Some(cpu)) = (&track.allowed, track.cpu)
        {
            self.idle.on_wait(wait, cpu, allowed, self.limits.idle);
        }
    }

    fn on_switch(&mut self, now: Nanos, cpu: CpuId, prev: TaskId, next: TaskId, prev_state: PrevState) {
        let is_idle = |task: TaskId| task.index() < self.idle.nr_cpus();
        let (was_idle, becomes_idle) = (is_idle(prev), is_idle(next));
        if was_idle {
            self.idle.end_idle(now, cpu);
        }
        if becomes_idle {
            self.idle.begin_idle(now, cpu);
        }
        if prev_state == PrevState::Runnable {
            if let Some(track) = self.tasks.get_mut(&prev) {
                track.waits_since = Some(now);
            }
        } else {
            self.unfair.on_sleep(prev);
        }
        self.end_waiting(now, next);
    }
}

/// Returns the finding about missed timer periods of a family.
fn missed_timers(machine: &Machine, family: &FamilySummary) -> Option<Finding> {
    let timers = family.timers.as_ref().filter(|timers| timers.missed > 0)?;
    let specs = &machine.workload().tasks;
    let first = machine.tasks().iter().find(|task| task.id.is_some() && specs[task.spec].family == family.name)?;
    let severity = if timers.missed * 20 > timers.arrivals { Severity::Medium } else { Severity::Low };
    Some(Finding {
        rule: "timer-missed",
        severity,
        sentence: format!("{} missed {} of {} timer periods", family.name, timers.missed, timers.arrivals),
        count: timers.missed,
        total_ns: 0,
        worst_ns: 0,
        at_ns: 0,
        question: Question::Task(first.name.clone()),
    })
}

/// Sorts findings by severity, total time and count, the worst first.
fn sort_worst_first(all: &mut [Finding]) {
    all.sort_by_key(|finding| std::cmp::Reverse((finding.severity, finding.total_ns, finding.count)));
}

/// Data that the rules need to describe their findings.
struct FindingContext<'a> {
    /// Returns the name of a task, given its index.
    name: &'a dyn Fn(usize) -> String,
    families: &'a [String],
    /// Simulated machine; `None` for a trace.
    machine: Option<&'a Machine>,
    now: Nanos,
}

/// Converts a time on the machine's clock to ns from the start of the run.
fn moment(at: Nanos) -> u64 {
    at.saturating_since(START).0
}

impl SchedObserver for Findings {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        match *event {
            Event::Wakeup { task, cpu, is_new, .. } => {
                if let Some(track) = self.tasks.get_mut(&task) {
                    track.cpu = Some(cpu);
                    if track.waits_since.is_none() {
                        track.waits_since = Some(now);
                        track.woken_at = (!is_new).then_some(now);
                    }
                }
            }
            Event::Switch { cpu, prev, next, prev_state } => self.on_switch(now, cpu, prev, next, prev_state),
            Event::Migrate { task, from, to, .. } => {
                if let Some(track) = self.tasks.get_mut(&task) {
                    track.cpu = Some(to);
                    self.moves.on_migrate(now, track.place, track.family, from, to, self.limits.back_within);
                }
            }
            Event::BalanceDecision(decision) => {
                self.idle.on_balance(now, decision);
                self.kicks.on_balance(decision);
            }
            Event::KickDecision(decision) => self.kicks.on_kick(now, decision),
            Event::Overutilized { is_over, cpu } => self.flapping.on_overutilized(now, is_over, cpu),
            _ => {}
        }
    }
}

impl Observer for Findings {
    fn wants(&self) -> Interest {
        Interest { events: true, ..Interest::NONE }
    }

    fn machine_event(&mut self, _now: Nanos, event: &MachineEvent) {
        if let MachineEvent::Forked { task, id, spec, .. } = *event {
            self.tasks
                .insert(id, TaskWaitState { place: task, family: self.family_of[spec], ..TaskWaitState::default() });
        }
    }
}
