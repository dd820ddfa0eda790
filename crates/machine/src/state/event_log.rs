// SPDX-License-Identifier: GPL-2.0-or-later
//! Log of all events of a run, unprocessed, as lines of JSON.
//!
//! The log is the input of the audit, which recomputes every reported metric. It therefore shares no code with
//! the observers that compute metrics: it writes what the scheduler and the machine report, and the properties
//! of machine and workload that metrics depend on.
//!
//! The first lines describe the machine and the workload, the last line is the end of the run. Each line has
//! its kind in `e`; events have their time in `t`, in nanoseconds of the machine's clock.

mod samples;

use self::samples::LastSample;
use super::Machine;
use crate::engine::Engine;
use crate::hardware::IdleState;
use crate::interface::observation::{Activity, Interest, KeepingObject, KernelPath, MachineEvent};
use crate::observer::Observer;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::eevdf::{EevdfEvent, PickCandidate};
use fairlab_sched::interface::lag::EntityLag;
use fairlab_sched::probe::{Event, RuntimeLimit, SchedObserver};
use fairlab_sched::units::Nanos;
use fairlab_sched::work::{KernelOp, OpCounts};
use fairlab_workload::workload::{Affinity, Attributes, Change, ResponseStart, Workload};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Observer that writes each event as a line of JSON.
pub struct EventLog<W: Write> {
    out: W,
    /// First error of `out`. No line follows it.
    error: Option<io::Error>,
    /// First entities of the pick whose decision follows, and the number of all of them.
    candidates: Vec<Value>,
    nr_candidates: u32,
    last_sample: LastSample,
    /// Whether the workload defines responses.
    has_responses: bool,
}

/// Largest number of entities of a pick that are written: those with the earliest deadlines.
const MAX_CANDIDATES: usize = 8;

impl<W: Write> EventLog<W> {
    /// Begins the log of a machine that has not started.
    pub fn new(out: W, machine: &Machine<impl Engine>) -> Self {
        let mut log = Self {
            out,
            error: None,
            candidates: Vec::new(),
            nr_candidates: 0,
            last_sample: LastSample::default(),
            has_responses: !machine.workload().responses.is_empty(),
        };
        log.write_machine(machine);
        log.write_domains(machine);
        log.write_workload(machine);
        log
    }

    /// Whether a line could not be written.
    pub fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Writes that a warm-up has ended, so that metrics count from here.
    pub fn write_reset(&mut self, at: Nanos) {
        self.line(&json!({ "e": "reset", "t": at.0 }));
    }

    /// Writes what has changed since the last sample and has no event. `at` may be later than the last event. Engines
    /// are not sampled.
    pub fn write_sample(&mut self, machine: &Machine<impl Engine>, at: Nanos) {
        let Some(machine) = machine.as_built_in() else { return };
        let [tasks, groups, cpus] = self.last_sample.take(machine);
        self.line(&json!({
            "e": "sample",
            "t": at.0,
            "now": machine.now().0,
            "by_energy": machine.sched().sched_energy_enabled(),
            "tasks": tasks,
            "groups": groups,
            "cpus": cpus,
        }));
    }

