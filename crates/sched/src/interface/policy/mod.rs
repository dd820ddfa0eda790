// SPDX-License-Identifier: GPL-2.0-or-later
//! Custom policies, which replace decisions of the kernel: CPU selection at wake-ups, pulls of balancing
//! passes, and idle states.
//!
//! The policy is part of the call context ([`super::ctx::Ctx::policy`]) and is asked for the decisions in its
//! scope ([`PolicyScope`]):
//! - Wake-ups: for a fair task that may use more than one CPU. The kernel's rules decide for new tasks and
//!   exec.
//! - Balancing: once a pass has gathered its statistics. The kernel's rules decide which CPU balances.
//!
//! Both are searches: the policy names the CPU to sample next, receives its state at that time, and finally
//! returns a choice. A sample costs as much time as the kernel's own scan of a CPU. Computations of the
//! policy take no simulated time.

mod balance;
mod idle;
mod wakeup;

pub use balance::{BalanceChoice, BalanceRequest, PullProposal};
pub use idle::{IdleChoice, IdleRequest, IdleStateInfo};
pub use wakeup::{WakeChoice, WakeRequest};

use crate::types::ids::{CpuId, TaskId};
use crate::types::units::{Capacity, Nanos};
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

/// Maximum number of samples per CPU of the machine, after which a search counts as endless.
const MAX_SAMPLES_PER_CPU: u32 = 16;

/// State of a CPU at the time of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSample {
    /// CPU to which the sample belongs.
    pub cpu: CpuId,
    /// Whether a woken task would run at once: the CPU runs nothing, or only SCHED_IDLE tasks.
    pub is_idle: bool,
    /// Number of runnable tasks of all classes.
    pub nr_running: u32,
    /// Utilisation by fair tasks, including sleeping tasks that ran there last; at most the CPU's capacity.
    pub util: u64,
    /// Load of fair tasks, including sleeping tasks that ran there last.
    pub load: u64,
    /// Capacity of the CPU at its highest frequency.
    pub capacity_orig: Capacity,
    /// Capacity that other classes, interrupts and thermal pressure leave.
    pub capacity: Capacity,
}

/// Decisions that a policy makes. The kernel's rules make the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyScope {
    /// CPU selection at wake-ups.
    pub wakeups: bool,
    /// Pulls of balancing passes.
    pub balancing: bool,
    /// Choice of a state when a CPU idles.
    pub idle_states: bool,
}

impl PolicyScope {
    /// Scope of a policy for wake-ups only.
    pub const WAKEUPS: Self = Self { wakeups: true, balancing: false, idle_states: false };
}

/// A custom policy, which makes the decisions of its scope instead of the kernel's rules.
pub trait PolicyHook {
    /// Returns the decisions that the policy makes. The result must not change during a run.
    fn scope(&self) -> PolicyScope {
        PolicyScope::WAKEUPS
    }

    /// Selects a CPU for a wake-up. The first call has no sample (`seen` is `None`); further calls follow
    /// each requested sample. Several selections can be in progress at a time on several CPUs;
    /// [`WakeRequest::task`] identifies them.
    fn select(&mut self, request: &WakeRequest<'_>, seen: Option<&CpuSample>) -> WakeChoice {
        let _ = (request, seen);
        WakeChoice::Kernel
    }

    /// Chooses a pull for a pass. The first call has no sample; further calls follow each requested sample.
    /// Several passes can be in progress at a time; [`BalanceRequest::on`] identifies them.
    fn balance(&mut self, request: &BalanceRequest<'_>, seen: Option<&CpuSample>) -> BalanceChoice {
        let _ = (request, seen);
        BalanceChoice::Kernel
    }

    /// Chooses an idle state when a CPU begins to idle, or continues after an interrupt without work.
    fn idle_state(&mut self, request: &IdleRequest<'_>) -> IdleChoice {
        let _ = request;
        IdleChoice::Kernel
    }

