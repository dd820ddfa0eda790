// SPDX-License-Identifier: GPL-2.0-or-later
//! Explains a task: why it is on its CPU, and why it waits or waited.

use super::history::SelectionRecord;
use super::phrases::{cpu_list, mask, moment, task_name, without_full_stop};
use super::{ExplainContext, eevdf};
use crate::cgroups::group_path;
use crate::episodes::{Episode, TaskState, WaitCause, WaitReason};
use crate::plural::counted;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::wakeup::{AffineRule, WakeKind};
use fairlab_sched::probe::RuntimeLimit;
use fairlab_sched::task::SchedClass;
use fairlab_sched::units::Nanos;
use serde_json::{Value, json};

const MAX_NAMED_TASKS: usize = 6;

/// Explains the state of a task. Returns sentences and facts.
pub(super) fn explain(view: ExplainContext<'_>, host: usize) -> (Vec<String>, Value) {
    let ExplainContext { machine, history, now } = view;
    let host = &machine.tasks()[host];
    let Some(id) = host.id else {
        let text = format!("By {} task {} (pid {}) has not been forked yet.", moment(now), host.name, host.pid);
        return (vec![text], json!({ "task": host.name, "pid": host.pid, "state": "not forked" }));
    };
    let name = task_name(machine, id);
    let track = history.task(id);
    let cpu = machine.sched().task(id).cpu;
    let mut sentences = Vec::new();
    let (state, since) = match track.state() {
        TaskState::NotStarted => {
            sentences.push(format!("At {} task {name} has been forked and is not runnable yet.", moment(now)));
            ("new", None)
        }
        TaskState::Blocked { since, cpu } => {
            let (now, since_text) = (moment(now), moment(since));
            sentences.push(format!("At {now} task {name} sleeps: it blocked at {since_text} on CPU {}.", cpu.0));
            ("sleeps", Some(since))
        }
        TaskState::Ended { since, cpu } => {
            let (now, since_text) = (moment(now), moment(since));
            sentences.push(format!("At {now} task {name} has ended: it ended at {since_text} on CPU {}.", cpu.0));
            ("ended", Some(since))
        }
        TaskState::Running { since, cpu } => {
            sentences.push(format!("At {} task {name} runs on CPU {}, since {}.", moment(now), cpu.0, moment(since)));
            ("runs", Some(since))
        }
        TaskState::Waiting { since, .. } if !track.activity.waits_for_cpu() => {
            sentences.push(format!(
                "At {} task {name} is throttled on CPU {}, since {} ({} so far): it waits for runtime, not for a CPU.",
                moment(now),
                cpu.0,
                moment(since),
                now - since
            ));
            ("throttled", Some(since))
        }
        TaskState::Waiting { since, .. } => {
            sentences.push(format!(
                "At {} task {name} waits on CPU {}, since {} ({} so far).",
                moment(now),
                cpu.0,
                moment(since),
                now - since
            ));
            ("waits", Some(since))
        }
    };
    let is_runnable = track.state().is_runnable();
    sentences.extend(placement(view, id));
    let mut wait_facts = Value::Null;
    if let Some(wait) = track.wait(now) {
        let (text, facts) = explain_wait(view, id, &wait);
        sentences.push(text);
        wait_facts = facts;
    }
    let (preemption, preemption_facts) = eevdf::explain_preemption(view, id);
    let (delay, delay_facts) = eevdf::explain_delay(view, id);
    sentences.extend(preemption.filter(|_| is_runnable));
    sentences.extend(delay);
    let (mut pick_facts, mut server_facts) = (Value::Null, Value::Null);
    if is_runnable && machine.sched().task(id).class == SchedClass::Fair {
        let (pick, facts) = eevdf::explain_pick(view, cpu);
        sentences.extend(pick);
        pick_facts = facts;
        if track.activity.waits_for_cpu() {
            let (server, facts) = eevdf::explain_server(view, cpu);
            sentences.extend(server);
            server_facts = facts;
        }
    }
    match track.state() {
        TaskState::Waiting { .. } if track.activity.waits_for_cpu() => sentences.extend(wait_reasons(view, id, cpu)),
        TaskState::Waiting { .. } => sentences.push(throttling_reason(view, id, cpu)),
        TaskState::NotStarted | TaskState::Blocked { .. } | TaskState::Ended { .. } | TaskState::Running { .. } => {}
    }
    let mut facts = json!({
        "task": host.name,
        "pid": host.pid,
        "state": state,
        "cpu": cpu.0,
        "since_ns": since.map(|since| moment(since).0),
        "allowed": mask(&machine.sched().task(id).cpus_allowed),
        "selection": track.selection.map(|selection| selection_facts(&selection)),
        "runnable_since_ns": track.woken.filter(|_| is_runnable).map(|(at, ..)| moment(at).0),
        "migrations_since": track.nr_moves,
        "wait": wait_facts,
    });
    let of_eevdf = [
        ("preemption", preemption_facts),
        ("delayed_dequeue", delay_facts),
        ("pick", pick_facts),
        ("fair_server", server_facts),
    ];
    eevdf::add_facts(view, &mut facts, of_eevdf);
    (sentences, facts)
}

