// SPDX-License-Identifier: GPL-2.0-or-later
//! History that explanations need: the last steps of each task and CPU, with the recorded decisions.
//!
//! Memory is bounded by the number of tasks and CPUs: of switches and passes only the last ones of each CPU
//! are kept.

use fairlab_machine::observer::{Interest, KernelPath, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START};
use fairlab_measure::episodes::{Episode, TaskActivity, TaskState, WaitReason};
use fairlab_measure::states::hotplug;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::eevdf::{
    DelayStep, DelayedDequeue, EevdfEvent, PickCandidate, PickDecision, PreemptDecision, ServerRecord, ServerStep,
};
use fairlab_sched::interface::wakeup::{WakeKind, WakeupDecision};
use fairlab_sched::probe::{BalanceDecision, Event, KickDecision, KickReason, RuntimeLimit, SchedObserver};
use fairlab_sched::topology::CpuIdleType;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::{Access, OpCounts, Touch};
use std::collections::{BTreeMap, VecDeque};

const MAX_SWITCHES: usize = 4096;
pub(super) const MAX_PASSES: usize = 12;

#[derive(Clone, Copy, Debug)]
pub(super) struct SelectionRecord {
    pub(super) at: Nanos,
    pub(super) decision: WakeupDecision,
    /// Task that was current on the CPU that made the selection.
    pub(super) current: TaskId,
    /// Whether the wake-up has completed, so that the task is runnable.
    pub(super) is_done: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct MigrationRecord {
    pub(super) at: Nanos,
    pub(super) from: CpuId,
    pub(super) to: CpuId,
    pub(super) on: CpuId,
    pub(super) current: TaskId,
    pub(super) pass: Option<BalanceDecision>,
}

#[derive(Clone, Debug)]
pub(super) struct TaskHistory {
    pub(super) activity: TaskActivity,
    /// Last CPU selection, if the task was a fair task then.
    pub(super) selection: Option<SelectionRecord>,
    /// CPUs that the scan of this selection checked, in their order; empty if they are not known.
    pub(super) scanned: Vec<CpuId>,
    /// CPU of the task after its last wake-up, switch or migration.
    pub(super) cpu: Option<CpuId>,
    /// Last wake-up: time, CPU, and whether the task was new.
    pub(super) woken: Option<(Nanos, CpuId, bool)>,
    /// Last wait for a CPU that has ended, since the last wake-up.
    ended_wait: Option<Episode>,
    /// CPUs of the task during its last wait for a CPU, each with the time from which it was there.
    pub(super) wait_places: Vec<(Nanos, CpuId)>,
    /// Last migration since the last wake-up, and the number of migrations since then.
    pub(super) last_move: Option<MigrationRecord>,
    pub(super) nr_moves: u32,
    /// EEVDF: decision whether its last wake-up preempted the running task.
    pub(super) preemption: Option<(Nanos, PreemptDecision)>,
    /// EEVDF: last delayed dequeue.
    pub(super) delay: Option<DelayRecord>,
    /// Number of wake-ups.
    pub(super) nr_wakeups: u32,
    /// EEVDF: last time at which it was woken while its dequeue was delayed, so that no CPU was selected.
    pub(super) woken_on_queue: Option<Nanos>,
    /// Priority, as of the last event of the task.
    prio: Option<i32>,
    /// Priority at the last wake-up.
    pub(super) woken_prio: Option<i32>,
    /// Whether the task ran when it was throttled last, so that it has used its runtime.
    pub(super) ran_when_throttled: bool,
}

/// Time and values of a step of a delayed dequeue.
pub(super) type DelayPoint = (Nanos, DelayedDequeue);

#[derive(Clone, Copy, Debug)]
pub(super) struct DelayRecord {
    pub(super) begin: DelayPoint,
    pub(super) end: Option<DelayPoint>,
    /// Number of wake-ups of the task before it.
    pub(super) nr_wakeups: u32,
}

impl TaskHistory {
    pub(super) fn state(&self) -> TaskState {
        self.activity.state()
    }

