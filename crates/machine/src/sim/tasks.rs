// SPDX-License-Identifier: GPL-2.0-or-later
//! The tasks of a workload on the machine: their work, and the time that it takes.
//!
//! Work is counted exactly, in units of 2^-20 ns at full speed. A CPU of capacity C at a frequency of F / 1024 does C * F
//! units in a nanosecond. Only the time of a completion is rounded, upward.

use super::phases::KernelWork;
use super::residency::Residency;
use super::sync::Resume;
use super::{Machine, RunError, START};
use crate::engine::Engine;
use crate::event::EventKind;
use crate::observer::{KernelPath, MachineEvent, Observer};
use fairlab_sched::classes::deadline::admission::PolicyError;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::{CpuId, CpusetId, GroupId, TaskId};
use fairlab_sched::state::new_task::NewTask;
use fairlab_sched::task;
use fairlab_sched::units::Nanos;
use fairlab_workload::scenario::FIRST_PID;
use fairlab_workload::step::{Behaviour, ObjectId, Step};
use fairlab_workload::workload::{Affinity, Policy, TaskSpec};

/// Units of work that a CPU of capacity 1024 does in a nanosecond at its highest frequency.
pub(crate) const FULL_SPEED: u64 = 1024 * 1024;

/// A task of the workload, as the machine sees it.
pub struct SimTask {
    /// Its name.
    pub name: String,
    /// Its pid.
    pub pid: i32,
    /// Its place in the workload, or its template's.
    pub spec: usize,
    /// Its name in the scheduler, once it is forked.
    pub id: Option<TaskId>,
    /// CPU time that it was given; time that interrupts took is not in it.
    pub runtime_ns: i64,
    /// The part of it that its CPU was in the kernel, where kernel code has prices.
    pub kernel_ns: i64,
    /// Whether it has ended.
    pub dead: bool,
    /// Where it ran.
    pub residency: Residency,
    pub(super) behaviour: Box<dyn Behaviour>,
    pub(super) step: Step,
    /// Work that is left of the step, and kernel work that it has to wait for.
    pub(super) work_left: u128,
    /// A wake-up that came while it was not waiting.
    pub(super) is_wake_pending: bool,
    /// Version of the end of its sleep.
    pub(super) sleep: u32,
    pub(super) running: bool,
    pub(super) cpu: CpuId,
    /// The mutex for which it waits, if that lets its owner inherit.
    pub(super) blocked_on: Option<ObjectId>,
    /// Where its sleep ends.
    pub(super) sleep_cpu: CpuId,
    pub(super) accounted_until: Nanos,
    /// Version of the planned completion.
    pub(super) completion: u32,
    /// When its step that lasts for wall time began.
    pub(super) wall_start: Option<Nanos>,
    /// Whether it has paid for its step.
    pub(super) has_paid: bool,
    /// The message that it sends is left to its CPU's softirq.
    pub(super) puts_off: bool,
    /// It has begun to block, but is not there yet.
    pub(super) will_block: bool,
    /// It will block for input or output.
    pub(super) waits_for_io: bool,
    /// Since when it has been blocked, if it is.
    pub(super) blocked_since: Option<Nanos>,
    /// It blocks, or will, until then.
    pub(super) sleeps_until: Option<Nanos>,
    /// It was woken in that time.
    pub(super) is_woken_early: bool,
    /// Work of the step at which it has arrived, while the rest of the one before is still to be done.
    pub(super) put_aside: u128,
    /// Futexes that it has taken from a list and not posted yet, the last one first.
    pub(super) to_post: Vec<ObjectId>,
    /// The CPU whose lock it has.
    pub(super) locked_cpu: Option<CpuId>,
    /// What it does first when it goes on: the rest of a step that blocked.
    pub(super) resume: Resume,
    /// Last expiries of its own timers.
    pub(super) own_timers: Vec<Option<Nanos>>,
}

