// SPDX-License-Identifier: GPL-2.0-or-later
//! Simulated boot: the steps of a kernel before the first user task that affect the scheduler.
//!
//! Later decisions depend on the boot: each CPU has gone idle once at a known time, and CPU 0 has the blocked
//! load of `init`. This state is produced by running the steps, not by setting values.

use crate::interface::ctx::{Ctx, Effect};
use crate::interface::probe::NoSchedObserver;
use crate::paths::sched::Sched;
use crate::state::State;
use crate::state::new_task::NewTask;
use crate::state::task::{Policy, SchedClass, TaskState};
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, GroupId, TaskId};
use crate::types::units::Nanos;
use crate::types::work::OpCounts;
use alloc::vec::Vec;

/// Pid of `init`, which the boot forks on CPU 0.
const INIT_PID: i32 = 1;
/// Pid of the stopper of CPU 0. The stopper of CPU N has this pid plus N.
pub const FIRST_STOPPER_PID: i32 = 100_000;
/// Time from one step to the next during boot: the wake-up of a stopper, and its run.
const STEP: Nanos = Nanos(1000);

impl Sched {
    /// Boots the scheduler at time `now`.
    ///
    /// Steps:
    /// 1. Sched domains are adjusted to the simulated release.
    /// 2. The stoppers are created, and `init` is forked on CPU 0, runs and blocks for ever; all at `now`.
    /// 3. Frequency governors start.
    /// 4. For each CPU in turn, 1000 ns after the step before: CPU 0 wakes its stopper. The stopper runs at
    ///    once and blocks 1000 ns later.
    ///
    /// Returns the timers that stay armed.
    ///
    /// # Panics
    /// If the scheduler was booted before.
    pub fn boot(&mut self, now: Nanos) -> Vec<Effect> {
        let (mut effects, mut work): (Vec<Effect>, OpCounts) = Default::default();
        let ctx = &mut Ctx {
            cpu: CpuId(0),
            now,
            clock_offset: Nanos::ZERO,
            self_timed: None,
            effects: &mut effects,
            observer: &mut NoSchedObserver,
            wants_accounting: false,
            wants_lags: false,
            op_counts: &mut work,
            policy: None,
        };
        assert!(self.tasks.len() == self.rqs.len(), "the scheduler was booted before");
        self.state.domains.apply_wide_imbalance(&self.state.tunables);
        for cpu in self.cpu_ids() {
            let idle = self.tasks[self.rqs[cpu].idle].se;
            self.fair.entities[idle].exec_start = now.0;
        }
        self.boot_tasks(ctx);
        self.start_governors();
        for cpu in self.cpu_ids() {
            ctx.now += STEP;
            let stopper = self.rqs[cpu].stop;
            self.wake_up_process(ctx, stopper);
            ctx.on_cpu(cpu, |ctx| {
                self.flush_call_queue(ctx);
                self.handle_reschedule(ctx);
                ctx.now += STEP;
                self.handle_stopper(ctx);
            });
        }
        for rq in &mut self.rqs {
            rq.ipi_pending = [false; 2];
        }
        let timers = self.rqs.iter().filter_map(|rq| rq.timers.programmed_for().map(|at| (rq.cpu, at)));
        timers.map(|(cpu, at)| Effect::ArmTimer { cpu, at }).collect()
    }

    /// Creates the stoppers and `init`, in the order of their task ids.
    fn boot_tasks(&mut self, ctx: &mut Ctx<'_>) {
        for cpu in self.cpu_ids() {
            let stopper = self.new_kernel_task(cpu, FIRST_STOPPER_PID + cpu.0 as i32);
            let task = &mut self.tasks[stopper];
            (task.class, task.state) = (SchedClass::Stop, TaskState::Interruptible);
        }
        let cpus_allowed = CpuMask::from_cpus(self.rqs.len(), [CpuId(0)]);
        let group = GroupId::ROOT;
        let new =
            NewTask { pid: INIT_PID, policy: Policy::Normal, nice: 0, group, cpus_allowed, uclamp: None, slice: None };
        // Until `init` runs, the boot CPU's idle task is not marked as such: the PELT clock does not follow
        // the task clock but runs at the speed of the CPU.
        let boot_cpu = ctx.cpu;
        let idle = core::mem::replace(&mut self.rqs[boot_cpu].idle, TaskId(u32::MAX));
        let init = self.handle_fork(ctx, new);
        self.schedule(ctx);
        self.rqs[boot_cpu].idle = idle;
        self.rqs[boot_cpu].stats.rq_cpu_time = 0;
        self.tasks[init].cpus_allowed.set_all();
        self.tasks[init].nr_cpus_allowed = self.rqs.len() as u32;
        let State { tasks, domains, rqs, .. } = &mut self.state;
        tasks[init].set_max_allowed_capacity(domains, rqs);
        // A stopper is forked as a fair task before it gets its class. The change of its weight then
        // subtracts load from the cfs_rq that was never added there (`__setscheduler_params()`, 6.1).
        for cpu in self.cpu_ids() {
            let stopper = self.tasks[self.rqs[cpu].stop].se;
            let _rq = self.rq_lock_clocked(ctx, cpu);
            let weight = self.fair.entities[stopper].load.weight;
            self.reweight_entity(ctx, stopper, weight);
        }
        self.handle_block(ctx);
    }
}
