// SPDX-License-Identifier: GPL-2.0-or-later
//! Explains decisions of EEVDF: picks, wake-up preemption, delayed dequeues; and what a fair server does.
//!
//! Virtual times are written relative to the virtual time V of their queue, with a sign. The lag of an entity is V less
//! its virtual runtime: what it is owed.

use super::ExplainContext;
use super::history::{DelayPoint, DelayRecord, PickRecord};
use super::phrases::{moment, task_name, without_full_stop};
use crate::cgroups::group_path;
use crate::plural::counted;
use fairlab_machine::sim::Machine;
use fairlab_sched::features::Feature;
use fairlab_sched::ids::{CpuId, GroupId, TaskId};
use fairlab_sched::interface::eevdf::{
    DelayStep, PickCandidate, PickRule, PreemptDecision, PreemptRule, ServerRecord, ServerStep,
};
use fairlab_sched::task::SchedClass;
use fairlab_sched::units::Nanos;
use serde_json::{Value, json};

/// Largest number of entities of a queue that are listed.
const MAX_LISTED: usize = 8;

/// Formats a virtual time with its sign: `+1.2ms`.
fn signed(ns: i64) -> String {
    let sign = if ns < 0 { '-' } else { '+' };
    format!("{sign}{}", Nanos(ns.unsigned_abs()))
}

fn entity_name(machine: &Machine, candidate: &PickCandidate) -> String {
    match (candidate.entity.task, candidate.group) {
        (Some(task), _) => task_name(machine, task),
        (None, Some(group)) => format!("group {}", group_path(machine, group)),
        (None, None) => "an entity".to_owned(),
    }
}

/// Describes an entity: eligibility, lag, deadline, slice and weight.
fn entity_clause(virtual_time: i64, candidate: &PickCandidate) -> String {
    let entity = &candidate.entity;
    let mut text = if candidate.is_eligible { "eligible" } else { "not eligible" }.to_owned();
    text.push_str(&format!(
        ", lag {}, deadline V{}, slice {}, weight {}",
        signed(virtual_time.wrapping_sub(entity.vruntime)),
        signed(entity.deadline.wrapping_sub(virtual_time)),
        Nanos(entity.slice),
        entity.weight >> WEIGHT_SHIFT
    ));
    if candidate.is_running {
        text.push_str("; it was running");
    }
    if entity.is_delayed {
        text.push_str("; it sleeps, and its dequeue is delayed");
    }
    text
}

/// Binary digits by which full resolution of a weight exceeds that of `sched_prio_to_weight`.
const WEIGHT_SHIFT: u32 = 10;

fn entity_facts(machine: &Machine, virtual_time: i64, candidate: &PickCandidate) -> Value {
    let entity = &candidate.entity;
    json!({
        "pid": entity.task.map(|task| machine.sched().task(task).pid),
        "group": candidate.group.map(|group| group_path(machine, group)),
        "eligible": candidate.is_eligible,
        "running": candidate.is_running,
        "delayed": entity.is_delayed,
        "lag_ns": virtual_time.wrapping_sub(entity.vruntime),
        "vruntime": entity.vruntime,
        "deadline": entity.deadline,
        "slice_ns": entity.slice,
        "weight": entity.weight >> WEIGHT_SHIFT,
    })
}

/// Describes the last pick of a CPU, one paragraph for each level of groups. Returns sentences and facts.
pub(super) fn explain_pick(view: ExplainContext<'_>, cpu: CpuId) -> (Vec<String>, Value) {
    let ExplainContext { machine, history, .. } = view;
    let picks = &history.cpu(cpu).picks;
    let sentences = picks.iter().flat_map(|pick| level_sentences(machine, cpu, pick)).collect();
    (sentences, picks.iter().map(|pick| pick_facts(machine, pick)).collect())
}

