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
//
// DIFFERS: When sched domains are rebuilt, the kernel counts deadline tasks that sleep on an offline CPU in a root domain
// without CPUs (`dl_add_task_root_domain()`), so that their bandwidth is free until the next rebuild. In fairlab it
// stays admitted.
//
// DIFFERS: When a CPU comes online, tasks follow their cpusets after the sched domains are rebuilt; in the kernel
// (`cpuset_handle_hotplug()`, 6.12) they follow before.

use crate::interface::ctx::{Ctx, Effect};
use crate::paths::sched::Sched;
use crate::state::hotplug::HotplugError;
use crate::state::stop_work::StopWork;
use crate::state::task::TaskState;
use crate::state::timers::Timer;
use crate::types::ids::CpuId;
use crate::types::units::Nanos;

pub(crate) mod fallback;
pub(crate) mod push;
pub(crate) mod rebuild;

impl Sched {
    /// Takes a CPU offline on behalf of a task on the executing CPU: queues the work for the CPU's stopper.
    ///
    /// [`Sched::handle_awaited_stopper`] runs the stopper. If the CPU is not active any more then, it is offline when it
    /// next enters its idle loop. If it still is, deadline tasks need its bandwidth.
    ///
    /// # Errors
    /// If it is the last CPU. Then nothing has changed.
    pub fn take_cpu_offline(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> Result<(), HotplugError> {
        if !self.hotplug.active.contains(cpu) {
            return Ok(());
        }
        if self.hotplug.active.weight() == 1 {
            return Err(HotplugError::LastCpu);
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
        self.state.cpufreq.restart_governor(cpu, &self.state.hotplug.online);
        self.stop_one_cpu_nowait(ctx, cpu, StopWork::Activate);
    }

    /// Prepares the executing CPU to go offline (`sched_cpu_deactivate()`).
    ///
    /// Rules, in order:
    /// 1. The CPU does not count as tickless any more.
    /// 2. No task is placed on it, and from now on each task that it picks is pushed to another CPU.
    /// 3. Its runqueue leaves the root domain.
    /// 4. If the other CPUs have not enough bandwidth for the admitted deadline tasks, the CPU is active again. In 6.1
    ///    its runqueue does not rejoin the root domain before the sched domains are next rebuilt.
    /// 5. The tasks of cpusets follow, while all runqueues are still in the old root domain
    ///    (`hotplug_update_tasks()`).
    /// 6. The sched domains of the other CPUs are rebuilt.
    pub(crate) fn deactivate_cpu(&mut self, ctx: &mut Ctx<'_>) {
        let cpu = ctx.cpu;
        self.state.nohz.nohz_balance_exit_idle(ctx, &mut self.state.domains, &mut self.state.rqs[cpu]);
        self.hotplug.active.clear(cpu);
        self.rqs[cpu].callbacks.start_pushing();
        let _rq = self.rq_lock_clocked(ctx, cpu);
        // Groups are unthrottled with the new slice.
        self.scale_tunables(self.hotplug.online.weight());
        self.set_rq_offline(ctx, cpu);
        let is_needed = |limit| limit < self.dl_root.total_bw();
        if self.dl_bandwidth_limit().is_some_and(is_needed) {
            if self.rules.rejoins_root_domain {
                self.set_rq_online(cpu);
            }
            self.rqs[cpu].callbacks.stop_pushing();
            self.hotplug.active.set(cpu);
            return;
        }
        // No task has to leave a CPU on which it runs: only this CPU is no longer allowed, and its stopper runs. For a
        // task whose wake-up is queued here, the kernel waits for the stopper, which begins with the queued functions.
        for task in self.hotplug_update_cpusets() {
            let p = &self.tasks[task];
            if p.state == TaskState::Waking && p.cpu == cpu {
                self.flush_call_queue(ctx);
            }
            self.apply_cpuset(ctx, task, None);
        }
        self.scale_tunables(self.working_cpus().weight());
        self.rebuild_sched_domains(ctx);
    }

    /// Completes the return of the executing CPU (`sched_cpu_activate()`).
    pub(crate) fn activate_cpu(&mut self, ctx: &mut Ctx<'_>) {
        let cpu = ctx.cpu;
        self.rqs[cpu].callbacks.stop_pushing();
        self.hotplug.active.set(cpu);
        self.scale_tunables(self.hotplug.online.weight());
        let _rq = self.rq_lock_clocked(ctx, cpu);
        self.rebuild_sched_domains(ctx);
    }

    /// Ends the idle task of a CPU that has no tasks left (`sched_cpu_dying()`, and the timers' part of
    /// `hrtimers_cpu_dying()`). Returns whether the CPU is offline; false if work has arrived at the last
    /// moment.
    pub(crate) fn sched_cpu_dying(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let cpu = ctx.cpu;
        self.flush_call_queue(ctx);
        if self.rqs[cpu].need_resched {
            return false;
        }
        let nr_running = self.rqs[cpu].nr_running;
        assert!(nr_running == 0, "{cpu:?} goes offline with {nr_running} tasks");
        self.hotplug.online.clear(cpu);
        self.cpufreq.leave_perf_domain(cpu);
        // Cpufreq's step of hotplug comes before, so what follows changes no frequency.
        self.state.cpufreq.restart_governor(cpu, &self.state.hotplug.online);
        if self.rules.stops_fair_server_when_dying {
            self.dl_server_stop(ctx, cpu);
        }
        self.rqs[cpu].timers.cancel(ctx, cpu, Timer::Hrtick);
        self.update_max_interval();
        let heir = self.hotplug.active.first().expect("the last CPU does not go offline");
        self.migrate_timers(ctx, heir);
        ctx.emit(Effect::ArmTimer { cpu, at: Nanos::NEVER });
        true
    }

    /// Whether the CPU must go offline instead of idling.
    pub(crate) fn is_dying(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].callbacks.is_pushing()
    }

    /// Recomputes the tunables that depend on the number of CPUs (`update_sysctl()`), which follows when a runqueue
    /// leaves or joins a root domain. As in the kernel, values that the user has set are lost.
    ///
    /// A CPU that goes offline counts until it dies. In 6.12 the next recomputation is at the next hotplug event; in 6.1
    /// it is when the worker rebuilds the sched domains, see [`Sched::working_cpus`].
    pub(crate) fn scale_tunables(&mut self, nr_online: usize) {
        let series = self.series();
        self.tunables.scale_for(series, nr_online);
    }
}
