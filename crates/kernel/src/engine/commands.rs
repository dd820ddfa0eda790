// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls that convert more than numbers: boot, frequency domains, tunables, forks, policies, quotas.

use super::KernelEngine;
use super::records::timer_at;
use crate::object::paths::EngineCall;
use crate::object::{EngineIrq, EngineRecord, TaskPolicy};
use fairlab_machine::engine::Engine;
use fairlab_sched::classes::deadline::admission::PolicyError;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ctx::{Ctx, Effect, IpiKind};
use fairlab_sched::ids::{CpuId, CpusetId, GroupId, TaskId};
use fairlab_sched::paths::idle::IdleTick;
use fairlab_sched::state::group::bandwidth::{Bandwidth, BandwidthError};
use fairlab_sched::state::hotplug::HotplugError;
use fairlab_sched::state::new_task::NewTask;
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::KernelOp;

impl KernelEngine {
    pub(super) fn boot_object(&mut self, now: Nanos) -> Vec<Effect> {
        self.object.set_clock(now.0, 0, 0);
        self.object.set_current_call(c"boot", 0, now.0);
        self.object.boot(&self.topology);
        self.nr_tasks = 2 * self.topology.cpus.len() + 1;
        // Operations of the boot belong to no CPU.
        self.object.counts(|_, _| {});
        // The boot served its interrupts itself; timers stay armed.
        let mut timers = Vec::new();
        self.object.drain_records(|record| {
            if let EngineRecord::Timer { cpu, at } = record {
                timers.push(Effect::ArmTimer { cpu: CpuId(cpu), at: timer_at(at) });
            }
        });
        timers
    }

    pub(super) fn fork(&mut self, ctx: &mut Ctx<'_>, new: &NewTask) -> TaskId {
        let id = TaskId::from_index(self.nr_tasks);
        self.nr_tasks += 1;
        let mask = self.mask_words(&new.cpus_allowed);
        // The first part takes locks of runqueues.
        self.end_paths(ctx);
        self.begin_after(ctx, c"fork", EngineCall::WakeNew { task: id.0 }, |object, cpu| {
            object.fork(cpu, id, new, &mask);
        });
        id
    }

    pub(super) fn deliver_ipi(&mut self, ctx: &mut Ctx<'_>, kind: IpiKind) {
        self.ipi_pending[ctx.cpu.index()][kind as usize] = false;
        let irq = match kind {
            IpiKind::Reschedule => EngineIrq::Reschedule,
            IpiKind::CallFunction => EngineIrq::Call,
        };
        if !(self.polls && self.is_idle_task_running(ctx.cpu)) {
            ctx.charge(KernelOp::IpiReceive);
        }
        self.begin(ctx, c"inter-processor interrupt", EngineCall::Interrupt(irq));
    }

    pub(super) fn cpus_in_cpuset(&self, id: CpusetId, wanted: &CpuMask) -> CpuMask {
        let mut words = self.mask_words(wanted);
        self.object.limit_to_cpuset(id.0, &mut words);
        let mut mask = CpuMask::new(self.topology.cpus.len());
        for cpu in self.cpu_ids().filter(|cpu| words[cpu.index() / 64] >> (cpu.index() % 64) & 1 == 1) {
            mask.set(cpu);
        }
        mask
    }

    pub(super) fn set_quota(
        &mut self,
        ctx: &mut Ctx<'_>,
        group: GroupId,
        bandwidth: Bandwidth,
    ) -> Result<(), BandwidthError> {
        let us = |time: Nanos| (time.0 / 1000) as i64;
        let (quota, period, burst) = bandwidth.parts();
        let set = self.enter(ctx, c"cpu.cfs_quota_us", |object, cpu| {
            object.set_quota(cpu, group.0, quota.map(us), us(period), us(burst))
        });
        set.map_err(|_| BandwidthError::RootGroup)
    }

    pub(super) fn set_task_policy(
        &mut self,
        ctx: &mut Ctx<'_>,
        task: TaskId,
        policy: Policy,
    ) -> Result<(), PolicyError> {
        let reclaims = self.reclaims.take_if(|reclaiming| *reclaiming == task).is_some();
        let is_governor = self.governor == Some(task);
        let new = TaskPolicy { policy, reclaims, is_governor };
        let set = self.enter(ctx, c"sched_setattr", |object, cpu| object.set_policy(cpu, task.0, new));
        set.map_err(|errno| {
            let known = [PolicyError::BadParameters, PolicyError::NoBandwidth, PolicyError::RestrictedAffinity];
            known.into_iter().find(|error| error.errno() == errno).unwrap_or(PolicyError::BadParameters)
        })
    }

    pub(super) fn enter_idle_loop(&mut self, ctx: &mut Ctx<'_>, tick: IdleTick) -> bool {
        ctx.charge(KernelOp::IdleEnter);
        let is_over = self.begin(ctx, c"idle loop", EngineCall::IdleEnter(tick)).is_some();
        is_over && !self.need_resched(ctx.cpu)
    }

    /// A task that waits for stoppers of other CPUs because of an affinity runs them inside its own call, so
    /// only CPU hotplug remains.
    pub(super) fn run_awaited_stopper(&mut self, ctx: &mut Ctx<'_>) {
        self.enter(ctx, c"stopper", |object, cpu| object.awaited_stopper(cpu));
        match self.object.is_active(ctx.cpu.0) {
            true => self.cpus.set(ctx.cpu),
            false => self.cpus.clear(ctx.cpu),
        }
    }

    /// Sets the affinity of a task. The stoppers of CPUs have run when the call returns.
    pub(super) fn change_affinity(&mut self, ctx: &mut Ctx<'_>, task: TaskId, mask: &CpuMask) {
        let mask = self.mask_words(mask);
        // A mask without an online CPU is rejected, which changes nothing.
        let _refused =
            self.enter(ctx, c"set_cpus_allowed_ptr", |object, cpu| object.set_affinity(cpu, task.0, &mask)).is_err();
    }

    pub(super) fn offline(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> Result<(), HotplugError> {
        let taken = self.enter(ctx, c"cpu_down", |object, on| object.take_offline(on, cpu.0));
        taken.map_err(|_| HotplugError::LastCpu)
    }

    pub(super) fn deadline_affinity(&self, task: TaskId, policy: Policy) -> Result<(), PolicyError> {
        let is_free = !matches!(policy, Policy::Deadline { .. }) || self.object.spans_domain(task.0);
        is_free.then_some(()).ok_or(PolicyError::RestrictedAffinity)
    }

    pub(super) fn seed(&self, cpu: CpuId, words: [u32; 4]) {
        // The generator needs seeds with higher bits.
        self.object.seed_random(cpu.0, words.map(|word| if word < 128 { word + 128 } else { word }));
    }
}
