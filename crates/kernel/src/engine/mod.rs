// SPDX-License-Identifier: GPL-2.0-or-later
//! A kernel's scheduler as the engine of a machine: implements [`Engine`](fairlab_machine::engine::Engine) on top of a loaded object.
//!
//! 1. Before each call the object gets the clock. After it, the records of the kernel's side become events
//!    for the observer and effects for the machine, in their order.
//! 2. Interrupts in flight are recorded here, as in the built-in scheduler: a second one of the same kind is
//!    not sent.
//! 3. Tasks have the numbers that the built-in scheduler gives them: idle tasks, stoppers, the first task,
//!    then forked tasks in order.
//! 4. Operations of kernel code are counted: by functions of the tree ([`crate::operations`]), and here for
//!    those that pass the interface.
//! 5. Where kernel code takes time, calls yield in its middle ([`paths`]): where locks are taken and
//!    released, and where scans check CPUs.

mod commands;
mod interface;
mod paths;
mod records;
mod switches;
mod unsupported;

use crate::costs::CostPlan;
use crate::error::KernelError;
use crate::object::{CountedOps, Object};
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ctx::Ctx;
use fairlab_sched::ids::{CpusetId, TaskId};
use fairlab_sched::sched::SchedConfig;
use fairlab_sched::topology::MachineTopology;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::{KernelOp, NR_OPS};
#[cfg(test)]
pub(crate) use paths::MARKED;
use paths::YieldedCalls;
use records::apply_record;
use std::ffi::CStr;
use std::path::Path;

/// A kernel's scheduler on a machine.
pub struct KernelEngine {
    object: Object,
    topology: MachineTopology,
    tick_ns: u64,
    nr_tasks: usize,
    /// Interrupts in flight of each CPU, by kind.
    ipi_pending: Vec<[bool; 2]>,
    nr_cpusets: u32,
    /// Deadline task that reclaims unused bandwidth, until it gets its policy.
    reclaims: Option<TaskId>,
    /// Thread of a governor, until it gets its policy.
    governor: Option<TaskId>,
    /// Function that measures the cost of a search.
    search: Option<u64>,
    /// Cost that this function measures for each scanned CPU, in ns.
    scan_cost_ns: u32,
    cpus: CpuMask,
    paths: YieldedCalls,
    /// Whether idle CPUs poll. Waking a polling CPU costs no interrupt on either side, but the interrupt
    /// still arrives.
    polls: bool,
    /// Whether charges of run time are recorded: from the first call on, if an observer wants them.
    reports_runtimes: bool,
    /// Whether virtual times are recorded: from the first call on, if an observer wants them.
    reports_lags: bool,
    /// Number of calls of each function that not all compared kernels have.
    uncharged_calls: Vec<u64>,
}

impl KernelEngine {
    /// Loads an object for a machine, and counts the functions of a plan for it. A crash, or a call that takes
    /// `loop_seconds` of CPU time, ends the process with a report on the file descriptor `report`.
    ///
    /// # Errors
    /// If the object cannot be loaded.
    pub fn load(
        path: &Path,
        plan: &CostPlan,
        config: SchedConfig,
        report: i32,
        loop_seconds: u32,
    ) -> Result<Self, KernelError> {
        let object = Object::load(path)?;
        object.set_counted_ops(&plan.counted);
        let is_scan = |counted: &&CountedOps| counted.operation == KernelOp::ScanCpu as usize;
        let search = plan.counted.iter().find(is_scan).and_then(|counted| counted.within);
        for op in [KernelOp::ScanCpu, KernelOp::ScanCore] {
            object.count_as_scan(op as usize);
        }
        for (mark, (name, _)) in paths::MARKS.iter().enumerate() {
            if let Some(address) = plan.address(name) {
                object.mark(address, mark);
            }
        }
        object.install_guards(report, loop_seconds);
        let nr_cpus = config.topology.cpus.len();
        Ok(Self {
            object,
            tick_ns: config.tick_ns,
            nr_tasks: 0,
            ipi_pending: vec![[false; 2]; nr_cpus],
            nr_cpusets: 0,
            reclaims: None,
            governor: None,
            search,
            scan_cost_ns: 0,
            cpus: CpuMask::full(nr_cpus),
            topology: config.topology,
            paths: YieldedCalls::new(nr_cpus),
            polls: false,
            reports_runtimes: false,
            reports_lags: false,
            uncharged_calls: vec![0; plan.uncommon.len()],
        })
    }

    /// Returns how often each function ran that not all compared kernels have: see [`CostPlan::uncommon`].
    pub fn uncharged_calls(&self) -> &[u64] {
        &self.uncharged_calls
    }

    /// Returns the object, for reading its state.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Calls the kernel's side as the CPU of the context with a call that does not yield. Calls that have
    /// yielded end before it.
    fn enter<R>(&mut self, ctx: &mut Ctx<'_>, what: &'static CStr, act: impl FnOnce(&Object, u32) -> R) -> R {
        self.end_paths(ctx);
        self.call(ctx, what, act)
    }

    /// Calls the kernel's side as the CPU of the context, and applies its records.
    fn call<R>(&mut self, ctx: &mut Ctx<'_>, what: &'static CStr, act: impl FnOnce(&Object, u32) -> R) -> R {
        let cost = ctx.self_timed.map_or(Nanos::ZERO, |(_, cost)| cost);
        if ctx.wants_accounting && !self.reports_runtimes {
            self.reports_runtimes = true;
            self.object.report_runtimes();
        }
        if ctx.wants_lags && !self.reports_lags {
            self.reports_lags = true;
            self.object.report_lags();
        }
        self.object.set_clock(ctx.now.0, ctx.clock_offset.0, cost.0);
        self.object.set_current_call(what, ctx.cpu.0, ctx.now.0);
        let result = act(&self.object, ctx.cpu.0);
        self.object.end_call();
        ctx.clock_offset = Nanos(self.object.clock_offset());
        let (pending, polls) = (&mut self.ipi_pending, self.polls);
        let is_polling = |cpu: u32| polls && self.object.running(cpu) == cpu;
        self.object.drain_records(|record| apply_record(ctx, &self.object, pending, is_polling, record));
        if self.reports_lags {
            self.object.forget_lags();
        }
        // A function that is counted too often is corrected by another one within the same call.
        let uncharged = &mut self.uncharged_calls;
        self.object.counts(|operation, times| {
            let times = times.max(0).unsigned_abs();
            match KernelOp::ALL.get(operation) {
                Some(op) => ctx.op_counts.count(*op, times),
                None => uncharged[operation - NR_OPS] += times,
            }
        });
        result
    }

    /// Updates a cpuset, and returns the tasks that have to follow it.
    fn update_cpuset(&self, id: CpusetId) -> Vec<TaskId> {
        if !self.object.update_cpuset(id.0) {
            return Vec::new();
        }
        // The tasks before are idle tasks, stoppers and the first task.
        let tasks = (2 * self.topology.cpus.len() + 1..self.nr_tasks).map(TaskId::from_index);
        tasks.filter(|task| self.object.cpuset_of(task.0) == id.0).collect()
    }

    /// Returns a CPU mask as words with a bit for each CPU.
    fn mask_words(&self, mask: &CpuMask) -> Vec<u64> {
        let mut words = vec![0; self.topology.cpus.len().div_ceil(64)];
        for cpu in mask.iter() {
            words[cpu.index() / 64] |= 1 << (cpu.index() % 64);
        }
        words
    }
}
