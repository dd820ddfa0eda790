// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds problems in a run with fixed rules. Each finding has a count, a total time, its worst moment, and
//! the question that [`crate::explain`] answers about it.
//!
//! [`Findings`] observes a run and passes what happens to the rules. Each rule is a type in a module of its own, listed below; [`rule`]
//! has their interface. [`trace`] applies rules to a recorded trace as far as its events allow. [`Limits`] holds
//! the thresholds.

mod episodes;
mod flapping;
mod idle;
mod kicks;
mod lags;
mod misfit;
mod moves;
mod rule;
mod servers;
mod slices;
mod slow;
#[cfg(test)]
mod tests;
mod timers;
mod trace;
mod unfair;
mod waits;

pub use rule::{RuleInfo, RuleSeverity, Severity};
pub use trace::find_in_trace;

use crate::explain::Question;
use crate::families::{FamilySummary, families};
use crate::slot_mut;
use crate::states::{CpuActivity, CpuState, TaskActivity, TaskState, hotplug};
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START};
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::eevdf::{EevdfEvent, LimitedLag, ServerStep};
use fairlab_sched::probe::{BalanceDecision, Event, KickDecision, SchedObserver};
use fairlab_sched::units::Nanos;
use rule::{EndedWait, FindingMigration, FindingWait, Preemption, Rule, rules};
use serde::Serialize;
use std::collections::BTreeMap;

