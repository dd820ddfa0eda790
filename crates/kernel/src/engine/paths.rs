// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls that yield in the middle of kernel code, where time passes. Translates the kernel's side into the
//! machine's [`YieldedEnginePath`].

use super::KernelEngine;
use crate::object::Object;
use crate::object::paths::{BeforeResume, CallKind, EngineCall, EngineYield};
use fairlab_machine::engine::{EngineLock, EnginePath, YieldedEnginePath};
use fairlab_sched::ctx::Ctx;
use fairlab_sched::ids::CpuId;
use std::ffi::CStr;

/// Functions that determine the path of a CPU, whichever call it is in. Trees use several names.
pub(super) const MARKS: [(&str, EnginePath); 2] =
    [("newidle_balance", EnginePath::NewIdle), ("sched_balance_newidle", EnginePath::NewIdle)];

/// Names of the functions in [`MARKS`].
#[cfg(test)]
pub(crate) const MARKED: [&str; 2] = [MARKS[0].0, MARKS[1].0];

/// Yielded calls of all CPUs.
#[derive(Debug)]
pub(super) struct YieldedCalls {
    is_on: bool,
    /// Path of the last call that yielded, for each CPU.
    paused: Vec<Option<YieldedEnginePath>>,
    /// Names of all calls that have yielded, for each CPU, outermost first.
    names: Vec<Vec<&'static CStr>>,
    /// Number of yielded calls of all CPUs.
    nr: usize,
}

impl YieldedCalls {
    pub(super) fn new(nr_cpus: usize) -> Self {
        Self { is_on: false, paused: vec![None; nr_cpus], names: vec![Vec::new(); nr_cpus], nr: 0 }
    }

    #[inline]
    pub(super) fn yielded_path(&self, cpu: CpuId) -> Option<YieldedEnginePath> {
        self.paused[cpu.index()]
    }
}

impl KernelEngine {
    /// Enables yields of calls.
    pub(super) fn allow_yield(&mut self, looks_per_phase: u32) {
        self.paths.is_on = true;
        self.object.enable_yields(looks_per_phase);
    }

    /// Begins a call. Returns its result, or `None` if it has yielded.
    pub(super) fn begin(&mut self, ctx: &mut Ctx<'_>, name: &'static CStr, call: EngineCall) -> Option<bool> {
        self.begin_after(ctx, name, call, |_, _| {})
    }

    /// Begins a call after `first`, which does not yield. Returns its result, or `None` if it has yielded.
    pub(super) fn begin_after(
        &mut self,
        ctx: &mut Ctx<'_>,
        name: &'static CStr,
        call: EngineCall,
        first: impl FnOnce(&Object, u32),
    ) -> Option<bool> {
        let answer = self.call(ctx, name, |object, cpu| {
            first(object, cpu);
            object.begin(cpu, call)
        });
        if answer.is_none() {
            self.paths.names[ctx.cpu.index()].push(name);
            self.paths.nr += 1;
            self.update_yielded(ctx.cpu);
        }
        answer
    }

    /// Wakes a task. Returns whether it was asleep, which is known before the wake-up is over.
    pub(super) fn begin_wakeup(&mut self, ctx: &mut Ctx<'_>, name: &'static CStr, task: u32, call: EngineCall) -> bool {
        let is_asleep = self.paths.is_on && self.object.is_asleep(task);
        self.begin(ctx, name, call).unwrap_or(is_asleep)
    }

    /// Resumes the last yielded call of the CPU.
    pub(super) fn resume(&mut self, ctx: &mut Ctx<'_>) {
        let cpu = ctx.cpu;
        let Some(&name) = self.paths.names[cpu.index()].last() else { return };
        if let Some(EngineLock::Rq(lock)) = self.paths.paused[cpu.index()].map(|pause| pause.next) {
            ctx.op_counts.touch_write(lock);
        }
        if self.call(ctx, name, |object, cpu| object.resume(cpu)).is_some() {
            self.paths.names[cpu.index()].pop();
            self.paths.nr -= 1;
        }
        self.update_yielded(cpu);
    }

    /// Runs all yielded calls to their end. Needed before a call that takes locks itself and does not yield.
    pub(super) fn end_paths(&mut self, ctx: &mut Ctx<'_>) {
        while self.paths.nr > 0 {
            let Some(cpu) = self.object.runnable_cpu() else { return };
            ctx.on_cpu(CpuId(cpu), |ctx| self.resume(ctx));
        }
    }

    fn update_yielded(&mut self, cpu: CpuId) {
        self.paths.paused[cpu.index()] = self.object.yielded_call(cpu.0).map(to_yielded_path);
    }
}

fn to_yielded_path(pause: EngineYield) -> YieldedEnginePath {
    let EngineYield { before, kind, mark, is_search, irqs_on, in_softirq } = pause;
    let path = match (mark, kind) {
        _ if in_softirq => EnginePath::Softirq,
        (Some(mark), _) => MARKS[mark].1,
        (None, CallKind::Wakeup) if is_search => EnginePath::Search,
        (None, CallKind::Wakeup) => EnginePath::Wakeup,
        (None, CallKind::Interrupt) => EnginePath::Interrupt,
        (None, CallKind::Tick) => EnginePath::NohzKick,
        (None, CallKind::Schedule) => EnginePath::Schedule,
        (None, CallKind::Stopper) => EnginePath::Stopper,
        (None, CallKind::IdleEnter) => EnginePath::IdleLoop,
    };
    let next = match before {
        BeforeResume::Nothing => EngineLock::None,
        BeforeResume::Lock(cpu) => EngineLock::Rq(CpuId(cpu)),
        BeforeResume::Try(cpu) => EngineLock::Try(CpuId(cpu)),
        BeforeResume::Spin => EngineLock::Spin,
    };
    YieldedEnginePath { path, irqs_on, next }
}
