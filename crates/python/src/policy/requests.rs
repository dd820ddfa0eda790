// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests that policies in Python receive, and samples of CPUs.

use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::CpuId;
use fairlab_sched::interface::policy;
use fairlab_sched::types::idle_type::CpuIdleType;
use fairlab_sched::units::Nanos;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Request for a CPU at a wake-up.
#[pyclass(module = "fairlab._native", frozen)]
pub(crate) struct WakeRequest {
    /// Time on the machine's clock, in nanoseconds.
    #[pyo3(get)]
    now_ns: u64,
    /// Name of the task.
    #[pyo3(get)]
    task: Py<PyString>,
    /// Process id of the task.
    #[pyo3(get)]
    pid: i32,
    /// CPU that the task used before.
    #[pyo3(get)]
    prev: u32,
    /// CPU that wakes the task.
    #[pyo3(get)]
    waker: u32,
    /// Whether the waker is about to sleep.
    #[pyo3(get)]
    sync: bool,
    /// Whether an interrupt wakes the task.
    #[pyo3(get)]
    in_interrupt: bool,
    /// Utilisation of the task, 0 to 1024.
    #[pyo3(get)]
    util: u64,
    allowed: CpuMask,
    active: CpuMask,
    cache: Option<CpuMask>,
}

#[pymethods]
impl WakeRequest {
    /// CPUs that the task may use, in ascending order.
    #[getter]
    fn allowed(&self) -> Vec<u32> {
        self.allowed.iter_and(&self.active).map(|cpu| cpu.0).collect()
    }

    /// Allowed CPUs that share a last-level cache with the previous CPU, beginning with it and wrapping
    /// around.
    #[getter]
    fn cache(&self) -> Vec<u32> {
        let span = self.cache.as_ref();
        let cpus = span.map(|span| span.iter_and_wrap_from(&self.allowed, CpuId(self.prev)).map(|cpu| cpu.0).collect());
        cpus.unwrap_or_default()
    }

    /// Whether the task may use a CPU.
    fn may_use(&self, cpu: u32) -> bool {
        let is_there = (cpu as usize) < self.active.nr_cpus();
        is_there && self.allowed.contains(CpuId(cpu)) && self.active.contains(CpuId(cpu))
    }

    fn __repr__(&self) -> String {
        format!(
            "<WakeRequest of {}, pid {}: CPU {} wakes it, it was on CPU {}>",
            self.task, self.pid, self.waker, self.prev
        )
    }
}

/// Sample of one CPU, as the `yield` of a scan receives it.
#[pyclass(module = "fairlab._native", frozen, get_all)]
pub(crate) struct CpuSample {
    /// Number of the CPU.
    cpu: u32,
    /// Whether a woken task would run on it at once.
    is_idle: bool,
    /// Number of runnable tasks (`nr_running`).
    nr_running: u32,
    /// Utilisation by fair tasks, 0 to 1024.
    util: u64,
    /// Load of its fair tasks.
    load: u64,
    /// Original capacity of the CPU, 0 to 1024.
    capacity_orig: u64,
    /// Capacity that is left for fair tasks.
    capacity: u64,
}

#[pymethods]
impl CpuSample {
    fn __repr__(&self) -> String {
        let Self { cpu, is_idle, nr_running, util, .. } = self;
        format!(
            "<CpuSample at CPU {cpu}: {}, {nr_running} running, util {util}>",
            if *is_idle { "idle" } else { "busy" }
        )
    }
}

impl From<&policy::CpuSample> for CpuSample {
    fn from(sample: &policy::CpuSample) -> Self {
        let &policy::CpuSample { cpu, is_idle, nr_running, util, load, capacity_orig, capacity } = sample;
        Self { cpu: cpu.0, is_idle, nr_running, util, load, capacity_orig, capacity }
    }
}

impl WakeRequest {
    /// Converts a request of the scheduler for a task with this name.
    pub(super) fn from_request(request: &policy::WakeRequest<'_>, task: Py<PyString>) -> Self {
        Self {
            now_ns: request.now.0,
            task,
            pid: request.pid,
            prev: request.prev.0,
            waker: request.waker.0,
            sync: request.sync,
            in_interrupt: request.in_interrupt,
            util: request.util,
            allowed: request.allowed.clone(),
            active: request.active.clone(),
            cache: request.cache.cloned(),
        }
    }
}