fn level_sentences(machine: &Machine, cpu: CpuId, pick: &PickRecord) -> Vec<String> {
    let PickRecord { at, decision, candidates } = pick;
    let place = match decision.group {
        GroupId::ROOT => format!("The last pick of a fair task on CPU {} was at {}", cpu.0, moment(*at)),
        group => format!("In group {}", group_path(machine, group)),
    };
    let name = entity_name(machine, &decision.picked);
    let why = without_full_stop(decision.rule.meaning());
    if decision.rule == PickRule::OnlyEntity {
        return vec![format!("{place}: {name}, the only entity of the queue.")];
    }
    let virtual_time = decision.queue.avg_vruntime;
    let mut sentences = vec![format!(
        "{place}: {name}, by rule {}: {why}. {} on the queue, {} eligible, at virtual time V = {virtual_time}:",
        decision.rule.name(),
        counted(candidates.len(), "entity was", "entities were"),
        decision.nr_eligible
    )];
    for candidate in candidates.iter().take(MAX_LISTED) {
        let name = entity_name(machine, candidate);
        sentences.push(format!("  {name}: {}", entity_clause(virtual_time, candidate)));
    }
    if candidates.len() > MAX_LISTED {
        sentences.push(format!("  and {} more with later deadlines", candidates.len() - MAX_LISTED));
    }
    sentences
}

fn pick_facts(machine: &Machine, pick: &PickRecord) -> Value {
    let PickRecord { at, decision, candidates } = pick;
    let virtual_time = decision.queue.avg_vruntime;
    json!({
        "at_ns": moment(*at).0,
        "group": group_path(machine, decision.group),
        "rule": decision.rule.name(),
        "virtual_time": virtual_time,
        "eligible": decision.nr_eligible,
        "picked": entity_facts(machine, virtual_time, &decision.picked),
        "entities": candidates.iter().map(|one| entity_facts(machine, virtual_time, one)).collect::<Vec<_>>(),
    })
}

/// Describes whether the last wake-up of a task preempted the running task, if it competed with one.
pub(super) fn explain_preemption(view: ExplainContext<'_>, id: TaskId) -> (Option<String>, Value) {
    let ExplainContext { machine, history, .. } = view;
    let track = history.task(id);
    let woken = track.woken.map(|(at, ..)| at);
    // Its virtual times mean nothing after it has left the fair class.
    let is_fair = machine.sched().task(id).class == SchedClass::Fair;
    let Some((at, decision)) = track.preemption.filter(|&(at, _)| Some(at) == woken && is_fair) else {
        return (None, Value::Null);
    };
    let PreemptDecision { curr, rule, queue, woken, running, .. } = decision;
    let virtual_time = queue.avg_vruntime;
    let verb = if rule.is_preemption() { "preempted" } else { "did not preempt" };
    let (name, why) = (task_name(machine, curr), rule.meaning());
    let why = without_full_stop(why.split_once(": ").map_or(why, |(_, why)| why));
    let mut text = format!("Its wake-up {verb} {name}, by rule {}: {why}", rule.name());
    if rule == PreemptRule::NotPicked {
        text.push_str(match woken.is_eligible {
            true => ", because its deadline is later",
            false => ", because it was not eligible",
        });
    }
    text.push_str(&format!(
        ". At virtual time V = {virtual_time} it was {}; the running entity was {}.",
        entity_clause(virtual_time, &woken),
        entity_clause(virtual_time, &PickCandidate { is_running: false, ..running })
    ));
    let facts = json!({
        "at_ns": moment(at).0,
        "curr_pid": machine.sched().task(curr).pid,
        "preempts": rule.is_preemption(),
        "rule": rule.name(),
        "virtual_time": virtual_time,
        "woken": entity_facts(machine, virtual_time, &woken),
        "running": entity_facts(machine, virtual_time, &running),
    });
    (Some(text), facts)
}

