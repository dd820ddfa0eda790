// SPDX-License-Identifier: GPL-2.0-or-later
//! Times, latencies, switches and migrations of the tasks of a workload, by task family.
//!
//! Waits are the [episodes](crate::episodes) of the tasks: the time for which they are runnable and have no CPU, without
//! the time in which they are throttled. Both times together are the kernel's `run_delay`. The wake-up latency is the
//! wait between the tracepoint `sched_wakeup` and the `sched_switch` that puts the task on a CPU. Waits and latencies
//! that have not ended count with the time that they have lasted.
//!
//! A switch is voluntary if the task blocked or exited. Forks count as wake-ups neither in number nor in latency. Nor
//! does a wake-up of a task that is runnable, which only cancels its sleep.
//!
//! The wake-up latency that a program observes is longer: from the expiry of its timer, or the call of its
//! waker, until it continues. That time also includes exits from idle states, interrupts, the selection of a
//! CPU, enqueueing and the switch itself.

mod groups;
mod summary;

pub(crate) use groups::GroupTime;
pub use summary::{FamilySummary, FamilyWork, LimitKind, LongestWait, RuntimeWaits, TimerSummary};

use crate::episodes::{Episode, TaskActivity, TaskState, WaitReason};
use crate::latency::Latency;
use crate::slack::Slack;
use crate::slot_mut;
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::RuntimeLimit;
use fairlab_sched::task::Policy;
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_workload::workload::{TaskSpec, Workload};
use groups::GroupTimes;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default)]
struct TaskTimes {
    family: usize,
    activity: TaskActivity,
    /// Time at which the wake-up began; reset when the task runs.
    waking_since: Option<Nanos>,
    timer_at: Option<Nanos>,
    /// Whether the task has begun a loop of rt-app.
    has_looped: bool,
    run: Nanos,
    wait: Nanos,
    throttled: Nanos,
    /// Whether the task is fair, of nice 0 and in no group, and so comparable across families.
    is_plain: bool,
}

/// Records a latency that has not ended, if it has begun before the end.
fn record_open(latency: &mut Latency, since: Option<Nanos>, end: Nanos) {
    if let Some(since) = since.filter(|since| *since < end) {
        latency.record_open((end - since).0);
    }
}

impl TaskTimes {
    /// Adds an episode of the task.
    #[inline]
    fn add(&mut self, episode: &Episode) {
        match episode.reason {
            WaitReason::Cpu | WaitReason::Unknown => self.wait += episode.length(),
            WaitReason::Runtime(_) => self.throttled += episode.length(),
        }
    }

    /// Returns the task with its times up to `now`. A wake-up after that may have been recorded already.
    fn up_to(&self, now: Nanos) -> Self {
        let mut track = *self;
        match track.activity.state() {
            TaskState::Running { since, .. } => track.run += now.saturating_since(since),
            TaskState::Waiting { since, .. } if since < now => {
                track.activity.episode(now).into_iter().for_each(|episode| track.add(&episode));
            }
            _ => {}
        }
        track
    }
}

/// Returns Jain's fairness index in millionths, which measures how evenly tasks received CPU time.
///
/// The value of a task is the fraction of its runnable time in which it had a CPU. The index is 1 if all are
/// equal, and 1/n if only one of n tasks ran. `None` for fewer than two tasks that were runnable.
fn fairness_ppm(tracks: &[&TaskTimes]) -> Option<u64> {
    // Fine enough for tasks that had a CPU for a millionth of their time.
    const WHOLE: u128 = 1_000_000_000;
    const PPM: u128 = 1_000_000;
    let (mut nr, mut sum, mut squares) = (0, 0, 0);
    for track in tracks.iter().filter(|track| track.run + track.wait > Nanos::ZERO) {
        let part = u128::from(track.run.0) * WHOLE / u128::from(track.run.0 + track.wait.0);
        (nr, sum, squares) = (nr + 1, sum + part, squares + part * part);
    }
    (nr > 1 && squares > 0).then(|| (sum * sum * PPM / (nr * squares)) as u64)
}

#[derive(Clone, Debug, Default)]
struct FamilyTotals {
    counted: FamilySummary,
    latency: Latency,
    to_run: Latency,
    slack: Slack,
    timer_latency: Latency,
    /// Time on CPUs of each capacity, in ascending order.
    by_capacity: Vec<Nanos>,
    /// Longest wait for a CPU, once a task has waited.
    longest_wait: LongestWait,
    has_waited: bool,
    /// Time and longest wait for the runtime of each limit.
    runtime_waits: BTreeMap<RuntimeLimit, (Nanos, LongestWait)>,
}