    /// Returns the last wait for a CPU, which may be open.
    pub(super) fn wait(&self, now: Nanos) -> Option<Episode> {
        let open = self.activity.episode(now).filter(|episode| episode.reason == WaitReason::Cpu);
        open.or(self.ended_wait)
    }

    /// Records that a wait may have begun.
    fn begin_wait(&mut self, now: Nanos) {
        if self.activity.waits_for_cpu() {
            self.wait_places.clear();
            self.wait_places.push((now, self.activity.cpu()));
        }
    }

    fn end_wait(&mut self, episode: Option<Episode>) {
        self.ended_wait = episode.filter(|episode| episode.reason == WaitReason::Cpu).or(self.ended_wait);
    }
}

static UNKNOWN: TaskHistory = TaskHistory {
    activity: TaskActivity::NEW,
    selection: None,
    scanned: Vec::new(),
    cpu: None,
    woken: None,
    ended_wait: None,
    wait_places: Vec::new(),
    last_move: None,
    nr_moves: 0,
    preemption: None,
    delay: None,
    nr_wakeups: 0,
    woken_on_queue: None,
    prio: None,
    woken_prio: None,
    ran_when_throttled: false,
};

#[derive(Clone, Copy, Debug)]
pub(super) struct PassRecord {
    pub(super) at: Nanos,
    pub(super) decision: BalanceDecision,
}

#[derive(Clone, Debug)]
pub(super) struct CpuHistory {
    pub(super) current: TaskId,
    pub(super) since: Nanos,
    /// CPUs that its scan in progress has checked, in their order.
    scanned: Vec<CpuId>,
    /// Task that ran before the current one, and its state when it was switched out.
    pub(super) before: Option<(TaskId, PrevState)>,
    /// Switches, oldest first: time, and the task that was switched in.
    pub(super) switches: VecDeque<(Nanos, TaskId)>,
    /// Last passes for this CPU, oldest first.
    pub(super) passes: VecDeque<PassRecord>,
    pub(super) nr_passes: u64,
    /// Last newly-idle pass at each level.
    pub(super) newly_idle: BTreeMap<u32, PassRecord>,
    /// Last pass as an idle CPU at each level.
    pub(super) idle: BTreeMap<u32, PassRecord>,
    /// Last kick decision of this CPU's tick while the CPU was busy.
    pub(super) kick_decision: Option<(Nanos, KickDecision)>,
    /// Last kick decision that chose this CPU.
    pub(super) kicked: Option<(Nanos, KickDecision)>,
    pub(super) offline_since: Option<Nanos>,
    /// EEVDF: picks that led to a task, from the root cfs_rq downwards.
    pub(super) picks: Vec<PickRecord>,
    /// Picks of groups whose task is not picked yet. They are given up if a group on the way is throttled.
    pending_picks: Vec<PickRecord>,
    /// Last step of the fair server.
    pub(super) server: Option<(Nanos, ServerRecord)>,
    /// Last time at which the fair server ran a task, with its period in ns then, and the last time at which it was
    /// queued because fair tasks starved.
    pub(super) server_ran: Option<(Nanos, u64)>,
    pub(super) server_starved: Option<Nanos>,
}

/// Pick of an entity of a cfs_rq, with the entities that competed.
#[derive(Clone, Debug)]
pub(super) struct PickRecord {
    pub(super) at: Nanos,
    pub(super) decision: PickDecision,
    pub(super) candidates: Vec<PickCandidate>,
}

/// Observer that keeps the history of a run up to the time of an explanation.
#[derive(Clone, Debug)]
pub struct History {
    tasks: Vec<TaskHistory>,
    cpus: Vec<CpuHistory>,
    /// Tasks that migrated at the current time; the record of the pass that moved them follows.
    moved: Vec<TaskId>,
    moved_at: Nanos,
    /// Entities of the pick whose decision follows.
    candidates: Vec<PickCandidate>,
    /// Selections of the scheduler call in progress.
    selections: Vec<WakeupDecision>,
    wants_lags: bool,
}

impl History {
    /// Creates the history of a machine that has not started.
    pub fn new(machine: &Machine) -> Self {
        let sched = machine.sched();
        let cpu_track = |cpu| CpuHistory {
            current: sched.curr(cpu),
            since: START,
            scanned: Vec::new(),
            before: None,
            switches: VecDeque::from([(START, sched.curr(cpu))]),
            passes: VecDeque::new(),
            nr_passes: 0,
            newly_idle: BTreeMap::new(),
            idle: BTreeMap::new(),
            kick_decision: None,
            kicked: None,
            offline_since: None,
            picks: Vec::new(),
            pending_picks: Vec::new(),
            server: None,
            server_ran: None,
            server_starved: None,
        };
        Self {
            tasks: Vec::new(),
            cpus: sched.cpu_ids().map(cpu_track).collect(),
            moved: Vec::new(),
            moved_at: START,
            candidates: Vec::new(),
            selections: Vec::new(),
            wants_lags: sched.rules().fair_is_eevdf,
        }
    }

