// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds problems in a run with fixed rules. Each finding has a count, a total time, its worst moment, and
//! the question that [`fairlab_explain`] answers about it.
//!
//! [`Findings`] observes a run and passes what happens to the rules. Each rule is a type in a module of its own, which also has
//! the evidence of its findings. The list is below; [`rule`] has the interface of rules, [`evidence`] that of evidence.
//! [`trace`] applies rules to a recorded trace as far as its events allow. [`Limits`] holds the thresholds.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests advance machines by hand"))]

mod deadlines;
mod evidence;
mod flapping;
mod idle;
mod kicks;
mod lags;
mod misfit;
mod moves;
mod never_woken;
mod occupancy;
mod periods;
mod quota;
mod rule;
mod servers;
mod slices;
mod slow;
mod stretched;
#[cfg(test)]
mod tests;
mod timers;
mod trace;
mod unfair;
mod unfair_groups;
mod waits;

pub use idle::IdleCause;
pub use rule::{RuleInfo, RuleSeverity, Severity};
pub use trace::find_in_trace;
pub use waits::{WaitMeasure, WaitedBehind};

use crate::evidence::{Sentence, kinds_of_evidence};
use crate::occupancy::{Occupancy, TaskClasses, WaitOccupancy};
use fairlab_explain::Question;
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START};
use fairlab_measure::episodes::{Episode, TaskActivity, TaskState};
use fairlab_measure::families::{FamilySummary, families};
use fairlab_measure::slot_mut;
use fairlab_measure::states::{CpuActivity, CpuState, hotplug};
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::eevdf::{EevdfEvent, LimitedLag, ServerStep};
use fairlab_sched::probe::{BalanceDecision, Event, KickDecision, RuntimeLimit, SchedObserver};
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use rule::{FindingMigration, FindingWait, Preemption, Rule, rules};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

// Rules can share a kind of evidence, which is an entry of the first of them.
rules! {
    idle: idle::IdleCpus => IdleCpu(IdleCpuEvidence),
    starvation: waits::Starvation => Wait(WaitEvidence),
    never_woken: never_woken::NeverWoken => NeverWoken(NeverWokenEvidence) | LostWakeup(LostWakeupEvidence),
    late: waits::LateWakeups,
    throttled: waits::ThrottledTasks,
    deadlines: deadlines::MissedDeadlines => MissedDeadline(MissedDeadlineEvidence),
    servers: servers::ServedTasks => FairServer(FairServerEvidence),
    moves: moves::Moves => PingPong(PingPongEvidence),
    misfit: misfit::Misfits => Misfit(MisfitEvidence),
    kicks: kicks::WastedKicks => WastedKicks(WastedKicksEvidence),
    unfair: unfair::Shares => UnfairShare(UnfairShareEvidence),
    unfair_groups: unfair_groups::GroupShares => UnfairGroup(UnfairGroupEvidence),
    quotas: quota::Quotas => QuotaExceeded(QuotaExceededEvidence),
    flapping: flapping::Flapping => Flapping(FlappingEvidence),
    slow: slow::SlowCpus => LowFrequency(LowFrequencyEvidence),
    stretched: stretched::Stretched => Stretched(StretchedEvidence),
    timers: timers::MissedTimers => MissedTimers(MissedTimersEvidence),
    slices: slices::CutSlices => CutSlices(CutSlicesEvidence),
    lags: lags::LimitedLags => LimitedLag(LimitedLagEvidence),
}

/// Problem found in a run or in a trace.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Finding {
    /// Name of the rule.
    pub rule: &'static str,
    /// Severity of the problem.
    pub severity: Severity,
    /// Facts of the sentence beside counts and durations.
    pub evidence: Evidence,
    /// Description of the problem in one sentence, printed from the other fields.
    pub sentence: String,
    /// Number of times that the problem occurred.
    pub count: u64,
    /// Total duration in ns; 0 if the problem has no duration.
    pub total_ns: u64,
    /// Longest duration in ns; 0 if the problem has no duration.
    pub worst_ns: u64,
    /// Whether the longest duration is a lower bound, because it had not ended.
    pub is_open: bool,
    /// Object of the waits in a finding about waits: `a CPU`, `the quota of g`.
    pub awaited: Option<String>,
    /// Time of the worst occurrence in ns from the start of the run, for `fairlab explain --at`.
    pub at_ns: u64,
    /// End of the last occurrence in ns from the start of the run; 0 if it is not known.
    pub last_ns: u64,
    /// Part of the measured time to which the problem is limited, in ns from its begin; absent if it also occurred after the
    /// first tenth.
    pub only_in_first_ns: Option<u64>,
    /// Question for `fairlab explain` whose answer gives the cause. Traces cannot be explained.
    pub question: Question,
}

impl Finding {
    /// Returns the schema of findings, with the start of their paths in the result of a run.
    pub fn schema() -> (&'static str, serde_json::Value) {
        ("findings[].", schemars::schema_for!(Self).to_value())
    }
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

