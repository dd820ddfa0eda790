// SPDX-License-Identifier: GPL-2.0-or-later
//! Cost of scheduler calls: a call is a *phase*. It reads and changes state at its start; then its CPU is
//! busy for the cost of the operations that the phase counted.

use crate::engine::{Engine, EngineLock, EnginePath, YieldedEnginePath};
use crate::interface::observation::{KernelPath, MachineEvent};
use crate::observer::Observer;
use crate::parts::units::{FULL_SPEED, whole_units, work_in};
use crate::state::Machine;
use fairlab_sched::ctx::{Effect, IpiKind};
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

impl<E: Engine> Machine<E> {
    /// Keeps a CPU busy for the cost of the operations that a call has counted. Returns the duration.
    pub(crate) fn charge(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, path: KernelPath) -> Nanos {
        let ps = self.hardware.costs.drain(&mut self.op_counts, &mut self.total_op_counts);
        let speed = self.speed_of(cpu);
        let waited = self.locks.take_wait(cpu);
        let lines = self.charge_lines(cpu, ps)
            + self.charge_remote_enqueue(cpu, path)
            + self.charge_queued_wakeup(cpu, path)
            + self.charge_migration(cpu);
        let lines = if path == KernelPath::Select { lines + self.charge_tracer(cpu, ps, lines) } else { lines };
        let work = work_in(ps, FULL_SPEED) + work_in(lines, speed);
        let took = self.cpus[cpu.index()].kernel.charge(work, speed);
        if took > Nanos::ZERO {
            self.extend_kernel_time(cpu, took);
        }
        if self.wants_kernel_paths {
            let began = waited.unwrap_or(self.now);
            let waited = self.now - began;
            let ends = !self.sched.yielded_path(cpu).is_some_and(|pause| has_more(path, pause));
            let event = MachineEvent::Kernel { cpu, path, began, took, waited, ends };
            observer.machine_event(self.now, &event);
        }
        if !self.cpus[cpu.index()].kernel.is_busy() {
            self.release_locks(cpu);
        }
        took
    }

    /// Converts a time at full speed to the time on a CPU at its present speed. Both have the same unit.
    fn wall_time(&self, cpu: CpuId, ps: u64) -> u64 {
        match self.speed_of(cpu) {
            FULL_SPEED => ps,
            speed => whole_units(u128::from(ps) * u128::from(FULL_SPEED), speed),
        }
    }

    /// Time that the tracer adds at the end of a search, in picoseconds of wall time.
    fn charge_tracer(&mut self, cpu: CpuId, ps: u64, lines: u64) -> u64 {
        if !self.tracer.is_on() {
            return 0;
        }
        let own_ps = self.wall_time(cpu, ps);
        let searches_on = self.sched.yielded_path(cpu).is_some_and(|pause| pause.path == EnginePath::Search);
        self.tracer.record_selection(cpu.index(), searches_on, self.now.0 * 1000 + own_ps + lines)
    }

    /// Time that a wake-up waits before its first store to another CPU's runqueue, in picoseconds of wall
    /// time.
    fn charge_remote_enqueue(&self, cpu: CpuId, path: KernelPath) -> u64 {
        if path != KernelPath::Wake {
            return 0;
        }
        let Some(pause) = self.sched.yielded_path(cpu) else { return 0 };
        let target = match pause.next {
            EngineLock::Held(target) => Some(target),
            // A compiled-kernel engine that has stored already.
            EngineLock::None if pause.path == EnginePath::Wakeup => {
                self.locks.held(cpu).iter().copied().find(|&lock| lock != cpu)
            }
            _ => None,
        };
        let Some(target) = target.filter(|&target| target != cpu) else { return 0 };
        self.hardware.costs.remote_enqueue_ps()[self.hardware.distance(cpu, target)]
    }

    /// Time of the cache lines that a wake-up moves if it is queued on another CPU, in picoseconds of wall time: here
    /// the waker's share, there that of the CPU which enqueues the task, charged with its interrupt.
    fn charge_queued_wakeup(&mut self, cpu: CpuId, path: KernelPath) -> u64 {
        if path == KernelPath::Interrupt {
            return core::mem::take(&mut self.cpus[cpu.index()].queued_lines_ps);
        }
        if !matches!(path, KernelPath::Select | KernelPath::Wake) {
            return 0;
        }
        let Some(calls) = self.hardware.costs.calls() else { return 0 };
        let mut ps = 0;
        for effect in &self.effects {
            if let Effect::SendIpi { cpu: target, kind: IpiKind::CallFunction } = *effect {
                let distance = self.hardware.distance(cpu, target);
                ps += calls.waker_lines_ps[distance];
                self.cpus[target.index()].queued_lines_ps += calls.woken_lines_ps[distance];
            }
        }
        ps
    }

    /// Time of the cache lines of the task that a phase switches to, if another CPU has run it last, in picoseconds of
    /// wall time.
    fn charge_migration(&self, cpu: CpuId) -> u64 {
        let Some(calls) = self.hardware.costs.calls().filter(|_| !self.effects.is_empty()) else { return 0 };
        let next = self.effects.iter().find_map(|effect| match *effect {
            Effect::Switch { cpu: on, next, .. } if on == cpu => self.tasks.index_of(next),
            _ => None,
        });
        let Some(last) = next.map(|next| self.tasks[next].cpu).filter(|&last| last != cpu) else { return 0 };
        calls.migration_lines_ps[self.hardware.distance(last, cpu)]
    }

    /// Time that cache-line transfers add to a phase, in picoseconds of wall time.
    fn charge_lines(&mut self, cpu: CpuId, ps: u64) -> u64 {
        if !self.lines.is_enabled() || self.op_counts.touches().is_empty() {
            return 0;
        }
        let other_ps = self.wall_time(cpu, ps);
        let sum = self.lines.touch_all(cpu, self.op_counts.touches(), self.now.0 * 1000, other_ps);
        self.op_counts.clear_touches();
        let counters = &mut self.counters.per_cpu[cpu.index()];
        counters.line_transfers += sum.count;
        counters.line_wait_ps += sum.waited_ps;
        sum.ps + sum.waited_ps
    }
}

/// Returns the kernel path to which a yielded path belongs.
pub(crate) const fn path_of(pause: YieldedEnginePath) -> KernelPath {
    match pause.path {
        EnginePath::Search => KernelPath::Select,
        EnginePath::Wakeup => KernelPath::Wake,
        EnginePath::InterruptEnd | EnginePath::Softirq => KernelPath::Softirq,
        EnginePath::NewIdle => KernelPath::NewIdle,
        EnginePath::IdleLoop => KernelPath::NohzIdle,
        EnginePath::NohzKick => KernelPath::Tick,
        EnginePath::Interrupt => KernelPath::Interrupt,
        EnginePath::Schedule => KernelPath::Schedule,
        EnginePath::Stopper => KernelPath::Stopper,
    }
}

/// Whether `path` is incomplete because of the path that has yielded.
fn has_more(path: KernelPath, pause: YieldedEnginePath) -> bool {
    path == path_of(pause) || (path == KernelPath::Schedule && pause.path == EnginePath::NewIdle)
}
