// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of a machine: its engine, its parts and its clock, and what can be asked about them.

mod accounts;
mod counting;
pub mod event_log;
pub mod observer;

pub(crate) use counting::CountingObserver;

use crate::base::clock::START;
use crate::digest::Digest;
use crate::engine::Engine;
use crate::event::EventKind;
use crate::event::EventQueue;
use crate::hardware::Hardware;
use crate::interface::observation::{Interest, MachineEvent};
use crate::parts::background::Background;
use crate::parts::counters::MachineCounters;
use crate::parts::cpu::{IdleLoop, SimCpu};
use crate::parts::idle::LatencyRequests;
use crate::parts::kernel::KernelWork;
use crate::parts::lines::SharedLines;
use crate::parts::locks::RqLocks;
use crate::parts::residency::{CpuKind, CpuKinds};
use crate::parts::speed::{CpuFrequency, CpuSpeeds};
use crate::parts::sync::SyncObjects;
use crate::parts::tasks::{SimTask, TaskTable};
use crate::parts::threads::GovernorThread;
use crate::parts::tracer::Tracer;
use fairlab_sched::check::InvariantChecker;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ctx::Effect;
use fairlab_sched::ids::{CpuId, CpusetId, GroupId, TaskId};
use fairlab_sched::interface::policy::PolicySlot;
use fairlab_sched::sched::Sched;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::OpCounts;
use fairlab_workload::workload::{Affinity, Workload};
use std::any::Any;

/// Checks of the scheduler's invariants after every event.
pub(crate) struct Checks<E> {
    pub(crate) checker: InvariantChecker,
    /// Checks after an event. A pointer, so that a program that never checks does not contain the checks.
    pub(crate) check: fn(&mut Machine<E>, Option<EventKind>),
    /// Command that repeats the run.
    pub(crate) repeat: String,
}

/// A simulated machine with a workload.
pub struct Machine<E = Sched> {
    pub(crate) sched: E,
    pub(crate) hardware: Hardware,
    pub(crate) workload: Workload,
    pub(crate) now: Nanos,
    /// Lead of the scheduler's clocks over `now` during this event.
    pub(crate) clock_offset: Nanos,
    pub(crate) events: EventQueue,
    pub(crate) cpus: Vec<SimCpu>,
    pub(crate) tasks: TaskTable,
    pub(crate) groups: Vec<GroupId>,
    pub(crate) cpusets: Vec<CpusetId>,
    pub(crate) sync: SyncObjects,
    pub(crate) effects: Vec<Effect>,
    pub(crate) op_counts: OpCounts,
    pub(crate) total_op_counts: OpCounts,
    pub(crate) digest: Digest,
    pub(crate) counters: MachineCounters,
    pub(crate) end: Nanos,
    /// Number of events after which the run ends.
    pub(crate) max_events: u64,
    pub(crate) snapshot_every: Option<Nanos>,
    /// Whether kernel code takes time: only after the start of the run, and only with a cost model that is
    /// not zero-cost.
    pub(crate) kernel_takes_time: bool,
    /// CPU whose tick advances the time of the machine (`tick_do_timer_cpu`). It gives up the duty when it
    /// goes idle, and the next CPU that ticks takes it.
    pub(crate) timekeeper: Option<CpuId>,
    /// Whether the observer wants kernel paths.
    pub(crate) wants_kernel_paths: bool,
    /// Whether the observer wants the operation counts of each scheduler call.
    pub(crate) wants_ops: bool,
    pub(crate) locks: RqLocks,
    /// Cache lines of the runqueues.
    pub(crate) lines: SharedLines,
    pub(crate) tracer: Tracer,
    pub(crate) speeds: CpuSpeeds,
    /// Kinds of CPUs: equal capacity and frequency domain.
    pub(crate) kinds: CpuKinds,
    /// Index of the first ksoftirqd among the workload's tasks; those of the other CPUs follow. Used only
    /// with a cost model.
    pub(crate) first_ksoftirqd: usize,
    /// Background threads and their timers.
    pub(crate) background: Background,
    /// Threads of the frequency domains, in the order of the domains.
    pub(crate) governor_threads: Vec<GovernorThread>,
    /// PM QoS latency requests.
    pub(crate) cpu_dma_latency: LatencyRequests,
    /// Custom policy that replaces some of the kernel's rules.
    pub(crate) policy_slot: Option<PolicySlot>,
    /// Event kinds that the observer wants.
    pub(crate) interest: Interest,
    /// Events at the present time that observers of details have not received yet.
    pub(crate) details: Vec<MachineEvent>,
    pub(crate) checks: Option<Checks<E>>,
}

impl<E: Engine> Machine<E> {
    /// Scheduler of the machine.
    pub fn sched(&self) -> &E {
        &self.sched
    }

    /// Returns this machine if its engine is the built-in scheduler, for state that other engines do not
    /// have.
    pub fn as_built_in(&self) -> Option<&Machine<Sched>> {
        (self as &dyn Any).downcast_ref()
    }