    /// Receives each task before its first wake-up, with its name in results.
    fn on_new_task(&mut self, task: TaskId, name: &str) {
        let _ = (task, name);
    }
}

/// A function is a policy for wake-ups.
impl<F: FnMut(&WakeRequest<'_>, Option<&CpuSample>) -> WakeChoice> PolicyHook for F {
    fn select(&mut self, request: &WakeRequest<'_>, seen: Option<&CpuSample>) -> WakeChoice {
        self(request, seen)
    }
}

/// Reason why a policy's choice is unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidChoice {
    /// The machine has no such CPU.
    NoSuchCpu {
        /// CPU that the policy chose.
        cpu: CpuId,
        /// Number of CPUs of the machine.
        nr_cpus: usize,
    },
    /// The affinity of the task excludes the CPU.
    NotAllowed(CpuId),
    /// The CPU is offline.
    Offline(CpuId),
    /// The CPU takes no part in the pass, or is the pulling CPU.
    NotInPass(CpuId),
    /// The CPU has no such idle state.
    NoSuchState {
        /// Index of the chosen state.
        state: usize,
        /// Number of states of the CPU.
        nr_states: usize,
    },
    /// The exit latency of the idle state exceeds the PM QoS limit.
    TooSlow {
        /// Index of the chosen state.
        state: usize,
        /// Maximum permitted exit latency.
        limit: Nanos,
    },
    /// The search did not end after this number of samples.
    Endless(u32),
    /// The policy reported this error.
    Failed(String),
}

impl fmt::Display for InvalidChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchCpu { cpu, nr_cpus } => {
                write!(f, "chose CPU {}, but there are only CPUs 0 to {}", cpu.0, nr_cpus - 1)
            }
            Self::NotAllowed(cpu) => write!(f, "chose CPU {}, which the task is not allowed to use", cpu.0),
            Self::Offline(cpu) => write!(f, "chose CPU {}, which is offline", cpu.0),
            Self::NotInPass(cpu) => write!(f, "chose to pull from CPU {}, which takes no part in the pass", cpu.0),
            Self::NoSuchState { state, nr_states } => {
                write!(f, "chose idle state {state}, but there are only states 0 to {}", nr_states - 1)
            }
            Self::TooSlow { state, limit } => {
                write!(f, "chose idle state {state}, whose exit latency exceeds the PM QoS limit of {limit}")
            }
            Self::Endless(nr_samples) => write!(f, "sampled CPUs {nr_samples} times without making a choice"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

/// Subject of a request to a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum PolicyRequest {
    Wakeup(TaskId),
    Balancing(CpuId),
    Idling(CpuId),
}

/// Holder of a custom policy. After an unusable choice the kernel's rules make all decisions, and the machine
/// ends the run.
pub struct PolicySlot {
    policy: Box<dyn PolicyHook>,
    scope: PolicyScope,
    invalid_choice: Option<(PolicyRequest, InvalidChoice)>,
}

impl PolicySlot {
    /// Returns the slot for a policy.
    pub fn new(policy: Box<dyn PolicyHook>) -> Self {
        Self { scope: policy.scope(), policy, invalid_choice: None }
    }

    /// Decisions that the policy makes.
    pub const fn scope(&self) -> PolicyScope {
        self.scope
    }

    /// Announces a task to the policy.
    pub fn on_new_task(&mut self, task: TaskId, name: &str) {
        self.policy.on_new_task(task, name);
    }

    /// Returns the first unusable choice and its request.
    pub fn invalid_choice(&self) -> Option<(PolicyRequest, &InvalidChoice)> {
        self.invalid_choice.as_ref().map(|(policy_request, refusal)| (*policy_request, refusal))
    }