    pub(super) fn cpu(&self, cpu: CpuId) -> &CpuHistory {
        &self.cpus[cpu.index()]
    }

    pub(super) fn task(&self, task: TaskId) -> &TaskHistory {
        self.tasks.get(task.index()).unwrap_or(&UNKNOWN)
    }

    /// Returns the number of the machine's tasks that run on a CPU or wait for it. A task whose dequeue is delayed sleeps,
    /// and one that is throttled waits for runtime.
    pub(super) fn nr_runnable(&self, machine: &Machine, cpu: CpuId) -> usize {
        let ids = machine.tasks().iter().filter_map(|task| task.id);
        ids.filter(|&id| machine.sched().task(id).cpu == cpu)
            .map(|id| self.task(id).activity)
            .filter(|activity| activity.waits_for_cpu() || matches!(activity.state(), TaskState::Running { .. }))
            .count()
    }

    /// Returns the last kick decision of any busy CPU.
    pub(super) fn last_kick_decision(&self) -> Option<(Nanos, KickDecision)> {
        self.cpus.iter().filter_map(|cpu| cpu.kick_decision).max_by_key(|&(at, _)| at)
    }

    /// Returns the run times of the tasks on the waiting task's CPUs during its wait, longest first, and the
    /// part of the wait that the kept switches do not cover.
    pub(super) fn cpu_time_during(&self, task: TaskId, wait: &Episode) -> (Vec<(TaskId, Nanos)>, Nanos) {
        let (mut times, mut unknown) = (BTreeMap::new(), Nanos::ZERO);
        let places = &self.task(task).wait_places;
        for (place, &(from, cpu)) in places.iter().enumerate() {
            let to = places.get(place + 1).map_or(wait.until, |&(at, _)| at);
            let switches = &self.cpu(cpu).switches;
            let first_known = switches.front().map_or(to, |&(at, _)| at);
            unknown = Nanos(unknown.0 + first_known.min(to).saturating_since(from).0);
            for (index, &(at, task)) in switches.iter().enumerate() {
                let ends = switches.get(index + 1).map_or(to, |&(next, _)| next).min(to);
                let time = ends.saturating_since(at.max(from));
                if time > Nanos::ZERO {
                    *times.entry(task).or_insert(0) += time.0;
                }
            }
        }
        let mut times: Vec<_> = times.into_iter().map(|(task, time)| (task, Nanos(time))).collect();
        times.sort_by_key(|&(_, time)| std::cmp::Reverse(time));
        (times, unknown)
    }

