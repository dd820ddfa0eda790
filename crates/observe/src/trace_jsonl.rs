// SPDX-License-Identifier: GPL-2.0-or-later
//! The trace of a run as lines of JSON, in the oracle's form: one object per event, and snapshots of the whole state.

use fairlab_machine::engine::Machine;
use fairlab_machine::observer::{MachineEvent, Observer, Wants};
use fairlab_sched::boot::FIRST_STOPPER_PID;
use fairlab_sched::ctx::{IpiKind, PrevState};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::sched::Sched;
use fairlab_sched::task::OnRq;
use fairlab_sched::topology::CpuIdleType;
use fairlab_sched::units::Nanos;
use fairlab_sched::words::pelt::SchedAvg;
use std::io::{self, Write};

/// Pid of the first task of a workload.
const FIRST_PID: i64 = 1000;

/// Writes trace lines.
pub struct TraceJsonl<W: Write> {
    out: W,
    level: u8,
    pelt: bool,
    /// Pids of the scheduler's tasks; idle tasks have 0, stoppers their own.
    pids: Vec<i64>,
    error: Option<io::Error>,
}

/// The averages of an entity as a JSON array.
struct Avg<'a>(&'a SchedAvg);

impl std::fmt::Display for Avg<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let a = self.0;
        write!(
            f,
            "[{},{},{},{},{},{},{},{}]",
            a.last_update_time,
            a.load_sum,
            a.runnable_sum,
            a.util_sum,
            a.period_contrib,
            a.load_avg,
            a.runnable_avg,
            a.util_avg
        )
    }
}

