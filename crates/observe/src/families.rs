// SPDX-License-Identifier: GPL-2.0-or-later
//! What the tasks of a workload got: time on a CPU, waiting, latencies, switches and migrations, by task family.
//!
//! The rules are those of the kernel's own accounting: a task waits from the moment when it becomes runnable, or is switched
//! out while runnable, until it is switched in (`run_delay`); its wake-up latency is from tracepoint `sched_wakeup` to the
//! `sched_switch` that puts it on a CPU; a switch is voluntary if the task blocked or ended. Forks count as wake-ups neither
//! in number nor in latency.
//!
//! What a program sees of a wake-up is longer: from the expiry of its timer, or the call of its waker, until it goes on. Idle states
//! that are left, interrupts, selection, enqueueing, and the switch itself lie in it.

use crate::latency::{Latency, LatencySummary};
use crate::residency::FamilyResidency;
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_workload::workload::{Policy, TaskSpec, Workload};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ActivityState {
    /// It sleeps, has ended, or was not forked yet.
    Off,
    /// It waits for a CPU since then.
    Waits(Nanos),
    /// It has had a CPU since then.
    Runs(Nanos, CpuId),
}

/// What is known of a task.
#[derive(Clone, Copy, Debug)]
struct TaskTimes {
    family: usize,
    state: ActivityState,
    /// When it was woken, until it runs.
    woken_at: Option<Nanos>,
    /// When somebody began to wake it, until it runs.
    waking_since: Option<Nanos>,
    /// When the timer expires that it waits for.
    timer_at: Option<Nanos>,
    /// How long it had a CPU, and how long it was runnable without one.
    run: Nanos,
    wait: Nanos,
    /// Whether it is one of those that are to fare alike whatever their family: fair, of nice 0, in no group.
    is_plain: bool,
}

/// Jain's index, of which 1 is a million: how evenly tasks got what they wanted. Of each task counts which part of the time in which it was runnable it
/// had a CPU. If all had the same part it is 1, if one of n had all 1/n. None for less than two tasks that were runnable.
fn fairness_ppm(tracks: &[&TaskTimes]) -> Option<u64> {
    const WHOLE: u128 = 1_000_000;
    let (mut nr, mut sum, mut squares) = (0, 0, 0);
    for track in tracks.iter().filter(|track| track.run + track.wait > Nanos::ZERO) {
        let part = u128::from(track.run.0) * WHOLE / u128::from(track.run.0 + track.wait.0);
        (nr, sum, squares) = (nr + 1, sum + part, squares + part * part);
    }
    (nr > 1 && squares > 0).then(|| (sum * sum * WHOLE / (nr * squares)) as u64)
}

/// What the tasks of a family got.
#[derive(Clone, Debug, Default)]
struct FamilyTotals {
    /// What is only counted, as it will be told.
    counted: FamilySummary,
    latency: Latency,
    to_run: Latency,
    timers: TimerSummary,
    slack: Latency,
    timer_latency: Latency,
    /// Time on CPUs of each capacity, ascending.
    by_capacity: Vec<Nanos>,
}

/// What is told of a family.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FamilySummary {
    /// Its name.
    pub name: String,
    /// How many tasks were forked.
    pub tasks: u64,
    /// Time on a CPU.
    pub run_ns: u64,
    /// Time on CPUs of each capacity: capacity and nanoseconds, ascending.
    pub run_by_capacity: Vec<(Capacity, u64)>,
    /// Time runnable without a CPU.
    pub wait_ns: u64,
    /// Jain's index of the parts of their runnable time in which its tasks had a CPU, in millionths: 1000000 if all fared alike. None for a single task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness_ppm: Option<u64>,
    /// Wake-ups, without forks.
    pub wakeups: u64,
    /// From waking to running: from the timer's expiry, the interrupt or the waker's call until the task goes on.
    #[serde(default)]
    pub wake_to_run: Option<LatencySummary>,
    /// The scheduler's own part of that: from `sched_wakeup` to `sched_switch`.
    pub wakeup_latency: Option<LatencySummary>,
    /// Switches because the task blocked or ended.
    pub voluntary_switches: u64,
    /// Switches because it was preempted or gave way.
    pub involuntary_switches: u64,
    /// Migrations to another CPU.
    pub migrations: u64,
    /// Periodic timers, if it has any.
    pub timers: Option<TimerSummary>,
    /// On which kinds of CPUs it ran, and how; none on machines whose CPUs are alike and have one frequency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residency: Option<FamilyResidency>,
}

