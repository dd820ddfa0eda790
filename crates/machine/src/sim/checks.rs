// SPDX-License-Identifier: GPL-2.0-or-later
//! Check of the scheduler's invariants after every event. Checking takes far more time than the run itself.

use crate::engine::Engine;
use crate::event::EventKind;
use crate::state::{Checks, Machine};
use fairlab_sched::check::InvariantChecker;
use fairlab_sched::ctx::IpiKind;
use fairlab_sched::ids::CpuId;

impl<E: Engine> Machine<E> {
    /// Enables a check of all scheduler invariants after every event. The check does not affect the run.
    ///
    /// `repeat` is the command that repeats the run. A broken invariant panics with that command, the event,
    /// and the values.
    pub fn check_every_event(&mut self, repeat: impl Into<String>) {
        let (checker, repeat) = (InvariantChecker::default(), repeat.into());
        self.checks = Some(Checks { checker, repeat, check: Self::check_now });
    }

    /// Checks the invariants if checks are enabled. `after` is the event that was handled; `None` at the
    /// start of the run.
    #[inline]
    pub(crate) fn check(&mut self, after: Option<EventKind>) {
        if let Some(Checks { check, .. }) = self.checks {
            check(self, after);
        }
    }

    #[cold]
    fn check_now(&mut self, after: Option<EventKind>) {
        let Some(checks) = &mut self.checks else { return };
        let sched = self.sched.as_sched();
        let broken = sched.and_then(|sched| checks.checker.check(sched).err()).map(|broken| broken.to_string());
        let Some(broken) = broken.or_else(|| self.lost_reschedule()).or_else(|| self.unfinished_work()) else { return };
        if let Some(checks) = &self.checks {
            panic!(
                "broken invariant at {} ns, after event {} ({after:?}): {broken}\nrepeat with: {}",
                self.now.0, self.counters.events, checks.repeat
            );
        }
    }

    /// Returns the violation if a settled CPU outside the kernel must reschedule, no interrupt is on its way to
    /// it, and its task is not in a system call that the kernel does not preempt.
    fn lost_reschedule(&self) -> Option<String> {
        let is_lost = |&cpu: &CpuId| {
            self.sched.need_resched(cpu)
                && self.sched.is_online(cpu)
                && !self.sched.is_ipi_pending(cpu, IpiKind::Reschedule)
                && !self.cpus[cpu.index()].kernel.is_busy()
                && self.unpreemptible_task(cpu).is_none()
        };
        let cpu = self.sched.cpu_ids().find(is_lost)?;
        Some(format!(
            "CPU {} has TIF_NEED_RESCHED set, but it does not reschedule and no interrupt is on its way",
            cpu.0
        ))
    }

    /// Returns the violation if a CPU outside the kernel has kernel work or holds a lock. A CPU can hold a
    /// granted lock only while it is busy.
    fn unfinished_work(&self) -> Option<String> {
        let is_wrong = |&cpu: &CpuId| {
            let kernel = &self.cpus[cpu.index()].kernel;
            !kernel.is_busy() && !self.is_quiescent(cpu)
        };
        let cpu = self.sched.cpu_ids().find(is_wrong)?;
        Some(format!("CPU {} is not in the kernel but has kernel work: {:?}", cpu.0, self.cpus[cpu.index()].kernel))
    }
}
