// SPDX-License-Identifier: GPL-2.0-or-later
//! A policy of somebody's own in the place of decisions of the kernel: where a task wakes up, what a pass of balancing pulls, how deep a CPU sleeps.
//!
//! It comes with each call ([`super::ctx::Ctx::policy`]) and is asked for what it says that it decides ([`PolicyScope`]). A wake-up is asked about when a fair
//! task wakes up that may use more than one CPU; new tasks and exec are the kernel's affair. A pass is asked about when it has gathered its
//! statistics, and whose turn it is stays the kernel's affair. Both have the form of a search: a policy says which CPU it wants to look at next, hears what is
//! there at that time, and says when it has seen enough. Each look costs what the kernel's own looks cost, and takes as long. What it computes in
//! between is free.

mod balance;
mod idle;
mod wakeup;

pub use balance::{BalanceChoice, BalanceRequest, Proposal};
pub use idle::{IdleChoice, IdleRequest, IdleStateInfo};
pub use wakeup::{WakeChoice, WakeRequest};

use crate::types::ids::{CpuId, TaskId};
use crate::types::units::{Capacity, Nanos};
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

/// A policy may look so many times for each CPU of the machine before it counts as endless.
const MOST_LOOKS_PER_CPU: u32 = 16;

/// What a look at a CPU shows, at the time of the look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSample {
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

/// Which decisions a policy makes. The kernel's rules make the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyScope {
    /// Where tasks wake up.
    pub wakeups: bool,
    /// What passes of balancing pull.
    pub balancing: bool,
    /// How deep idle CPUs sleep.
    pub idle_states: bool,
}

impl PolicyScope {
    /// Where tasks wake up, and nothing else.
    pub const WAKEUPS: Self = Self { wakeups: true, balancing: false, idle_states: false };
}

/// Somebody's own policy.
pub trait PolicyHook {
    /// Which decisions it makes, in all of a run.
    fn decides(&self) -> PolicyScope {
        PolicyScope::WAKEUPS
    }

    /// Asked when a task wakes up, without a look (`seen` is `None`), and then after each look that it has asked for. Several selections can be
    /// under way at a time, on several CPUs; [`WakeRequest::task`] says which one is meant.
    fn select(&mut self, request: &WakeRequest<'_>, seen: Option<&CpuSample>) -> WakeChoice {
        let _ = (request, seen);
        WakeChoice::Kernel
    }

    /// Asked when a pass has its statistics, and then after each look. Several passes can be under way at a time;
    /// [`BalanceRequest::on`] says which one is meant.
    fn balance(&mut self, request: &BalanceRequest<'_>, seen: Option<&CpuSample>) -> BalanceChoice {
        let _ = (request, seen);
        BalanceChoice::Kernel
    }

    /// Asked when a CPU begins to idle, or goes on to after an interrupt that has brought no work.
    fn idle_state(&mut self, request: &IdleRequest<'_>) -> IdleChoice {
        let _ = request;
        IdleChoice::Kernel
    }

    /// Told of each task before it is woken for the first time, with the name that it has in results.
    fn meets(&mut self, task: TaskId, name: &str) {
        let _ = (task, name);
    }
}

/// A function is a policy for wake-ups.
impl<F: FnMut(&WakeRequest<'_>, Option<&CpuSample>) -> WakeChoice> PolicyHook for F {
    fn select(&mut self, request: &WakeRequest<'_>, seen: Option<&CpuSample>) -> WakeChoice {
        self(request, seen)
    }
}

/// Why a policy's answer could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidChoice {
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
    /// It takes no part in the pass, or is the one that pulls.
    TakesNoPart(CpuId),
    /// The CPU has no such idle state.
    NoSuchState {
        /// The answer.
        state: usize,
        /// How many there are.
        nr_states: usize,
    },
    /// Somebody has asked for shorter exits than that of this idle state.
    TooSlow {
        /// The answer.
        state: usize,
        /// What was asked for.
        limit: Nanos,
    },
    /// It has looked so many times without end.
    Endless(u32),
    /// It said itself that it cannot go on.
    Failed(String),
}

impl fmt::Display for InvalidChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchCpu { cpu, nr_cpus } => {
                write!(f, "has answered CPU {}, but there are only CPUs 0 to {}", cpu.0, nr_cpus - 1)
            }
            Self::NotAllowed(cpu) => write!(f, "has answered CPU {}, which the task is not allowed to use", cpu.0),
            Self::Offline(cpu) => write!(f, "has answered CPU {}, which is offline", cpu.0),
            Self::TakesNoPart(cpu) => write!(f, "wants to pull from CPU {}, which takes no part in the pass", cpu.0),
            Self::NoSuchState { state, nr_states } => {
                write!(f, "has answered idle state {state}, but there are only states 0 to {}", nr_states - 1)
            }
            Self::TooSlow { state, limit } => {
                write!(
                    f,
                    "has answered idle state {state}, which takes longer to leave than the {limit} that somebody asks for"
                )
            }
            Self::Endless(looks) => write!(f, "has looked {looks} times and goes on looking"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

/// About whom a policy was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyRequest {
    /// A task that wakes up.
    Wakeup(TaskId),
    /// A CPU that pulls tasks.
    Balancing(CpuId),
    /// A CPU that idles.
    Idling(CpuId),
}

