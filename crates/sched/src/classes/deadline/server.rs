// SPDX-License-Identifier: GPL-2.0-or-later
//! Fair servers: a deadline entity of each CPU that runs fair tasks when they starve behind real-time tasks.
//!
//! Models `dl_server_start()`, `dl_server_stop()`, `dl_server_update()` and `dl_server_apply_params()` (6.12.117); 6.1 limits the runtime of real-time tasks instead. The entity of a CPU's
//! server is stored as that of its idle task, which has no use for one. States of a server:
//! - stopped
//! - waiting: throttled and armed. Its timer expires when the rest of the period is as long as the rest of the budget.
//!   Fair tasks consume the budget meanwhile, and when they have consumed all of it a new period begins.
//! - queued: its CPU picks a fair task, or stops the server if there is none
//! - throttled, until the next period

use crate::classes::fair::enqueue::EnqueueFlags;
use crate::interface::ctx::Ctx;
use crate::interface::eevdf::ServerStep;
use crate::state::State;
use crate::state::deadline::entity::to_ratio;
use crate::state::task::SchedClass;
use crate::types::ids::{CpuId, TaskId};

/// Runtime with which a server starts for the first time, in ns.
const DEFAULT_RUNTIME_NS: u64 = 50_000_000;
/// Period with which a server starts for the first time, in ns.
const DEFAULT_PERIOD_NS: u64 = 1_000_000_000;

/// Error of parameters that exceed the bandwidth that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoBandwidth;

/// Task that stands for the fair server of a CPU: its idle task.
#[inline]
pub(crate) const fn fair_server(cpu: CpuId) -> TaskId {
    TaskId(cpu.0)
}

impl State {
    /// Starts the fair server of a CPU that has received its first fair task.
    ///
    /// Rules, in order:
    /// 1. The first start gives the server its default parameters, whatever was set before.
    /// 2. A server without runtime, or that is active already, does nothing.
    /// 3. The server waits or is queued, and the CPU reschedules unless a deadline task with an earlier deadline runs.
    #[inline(never)]
    pub(crate) fn dl_server_start(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let server = fair_server(cpu);
        if !self.tasks[server].dl.server.is_server {
            // Parameters that do not fit are not applied, and the server never runs.
            let _ = self.init_dl_server(ctx, cpu);
        }
        let dl = &mut self.tasks[server].dl;
        if dl.dl_runtime == 0 || dl.server.is_active {
            return;
        }
        dl.server.is_active = true;
        self.enqueue_dl_entity(ctx, cpu, server, EnqueueFlags { wakeup: true, ..EnqueueFlags::default() });
        self.tasks[fair_server(cpu)].dl.report_server(ctx, cpu, ServerStep::Started);
        self.resched_for_server(ctx, cpu);
    }

    fn init_dl_server(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> Result<(), NoBandwidth> {
        let server = fair_server(cpu);
        let result = self.apply_server_parameters(ctx, cpu, DEFAULT_RUNTIME_NS, DEFAULT_PERIOD_NS, true);
        let dl = &mut self.tasks[server].dl;
        (dl.server.is_server, dl.server.defers) = (true, true);
        dl.setup_new(self.rqs[cpu].clock);
        result
    }

    /// Stops the fair server of a CPU. Its bandwidth stays in use until its zero-lag time. A server that has never
    /// started has nothing to stop; a kernel's CPUs have all had fair tasks, so their servers have started.
    pub(crate) fn dl_server_stop(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let server = fair_server(cpu);
        let dl = &self.tasks[server].dl;
        if dl.dl_runtime == 0 || !dl.server.is_server {
            return;
        }
        self.unqueue_dl(cpu, server);
        self.task_non_contending(ctx, server);
        let dl = &mut self.tasks[server].dl;
        dl.cancel_dl_timer(ctx, &mut self.rqs, server);
        dl.end_wait();
        dl.server.is_active = false;
        self.tasks[fair_server(cpu)].dl.report_server(ctx, cpu, ServerStep::Stopped);
    }

    /// Charges the fair server of a CPU, if it is active, for the time for which a fair task has run.
    ///
    /// Rules, in order:
    /// 1. A waiting server without budget begins a new period, because its tasks do not starve.
    /// 2. A queued server without budget is throttled until its next period.
    #[inline]
    pub(crate) fn dl_server_update(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, delta_ns: u64) {
        let server = fair_server(cpu);
        let now = self.rqs[cpu].clock;
        let dl = &mut self.tasks[server].dl;
        if !dl.server.is_active || dl.dl_runtime == 0 {
            return;
        }
        dl.runtime = dl.runtime.wrapping_sub(delta_ns as i64);
        if !dl.is_exhausted() {
            return;
        }
        if dl.is_throttled {
            dl.server.is_running = false;
            dl.cancel_dl_timer(ctx, &mut self.rqs, server);
            dl.start_new_period(now);
            self.start_dl_timer(ctx, server);
            self.tasks[fair_server(cpu)].dl.report_server(ctx, cpu, ServerStep::NewPeriod);
            return;
        }
        dl.is_throttled = true;
        self.unqueue_dl(cpu, server);
        self.tasks[fair_server(cpu)].dl.report_server(ctx, cpu, ServerStep::Exhausted);
        if !self.start_dl_timer(ctx, server) {
            self.enqueue_dl_entity(ctx, cpu, server, EnqueueFlags { replenish: true, ..EnqueueFlags::default() });
        }
        if !self.rqs[cpu].dl.is_leftmost(server) {
            self.resched_curr(ctx, cpu);
        }
    }

    /// Sets runtime and period of a CPU's fair server; its budget is empty and its deadline in the past. `is_first` adds
    /// the bandwidth, otherwise it replaces the old one.
    pub(crate) fn apply_server_parameters(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        runtime_ns: u64,
        period_ns: u64,
        is_first: bool,
    ) -> Result<(), NoBandwidth> {
        let server = fair_server(cpu);
        let new_bw = to_ratio(period_ns, runtime_ns);
        let old_bw = if is_first { 0 } else { self.tasks[server].dl.dl_bw };
        let wanted = self.dl_root.total_bw().wrapping_sub(old_bw).wrapping_add(new_bw);
        // A CPU that is offline is in a root domain without active CPUs, which has no bandwidth. One that goes offline
        // leaves its root domain when the domains are rebuilt, after its groups are unthrottled.
        if self.tunables.rt_runtime_us >= 0 && !self.domains.root.span.contains(cpu) {
            return Err(NoBandwidth);
        }
        if self.dl_bandwidth_limit().is_some_and(|limit| limit < wanted) {
            return Err(NoBandwidth);
        }
        if !is_first {
            self.dl_root.sub_admitted(old_bw, &self.hotplug.active);
        }
        self.dl_root.add_admitted(new_bw, &self.hotplug.active);
        self.dl_root.replace_server_bw(old_bw, new_bw);
        if is_first {
            self.rqs[cpu].dl.add_rq_bw(new_bw);
        } else {
            self.replace_rq_bw(ctx, cpu, server, new_bw);
        }
        let dl = &mut self.tasks[server].dl;
        dl.set_parameters(runtime_ns, period_ns, period_ns);
        (dl.runtime, dl.deadline) = (0, 0);
        Ok(())
    }

    /// Reschedules a CPU for its fair server, unless a deadline task with an earlier deadline runs.
    pub(crate) fn resched_for_server(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let curr = &self.tasks[self.rqs[cpu].curr];
        let server = &self.tasks[fair_server(cpu)].dl;
        if curr.class != SchedClass::Deadline || server.preempts(&curr.dl) {
            self.resched_curr(ctx, cpu);
        }
    }
}
