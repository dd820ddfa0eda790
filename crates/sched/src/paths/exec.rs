// SPDX-License-Identifier: GPL-2.0-or-later
//! A task begins another program. It has nothing in caches that it will need again, so it costs least to move it now.
//!
//! Models `sched_exec()`, and `migration_cpu_stop()` as far as it serves that (6.1). The other classes than the fair one never
//! move a task on this occasion.

use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::interface::wakeup::WakeFlags;
use crate::paths::sched::Sched;
use crate::rules::wakeup::search::Selection;
use crate::state::stop_work::StopWork;
use crate::state::task::SchedClass;
use crate::types::ids::{CpuId, TaskId};

impl Sched {
    /// The running task calls exec.
    ///
    /// Rules, in order:
    /// 1. The widest domain that balances on this occasion gives its idlest CPU; without one the task stays.
    /// 2. If that is another CPU and in use, the stopper of this one preempts the task and moves it there. The task stays
    ///    runnable all the time.
    pub fn handle_exec(&mut self, ctx: &mut Ctx<'_>) {
        let cpu = ctx.cpu;
        let task = self.rqs[cpu.index()].curr;
        if self.tasks[task.index()].class != SchedClass::Fair {
            return;
        }
        let flags = WakeFlags { exec: true, ..WakeFlags::default() };
        let Selection::Chosen(decision) = self.select_task_rq_fair(ctx, task, cpu, flags) else {
            unreachable!("a task that calls exec goes to the idlest CPU, which is found at once")
        };
        ctx.report(Event::WakeupDecision(&decision));
        if decision.cpu != cpu && self.hotplug.active.contains(decision.cpu) {
            self.stop_one_cpu_nowait(ctx, cpu, StopWork::Exec { task, to: decision.cpu });
        }
    }

    /// The stopper of the CPU on which a task has called exec moves it, unless it has left meanwhile.
    pub(crate) fn exec_cpu_stop(&mut self, ctx: &mut Ctx<'_>, task: TaskId, to: CpuId) {
        self.flush_call_queue(ctx);
        self.finish_arrival(ctx, task);
        if self.tasks[task.index()].cpu == ctx.cpu {
            self.migrate_from_here(ctx, task, to);
        }
    }
}
