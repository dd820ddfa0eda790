// SPDX-License-Identifier: GPL-2.0-or-later
//! Trace of a run as JSON Lines, in the format of the reference: one object per event, and snapshots of the
//! whole state.

mod line;

use crate::buffered::BufferedOut;
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::Machine;
use fairlab_machine::snapshot::{
    DomainSnapshot, LlcSnapshot, NohzSnapshot, RqSnapshot, SchedstatSnapshot, TaskSnapshot,
};
use fairlab_measure::measure::passes::idle_type_name;
use fairlab_sched::boot::FIRST_STOPPER_PID;
use fairlab_sched::ctx::{IpiKind, PrevState};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{EntityLag, Event, LagMoment, QueueLag, SchedObserver};
use fairlab_sched::units::Nanos;
use fairlab_workload::scenario::Scenario;
use line::{EscapedStr, List, line, object};
use std::io::{self, Write};

/// JSON Schema of a line.
pub const SCHEMA: &str = include_str!("trace_jsonl/schema.json");

const FIRST_PID: i64 = 1000;

/// Content of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// Level: 0 has only snapshots; 1 adds switches, wake-ups and migrations; 2 adds interrupts; 3 adds steps of load
    /// balancing.
    pub level: u8,
    /// Whether each update of an average has a line.
    pub pelt: bool,
    /// Whether wake-ups, switches and snapshots have lines with virtual times, on kernels that have lags.
    pub lags: bool,
}

impl TraceOptions {
    /// Returns the content that a scenario asks for; without a `trace` statement its level is `level`.
    pub fn of_scenario(scenario: &Scenario, level: u8) -> Self {
        Self { level: scenario.trace.unwrap_or(level), pelt: scenario.trace_pelt, lags: scenario.trace_lag }
    }
}

/// Writer of trace lines. It buffers them, so that `out` needs no buffer of its own.
pub struct TraceJsonl<W: Write> {
    lines: BufferedOut<W>,
    options: TraceOptions,
    /// PIDs of the scheduler's tasks, by task index; idle tasks have PID 0.
    pids: Vec<i64>,
}

impl<W: Write> TraceJsonl<W> {
    /// Creates a trace of a machine with this many CPUs.
    ///
    pub fn new(out: W, nr_cpus: usize, options: TraceOptions) -> Self {
        let idle = std::iter::repeat_n(0, nr_cpus);
        let stoppers = (0..nr_cpus).map(|cpu| i64::from(FIRST_STOPPER_PID) + cpu as i64);
        let init = std::iter::once(1);
        Self { lines: BufferedOut::new(out), options, pids: idle.chain(stoppers).chain(init).collect() }
    }

    /// Writes the buffered lines.
    ///
    /// # Errors
    /// If a line could not be written, now or earlier.
    pub fn finish(mut self) -> io::Result<()> {
        self.lines.finish()
    }

    /// Whether a write has failed, after which all further lines are discarded.
    pub fn has_failed(&self) -> bool {
        self.lines.has_failed()
    }

    /// Writes the lines for the end of a run: schedstat counters and run times.
    pub fn write_totals(&mut self, machine: &Machine<impl Engine>) {
        for cpu in machine.sched().cpu_ids() {
            put_schedstat(self.lines.next(), cpu, &machine.sched().schedstat_snapshot(cpu));
        }
        for task in machine.tasks() {
            let name = EscapedStr(&task.name);
            line!(self.lines.next(), e: "task", pid: task.pid, name: name, runtime: task.runtime_ns);
        }
    }

    /// Writes the virtual times of the root queues and of the tasks that are alive.
    fn put_lags(&mut self, machine: &Machine<impl Engine>) {
        let (engine, t) = (machine.sched(), machine.now().0);
        for queue in engine.cpu_ids().filter_map(|cpu| engine.queue_lag_snapshot(cpu)) {
            put_queue_lag(self.lines.next(), t, &queue);
        }
        for task in machine.tasks() {
            let Some(id) = task.id.filter(|_| !task.is_dead) else { continue };
            if let Some(lag) = engine.lag_snapshot(id) {
                put_lag(self.lines.next(), t, "state", i64::from(task.pid), &lag);
            }
        }
    }

    fn pid(&self, task: TaskId) -> i64 {
        self.pids[task.index()]
    }