/// Describes the last delayed dequeue of a task.
pub(super) fn explain_delay(view: ExplainContext<'_>, id: TaskId) -> (Option<String>, Value) {
    let track = view.history.task(id);
    // A delay before the last sleep explains nothing.
    let nr_since = u32::from(track.state().is_runnable());
    let is_of_last_sleep = |delay: &&DelayRecord| track.nr_wakeups - delay.nr_wakeups <= nr_since;
    let is_fair = view.machine.sched().task(id).class == SchedClass::Fair;
    let Some(DelayRecord { begin, end, .. }) = track.delay.as_ref().filter(is_of_last_sleep).filter(|_| is_fair) else {
        return (None, Value::Null);
    };
    let lag = |(_, record): &DelayPoint| record.queue.avg_vruntime.wrapping_sub(record.entity.vruntime);
    let cpu = begin.1.entity.cpu.0;
    let mut text = format!(
        "When it blocked at {} it was not eligible (lag {}): its dequeue was delayed, so it stayed on the queue of CPU {cpu} and \
         counted for the virtual time, but was not runnable",
        moment(begin.0),
        signed(lag(begin))
    );
    match end {
        None => text.push_str(&format!(". It is still queued, {} later.", view.now - begin.0)),
        Some(end) => {
            let how = match end.1.step {
                DelayStep::Woken => "it was woken and stayed",
                DelayStep::Begins | DelayStep::Ends => "it left the queue",
            };
            let is_zeroed = lag(end) > 0 && view.machine.sched().features().has(Feature::DelayZero);
            text.push_str(&format!(
                ". At {}, {} later, {how}, with a lag of {}{}.",
                moment(end.0),
                end.0 - begin.0,
                signed(lag(end)),
                if is_zeroed { ", of which it keeps nothing (DELAY_ZERO)" } else { "" }
            ));
        }
    }
    let facts = json!({
        "cpu": cpu,
        "since_ns": moment(begin.0).0,
        "lag_ns": lag(begin),
        "until_ns": end.as_ref().map(|end| moment(end.0).0),
        "woken": end.as_ref().map(|end| end.1.step == DelayStep::Woken),
        "lag_at_end_ns": end.as_ref().map(lag),
    });
    (Some(text), facts)
}

/// Describes the fair server of a CPU: its present budget, its last step, when it will run a fair task, and when it last
/// did.
pub(super) fn explain_server(view: ExplainContext<'_>, cpu: CpuId) -> (Vec<String>, Value) {
    let ExplainContext { machine, history, .. } = view;
    let (track, sched) = (history.cpu(cpu), machine.sched());
    let last = track.server.as_ref().map(|(at, record)| (*at, record.step));
    // The budget changes without a step, whenever the runtime of a fair task is charged.
    let Some(server) = sched.server_snapshot(cpu, last.map_or(ServerStep::Started, |(_, step)| step)) else {
        return (Vec::new(), Value::Null);
    };
    let ServerRecord { runtime_ns, max_runtime_ns, period_ns, waits_until, .. } = server;
    let is_active = sched.is_server_active(cpu);
    let left = Nanos(runtime_ns.max(0).unsigned_abs());
    let used = Nanos((max_runtime_ns as i64).saturating_sub(runtime_ns).max(0).unsigned_abs());
    let budget = if is_active { format!("{left} left ({used} used)") } else { "no fair task to serve".to_owned() };
    let mut sentences = vec![format!(
        "The fair server of CPU {} has {} in each {} for fair tasks that starve, and at the last update {budget}.",
        cpu.0,
        Nanos(max_runtime_ns),
        Nanos(period_ns),
    )];
    sentences.extend(
        last.map(|(at, step)| format!("Its last step was at {}: {}.", moment(at), without_full_stop(step.meaning()))),
    );
    let is_above_fair = sched.task(sched.curr(cpu)).class > SchedClass::Fair;
    if let Some(until) = waits_until.filter(|_| is_above_fair) {
        sentences
            .push(format!("It runs a fair task at {} at the earliest, unless one runs before.", moment(Nanos(until))));
    }
    if let Some(ran) = track.server_ran {
        // An earlier starvation has nothing to do with this run.
        let starved = track.server_starved.filter(|starved| *starved <= ran && ran.0 - starved.0 < period_ns);
        let why = starved.map_or_else(String::new, |starved| {
            format!(", after it was queued at {} because they starved", moment(starved))
        });
        sentences.push(format!("It last ran a fair task at {}{why}.", moment(ran)));
    }
    let facts = json!({
        "step": last.map(|(_, step)| step.name()),
        "at_ns": last.map(|(at, _)| moment(at).0),
        "active": is_active,
        "runtime_ns": runtime_ns,
        "max_runtime_ns": max_runtime_ns,
        "period_ns": period_ns,
        "waits_until_ns": waits_until.map(|until| moment(Nanos(until)).0),
        "last_ran_ns": track.server_ran.map(|at| moment(at).0),
        "last_starved_ns": track.server_starved.map(|at| moment(at).0),
    });
    (sentences, facts)
}

/// Adds facts of EEVDF to an answer, if the kernel of the run has it.
pub(super) fn add_facts<const N: usize>(view: ExplainContext<'_>, facts: &mut Value, more: [(&str, Value); N]) {
    if view.machine.sched().series().is_eevdf() {
        for (key, value) in more {
            facts[key] = value;
        }
    }
}
