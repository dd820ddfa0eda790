// SPDX-License-Identifier: GPL-2.0-or-later
//! Explains a task: why it is on its CPU, and why it waits or waited.

use super::claims::{
    AllowedCpusClaim, CpuTime, CurrentTaskClaim, EnqueueClaim, FamilyClaim, FamilyMember, FormerClassClaim,
    MigrationBy, MigrationsClaim, NoSelectionCause, Reason, RunState, SelectionClaim, Statement, TaskRef,
    TaskStateClaim, Throttling, ThrottlingClaim, UnplacedClaim, VruntimeGap, WaitClaim, WaitStart,
};
use super::history::{SelectionRecord, TaskHistory};
use super::records::{cpus, idle_cpus, moment, reason, task_ref};
use super::{ExplainContext, eevdf};
use fairlab_measure::cgroups::group_path;
use fairlab_measure::episodes::{Episode, TaskState, WaitCause, WaitReason};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::wakeup::{AffineRule, WakeKind};
use fairlab_sched::probe::RuntimeLimit;
use fairlab_sched::task::SchedClass;
use fairlab_sched::units::Nanos;

/// Explains the state of a task, given as an index of the machine's tasks.
pub(super) fn explain(view: ExplainContext<'_>, host: usize) -> Vec<Statement> {
    let ExplainContext { machine, history, now } = view;
    let host = &machine.tasks()[host];
    let Some(id) = host.id else {
        let task = TaskRef::Workload { name: host.name.clone(), pid: host.pid };
        let (at_ns, state) = (moment(now), RunState::NotForked);
        let claim = TaskStateClaim { task, at_ns, state, cpu: None, since_ns: None, runnable_since_ns: None };
        return vec![claim.into()];
    };
    let track = history.task(id);
    let (cpu, class) = (machine.sched().task(id).cpu, machine.sched().task(id).class);
    let is_runnable = track.state().is_runnable();
    let (state, own_cpu, since) = run_state(view, id);
    let state = TaskStateClaim {
        task: task_ref(machine, id),
        at_ns: moment(now),
        state,
        cpu: Some(own_cpu.0),
        since_ns: since.map(moment),
        runnable_since_ns: track.woken.filter(|_| is_runnable).map(|(at, ..)| moment(at)),
    };
    let mut statements = vec![state.into()];
    statements.extend(explain_placement(view, id));
    if let Some(wait) = track.wait(now) {
        statements.push(wait_claim(view, id, &wait).into());
    }
    statements.extend(eevdf::explain_preemption(view, id).filter(|_| is_runnable));
    statements.extend(eevdf::explain_delay(view, id));
    if is_runnable && class == SchedClass::Fair {
        statements.extend(eevdf::explain_pick(view, cpu));
        if track.activity.waits_for_cpu() {
            statements.extend(eevdf::explain_server(view, cpu));
        }
    }
    if let TaskState::Waiting { .. } = track.state() {
        if track.activity.waits_for_cpu() {
            statements.extend(current_task_claim(view, id, cpu).map(Statement::from));
            let allowed = cpus(&machine.sched().task(id).cpus_allowed);
            let idle = idle_cpus(view, id, cpu);
            statements.push(AllowedCpusClaim { task: task_ref(machine, id), allowed, idle }.into());
        } else {
            statements.extend(throttling_claim(view, id, cpu).map(Statement::from));
        }
    }
    statements
}

/// Returns the state of a forked task, its CPU, and the begin of the state.
fn run_state(view: ExplainContext<'_>, id: TaskId) -> (RunState, CpuId, Option<Nanos>) {
    let track = view.history.task(id);
    let present = view.machine.sched().task(id).cpu;
    match track.state() {
        TaskState::NotStarted => (RunState::New, present, None),
        TaskState::Blocked { since, cpu } => (RunState::Sleeps, cpu, Some(since)),
        TaskState::Ended { since, cpu } => (RunState::Ended, cpu, Some(since)),
        TaskState::Running { since, cpu } => (RunState::Runs, cpu, Some(since)),
        TaskState::Waiting { since, .. } if track.activity.waits_for_cpu() => (RunState::Waits, present, Some(since)),
        TaskState::Waiting { since, .. } => (RunState::Throttled, present, Some(since)),
    }
}