impl FamilyTotals {
    /// Adds an episode of a task of the family.
    #[inline]
    fn add(&mut self, episode: &Episode) {
        let (ns, is_open) = (episode.length().0, episode.is_open);
        match episode.reason {
            WaitReason::Cpu | WaitReason::Unknown => {
                self.has_waited = true;
                self.longest_wait.keep_longest(ns, is_open);
            }
            WaitReason::Runtime(limit) => self.add_throttled(limit, ns, is_open),
        }
    }

    #[cold]
    fn add_throttled(&mut self, limit: RuntimeLimit, ns: u64, is_open: bool) {
        let (sum, longest) = self.runtime_waits.entry(limit).or_default();
        *sum += Nanos(ns);
        longest.keep_longest(ns, is_open);
    }

    /// Adds the wait and the latencies of a task that have not ended. What begins at the end is nothing yet.
    fn add_open(&mut self, track: &TaskTimes, end: Nanos) {
        record_open(&mut self.to_run, track.waking_since, end);
        record_open(&mut self.timer_latency, track.timer_at, end);
        if let Some(episode) = track.activity.episode(end).filter(|episode| episode.since < end) {
            self.add(&episode);
        }
        let queued = track.activity.episode(end).and_then(|episode| episode.queued);
        queued.filter(|queued| queued.0 > 0).into_iter().for_each(|queued| self.latency.record_open(queued.0));
    }
}

/// Collects the measurements of all task families of a workload.
#[derive(Clone, Debug)]
pub struct FamilyStats {
    names: Vec<String>,
    /// Names of the task groups, from the first one below the root.
    groups: Vec<String>,
    family_of: Vec<usize>,
    /// Whether the tasks of each family are kernel threads.
    kthreads: Vec<bool>,
    /// Group of each specification at its start.
    group_of: Vec<Option<usize>>,
    plain: Vec<bool>,
    totals: Vec<FamilyTotals>,
    /// Times of the tasks, by the scheduler's ID; idle tasks and stoppers have none.
    tracks: Vec<Option<TaskTimes>>,
    ids: Vec<Option<TaskId>>,
    capacities: Vec<Capacity>,
    class_of: Vec<usize>,
    /// Whether a switch takes time, so that a task continues only after it.
    switches_take_time: bool,
    /// Task of each CPU that was switched in, and continues when the switch is complete.
    arriving: Vec<Option<Arrival>>,
    group_times: GroupTimes,
}

/// Task that was switched in after a wake-up, until the switch is complete.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    family: usize,
    /// Time at which its wake-up began, unless it was preempted before.
    since: Option<Nanos>,
    /// Expiry of its timer, if the timer woke it.
    expired: Option<Nanos>,
}

impl Arrival {
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
    pub(crate) fn new(machine: &Machine<impl Engine>) -> Self {
        let (names, family_of) = families(machine.workload());
        let of_cpus = &machine.hardware().topology.capacity;
        let mut capacities = of_cpus.clone();
        capacities.sort_unstable();
        capacities.dedup();
        let class_of = |capacity| capacities.binary_search(capacity).expect("it is one of them");
        let by_capacity = vec![Nanos::ZERO; capacities.len()];
        let mut kthreads = vec![true; names.len()];
        for (spec, &family) in machine.workload().tasks.iter().zip(&family_of) {
            kthreads[family] &= spec.is_kthread;
        }
        Self {
            totals: vec![FamilyTotals { by_capacity, ..FamilyTotals::default() }; names.len()],
            names,
            kthreads,
            groups: machine.workload().groups.iter().map(|group| group.name.clone()).collect(),
            family_of,
            group_of: machine.workload().tasks.iter().map(|task| task.start.group.flatten()).collect(),
            plain: machine.workload().tasks.iter().map(is_plain).collect(),
            tracks: Vec::new(),
            ids: Vec::new(),
            class_of: of_cpus.iter().map(class_of).collect(),
            switches_take_time: !machine.hardware().costs.is_zero_cost(),
            arriving: vec![None; of_cpus.len()],
            group_times: GroupTimes::new(machine),
            capacities,
        }
    }

    /// Resets times and counts. The state of the tasks is kept, and counts from `now`.
    pub(crate) fn reset(&mut self, now: Nanos) {
        for totals in &mut self.totals {
            let tasks = totals.counted.tasks;
            let by_capacity = vec![Nanos::ZERO; self.capacities.len()];
            *totals = FamilyTotals { by_capacity, ..FamilyTotals::default() };
            totals.counted.tasks = tasks;
        }
        for track in self.tracks.iter_mut().flatten() {
            track.activity.restart(now);
            (track.run, track.wait, track.throttled) = (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO);
        }
        self.group_times.reset(now);
    }

    /// Ends the stretches of groups that are over. Precedes each change of a task's times; a wake-up changes none.
    #[inline]
    fn update_groups(&mut self, now: Nanos) {
        if now >= self.group_times.until {
            self.group_times.end_stretches(now, &self.tracks);
        }
    }