    /// Ends the log after the run.
    ///
    /// # Errors
    /// If a line could not be written, now or earlier.
    pub fn finish(mut self, machine: &Machine<impl Engine>) -> io::Result<()> {
        for (index, task) in machine.tasks().iter().enumerate() {
            self.line(&json!({ "e": "name", "index": index, "name": task.name, "pid": task.pid }));
        }
        self.line(&json!({ "e": "end", "t": machine.now().0 }));
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    /// Writes rows of tasks whose attributes have changed since the last sample.
    pub fn write_attributes(&mut self, machine: &Machine<impl Engine>) {
        let Some(machine) = machine.as_built_in() else { return };
        let tasks = self.last_sample.take_tasks(machine);
        self.line(&json!({ "e": "attributes", "t": machine.now().0, "tasks": tasks }));
    }

    fn write_machine(&mut self, machine: &Machine<impl Engine>) {
        let hardware = machine.hardware();
        self.line(&json!({
            "e": "machine",
            "t": machine.now().0,
            "cpus": hardware.nr_cpus(),
            "tick": hardware.tick.0,
            "has_costs": !hardware.costs.is_zero_cost(),
            "has_turbo": hardware.turbo.is_some(),
            "has_smt": !hardware.smt_shares.is_empty(),
            "scale_work": hardware.scale_work,
            "built_in": machine.as_built_in().is_some(),
            "has_servers": machine.as_built_in().is_some_and(|machine| machine.sched().rules().has_fair_server),
        }));
        let domains = &hardware.frequency_domains;
        for index in 0..hardware.nr_cpus() {
            let cpu = CpuId::from_index(index);
            let speed = machine.frequency(cpu);
            let idle_since = machine.as_built_in().map(|machine| {
                let sched = machine.sched();
                sched.entity(sched.idle_task(cpu)).exec_start
            });
            let state =
                |state: &IdleState| json!({ "name": state.name, "power_uw": state.power_uw, "polls": state.polls });
            self.line(&json!({
                "e": "cpu",
                "cpu": index,
                "capacity": hardware.topology.capacity[index],
                "llc": hardware.topology.cpus[index].llc,
                "domain": domains.iter().position(|domain| domain.contains(cpu)),
                "part": speed.part(),
                "khz": speed.khz(),
                "idle_since": idle_since,
                "idle_states": hardware.idle_states[index].iter().map(state).collect::<Vec<_>>(),
            }));
        }
        for (index, domain) in domains.iter().enumerate() {
            self.line(&json!({ "e": "domain", "domain": index, "khz": domain.khz(), "power_uw": domain.power_uw() }));
        }
    }

    /// Writes the sched domains of each CPU, the narrowest first.
    fn write_domains(&mut self, machine: &Machine<impl Engine>) {
        let Some(sched) = machine.as_built_in().map(Machine::sched) else { return };
        let domains = sched.domains();
        for cpu in sched.cpu_ids() {
            for domain in domains.chain(cpu).map(|domain| &domains.domains[domain]) {
                let cpus: Vec<u32> = domain.span.iter().map(|cpu| cpu.0).collect();
                self.line(&json!({
                    "e": "sched_domain", "cpu": cpu.0, "level": domain.level, "name": domain.name.to_string(), "cpus": cpus,
                }));
            }
        }
    }

    fn write_workload(&mut self, machine: &Machine<impl Engine>) {
        for (index, group) in machine.workload().groups.iter().enumerate() {
            self.line(&json!({
                "e": "group",
                "group": index,
                "name": group.name,
                "parent": group.parent,
                "shares": group.shares,
                "is_idle": group.idle,
                "quota": group.quota.map(|quota| quota.quota_us * 1000),
                "period": group.quota.map(|quota| quota.period_us * 1000),
            }));
        }
        for (index, cpuset) in machine.workload().cpusets.iter().enumerate() {
            self.line(&json!({ "e": "cpuset_spec", "cpuset": index, "cpus": cpuset.cpus }));
        }
        for (index, spec) in machine.workload().tasks.iter().enumerate() {
            let start = &spec.start;
            self.line(&json!({
                "e": "spec",
                "spec": index,
                "name": spec.name,
                "family": spec.family,
                "policy": start.policy.as_ref().map(|policy| format!("{policy:?}")),
                "nice": start.nice,
                "group": start.group.flatten(),
                "is_kthread": spec.is_kthread,
                "affinity": start.affinity.as_ref().and_then(cpus_of),
                "cpuset": spec.cpuset,
                "slice": start.slice.map(|slice| slice.0),
                "reclaims": start.reclaims,
                "later": later_attributes(machine.workload(), index),
            }));
        }
        for response in &machine.workload().responses {
            let (kind, point, first) = match &response.start {
                ResponseStart::Point(point) => ("point", *point, Vec::new()),
                ResponseStart::Timer { point, from_origin } => ("timer", *point, from_origin.clone()),
            };
            self.line(&json!({
                "e": "response", "name": response.name, "starts_at": kind, "point": point,
                "from_origin": first, "end": response.end,
                "deadline": response.deadline.map(|deadline| deadline.0),
                "untaken": machine.workload().objects.untaken_semaphores,
                "semaphores": machine.workload().objects.semaphores,
            }));
        }
        for (at, change) in &machine.workload().changes {
            let Some(mut line) = cpus_change(change) else { continue };
            line["e"] = "change".into();
            line["at"] = at.0.into();
            self.line(&line);
        }
    }

    fn event_line(&mut self, now: Nanos, mut fields: Value) {
        fields["t"] = now.0.into();
        self.line(&fields);
    }

    fn line(&mut self, line: &Value) {
        if self.error.is_none() {
            self.error = writeln!(self.out, "{line}").err();
        }
    }
}

fn cpus_of(affinity: &Affinity) -> Option<&[u32]> {
    match affinity {
        Affinity::All => None,
        Affinity::Cpus(cpus) => Some(cpus),
    }
}

/// Returns the fields of a change of the CPUs that tasks may use; `None` for other changes.
fn cpus_change(change: &Change) -> Option<Value> {
    match change {
        Change::Task { task, attributes } => {
            let affinity = attributes.affinity.as_ref()?;
            Some(json!({ "what": "affinity", "spec": task, "cpus": cpus_of(affinity) }))
        }
        Change::Attach { task, cpuset } => Some(json!({ "what": "attach", "spec": task, "cpuset": cpuset })),
        Change::CpusetCpus { cpuset, cpus } => Some(json!({ "what": "setcpus", "cpuset": cpuset, "cpus": cpus })),
        _ => None,
    }
}

/// Returns policy and CPUs that tasks of a specification get after their start: their names, and of policies the value.
fn later_attributes(workload: &Workload, spec: usize) -> Vec<Value> {
    let of_set = |set: &Attributes| {
        let policy = set.policy.as_ref().map(|policy| json!({ "policy": format!("{policy:?}") }));
        policy.into_iter().chain(set.affinity.as_ref().map(|_| json!("affinity"))).collect::<Vec<_>>()
    };
    let changed = workload.changes.iter().flat_map(|(_, change)| match change {
        Change::Task { task, attributes } if *task == spec => of_set(attributes),
        Change::Attach { task, .. } if *task == spec => vec![json!("cpuset")],
        _ => Vec::new(),
    });
    workload.tasks[spec].attributes.iter().flat_map(of_set).chain(changed).collect()
}

/// Returns the fields of a scheduler event; `None` for events that no metric depends on.
fn sched_event(event: &Event<'_>) -> Option<Value> {
    let task_of = |task: TaskId| task.index();
    Some(match *event {
        Event::Waking { task, cpu, on } => json!({ "e": "waking", "task": task_of(task), "cpu": cpu.0, "on": on.0 }),
        Event::Priority { task, prio, .. } => json!({ "e": "prio", "task": task_of(task), "prio": prio }),
        Event::Wakeup { task, cpu, is_new, on } => {
            json!({ "e": "wakeup", "task": task_of(task), "cpu": cpu.0, "new": is_new, "on": on.0 })
        }
        Event::Switch { cpu, prev, next, prev_state } => {
            let state = match prev_state {
                PrevState::Runnable => "R",
                PrevState::Blocked => "S",
                PrevState::Dead => "X",
            };
            json!({ "e": "switch", "cpu": cpu.0, "prev": task_of(prev), "next": task_of(next), "state": state })
        }
        Event::Migrate { task, from, to, on } => {
            json!({ "e": "migrate", "task": task_of(task), "from": from.0, "to": to.0, "on": on.0 })
        }
        Event::Throttling { task, limit } => {
            let (class, group) = match limit {
                None => (None, None),
                Some(RuntimeLimit::Quota(group)) => (Some("fair"), Some(group.0)),
                Some(RuntimeLimit::RealTime) => (Some("real-time"), None),
                Some(RuntimeLimit::Deadline) => (Some("deadline"), None),
            };
            json!({
                "e": "throttling", "task": task_of(task), "on": limit.is_some(), "class": class, "group": group
            })
        }
        Event::GroupThrottling { group, cpu, is_throttled, clock } => {
            json!({ "e": "group_throttling", "group": group.0, "cpu": cpu.0, "on": is_throttled, "clock": clock })
        }
        Event::GroupRefill { group, nr_ended, is_throttled, burst } => {
            json!({ "e": "group_refill", "group": group.0, "n": nr_ended, "throttled": is_throttled, "burst": burst })
        }
        Event::Frequency { cpu, capacity, khz } => {
            json!({ "e": "frequency", "cpu": cpu.0, "capacity": capacity, "khz": khz })
        }
        Event::Ipi { cpu, kind, on } => json!({ "e": "ipi", "cpu": cpu.0, "kind": format!("{kind:?}"), "on": on.0 }),
        Event::Overutilized { is_over, cpu } => json!({ "e": "overutilized", "cpu": cpu.0, "on": is_over }),
        Event::DomainStat { cpu, level, counter, idle, amount, .. } => json!({
            "e": "domain_stat", "cpu": cpu.0, "level": level, "counter": counter,
            "idle": idle.map(|idle| format!("{idle:?}")), "n": amount,
        }),
        Event::WakeupDecision(decision) => json!({
            "e": "selection", "task": task_of(decision.task), "kind": format!("{:?}", decision.kind),
            "prev": decision.prev.0, "waker": decision.waker.0, "cpu": decision.cpu.0,
            "rule": format!("{:?}", decision.rule), "scanned": decision.nr_scanned, "limit": decision.nr_idle_scan,
            "sync": decision.sync, "affine": format!("{:?}", decision.affine), "target": decision.target.0,
            "cores": decision.nr_cores_scanned,
        }),
        Event::BalanceDecision(decision) => json!({
            "e": "pass", "on": decision.on.0, "cpu": decision.dst_cpu.0, "level": decision.level,
            "idle": format!("{:?}", decision.idle), "verdict": format!("{:?}", decision.verdict),
            "cpus": decision.nr_cpus, "locks": decision.nr_locks, "scanned": decision.nr_scanned,
            "moved": decision.nr_moved, "redos": decision.redos, "raced": decision.raced,
            "emptied": decision.emptied, "balanced": decision.balanced.map(|why| format!("{why:?}")),
            "local": decision.local_type.map(|group| format!("{group:?}")),
            "busiest": decision.busiest_type.map(|group| format!("{group:?}")),
            "busiest_group": decision.busiest_group.map(|cpu| cpu.0),
            "busiest_queue": decision.busiest_queue.map(|cpu| cpu.0),
            "migration": decision.migration.map(|migration| format!("{migration:?}")),
            "imbalance": decision.imbalance,
        }),
        Event::KickDecision(decision) => json!({
            "e": "kick", "cpu": decision.cpu.0, "reason": format!("{:?}", decision.reason), "flags": decision.flags,
            "target": decision.target.map(|cpu| cpu.0), "kicked": decision.kicked,
        }),
        Event::BlockedUpdate(update) => json!({
            "e": "blocked", "on": update.on.0, "cpu": update.cpu.0, "caller": format!("{:?}", update.caller),
            "cfs_rqs": update.nr_cfs_rqs,
        }),
        Event::Warning { cpu, warning, .. } => json!({ "e": "warning", "cpu": cpu.0, "what": format!("{warning:?}") }),
        Event::Eevdf(event) => return eevdf_event(event),
        Event::Runtime { task, runtime, .. } => json!({ "e": "runtime", "task": task_of(task), "ran": runtime.0 }),
        Event::PeltEntity { .. } | Event::PeltCfsRq { .. } | Event::Lag { .. } => return None,
    })
}

/// Returns the fields of an entity of EEVDF.
fn entity(candidate: &PickCandidate) -> Value {
    let EntityLag { task, is_delayed, weight, vruntime, deadline, slice, depth, .. } = candidate.entity;
    json!({
        "task": task.map(TaskId::index), "group": candidate.group.map(|group| group.0), "depth": depth,
        "eligible": candidate.is_eligible, "running": candidate.is_running, "delayed": is_delayed,
        "vruntime": vruntime, "deadline": deadline, "slice": slice, "weight": weight,
    })
}

/// Returns the fields of a decision of EEVDF. `v` is the virtual time of the cfs_rq. The entities of a pick are in the
/// line of the pick.
fn eevdf_event(event: EevdfEvent<'_>) -> Option<Value> {
    Some(match event {
        EevdfEvent::Candidate(_) => return None,
        EevdfEvent::Pick(decision) => json!({
            "e": "pick", "cpu": decision.queue.cpu.0, "depth": decision.queue.depth, "v": decision.queue.avg_vruntime,
            "group": decision.group.0, "rule": format!("{:?}", decision.rule), "eligible": decision.nr_eligible,
            "picked": entity(&decision.picked),
        }),
        EevdfEvent::Preempt(decision) => json!({
            "e": "preempt", "cpu": decision.cpu.0, "task": decision.task.index(), "curr": decision.curr.index(),
            "rule": format!("{:?}", decision.rule), "v": decision.queue.avg_vruntime,
            "woken": entity(&decision.woken), "running": entity(&decision.running),
        }),
        EevdfEvent::DelayedDequeue(record) => json!({
            "e": "delay", "step": format!("{:?}", record.step), "task": record.entity.task.map(TaskId::index),
            "cpu": record.entity.cpu.0, "vruntime": record.entity.vruntime, "v": record.queue.avg_vruntime,
        }),
        EevdfEvent::LimitedLag(lag) => {
            json!({ "e": "limited_lag", "task": lag.task.index(), "lag": lag.lag, "kept": lag.kept, "weight": lag.weight })
        }
        EevdfEvent::FairServer(record) => json!({
            "e": "server", "cpu": record.cpu.0, "step": format!("{:?}", record.step), "runtime": record.runtime_ns,
            "max_runtime": record.max_runtime_ns, "period": record.period_ns, "waits_until": record.waits_until,
        }),
    })
}

/// Returns the fields of a machine event.
fn machine_event(event: &MachineEvent) -> Value {
    match *event {
        MachineEvent::Forked { task, id, pid, spec, .. } => {
            json!({ "e": "fork", "index": task, "task": id.index(), "pid": pid, "spec": spec })
        }
        MachineEvent::Tick { cpu } => json!({ "e": "tick", "cpu": cpu.0 }),
        MachineEvent::IdleEnter { cpu, state } => json!({ "e": "idle_enter", "cpu": cpu.0, "state": state }),
        MachineEvent::IdleExit { cpu } => json!({ "e": "idle_exit", "cpu": cpu.0 }),
        MachineEvent::Changed { what, task, group, result } => {
            json!({ "e": "changed", "what": what, "index": task, "group": group, "result": result })
        }
        MachineEvent::Moved { task, group } => json!({ "e": "moved", "index": task, "group": group }),
        MachineEvent::Shares { group, shares } => json!({ "e": "shares", "group": group, "shares": shares }),
        MachineEvent::Quota { group, quota, period } => {
            json!({ "e": "quota", "group": group, "quota": quota.map(|quota| quota.0), "period": period.0 })
        }
        MachineEvent::Waking { task, since, by_interrupt } => {
            json!({ "e": "wake_begins", "index": task, "since": since.0, "by_interrupt": by_interrupt })
        }
        MachineEvent::TimeRecorded { task } => json!({ "e": "time_recorded", "index": task }),
        MachineEvent::Hotplug { cpu, online, result } => {
            json!({ "e": "hotplug", "cpu": cpu.0, "online": online, "result": result })
        }
        MachineEvent::Cpuset { cpuset, result } => json!({ "e": "cpuset", "cpuset": cpuset, "result": result }),
        MachineEvent::Mark { task, phase } => json!({ "e": "mark", "index": task, "phase": phase }),
        MachineEvent::LoopBegins { task, place } => {
            json!({ "e": "loop", "index": task, "place": format!("{place:?}") })
        }
        MachineEvent::TimerWoke { task, expired } => json!({ "e": "timer", "index": task, "expired": expired.0 }),
        MachineEvent::Activity(activity) => activity_event(activity),
        MachineEvent::LostTime { cpu, took, is_stolen } => {
            json!({ "e": "lost", "cpu": cpu.0, "took": took.0, "stolen": is_stolen })
        }
        MachineEvent::TurboFrequency { cpu, khz } => json!({ "e": "turbo", "cpu": cpu.0, "khz": khz }),
        MachineEvent::Speed { cpu, part, khz } => json!({ "e": "speed", "cpu": cpu.0, "part": part, "khz": khz }),
        MachineEvent::Fit { task, fit } => json!({ "e": "fit", "index": task, "fit": format!("{fit:?}") }),
        MachineEvent::KernelEnter { cpu } => json!({ "e": "kernel_enter", "cpu": cpu.0 }),
        MachineEvent::KernelExit { cpu } => json!({ "e": "kernel_exit", "cpu": cpu.0 }),
        MachineEvent::Backlog { cpu, arrived, dropped, waiting } => {
            json!({ "e": "backlog", "cpu": cpu.0, "arrived": arrived, "dropped": dropped, "waiting": waiting })
        }
        MachineEvent::KsoftirqdWoken { cpu } => json!({ "e": "ksoftirqd", "cpu": cpu.0 }),
        MachineEvent::Kernel { cpu, path, began, took, waited, ends } => json!({
            "e": "phase", "cpu": cpu.0, "path": path.name(), "began": began.0, "took": took.0, "waited": waited.0,
            "ends": ends,
        }),
    }
}

/// Returns the fields of an activity.
fn activity_event(activity: Activity) -> Value {
    let object_of = |object| match object {
        KeepingObject::Semaphore(semaphore) => json!({ "semaphore": semaphore }),
        KeepingObject::Wakeup(task) => json!({ "wakeup": task }),
    };
    match activity {
        Activity::Worked { task } => json!({ "e": "worked", "index": task }),
        Activity::Point { task, point } => json!({ "e": "point", "index": task, "point": point }),
        Activity::ReachedWait { task } => json!({ "e": "reached_wait", "index": task }),
        Activity::ReachedLock { task } => json!({ "e": "reached_lock", "index": task }),
        Activity::ReachedSleep { task } => json!({ "e": "reached_sleep", "index": task }),
        Activity::ReachedTimer { task, next } => json!({ "e": "reached_timer", "index": task, "next": next.0 }),
        Activity::ReachedOrigin { task, origin } => {
            json!({ "e": "reached_origin", "index": task, "origin": origin.0 })
        }
        Activity::Put { task, object } => json!({ "e": "put", "index": task, "object": object_of(object) }),
        Activity::Take { task, object } => json!({ "e": "take", "index": task, "object": object_of(object) }),
        Activity::Hand { task, to } => json!({ "e": "hand", "index": task, "to": to }),
        Activity::Arrived { task, is_last } => json!({ "e": "arrived", "index": task, "is_last": is_last }),
        Activity::Ended { task } => json!({ "e": "ended", "index": task }),
    }
}

impl<W: Write> SchedObserver for EventLog<W> {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        if let Event::Eevdf(EevdfEvent::Candidate(candidate)) = event {
            self.nr_candidates += 1;
            if self.candidates.len() < MAX_CANDIDATES {
                self.candidates.push(entity(candidate));
            }
            return;
        }
        let Some(mut fields) = sched_event(event) else { return };
        if let Event::Eevdf(EevdfEvent::Pick(_)) = event {
            fields["entities"] = core::mem::take(&mut self.candidates).into();
            fields["nr_entities"] = core::mem::take(&mut self.nr_candidates).into();
        }
        self.event_line(now, fields);
    }
}