const MAX_FAMILY_TASKS: usize = 16;

/// Explains a family: the state of each task, and in detail the task that waits longest, or else the first.
pub(super) fn explain_family(view: ExplainContext<'_>, name: &str, family: &[usize]) -> Vec<Statement> {
    let ExplainContext { machine, history, now } = view;
    let member = |&host: &usize| {
        let task = &machine.tasks()[host];
        let (state, cpu, since) = match task.id {
            None => (RunState::NotForked, None, None),
            Some(id) => {
                let (state, cpu, since) = run_state(view, id);
                (state, Some(cpu.0), since)
            }
        };
        FamilyMember { name: task.name.clone(), state, cpu, since_ns: since.map(moment) }
    };
    let members = family.iter().take(MAX_FAMILY_TASKS).map(member).collect();
    let claim = FamilyClaim { family: name.to_owned(), at_ns: moment(now), nr_tasks: family.len(), members };
    let mut statements = vec![claim.into()];
    let waits_since = |&&host: &&usize| match machine.tasks()[host].id.map(|id| history.task(id)) {
        Some(track) if track.activity.waits_for_cpu() => {
            track.activity.episode(now).map_or(Nanos::NEVER, |wait| wait.since)
        }
        _ => Nanos::NEVER,
    };
    let chosen = *family.iter().min_by_key(waits_since).expect("a family has tasks");
    statements.extend(explain(view, chosen));
    statements
}

/// Explains how a task came to its CPU: the CPU selection, and the last migration after it.
pub(super) fn explain_placement(view: ExplainContext<'_>, id: TaskId) -> Vec<Statement> {
    let ExplainContext { machine, history, .. } = view;
    let track = history.task(id);
    let task = || task_ref(machine, id);
    let mut statements = Vec::new();
    match (track.selection, track.woken) {
        (Some(selection), woken) => {
            statements.push(selection_claim(view, id, &selection).into());
            let class = match machine.sched().task(id).class {
                SchedClass::RealTime => Some("real-time"),
                SchedClass::Deadline => Some("deadline"),
                SchedClass::Fair | SchedClass::Stop | SchedClass::Idle => None,
            };
            statements.extend(class.map(|class| FormerClassClaim { task: task(), class }.into()));
            let selected_at_ns = moment(selection.at);
            let enqueue = |cpu: CpuId, at_ns| EnqueueClaim { task: task(), cpu: cpu.0, selected_at_ns, at_ns };
            match woken {
                _ if !selection.is_done => statements.push(enqueue(selection.decision.cpu, None).into()),
                Some((at, cpu, _)) if selection.at < at => statements.push(enqueue(cpu, Some(moment(at))).into()),
                _ => {}
            }
        }
        (None, Some((at, cpu, is_fork))) => {
            let cause = no_selection_cause(track, at);
            statements.push(UnplacedClaim { task: task(), at_ns: moment(at), cpu: cpu.0, is_fork, cause }.into());
        }
        (None, None) => {}
    }
    if let Some(last) = track.last_move {
        let by = match last.pass {
            Some(pass) => MigrationBy::Balance { balanced_cpu: pass.dst_cpu.0 },
            None => MigrationBy::Other { executing_cpu: last.on.0, current: task_ref(machine, last.current) },
        };
        let (count, last_at_ns) = (track.nr_moves, moment(last.at));
        let claim = MigrationsClaim { task: task(), count, last_at_ns, from: last.from.0, to: last.to.0, by };
        statements.push(claim.into());
    }
    statements
}

/// First priority of the fair class.
const MAX_RT_PRIO: i32 = 100;

fn no_selection_cause(track: &TaskHistory, woken: Nanos) -> NoSelectionCause {
    match track.woken_prio {
        _ if track.woken_on_queue == Some(woken) => NoSelectionCause::OnQueue,
        Some(prio) if prio < MAX_RT_PRIO => NoSelectionCause::OtherClass { prio },
        _ => NoSelectionCause::Unknown,
    }
}

