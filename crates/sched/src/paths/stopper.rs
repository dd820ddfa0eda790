// SPDX-License-Identifier: GPL-2.0-or-later
//! Stoppers: tasks of the highest class, which move running tasks away from their CPU.
//!
//! Models the parts of `stop_machine.c` that the scheduler uses (6.1).

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::stop_work::StopWork;
use crate::state::task::TaskState;
use crate::types::ids::CpuId;

impl Sched {
    /// Queues work for the stopper of `cpu` and wakes the stopper (`stop_one_cpu_nowait()`).
    pub(crate) fn stop_one_cpu_nowait(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, work: StopWork) {
        self.rqs[cpu].stop_works.push_back(work);
        let stopper = self.rqs[cpu].stop;
        self.wake_up_process(ctx, stopper);
    }

    /// Runs the stopper of the executing CPU at once if it has work, for a caller that waits for the work.
    ///
    /// The CPU reschedules to its stopper without waiting for the interrupt. A stopper that was woken from
    /// another cache waits in the call-function queue, which is therefore served first. Yielded paths of the
    /// CPU are completed first, and nothing yields meanwhile.
    pub fn handle_awaited_stopper(&mut self, ctx: &mut Ctx<'_>) {
        self.finish_paths(ctx, ctx.cpu);
        self.without_yielding(|sched| sched.run_awaited_stopper(ctx));
    }

    fn run_awaited_stopper(&mut self, ctx: &mut Ctx<'_>) {
        let rq = &self.rqs[ctx.cpu];
        if rq.stop_works.is_empty() {
            return;
        }
        if !self.tasks[rq.stop].is_queued() {
            self.flush_call_queue(ctx);
            self.run_softirqs(ctx);
        }
        if self.is_idle_task_running(ctx.cpu) {
            self.handle_idle_exit(ctx);
        }
        self.handle_reschedule(ctx);
        self.handle_stopper(ctx);
    }

    /// Runs all work of the stopper that executes on this CPU, then blocks the stopper.
    pub fn handle_stopper(&mut self, ctx: &mut Ctx<'_>) {
        let cpu = ctx.cpu;
        while let Some(work) = self.rqs[cpu].stop_works.pop_front() {
            match work {
                StopWork::ActiveBalance => self.active_load_balance_cpu_stop(ctx, cpu),
                StopWork::Deactivate => self.deactivate_cpu(ctx),
                StopWork::Activate => self.activate_cpu(ctx),
                StopWork::Push(task) => self.balance_push_cpu_stop(ctx, task),
                StopWork::Exec { task, to } => self.exec_cpu_stop(ctx, task, to),
                StopWork::Migrate { task, to, waiter } => {
                    self.migration_cpu_stop(ctx, task, to);
                    match waiter {
                        Some(waiter) if self.tasks[waiter].state == TaskState::Running => {
                            self.ttwu_runnable(ctx, waiter);
                        }
                        Some(waiter) => {
                            self.wake_up_process(ctx, waiter);
                        }
                        None => {}
                    }
                }
            }
        }
        let stopper = self.rqs[cpu].stop;
        self.tasks[stopper].state = TaskState::Interruptible;
        self.schedule(ctx);
    }
}
