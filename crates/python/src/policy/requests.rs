// SPDX-License-Identifier: GPL-2.0-or-later
//! What policies in Python are asked, and what they see.

use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::CpuId;
use fairlab_sched::interface::policy;
use fairlab_sched::types::idle_type::CpuIdleType;
use fairlab_sched::units::Nanos;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A wake-up that needs a CPU.
#[pyclass(module = "fairlab._native", frozen)]
pub(crate) struct WakeRequest {
    /// The time since the machine's clocks began, in ns.
    #[pyo3(get)]
    now_ns: u64,
    /// The name of the task.
    #[pyo3(get)]
    task: Py<PyString>,
    /// Its process id.
    #[pyo3(get)]
    pid: i32,
    /// The CPU that it has used.
    #[pyo3(get)]
    prev: u32,
    /// The CPU that wakes it.
    #[pyo3(get)]
    waker: u32,
    /// Whether the waker is about to sleep.
    #[pyo3(get)]
    sync: bool,
    /// Whether an interrupt wakes it.
    #[pyo3(get)]
    in_interrupt: bool,
    /// Its utilisation, of 1024.
    #[pyo3(get)]
    util: u64,
    allowed: CpuMask,
    active: CpuMask,
    cache: Option<CpuMask>,
}

#[pymethods]
impl WakeRequest {
    /// The CPUs that the task may use, from the lowest.
    #[getter]
    fn allowed(&self) -> Vec<u32> {
        self.allowed.iter_and(&self.active).map(|cpu| cpu.0).collect()
    }

    /// Those of them that share a last-level cache with the previous one, from that one on and around.
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

/// What a look at a CPU shows.
#[pyclass(module = "fairlab._native", frozen, get_all)]
pub(crate) struct CpuLook {
    /// The CPU.
    cpu: u32,
    /// Whether a woken task would run there at once.
    is_idle: bool,
    /// Runnable tasks.
    nr_running: u32,
    /// Utilisation by fair tasks, of 1024.
    util: u64,
    /// Their load.
    load: u64,
    /// The CPU's capacity, of 1024.
    capacity_orig: u64,
    /// What others than fair tasks leave of it.
    capacity: u64,
}

#[pymethods]
impl CpuLook {
    fn __repr__(&self) -> String {
        let Self { cpu, is_idle, nr_running, util, .. } = self;
        format!("<CpuLook at CPU {cpu}: {}, {nr_running} running, util {util}>", if *is_idle { "idle" } else { "busy" })
    }
}

impl From<&policy::CpuSample> for CpuLook {
    fn from(look: &policy::CpuSample) -> Self {
        let &policy::CpuSample { cpu, is_idle, nr_running, util, load, capacity_orig, capacity } = look;
        Self { cpu: cpu.0, is_idle, nr_running, util, load, capacity_orig, capacity }
    }
}

impl WakeRequest {
    /// That of the scheduler, about a task of this name.
    pub(super) fn of(request: &policy::WakeRequest<'_>, task: Py<PyString>) -> Self {
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

/// A pass of balancing that has its statistics.
#[pyclass(module = "fairlab._native", frozen, get_all)]
pub(crate) struct BalanceRequest {
    /// The time since the machine's clocks began, in ns.
    now_ns: u64,
    /// The CPU for which it pulls.
    cpu: u32,
    /// In which state that is: `idle`, `busy`, or `newly idle`.
    idle: &'static str,
    /// Level of the domain: 0 is the narrowest.
    level: u32,
    /// The CPUs of the domain that take part.
    cpus: Vec<u32>,
    /// Those of its own group.
    local: Vec<u32>,
    /// The group from which the kernel would pull; none if it counts the domain as balanced.
    busiest: Vec<u32>,
    /// What the kernel would pull (`Load`, `Util`, `Task`, `Misfit`), or why it would not.
    reason: &'static str,
    /// How much the kernel would pull.
    imbalance: i64,
}

#[pymethods]
impl BalanceRequest {
    fn __repr__(&self) -> String {
        let Self { cpu, idle, level, reason, imbalance, .. } = self;
        format!("<BalanceRequest of CPU {cpu}, {idle}, level {level}: the kernel says {reason}, {imbalance}>")
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

/// A CPU that has nothing to do.
#[pyclass(module = "fairlab._native", frozen, get_all)]
pub(crate) struct IdleRequest {
    /// The time since the machine's clocks began, in ns.
    now_ns: u64,
    /// Which CPU.
    cpu: u32,
    /// Exit latencies of its states, in ns, from the shallowest to the deepest.
    exit_latency_ns: Vec<u64>,
    /// For how long each must last to be worth it, in ns.
    target_residency_ns: Vec<u64>,
    /// How long until its next timer that is not the tick, in ns; none: it has no timer.
    to_timer_ns: Option<u64>,
    /// Exits that take longer than this are forbidden, in ns; none: all are allowed.
    latency_limit_ns: Option<u64>,
    /// The state that the kernel's governor would choose.
    kernel: usize,
}

#[pymethods]
impl IdleRequest {
    fn __repr__(&self) -> String {
        let Self { cpu, kernel, .. } = self;
        format!("<IdleRequest of CPU {cpu}: the kernel would choose state {kernel}>")
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