impl FamilySummary {
    /// Several families as one, without latencies and timers.
    pub fn sum(name: String, families: &[Self]) -> Self {
        let mut sum = Self { name, ..Self::default() };
        for family in families {
            sum.add(family);
        }
        sum
    }

    fn add(&mut self, other: &Self) {
        let Self {
            name: _,
            tasks,
            run_ns,
            run_by_capacity,
            wait_ns,
            fairness_ppm: _,
            wakeups,
            wake_to_run: _,
            wakeup_latency: _,
            voluntary_switches,
            involuntary_switches,
            migrations,
            timers: _,
            residency,
        } = other;
        if let Some(residency) = residency {
            self.residency.get_or_insert_default().add(residency);
        }
        self.tasks += tasks;
        self.run_ns += run_ns;
        self.wait_ns += wait_ns;
        self.wakeups += wakeups;
        self.voluntary_switches += voluntary_switches;
        self.involuntary_switches += involuntary_switches;
        self.migrations += migrations;
        if self.run_by_capacity.is_empty() {
            self.run_by_capacity = run_by_capacity.iter().map(|&(capacity, _)| (capacity, 0)).collect();
        }
        for ((_, sum), (_, more)) in self.run_by_capacity.iter_mut().zip(run_by_capacity) {
            *sum += more;
        }
    }
}

/// What is told of a family's periodic timers, in the words of rt-app's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TimerSummary {
    /// How often a task arrived at its timer.
    pub arrivals: u64,
    /// How often that was too late: the timer had expired.
    pub missed: u64,
    /// How long before the expiry it arrived (rt-app's `slack`), where it was not too late.
    pub slack: Option<LatencySummary>,
    /// From the expiry until the task went on (rt-app's `wu_lat`).
    pub wakeup_latency: Option<LatencySummary>,
}

/// Follows the tasks of a workload.
#[derive(Clone, Debug)]
pub struct FamilyStats {
    names: Vec<String>,
    /// Family of each task of the workload.
    family_of: Vec<usize>,
    /// Which of them are fair, of nice 0, in no group.
    plain: Vec<bool>,
    totals: Vec<FamilyTotals>,
    /// By the scheduler's number; CPUs' own tasks are none.
    tracks: Vec<Option<TaskTimes>>,
    /// The scheduler's number of each of the machine's tasks.
    ids: Vec<Option<TaskId>>,
    capacities: Vec<Capacity>,
    /// Place of each CPU's capacity among them.
    class_of: Vec<usize>,
    /// Whether a switch takes time, so that a task goes on after it.
    switches_take_time: bool,
    /// On each CPU, who has been switched to and goes on when the switch is over.
    arriving: Vec<Option<Arrival>>,
}

/// A task to which its CPU switches, after a wake-up.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    family: usize,
    /// From when its latency counts.
    since: Option<Nanos>,
    /// When its timer expired.
    expired: Option<Nanos>,
}

impl Arrival {
    /// It goes on.
    fn record(self, totals: &mut [FamilyTotals], at: Nanos) {
        let totals = &mut totals[self.family];
        if let Some(since) = self.since {
            totals.to_run.record((at - since).0);
        }
        if let Some(expired) = self.expired {
            totals.timer_latency.record((at - expired).0);
        }
    }
}

impl FamilyStats {
    /// Follows the tasks of a machine that has not started.
    pub fn new(machine: &Machine<impl Engine>) -> Self {
        let (names, family_of) = families(machine.workload());
        let of_cpus = &machine.hardware().topology.capacity;
        let mut capacities = of_cpus.clone();
        capacities.sort_unstable();
        capacities.dedup();
        let class_of = |capacity| capacities.binary_search(capacity).expect("it is one of them");
        let by_capacity = vec![Nanos::ZERO; capacities.len()];
        Self {
            totals: vec![FamilyTotals { by_capacity, ..FamilyTotals::default() }; names.len()],
            names,
            family_of,
            plain: machine.workload().tasks.iter().map(is_plain).collect(),
            tracks: Vec::new(),
            ids: Vec::new(),
            class_of: of_cpus.iter().map(class_of).collect(),
            switches_take_time: !machine.hardware().prices.is_free(),
            arriving: vec![None; of_cpus.len()],
            capacities,
        }
    }

