// SPDX-License-Identifier: GPL-2.0-or-later
//! Converts decisions of the scheduler to records of claims: names instead of numbers, times from the start of the run.

use super::ExplainContext;
use super::claims::{DomainName, EntityRecord, KickRecord, PassRecordClaim, Reason, TaskRef};
use super::history::PassRecord;
use fairlab_machine::sim::{Machine, START};
use fairlab_measure::cgroups::group_path;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::balance::{NOHZ_BALANCE_KICK, NOHZ_STATS_KICK};
use fairlab_sched::interface::eevdf::PickCandidate;
use fairlab_sched::probe::KickDecision;
use fairlab_sched::topology::{CpuIdleType, DomainId};
use fairlab_sched::units::Nanos;

/// Converts a time on the machine's clock to ns from the start of the run.
pub(super) fn moment(at: Nanos) -> u64 {
    at.saturating_since(START).0
}

/// Returns a reason from a rule's name and meaning.
macro_rules! reason {
    ($rule:expr) => {{
        let rule = $rule;
        Reason { name: rule.name(), meaning: rule.meaning() }
    }};
}

pub(super) use reason;

/// Names a task by name and pid, or a CPU's own task by its kind.
pub(super) fn task_ref(machine: &Machine, task: TaskId) -> TaskRef {
    let sched = machine.sched();
    let own = sched.task(task);
    let rq = sched.snapshot(own.cpu);
    if rq.idle == task {
        return TaskRef::Idle { idle_task_of_cpu: own.cpu.0 };
    }
    if rq.stop == task {
        return TaskRef::Stopper { stopper_of_cpu: own.cpu.0 };
    }
    match machine.tasks().iter().find(|host| host.id == Some(task)) {
        Some(host) => TaskRef::Workload { name: host.name.clone(), pid: host.pid },
        None => TaskRef::Other { pid: own.pid },
    }
}

pub(super) fn cpus(mask: &CpuMask) -> Vec<u32> {
    mask.iter().map(|cpu| cpu.0).collect()
}

pub(super) fn domain_name(machine: &Machine, domain: DomainId) -> DomainName {
    let domain = &machine.sched().domains().domains[domain];
    DomainName { name: domain.name.to_string(), cpus: cpus(&domain.span) }
}

pub(super) fn pass_record(machine: &Machine, pass: &PassRecord) -> PassRecordClaim {
    let d = &pass.decision;
    let domains = machine.sched().domains();
    let domain = domains.chain(d.dst_cpu).find(|&sd| domains.domains[sd].level == d.level);
    PassRecordClaim {
        at_ns: moment(pass.at),
        on: d.on.0,
        cpu: d.dst_cpu.0,
        level: d.level,
        domain: domain.map(|domain| domain_name(machine, domain)),
        idle: match d.idle {
            CpuIdleType::Idle => "idle",
            CpuIdleType::NotIdle => "busy",
            CpuIdleType::NewlyIdle => "newly-idle",
        },
        verdict: reason!(d.verdict),
        balanced: d.balanced.map(|why| reason!(why)),
        local: d.local_type.map(|group| group.name()),
        busiest: d.busiest_type.map(|group| group.name()),
        busiest_group: d.busiest_group.map(|cpu| cpu.0),
        busiest_queue: d.busiest_queue.map(|cpu| cpu.0),
        migration: d.migration.map(|migration| migration.name()),
        imbalance: d.imbalance,
        scanned: d.nr_scanned,
        moved: d.nr_moved,
        redos: d.redos,
        raced: d.raced,
        emptied: d.emptied,
    }
}

pub(super) fn kick_record((at, d): (Nanos, KickDecision)) -> KickRecord {
    let purpose = match d.flags {
        0 => None,
        flags if flags & NOHZ_BALANCE_KICK != 0 => Some("balance"),
        flags if flags & NOHZ_STATS_KICK != 0 => Some("blocked-load"),
        _ => Some("next-balance"),
    };
    KickRecord {
        at_ns: moment(at),
        cpu: d.cpu.0,
        reason: reason!(d.reason),
        flags: d.flags,
        purpose,
        target: d.target.map(|cpu| cpu.0),
        kicked: d.kicked,
    }
}

/// Binary digits by which full resolution of a weight exceeds that of `sched_prio_to_weight`.
const WEIGHT_SHIFT: u32 = 10;

pub(super) fn entity_record(machine: &Machine, virtual_time: i64, candidate: &PickCandidate) -> EntityRecord {
    let entity = &candidate.entity;
    EntityRecord {
        task: entity.task.map(|task| task_ref(machine, task)),
        group: candidate.group.map(|group| group_path(machine, group)),
        eligible: candidate.is_eligible,
        running: candidate.is_running,
        delayed: entity.is_delayed,
        lag_ns: virtual_time.wrapping_sub(entity.vruntime),
        vruntime: entity.vruntime,
        deadline: entity.deadline,
        deadline_from_now_ns: entity.deadline.wrapping_sub(virtual_time),
        slice_ns: entity.slice,
        weight: entity.weight >> WEIGHT_SHIFT,
    }
}

/// Returns the idle CPUs that a task may use, other than its own.
pub(super) fn idle_cpus(view: ExplainContext<'_>, id: TaskId, cpu: CpuId) -> Vec<u32> {
    let sched = view.machine.sched();
    // A CPU that goes offline is online for the scheduler until its stopper has run.
    let is_usable = |other: CpuId| sched.is_online(other) && view.history.cpu(other).offline_since.is_none();
    let is_idle = |&other: &CpuId| other != cpu && is_usable(other) && sched.is_idle(other);
    sched.task(id).cpus_allowed.iter().filter(is_idle).map(|cpu| cpu.0).collect()
}
