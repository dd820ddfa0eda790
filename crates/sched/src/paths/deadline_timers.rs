// SPDX-License-Identifier: GPL-2.0-or-later
//! The two timers of a deadline task: begin of the next period, and zero-lag time.
//!
//! Models `dl_task_timer()`, `dl_task_offline_migration()` and `inactive_task_timer()` (6.1), and `dl_server_timer()` (6.12).

use crate::classes::deadline::server::fair_server;
use crate::classes::fair::enqueue::EnqueueFlags;
use crate::interface::ctx::Ctx;
use crate::interface::eevdf::ServerStep;
use crate::paths::sched::Sched;
use crate::state::State;
use crate::state::deadline::time_before;
use crate::state::task::{SchedClass, TaskState};
use crate::state::timers::{Timer, forward};
use crate::types::ids::{CpuId, TaskId};

impl Sched {
    /// Moves a throttled task whose CPU has gone offline to a CPU where it would have the earliest deadline,
    /// or to any allowed CPU, together with its bandwidth. Returns that CPU.
    // DIFFERS: If no CPU is left that a throttled deadline task may use, fairlab moves the task like a task
    // of any other class, and the task may use the new CPU from then on; the kernel crashes (`BUG_ON()`). The
    // kernel avoids this state because it refuses to change the affinity of deadline tasks, which an
    // `affinity` statement can do.
    pub(crate) fn dl_task_offline_migration(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> CpuId {
        let from = self.tasks[task].cpu;
        let later = self
            .find_later_rq(ctx, task)
            .filter(|&to| to != from && self.rqs[to].dl.would_be_earliest(&self.tasks[task].dl));
        let any = || self.tasks[task].cpus_allowed.first_and(&self.hotplug.active);
        let to = later.or_else(any).unwrap_or_else(|| self.select_fallback_rq(ctx, from, task));
        self.sub_running_bw(ctx, from, task);
        let bw = self.tasks[task].dl.dl_bw;
        self.rqs[from].dl.sub_rq_bw(bw);
        self.rqs[to].dl.add_rq_bw(bw);
        self.add_running_bw(ctx, to, task);
        self.set_task_cpu(ctx, task, to);
        let _rq = self.rq_lock_clocked(ctx, to);
        to
    }

    /// Begins the next period of a throttled task, or handles the timer of a fair server.
    ///
    /// Rules, in order:
    /// 1. A task that has left the class or is not throttled any more is skipped.
    /// 2. A sleeping task only gets its budget back.
    /// 3. Any other task becomes runnable on its CPU and may preempt there.
    /// 4. If its CPU now has a task that could be moved, one is pushed to another CPU.
    pub(crate) fn dl_task_timer(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let p = &self.tasks[task];
        let cpu = p.cpu;
        if p.dl.server.is_server {
            return self.dl_server_timer(ctx, cpu);
        }
        if p.class != SchedClass::Deadline || p.dl.inherited.is_some() || !p.dl.is_throttled {
            return;
        }
        let _rq = self.rq_lock_clocked(ctx, cpu);
        if !self.tasks[task].is_queued() {
            let State { rqs, tasks, .. } = &mut self.state;
            tasks[task].dl.replenish(rqs[cpu].clock);
            return;
        }
        let cpu = if self.rqs[cpu].online { cpu } else { self.dl_task_offline_migration(ctx, task) };
        self.enqueue_task_dl(ctx, cpu, task, EnqueueFlags { replenish: true, ..EnqueueFlags::default() });
        self.state.fair.report_throttling(ctx, &self.state.rqs, &mut self.state.tasks, task);
        let curr = self.rqs[cpu].curr;
        if self.tasks[curr].class == SchedClass::Deadline {
            self.check_preempt_curr_dl(ctx, cpu, task);
        } else {
            self.resched_curr(ctx, cpu);
        }
        if !self.rqs[cpu].dl.pushable().is_empty() {
            self.push_dl_task(ctx, cpu);
        }
    }

    /// Handles the timer of a fair server (`dl_server_timer()`, 6.12).
    ///
    /// Rules, in order:
    /// 1. If fair tasks have run since the timer was started, the wait is longer by that time. Less than 1 ms is
    ///    ignored.
    /// 2. Otherwise the tasks have starved: the server is replenished and queued, and preempts all but deadline tasks
    ///    with an earlier deadline.
    fn dl_server_timer(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        const MIN_EXTENSION_NS: u64 = 1_000_000;
        let server = fair_server(cpu);
        let dl = &self.tasks[server].dl;
        if !dl.is_throttled || dl.dl_runtime == 0 {
            return;
        }
        let _rq = self.rq_lock_clocked(ctx, cpu);
        let clock = self.rqs[cpu].clock;
        let mut expires = self.rqs[ctx.cpu].timers.expired_at();
        let resolution = self.timer_resolution_ns;
        let dl = &mut self.tasks[server].dl;
        if dl.server.is_armed {
            if time_before(clock, dl.latest_start().wrapping_sub(MIN_EXTENSION_NS)) {
                forward(&mut expires, ctx.now.0, dl.latest_start().wrapping_sub(clock).max(resolution));
                self.state.tasks[fair_server(cpu)].dl.report_server(ctx, cpu, ServerStep::Extended);
                return self.start_timer(ctx, Timer::DlTask(server), expires);
            }
            dl.server.is_running = true;
        }
        let step = if dl.server.is_armed { ServerStep::Starved } else { ServerStep::Replenished };
        let flags = EnqueueFlags { replenish: true, ..EnqueueFlags::default() };
        self.enqueue_dl_entity(ctx, cpu, server, flags);
        self.state.tasks[fair_server(cpu)].dl.report_server(ctx, cpu, step);
        self.resched_for_server(ctx, cpu);
        if !self.rqs[cpu].dl.pushable().is_empty() {
            self.push_dl_task(ctx, cpu);
        }
    }

    /// Handles the zero-lag time of a task that sleeps, has left the class or has ended, or of a server that was
    /// stopped: its bandwidth is released.
    // DIFFERS: Linux 6.1 crashes (it divides by the number of CPUs in the root domain) if the zero-lag timer
    // expires for a task that left the deadline class on an offline CPU. In fairlab that task stays runnable
    // and runs when the CPU comes back.
    pub(crate) fn inactive_task_timer(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        let _rq = self.rq_lock_clocked(ctx, cpu);
        let p = &self.tasks[task];
        let (is_dead, is_non_contending) = (p.state == TaskState::Dead, p.dl.is_non_contending);
        if !p.dl.server.is_server && (is_dead || p.class != SchedClass::Deadline) {
            if is_dead && is_non_contending {
                self.sub_running_bw(ctx, cpu, task);
                let State { rqs, tasks, .. } = &mut self.state;
                rqs[cpu].dl.sub_rq_bw(tasks[task].dl.dl_bw);
            }
            let State { tasks, dl_root, hotplug, .. } = &mut self.state;
            dl_root.release_admitted(&mut tasks[task].dl, &hotplug.active);
        } else if is_non_contending {
            self.sub_running_bw(ctx, cpu, task);
            self.tasks[task].dl.is_non_contending = false;
        }
    }
}
