// SPDX-License-Identifier: GPL-2.0-or-later
//! Explains a CPU: why it idles while tasks wait, or which task it runs; and the results of its load-balance
//! passes.

use super::claims::{
    CpuStateClaim, DomainLevelClaim, IdlePassesClaim, KickClaim, NewlyIdleClaim, NoDomainClaim, PassesClaim,
    PreviousTask, Statement, ThrottledTasksClaim, TickClaim, WaitPlace, WaitingTask, WaitingTasksClaim,
};
use super::history::PassRecord;
use super::records::{cpus, domain_name, kick_record, moment, pass_record, task_ref};
use super::task::explain_placement;
use super::{ExplainContext, eevdf};
use fairlab_measure::episodes::WaitReason;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::task::SchedClass;
use fairlab_sched::units::Nanos;

struct Wait {
    task: TaskId,
    cpu: CpuId,
    since: Nanos,
    /// Whether it waits for runtime, and not for a CPU.
    is_throttled: bool,
}

/// Explains the state of a CPU.
pub(super) fn explain(view: ExplainContext<'_>, cpu: CpuId) -> Vec<Statement> {
    let ExplainContext { machine, history, now } = view;
    let sched = machine.sched();
    let track = history.cpu(cpu);
    let waits = waits(view);
    let (throttled, for_cpus): (Vec<&Wait>, Vec<&Wait>) = waits.iter().partition(|wait| wait.is_throttled);
    let (here, elsewhere): (Vec<&Wait>, Vec<&Wait>) = for_cpus.into_iter().partition(|wait| wait.cpu == cpu);
    let is_idle = sched.is_idle_task_running(cpu);
    let state = state_claim(view, cpu);
    let is_offline = state.is_offline;
    let mut statements = vec![state.into()];
    if is_offline {
        return statements;
    }
    if is_idle {
        if !here.is_empty() {
            statements.push(waiting_claim(view, cpu, WaitPlace::IdleRunqueue, &here).into());
        }
        statements.push(waiting_claim(view, cpu, WaitPlace::Elsewhere, &elsewhere).into());
        statements.extend(explain_idleness(view, cpu));
    } else {
        statements.extend(explain_placement(view, track.current));
        if sched.task(track.current).class == SchedClass::Fair {
            statements.extend(eevdf::explain_pick(view, cpu));
        }
        statements.push(waiting_claim(view, cpu, WaitPlace::BusyRunqueue, &here).into());
    }
    if !throttled.is_empty() {
        let tasks = throttled.iter().map(|wait| task_ref(machine, wait.task)).collect();
        statements.push(ThrottledTasksClaim { at_ns: moment(now), tasks }.into());
    }
    if !is_idle {
        statements.extend(eevdf::explain_server(view, cpu));
    }
    statements
}

/// Explains the last load-balance passes of a CPU.
pub(super) fn explain_balance(view: ExplainContext<'_>, cpu: CpuId) -> Vec<Statement> {
    let ExplainContext { machine, history, now } = view;
    let track = history.cpu(cpu);
    let domains = machine.sched().domains();
    let passes = track.passes.iter().map(|pass| pass_record(machine, pass)).collect();
    let mut statements: Vec<Statement> =
        vec![PassesClaim { cpu: cpu.0, at_ns: moment(now), nr_passes: track.nr_passes, passes }.into()];
    if domains.cpus[cpu].base.is_none() {
        statements.push(NoDomainClaim { cpu: cpu.0 }.into());
    }
    if track.kicked.is_some() {
        let last_chosen = track.kicked.map(kick_record);
        statements.push(KickClaim { cpu: cpu.0, is_about_passes: true, last_decision: None, last_chosen }.into());
    }
    statements.extend(domains.chain(cpu).map(|sd| {
        let domain = &domains.domains[sd];
        let claim = DomainLevelClaim {
            cpu: cpu.0,
            level: domain.level,
            domain: domain_name(machine, sd),
            balance_interval_ms: u64::from(domain.balance_interval),
            nr_balance_failed: domain.nr_balance_failed,
        };
        claim.into()
    }));
    statements
}

