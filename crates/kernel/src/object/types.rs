// SPDX-License-Identifier: GPL-2.0-or-later
//! Values that pass the interface between fairlab and an object.

/// Topology and capacity of a CPU.
#[derive(Clone, Copy, Debug)]
pub struct EngineCpu {
    /// Numbers of the core, cluster, last-level cache, package and node.
    pub place: [u32; 5],
    /// Capacity, 1 to 1024.
    pub capacity: u32,
}

/// CPUs whose frequency changes together.
#[derive(Clone, Debug)]
pub struct EngineFrequencyDomain {
    /// CPUs of the domain, ascending.
    pub cpus: Vec<u32>,
    /// Frequencies in kHz, ascending.
    pub khz: Vec<u32>,
    /// Power of each frequency, in microwatts; empty without an energy model.
    pub uw: Vec<u32>,
    /// Constant frequency; `None` if schedutil drives the domain.
    pub fixed_khz: Option<u32>,
    /// Rate limit of schedutil, in microseconds.
    pub rate_limit_us: u32,
    /// Whether a CPU that has not idled since the last update counts as busy.
    pub holds_when_busy: bool,
    /// Whether the driver sleeps, so that schedutil has a thread for it.
    pub sleeps: bool,
    /// Whether inefficient frequencies, which cost no less than a higher one, are left out.
    pub skips_inefficient: bool,
}

/// Policy of a task with the kernel's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnginePolicy {
    /// Number of the policy (`SCHED_*`).
    pub number: i32,
    /// Real-time priority, 1 to 99; 0 for other policies.
    pub priority: i32,
    /// Runtime, deadline and period of `SCHED_DEADLINE`, in ns.
    pub deadline: [i64; 3],
    /// Whether the task reclaims the bandwidth that other deadline tasks leave (`SCHED_FLAG_RECLAIM`).
    pub reclaims: bool,
    /// Whether the task is the thread of a governor (`SCHED_FLAG_SUGOV`).
    pub is_governor: bool,
}

/// Task that is to be forked.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct EngineTaskSpec<'a> {
    /// Number of the task, which must be the next one.
    pub id: u32,
    pub pid: i32,
    pub nice: i32,
    /// Number of its group; 0 is the root.
    pub group: i32,
    /// Any policy except `SCHED_DEADLINE`.
    pub policy: EnginePolicy,
    /// Lower and upper utilisation clamp, if set.
    pub uclamp: Option<(u32, u32)>,
    /// Slice in ns; 0 is that of the kernel.
    pub slice_ns: u64,
    /// CPUs that the task may use, a bit each.
    pub mask: &'a [u64],
}

/// Load-balancing state of a sched domain, under the kernel's names.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct SchedDomainState {
    /// Name of the domain; empty without `SCHED_DEBUG`.
    pub name: String,
    /// Level in the topology, from 0.
    pub level: u32,
    /// Balancing passes since the last one that moved something.
    pub nr_balance_failed: u32,
    /// Number of failed passes after which cache-hot tasks are moved as well.
    pub cache_nice_tries: u32,
    /// Imbalance from which the domain is balanced, in percent.
    pub imbalance_pct: u32,
    /// Time between two balancing passes, in milliseconds.
    pub balance_interval: u32,
}

/// Next action of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineDuty {
    /// Reschedule: call `schedule()`.
    Reschedule,
    /// Run the work of its stopper.
    Stopper,
    /// Enter or stay in the idle loop.
    Idle,
    /// Run the current task.
    Task,
}

/// Interrupt that the machine delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineIrq {
    /// Reschedule interrupt of another CPU.
    Reschedule,
    /// Interrupt for the call function queue.
    Call,
    /// Expiry of the CPU's timer.
    Timer,
}
