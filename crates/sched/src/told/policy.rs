// SPDX-License-Identifier: GPL-2.0-or-later
//! A policy of somebody's own in the place of the kernel's selection of a CPU at a wake-up.
//!
//! It comes with each call ([`super::ctx::Ctx::policy`]) and is asked when a fair task wakes up that may use more than one CPU; new tasks and exec
//! are the kernel's affair. It has the form of a search: it says which CPU it wants to look at next, hears what is there at that time, and says when it
//! has seen enough. Each look costs what the kernel's own looks cost, and takes as long. What it computes in between is free.

use crate::words::cpumask::CpuMask;
use crate::words::ids::{CpuId, TaskId};
use crate::words::units::{Capacity, Nanos};
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

/// A policy may look so many times for each CPU of the machine before it counts as endless.
const MOST_LOOKS_PER_CPU: u32 = 16;

/// A wake-up that needs a CPU: what is known without looking at any.
#[derive(Clone, Copy, Debug)]
pub struct WakeRequest<'a> {
    /// The time.
    pub now: Nanos,
    /// The task. It is in one selection at a time.
    pub task: TaskId,
    /// Its process id.
    pub pid: i32,
    /// The CPU that it has used.
    pub prev: CpuId,
    /// The CPU that wakes it.
    pub waker: CpuId,
    /// Whether the waker is about to sleep.
    pub sync: bool,
    /// Whether an interrupt wakes it, not the task that runs on the waker's CPU.
    pub in_interrupt: bool,
    /// The utilisation that it had or is expected to have, of 1024.
    pub util: u64,
    /// The CPUs that it is allowed to use.
    pub allowed: &'a CpuMask,
    /// The CPUs that take part in scheduling. It may use those of them that it is allowed to.
    pub active: &'a CpuMask,
    /// The CPUs that share a last-level cache with the previous one; none if it has no cache domain.
    pub cache: Option<&'a CpuMask>,
}

impl WakeRequest<'_> {
    /// Whether the task may use a CPU.
    pub fn may_use(&self, cpu: CpuId) -> bool {
        cpu.index() < self.active.nr_cpus() && self.allowed.contains(cpu) && self.active.contains(cpu)
    }

    /// The next CPU that the task is allowed to use, of those that share a cache with the previous one: from the previous one on, upwards and around.
    /// `None` once all have had their turn.
    pub fn next_in_cache(&self, after: CpuId) -> Option<CpuId> {
        let nr_cpus = self.allowed.nr_cpus() as u32;
        let distance = |cpu: CpuId| (cpu.0 + nr_cpus - self.prev.0) % nr_cpus;
        let start = CpuId((after.0 + 1) % nr_cpus);
        let next = self.cache?.iter_and_wrap_from(self.allowed, start).next()?;
        (distance(next) > distance(after)).then_some(next)
    }
}

/// What a look at a CPU shows, at the time of the look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuLook {
    /// The CPU.
    pub cpu: CpuId,
    /// Whether a woken task would run there at once: nothing does, or only SCHED_IDLE tasks.
    pub is_idle: bool,
    /// Runnable tasks of all classes.
    pub nr_running: u32,
    /// Utilisation by fair tasks, those included that sleep and were there last; up to the CPU's capacity.
    pub util: u64,
    /// Load of fair tasks, likewise.
    pub load: u64,
    /// The CPU's capacity at its highest frequency.
    pub capacity_orig: Capacity,
    /// What other classes, interrupts and heat leave of it.
    pub capacity: Capacity,
}

/// What a policy answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WakeChoice {
    /// It wants to look at this CPU.
    Look(CpuId),
    /// The task is to run there.
    Cpu(CpuId),
    /// The kernel's rules are to decide.
    Kernel,
    /// It cannot go on, for this reason: the run ends.
    Fail(String),
}

/// Decides where tasks wake up.
pub trait WakePolicy {
    /// Asked when a task wakes up, without a look (`seen` is `None`), and then after each look that it has asked for. Several selections can be
    /// under way at a time, on several CPUs; [`WakeRequest::task`] says which one is meant.
    fn select(&mut self, request: &WakeRequest<'_>, seen: Option<&CpuLook>) -> WakeChoice;

    /// Told of each task before it is woken for the first time, with the name that it has in results.
    fn meets(&mut self, task: TaskId, name: &str) {
        let _ = (task, name);
    }
}

/// A function is a policy.
impl<F: FnMut(&WakeRequest<'_>, Option<&CpuLook>) -> WakeChoice> WakePolicy for F {
    fn select(&mut self, request: &WakeRequest<'_>, seen: Option<&CpuLook>) -> WakeChoice {
        self(request, seen)
    }
}

/// Why a policy's answer could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The machine has no such CPU.
    NoSuchCpu {
        /// The answer.
        cpu: CpuId,
        /// How many there are.
        nr_cpus: usize,
    },
    /// The task is not allowed to use it.
    NotAllowed(CpuId),
    /// It is offline.
    Offline(CpuId),
    /// It has looked so many times without end.
    Endless(u32),
    /// It said itself that it cannot go on.
    Failed(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchCpu { cpu, nr_cpus } => {
                write!(f, "has answered CPU {}, but there are only CPUs 0 to {}", cpu.0, nr_cpus - 1)
            }
            Self::NotAllowed(cpu) => write!(f, "has answered CPU {}, which the task is not allowed to use", cpu.0),
            Self::Offline(cpu) => write!(f, "has answered CPU {}, which is offline", cpu.0),
            Self::Endless(looks) => write!(f, "has looked {looks} times and goes on looking"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

/// Where a policy sits. It stays empty-handed after an answer that could not be used: from then on the kernel's rules decide, and whoever owns the
/// seat ends the run.
pub struct PolicySeat {
    policy: Box<dyn WakePolicy>,
    refused: Option<(TaskId, Refusal)>,
}

impl PolicySeat {
    /// A seat for this policy.
    pub fn new(policy: Box<dyn WakePolicy>) -> Self {
        Self { policy, refused: None }
    }

    /// Tells it of a task.
    pub fn meets(&mut self, task: TaskId, name: &str) {
        self.policy.meets(task, name);
    }

    /// The first answer that could not be used, and the task for which it was.
    pub fn refused(&self) -> Option<(TaskId, &Refusal)> {
        self.refused.as_ref().map(|(task, refusal)| (*task, refusal))
    }

    /// Asks it; after so many looks of this selection. What cannot be used becomes the kernel's affair.
    pub(crate) fn ask(&mut self, request: &WakeRequest<'_>, seen: Option<&CpuLook>, nr_looks: u32) -> WakeChoice {
        if self.refused.is_some() {
            return WakeChoice::Kernel;
        }
        let nr_cpus = request.active.nr_cpus();
        let refusal = match self.policy.select(request, seen) {
            WakeChoice::Look(cpu) | WakeChoice::Cpu(cpu) if cpu.index() >= nr_cpus => {
                Refusal::NoSuchCpu { cpu, nr_cpus }
            }
            WakeChoice::Look(_) if nr_looks >= MOST_LOOKS_PER_CPU * nr_cpus as u32 => Refusal::Endless(nr_looks),
            WakeChoice::Cpu(cpu) if !request.allowed.contains(cpu) => Refusal::NotAllowed(cpu),
            WakeChoice::Cpu(cpu) if !request.active.contains(cpu) => Refusal::Offline(cpu),
            WakeChoice::Fail(why) => Refusal::Failed(why),
            choice => return choice,
        };
        self.refused = Some((request.task, refusal));
        WakeChoice::Kernel
    }
}