    /// Whether the tick of a CPU is stopped. A CPU whose idle task enters its loop only once after a context switch
    /// (`idle_loop_once`) stays without tick when it has left the loop in vain.
    pub fn is_tick_stopped(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].idle_loop == IdleLoop::Inside || self.sched.is_tick_stopped(cpu)
    }

    /// Hardware of the machine.
    pub fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    /// Workload of the run.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Tasks of the workload; instances of templates follow at the end.
    pub fn tasks(&self) -> &[SimTask] {
        self.tasks.all()
    }

    /// Task groups of the scheduler, by their index in the workload.
    pub fn groups(&self) -> &[GroupId] {
        &self.groups
    }

    /// Returns the time of the next event, if the run has one left. The call does not affect the run.
    pub fn next_event_at(&mut self) -> Option<Nanos> {
        self.events.next_at().filter(|&at| at <= self.end)
    }

    /// Current simulated time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Time since the start of the run.
    pub fn elapsed(&self) -> Nanos {
        self.now - START
    }

    /// Length of the run.
    pub fn duration(&self) -> Nanos {
        self.end - START
    }

    /// Hash over everything that the scheduler has done.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Counters of the machine and of its CPUs.
    pub fn counters(&self) -> &MachineCounters {
        &self.counters
    }

    /// Number of kernel operations so far, by kind.
    pub fn total_ops(&self) -> OpCounts {
        let mut work = self.total_op_counts.clone();
        self.op_counts.clone().drain_into(&mut work);
        work
    }

    /// Kinds of CPUs, in the order of their first CPUs.
    pub fn cpu_kinds(&self) -> &[CpuKind] {
        self.kinds.kinds()
    }

    /// Returns the present frequency of a CPU.
    pub fn frequency(&self, cpu: CpuId) -> CpuFrequency {
        self.cpus[cpu.index()].rate.freq()
    }

    /// Whether a task is a kernel thread.
    pub fn is_kthread(&self, task: usize) -> bool {
        self.workload.tasks[self.tasks[task].spec].is_kthread
    }

    /// Whether all forked tasks of the workload have ended. Kernel threads never end.
    pub fn is_done(&self) -> bool {
        let mut tasks = self.tasks.all().iter().enumerate();
        tasks.all(|(place, task)| task.id.is_none() || task.is_dead || self.is_kthread(place))
    }

    /// Work that a CPU does in 1 ns at its present speed, in units of 2^-20 ns of full speed.
    #[inline]
    pub(crate) fn speed_of(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.index()].rate.speed()
    }

    /// Returns the workload's task that runs on a CPU.
    #[inline]
    pub(crate) fn running_task(&self, cpu: CpuId) -> Option<usize> {
        self.running_sim_index(self.sched.curr(cpu))
    }

    /// Returns the machine's index of a scheduler task, if that task is running.
    #[inline]
    pub(crate) fn running_sim_index(&self, id: TaskId) -> Option<usize> {
        let task = self.tasks.index_of(id)?;
        self.tasks[task].running.then_some(task)
    }

    /// Whether a CPU executes the loop of its idle task.
    pub(crate) fn is_in_idle_loop(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].idle_loop.is_inside() && self.sched.is_idle_task_running(cpu)
    }

    /// Whether the tick of a CPU is stopped while its idle task is in its loop.
    pub(crate) fn is_tickless(&self, cpu: CpuId) -> bool {
        self.sched.is_idle_task_running(cpu) && self.cpus[cpu.index()].idle_loop == IdleLoop::Inside
    }

    /// Whether no kernel path is in progress on a CPU.
    pub(crate) fn is_between_paths(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].kernel.is_off_paths() && self.sched.yielded_path(cpu).is_none()
    }

    /// Whether a CPU has no kernel work and holds no lock.
    pub(crate) fn is_quiescent(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].kernel.is_drained() && !self.locks.holds_any(cpu)
    }

    /// Whether kernel work is queued on a CPU.
    #[inline]
    pub(crate) fn has_work(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].kernel.has_queued_work()
    }

    /// Queues kernel work on a CPU.
    pub(crate) fn push_work(&mut self, cpu: CpuId, work: KernelWork) {
        self.cpus[cpu.index()].kernel.queue_work(work);
    }

    /// Returns the first CPU that is online.
    pub(crate) fn first_online_cpu(&self) -> CpuId {
        self.sched.active_cpus().first().expect("the last CPU does not go offline")
    }

    /// Number of jiffies that have begun.
    pub(crate) fn jiffy(&self) -> u64 {
        self.now.0 / self.hardware.tick.0
    }

    /// Returns the CPUs of an affinity.
    pub(crate) fn to_mask(&self, affinity: &Affinity) -> CpuMask {
        let nr_cpus = self.hardware.nr_cpus();
        match affinity {
            Affinity::All => CpuMask::full(nr_cpus),
            Affinity::Cpus(cpus) => CpuMask::from_cpus(nr_cpus, cpus.iter().map(|&cpu| CpuId(cpu))),
        }
    }
}
