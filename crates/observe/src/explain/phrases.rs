// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats tasks, times, CPUs, load-balance passes and kicks for explanations, as text and as JSON.

use super::history::PassRecord;
use crate::plural::counted;
use fairlab_machine::description;
use fairlab_machine::sim::{Machine, START};
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::balance::{NOHZ_BALANCE_KICK, NOHZ_STATS_KICK};
use fairlab_sched::probe::{BalanceVerdict, KickDecision, MigrationType};
use fairlab_sched::topology::CpuIdleType;
use fairlab_sched::units::Nanos;
use serde_json::{Value, json};

/// Converts a time on the machine's clock to a time from the start of the run.
pub(super) fn moment(at: Nanos) -> Nanos {
    at.saturating_since(START)
}

/// Names a task by name and pid, or a CPU's own task by its kind.
pub(super) fn task_name(machine: &Machine, task: TaskId) -> String {
    let sched = machine.sched();
    let own = sched.task(task);
    let rq = sched.snapshot(own.cpu);
    if rq.idle == task {
        return format!("the idle task of CPU {}", own.cpu.0);
    }
    if rq.stop == task {
        return format!("the stopper of CPU {}", own.cpu.0);
    }
    match machine.tasks().iter().find(|host| host.id == Some(task)) {
        Some(host) => format!("{} (pid {})", host.name, host.pid),
        None => format!("pid {}", own.pid),
    }
}

/// Formats a CPU list as the kernel does: `0-3,8`.
pub(super) fn cpu_list(cpus: impl IntoIterator<Item = CpuId>) -> String {
    description::format_cpu_list(&cpus.into_iter().map(|cpu| cpu.0).collect::<Vec<_>>())
}

pub(super) fn mask(mask: &CpuMask) -> String {
    cpu_list(mask.iter())
}

pub(super) fn without_full_stop(meaning: &str) -> &str {
    meaning.trim_end_matches('.')
}

const fn kind_of_pass(idle: CpuIdleType) -> &'static str {
    match idle {
        CpuIdleType::Idle => "idle",
        CpuIdleType::NotIdle => "busy",
        CpuIdleType::NewlyIdle => "newly-idle",
    }
}

/// Name of a domain level of a CPU, with the CPUs that it spans.
pub(super) fn level(machine: &Machine, cpu: CpuId, level: u32) -> String {
    let domains = machine.sched().domains();
    let domain = domains.chain(cpu).find(|&sd| domains.domains[sd].level == level);
    match domain {
        Some(sd) => format!("{} (CPUs {})", domains.domains[sd].name, mask(&domains.domains[sd].span)),
        None => format!("number {level}"),
    }
}

/// Describes the result of a pass and its inputs in a clause.
pub(super) fn pass_clause(machine: &Machine, pass: &PassRecord) -> String {
    let d = &pass.decision;
    let mut text = format!("{} pass at level {}", kind_of_pass(d.idle), level(machine, d.dst_cpu, d.level));
    if d.on != d.dst_cpu {
        text.push_str(&format!(", done by CPU {}", d.on.0));
    }
    text.push_str(": ");
    match (d.verdict, d.balanced) {
        (BalanceVerdict::NoBusiestGroup, Some(why)) => {
            text.push_str(&format!("balanced, {}: {}", why.name(), without_full_stop(why.meaning())));
        }
        (verdict, _) => text.push_str(&format!("{}: {}", verdict.name(), without_full_stop(verdict.meaning()))),
    }
    let mut figures = Vec::new();
    if let Some(local) = d.local_type {
        figures.push(format!("local group {}", local.name()));
    }
    if let Some(busiest) = d.busiest_type {
        let of = d.busiest_group.map_or_else(String::new, |cpu| format!(" (the one of CPU {})", cpu.0));
        figures.push(format!("busiest group {}{of}", busiest.name()));
    }
    if let Some(queue) = d.busiest_queue {
        figures.push(format!("busiest runqueue that of CPU {}", queue.0));
    }
    if let Some(migration) = d.migration {
        let what = match migration {
            MigrationType::Load => "load",
            MigrationType::Util => "utilisation",
            MigrationType::Task => "tasks",
            MigrationType::Misfit => "misfit tasks",
        };
        figures.push(format!("imbalance {} in {what}", d.imbalance));
    }
    if d.busiest_queue.is_some() {
        figures.push(format!("{} scanned, {} moved", counted(d.nr_scanned, "task", "tasks"), d.nr_moved));
    }
    if d.redos > 0 {
        let again = counted(d.redos, "time", "times");
        let why = match d.raced {
            0 => "all tasks of the busiest runqueue were pinned",
            raced if raced == d.redos => "the busiest runqueue had lost its tasks before its lock was taken",
            _ => "tasks of the busiest runqueues were pinned or gone",
        };
        figures
            .push(format!("retried {again}, because {why}; the runqueue named here may be that of an earlier attempt"));
    } else if d.emptied > 0 {
        figures.push("the busiest runqueue had lost its tasks before its lock was taken".to_owned());
    }
    if !figures.is_empty() {
        text.push_str(&format!(" [{}]", figures.join("; ")));
    }
    text
}

pub(super) fn pass_facts(pass: &PassRecord) -> Value {
    let d = &pass.decision;
    json!({
        "at_ns": moment(pass.at).0,
        "on": d.on.0,
        "cpu": d.dst_cpu.0,
        "level": d.level,
        "kind": kind_of_pass(d.idle),
        "verdict": d.verdict.name(),
        "balanced": d.balanced.map(|why| why.name()),
        "local": d.local_type.map(|group| group.name()),
        "busiest": d.busiest_type.map(|group| group.name()),
        "busiest_group": d.busiest_group.map(|cpu| cpu.0),
        "busiest_queue": d.busiest_queue.map(|cpu| cpu.0),
        "migration": d.migration.map(|migration| migration.name()),
        "imbalance": d.imbalance,
        "scanned": d.nr_scanned,
        "moved": d.nr_moved,
        "redos": d.redos,
        "raced": d.raced,
        "emptied": d.emptied,
    })
}

/// Describes a kick decision in a clause, beginning with the tick that made it.
pub(super) fn kick_clause(at: Nanos, d: &KickDecision) -> String {
    let mut text = format!(
        "the tick of CPU {} at {} ({}: {})",
        d.cpu.0,
        moment(at),
        d.reason.name(),
        without_full_stop(d.reason.meaning())
    );
    let what = if d.flags & NOHZ_BALANCE_KICK != 0 {
        "to balance for all tickless CPUs"
    } else if d.flags & NOHZ_STATS_KICK != 0 {
        "to update blocked load, without balancing"
    } else {
        "to update the next balance time, without balancing"
    };
    match (d.flags, d.target) {
        (0, _) => text.push_str(", which kicked no CPU"),
        (_, None) => text.push_str(&format!(", which searched for an idle CPU {what}, and found none")),
        (_, Some(target)) if d.kicked => text.push_str(&format!(", which kicked CPU {} {what}", target.0)),
        (_, Some(target)) => {
            text.push_str(&format!(", which chose CPU {} {what}; that CPU had a pending kick", target.0));
        }
    }
    text
}

pub(super) fn kick_facts(at: Nanos, d: &KickDecision) -> Value {
    json!({
        "at_ns": moment(at).0,
        "cpu": d.cpu.0,
        "reason": d.reason.name(),
        "flags": d.flags,
        "target": d.target.map(|cpu| cpu.0),
        "kicked": d.kicked,
    })
}
