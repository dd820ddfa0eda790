// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that go offline and come back while tasks run.
//!
//! Models `sched_cpu_deactivate()`, `sched_cpu_activate()` and `sched_cpu_dying()` (6.1) with what they call: [`rebuild`] has
//! the runqueues' part and the sched domains, [`push`] the tasks that have to leave, [`fallback`] where they go.
//!
//! The stopper of the CPU stands for its hotplug thread and for the stopping of the machine: it does both ends of the way,
//! at once, and the other CPUs go on meanwhile.
//
// DIFFERS: the kernel's hotplug thread is a fair task of the CPU, which shares it with others while it waits for RCU and for
// the CPU to become empty, and all CPUs stop for the last step. Here nobody waits, and only the CPU itself stops.

use crate::interface::ctx::{Ctx, Effect};
use crate::paths::sched::Sched;
use crate::state::hotplug::HotplugError;
use crate::state::stop_work::StopWork;
use crate::types::ids::CpuId;
use crate::types::units::Nanos;

pub(crate) mod fallback;
pub(crate) mod push;
pub(crate) mod rebuild;

impl Sched {
    /// Somebody on the CPU that executes this takes another one, or this one, offline: its stopper is told to.
    /// [`Sched::handle_awaited_stopper`] lets it; the CPU is offline when it next enters its idle loop.
    ///
    /// # Errors
    /// If it is the last CPU or deadline tasks need it. Then nothing has changed.
    pub fn take_cpu_offline(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> Result<(), HotplugError> {
        if !self.hotplug.active.contains(cpu) {
            return Ok(());
        }
        if self.hotplug.active.weight() == 1 {
            return Err(HotplugError::LastCpu);
        }
        let is_needed = |limit| limit < self.dl_root.total_bw;
        let capacity = self.active_capacity() - self.admitted_capacity(cpu);
        if self.dl_bandwidth_of(capacity).is_some_and(is_needed) {
            return Err(HotplugError::NoBandwidth);
        }
        self.stop_one_cpu_nowait(ctx, cpu, StopWork::Deactivate);
        Ok(())
    }

    /// Somebody on the CPU that executes this brings another one back.
    pub fn bring_cpu_online(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if self.hotplug.online.contains(cpu) {
            return;
        }
        self.hotplug.online.set(cpu);
        self.update_max_interval();
        self.restart_governor(cpu);
        self.stop_one_cpu_nowait(ctx, cpu, StopWork::Activate);
    }

    /// The CPU that executes this prepares to go offline: `sched_cpu_deactivate()`.
    ///
    /// Rules, in order:
    /// 1. It does not count as tickless any more.
    /// 2. No task comes to it, and from now on each task that it picks is pushed away.
    /// 3. Its runqueue leaves what the CPUs share.
    /// 4. The sched domains of the others are built anew.
    pub(crate) fn deactivate_cpu(&mut self, ctx: &mut Ctx<'_>) {
        let cpu = ctx.cpu;
        self.nohz_balance_exit_idle(ctx, cpu);
        self.hotplug.active.clear(cpu);
        self.rqs[cpu.index()].callbacks.start_pushing();
        let _rq = self.rq_lock_clocked(ctx, cpu);
        self.set_rq_offline(ctx, cpu);
        self.scale_tunables();
        self.rebuild_sched_domains(ctx);
    }

    /// The CPU that executes this is back: `sched_cpu_activate()`.
    pub(crate) fn activate_cpu(&mut self, ctx: &mut Ctx<'_>) {
        let cpu = ctx.cpu;
        self.rqs[cpu.index()].callbacks.stop_pushing();
        self.hotplug.active.set(cpu);
        self.scale_tunables();
        let _rq = self.rq_lock_clocked(ctx, cpu);
        self.rebuild_sched_domains(ctx);
    }

    /// The idle task of a CPU that has got rid of all its tasks ends its work: `sched_cpu_dying()`, and the timers' part of
    /// `hrtimers_cpu_dying()`. Returns whether the CPU is dead; otherwise something has come at the last moment.
    pub(crate) fn die(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let cpu = ctx.cpu;
        self.flush_call_queue(ctx);
        if self.rqs[cpu.index()].need_resched {
            return false;
        }
        let nr_running = self.rqs[cpu.index()].nr_running;
        assert!(nr_running == 0, "{cpu:?} goes offline with {nr_running} tasks");
        self.hrtick_clear(ctx, cpu);
        self.hotplug.online.clear(cpu);
        self.leave_perf_domain(cpu);
        self.restart_governor(cpu);
        self.update_max_interval();
        let heir = self.hotplug.active.first().expect("the last CPU does not go offline");
        self.hand_timers_over(ctx, heir);
        ctx.emit(Effect::ArmTimer { cpu, at: Nanos::NEVER });
        true
    }

    /// Whether the CPU that executes this has to die instead of idling.
    pub(crate) fn is_dying(&self, cpu: CpuId) -> bool {
        self.rqs[cpu.index()].callbacks.is_pushing()
    }

    /// Numbers that depend on how many CPUs there are: `update_sysctl()`. Values that were set by hand are lost, as in the kernel. A CPU that goes
    /// offline is still counted when its runqueue leaves, and nobody counts again until the next one comes or goes.
    pub(crate) fn scale_tunables(&mut self) {
        let nr_online = self.hotplug.online.weight();
        self.tunables.scale_for(nr_online);
    }
}