const MAX_FAMILY_TASKS: usize = 16;

/// Explains a family: the state of each task, and in detail the task that waits longest, or else the first.
pub(super) fn explain_family(view: ExplainContext<'_>, name: &str, family: &[usize]) -> (Vec<String>, Value) {
    let ExplainContext { machine, history, now } = view;
    let state = |host: usize| machine.tasks()[host].id.map(|id| (id, history.task(id).state()));
    let mut sentences = vec![format!("{name} is a family of {} tasks.", family.len())];
    for &host in family.iter().take(MAX_FAMILY_TASKS) {
        let task = &machine.tasks()[host].name;
        sentences.push(match state(host) {
            None => format!("  {task}: has not been forked yet"),
            Some((_, TaskState::NotStarted)) => format!("  {task}: is being forked"),
            Some((_, TaskState::Blocked { since, .. })) => format!("  {task}: sleeps since {}", moment(since)),
            Some((_, TaskState::Ended { since, .. })) => format!("  {task}: ended since {}", moment(since)),
            Some((id, TaskState::Waiting { since, .. })) if !history.task(id).activity.waits_for_cpu() => {
                let cpu = machine.sched().task(id).cpu;
                format!("  {task}: is throttled on CPU {} since {}, for {}", cpu.0, moment(since), now - since)
            }
            Some((_, TaskState::Running { since, cpu })) => {
                format!("  {task}: runs on CPU {} since {}", cpu.0, moment(since))
            }
            Some((id, TaskState::Waiting { since, .. })) => {
                let cpu = machine.sched().task(id).cpu;
                format!("  {task}: waits on CPU {} since {}, for {}", cpu.0, moment(since), now - since)
            }
        });
    }
    if family.len() > MAX_FAMILY_TASKS {
        sentences.push(format!("  and {} more", family.len() - MAX_FAMILY_TASKS));
    }
    let waits_since = |&&host: &&usize| match state(host) {
        Some((id, TaskState::Waiting { since, .. })) if history.task(id).activity.waits_for_cpu() => since,
        _ => Nanos::NEVER,
    };
    let chosen = *family.iter().min_by_key(waits_since).expect("a family has tasks");
    let (more, facts) = explain(view, chosen);
    sentences.extend(more);
    let names: Vec<&str> = family.iter().map(|&host| machine.tasks()[host].name.as_str()).collect();
    (sentences, json!({ "family": name, "tasks": names, "told": facts }))
}