fn selection_claim(view: ExplainContext<'_>, id: TaskId, selection: &SelectionRecord) -> SelectionClaim {
    let d = &selection.decision;
    SelectionClaim {
        task: task_ref(view.machine, id),
        at_ns: moment(selection.at),
        is_fork: d.kind == WakeKind::Fork,
        waker_cpu: d.waker.0,
        waker: task_ref(view.machine, selection.current),
        sync: d.sync,
        cpu: d.cpu.0,
        rule: reason!(d.rule),
        prev: d.prev.0,
        target: d.target.0,
        affine: (d.affine != AffineRule::NotAsked).then(|| reason!(d.affine)),
        scanned: d.nr_scanned,
        scanned_cpus: view.history.task(id).scanned.iter().map(|cpu| cpu.0).collect(),
        cores_scanned: d.nr_cores_scanned,
        scan_limit: d.nr_idle_scan,
    }
}

fn wait_claim(view: ExplainContext<'_>, id: TaskId, wait: &Episode) -> WaitClaim {
    let ExplainContext { machine, history, .. } = view;
    let (ran, unknown) = history.cpu_time_during(id, wait);
    WaitClaim {
        task: task_ref(machine, id),
        start: match wait.cause {
            WaitCause::Woken => WaitStart::Woken,
            WaitCause::Forked => WaitStart::Forked,
            WaitCause::LostCpu(cpu) => WaitStart::SwitchedOut { switched_out_on: cpu.0 },
            WaitCause::Throttling => WaitStart::ThrottlingEnded,
        },
        since_ns: moment(wait.since),
        until_ns: moment(wait.until),
        is_open: wait.is_open,
        cpus: history.task(id).wait_places.iter().map(|&(_, cpu)| cpu.0).collect(),
        ran: ran.into_iter().map(|(task, time)| CpuTime { task: task_ref(machine, task), ns: time.0 }).collect(),
        unrecorded_ns: unknown.0,
    }
}

/// Returns the claim about the task that runs on a waiting task's CPU; none if the CPU is idle.
fn current_task_claim(view: ExplainContext<'_>, id: TaskId, cpu: CpuId) -> Option<CurrentTaskClaim> {
    let ExplainContext { machine, history, now } = view;
    let sched = machine.sched();
    let running = sched.curr(cpu);
    if running == sched.idle_task(cpu) {
        return None;
    }
    let (own, current) = (sched.task(id), sched.task(running));
    let (se, curr_se) = (sched.entity(id), sched.entity(running));
    let are_on_one_queue =
        own.class == SchedClass::Fair && current.class == SchedClass::Fair && se.cfs_rq == curr_se.cfs_rq;
    let vruntime = are_on_one_queue.then(|| VruntimeGap {
        ahead_ns: curr_se.vruntime.wrapping_sub(se.vruntime) as i64,
        running_weight: curr_se.weight(),
        waiting_weight: se.weight(),
    });
    Some(CurrentTaskClaim {
        task: task_ref(machine, id),
        cpu: cpu.0,
        current: task_ref(machine, running),
        running_for_ns: (now - history.cpu(cpu).since).0,
        is_of_higher_class: current.class > own.class,
        vruntime,
        nr_runnable: history.nr_runnable(machine, cpu),
    })
}

/// Returns the reason for a task's throttling; none if it is not throttled.
fn throttling_claim(view: ExplainContext<'_>, id: TaskId, cpu: CpuId) -> Option<ThrottlingClaim> {
    let ExplainContext { machine, history, now } = view;
    let track = history.task(id);
    let WaitReason::Runtime(limit) = track.activity.episode(now)?.reason else { return None };
    let own = machine.sched().task(id);
    let remaining_ns = own.dl.runtime;
    let throttling = match limit {
        RuntimeLimit::RealTime => Throttling::RealTime,
        RuntimeLimit::Deadline if own.dl.has_yielded => Throttling::DeadlineYield,
        RuntimeLimit::Deadline if !track.ran_when_throttled => Throttling::DeadlineWakeup { remaining_ns },
        RuntimeLimit::Deadline => Throttling::DeadlineRuntime { remaining_ns },
        RuntimeLimit::Quota(group) => Throttling::Quota {
            group: group_path(machine, group),
            own_group: group_path(machine, own.group),
            idle: idle_cpus(view, id, cpu),
        },
    };
    Some(ThrottlingClaim { task: task_ref(machine, id), cpu: cpu.0, throttling })
}