/// Request of a balance pass that has its statistics.
#[pyclass(module = "fairlab._native", frozen, get_all)]
pub(crate) struct BalanceRequest {
    /// Time on the machine's clock, in nanoseconds.
    now_ns: u64,
    /// CPU for which the pass pulls tasks.
    cpu: u32,
    /// Idle type of that CPU: `idle`, `busy`, or `newly idle`.
    idle: &'static str,
    /// Level of the domain; 0 is the lowest.
    level: u32,
    /// CPUs of the domain that take part.
    cpus: Vec<u32>,
    /// CPUs of the local group.
    local: Vec<u32>,
    /// CPUs of the group from which the kernel would pull; empty if it considers the domain balanced.
    busiest: Vec<u32>,
    /// Kind of migration that the kernel would do (`Load`, `Util`, `Task`, `Misfit`), or the reason why it
    /// would not pull.
    reason: &'static str,
    /// Imbalance that the kernel would move.
    imbalance: i64,
}

#[pymethods]
impl BalanceRequest {
    fn __repr__(&self) -> String {
        let Self { cpu, idle, level, reason, imbalance, .. } = self;
        format!("<BalanceRequest of CPU {cpu}, {idle}, level {level}: kernel: {reason}, imbalance {imbalance}>")
    }
}

impl From<&policy::BalanceRequest<'_>> for BalanceRequest {
    fn from(request: &policy::BalanceRequest<'_>) -> Self {
        let all = |mask: &CpuMask| mask.iter().map(|cpu| cpu.0).collect();
        let (busiest, reason, imbalance) = match request.kernel {
            Ok(proposal) => (all(proposal.busiest), proposal.migration.name(), proposal.imbalance),
            Err(why) => (Vec::new(), why.name(), 0),
        };
        let idle = match request.idle {
            CpuIdleType::Idle => "idle",
            CpuIdleType::NotIdle => "busy",
            CpuIdleType::NewlyIdle => "newly idle",
        };
        let (cpus, local) = (all(request.cpus), all(request.local));
        Self {
            now_ns: request.now.0,
            cpu: request.cpu.0,
            idle,
            level: request.level,
            cpus,
            local,
            busiest,
            reason,
            imbalance,
        }
    }
}

/// Request of a CPU that becomes idle.
#[pyclass(module = "fairlab._native", frozen, get_all)]
pub(crate) struct IdleRequest {
    /// Time on the machine's clock, in nanoseconds.
    now_ns: u64,
    /// Number of the CPU.
    cpu: u32,
    /// Exit latencies of its idle states in nanoseconds, from the shallowest to the deepest.
    exit_latency_ns: Vec<u64>,
    /// Target residencies of its idle states, in nanoseconds.
    target_residency_ns: Vec<u64>,
    /// Time until the next timer event other than the tick, in nanoseconds; `None` without a timer.
    to_timer_ns: Option<u64>,
    /// Longest allowed exit latency, in nanoseconds; `None` if all states are allowed.
    latency_limit_ns: Option<u64>,
    /// Index of the state that the kernel's governor would select.
    kernel: usize,
}

#[pymethods]
impl IdleRequest {
    fn __repr__(&self) -> String {
        let Self { cpu, kernel, .. } = self;
        format!("<IdleRequest of CPU {cpu}: the kernel would select state {kernel}>")
    }
}

impl From<&policy::IdleRequest<'_>> for IdleRequest {
    fn from(request: &policy::IdleRequest<'_>) -> Self {
        let known = |time: Nanos| (time != Nanos::NEVER).then_some(time.0);
        let of_states =
            |what: fn(&policy::IdleStateInfo) -> Nanos| request.states.iter().map(|state| what(state).0).collect();
        Self {
            now_ns: request.now.0,
            cpu: request.cpu.0,
            exit_latency_ns: of_states(|state| state.exit_latency),
            target_residency_ns: of_states(|state| state.target_residency),
            to_timer_ns: known(request.to_timer),
            latency_limit_ns: known(request.latency_limit),
            kernel: request.kernel,
        }
    }
}
