// SPDX-License-Identifier: GPL-2.0-or-later
//! Explains a CPU: why it idles while tasks wait, or which task it runs; and the results of its load-balance
//! passes.

use super::history::{MAX_PASSES, PassRecord};
use super::phrases::{kick_clause, kick_facts, level, mask, moment, pass_clause, pass_facts, task_name};
use super::task::placement;
use super::{ExplainContext, eevdf};
use crate::episodes::WaitReason;
use crate::plural::counted;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::task::SchedClass;
use fairlab_sched::units::Nanos;
use serde_json::{Value, json};

const MAX_NAMED_TASKS: usize = 8;

struct WaitingTask {
    task: TaskId,
    cpu: CpuId,
    since: Nanos,
    /// Whether it waits for runtime, and not for a CPU.
    is_throttled: bool,
}

/// Explains the state of a CPU. Returns sentences and facts.
pub(super) fn explain(view: ExplainContext<'_>, cpu: CpuId) -> (Vec<String>, Value) {
    let ExplainContext { machine, history, now } = view;
    let sched = machine.sched();
    let track = history.cpu(cpu);
    let figures = sched.snapshot(cpu);
    let waiting = waiting(view);
    let (throttled, for_cpus): (Vec<&WaitingTask>, Vec<&WaitingTask>) =
        waiting.iter().partition(|wait| wait.is_throttled);
    let (here, elsewhere): (Vec<&WaitingTask>, Vec<&WaitingTask>) =
        for_cpus.into_iter().partition(|wait| wait.cpu == cpu);
    let is_idle = sched.is_idle_task_running(cpu);
    let mut sentences = Vec::new();
    let mut pick_facts = Value::Null;
    if let Some(since) = track.offline_since {
        sentences.push(format!("At {} CPU {} is offline, since {}.", moment(now), cpu.0, moment(since)));
    } else if is_idle {
        sentences.push(format!(
            "At {} CPU {} is idle, since {}{}.",
            moment(now),
            cpu.0,
            moment(track.since),
            previous_task_clause(view, cpu)
        ));
        sentences.extend(explain_waiting(view, &here, cpu));
        if elsewhere.is_empty() {
            sentences.push("No task waits on another CPU.".to_owned());
        } else {
            sentences.push(format!("Meanwhile {} on other CPUs.", wait_count(elsewhere.len())));
            sentences.extend(explain_waiting(view, &elsewhere, cpu));
        }
        sentences.extend(newly_idle(view, cpu));
        sentences.extend(tickless(view, cpu));
    } else {
        let name = task_name(machine, track.current);
        sentences.push(format!("At {} CPU {} runs {name}, since {}.", moment(now), cpu.0, moment(track.since)));
        sentences.extend(placement(view, track.current));
        if sched.task(track.current).class == SchedClass::Fair {
            let (pick, facts) = eevdf::explain_pick(view, cpu);
            sentences.extend(pick);
            pick_facts = facts;
        }
        match here.len() {
            0 => sentences.push("No task waits on its runqueue.".to_owned()),
            number => {
                sentences.push(format!("{} on its runqueue.", wait_count(number)));
                sentences.extend(explain_waiting(view, &here, cpu));
            }
        }
    }
    if !throttled.is_empty() && track.offline_since.is_none() {
        let tasks = counted(throttled.len(), "task is throttled and waits", "tasks are throttled and wait");
        sentences.push(format!("{tasks} for runtime, which no idle CPU can give."));
    }
    let (server, server_facts) = eevdf::explain_server(view, cpu);
    if track.offline_since.is_none() && !is_idle {
        sentences.extend(server);
    }
    let mut facts = json!({
        "cpu": cpu.0,
        "idle": is_idle && track.offline_since.is_none(),
        "offline": track.offline_since.is_some(),
        "current": task_name(machine, track.current),
        "current_pid": sched.task(track.current).pid,
        "since_ns": moment(track.since).0,
        "nr_running": figures.nr_running,
        "nr_runnable": history.nr_runnable(machine, cpu),
        "tickless": figures.is_tickless,
        "waiting": waiting.iter().map(|wait| waiting_facts(view, wait, cpu)).collect::<Vec<_>>(),
        "newly_idle": track.newly_idle.values().map(pass_facts).collect::<Vec<_>>(),
        "idle_passes": track.idle.values().map(pass_facts).collect::<Vec<_>>(),
        "last_thought": history.last_kick_decision().map(|(at, thought)| kick_facts(at, &thought)),
        "last_kick": track.kicked.map(|(at, thought)| kick_facts(at, &thought)),
    });
    eevdf::add_facts(view, &mut facts, [("pick", pick_facts), ("fair_server", server_facts)]);
    (sentences, facts)
}