    /// Forgets times and counts; tasks are what they are, and what they do is counted from now.
    pub(crate) fn reset(&mut self, now: Nanos) {
        for totals in &mut self.totals {
            let tasks = totals.counted.tasks;
            let by_capacity = vec![Nanos::ZERO; self.capacities.len()];
            *totals = FamilyTotals { by_capacity, ..FamilyTotals::default() };
            totals.counted.tasks = tasks;
        }
        for track in self.tracks.iter_mut().flatten() {
            match &mut track.state {
                ActivityState::Off => {}
                ActivityState::Waits(since) | ActivityState::Runs(since, _) => *since = now,
            }
            (track.run, track.wait) = (Nanos::ZERO, Nanos::ZERO);
        }
    }

    /// A task is about to be forked.
    pub fn on_fork(&mut self, host: usize, id: TaskId, spec: usize) {
        let family = self.family_of[spec];
        self.totals[family].counted.tasks += 1;
        if self.tracks.len() <= id.index() {
            self.tracks.resize(id.index() + 1, None);
        }
        self.tracks[id.index()] = Some(TaskTimes {
            family,
            state: ActivityState::Off,
            woken_at: None,
            waking_since: None,
            timer_at: None,
            run: Nanos::ZERO,
            wait: Nanos::ZERO,
            is_plain: self.plain[spec],
        });
        if self.ids.len() <= host {
            self.ids.resize(host + 1, None);
        }
        self.ids[host] = Some(id);
    }

    /// Somebody has begun to wake a task. One that does not sleep is left alone.
    #[inline]
    pub fn on_waking(&mut self, host: usize, since: Nanos) {
        let Some(id) = self.ids.get(host).copied().flatten() else { return };
        if let Some(Some(track)) = self.tracks.get_mut(id.index())
            && track.state == ActivityState::Off
        {
            track.waking_since.get_or_insert(since);
        }
    }

    /// A task has become runnable.
    #[inline]
    pub fn on_wakeup(&mut self, now: Nanos, task: TaskId, is_new: bool) {
        let Some(Some(track)) = self.tracks.get_mut(task.index()) else { return };
        if track.state == ActivityState::Off {
            track.state = ActivityState::Waits(now);
        }
        if !is_new {
            self.totals[track.family].counted.wakeups += 1;
            track.woken_at.get_or_insert(now);
            track.waking_since.get_or_insert(now);
        }
    }

    /// A CPU switches from one task to another.
    #[inline]
    pub fn on_switch(&mut self, now: Nanos, cpu: CpuId, prev: TaskId, next: TaskId, prev_state: PrevState) {
        if let Some(Some(track)) = self.tracks.get_mut(prev.index()) {
            let totals = &mut self.totals[track.family];
            if let ActivityState::Runs(since, _) = track.state {
                track.run += now - since;
                totals.counted.run_ns += (now - since).0;
                totals.by_capacity[self.class_of[cpu.index()]] += now - since;
            }
            if prev_state == PrevState::Runnable {
                totals.counted.involuntary_switches += 1;
                track.state = ActivityState::Waits(now);
            } else {
                totals.counted.voluntary_switches += 1;
                track.state = ActivityState::Off;
            }
        }
        if let Some(Some(track)) = self.tracks.get_mut(next.index()) {
            let totals = &mut self.totals[track.family];
            if let ActivityState::Waits(since) = track.state {
                track.wait += now - since;
                totals.counted.wait_ns += (now - since).0;
            }
            if let Some(woken_at) = track.woken_at.take() {
                totals.latency.record((now - woken_at).0);
            }
            track.state = ActivityState::Runs(now, cpu);
            let expired = track.timer_at.take_if(|at| *at <= now);
            let arrival = Arrival { family: track.family, since: track.waking_since.take(), expired };
            if self.switches_take_time {
                self.arriving[cpu.index()] = Some(arrival);
            } else {
                arrival.record(&mut self.totals, now);
            }
        }
    }

    /// A CPU is in the kernel until then: whoever it has just switched to goes on afterwards.
    #[inline]
    pub fn on_kernel_busy(&mut self, cpu: CpuId, until: Nanos) {
        if let Some(arrival) = self.arriving[cpu.index()].take() {
            arrival.record(&mut self.totals, until);
        }
    }