fn state_claim(view: ExplainContext<'_>, cpu: CpuId) -> CpuStateClaim {
    let ExplainContext { machine, history, now } = view;
    let track = history.cpu(cpu);
    let previous = track.before.map(|(task, state)| PreviousTask {
        task: task_ref(machine, task),
        state: match state {
            PrevState::Blocked => "blocked",
            PrevState::Dead => "ended",
            PrevState::Runnable => "runnable",
        },
    });
    CpuStateClaim {
        cpu: cpu.0,
        at_ns: moment(now),
        is_offline: track.offline_since.is_some(),
        is_idle: machine.sched().is_idle_task_running(cpu),
        current: task_ref(machine, track.current),
        since_ns: moment(track.offline_since.unwrap_or(track.since)),
        previous,
        nr_runnable: history.nr_runnable(machine, cpu),
    }
}

/// Returns all waits of the workload's tasks, the longest first.
fn waits(view: ExplainContext<'_>) -> Vec<Wait> {
    let sched = view.machine.sched();
    let ids = view.machine.tasks().iter().filter_map(|task| task.id);
    let mut waits: Vec<Wait> = ids
        .filter_map(|task| {
            let wait = view.history.task(task).activity.episode(view.now)?;
            let (since, is_throttled) = (wait.since, wait.reason != WaitReason::Cpu);
            Some(Wait { task, cpu: sched.task(task).cpu, since, is_throttled })
        })
        .collect();
    waits.sort_by_key(|wait| wait.since);
    waits
}

fn waiting_claim(view: ExplainContext<'_>, cpu: CpuId, place: WaitPlace, waits: &[&Wait]) -> WaitingTasksClaim {
    let machine = view.machine;
    let waiting_task = |wait: &&Wait| WaitingTask {
        task: task_ref(machine, wait.task),
        cpu: wait.cpu.0,
        since_ns: moment(wait.since),
        allowed: cpus(&machine.sched().task(wait.task).cpus_allowed),
    };
    WaitingTasksClaim { cpu: cpu.0, at_ns: moment(view.now), place, tasks: waits.iter().map(waiting_task).collect() }
}

/// Explains an idle CPU: the newly-idle passes at the start of the idle period, or their absence, later idle passes,
/// the tick, and the last kick decisions that concern the CPU.
fn explain_idleness(view: ExplainContext<'_>, cpu: CpuId) -> Vec<Statement> {
    let ExplainContext { machine, history, .. } = view;
    let (track, sched) = (history.cpu(cpu), machine.sched());
    let Some(base) = sched.domains().cpus[cpu].base else {
        return vec![NoDomainClaim { cpu: cpu.0 }.into()];
    };
    let mut statements = Vec::new();
    let idle_since_ns = moment(track.since);
    let (of_now, earlier): (Vec<&PassRecord>, Vec<&PassRecord>) =
        track.newly_idle.values().partition(|pass| pass.at == track.since);
    if track.before.is_some() {
        let earlier = earlier.into_iter().max_by_key(|pass| pass.at).filter(|_| of_now.is_empty());
        let claim = NewlyIdleClaim {
            cpu: cpu.0,
            idle_since_ns,
            passes: of_now.into_iter().map(|pass| pass_record(machine, pass)).collect(),
            earlier: earlier.map(|pass| pass_record(machine, pass)),
            is_overloaded: sched.domains().root.overload,
            avg_idle_ns: sched.snapshot(cpu).avg_idle.0,
            max_cost_ns: sched.domains().domains[base].max_newidle_lb_cost,
        };
        statements.push(claim.into());
    }
    let mut since: Vec<&PassRecord> = track.idle.values().filter(|pass| pass.at >= track.since).collect();
    since.sort_by_key(|pass| pass.at);
    let passes = since.into_iter().map(|pass| pass_record(machine, pass)).collect();
    statements.push(IdlePassesClaim { cpu: cpu.0, idle_since_ns, passes }.into());
    let is_tickless = sched.snapshot(cpu).is_tickless;
    statements.push(TickClaim { cpu: cpu.0, is_stopped: machine.is_tick_stopped(cpu), is_tickless }.into());
    if is_tickless {
        let last_decision = history.last_kick_decision().map(kick_record);
        let last_chosen = track.kicked.map(kick_record);
        statements.push(KickClaim { cpu: cpu.0, is_about_passes: false, last_decision, last_chosen }.into());
    }
    statements
}