    /// Length below which no rule reports a wait, except for deadline tasks.
    #[inline]
    fn shortest_wait(&self) -> Nanos {
        self.idle.min(self.latency).min(self.starvation)
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

/// Part of the measured time at whose start findings are marked: one in so many.
const START_PART: u64 = 10;

impl Finding {
    /// Marks a problem that occurred only at the start of the measured time.
    fn mark_start(&mut self, about: &FindingContext<'_>) {
        let last = self.last_ns.saturating_sub(moment(about.since));
        let is_at_start = self.last_ns > 0 && last < about.length_ns() / START_PART;
        self.only_in_first_ns = is_at_start.then(|| last.div_ceil(1_000_000) * 1_000_000);
    }
}

#[derive(Clone, Debug, Default)]
struct FindingTask {
    /// Index among the machine's tasks.
    place: usize,
    family: usize,
    activity: TaskActivity,
    /// Times on CPUs that the task has left in its present wait.
    ran: Option<Box<WaitOccupancy>>,
    /// Deadline of a deadline task after its wake-up.
    deadline: Option<Nanos>,
    /// Time of the fork.
    since: Nanos,
    /// Time of the last wake-up, while the task has not blocked since.
    job_since: Option<Nanos>,
    /// Affinity at the last sample.
    allowed: Option<CpuMask>,
    /// Number of times that the task has blocked.
    nr_sleeps: u64,
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
    /// End of the last occurrence.
    last: Nanos,
}

impl<W> Default for Occurrences<W> {
    fn default() -> Self {
        Self { count: 0, total: Nanos::ZERO, worst: None, last: Nanos::ZERO }
    }
}

impl<W> Occurrences<W> {
    /// Adds an occurrence of a length, which ends at a time.
    fn add(&mut self, until: Nanos, time: Nanos, what: W) {
        self.count += 1;
        self.total += time;
        self.last = self.last.max(until);
        if self.worst.as_ref().is_none_or(|(worst, _)| time > *worst) {
            self.worst = Some((time, what));
        }
    }

    /// Returns a finding with the number and the times of the occurrences.
    fn in_finding(&self, finding: Finding) -> Finding {
        Finding {
            count: self.count,
            total_ns: self.total.0,
            worst_ns: self.worst.as_ref().map_or(0, |(time, _)| time.0),
            last_ns: moment(self.last),
            ..finding
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
    /// Deadline of each task of the workload that starts as a deadline task.
    deadlines: Vec<Option<Nanos>>,
    /// Names of the task groups, from the first one below the root.
    groups: Vec<String>,
    rules: RuleSet,
    classes: TaskClasses,
    occupancy: Occupancy,
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
            deadlines: machine.workload().tasks.iter().map(|task| deadline_of(task.start.policy)).collect(),
            groups: machine.workload().groups.iter().map(|group| group.name.clone()).collect(),
            rules,
            classes: TaskClasses::new(nr_cpus),
            occupancy: Occupancy::new(nr_cpus, START),
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
            task.ran = None;
        }
    }

    /// Reads affinities, deadlines and slices of all tasks, whose changes have no event.
    pub fn read_attributes(&mut self, machine: &Machine) {
        for (id, task) in self.tasks.iter_mut() {
            let scheduled = machine.sched().task(id);
            if task.allowed.as_ref() != Some(&scheduled.cpus_allowed) {
                task.allowed = Some(scheduled.cpus_allowed.clone());
            }
            task.deadline = match scheduled.policy {
                Policy::Deadline { deadline, .. } => Some(deadline),
                _ => None,
            };
        }
        self.rules.on_attributes(machine, &self.tasks);
    }

    /// Checks state for which no events exist. To be called at intervals during the run; `at` may be later than the last
    /// event.
    pub fn sample(&mut self, machine: &Machine, at: Nanos) {
        self.rules.sample(machine, &self.tasks, at);
    }

    /// Returns the findings, the worst first. `families` are those of the run's summary.
    pub fn finish(mut self, machine: &Machine, families: &[FamilySummary]) -> Vec<Finding> {
        let now = machine.now();
        for (_, task) in self.tasks.iter_mut() {
            if let Some(episode) = task.activity.episode(now) {
                report_wait(&mut self.rules, &self.occupancy, self.limits.shortest_wait(), task, &episode);
            }
        }
        let name = |task: usize| machine.tasks()[task].name.clone();
        let lifetimes = self.lifetimes(now);
        let about = FindingContext {
            name: &name,
            families: &self.families,
            lifetimes: &lifetimes,
            groups: &self.groups,
            summaries: families,
            machine: Some(machine),
            since: self.since,
            now,
        };
        self.rules.findings(&about)
    }

    /// Returns the measured time from fork to exit, summed over the tasks of each family.
    fn lifetimes(&self, now: Nanos) -> Vec<Nanos> {
        let mut lifetimes = vec![Nanos::ZERO; self.families.len()];
        for (_, task) in self.tasks.iter() {
            let end = match task.activity.state() {
                TaskState::Ended { since, .. } => since,
                _ => now,
            };
            lifetimes[task.family] += end.saturating_since(task.since.max(self.since));
        }
        lifetimes
    }

    fn on_fork(&mut self, now: Nanos, id: TaskId, place: usize, spec: usize) {
        let (family, deadline) = (self.family_of[spec], self.deadlines[spec]);
        self.tasks.insert(id, FindingTask { place, family, deadline, since: now, ..FindingTask::default() });
    }

    /// A throttled task waits for runtime: its wait for a CPU ends, and another one begins afterwards.
    fn on_throttling(&mut self, now: Nanos, id: TaskId, limit: Option<RuntimeLimit>) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        if let Some(episode) = task.activity.throttle(now, limit) {
            report_wait(&mut self.rules, &self.occupancy, self.limits.shortest_wait(), task, &episode);
            task.ran = None;
        }
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
        self.occupancy.switch(now, cpu, self.classes.of(next));
        if let Some(task) = self.tasks.get_mut(prev) {
            let ran = task.activity.switch_out(now, cpu, prev_state);
            if prev_state == PrevState::Runnable {
                task.ran = None;
                if let Some(ran) = ran {
                    self.rules.on_preempt(now, &Preemption { task: prev, next, ran });
                }
            } else {
                task.nr_sleeps += 1;
                if let Some(since) = task.job_since.take()
                    && let Some(deadline) = task.deadline
                {
                    self.rules.on_job(now, (task.place, task.family), now - since, deadline);
                }
            }
        }
        if let Some(task) = self.tasks.get_mut(next)
            && let Some(episode) = task.activity.switch_in(now, cpu)
        {
            report_wait(&mut self.rules, &self.occupancy, self.limits.shortest_wait(), task, &episode);
        }
    }

    #[inline]
    fn on_wakeup(&mut self, now: Nanos, id: TaskId, cpu: CpuId, is_new: bool) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        if task.activity.wake(now, cpu, is_new) {
            task.ran = None;
            if task.deadline.is_some() {
                task.job_since = (!is_new).then_some(now);
            }
        }
    }