    fn task_mut(&mut self, task: TaskId) -> &mut TaskHistory {
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, UNKNOWN.clone());
        }
        &mut self.tasks[task.index()]
    }

    fn on_wakeup(&mut self, now: Nanos, task: TaskId, cpu: CpuId, is_new: bool) {
        let track = self.task_mut(task);
        track.cpu = Some(cpu);
        if !track.activity.wake(now, cpu, is_new) {
            return;
        }
        track.nr_wakeups += 1;
        track.woken_prio = track.prio;
        // A completed selection belongs to an earlier wake-up, after which the task left the fair class.
        track.selection = track.selection.filter(|selection| !selection.is_done);
        if let Some(selection) = &mut track.selection {
            selection.is_done = true;
        }
        track.woken = Some((now, cpu, is_new));
        track.ended_wait = None;
        track.begin_wait(now);
        (track.last_move, track.nr_moves) = (None, 0);
    }

    /// A throttled task waits for no CPU: its wait ends, and a new one begins when it is no longer throttled.
    fn on_throttling(&mut self, now: Nanos, task: TaskId, limit: Option<RuntimeLimit>) {
        let track = self.task_mut(task);
        if limit.is_some() {
            track.ran_when_throttled = matches!(track.state(), TaskState::Running { .. });
        }
        let ended = track.activity.throttle(now, limit);
        if ended.is_some() {
            track.end_wait(ended);
            track.begin_wait(now);
        }
    }

    fn on_switch(&mut self, now: Nanos, cpu: CpuId, prev: TaskId, next: TaskId, prev_state: PrevState) {
        let left = self.task_mut(prev);
        left.cpu = Some(cpu);
        left.activity.switch_out(now, cpu, prev_state);
        left.begin_wait(now);
        let came = self.task_mut(next);
        let ended = came.activity.switch_in(now, cpu);
        came.end_wait(ended);
        let track = &mut self.cpus[cpu.index()];
        (track.current, track.since, track.before) = (next, now, Some((prev, prev_state)));
        if track.switches.len() == MAX_SWITCHES {
            track.switches.pop_front();
        }
        track.switches.push_back((now, next));
    }

    fn on_migrate(&mut self, now: Nanos, task: TaskId, from: CpuId, to: CpuId, on: CpuId) {
        let current = self.cpus[on.index()].current;
        let track = self.task_mut(task);
        track.cpu = Some(to);
        track.activity.migrate(to);
        if !track.activity.waits_for_cpu() {
            return;
        }
        track.last_move = Some(MigrationRecord { at: now, from, to, on, current, pass: None });
        track.nr_moves += 1;
        track.wait_places.push((now, to));
        if self.moved_at != now {
            self.moved.clear();
            self.moved_at = now;
        }
        self.moved.push(task);
    }

    fn on_balance(&mut self, now: Nanos, decision: &BalanceDecision) {
        let pass = PassRecord { at: now, decision: *decision };
        let track = &mut self.cpus[decision.dst_cpu.index()];
        track.nr_passes += 1;
        if track.passes.len() == MAX_PASSES {
            track.passes.pop_front();
        }
        track.passes.push_back(pass);
        match decision.idle {
            CpuIdleType::NewlyIdle => track.newly_idle.insert(decision.level, pass),
            CpuIdleType::Idle => track.idle.insert(decision.level, pass),
            CpuIdleType::NotIdle => None,
        };
        if decision.nr_moved == 0 {
            return;
        }
        for task in std::mem::take(&mut self.moved) {
            if let Some(last) = &mut self.tasks[task.index()].last_move
                && (last.at, last.to, last.on) == (now, decision.dst_cpu, decision.on)
            {
                last.pass = Some(*decision);
            }
        }
    }

    fn on_kick_decision(&mut self, now: Nanos, decision: &KickDecision) {
        if decision.reason != KickReason::CpuIsIdle {
            self.cpus[decision.cpu.index()].kick_decision = Some((now, *decision));
        }
        if let Some(target) = decision.target {
            self.cpus[target.index()].kicked = Some((now, *decision));
        }
    }
}

