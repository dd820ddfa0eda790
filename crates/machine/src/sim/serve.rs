// SPDX-License-Identifier: GPL-2.0-or-later
//! Service of events by their CPU: interrupts, forks and changes.

use crate::engine::Engine;
use crate::event::EventKind;
use crate::interface::error::SimResult;
use crate::interface::observation::{KernelPath, MachineEvent};
use crate::observer::Observer;
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::KernelOp;

impl<E: Engine> Machine<E> {
    /// Handles an event on its CPU.
    pub(crate) fn serve_event(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, kind: EventKind) -> SimResult {
        // The event may have become stale while the CPU was busy.
        if self.is_stale(cpu, kind) || self.defer_to_idle_exit(kind) {
            return Ok(());
        }
        match kind {
            EventKind::Tick(_) => {
                self.counters.per_cpu[cpu.index()].ticks += 1;
                if self.interest.events {
                    observer.machine_event(self.now, &MachineEvent::Tick { cpu });
                }
                self.read_clocks(cpu);
                let keeps_time = self.claim_timekeeper(cpu);
                self.enter(observer, cpu, KernelPath::Tick, |sched, ctx| {
                    if keeps_time {
                        ctx.charge(KernelOp::Timekeeping);
                    }
                    sched.handle_tick(ctx);
                });
                self.record_fit(cpu);
                self.expire_deferred(cpu);
            }
            EventKind::Ipi(_, ipi) => {
                self.enter(observer, cpu, KernelPath::Interrupt, |sched, ctx| sched.handle_ipi(ctx, ipi));
            }
            EventKind::Timer(..) => {
                self.cpus[cpu.index()].timer.expire();
                self.enter(observer, cpu, KernelPath::Interrupt, |sched, ctx| sched.handle_timer(ctx));
            }
            EventKind::SleepEnd(_, task, _) => {
                self.cpus[cpu.index()].idle.clear_sleeps(self.now);
                self.end_sleep(observer, cpu, task as usize);
            }
            EventKind::NetRx(_) => self.raise_net_rx(observer, cpu),
            EventKind::GovernorWork(_, domain) => self.wake_governor_thread(observer, cpu, domain as usize),
            EventKind::Background(_, index) => self.wake_background(observer, cpu, index as usize),
            EventKind::Fork(_, task) => self.fork(observer, cpu, task as usize),
            EventKind::Change(index) => {
                let where_to = self.cpu_of_change(index as usize);
                if !self.is_between_paths(where_to) {
                    return self.queue_process_work(observer, where_to, kind);
                }
                self.apply_change(observer, index as usize)?;
            }
            other => unreachable!("{other:?} is not an event for one CPU's kernel"),
        }
        Ok(())
    }

    /// Whether the tick of a CPU advances the time of the machine. Assigns the duty if no CPU has it.
    ///
    /// The next CPU that ticks takes the duty. Among CPUs that tick at the same instant that is the fastest,
    /// whose interrupt arrives first. Among equally fast CPUs it is the one with the lowest number; that is
    /// an artefact of ordering.
    fn claim_timekeeper(&mut self, cpu: CpuId) -> bool {
        let keeper = self.timekeeper.unwrap_or_else(|| {
            // The choice does not matter if timekeeping has no cost.
            let is_alone =
                self.hardware.costs.op_ps(KernelOp::Timekeeping) == 0 || self.hardware.tick_skew > Nanos::ZERO;
            let ticking =
                self.sched.cpu_ids().filter(|&other| other == cpu || (!is_alone && self.ticks_later(other, cpu)));
            ticking.max_by_key(|&other| (self.speed_of(other), core::cmp::Reverse(other))).unwrap_or(cpu)
        });
        self.timekeeper = Some(keeper);
        keeper == cpu
    }

    /// Whether a CPU ticks at this instant as well, later in the order of events.
    fn ticks_later(&self, cpu: CpuId, than: CpuId) -> bool {
        cpu > than && self.sched.is_online(cpu) && !self.is_tickless(cpu)
    }

    /// Whether an event must be ignored: the tick has stopped, the timer was programmed again, or the target
    /// of a change no longer exists.
    pub(crate) fn is_stale(&self, cpu: CpuId, kind: EventKind) -> bool {
        match kind {
            EventKind::Tick(_) | EventKind::LateTick(_) => self.is_tickless(cpu),
            EventKind::Timer(_, version) => !self.cpus[cpu.index()].timer.is_programmed(version),
            EventKind::SleepEnd(_, task, version) => version != self.tasks[task as usize].sleep_version,
            EventKind::Change(index) => self.targets_no_task(index as usize),
            _ => false,
        }
    }
}
