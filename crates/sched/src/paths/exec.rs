// SPDX-License-Identifier: GPL-2.0-or-later
//! Balancing at exec: a task that starts another program has no cache footprint to lose, so moving it is
//! cheap.
//!
//! Models `sched_exec()`, and the part of `migration_cpu_stop()` that it uses (6.1). Only the fair class
//! moves tasks at exec.

use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::interface::wakeup::WakeFlags;
use crate::paths::sched::Sched;
use crate::rules::wakeup::search::Selection;
use crate::state::stop_work::StopWork;
use crate::state::task::SchedClass;
use crate::types::ids::{CpuId, TaskId};

impl Sched {
    /// Handles an exec call of the running task.
    ///
    /// Rules, in order:
    /// 1. The widest domain with `SD_BALANCE_EXEC` selects its idlest CPU; without such a domain the task
    ///    stays.
    /// 2. If that is another, active CPU, the stopper of this CPU preempts the task and moves it. The task
    ///    stays runnable throughout.
    pub fn handle_exec(&mut self, ctx: &mut Ctx<'_>) {
        let cpu = ctx.cpu;
        let task = self.rqs[cpu].curr;
        if self.tasks[task].class != SchedClass::Fair {
            return;
        }
        let flags = WakeFlags { exec: true, ..WakeFlags::default() };
        let Selection::Chosen(decision) = self.select_task_rq_fair(ctx, task, cpu, flags) else {
            unreachable!("exec selects the idlest CPU, which needs no scan")
        };
        ctx.report(Event::WakeupDecision(&decision));
        if decision.cpu != cpu && self.hotplug.active.contains(decision.cpu) {
            self.stop_one_cpu_nowait(ctx, cpu, StopWork::Exec { task, to: decision.cpu });
        }
    }

    /// Moves a task that has called exec, in the stopper of its CPU, unless the task has left this CPU
    /// meanwhile.
    pub(crate) fn exec_cpu_stop(&mut self, ctx: &mut Ctx<'_>, task: TaskId, to: CpuId) {
        self.flush_call_queue(ctx);
        self.finish_arrival(ctx, task);
        if self.tasks[task].cpu == ctx.cpu {
            self.migrate_from_here(ctx, task, to);
        }
    }
}
