// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks of a workload on the machine: their work, and the time that it takes.
//!
//! Work is counted exactly, in units of 2^-20 ns at full speed. A CPU of capacity C at a frequency of F /
//! 1024 does C * F units in 1 ns. Only the time of a completion is rounded (up).

use super::phases::KernelWork;
use super::residency::Residency;
use super::sync::ResumeAction;
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
use fairlab_workload::workload::{Affinity, PolicySpec, TaskSpec};

/// Units of work that a CPU of capacity 1024 does in 1 ns at its highest frequency.
pub(crate) const FULL_SPEED: u64 = 1024 * 1024;

/// State of a task on the simulated machine.
pub struct SimTask {
    /// Name, unique among the tasks of a run.
    pub name: String,
    /// Process ID, as traces show it.
    pub pid: i32,
    /// Index of the task or of its template in the workload.
    pub spec: usize,
    /// Number of the task in the scheduler; `None` until it is forked.
    pub id: Option<TaskId>,
    /// CPU time of the task in ns; excludes time that interrupts took.
    pub runtime_ns: i64,
    /// Share of `runtime_ns` that its CPU spent in kernel code; 0 without a cost model.
    pub kernel_ns: i64,
    /// Whether the task has ended.
    pub is_dead: bool,
    /// Time on each kind of CPU and at each operating point.
    pub residency: Residency,
    pub(super) behaviour: Box<dyn Behaviour>,
    pub(super) step: Step,
    /// Remaining work of the step, including kernel work that precedes it.
    pub(super) work_left: u128,
    /// Whether a wake-up came while the task was not waiting.
    pub(super) is_wake_pending: bool,
    /// Version of the event that ends the sleep.
    pub(super) sleep_version: u32,
    pub(super) running: bool,
    pub(super) cpu: CpuId,
    /// Mutex that the task waits for, if the owner inherits its priority.
    pub(super) blocked_on: Option<ObjectId>,
    /// CPU whose timer ends the sleep.
    pub(super) sleep_cpu: CpuId,
    pub(super) accounted_until: Nanos,
    /// Version of the planned completion.
    pub(super) completion_version: u32,
    /// Start of a step that lasts for wall time.
    pub(super) wall_start: Option<Nanos>,
    /// Whether the cost that precedes the step has been charged.
    pub(super) has_charged: bool,
    /// Whether the message being sent is left to the softirq of its CPU.
    pub(super) defers_message: bool,
    /// Whether the block is queued but not yet executed.
    pub(super) will_block: bool,
    /// Whether the task is about to block in I/O wait.
    pub(super) waits_for_io: bool,
    /// Start of the block, while the task is blocked.
    pub(super) blocked_since: Option<Nanos>,
    /// End of the sleep, if the block ends at a time.
    pub(super) sleeps_until: Option<Nanos>,
    /// Whether the task was woken between the decision to block and the block.
    pub(super) is_woken_early: bool,
    /// Work of the next step, while the rest of the previous step is not done.
    pub(super) deferred_work: u128,
    /// Futexes taken from a list and not posted yet, in reverse order.
    pub(super) to_post: Vec<ObjectId>,
    /// CPU whose per-CPU lock the task holds.
    pub(super) locked_cpu: Option<CpuId>,
    /// Rest of a step that has blocked the task; done first when the task resumes.
    pub(super) resume: ResumeAction,
    /// Last expiry of each of the task's own timers.
    pub(super) own_timers: Vec<Option<Nanos>>,
}

impl SimTask {
    /// Returns the work of the present step.
    pub(super) fn step_work(&self) -> u128 {
        match self.step {
            Step::Run(work) => u128::from(work.0) * u128::from(FULL_SPEED),
            _ => 0,
        }
    }
}

/// Returns the name of an instance of a task or template. Instances are counted from 0 in the order of their
/// forks.
pub fn instance_name(name: &str, family: &str, instance: u32) -> String {
    if instance == 0 { name.to_owned() } else { format!("{family}-{instance}") }
}