impl SimTask {
    /// The work of the step at which it is.
    pub(super) fn step_work(&self) -> u128 {
        match self.step {
            Step::Run(work) => u128::from(work.0) * u128::from(FULL_SPEED),
            _ => 0,
        }
    }
}

/// The name of an instance of a task or template, counted from 0 in the order of the forks.
pub fn instance_name(name: &str, family: &str, instance: u32) -> String {
    if instance == 0 { name.to_owned() } else { format!("{family}-{instance}") }
}

impl<E: Engine> Machine<E> {
    /// Adds a task of the workload, or an instance of a template.
    pub(super) fn add_task(&mut self, spec: usize, instance: u32) -> usize {
        let place = self.tasks.len();
        let task = &self.workload.tasks[spec];
        let name = instance_name(&task.name, &task.family, instance);
        self.tasks.push(SimTask {
            name,
            pid: FIRST_PID as i32 + place as i32,
            spec,
            id: None,
            runtime_ns: 0,
            kernel_ns: 0,
            dead: false,
            residency: Residency::with_room(self.kinds.nr_points(&self.hardware)),
            behaviour: (task.behaviour)(instance),
            step: Step::Yield,
            work_left: 0,
            is_wake_pending: false,
            sleep: 0,
            running: false,
            cpu: CpuId(task.start_cpu),
            blocked_on: None,
            sleep_cpu: CpuId(task.start_cpu),
            accounted_until: START,
            completion: 0,
            wall_start: None,
            has_paid: false,
            puts_off: false,
            will_block: false,
            waits_for_io: false,
            blocked_since: None,
            sleeps_until: None,
            is_woken_early: false,
            put_aside: 0,
            to_post: Vec::new(),
            locked_cpu: None,
            resume: Resume::Nothing,
            own_timers: vec![None; task.own_timers.len()],
        });
        place
    }

    /// A task of the workload is forked on a CPU.
    pub(super) fn fork(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) {
        let place = self.tasks[task].spec;
        let spec = &self.workload.tasks[place];
        let policy = spec.start.policy.unwrap_or_default();
        let clamp =
            |min: Option<u32>, max: Option<u32>| task::Uclamp { min: min.unwrap_or(0), max: max.unwrap_or(1024) };
        let (min, max) = (spec.start.uclamp_min, spec.start.uclamp_max);
        let uclamp = (min.is_some() || max.is_some()).then(|| clamp(min, max));
        let new = NewTask {
            pid: self.tasks[task].pid,
            // Deadline tasks cannot be forked; they become such at once.
            policy: if matches!(policy, Policy::Deadline { .. }) { task::Policy::Normal } else { to_policy(policy) },
            nice: spec.start.nice.unwrap_or(0),
            group: spec.start.group.flatten().map_or(GroupId::ROOT, |group| self.groups[group]),
            cpus_allowed: self.mask_at_start(spec),
            uclamp,
        };
        let cpuset = spec.cpuset.map_or(CpusetId::TOP, |cpuset| self.cpusets[cpuset]);
        self.next_step(task);
        // Known before, so that observers can name the task when the scheduler speaks of it for the first time.
        let id = TaskId::from_index(self.sched.nr_tasks());
        observer.machine_event(self.now, &MachineEvent::Forked { task, id, pid: new.pid, spec: place });
        self.tasks[task].id = Some(id);
        if self.sim_index.len() <= id.index() {
            self.sim_index.resize(id.index() + 1, None);
        }
        self.sim_index[id.index()] = Some(task as u32);
        self.introduce(task, id);
        self.enter(observer, cpu, KernelPath::Select, |sched, ctx| {
            let forked = sched.handle_fork(ctx, new);
            debug_assert_eq!(forked, id, "tasks are numbered in the order of their creation");
            sched.record_cpuset(id, cpuset);
        });
        if matches!(policy, Policy::Deadline { .. }) {
            self.push_work(cpu, KernelWork::BecomeDeadline { task });
        }
    }