/// Describes how a task came to its CPU: the CPU selection, and the last migration after it.
pub(super) fn placement(view: ExplainContext<'_>, id: TaskId) -> Vec<String> {
    let ExplainContext { machine, history, .. } = view;
    let track = history.task(id);
    let mut sentences = Vec::new();
    match (track.selection, track.woken) {
        (Some(selection), woken) => {
            sentences.extend(explain_selection(view, &selection));
            let class = match machine.sched().task(id).class {
                SchedClass::RealTime => Some("real-time"),
                SchedClass::Deadline => Some("deadline"),
                SchedClass::Fair | SchedClass::Stop | SchedClass::Idle => None,
            };
            sentences.extend(class.map(|class| format!("That was before it became a {class} task.")));
            match woken {
                _ if !selection.is_done => {
                    sentences.push(format!("CPU {} has not enqueued it yet.", selection.decision.cpu.0));
                }
                Some((at, cpu, _)) if selection.at < at => sentences.push(format!(
                    "CPU {} enqueued it at {}, {} later: from then on it was runnable.",
                    cpu.0,
                    moment(at),
                    at - selection.at
                )),
                _ => {}
            }
        }
        (None, Some((at, cpu, is_new))) => {
            let what = if is_new { "forked" } else { "woken" };
            let why = if track.woken_on_queue == Some(at) {
                "no CPU was selected, because it was still on the queue there: its dequeue was delayed"
            } else {
                "the reason for this CPU is not recorded, because it was not a fair task"
            };
            sentences.push(format!("It was {what} at {} on CPU {}; {why}.", moment(at), cpu.0));
        }
        (None, None) => {}
    }
    if let Some(last) = track.last_move {
        let how = match last.pass {
            Some(pass) => format!("by the load balancing of CPU {}", pass.dst_cpu.0),
            None => format!("by CPU {}, where {} was current", last.on.0, task_name(machine, last.current)),
        };
        sentences.push(format!(
            "Since then it has migrated {}, last at {} from CPU {} to CPU {}, {how}.",
            counted(track.nr_moves, "time", "times"),
            moment(last.at),
            last.from.0,
            last.to.0
        ));
    }
    sentences
}

fn explain_selection(view: ExplainContext<'_>, selection: &SelectionRecord) -> Vec<String> {
    let ExplainContext { machine, .. } = view;
    let d = &selection.decision;
    let what = if d.kind == WakeKind::Fork { "forked" } else { "woken" };
    let sched = machine.sched();
    let by = if sched.idle_task(d.waker) == selection.current {
        format!("on CPU {}, which was idle", d.waker.0)
    } else {
        format!("on CPU {}, where {} was current", d.waker.0, task_name(machine, selection.current))
    };
    let sync = if d.sync { " (and about to sleep: a synchronous wake-up)" } else { "" };
    let mut sentences = vec![format!(
        "It was {what} at {} {by}{sync}, and placed on CPU {} by rule {}: {}.",
        moment(selection.at),
        d.cpu.0,
        d.rule.name(),
        without_full_stop(d.rule.meaning())
    )];
    let mut text = format!("Its previous CPU was {}; the target of the selection was CPU {}", d.prev.0, d.target.0);
    if d.affine != AffineRule::NotAsked {
        text.push_str(&format!(" ({}: {})", d.affine.name(), without_full_stop(d.affine.meaning())));
    }
    sentences.push(format!("{text}."));
    let limit = d.nr_idle_scan.map(|limit| format!("; the limit was {limit}"));
    if d.nr_scanned > 0 || limit.is_some() {
        let cores = match d.nr_cores_scanned {
            0 => String::new(),
            cores => format!(" of {}", counted(cores, "core", "cores")),
        };
        let scanned = counted(d.nr_scanned, "CPU", "CPUs");
        sentences.push(format!("The scan checked {scanned}{cores}{}.", limit.unwrap_or_default()));
    }
    sentences
}

