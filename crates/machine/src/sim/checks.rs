// SPDX-License-Identifier: GPL-2.0-or-later
//! Checking the scheduler's invariants after every event. That takes far more time than the run itself.

use super::Machine;
use crate::engine::Engine;
use crate::event::EventKind;
use fairlab_sched::check::InvariantChecker;
use fairlab_sched::ctx::IpiKind;
use fairlab_sched::ids::CpuId;

/// What a machine that checks needs.
pub(crate) struct Checks {
    checker: InvariantChecker,
    /// The command that repeats the run.
    repeat: String,
}

impl<E: Engine> Machine<E> {
    /// Lets every event be followed by a check of all invariants of the scheduler. A run does the same with it as without.
    ///
    /// `repeat` is the command that repeats the run. A broken invariant panics with it, the event, and the values.
    pub fn check_every_event(&mut self, repeat: impl Into<String>) {
        self.checks = Some(Checks { checker: InvariantChecker::default(), repeat: repeat.into() });
    }

    /// Checks if that was asked for. `after` is what has just happened; `None`: the start of the run.
    #[inline]
    pub(super) fn check(&mut self, after: Option<EventKind>) {
        let Some(checks) = &mut self.checks else { return };
        let sched = self.sched.as_sched();
        let broken = sched.and_then(|sched| checks.checker.check(sched).err()).map(|broken| broken.to_string());
        let Some(broken) = broken.or_else(|| self.lost_reschedule()).or_else(|| self.forgotten_work()) else { return };
        if let Some(checks) = &self.checks {
            panic!(
                "broken invariant at {} ns, after event {} ({after:?}): {broken}\nrepeat with: {}",
                self.now.0, self.counters.events, checks.repeat
            );
        }
    }

    /// A CPU that has settled and is not in the kernel does not have to reschedule, unless an interrupt that will tell it so
    /// is under way.
    fn lost_reschedule(&self) -> Option<String> {
        let is_lost = |&cpu: &CpuId| {
            self.sched.need_resched(cpu)
                && !self.sched.is_ipi_pending(cpu, IpiKind::Reschedule)
                && !self.cpus[cpu.index()].kernel.is_busy()
        };
        let cpu = self.sched.cpu_ids().find(is_lost)?;
        Some(format!("CPU {} has to reschedule, but neither does it nor is an interrupt under way", cpu.0))
    }

    /// A CPU that is not in the kernel has nothing left to do there, and holds no lock. Who holds one has it from the queue.
    fn forgotten_work(&self) -> Option<String> {
        let is_wrong = |&cpu: &CpuId| {
            let kernel = &self.cpus[cpu.index()].kernel;
            !kernel.is_busy() && !kernel.is_clear()
        };
        let cpu = self.sched.cpu_ids().find(is_wrong)?;
        Some(format!("CPU {} is not in the kernel but has work there: {:?}", cpu.0, self.cpus[cpu.index()].kernel))
    }
}