    /// A task belongs to another CPU.
    #[inline]
    pub fn on_migrate(&mut self, task: TaskId) {
        if let Some(Some(track)) = self.tracks.get(task.index()) {
            self.totals[track.family].counted.migrations += 1;
        }
    }

    /// A task arrives at its timer, which expires then, or has expired.
    pub fn on_timer(&mut self, now: Nanos, host: usize, expiry: Nanos) {
        let Some(id) = self.ids.get(host).copied().flatten() else { return };
        let Some(track) = &mut self.tracks[id.index()] else { return };
        let totals = &mut self.totals[track.family];
        totals.timers.arrivals += 1;
        if expiry <= now {
            totals.timers.missed += 1;
        } else {
            totals.slack.record((expiry - now).0);
            track.timer_at = Some(expiry);
        }
    }

    /// What was found, with what runs or waits at the end, in the order of the workload. Families of which nothing was forked
    /// are left out.
    pub fn summaries(&self, end: Nanos) -> Vec<FamilySummary> {
        let mut totals = self.totals.clone();
        for track in self.tracks.iter().flatten() {
            let totals = &mut totals[track.family];
            match track.state {
                ActivityState::Off => {}
                ActivityState::Waits(since) => totals.counted.wait_ns += (end - since).0,
                ActivityState::Runs(since, cpu) => {
                    totals.counted.run_ns += (end - since).0;
                    totals.by_capacity[self.class_of[cpu.index()]] += end - since;
                }
            }
        }
        let tracks = self.tracks_at(end);
        let mut tracks_of = vec![Vec::new(); self.names.len()];
        tracks.iter().for_each(|track| tracks_of[track.family].push(track));
        let of_family = |(place, (name, totals)): (usize, (&String, &FamilyTotals))| FamilySummary {
            name: name.clone(),
            fairness_ppm: fairness_ppm(&tracks_of[place]),
            run_by_capacity: self
                .capacities
                .iter()
                .copied()
                .zip(totals.by_capacity.iter().map(|time| time.0))
                .collect(),
            wake_to_run: totals.to_run.summary(),
            wakeup_latency: totals.latency.summary(),
            timers: (totals.timers.arrivals > 0).then(|| TimerSummary {
                slack: totals.slack.summary(),
                wakeup_latency: totals.timer_latency.summary(),
                ..totals.timers
            }),
            ..totals.counted.clone()
        };
        let families = self.names.iter().zip(&totals).enumerate();
        families.filter(|(_, (_, totals))| totals.counted.tasks > 0).map(of_family).collect()
    }

    /// The same index over all fair tasks of nice 0 that are in no group, whatever their family.
    pub(crate) fn fairness_ppm(&self, end: Nanos) -> Option<u64> {
        fairness_ppm(&self.tracks_at(end).iter().filter(|track| track.is_plain).collect::<Vec<_>>())
    }

    /// All tasks, with what they run or wait at the end.
    fn tracks_at(&self, end: Nanos) -> Vec<TaskTimes> {
        let mut tracks: Vec<TaskTimes> = self.tracks.iter().flatten().copied().collect();
        for track in &mut tracks {
            match track.state {
                ActivityState::Off => {}
                ActivityState::Waits(since) => track.wait += end - since,
                ActivityState::Runs(since, _) => track.run += end - since,
            }
        }
        tracks
    }
}

/// Whether a task is fair, of nice 0, and in no group.
fn is_plain(task: &TaskSpec) -> bool {
    let start = &task.start;
    let is_fair = start.policy.is_none_or(|policy| matches!(policy, Policy::Normal | Policy::Batch));
    is_fair && start.nice.unwrap_or(0) == 0 && start.group.flatten().is_none() && !task.is_kthread
}

/// Names of the families in the order of the workload, and the family of each task.
fn families(workload: &Workload) -> (Vec<String>, Vec<usize>) {
    let (mut names, mut places) = (Vec::new(), BTreeMap::new());
    let mut family_of = |name: &str| {
        *places.entry(name.to_owned()).or_insert_with(|| {
            names.push(name.to_owned());
            names.len() - 1
        })
    };
    let of_tasks = workload.tasks.iter().map(|task| family_of(&task.family)).collect();
    (names, of_tasks)
}