fn selection_facts(selection: &SelectionRecord) -> Value {
    let d = &selection.decision;
    json!({
        "at_ns": moment(selection.at).0,
        "kind": format!("{:?}", d.kind).to_lowercase(),
        "waker_cpu": d.waker.0,
        "sync": d.sync,
        "prev": d.prev.0,
        "target": d.target.0,
        "cpu": d.cpu.0,
        "rule": d.rule.name(),
        "affine": d.affine.name(),
        "scanned": d.nr_scanned,
        "cores_scanned": d.nr_cores_scanned,
        "scan_limit": d.nr_idle_scan,
    })
}

fn explain_wait(view: ExplainContext<'_>, id: TaskId, wait: &Episode) -> (String, Value) {
    let ExplainContext { machine, history, .. } = view;
    let sched = machine.sched();
    let time = wait.length();
    let (ran, unknown) = history.cpu_time_during(id, wait);
    let cause = match wait.cause {
        WaitCause::Woken => "it was woken".to_owned(),
        WaitCause::Forked => "it was forked".to_owned(),
        WaitCause::LostCpu(cpu) => format!("it was switched out on CPU {} without blocking", cpu.0),
        WaitCause::Throttling => "its throttling ended".to_owned(),
    };
    let cpus: Vec<CpuId> = history.task(id).wait_places.iter().map(|&(_, cpu)| cpu).collect();
    let (since, until) = (moment(wait.since), moment(wait.until));
    let mut text = if wait.is_open {
        format!("It has waited {time} since {cause} at {since}")
    } else if time.0 == 0 {
        format!("When {cause}, at {until}, it did not have to wait")
    } else {
        format!("After {cause} at {since} it waited {time}, until {until}")
    };
    let mut names = Vec::new();
    for &(task, time) in ran.iter().take(MAX_NAMED_TASKS) {
        let is_idle = sched.idle_task(sched.task(task).cpu) == task;
        let name = task_name(machine, task);
        names.push(if is_idle { format!("{name} for {time} (nothing ran)") } else { format!("{name} for {time}") });
    }
    if ran.len() > MAX_NAMED_TASKS {
        names.push(format!("{} more", ran.len() - MAX_NAMED_TASKS));
    }
    if !names.is_empty() {
        let places = if cpus.len() == 1 { format!("CPU {}", cpus[0].0) } else { "its CPUs".to_owned() };
        text.push_str(&format!("; meanwhile {places} ran {}", names.join(", ")));
    }
    if unknown.0 > 0 {
        text.push_str(&format!("; the tasks of the first {unknown} are not recorded"));
    }
    let ran: Vec<Value> = ran
        .iter()
        .map(|&(task, time)| json!({ "name": task_name(machine, task), "pid": sched.task(task).pid, "ns": time.0 }))
        .collect();
    let facts = json!({
        "pid": sched.task(id).pid,
        "since_ns": since.0,
        "until_ns": (!wait.is_open).then_some(until.0),
        "ns": time.0,
        "cpus": cpus.iter().map(|cpu| cpu.0).collect::<Vec<_>>(),
        "ran": ran,
    });
    (format!("{text}."), facts)
}