/// Explains the last load-balance passes of a CPU. Returns sentences and facts.
pub(super) fn explain_balance(view: ExplainContext<'_>, cpu: CpuId) -> (Vec<String>, Value) {
    let ExplainContext { machine, history, now } = view;
    let track = history.cpu(cpu);
    let mut sentences = Vec::new();
    if track.nr_passes == 0 {
        sentences.push(format!("Up to {} no balance pass was made for CPU {}.", moment(now), cpu.0));
        if machine.sched().domains().cpus[cpu.index()].base.is_none() {
            sentences.push("It has no sched domain, so it never balances.".to_owned());
        }
    } else {
        let kept = track.passes.len();
        let last = if kept < MAX_PASSES { String::new() } else { format!("; the last {kept}") };
        let passes = counted(track.nr_passes, "balance pass was", "balance passes were");
        sentences.push(format!("Up to {} {passes} made for CPU {}{last}, oldest first:", moment(now), cpu.0));
    }
    sentences.extend(track.passes.iter().map(|one| format!("At {}, {}.", moment(one.at), pass_clause(machine, one))));
    if let Some((at, kick)) = track.kicked {
        sentences.push(format!("The last kick that chose it came from {}.", kick_clause(at, &kick)));
    }
    let domains = machine.sched().domains();
    for sd in domains.chain(cpu) {
        let domain = &domains.domains[sd];
        sentences.push(format!(
            "Level {} now: {} between passes, {} in a row.",
            level(machine, cpu, domain.level),
            Nanos::from_millis(u64::from(domain.balance_interval)),
            counted(domain.nr_balance_failed, "failed pass", "failed passes"),
        ));
    }
    let facts = json!({
        "cpu": cpu.0,
        "nr_passes": track.nr_passes,
        "passes": track.passes.iter().map(pass_facts).collect::<Vec<_>>(),
        "last_kick": track.kicked.map(|(at, thought)| kick_facts(at, &thought)),
    });
    (sentences, facts)
}

fn previous_task_clause(view: ExplainContext<'_>, cpu: CpuId) -> String {
    match view.history.cpu(cpu).before {
        None => " (it has not run a task yet)".to_owned(),
        Some((task, state)) => {
            let how = match state {
                PrevState::Blocked => "blocked",
                PrevState::Dead => "ended",
                PrevState::Runnable => "was switched out while runnable",
            };
            format!(", when {} {how}", task_name(view.machine, task))
        }
    }
}

/// Returns all waiting tasks of the workload, the longest wait first.
fn waiting(view: ExplainContext<'_>) -> Vec<WaitingTask> {
    let sched = view.machine.sched();
    let ids = view.machine.tasks().iter().filter_map(|task| task.id);
    let mut waiting: Vec<WaitingTask> = ids
        .filter_map(|task| {
            let wait = view.history.task(task).activity.episode(view.now)?;
            let (since, is_throttled) = (wait.since, wait.reason != WaitReason::Cpu);
            Some(WaitingTask { task, cpu: sched.task(task).cpu, since, is_throttled })
        })
        .collect();
    waiting.sort_by_key(|wait| wait.since);
    waiting
}

fn wait_count(number: usize) -> String {
    counted(number, "task waits", "tasks wait")
}