    /// Asks the policy about a wake-up, after `nr_looks` samples of this selection. An unusable choice leaves
    /// the decision to the kernel's rules.
    pub(crate) fn choose_cpu(
        &mut self,
        request: &WakeRequest<'_>,
        seen: Option<&CpuSample>,
        nr_looks: u32,
    ) -> WakeChoice {
        if self.invalid_choice.is_some() {
            return WakeChoice::Kernel;
        }
        let nr_cpus = request.active.nr_cpus();
        let refusal = match self.policy.select(request, seen) {
            WakeChoice::Sample(cpu) => match check_sample(cpu, nr_looks, nr_cpus) {
                None => return WakeChoice::Sample(cpu),
                Some(refusal) => refusal,
            },
            WakeChoice::Cpu(cpu) if cpu.index() >= nr_cpus => InvalidChoice::NoSuchCpu { cpu, nr_cpus },
            WakeChoice::Cpu(cpu) if !request.allowed.contains(cpu) => InvalidChoice::NotAllowed(cpu),
            WakeChoice::Cpu(cpu) if !request.active.contains(cpu) => InvalidChoice::Offline(cpu),
            WakeChoice::Fail(why) => InvalidChoice::Failed(why),
            choice => return choice,
        };
        self.invalid_choice = Some((PolicyRequest::Wakeup(request.task), refusal));
        WakeChoice::Kernel
    }

    /// Asks the policy about a pass, after `nr_looks` samples of this pass. An unusable choice leaves the
    /// decision to the kernel's rules.
    pub(crate) fn choose_pull(
        &mut self,
        request: &BalanceRequest<'_>,
        seen: Option<&CpuSample>,
        nr_looks: u32,
    ) -> BalanceChoice {
        if self.invalid_choice.is_some() {
            return BalanceChoice::Kernel;
        }
        let nr_cpus = request.cpus.nr_cpus();
        let refusal = match self.policy.balance(request, seen) {
            BalanceChoice::Sample(cpu) => match check_sample(cpu, nr_looks, nr_cpus) {
                None => return BalanceChoice::Sample(cpu),
                Some(refusal) => refusal,
            },
            BalanceChoice::Pull { tasks: 0, .. } => return BalanceChoice::Nothing,
            BalanceChoice::Pull { from, .. } if from.index() >= nr_cpus => {
                InvalidChoice::NoSuchCpu { cpu: from, nr_cpus }
            }
            BalanceChoice::Pull { from, .. } if !request.may_pull_from(from) => InvalidChoice::NotInPass(from),
            BalanceChoice::Fail(why) => InvalidChoice::Failed(why),
            choice => return choice,
        };
        self.invalid_choice = Some((PolicyRequest::Balancing(request.cpu), refusal));
        BalanceChoice::Kernel
    }

    /// Asks the policy about an idle state. `None` leaves the decision to the kernel's governor.
    pub fn choose_idle_state(&mut self, request: &IdleRequest<'_>) -> Option<usize> {
        if self.invalid_choice.is_some() {
            return None;
        }
        let nr_states = request.states.len();
        let refusal = match self.policy.idle_state(request) {
            IdleChoice::Kernel => return None,
            IdleChoice::State(state) if state >= nr_states => InvalidChoice::NoSuchState { state, nr_states },
            // The shallowest state is allowed even if no state meets the limit.
            IdleChoice::State(state) if state > 0 && request.states[state].exit_latency > request.latency_limit => {
                InvalidChoice::TooSlow { state, limit: request.latency_limit }
            }
            IdleChoice::State(state) => return Some(state),
            IdleChoice::Fail(why) => InvalidChoice::Failed(why),
        };
        self.invalid_choice = Some((PolicyRequest::Idling(request.cpu), refusal));
        None
    }
}

fn check_sample(cpu: CpuId, nr_looks: u32, nr_cpus: usize) -> Option<InvalidChoice> {
    if cpu.index() >= nr_cpus {
        Some(InvalidChoice::NoSuchCpu { cpu, nr_cpus })
    } else {
        (nr_looks >= MAX_SAMPLES_PER_CPU * nr_cpus as u32).then_some(InvalidChoice::Endless(nr_looks))
    }
}