impl<W: Write> TraceJsonl<W> {
    /// A trace of a machine with this many CPUs. Levels: 0 snapshots only, 1 switches, wake-ups and migrations, 2 interrupts
    /// too, 3 steps of load balancing too.
    pub fn new(out: W, nr_cpus: usize, level: u8, pelt: bool) -> Self {
        let idle = std::iter::repeat_n(0, nr_cpus);
        let stoppers = (0..nr_cpus).map(|cpu| i64::from(FIRST_STOPPER_PID) + cpu as i64);
        let init = std::iter::once(1);
        Self { out, level, pelt, pids: idle.chain(stoppers).chain(init).collect(), error: None }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// If anything could not be written, now or before.
    pub fn finish(mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    /// Whether something could not be written, so that the rest is lost.
    pub fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// The lines at the end of a run: schedstat counters and run times.
    pub fn write_totals(&mut self, machine: &Machine) {
        for cpu in machine.sched().cpu_ids() {
            let result = write_schedstat(&mut self.out, machine.sched(), cpu);
            self.note(result);
        }
        for task in machine.tasks() {
            // A name may have quotes and control characters in it; as a value of JSON it is written with escapes.
            let (pid, name, runtime) = (task.pid, serde_json::Value::from(task.name.as_str()), task.runtime_ns);
            let line = format_args!("{{\"e\":\"task\",\"pid\":{pid},\"name\":{name},\"runtime\":{runtime}}}\n");
            let result = self.out.write_fmt(line);
            self.note(result);
        }
    }

    fn pid(&self, task: TaskId) -> i64 {
        self.pids[task.index()]
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }

    fn write_event(&mut self, t: u64, event: &Event<'_>) -> io::Result<()> {
        match *event {
            Event::Wakeup { task, cpu, is_new, on } if self.level > 0 => {
                let (pid, cpu, new, on) = (self.pid(task), cpu.0, u8::from(is_new), on.0);
                writeln!(
                    self.out,
                    "{{\"t\":{t},\"e\":\"wakeup\",\"pid\":{pid},\"cpu\":{cpu},\"new\":{new},\"on\":{on}}}"
                )
            }
            Event::Switch { cpu, prev, next, prev_state } if self.level > 0 => {
                let state = match prev_state {
                    PrevState::Runnable => 0,
                    PrevState::Blocked => 1,
                    PrevState::Dead => 128,
                };
                let (cpu, prev, next) = (cpu.0, self.pid(prev), self.pid(next));
                writeln!(
                    self.out,
                    "{{\"t\":{t},\"e\":\"switch\",\"cpu\":{cpu},\"prev\":{prev},\"next\":{next},\"st\":{state}}}"
                )
            }
            Event::Migrate { task, from, to, on } if self.level > 0 => {
                let (pid, from, to, on) = (self.pid(task), from.0, to.0, on.0);
                writeln!(
                    self.out,
                    "{{\"t\":{t},\"e\":\"migrate\",\"pid\":{pid},\"from\":{from},\"to\":{to},\"on\":{on}}}"
                )
            }
            Event::Frequency { cpu, capacity } if self.level > 0 => {
                writeln!(self.out, "{{\"t\":{t},\"e\":\"freq\",\"cpu\":{},\"cap\":{capacity}}}", cpu.0)
            }
            Event::Ipi { cpu, kind, on } if self.level > 1 => {
                let kind = match kind {
                    IpiKind::Reschedule => 0,
                    IpiKind::CallFunction => 1,
                };
                writeln!(self.out, "{{\"t\":{t},\"e\":\"ipi\",\"cpu\":{},\"kind\":{kind},\"on\":{}}}", cpu.0, on.0)
            }
            Event::DomainStat { on, cpu, level, counter, idle, amount } if self.level > 2 => {
                let idle = idle.map_or("-", idle_name);
                let (on, cpu) = (on.0, cpu.0);
                writeln!(
                    self.out,
                    "{{\"t\":{t},\"e\":\"lb\",\"on\":{on},\"cpu\":{cpu},\"lvl\":{level},\"c\":\"{counter}\",\"idle\":\"{idle}\",\"n\":{amount}}}"
                )
            }
            Event::PeltEntity { task, cpu, weight, avg } if self.pelt => {
                let pid = task.map_or(-1, |task| self.pid(task));
                let (cpu, avg) = (cpu.0, Avg(avg));
                writeln!(
                    self.out,
                    "{{\"t\":{t},\"e\":\"pse\",\"pid\":{pid},\"cpu\":{cpu},\"w\":{weight},\"avg\":{avg}}}"
                )
            }
            Event::PeltCfsRq { cpu, is_root, avg } if self.pelt => {
                let (cpu, root, avg) = (cpu.0, u8::from(is_root), Avg(avg));
                writeln!(self.out, "{{\"t\":{t},\"e\":\"pcfs\",\"cpu\":{cpu},\"root\":{root},\"avg\":{avg}}}")
            }
            _ => Ok(()),
        }
    }

    fn write_snapshot(&mut self, machine: &Machine) -> io::Result<()> {
        let t = machine.now().0;
        let sched = machine.sched();
        // Jiffies count from the kernel's first one; so do ours.
        let nohz = sched.nohz();
        writeln!(
            self.out,
            "{{\"t\":{t},\"e\":\"nohz\",\"nr\":{},\"has_blocked\":{},\"needs_update\":{},\"next_balance\":{},\"next_blocked\":{}}}",
            nohz.nr_cpus,
            u8::from(nohz.has_blocked),
            u8::from(nohz.needs_update),
            nohz.next_balance as i64,
            nohz.next_blocked as i64
        )?;
        let domains = sched.domains();
        for cpu in sched.cpu_ids() {
            let of_cpu = &domains.cpus[cpu.index()];
            let (Some(_), Some(shared)) = (of_cpu.sd_llc, of_cpu.sd_llc_shared) else { continue };
            if of_cpu.sd_llc_id != cpu {
                continue;
            }
            let shared = &domains.shared[shared];
            writeln!(
                self.out,
                "{{\"t\":{t},\"e\":\"llc\",\"cpu\":{},\"size\":{},\"nr_idle_scan\":{},\"has_idle_cores\":{},\"nr_busy\":{}}}",
                cpu.0,
                of_cpu.sd_llc_size,
                shared.nr_idle_scan,
                u8::from(shared.has_idle_cores),
                shared.nr_busy_cpus
            )?;
        }
        for cpu in sched.cpu_ids() {
            write_rq(&mut self.out, t, sched, cpu)?;
        }
        for task in machine.tasks() {
            let Some(id) = task.id.filter(|_| !task.dead) else { continue };
            write_entity(&mut self.out, t, sched, id, task.pid)?;
        }
        Ok(())
    }
}

fn idle_name(idle: CpuIdleType) -> &'static str {
    match idle {
        CpuIdleType::Idle => "idle",
        CpuIdleType::NotIdle => "busy",
        CpuIdleType::NewlyIdle => "newidle",
    }
}

fn write_rq(out: &mut impl Write, t: u64, sched: &Sched, cpu: CpuId) -> io::Result<()> {
    let rq = sched.figures(cpu);
    writeln!(
        out,
        "{{\"t\":{t},\"e\":\"rq\",\"cpu\":{},\"nr\":{},\"hnr\":{},\"util\":{},\"runnable\":{},\"load\":{},\"cap\":{},\"misfit\":{},\"clock\":{},\"cpelt\":{},\"lost\":{},\"minv\":{},\"nextb\":{},\"avgidle\":{}}}",
        cpu.0,
        rq.nr_running,
        rq.h_nr_running,
        rq.cfs_avg.util_avg,
        rq.cfs_avg.runnable_avg,
        rq.cfs_avg.load_avg,
        rq.cpu_capacity,
        rq.misfit_task_load,
        rq.clock,
        rq.clock_pelt,
        rq.lost_idle_time,
        rq.min_vruntime,
        rq.next_balance,
        rq.avg_idle.0
    )
}

fn write_entity(out: &mut impl Write, t: u64, sched: &Sched, id: TaskId, pid: i32) -> io::Result<()> {
    let (task, se) = (sched.task(id), sched.entity(id));
    let on_rq = match task.on_rq {
        OnRq::No => 0,
        OnRq::Queued => 1,
        OnRq::Migrating => 2,
    };
    let util_est = u64::from(se.avg.util_est.ewma) << 32 | u64::from(se.avg.util_est.enqueued);
    writeln!(
        out,
        "{{\"t\":{t},\"e\":\"se\",\"pid\":{pid},\"cpu\":{},\"on_rq\":{on_rq},\"avg\":{},\"vr\":{},\"exec\":{},\"ue\":{util_est}}}",
        task.cpu.0,
        Avg(&se.avg),
        se.vruntime,
        se.sum_exec_runtime
    )
}

fn write_schedstat(out: &mut impl Write, sched: &Sched, cpu: CpuId) -> io::Result<()> {
    let stats = sched.figures(cpu).stats;
    write!(
        out,
        "{{\"e\":\"schedstat\",\"cpu\":{},\"yld\":{},\"sched\":{},\"goidle\":{},\"ttwu\":{},\"ttwu_local\":{},\"rq_cpu_time\":{},\"run_delay\":{},\"pcount\":{},\"dom\":[",
        cpu.0,
        stats.yld_count,
        stats.sched_count,
        stats.sched_goidle,
        stats.ttwu_count,
        stats.ttwu_local,
        stats.rq_cpu_time,
        stats.run_delay,
        stats.pcount
    )?;
    let domains = sched.domains();
    for (index, sd) in domains.chain(cpu).enumerate() {
        let sd = &domains.domains[sd];
        let comma = if index > 0 { "," } else { "" };
        write!(out, "{comma}{{\"lvl\":{},\"lb\":[", sd.level)?;
        for (index, idle) in CpuIdleType::ALL.into_iter().enumerate() {
            let lb = &sd.stats.lb[idle];
            let comma = if index > 0 { "," } else { "" };
            write!(
                out,
                "{comma}[{},{},{},{},{},{},{}]",
                lb.count, lb.balanced, lb.failed, lb.gained, lb.hot_gained, lb.nobusyq, lb.nobusyg
            )?;
        }
        let s = &sd.stats;
        write!(
            out,
            "],\"alb\":[{},{},{}],\"sbe\":{},\"sbf\":{},\"ttwu_wake_remote\":{},\"ttwu_move_affine\":{},\"ttwu_move_balance\":{},\"max_newidle_cost\":{},\"interval\":{},\"imb_numa_nr\":{}}}",
            s.alb_count,
            s.alb_failed,
            s.alb_pushed,
            s.sbe_count,
            s.sbf_count,
            s.ttwu_wake_remote,
            s.ttwu_move_affine,
            s.ttwu_move_balance,
            sd.max_newidle_lb_cost,
            sd.balance_interval,
            sd.imb_numa_nr
        )?;
    }
    out.write_all(b"]}\n")
}

impl<W: Write> Probe for TraceJsonl<W> {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        let result = self.write_event(now.0, event);
        self.note(result);
    }

