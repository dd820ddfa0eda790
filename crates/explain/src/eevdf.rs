// SPDX-License-Identifier: GPL-2.0-or-later
//! Explains decisions of EEVDF: picks, wake-up preemption, delayed dequeues; and the fair server.

use super::ExplainContext;
use super::claims::{DelayEnd, DelayedDequeueClaim, FairServerClaim, PickClaim, PreemptionClaim, Reason, Statement};
use super::history::{DelayPoint, DelayRecord, PickRecord};
use super::records::{entity_record, moment, reason, task_ref};
use fairlab_measure::cgroups::group_path;
use fairlab_sched::features::Feature;
use fairlab_sched::ids::{CpuId, GroupId, TaskId};
use fairlab_sched::interface::eevdf::{DelayStep, PickRule, PreemptDecision, PreemptRule, ServerRecord, ServerStep};
use fairlab_sched::task::SchedClass;
use fairlab_sched::units::Nanos;

/// Explains the last pick of a CPU, with one claim for each level of groups.
pub(super) fn explain_pick(view: ExplainContext<'_>, cpu: CpuId) -> Vec<Statement> {
    view.history.cpu(cpu).picks.iter().map(|pick| pick_claim(view, cpu, pick).into()).collect()
}

fn pick_claim(view: ExplainContext<'_>, cpu: CpuId, pick: &PickRecord) -> PickClaim {
    let machine = view.machine;
    let PickRecord { at, decision, candidates } = pick;
    let virtual_time = decision.queue.avg_vruntime;
    PickClaim {
        cpu: cpu.0,
        at_ns: moment(*at),
        group: group_path(machine, decision.group),
        is_root: decision.group == GroupId::ROOT,
        rule: reason!(decision.rule),
        is_only_entity: decision.rule == PickRule::OnlyEntity,
        virtual_time,
        nr_eligible: decision.nr_eligible,
        picked: entity_record(machine, virtual_time, &decision.picked),
        nr_entities: candidates.len(),
        entities: candidates
            .iter()
            .take(PickClaim::MAX_LISTED)
            .map(|candidate| entity_record(machine, virtual_time, candidate))
            .collect(),
    }
}

/// Explains whether the last wake-up of a task preempted the running task, if it competed with one.
pub(super) fn explain_preemption(view: ExplainContext<'_>, id: TaskId) -> Option<Statement> {
    let ExplainContext { machine, history, .. } = view;
    let track = history.task(id);
    let woken = track.woken.map(|(at, ..)| at);
    // Its virtual times mean nothing after it has left the fair class.
    let is_fair = machine.sched().task(id).class == SchedClass::Fair;
    let (at, decision) = track.preemption.filter(|&(at, _)| Some(at) == woken && is_fair)?;
    let PreemptDecision { curr, rule, queue, woken, running, .. } = decision;
    let virtual_time = queue.avg_vruntime;
    let claim = PreemptionClaim {
        task: task_ref(machine, id),
        at_ns: moment(at),
        current: task_ref(machine, curr),
        preempts: rule.is_preemption(),
        rule: reason!(rule),
        is_not_picked: rule == PreemptRule::NotPicked,
        virtual_time,
        woken: entity_record(machine, virtual_time, &woken),
        running: entity_record(machine, virtual_time, &running),
    };
    Some(claim.into())
}

/// Explains the last delayed dequeue of a task.
pub(super) fn explain_delay(view: ExplainContext<'_>, id: TaskId) -> Option<Statement> {
    let ExplainContext { machine, history, now } = view;
    let track = history.task(id);
    // A delay before the last sleep explains nothing.
    let nr_since = u32::from(track.state().is_runnable());
    let is_of_last_sleep = |delay: &&DelayRecord| track.nr_wakeups - delay.nr_wakeups <= nr_since;
    let is_fair = machine.sched().task(id).class == SchedClass::Fair;
    let DelayRecord { begin, end, .. } = track.delay.as_ref().filter(is_of_last_sleep).filter(|_| is_fair)?;
    let lag = |(_, record): &DelayPoint| record.queue.avg_vruntime.wrapping_sub(record.entity.vruntime);
    let end = end.as_ref().map(|end| DelayEnd {
        at_ns: moment(end.0),
        woken: end.1.step == DelayStep::Woken,
        lag_ns: lag(end),
        is_zeroed: lag(end) > 0 && machine.sched().features().has(Feature::DelayZero),
    });
    let claim = DelayedDequeueClaim {
        task: task_ref(machine, id),
        at_ns: moment(now),
        cpu: begin.1.entity.cpu.0,
        since_ns: moment(begin.0),
        lag_ns: lag(begin),
        end,
    };
    Some(claim.into())
}

/// Explains the fair server of a CPU: its present budget, its last step, when it will run a fair task, and when it last
/// did.
pub(super) fn explain_server(view: ExplainContext<'_>, cpu: CpuId) -> Option<Statement> {
    let ExplainContext { machine, history, .. } = view;
    let (track, sched) = (history.cpu(cpu), machine.sched());
    let last = track.server.as_ref().map(|(at, record)| (*at, record.step));
    // The budget changes without a step, whenever the runtime of a fair task is charged.
    let server = sched.server_snapshot(cpu, last.map_or(ServerStep::Started, |(_, step)| step))?;
    let ServerRecord { runtime_ns, max_runtime_ns, period_ns, waits_until, .. } = server;
    let is_above_fair = sched.task(sched.curr(cpu)).class > SchedClass::Fair;
    // An earlier starvation has nothing to do with the last run.
    let is_recent =
        |starved: &Nanos| track.server_ran.is_some_and(|(ran, period)| *starved <= ran && ran.0 - starved.0 < period);
    let claim = FairServerClaim {
        cpu: cpu.0,
        max_runtime_ns,
        period_ns,
        active: sched.is_server_active(cpu),
        runtime_ns,
        last_step: last.map(|(_, step)| reason!(step)),
        last_step_at_ns: last.map(|(at, _)| moment(at)),
        runs_from_ns: waits_until.filter(|_| is_above_fair).map(|until| moment(Nanos(until))),
        last_ran_ns: track.server_ran.map(|(ran, _)| moment(ran)),
        last_starved_ns: track.server_starved.filter(is_recent).map(moment),
    };
    Some(claim.into())
}