    /// Records that a task belongs to another group.
    pub(crate) fn on_move(&mut self, now: Nanos, host: usize, group: Option<usize>) {
        let Some(id) = self.ids.get(host).copied().flatten() else { return };
        self.update_groups(now);
        self.group_times.on_move(now, id, group, &self.tracks);
    }

    /// Records that a group has other shares.
    pub(crate) fn on_shares(&mut self, now: Nanos, group: usize, shares: u64) {
        self.update_groups(now);
        self.group_times.on_shares(now, group, shares, &self.tracks);
    }

    /// Records that a group has another quota, or none.
    pub(crate) fn on_quota(&mut self, now: Nanos, group: usize, quota: Option<Nanos>, period: Nanos) {
        self.update_groups(now);
        self.group_times.on_quota(now, group, quota.map(|quota| (quota.0, period.0)), &self.tracks);
    }

    /// Returns the CPU time of all groups at `end`, in the order of the workload.
    pub(crate) fn group_times(&self, end: Nanos) -> Vec<GroupTime> {
        self.group_times.times(end, &self.tracks)
    }

    pub(crate) fn on_fork(&mut self, host: usize, id: TaskId, spec: usize) {
        let family = self.family_of[spec];
        self.group_times.on_fork(id, spec, self.group_of[spec]);
        self.totals[family].counted.tasks += 1;
        *slot_mut(&mut self.tracks, id.index()) =
            Some(TaskTimes { family, is_plain: self.plain[spec], ..TaskTimes::default() });
        *slot_mut(&mut self.ids, host) = Some(id);
    }

    /// Records the beginning of a wake-up, unless the task does not sleep.
    #[inline]
    pub(crate) fn on_waking(&mut self, host: usize, since: Nanos) {
        let Some(id) = self.ids.get(host).copied().flatten() else { return };
        if let Some(Some(track)) = self.tracks.get_mut(id.index())
            && !track.activity.state().is_runnable()
        {
            track.waking_since.get_or_insert(since);
        }
    }

    #[inline]
    pub(crate) fn on_wakeup(&mut self, now: Nanos, task: TaskId, cpu: CpuId, is_new: bool) {
        let Some(Some(track)) = self.tracks.get_mut(task.index()) else { return };
        if track.activity.wake(now, cpu, is_new) && !is_new {
            self.totals[track.family].counted.wakeups += 1;
            track.waking_since.get_or_insert(now);
        }
    }

    pub(crate) fn on_throttling(&mut self, now: Nanos, task: TaskId, limit: Option<RuntimeLimit>) {
        self.update_groups(now);
        if let Some(Some(track)) = self.tracks.get_mut(task.index())
            && let Some(episode) = track.activity.throttle(now, limit)
        {
            track.add(&episode);
            self.totals[track.family].add(&episode);
        }
    }

    #[inline]
    pub(crate) fn on_switch(&mut self, now: Nanos, cpu: CpuId, prev: TaskId, next: TaskId, prev_state: PrevState) {
        self.update_groups(now);
        if let Some(Some(track)) = self.tracks.get_mut(prev.index()) {
            // A task that is switched out before it continues is still being woken.
            if let Some(arrival) = self.arriving[cpu.index()].take() {
                track.waking_since = track.waking_since.or(arrival.since);
                track.timer_at = track.timer_at.or(arrival.expired);
            }
            let totals = &mut self.totals[track.family];
            if let Some(ran) = track.activity.switch_out(now, cpu, prev_state) {
                track.run += ran;
                totals.by_capacity[self.class_of[cpu.index()]] += ran;
            }
            if prev_state == PrevState::Runnable {
                totals.counted.involuntary_switches += 1;
            } else {
                totals.counted.voluntary_switches += 1;
            }
        }
        if let Some(Some(track)) = self.tracks.get_mut(next.index()) {
            let totals = &mut self.totals[track.family];
            if let Some(episode) = track.activity.switch_in(now, cpu) {
                track.add(&episode);
                totals.add(&episode);
                if let Some(queued) = episode.queued {
                    totals.latency.record(queued.0);
                }
            }
            let expired = track.timer_at.take_if(|at| *at <= now);
            let arrival = Arrival { family: track.family, since: track.waking_since.take(), expired };
            if self.switches_take_time {
                self.arriving[cpu.index()] = Some(arrival);
            } else {
                arrival.record(&mut self.totals, now);
            }
        }
    }

    /// Records that a CPU executes kernel code until `until`, when a task that was just switched in continues.
    #[inline]
    pub(crate) fn on_kernel_busy(&mut self, cpu: CpuId, until: Nanos) {
        if let Some(arrival) = self.arriving[cpu.index()].take() {
            arrival.record(&mut self.totals, until);
        }
    }