    /// Records the class of a task. From now on a running one has its CPU as a task of this class.
    fn on_priority(&mut self, now: Nanos, id: TaskId, prio: i32) {
        self.classes.set_prio(id, prio);
        if let Some(task) = self.tasks.get_mut(id)
            && let TaskState::Running { cpu, .. } = task.activity.state()
        {
            self.occupancy.switch(now, cpu, self.classes.of(id));
        }
    }

    fn on_migrate(&mut self, now: Nanos, id: TaskId, from: CpuId, to: CpuId) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        if let Some(episode) = task.activity.episode(now) {
            let ran = task.ran.get_or_insert_default();
            ran.migrate(&self.occupancy, episode.since, now, episode.cpu);
        }
        task.activity.migrate(to);
        let migration = FindingMigration { task: task.place, family: task.family, from, to };
        self.rules.on_migrate(now, migration);
    }
}

/// Passes an episode to the rules, unless it is shorter than those that they report.
#[inline]
fn report_wait(rules: &mut RuleSet, occupancy: &Occupancy, shortest: Nanos, task: &FindingTask, episode: &Episode) {
    let shortest = task.deadline.map_or(shortest, |deadline| deadline.min(shortest));
    if episode.length() < shortest && episode.queued.is_none_or(|queued| queued < shortest) {
        return;
    }
    let ran = match &task.ran {
        Some(ran) => ran.up_to(occupancy, episode.since, episode.until, episode.cpu),
        None => occupancy.between(episode.cpu, episode.since, episode.until),
    };
    let FindingTask { place, family, deadline, .. } = *task;
    let wait = FindingWait { task: place, family, episode: *episode, deadline, ran };
    rules.on_wait(&wait, task.allowed.as_ref());
}

/// Returns the deadline of a task with a policy, after its wake-up.
fn deadline_of(policy: Option<Policy>) -> Option<Nanos> {
    match policy {
        Some(Policy::Deadline { deadline, .. }) => Some(deadline),
        _ => None,
    }
}

/// Data that the rules need to describe their findings.
struct FindingContext<'a> {
    /// Returns the name of a task, given its index.
    name: &'a dyn Fn(usize) -> String,
    families: &'a [String],
    /// Measured time from fork to exit, summed over the tasks of each family; none for a trace.
    lifetimes: &'a [Nanos],
    /// Names of the task groups, from the first one below the root; none for a trace.
    groups: &'a [String],
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
            Event::Wakeup { task, cpu, is_new, .. } => self.on_wakeup(now, task, cpu, is_new),
            Event::Switch { cpu, prev, next, prev_state } => self.on_switch(now, cpu, prev, next, prev_state),
            Event::Migrate { task, from, to, .. } => self.on_migrate(now, task, from, to),
            Event::Priority { task, prio, .. } => self.on_priority(now, task, prio),
            Event::Throttling { task, limit } => self.on_throttling(now, task, limit),
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
        Interest::EVENTS
    }

    #[inline]
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        match *event {
            MachineEvent::Forked { task, id, spec, .. } => self.on_fork(now, id, task, spec),
            MachineEvent::Hotplug { .. } => {
                if let Some((cpu, online)) = hotplug(event) {
                    self.change_cpu(now, cpu, |activity| activity.set_online(online));
                }
            }
            _ => {}
        }
    }
}
