// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU hotplug: CPUs go offline and come back while tasks run.
//!
//! Models `sched_cpu_deactivate()`, `sched_cpu_activate()` and `sched_cpu_dying()` (6.1) with their callees.
//! [`rebuild`] contains the runqueues' part and the sched domains, [`push`] moves the tasks off the CPU,
//! [`fallback`] selects their new CPUs.
//!
//! The stopper of the CPU takes the place of its hotplug thread and of `stop_machine()`. It executes both
//! parts of a transition at once, while the other CPUs continue.
//
// DIFFERS: The kernel's hotplug thread is a fair task that shares its CPU with others while it waits for RCU
// and for the CPU to become empty, and all CPUs stop for the last step. In fairlab no task waits, and only
// the CPU itself stops.

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
    /// Takes a CPU offline on behalf of a task on the executing CPU: queues the work for the CPU's stopper.
    ///
    /// [`Sched::handle_awaited_stopper`] runs the stopper. The CPU is offline when it next enters its idle
    /// loop.
    ///
    /// # Errors
    /// If it is the last CPU, or if deadline tasks need its bandwidth. Then nothing has changed.
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

    /// Brings a CPU back online, on behalf of a task on the executing CPU.
    pub fn bring_cpu_online(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if self.hotplug.online.contains(cpu) {
            return;
        }
        self.hotplug.online.set(cpu);
        self.update_max_interval();
        self.restart_governor(cpu);
        self.stop_one_cpu_nowait(ctx, cpu, StopWork::Activate);
    }

    /// Prepares the executing CPU to go offline (`sched_cpu_deactivate()`).
    ///
    /// Rules, in order:
    /// 1. The CPU does not count as tickless any more.
    /// 2. No task is placed on it, and from now on each task that it picks is pushed to another CPU.
    /// 3. Its runqueue leaves the root domain.
    /// 4. The sched domains of the other CPUs are rebuilt.
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

    /// Completes the return of the executing CPU (`sched_cpu_activate()`).
    pub(crate) fn activate_cpu(&mut self, ctx: &mut Ctx<'_>) {
        let cpu = ctx.cpu;
        self.rqs[cpu.index()].callbacks.stop_pushing();
        self.hotplug.active.set(cpu);
        self.scale_tunables();
        let _rq = self.rq_lock_clocked(ctx, cpu);
        self.rebuild_sched_domains(ctx);
    }

    /// Ends the idle task of a CPU that has no tasks left (`sched_cpu_dying()`, and the timers' part of
    /// `hrtimers_cpu_dying()`). Returns whether the CPU is offline; false if work has arrived at the last
    /// moment.
    pub(crate) fn sched_cpu_dying(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let cpu = ctx.cpu;
        self.flush_call_queue(ctx);
        if self.rqs[cpu.index()].need_resched {
            return false;
        }
        let nr_running = self.rqs[cpu.index()].nr_running;
        assert!(nr_running == 0, "{cpu:?} goes offline with {nr_running} tasks");
        if self.series().is_eevdf() {
            self.dl_server_stop(ctx, cpu);
        }
        self.hrtick_clear(ctx, cpu);
        self.hotplug.online.clear(cpu);
        self.leave_perf_domain(cpu);
        self.restart_governor(cpu);
        self.update_max_interval();
        let heir = self.hotplug.active.first().expect("the last CPU does not go offline");
        self.migrate_timers(ctx, heir);
        ctx.emit(Effect::ArmTimer { cpu, at: Nanos::NEVER });
        true
    }

    /// Whether the CPU must go offline instead of idling.
    pub(crate) fn is_dying(&self, cpu: CpuId) -> bool {
        self.rqs[cpu.index()].callbacks.is_pushing()
    }

    /// Recomputes the tunables that depend on the number of CPUs (`update_sysctl()`). As in the kernel,
    /// values that the user has set are lost.
    ///
    /// A CPU that goes offline is still counted here, because it is online until it dies. The next
    /// recomputation is at the next hotplug event.
    pub(crate) fn scale_tunables(&mut self) {
        let (series, nr_online) = (self.series, self.hotplug.online.weight());
        self.tunables.scale_for(series, nr_online);
    }
}