    #[inline]
    pub(crate) fn on_migrate(&mut self, task: TaskId) {
        if let Some(Some(track)) = self.tracks.get(task.index()) {
            self.totals[track.family].counted.migrations += 1;
        }
    }

    /// Records that a task begins a loop, and has completed the one before.
    pub(crate) fn on_loop(&mut self, host: usize) {
        let Some(id) = self.ids.get(host).copied().flatten() else { return };
        let Some(track) = &mut self.tracks[id.index()] else { return };
        let loops = self.totals[track.family].counted.work.loops.get_or_insert(0);
        *loops += u64::from(std::mem::replace(&mut track.has_looped, true));
    }

    /// Records that a task arrives at its timer, whose expiry may have passed.
    pub(crate) fn on_timer(&mut self, now: Nanos, host: usize, expiry: Nanos) {
        let Some(id) = self.ids.get(host).copied().flatten() else { return };
        let Some(track) = &mut self.tracks[id.index()] else { return };
        self.totals[track.family].slack.record(now, expiry);
        if expiry > now {
            track.timer_at = Some(expiry);
        }
    }

    /// Returns the summaries at the time `end`, in the order of the workload, of families with a forked task.
    pub fn summaries(&self, end: Nanos) -> Vec<FamilySummary> {
        let mut totals = self.totals.clone();
        let tracks = self.tracks_at(end);
        for track in &tracks {
            let totals = &mut totals[track.family];
            totals.add_open(track, end);
            totals.counted.run_ns += track.run.0;
            totals.counted.wait_ns += track.wait.0;
            totals.counted.throttled_ns += track.throttled.0;
            if let TaskState::Running { since, cpu } = track.activity.state() {
                totals.by_capacity[self.class_of[cpu.index()]] += end - since;
            }
        }
        // A task whose switch is not complete has not continued.
        for arrival in self.arriving.iter().flatten() {
            let totals = &mut totals[arrival.family];
            record_open(&mut totals.to_run, arrival.since, end);
            record_open(&mut totals.timer_latency, arrival.expired, end);
        }
        let mut tracks_of = vec![Vec::new(); self.names.len()];
        tracks.iter().for_each(|track| tracks_of[track.family].push(track));
        let of_family = |(place, (name, totals)): (usize, (&String, &FamilyTotals))| FamilySummary {
            name: name.clone(),
            is_kthread: self.kthreads[place],
            fairness_ppm: fairness_ppm(&tracks_of[place]),
            longest_wait: totals.has_waited.then_some(totals.longest_wait),
            runtime_waits: totals
                .runtime_waits
                .iter()
                .map(|(&limit, &(sum, longest))| RuntimeWaits {
                    ns: sum.0,
                    longest,
                    ..RuntimeWaits::of(limit, &self.groups)
                })
                .collect(),
            run_by_capacity: self
                .capacities
                .iter()
                .copied()
                .zip(totals.by_capacity.iter().map(|time| time.0))
                .collect(),
            wake_to_run: totals.to_run.summary(),
            wakeup_latency: totals.latency.summary(),
            timers: totals.slack.summary().map(|slack| TimerSummary {
                arrivals: slack.count,
                missed: totals.slack.nr_late(),
                slack: Some(slack),
                wakeup_latency: totals.timer_latency.summary(),
            }),
            // A task that blocks or exits has been switched out voluntarily.
            work: FamilyWork { activations: totals.counted.voluntary_switches, ..totals.counted.work },
            ..totals.counted.clone()
        };
        let families = self.names.iter().zip(&totals).enumerate();
        families.filter(|(_, (_, totals))| totals.counted.tasks > 0).map(of_family).collect()
    }

    /// Returns the fairness index over all fair tasks of nice 0 in no group, whatever their family.
    pub(crate) fn fairness_ppm(&self, end: Nanos) -> Option<u64> {
        fairness_ppm(&self.tracks_at(end).iter().filter(|track| track.is_plain).collect::<Vec<_>>())
    }

    fn tracks_at(&self, end: Nanos) -> Vec<TaskTimes> {
        self.tracks.iter().flatten().map(|track| track.up_to(end)).collect()
    }
}

fn is_plain(task: &TaskSpec) -> bool {
    let start = &task.start;
    let is_fair = start.policy.is_none_or(|policy| matches!(policy, Policy::Normal | Policy::Batch));
    is_fair && start.nice.unwrap_or(0) == 0 && start.group.flatten().is_none() && !task.is_kthread
}

/// Returns the names of the families in the order of the workload, and the family of each task.
pub fn families(workload: &Workload) -> (Vec<String>, Vec<usize>) {
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