/// Describes the obstacles of a waiting task, and the idle CPUs that it may use.
fn wait_reasons(view: ExplainContext<'_>, id: TaskId, cpu: CpuId) -> Vec<String> {
    let ExplainContext { machine, history, now } = view;
    let sched = machine.sched();
    let mut sentences = Vec::new();
    let (own, running) = (sched.task(id), sched.curr(cpu));
    if running != sched.idle_task(cpu) {
        let (other, name) = (sched.task(running), task_name(machine, running));
        let so_far = now - history.cpu(cpu).since;
        let mut text = format!("CPU {} has run {name} continuously for {so_far}", cpu.0);
        let (se, curr_se) = (sched.entity(id), sched.entity(running));
        if other.class > own.class {
            text.push_str(", which is of a higher class");
        } else if own.class == SchedClass::Fair && other.class == SchedClass::Fair && se.cfs_rq == curr_se.cfs_rq {
            let ahead = curr_se.vruntime.wrapping_sub(se.vruntime) as i64;
            let word = if ahead > 0 { "ahead of" } else { "behind" };
            text.push_str(&format!(
                ", whose vruntime is {} {word} that of the waiting task as of the last update (weights {} and {})",
                Nanos(ahead.unsigned_abs()),
                curr_se.weight(),
                se.weight()
            ));
        }
        let nr_runnable = history.nr_runnable(machine, cpu);
        sentences.push(format!("{text}; {} on the runqueue.", counted(nr_runnable, "runnable task", "runnable tasks")));
    }
    let idle = idle_cpus(view, id, cpu);
    if own.nr_cpus_allowed == 1 {
        sentences.push(format!("It may run on CPU {} only.", mask(&own.cpus_allowed)));
    } else if idle.is_empty() {
        sentences.push(format!("None of the other CPUs that it may use ({}) is idle.", mask(&own.cpus_allowed)));
    } else {
        sentences.push(format!(
            "{} idle and allowed for it; use --cpu to see why such a CPU did not take the task.",
            cpus_are(&idle)
        ));
    }
    sentences
}

fn idle_cpus(view: ExplainContext<'_>, id: TaskId, cpu: CpuId) -> Vec<CpuId> {
    let sched = view.machine.sched();
    let is_idle = |&other: &CpuId| other != cpu && sched.is_online(other) && sched.is_idle(other);
    sched.task(id).cpus_allowed.iter().filter(is_idle).collect()
}

fn throttling_reason(view: ExplainContext<'_>, id: TaskId, cpu: CpuId) -> String {
    let ExplainContext { machine, history, now } = view;
    let track = history.task(id);
    let limit = track.activity.episode(now).and_then(|wait| match wait.reason {
        WaitReason::Runtime(limit) => Some(limit),
        WaitReason::Cpu | WaitReason::Unknown => None,
    });
    match limit {
        Some(RuntimeLimit::RealTime) => format!(
            "The real-time tasks of CPU {} have used up their runtime, and continue when a later period refills it.",
            cpu.0
        ),
        Some(RuntimeLimit::Deadline) if machine.sched().task(id).dl.has_yielded => {
            "It has yielded the rest of its runtime, and continues with its next replenishment.".to_owned()
        }
        Some(RuntimeLimit::Deadline) if !track.ran_when_throttled => {
            "It was woken after its deadline and before its next period, in which it gets new runtime and continues."
                .to_owned()
        }
        Some(RuntimeLimit::Deadline) => {
            "It has used up its runtime, and continues with its next replenishment.".to_owned()
        }
        Some(RuntimeLimit::Quota(group)) => {
            // Neither a wake-up nor load balancing moves a throttled task.
            let idle = idle_cpus(view, id, cpu);
            let are = if idle.is_empty() { String::new() } else { format!(", although {} idle", cpus_are(&idle)) };
            let own = machine.sched().task(id).group;
            let relation = if group == own {
                "Its group".to_owned()
            } else {
                format!("Its group {} is below group", group_path(machine, own))
            };
            let verb = if group == own { "has" } else { "which has" };
            let comma = if group == own { "" } else { "," };
            format!(
                "{relation} {}{comma} {verb} used up its quota on CPU {}, and is throttled there. No other CPU pulls the task \
                 meanwhile{are}: it continues when a later period refills the quota.",
                group_path(machine, group),
                cpu.0
            )
        }
        None => "It is no longer throttled.".to_owned(),
    }
}

/// Formats a list of CPUs as the subject of a sentence: `CPU 3 is`, `CPUs 0-2 are`.
fn cpus_are(cpus: &[CpuId]) -> String {
    let (noun, verb) = if cpus.len() == 1 { ("CPU", "is") } else { ("CPUs", "are") };
    format!("{noun} {} {verb}", cpu_list(cpus.iter().copied()))
}