    fn wants_pelt(&self) -> bool {
        self.pelt
    }
}

impl<W: Write> Observer for TraceJsonl<W> {
    fn wants(&self) -> Wants {
        Wants { events: self.level > 0, details: self.level > 1, pelt: self.pelt }
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        if let MachineEvent::Forked { id, pid, .. } = *event {
            self.pids.resize(id.index() + 1, 0);
            self.pids[id.index()] = i64::from(pid);
        }
        if self.level == 0 {
            return;
        }
        let t = now.0;
        if let MachineEvent::Hotplug { cpu, online, result } = *event {
            let (cpu, online) = (cpu.0, u32::from(online));
            let line = format!("{{\"t\":{t},\"e\":\"hotplug\",\"cpu\":{cpu},\"online\":{online},\"rc\":{result}}}");
            let written = writeln!(self.out, "{line}");
            return self.note(written);
        }
        if let MachineEvent::Cpuset { cpuset, result } = *event {
            let line = format!("{{\"t\":{t},\"e\":\"cpuset\",\"cpuset\":{cpuset},\"rc\":{result}}}");
            let written = writeln!(self.out, "{line}");
            return self.note(written);
        }
        let MachineEvent::Changed { what, task, group, result } = *event else { return };
        let pid = task.map_or(-1, |task| FIRST_PID + task as i64);
        let written = if what == "affinity" {
            writeln!(self.out, "{{\"t\":{t},\"e\":\"affinity\",\"pid\":{pid},\"rc\":{result}}}")
        } else {
            let group = group.map_or(-1, |group| group as i64);
            writeln!(
                self.out,
                "{{\"t\":{t},\"e\":\"change\",\"what\":\"{what}\",\"pid\":{pid},\"group\":{group},\"rc\":{result}}}"
            )
        };
        self.note(written);
    }

    fn snapshot(&mut self, machine: &Machine) {
        let result = self.write_snapshot(machine);
        self.note(result);
    }
}
