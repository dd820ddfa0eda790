// SPDX-License-Identifier: GPL-2.0-or-later
//! Creation of tasks: of the workload, of templates, and of kernel threads.

use crate::base::clock::START;
use crate::engine::Engine;
use crate::interface::error::{RunError, SimResult};
use crate::interface::observation::{Activity, KernelPath, MachineEvent};
use crate::observer::Observer;
use crate::parts::kernel::KernelWork;
use crate::parts::residency::Residency;
use crate::state::Machine;
use fairlab_sched::classes::deadline::admission::PolicyError;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::{CpuId, CpusetId, GroupId, TaskId};
use fairlab_sched::interface::ctx::Ctx;
use fairlab_sched::state::new_task::NewTask;
use fairlab_sched::task;
use fairlab_sched::task::Policy;
use fairlab_workload::workload::{Affinity, TaskSpec};

impl<E: Engine> Machine<E> {
    /// Adds a task of the workload, or an instance of a template. Returns its index.
    pub(crate) fn add_task(&mut self, spec: usize, instance: u32) -> usize {
        let residency = Residency::with_capacity(self.kinds.nr_points(&self.hardware));
        self.tasks.add(spec, &self.workload.tasks[spec], instance, residency)
    }

    /// Forks a task of the workload on a CPU.
    pub(crate) fn fork(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) {
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
            policy: if matches!(policy, Policy::Deadline { .. }) { Policy::Normal } else { policy },
            nice: spec.start.nice.unwrap_or(0),
            group: spec.start.group.flatten().map_or(GroupId::ROOT, |group| self.groups[group]),
            cpus_allowed: self.mask_at_start(spec),
            uclamp,
            slice: spec.start.slice,
        };
        let cpuset = spec.cpuset.map_or(CpusetId::TOP, |cpuset| self.cpusets[cpuset]);
        self.tasks[task].next_step();
        // The number is predicted, so that observers can name the task at its first scheduler event.
        let id = TaskId::from_index(self.sched.nr_tasks());
        observer.machine_event(self.now, &MachineEvent::Forked { task, id, pid: new.pid, spec: place, on: cpu });
        let TaskSpec { awaits_origin, timer_origin, .. } = self.workload.tasks[place];
        if !awaits_origin {
            self.report_activity(observer, Activity::ReachedOrigin { task, origin: START + timer_origin });
        }
        self.tasks.set_id(task, id);
        // The parent has written the task's lines.
        self.tasks[task].cpu = cpu;
        self.announce_to_policy(task, id);
        self.enter(observer, cpu, KernelPath::Select, |sched, ctx| {
            let forked = sched.handle_fork(ctx, new.clone());
            debug_assert_eq!(forked, id, "tasks are numbered in the order of their creation");
            sched.record_cpuset(id, cpuset);
        });
        if matches!(policy, Policy::Deadline { .. }) {
            self.push_work(cpu, KernelWork::BecomeDeadline { task });
        }
    }

    /// Announces a new task to the custom policy, if there is one.
    pub(crate) fn announce_to_policy(&mut self, task: usize, id: TaskId) {
        if let Some(seat) = &mut self.policy_slot {
            seat.on_new_task(id, &self.tasks[task].name);
        }
    }

    /// Gives a task that was forked a moment ago its deadline policy.
    ///
    /// # Errors
    /// If admission control rejects its bandwidth.
    pub(crate) fn become_deadline(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) -> SimResult {
        let spec = &self.workload.tasks[self.tasks[task].spec];
        let (policy, reclaims) = (spec.start.policy.unwrap_or_default(), spec.start.reclaims);
        let is_kthread = spec.is_kthread;
        let id = self.tasks.id(task);
        let made = self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
            sched.set_reclaims(id, reclaims);
            if is_kthread {
                sched.set_dl_special(id);
            }
            sched.set_policy(ctx, id, policy)
        });
        made.map_err(|why| self.policy_error(task, why))
    }

    pub(crate) fn policy_error(&self, task: usize, why: PolicyError) -> Box<RunError> {
        Box::new(RunError::Misuse {
            task: self.tasks[task].name.clone(),
            what: format!("does not get its policy: {why}"),
        })
    }

    /// Returns the initial affinity of a task.
    fn mask_at_start(&self, spec: &TaskSpec) -> CpuMask {
        let mask = self.to_mask(spec.start.affinity.as_ref().unwrap_or(&Affinity::All));
        spec.cpuset.map_or_else(|| mask.clone(), |cpuset| self.sched.initial_cpus(self.cpusets[cpuset], &mask))
    }

    /// Creates the ksoftirqd of a CPU, which has slept since the boot. Observers see it only once it is
    /// needed.
    pub(crate) fn create_ksoftirqd(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> usize {
        let task = self.add_task(self.first_ksoftirqd + cpu.index(), 0);
        self.create_sleeping(observer, cpu, task, E::add_ksoftirqd);
        self.cpus[cpu.index()].kernel.net.thread = Some(task);
        task
    }

    /// Creates a kernel thread that has slept on a CPU since the boot.
    pub(crate) fn create_kthread(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) {
        self.create_sleeping(observer, cpu, task, E::add_kthread);
    }

    fn create_sleeping(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        add: impl Fn(&mut E, &mut Ctx<'_>, NewTask) -> TaskId,
    ) {
        let spec = self.tasks[task].spec;
        let new = NewTask {
            pid: self.tasks[task].pid,
            policy: Policy::Normal,
            nice: 0,
            group: GroupId::ROOT,
            cpus_allowed: self.mask_at_start(&self.workload.tasks[spec]),
            uclamp: None,
            slice: None,
        };
        self.tasks[task].next_step();
        let id = TaskId::from_index(self.sched.nr_tasks());
        observer.machine_event(self.now, &MachineEvent::Forked { task, id, pid: new.pid, spec, on: cpu });
        self.tasks.set_id(task, id);
        self.tasks[task].cpu = cpu;
        self.tasks[task].blocked_since = Some(START);
        self.announce_to_policy(task, id);
        self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
            add(sched, ctx, new.clone());
            sched.record_cpuset(id, CpusetId::TOP);
        });
    }
}
