// SPDX-License-Identifier: GPL-2.0-or-later
//! Resumption of yielded paths of the scheduler.

use super::charge::path_of;
use crate::engine::{Engine, EngineLock, YieldedEnginePath};
use crate::observer::Observer;
use crate::state::Machine;
use fairlab_sched::ids::CpuId;

impl<E: Engine> Machine<E> {
    /// Resumes paths that have yielded with interrupts off, until the CPU is busy or none is left. Returns
    /// whether the CPU is busy.
    #[inline]
    pub(crate) fn resume_irqs_off_paths(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> bool {
        if self.sched.is_in_path(cpu) {
            self.resume_with_irqs_off(observer, cpu)
        } else {
            self.cpus[cpu.index()].kernel.is_busy()
        }
    }

    #[inline(never)]
    fn resume_with_irqs_off(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> bool {
        while !self.cpus[cpu.index()].kernel.is_busy() {
            let Some(pause) = self.sched.yielded_path(cpu).filter(|pause| !pause.irqs_on) else { return false };
            self.resume_path(observer, cpu, pause);
        }
        true
    }

    /// Resumes a yielded path of the scheduler once the CPU has the lock of its next phase.
    pub(crate) fn resume_path(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, pause: YieldedEnginePath) {
        if !self.acquire_or_spin(cpu, pause.next) {
            return;
        }
        self.enter(observer, cpu, path_of(pause), |sched, ctx| sched.handle_resume(ctx));
        let kernel = &mut self.cpus[cpu.index()].kernel;
        kernel.set_irqs(pause.irqs_on && matches!(pause.next, EngineLock::None));
        if !kernel.is_busy() {
            self.release_locks(cpu);
        }
        self.defer_softirqs(observer, cpu);
    }
}
