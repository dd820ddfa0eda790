// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls into kernel code that take time leave it in the middle: what a CPU is in the middle of, in the words of the machine.

use super::KernelEngine;
use crate::object::Object;
use crate::object::paths::{BeforeResume, Call, CallKind, EngineYield};
use fairlab_sched::ctx::Ctx;
use fairlab_sched::ids::CpuId;
use fairlab_sched::paths::resumable::{self, PathKind, PhaseLock};
use std::ffi::CStr;

/// Functions that say what a CPU is in the middle of, whichever call it is. Trees rename.
pub(super) const MARKS: [(&str, PathKind); 2] =
    [("newidle_balance", PathKind::NewIdle), ("sched_balance_newidle", PathKind::NewIdle)];

/// What CPUs are in the middle of.
#[derive(Debug)]
pub(super) struct Paths {
    /// Calls leave.
    is_on: bool,
    /// Of each CPU, what was left last.
    paused: Vec<Option<resumable::YieldedPath>>,
    /// Names of all calls that were left, lowest first.
    names: Vec<Vec<&'static CStr>>,
    /// How many there are.
    nr: usize,
}

impl Paths {
    pub(super) fn new(nr_cpus: usize) -> Self {
        Self { is_on: false, paused: vec![None; nr_cpus], names: vec![Vec::new(); nr_cpus], nr: 0 }
    }

    #[inline]
    pub(super) fn paused(&self, cpu: CpuId) -> Option<resumable::YieldedPath> {
        self.paused[cpu.index()]
    }
}

impl KernelEngine {
    /// From now on calls leave.
    pub(super) fn allow_yield(&mut self, looks_per_phase: u32) {
        self.paths.is_on = true;
        self.object.set_leaving(looks_per_phase);
    }

    /// Begins a call: what it answers, if it is over.
    pub(super) fn begin(&mut self, ctx: &mut Ctx<'_>, name: &'static CStr, call: Call) -> Option<bool> {
        self.begin_after(ctx, name, call, |_, _| {})
    }

    /// The same after something that does not leave.
    pub(super) fn begin_after(
        &mut self,
        ctx: &mut Ctx<'_>,
        name: &'static CStr,
        call: Call,
        first: impl FnOnce(&Object, u32),
    ) -> Option<bool> {
        let answer = self.call(ctx, name, |object, cpu| {
            first(object, cpu);
            object.begin(cpu, call)
        });
        if answer.is_none() {
            self.paths.names[ctx.cpu.index()].push(name);
            self.paths.nr += 1;
            self.find_place(ctx.cpu);
        }
        answer
    }

    /// Wakes a task: whether it slept. That is known before the wake-up is over.
    pub(super) fn begin_wakeup(&mut self, ctx: &mut Ctx<'_>, name: &'static CStr, task: u32, call: Call) -> bool {
        let is_asleep = self.paths.is_on && self.object.is_asleep(task);
        self.begin(ctx, name, call).unwrap_or(is_asleep)
    }

    /// What was left last on the CPU goes on.
    pub(super) fn resume(&mut self, ctx: &mut Ctx<'_>) {
        let cpu = ctx.cpu;
        let Some(&name) = self.paths.names[cpu.index()].last() else { return };
        if let Some(PhaseLock::Rq(lock)) = self.paths.paused[cpu.index()].map(|pause| pause.next) {
            ctx.work.touch_write(lock);
        }
        if self.call(ctx, name, |object, cpu| object.resume(cpu)).is_some() {
            self.paths.names[cpu.index()].pop();
            self.paths.nr -= 1;
        }
        self.find_place(cpu);
    }

    /// Before something that takes locks by itself, and does not leave: what has left comes to its end.
    pub(super) fn end_paths(&mut self, ctx: &mut Ctx<'_>) {
        while self.paths.nr > 0 {
            let Some(cpu) = self.object.ready() else { return };
            ctx.on_cpu(CpuId(cpu), |ctx| self.resume(ctx));
        }
    }

    fn find_place(&mut self, cpu: CpuId) {
        self.paths.paused[cpu.index()] = self.object.pause(cpu.0).map(in_machines_words);
    }
}

fn in_machines_words(pause: EngineYield) -> resumable::YieldedPath {
    let EngineYield { before, kind, mark, is_search, irqs_on, in_softirq } = pause;
    let path = match (mark, kind) {
        _ if in_softirq => PathKind::Softirq,
        (Some(mark), _) => MARKS[mark].1,
        (None, CallKind::Wakeup) if is_search => PathKind::Search,
        (None, CallKind::Wakeup) => PathKind::Wakeup,
        (None, CallKind::Interrupt) => PathKind::Interrupt,
        (None, CallKind::Tick) => PathKind::NohzKick,
        (None, CallKind::Schedule) => PathKind::Schedule,
        (None, CallKind::Stopper) => PathKind::Stopper,
        (None, CallKind::IdleEnter) => PathKind::IdleLoop,
    };
    let next = match before {
        BeforeResume::Nothing => PhaseLock::None,
        BeforeResume::Lock(cpu) => PhaseLock::Rq(CpuId(cpu)),
        BeforeResume::Try(cpu) => PhaseLock::Try(CpuId(cpu)),
        BeforeResume::Spin => PhaseLock::Spin,
    };
    resumable::YieldedPath { path, irqs_on, next }
}