    fn put_event(&mut self, t: u64, event: &Event<'_>) {
        match *event {
            Event::Wakeup { task, cpu, is_new, on } if self.options.level > 0 => {
                let pid = self.pid(task);
                line!(self.lines.next(), t: t, e: "wakeup", pid: pid, cpu: cpu.0, new: is_new, on: on.0);
            }
            Event::Switch { cpu, prev, next, prev_state } if self.options.level > 0 => {
                let (prev, next) = (self.pid(prev), self.pid(next));
                let st = match prev_state {
                    PrevState::Runnable => 0_u32,
                    PrevState::Blocked => 1,
                    PrevState::Dead => 128,
                };
                line!(self.lines.next(), t: t, e: "switch", cpu: cpu.0, prev: prev, next: next, st: st);
            }
            Event::Migrate { task, from, to, on } if self.options.level > 0 => {
                let pid = self.pid(task);
                line!(self.lines.next(), t: t, e: "migrate", pid: pid, from: from.0, to: to.0, on: on.0);
            }
            Event::Frequency { cpu, capacity, .. } if self.options.level > 0 => {
                line!(self.lines.next(), t: t, e: "freq", cpu: cpu.0, cap: capacity);
            }
            Event::Ipi { cpu, kind, on } if self.options.level > 1 => {
                let is_call = kind == IpiKind::CallFunction;
                line!(self.lines.next(), t: t, e: "ipi", cpu: cpu.0, kind: is_call, on: on.0);
            }
            Event::DomainStat { on, cpu, level, counter, idle, amount } if self.options.level > 2 => {
                let idle = idle.map_or("-", idle_type_name);
                line!(
                    self.lines.next(),
                    t: t, e: "lb", on: on.0, cpu: cpu.0, lvl: level, c: counter, idle: idle, n: amount
                );
            }
            Event::Lag { moment, entity, queue } if self.options.lags => {
                let why = match moment {
                    LagMoment::Wakeup => "wakeup",
                    LagMoment::SwitchFrom => "prev",
                    LagMoment::SwitchTo => "next",
                };
                let pid = entity.task.map_or(-1, |task| self.pid(task));
                put_lag(self.lines.next(), t, why, pid, entity);
                put_queue_lag(self.lines.next(), t, queue);
            }
            Event::PeltEntity { task, cpu, weight, avg } if self.options.pelt => {
                let pid = task.map_or(-1, |task| self.pid(task));
                line!(self.lines.next(), t: t, e: "pse", pid: pid, cpu: cpu.0, w: weight, avg: avg);
            }
            Event::PeltCfsRq { cpu, is_root, avg } if self.options.pelt => {
                line!(self.lines.next(), t: t, e: "pcfs", cpu: cpu.0, root: is_root, avg: avg);
            }
            _ => {}
        }
    }
}

fn put_lag(bytes: &mut Vec<u8>, t: u64, why: &'static str, pid: i64, lag: &EntityLag) {
    line!(
        bytes,
        t: t,
        e: "lag",
        why: why,
        cpu: lag.cpu.0,
        pid: pid,
        depth: lag.depth,
        on_rq: lag.on_rq,
        delayed: lag.is_delayed,
        rel: lag.has_relative_deadline,
        custom: lag.has_custom_slice,
        w: lag.weight,
        vr: lag.vruntime,
        dl: lag.deadline,
        vlag: lag.vlag,
        slice: lag.slice,
    );
}

fn put_queue_lag(bytes: &mut Vec<u8>, t: u64, lag: &QueueLag) {
    line!(
        bytes,
        t: t,
        e: "lagq",
        cpu: lag.cpu.0,
        depth: lag.depth,
        nr: lag.nr_queued,
        hq: lag.h_nr_queued,
        hr: lag.h_nr_runnable,
        zero: lag.zero_vruntime,
        sum: lag.sum_w_vruntime,
        load: lag.sum_weight,
        v: lag.avg_vruntime,
    );
}

fn put_nohz(bytes: &mut Vec<u8>, t: u64, nohz: &NohzSnapshot) {
    line!(
        bytes,
        t: t,
        e: "nohz",
        nr: nohz.nr_cpus,
        has_blocked: nohz.has_blocked,
        needs_update: nohz.needs_update,
        next_balance: nohz.next_balance,
        next_blocked: nohz.next_blocked,
    );
}

fn put_llc(bytes: &mut Vec<u8>, t: u64, cpu: CpuId, llc: &LlcSnapshot) {
    line!(
        bytes,
        t: t,
        e: "llc",
        cpu: cpu.0,
        size: llc.size,
        nr_idle_scan: llc.nr_idle_scan,
        has_idle_cores: llc.has_idle_cores,
        nr_busy: llc.nr_busy_cpus,
    );
}