impl History {
    fn on_eevdf(&mut self, now: Nanos, event: EevdfEvent<'_>) {
        match event {
            EevdfEvent::Candidate(candidate) => self.candidates.push(*candidate),
            EevdfEvent::Pick(decision) => {
                let candidates = std::mem::take(&mut self.candidates);
                let track = &mut self.cpus[decision.queue.cpu.index()];
                if decision.queue.depth == 0 {
                    track.pending_picks.clear();
                }
                track.pending_picks.push(PickRecord { at: now, decision: *decision, candidates });
                if decision.picked.entity.task.is_some() {
                    track.picks = std::mem::take(&mut track.pending_picks);
                }
            }
            EevdfEvent::Preempt(decision) => self.task_mut(decision.task).preemption = Some((now, *decision)),
            EevdfEvent::DelayedDequeue(record) => {
                let Some(task) = record.entity.task else { return };
                let point = (now, *record);
                let track = self.task_mut(task);
                if record.step == DelayStep::Woken {
                    track.woken_on_queue = Some(now);
                }
                match (record.step, track.delay.as_mut()) {
                    (DelayStep::Begins, _) => {
                        let nr_wakeups = track.nr_wakeups;
                        track.delay = Some(DelayRecord { begin: point, end: None, nr_wakeups });
                    }
                    (DelayStep::Ends | DelayStep::Woken, Some(delay)) => delay.end = Some(point),
                    (DelayStep::Ends | DelayStep::Woken, None) => {}
                }
            }
            EevdfEvent::LimitedLag(_) => {}
            EevdfEvent::FairServer(record) => {
                let track = &mut self.cpus[record.cpu.index()];
                track.server = Some((now, *record));
                match record.step {
                    ServerStep::Picked => track.server_ran = Some((now, record.period_ns)),
                    ServerStep::Starved => track.server_starved = Some(now),
                    _ => {}
                }
            }
        }
    }
}

impl SchedObserver for History {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        match *event {
            Event::Wakeup { task, cpu, is_new, .. } => self.on_wakeup(now, task, cpu, is_new),
            Event::Switch { cpu, prev, next, prev_state } => self.on_switch(now, cpu, prev, next, prev_state),
            Event::Migrate { task, from, to, on } => self.on_migrate(now, task, from, to, on),
            Event::Priority { task, prio, .. } => self.task_mut(task).prio = Some(prio),
            Event::Throttling { task, limit } => self.on_throttling(now, task, limit),
            Event::WakeupDecision(decision) => {
                let current = self.cpus[decision.waker.index()].current;
                let selection = SelectionRecord { at: now, decision: *decision, current, is_done: false };
                // A task stays runnable during an exec, so the selection belongs to no wake-up.
                if decision.kind != WakeKind::Exec {
                    let track = self.task_mut(decision.task);
                    track.selection = Some(selection);
                    track.scanned.clear();
                }
                self.selections.push(*decision);
            }
            Event::BalanceDecision(decision) => self.on_balance(now, decision),
            Event::KickDecision(decision) => self.on_kick_decision(now, decision),
            Event::Eevdf(event) => self.on_eevdf(now, event),
            _ => {}
        }
    }
}

impl Observer for History {
    fn wants(&self) -> Interest {
        Interest { events: true, lags: self.wants_lags, ..Interest::NONE }
    }

    fn wants_ops(&self) -> bool {
        true
    }

    fn wants_touches(&self) -> bool {
        true
    }

    fn work(&mut self, _now: Nanos, cpu: CpuId, _path: KernelPath, counted: &OpCounts) {
        let scanned = counted.touches().iter().filter(|touch| touch.access == Access::Scan);
        let of_cpu = &mut self.cpus[cpu.index()].scanned;
        of_cpu.extend(scanned.filter_map(Touch::runqueue));
        if self.selections.is_empty() {
            return;
        }
        // Of several selections in one call, it is not known which one has checked a CPU.
        if let [WakeupDecision { task, kind, nr_scanned, .. }] = self.selections[..]
            && kind != WakeKind::Exec
            && of_cpu.len() == nr_scanned as usize
        {
            let scanned = std::mem::take(of_cpu);
            self.task_mut(task).scanned = scanned;
        }
        self.selections.clear();
        self.cpus[cpu.index()].scanned.clear();
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        if let Some((cpu, online)) = hotplug(event) {
            let track = &mut self.cpus[cpu.index()];
            track.offline_since = (!online).then(|| track.offline_since.unwrap_or(now));
        }
    }
}