    /// Tells the policy of a new task, if there is one.
    pub(super) fn introduce(&mut self, task: usize, id: TaskId) {
        if let Some(seat) = &mut self.policy {
            seat.meets(id, &self.tasks[task].name);
        }
    }

    /// A task that was forked a moment ago gets its deadline policy.
    ///
    /// # Errors
    /// If there is no bandwidth for it.
    pub(super) fn become_deadline(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
    ) -> Result<(), RunError> {
        let spec = &self.workload.tasks[self.tasks[task].spec];
        let (policy, reclaims) = (spec.start.policy.unwrap_or_default(), spec.start.reclaims);
        let is_kthread = spec.is_kthread;
        let id = self.tasks[task].id.expect("it was forked");
        let made = self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
            sched.set_reclaims(id, reclaims);
            if is_kthread {
                sched.make_special(id);
            }
            sched.set_policy(ctx, id, to_policy(policy))
        });
        made.map_err(|why| self.refused_policy(task, why))
    }

    pub(super) fn refused_policy(&self, task: usize, why: PolicyError) -> RunError {
        RunError::Misuse { task: self.tasks[task].name.clone(), what: format!("does not get its policy: {why}") }
    }

    /// What a task may use at its start.
    fn mask_at_start(&self, spec: &TaskSpec) -> CpuMask {
        let mask = self.to_mask(spec.start.affinity.as_ref().unwrap_or(&Affinity::All));
        spec.cpuset.map_or_else(|| mask.clone(), |cpuset| self.sched.cpus_at_start(self.cpusets[cpuset], &mask))
    }

    pub(super) fn to_mask(&self, affinity: &Affinity) -> CpuMask {
        let nr_cpus = self.hardware.nr_cpus();
        match affinity {
            Affinity::All => CpuMask::full(nr_cpus),
            Affinity::Cpus(cpus) => CpuMask::from_cpus(nr_cpus, cpus.iter().map(|&cpu| CpuId(cpu))),
        }
    }

    /// Goes on to the next step of a task. Work of a run step begins to count.
    pub(super) fn next_step(&mut self, task: usize) {
        let host = &mut self.tasks[task];
        host.step = host.behaviour.next();
        host.wall_start = None;
        host.has_paid = false;
        host.work_left = host.step_work();
    }

    /// The task of the workload that runs on a CPU.
    #[inline]
    pub(super) fn running_task(&self, cpu: CpuId) -> Option<usize> {
        self.running_host(self.sched.curr(cpu))
    }

    /// The place of one of the scheduler's tasks among the machine's, if it runs.
    #[inline]
    pub(super) fn running_host(&self, id: TaskId) -> Option<usize> {
        let task = self.sim_index.get(id.index()).copied().flatten()? as usize;
        self.tasks[task].running.then_some(task)
    }

    /// Charges a running task for the time since the last call. Most tasks do several things at one instant.
    #[inline]
    pub(super) fn account(&mut self, task: usize) {
        if self.tasks[task].accounted_until != self.now {
            self.account_time(task);
        }
    }

    fn account_time(&mut self, task: usize) {
        let host = &self.tasks[task];
        let time = self.now.0 - host.accounted_until.0;
        let cpu = host.cpu;
        let speed = self.speed_of(cpu);
        self.record_residency(task, cpu, Nanos(time));
        let host = &mut self.tasks[task];
        host.runtime_ns += time as i64;
        if self.cpus[cpu.index()].kernel.is_busy() {
            host.kernel_ns += time as i64;
            host.accounted_until = self.now;
            return;
        }
        self.counters.per_cpu[cpu.index()].work += Nanos(time);
        // Nearly all work fits into 64 bits.
        host.work_left = match (u64::try_from(host.work_left), time.checked_mul(speed)) {
            (Ok(left), Some(done)) => u128::from(left.saturating_sub(done)),
            _ => host.work_left.saturating_sub(u128::from(time) * u128::from(speed)),
        };
        host.accounted_until = self.now;
    }

    /// Plans the end of what a task does, from now on at the present speed of its CPU.
    ///
    /// While its CPU is in the kernel that is left until it goes on.
    pub(super) fn plan(&mut self, task: usize) {
        let kernel = &mut self.cpus[self.tasks[task].cpu.index()].kernel;
        if kernel.is_busy() {
            return;
        }
        kernel.needs_plan = false;
        let speed = self.speed_of(self.tasks[task].cpu);
        let host = &mut self.tasks[task];
        if let (Step::Spin(time), Some(start), Resume::Nothing) = (host.step, host.wall_start, host.resume) {
            let left = (start + time).0.saturating_sub(self.now.0);
            host.work_left = u128::from(left) * u128::from(speed);
        }
        host.completion = host.completion.wrapping_add(1);
        let time = match u64::try_from(host.work_left) {
            Ok(work) if speed == FULL_SPEED => work.div_ceil(FULL_SPEED),
            Ok(work) => work.div_ceil(speed),
            Err(_) => match u64::try_from(host.work_left.div_ceil(u128::from(speed))) {
                Ok(time) => time,
                // No run is that long.
                Err(_) => return,
            },
        };
        let at = Nanos(self.now.0.saturating_add(time));
        let kind = EventKind::Completion(host.cpu, task as u32, host.completion);
        if !host.running {
            self.events.push(at, kind);
        } else if let Some(before) = self.events.push_completion(host.cpu, at, kind)
            && before <= self.end
        {
            // It would have come and found that it is out of date.
            self.counters.events += 1;
        }
    }

    /// Plans what a task does if its plan was given up because its CPU was in the kernel.
    #[inline]
    pub(super) fn plan_anew(&mut self, cpu: CpuId, task: usize) {
        if self.cpus[cpu.index()].kernel.needs_plan {
            self.plan(task);
        }
    }

    /// A running task has something more to do before it goes on, in picoseconds at full capacity.
    pub(super) fn delay(&mut self, task: usize, ps: u64) {
        if ps > 0 {
            self.account(task);
            self.tasks[task].work_left += work_in(ps, FULL_SPEED);
            self.plan(task);
        }
    }

    /// An interrupt ends that has taken the last of a CPU's time, or a host gives the CPU back: its task has not got on
    /// meanwhile.
    pub(super) fn lose_time(&mut self, cpu: CpuId, time: Nanos, is_stolen: bool) {
        if is_stolen {
            self.sched.handle_steal_time(cpu, time);
        } else {
            self.sched.handle_irq_time(cpu, time);
        }
        let Some(task) = self.running_task(cpu) else { return };
        self.account(task);
        let speed = self.speed_of(cpu);
        let host = &mut self.tasks[task];
        host.runtime_ns -= time.0 as i64;
        host.work_left += u128::from(time.0) * u128::from(speed);
        self.plan(task);
    }
}

/// The work that is done in so many picoseconds at a speed. Nearly always 64 bits are enough.
pub(super) fn work_in(ps: u64, speed: u64) -> u128 {
    match ps.checked_mul(speed) {
        Some(work) => u128::from(work / 1000),
        None => u128::from(ps) * u128::from(speed) / 1000,
    }
}

/// How often a unit is contained in something.
pub(super) fn whole_units(of: u128, unit: u64) -> u64 {
    match u64::try_from(of) {
        Ok(of) => of / unit,
        Err(_) => (of / u128::from(unit)) as u64,
    }
}

/// The scheduler's form of a policy.
pub(super) fn to_policy(policy: Policy) -> task::Policy {
    match policy {
        Policy::Normal => task::Policy::Normal,
        Policy::Batch => task::Policy::Batch,
        Policy::Idle => task::Policy::Idle,
        Policy::Fifo(priority) => task::Policy::Fifo(priority),
        Policy::RoundRobin(priority) => task::Policy::RoundRobin(priority),
        Policy::Deadline { runtime, deadline, period } => task::Policy::Deadline { runtime, deadline, period },
    }
}