/// Where a policy sits. It stays empty-handed after an answer that could not be used: from then on the kernel's rules decide, and whoever owns the
/// seat ends the run.
pub struct PolicySlot {
    policy: Box<dyn PolicyHook>,
    decides: PolicyScope,
    refused: Option<(PolicyRequest, InvalidChoice)>,
}

impl PolicySlot {
    /// A seat for this policy.
    pub fn new(policy: Box<dyn PolicyHook>) -> Self {
        Self { decides: policy.decides(), policy, refused: None }
    }

    /// Which decisions it makes.
    pub const fn decides(&self) -> PolicyScope {
        self.decides
    }

    /// Tells it of a task.
    pub fn meets(&mut self, task: TaskId, name: &str) {
        self.policy.meets(task, name);
    }

    /// The first answer that could not be used, and for whom it was.
    pub fn refused(&self) -> Option<(PolicyRequest, &InvalidChoice)> {
        self.refused.as_ref().map(|(whom, refusal)| (*whom, refusal))
    }

    /// Asks it about a wake-up; after so many looks of this selection. What cannot be used becomes the kernel's affair.
    pub(crate) fn ask(&mut self, request: &WakeRequest<'_>, seen: Option<&CpuSample>, nr_looks: u32) -> WakeChoice {
        if self.refused.is_some() {
            return WakeChoice::Kernel;
        }
        let nr_cpus = request.active.nr_cpus();
        let refusal = match self.policy.select(request, seen) {
            WakeChoice::Look(cpu) => match cannot_look(cpu, nr_looks, nr_cpus) {
                None => return WakeChoice::Look(cpu),
                Some(refusal) => refusal,
            },
            WakeChoice::Cpu(cpu) if cpu.index() >= nr_cpus => InvalidChoice::NoSuchCpu { cpu, nr_cpus },
            WakeChoice::Cpu(cpu) if !request.allowed.contains(cpu) => InvalidChoice::NotAllowed(cpu),
            WakeChoice::Cpu(cpu) if !request.active.contains(cpu) => InvalidChoice::Offline(cpu),
            WakeChoice::Fail(why) => InvalidChoice::Failed(why),
            choice => return choice,
        };
        self.refused = Some((PolicyRequest::Wakeup(request.task), refusal));
        WakeChoice::Kernel
    }

    /// Asks it about a pass; after so many looks of this pass. What cannot be used becomes the kernel's affair.
    pub(crate) fn ask_to_balance(
        &mut self,
        request: &BalanceRequest<'_>,
        seen: Option<&CpuSample>,
        nr_looks: u32,
    ) -> BalanceChoice {
        if self.refused.is_some() {
            return BalanceChoice::Kernel;
        }
        let nr_cpus = request.cpus.nr_cpus();
        let refusal = match self.policy.balance(request, seen) {
            BalanceChoice::Look(cpu) => match cannot_look(cpu, nr_looks, nr_cpus) {
                None => return BalanceChoice::Look(cpu),
                Some(refusal) => refusal,
            },
            BalanceChoice::Pull { tasks: 0, .. } => return BalanceChoice::Nothing,
            BalanceChoice::Pull { from, .. } if from.index() >= nr_cpus => {
                InvalidChoice::NoSuchCpu { cpu: from, nr_cpus }
            }
            BalanceChoice::Pull { from, .. } if !request.may_pull_from(from) => InvalidChoice::TakesNoPart(from),
            BalanceChoice::Fail(why) => InvalidChoice::Failed(why),
            choice => return choice,
        };
        self.refused = Some((PolicyRequest::Balancing(request.cpu), refusal));
        BalanceChoice::Kernel
    }

    /// Asks it how deep a CPU is to sleep. `None`: as the kernel's governor says.
    pub fn choose_idle_state(&mut self, request: &IdleRequest<'_>) -> Option<usize> {
        if self.refused.is_some() {
            return None;
        }
        let nr_states = request.states.len();
        let refusal = match self.policy.idle_state(request) {
            IdleChoice::Kernel => return None,
            IdleChoice::State(state) if state >= nr_states => InvalidChoice::NoSuchState { state, nr_states },
            // The shallowest is what is left where nothing is fast enough.
            IdleChoice::State(state) if state > 0 && request.states[state].exit_latency > request.latency_limit => {
                InvalidChoice::TooSlow { state, limit: request.latency_limit }
            }
            IdleChoice::State(state) => return Some(state),
            IdleChoice::Fail(why) => InvalidChoice::Failed(why),
        };
        self.refused = Some((PolicyRequest::Idling(request.cpu), refusal));
        None
    }
}

fn cannot_look(cpu: CpuId, nr_looks: u32, nr_cpus: usize) -> Option<InvalidChoice> {
    if cpu.index() >= nr_cpus {
        Some(InvalidChoice::NoSuchCpu { cpu, nr_cpus })
    } else {
        (nr_looks >= MOST_LOOKS_PER_CPU * nr_cpus as u32).then_some(InvalidChoice::Endless(nr_looks))
    }
}