rules! {
    idle: idle::IdleCpus,
    starvation: waits::Starvation,
    late: waits::LateWakeups,
    throttled: waits::ThrottledTasks,
    servers: servers::ServedTasks,
    moves: moves::Moves,
    misfit: misfit::Misfits,
    kicks: kicks::WastedKicks,
    unfair: unfair::Shares,
    flapping: flapping::Flapping,
    slow: slow::SlowCpus,
    timers: timers::MissedTimers,
    slices: slices::CutSlices,
    lags: lags::LimitedLags,
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

#[derive(Clone, Debug, Default)]
struct FindingTask {
    /// Index among the machine's tasks.
    place: usize,
    family: usize,
    activity: TaskActivity,
    /// Time of the wake-up, until the task runs. A task that was throttled meanwhile has none.
    woken_at: Option<Nanos>,
    cpu: Option<CpuId>,
    /// Affinity at the last sample.
    allowed: Option<CpuMask>,
}

impl FindingTask {
    #[inline]
    fn wake(&mut self, now: Nanos, is_new: bool) {
        if self.activity.wake(now) {
            self.woken_at = (!is_new).then_some(now);
        }
    }

    /// Ends a wait for a CPU. Returns its start and the time of its wake-up, if the task waited.
    #[inline]
    fn take_wait(&mut self, before: TaskState) -> Option<(Nanos, Option<Nanos>)> {
        let since = before.waits_since()?;
        Some((since, self.woken_at.take()))
    }
}

/// Tasks of the workload that were forked, by the scheduler's id.
#[derive(Clone, Debug, Default)]
struct FindingTasks(Vec<Option<FindingTask>>);

impl FindingTasks {
    #[inline]
    fn get_mut(&mut self, id: TaskId) -> Option<&mut FindingTask> {
        self.0.get_mut(id.index())?.as_mut()
    }

    fn insert(&mut self, id: TaskId, task: FindingTask) {
        *slot_mut(&mut self.0, id.index()) = Some(task);
    }

    fn iter(&self) -> impl Iterator<Item = (TaskId, &FindingTask)> {
        let tasks = self.0.iter().enumerate();
        tasks.filter_map(|(index, task)| Some((TaskId::from_index(index), task.as_ref()?)))
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = (TaskId, &mut FindingTask)> {
        let tasks = self.0.iter_mut().enumerate();
        tasks.filter_map(|(index, task)| Some((TaskId::from_index(index), task.as_mut()?)))
    }
}

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
    cpus: Vec<CpuActivity>,
    tasks: FindingTasks,
    /// Names of families, and the family of each task of the workload.
    families: Vec<String>,
    family_of: Vec<usize>,
    rules: RuleSet,
    /// Thresholds of the rules.
    limits: Limits,
    since: Nanos,
    /// CPU that is over-utilised, while the machine is.
    overutilized: Option<CpuId>,
}

impl Findings {
    /// Creates an observer for a machine whose run has not begun.
    pub fn new(machine: &Machine, limits: Limits) -> Self {
        let (families, family_of) = families(machine.workload());
        let nr_cpus = machine.hardware().nr_cpus();
        let rules = RuleSet::new(nr_cpus, limits);
        Self {
            cpus: vec![CpuActivity::default(); nr_cpus],
            tasks: FindingTasks::default(),
            families,
            family_of,
            rules,
            limits,
            since: START,
            overutilized: None,
        }
    }

    /// Discards what was found before `at`, the end of the warm-up. States in progress count from `at`.
    pub fn reset(&mut self, at: Nanos) {
        self.rules = RuleSet::new(self.cpus.len(), self.limits);
        self.since = at;
        for (index, cpu) in self.cpus.iter().enumerate() {
            self.rules.on_idle(at, CpuId::from_index(index), cpu.state() == CpuState::Idle);
        }
        if let Some(cpu) = self.overutilized {
            self.rules.on_overutilized(at, true, cpu);
        }
        for (_, task) in self.tasks.iter_mut() {
            task.activity.restart(at);
        }
    }

    /// Checks state for which no events exist. To be called at intervals during the run.
    pub fn sample(&mut self, machine: &Machine) {
        for (id, task) in self.tasks.iter_mut() {
            let allowed = &machine.sched().task(id).cpus_allowed;
            if task.allowed.as_ref() != Some(allowed) {
                task.allowed = Some(allowed.clone());
            }
        }
        self.rules.sample(machine, &self.tasks);
    }

    /// Returns the findings, the worst first. `families` are those of the run's summary.
    pub fn finish(mut self, machine: &Machine, families: &[FamilySummary]) -> Vec<Finding> {
        let now = machine.now();
        for (_, task) in self.tasks.iter_mut() {
            if let TaskState::Throttled { since } = task.activity.state() {
                self.rules.on_throttled(&FindingWait { task: task.place, family: task.family, since, until: now });
            }
            end_wait(&mut self.rules, now, task, task.activity.state());
        }
        let name = |task: usize| machine.tasks()[task].name.clone();
        let about = FindingContext {
            name: &name,
            families: &self.families,
            summaries: families,
            machine: Some(machine),
            since: self.since,
            now,
        };
        self.rules.findings(&about)
    }

    /// A throttled task waits for runtime: its wait for a CPU ends, and another one begins afterwards.
    fn on_throttling(&mut self, now: Nanos, id: TaskId, is_throttled: bool) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        match task.activity.throttle(now, is_throttled) {
            Some(TaskState::Throttled { since }) => {
                let wait = FindingWait { task: task.place, family: task.family, since, until: now };
                self.rules.on_throttled(&wait);
            }
            Some(before) => end_wait(&mut self.rules, now, task, before),
            None => {}
        }
        // The time since the wake-up is no wait for a CPU alone.
        task.woken_at = None;
    }

    #[cold]
    fn on_eevdf(&mut self, now: Nanos, event: EevdfEvent<'_>) {
        match event {
            EevdfEvent::LimitedLag(lag) => {
                if let Some(task) = self.tasks.get_mut(lag.task) {
                    self.rules.on_limited_lag(now, (task.place, task.family), lag);
                }
            }
            EevdfEvent::FairServer(record) if record.step == ServerStep::Picked => {
                self.rules.on_server_pick(now, record.cpu);
            }
            _ => {}
        }
    }

    #[inline]
    fn change_cpu(&mut self, now: Nanos, cpu: CpuId, change: impl FnOnce(&mut CpuActivity)) {
        let activity = &mut self.cpus[cpu.index()];
        let was_idle = activity.state() == CpuState::Idle;
        change(activity);
        let is_idle = activity.state() == CpuState::Idle;
        if was_idle != is_idle {
            self.rules.on_idle(now, cpu, is_idle);
        }
    }

    #[inline]
    fn on_switch(&mut self, now: Nanos, cpu: CpuId, prev: TaskId, next: TaskId, prev_state: PrevState) {
        let nr_cpus = self.cpus.len();
        self.change_cpu(now, cpu, |activity| activity.switch(next, nr_cpus));
        if let Some(task) = self.tasks.get_mut(prev) {
            let before = task.activity.switch_out(now, cpu, prev_state);
            if prev_state == PrevState::Runnable
                && let TaskState::Running { since, .. } = before
            {
                self.rules.on_preempt(now, &Preemption { task: prev, next, ran: now - since });
            }
        }
        if prev_state != PrevState::Runnable {
            self.rules.on_sleep(prev);
        }
        if let Some(task) = self.tasks.get_mut(next) {
            let before = task.activity.switch_in(now, cpu);
            end_wait(&mut self.rules, now, task, before);
        }
    }
}