impl<W: Write, E> Observer<E> for EventLog<W> {
    fn wants(&self) -> Interest {
        Interest { events: true, details: true, accounting: true, lags: true, activities: self.has_responses }
    }

    fn wants_kernel_paths(&self) -> bool {
        true
    }

    fn wants_ops(&self) -> bool {
        true
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        self.event_line(now, machine_event(event));
    }

    fn work(&mut self, now: Nanos, cpu: CpuId, path: KernelPath, counted: &OpCounts) {
        let counts = KernelOp::ALL.iter().filter(|&&op| counted.get(op) > 0);
        let counts: serde_json::Map<_, _> =
            counts.map(|&op| (op.name().to_owned(), Value::from(counted.get(op)))).collect();
        self.event_line(now, json!({ "e": "ops", "cpu": cpu.0, "path": path.name(), "counts": counts }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Machine, Setup};
    use fairlab_sched::series::KernelSeries;
    use fairlab_workload::scenario;

    /// Returns the lines of the log of a scenario, and the machine after the run.
    fn log(text: &str) -> (Vec<Value>, Machine) {
        let scenario = scenario::parse("test.scn", text, KernelSeries::V6_1).expect("it is a scenario");
        let mut machine = Machine::new(Setup::from_scenario(scenario)).expect("it fits");
        let mut out = Vec::new();
        let mut log = EventLog::new(&mut out, &machine);
        machine.run(&mut log).expect("it runs");
        log.finish(&machine).expect("memory can be written");
        let text = String::from_utf8(out).expect("it is text");
        (text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect(), machine)
    }

    #[test]
    fn the_log_has_every_event_that_the_machine_counts() {
        let text = "cpus 2\nend 50ms\ntask a n=3 run 1ms sleep 2ms\nfreq 20ms 1 512\noffline 30ms 1-1\n";
        let (lines, machine) = log(text);
        let count = |kind: &str| lines.iter().filter(|line| line["e"] == kind).count() as u64;
        let counters = machine.counters();
        assert_eq!(count("switch"), counters.switches);
        assert_eq!(count("wakeup"), counters.wakeups);
        assert_eq!(count("migrate"), counters.migrations);
        assert_eq!(count("tick"), counters.per_cpu.iter().map(|cpu| cpu.ticks).sum::<u64>());
        assert_eq!((count("cpu"), count("spec"), count("fork")), (2, 3, 3));
        assert_eq!((count("speed"), count("hotplug")), (1, 1));
        assert_eq!(lines.first().map(|line| line["e"].clone()), Some("machine".into()));
        assert_eq!(lines.last().map(|line| line["t"].clone()), Some(machine.now().0.into()));
    }
}