/// Names waiting tasks, and reports which of them may not run on `cpu`.
fn explain_waiting(view: ExplainContext<'_>, waiting: &[&WaitingTask], cpu: CpuId) -> Vec<String> {
    let sched = view.machine.sched();
    let mut sentences = Vec::new();
    for wait in waiting.iter().take(MAX_NAMED_TASKS) {
        let name = task_name(view.machine, wait.task);
        let mut text =
            format!("{name} waits on CPU {} since {} ({})", wait.cpu.0, moment(wait.since), view.now - wait.since);
        let allowed = &sched.task(wait.task).cpus_allowed;
        if !allowed.contains(cpu) {
            text.push_str(&format!(" and may not run on CPU {} (allowed: {})", cpu.0, mask(allowed)));
        }
        sentences.push(format!("Task {text}."));
    }
    if waiting.len() > MAX_NAMED_TASKS {
        let rest = &waiting[MAX_NAMED_TASKS..];
        let barred = rest.iter().filter(|wait| !sched.task(wait.task).cpus_allowed.contains(cpu)).count();
        sentences.push(format!("And {} more, of which {barred} may not run on CPU {}.", rest.len(), cpu.0));
    }
    sentences
}

fn waiting_facts(view: ExplainContext<'_>, wait: &WaitingTask, cpu: CpuId) -> Value {
    let task = view.machine.sched().task(wait.task);
    json!({
        "task": task_name(view.machine, wait.task),
        "pid": task.pid,
        "cpu": wait.cpu.0,
        "since_ns": moment(wait.since).0,
        "may_use_cpu": task.cpus_allowed.contains(cpu),
        "throttled": wait.is_throttled,
    })
}

/// Describes the newly-idle passes at the start of the idle period, or their absence, and later idle passes.
fn newly_idle(view: ExplainContext<'_>, cpu: CpuId) -> Vec<String> {
    let ExplainContext { machine, history, .. } = view;
    let track = history.cpu(cpu);
    let sched = machine.sched();
    let mut sentences = Vec::new();
    let Some(base) = sched.domains().cpus[cpu.index()].base else {
        return vec!["It has no sched domain, so it never balances.".to_owned()];
    };
    let (now_idle, earlier): (Vec<&PassRecord>, Vec<&PassRecord>) =
        track.newly_idle.values().partition(|one| one.at == track.since);
    if now_idle.is_empty() && track.before.is_some() {
        let domain = &sched.domains().domains[base];
        sentences.push(format!(
            "No newly-idle pass was made when it went idle; the reason is not recorded. Possible reasons: no CPU of the root \
             domain was overloaded (now {}), or the CPU's average idle time was below the cost of a pass at the first level \
             (now {} and {}).",
            if sched.domains().root.overload { "at least one is" } else { "none is" },
            sched.snapshot(cpu).avg_idle,
            Nanos(domain.max_newidle_lb_cost)
        ));
        if let Some(last) = earlier.iter().max_by_key(|one| one.at) {
            sentences.push(format!(
                "Its last newly-idle pass was at {}: {}.",
                moment(last.at),
                pass_clause(machine, last)
            ));
        }
    }
    sentences.extend(now_idle.iter().map(|one| format!("When it went idle: {}.", pass_clause(machine, one))));
    let mut since: Vec<&PassRecord> = track.idle.values().filter(|one| one.at >= track.since).collect();
    since.sort_by_key(|one| one.at);
    if since.is_empty() {
        sentences.push("Since then no idle pass was made for it.".to_owned());
    }
    sentences.extend(
        since.iter().map(|one| format!("Since then, last at {}: {}.", moment(one.at), pass_clause(machine, one))),
    );
    sentences
}

/// Reports whether the CPU is tickless, and the last kick decisions that concern it.
fn tickless(view: ExplainContext<'_>, cpu: CpuId) -> Vec<String> {
    let ExplainContext { machine, history, .. } = view;
    let is_tickless = machine.sched().snapshot(cpu).is_tickless;
    let mut sentences = Vec::new();
    if machine.sched().domains().cpus[cpu.index()].base.is_none() {
        return sentences;
    }
    sentences.push(if is_tickless {
        "Its tick is stopped: idle passes are made for it only after a kick, by which the tick of a busy CPU makes an idle CPU balance for all tickless CPUs.".to_owned()
    } else {
        "Its tick is not stopped: it balances at its own ticks.".to_owned()
    });
    if is_tickless {
        if let Some((at, last)) = history.last_kick_decision() {
            sentences.push(format!("The last kick decision of a busy CPU was made by {}.", kick_clause(at, &last)));
        }
        match history.cpu(cpu).kicked {
            Some((at, kick)) => sentences.push(format!("It was last chosen by {}.", kick_clause(at, &kick))),
            None => sentences.push("No kick has chosen it so far.".to_owned()),
        }
    }
    sentences
}