/// Ends the wait of a task that gets a CPU, or at the end of the run, and passes it to the rules.
#[inline]
fn end_wait(rules: &mut RuleSet, now: Nanos, task: &mut FindingTask, before: TaskState) {
    let Some((since, woken_at)) = task.take_wait(before) else { return };
    let wait = FindingWait { task: task.place, family: task.family, since, until: now };
    rules.on_wait(&EndedWait { wait, woken_at, cpu: task.cpu, allowed: task.allowed.as_ref() });
}

/// Data that the rules need to describe their findings.
struct FindingContext<'a> {
    /// Returns the name of a task, given its index.
    name: &'a dyn Fn(usize) -> String,
    families: &'a [String],
    /// Summaries of the families of a run; none for a trace.
    summaries: &'a [FamilySummary],
    /// Simulated machine; `None` for a trace.
    machine: Option<&'a Machine>,
    since: Nanos,
    now: Nanos,
}

impl FindingContext<'_> {
    /// Returns the measured time in ns, at least 1.
    fn length_ns(&self) -> u64 {
        self.now.saturating_since(self.since).0.max(1)
    }
}

/// Converts a time on the machine's clock to ns from the start of the run.
fn moment(at: Nanos) -> u64 {
    at.saturating_since(START).0
}

impl SchedObserver for Findings {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        match *event {
            Event::Wakeup { task, cpu, is_new, .. } => {
                if let Some(task) = self.tasks.get_mut(task) {
                    task.cpu = Some(cpu);
                    task.wake(now, is_new);
                }
            }
            Event::Switch { cpu, prev, next, prev_state } => self.on_switch(now, cpu, prev, next, prev_state),
            Event::Migrate { task, from, to, .. } => {
                if let Some(task) = self.tasks.get_mut(task) {
                    task.cpu = Some(to);
                    let migration = FindingMigration { task: task.place, family: task.family, from, to };
                    self.rules.on_migrate(now, migration);
                }
            }
            Event::Throttling { task, limit } => self.on_throttling(now, task, limit.is_some()),
            Event::BalanceDecision(decision) => self.rules.on_balance(now, decision),
            Event::KickDecision(decision) => self.rules.on_kick(now, decision),
            Event::Overutilized { is_over, cpu } => {
                self.overutilized = is_over.then_some(cpu);
                self.rules.on_overutilized(now, is_over, cpu);
            }
            Event::Eevdf(event) => self.on_eevdf(now, event),
            _ => {}
        }
    }
}

impl Observer for Findings {
    fn wants(&self) -> Interest {
        Interest { events: true, ..Interest::NONE }
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        if let Some((cpu, online)) = hotplug(event) {
            self.change_cpu(now, cpu, |activity| activity.set_online(online));
        }
        if let MachineEvent::Forked { task, id, spec, .. } = *event {
            let family = self.family_of[spec];
            self.tasks.insert(id, FindingTask { place: task, family, ..FindingTask::default() });
        }
    }
}