fn put_rq(bytes: &mut Vec<u8>, t: u64, cpu: CpuId, rq: &RqSnapshot) {
    line!(
        bytes,
        t: t,
        e: "rq",
        cpu: cpu.0,
        nr: rq.nr_running,
        hnr: rq.h_nr_running,
        util: rq.util_avg,
        runnable: rq.runnable_avg,
        load: rq.load_avg,
        cap: rq.cpu_capacity,
        misfit: rq.misfit_task_load,
        clock: rq.clock,
        cpelt: rq.clock_pelt,
        lost: rq.lost_idle_time,
        minv: rq.min_vruntime,
        nextb: rq.next_balance,
        avgidle: rq.avg_idle,
    );
}

fn put_task(bytes: &mut Vec<u8>, t: u64, pid: i32, task: &TaskSnapshot) {
    line!(
        bytes,
        t: t,
        e: "se",
        pid: pid,
        cpu: task.cpu,
        on_rq: task.on_rq,
        avg: &task.avg,
        vr: task.vruntime,
        exec: task.sum_exec_runtime,
        ue: task.util_est,
    );
}

fn put_schedstat(bytes: &mut Vec<u8>, cpu: CpuId, stats: &SchedstatSnapshot) {
    let [yld, sched, goidle, ttwu, ttwu_local] = stats.calls;
    let [rq_cpu_time, run_delay, pcount] = stats.times;
    line!(
        bytes,
        e: "schedstat",
        cpu: cpu.0,
        yld: yld,
        sched: sched,
        goidle: goidle,
        ttwu: ttwu,
        ttwu_local: ttwu_local,
        rq_cpu_time: rq_cpu_time,
        run_delay: run_delay,
        pcount: pcount,
        dom: List(stats.domains.iter(), put_domain),
    );
}

fn put_domain(sd: &DomainSnapshot, bytes: &mut Vec<u8>) {
    let [sbe, sbf] = sd.sb;
    let [wake_remote, move_affine, move_balance] = sd.ttwu;
    object!(
        bytes,
        lvl: sd.level,
        lb: sd.lb,
        alb: sd.alb,
        sbe: sbe,
        sbf: sbf,
        ttwu_wake_remote: wake_remote,
        ttwu_move_affine: move_affine,
        ttwu_move_balance: move_balance,
        max_newidle_cost: sd.max_newidle_lb_cost,
        interval: sd.balance_interval,
        imb_numa_nr: sd.imb_numa_nr,
    );
}

impl<W: Write> SchedObserver for TraceJsonl<W> {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.put_event(now.0, event);
    }
}

impl<W: Write, E: Engine> Observer<E> for TraceJsonl<W> {
    fn wants(&self) -> Interest {
        let TraceOptions { level, pelt, lags } = self.options;
        Interest { events: level > 0, details: level > 1, accounting: pelt, lags, activities: false }
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        if let MachineEvent::Forked { id, pid, .. } = *event {
            self.pids.resize(id.index() + 1, 0);
            self.pids[id.index()] = i64::from(pid);
        }
        if self.options.level == 0 {
            return;
        }
        let t = now.0;
        match *event {
            MachineEvent::Hotplug { cpu, online, result } => {
                line!(self.lines.next(), t: t, e: "hotplug", cpu: cpu.0, online: online, rc: result);
            }
            MachineEvent::Cpuset { cpuset, result } => {
                line!(self.lines.next(), t: t, e: "cpuset", cpuset: cpuset, rc: result);
            }
            MachineEvent::Changed { what, task, group, result } => {
                let pid = task.map_or(-1, |task| FIRST_PID + task as i64);
                if what == "affinity" {
                    line!(self.lines.next(), t: t, e: "affinity", pid: pid, rc: result);
                } else {
                    let group = group.map_or(-1, |group| group as i64);
                    line!(self.lines.next(), t: t, e: "change", what: what, pid: pid, group: group, rc: result);
                }
            }
            _ => {}
        }
    }

    fn snapshot(&mut self, machine: &Machine<E>) {
        let engine = machine.sched();
        let t = machine.now().0;
        put_nohz(self.lines.next(), t, &engine.nohz_snapshot());
        for cpu in engine.cpu_ids() {
            if let Some(llc) = engine.llc_snapshot(cpu) {
                put_llc(self.lines.next(), t, cpu, &llc);
            }
        }
        for cpu in engine.cpu_ids() {
            put_rq(self.lines.next(), t, cpu, &engine.rq_snapshot(cpu));
        }
        for task in machine.tasks() {
            let Some(id) = task.id.filter(|_| !task.is_dead) else { continue };
            put_task(self.lines.next(), t, task.pid, &engine.task_snapshot(id));
        }
        if self.options.lags {
            self.put_lags(machine);
        }
    }
}