impl<E: Engine> Machine<E> {
    /// Adds a task of the workload, or an instance of a template. Returns its index.
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
            is_dead: false,
            residency: Residency::with_capacity(self.kinds.nr_points(&self.hardware)),
            behaviour: (task.behaviour)(instance),
            step: Step::Yield,
            work_left: 0,
            is_wake_pending: false,
            sleep_version: 0,
            running: false,
            cpu: CpuId(task.start_cpu),
            blocked_on: None,
            sleep_cpu: CpuId(task.start_cpu),
            accounted_until: START,
            completion_version: 0,
            wall_start: None,
            has_charged: false,
            defers_message: false,
            will_block: false,
            waits_for_io: false,
            blocked_since: None,
            sleeps_until: None,
            is_woken_early: false,
            deferred_work: 0,
            to_post: Vec::new(),
            locked_cpu: None,
            resume: ResumeAction::Nothing,
            own_timers: vec![None; task.own_timers.len()],
        });
        place
    }

    /// Forks a task of the workload on a CPU.
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
            // Deadline tasks cannot be forked, so the policy is set right after the fork.
            policy: if matches!(policy, PolicySpec::Deadline { .. }) {
                task::Policy::Normal
            } else {
                to_policy(policy)
            },
            nice: spec.start.nice.unwrap_or(0),
            group: spec.start.group.flatten().map_or(GroupId::ROOT, |group| self.groups[group]),
            cpus_allowed: self.mask_at_start(spec),
            uclamp,
        };
        let cpuset = spec.cpuset.map_or(CpusetId::TOP, |cpuset| self.cpusets[cpuset]);
        self.next_step(task);
        // The number is predicted, so that observers can name the task at its first scheduler event.
        let id = TaskId::from_index(self.sched.nr_tasks());
        observer.machine_event(self.now, &MachineEvent::Forked { task, id, pid: new.pid, spec: place });
        self.tasks[task].id = Some(id);
        if self.sim_index.len() <= id.index() {
            self.sim_index.resize(id.index() + 1, None);
        }
        self.sim_index[id.index()] = Some(task as u32);
        self.announce_to_policy(task, id);
        self.enter(observer, cpu, KernelPath::Select, |sched, ctx| {
            let forked = sched.handle_fork(ctx, new);
            debug_assert_eq!(forked, id, "tasks are numbered in the order of their creation");
            sched.record_cpuset(id, cpuset);
        });
        if matches!(policy, PolicySpec::Deadline { .. }) {
            self.push_work(cpu, KernelWork::BecomeDeadline { task });
        }
    }

    /// Announces a new task to the custom policy, if there is one.
    pub(super) fn announce_to_policy(&mut self, task: usize, id: TaskId) {
        if let Some(seat) = &mut self.policy_slot {
            seat.on_new_task(id, &self.tasks[task].name);
        }
    }

    /// Gives a task that was forked a moment ago its deadline policy.
    ///
    /// # Errors
    /// If admission control rejects its bandwidth.
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
                sched.set_dl_special(id);
            }
            sched.set_policy(ctx, id, to_policy(policy))
        });
        made.map_err(|why| self.policy_error(task, why))
    }

    pub(super) fn policy_error(&self, task: usize, why: PolicyError) -> RunError {
        RunError::Misuse { task: self.tasks[task].name.clone(), what: format!("does not get its policy: {why}") }
    }

    /// Returns the initial affinity of a task.
    fn mask_at_start(&self, spec: &TaskSpec) -> CpuMask {
        let mask = self.to_mask(spec.start.affinity.as_ref().unwrap_or(&Affinity::All));
        spec.cpuset.map_or_else(|| mask.clone(), |cpuset| self.sched.initial_cpus(self.cpusets[cpuset], &mask))
    }

    pub(super) fn to_mask(&self, affinity: &Affinity) -> CpuMask {
        let nr_cpus = self.hardware.nr_cpus();
        match affinity {
            Affinity::All => CpuMask::full(nr_cpus),
            Affinity::Cpus(cpus) => CpuMask::from_cpus(nr_cpus, cpus.iter().map(|&cpu| CpuId(cpu))),
        }
    }

    /// Advances a task to its next step. The work of a run step counts from now on.
    pub(super) fn next_step(&mut self, task: usize) {
        let host = &mut self.tasks[task];
        host.step = host.behaviour.next();
        host.wall_start = None;
        host.has_charged = false;
        host.work_left = host.step_work();
    }

    /// Returns the workload's task that runs on a CPU.
    #[inline]
    pub(super) fn running_task(&self, cpu: CpuId) -> Option<usize> {
        self.running_sim_index(self.sched.curr(cpu))
    }

    /// Returns the machine's index of a scheduler task, if that task is running.
    #[inline]
    pub(super) fn running_sim_index(&self, id: TaskId) -> Option<usize> {
        let task = self.sim_index.get(id.index()).copied().flatten()? as usize;
        self.tasks[task].running.then_some(task)
    }

    /// Charges a running task for the time since the last call. Several calls at one instant are common.
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
        // Nearly all amounts of work fit into 64 bits.
        host.work_left = match (u64::try_from(host.work_left), time.checked_mul(speed)) {
            (Ok(left), Some(done)) => u128::from(left.saturating_sub(done)),
            _ => host.work_left.saturating_sub(u128::from(time) * u128::from(speed)),
        };
        host.accounted_until = self.now;
    }

    /// Plans the completion of a task's work at the present speed of its CPU.
    ///
    /// A CPU that is busy in the kernel plans later, when the task resumes.
    pub(super) fn plan(&mut self, task: usize) {
        let kernel = &mut self.cpus[self.tasks[task].cpu.index()].kernel;
        if kernel.is_busy() {
            return;
        }
        kernel.needs_plan = false;
        let speed = self.speed_of(self.tasks[task].cpu);
        let host = &mut self.tasks[task];
        if let (Step::Spin(time), Some(start), ResumeAction::Nothing) = (host.step, host.wall_start, host.resume) {
            let left = (start + time).0.saturating_sub(self.now.0);
            host.work_left = u128::from(left) * u128::from(speed);
        }
        host.completion_version = host.completion_version.wrapping_add(1);
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
        let kind = EventKind::Completion(host.cpu, task as u32, host.completion_version);
        if !host.running {
            self.events.push(at, kind);
        } else if let Some(before) = self.events.push_completion(host.cpu, at, kind)
            && before <= self.end
        {
            // The replaced event would have come and been stale, so it counts.
            self.counters.events += 1;
        }
    }

    /// Plans a task's completion if the previous plan was cancelled because its CPU entered the kernel.
    #[inline]
    pub(super) fn replan_after_kernel(&mut self, cpu: CpuId, task: usize) {
        if self.cpus[cpu.index()].kernel.needs_plan {
            self.plan(task);
        }
    }

    /// Adds work before the rest of a running task's step, in picoseconds at full capacity.
    pub(super) fn delay(&mut self, task: usize, ps: u64) {
        if ps > 0 {
            self.account(task);
            self.tasks[task].work_left += work_in(ps, FULL_SPEED);
            self.plan(task);
        }
    }

    /// Charges time that an interrupt, or the hypervisor, has just taken from a CPU. Its task has made no
    /// progress meanwhile.
    pub(super) fn charge_lost_time(&mut self, cpu: CpuId, time: Nanos, is_stolen: bool) {
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

/// Converts a time in picoseconds at a speed to work. 64 bits nearly always suffice.
pub(super) fn work_in(ps: u64, speed: u64) -> u128 {
    match ps.checked_mul(speed) {
        Some(work) => u128::from(work / 1000),
        None => u128::from(ps) * u128::from(speed) / 1000,
    }
}

/// Returns `of / unit`, rounded down.
pub(super) fn whole_units(of: u128, unit: u64) -> u64 {
    match u64::try_from(of) {
        Ok(of) => of / unit,
        Err(_) => (of / u128::from(unit)) as u64,
    }
}

/// Converts the workload's policy to the scheduler's type.
pub(super) fn to_policy(policy: PolicySpec) -> task::Policy {
    match policy {
        PolicySpec::Normal => task::Policy::Normal,
        PolicySpec::Batch => task::Policy::Batch,
        PolicySpec::Idle => task::Policy::Idle,
        PolicySpec::Fifo(priority) => task::Policy::Fifo(priority),
        PolicySpec::RoundRobin(priority) => task::Policy::RoundRobin(priority),
        PolicySpec::Deadline { runtime, deadline, period } => task::Policy::Deadline { runtime, deadline, period },
    }
}
