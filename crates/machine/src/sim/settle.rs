// SPDX-License-Identifier: GPL-2.0-or-later
//! Settling of a CPU after an event.

use super::kernel::KernelProgress;
use crate::engine::Engine;
use crate::interface::error::{RunError, SimResult};
use crate::interface::observation::KernelPath;
use crate::observer::Observer;
use crate::parts::cpu::IdleLoop;
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::paths::entry::Entry;
use fairlab_sched::paths::idle::IdleTick;
use fairlab_sched::state::snapshot::CpuAction;

/// Number of steps of one CPU at one instant after which its task's program is considered endless.
const MAX_STEPS_AT_ONCE: u32 = 100_000;

impl<E: Engine> Machine<E> {
    /// Lets a CPU reschedule, run its stopper, idle and continue its task, until only the passing of time is
    /// left.
    pub(crate) fn settle(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> SimResult {
        for _ in 0..MAX_STEPS_AT_ONCE {
            match self.kernel_step(observer, cpu)? {
                KernelProgress::Busy => return Ok(()),
                KernelProgress::Done => continue,
                KernelProgress::Nothing => {}
            }
            let task = match self.sched.next_action(cpu) {
                CpuAction::Reschedule => match self.unpreemptible_task(cpu) {
                    Some(task) => task,
                    // A task that the scheduler has left on an offline CPU waits until the CPU comes back.
                    None if !self.sched.is_online(cpu) || !self.reschedule(observer, cpu) => return Ok(()),
                    None => continue,
                },
                CpuAction::Stopper => {
                    if !self.try_enter(cpu, Entry::Stopper) {
                        return Ok(());
                    }
                    self.enter(observer, cpu, KernelPath::Stopper, |sched, ctx| sched.handle_stopper(ctx));
                    continue;
                }
                CpuAction::Idle => {
                    self.release_unused_locks(cpu);
                    if self.stay_in_idle_loop(cpu) {
                        if core::mem::take(&mut self.cpus[cpu.index()].kernel.will_sleep) {
                            self.enter_idle_state(observer, cpu);
                        }
                        return Ok(());
                    }
                    self.enter_idle_loop(observer, cpu);
                    continue;
                }
                CpuAction::Task(id) => {
                    self.release_unused_locks(cpu);
                    let Some(task) = self.running_sim_index(id) else { return Ok(()) };
                    task
                }
            };
            self.account(task);
            if self.tasks[task].work_left > 0 {
                self.replan_after_kernel(cpu, task);
                return Ok(());
            }
            self.step(observer, cpu, task)?;
            if !self.kernel_takes_time {
                self.perform_work(observer, cpu)?;
            }
        }
        let task = self.running_task(cpu).map(|task| self.tasks[task].name.clone());
        Err(Box::new(RunError::NoProgress { cpu, at: self.elapsed(), task }))
    }

    /// Whether the idle task of a CPU stays in its loop.
    fn stay_in_idle_loop(&mut self, cpu: CpuId) -> bool {
        if self.needs_idle_state_choice(cpu) {
            self.cpus[cpu.index()].idle_loop = IdleLoop::Outside;
        }
        let place = &mut self.cpus[cpu.index()].idle_loop;
        if *place == IdleLoop::Left && self.hardware.idle_loop_once {
            *place = IdleLoop::Inside;
        }
        place.is_inside()
    }

    fn enter_idle_loop(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        let tick = self.choose_idle_state(cpu);
        let idles = self.enter(observer, cpu, KernelPath::IdleEnter, |sched, ctx| sched.handle_idle_enter(ctx, tick));
        let is_stopped = self.sched.is_tick_stopped(cpu);
        // A path that has yielded enters the loop again later.
        let is_inside = self.sched.yielded_path(cpu).is_none();
        let host = &mut self.cpus[cpu.index()];
        host.idle_loop = match (is_inside, is_stopped || tick == IdleTick::Stop) {
            (false, _) => IdleLoop::Outside,
            (true, true) => IdleLoop::Inside,
            (true, false) => IdleLoop::Ticking,
        };
        host.kernel.will_sleep = idles;
        if host.idle_loop != IdleLoop::Ticking && self.timekeeper == Some(cpu) {
            self.timekeeper = None;
        }
    }

    /// Reschedules on a CPU; an idle CPU leaves its loop first. Returns false if the CPU must first wait for
    /// its own lock.
    #[inline]
    fn reschedule(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> bool {
        if self.is_in_idle_loop(cpu) {
            self.cpus[cpu.index()].idle_loop = IdleLoop::Left;
            // A phase with a cost does so, too.
            self.wake_from_idle_state(cpu);
            self.enter(observer, cpu, KernelPath::IdleExit, |sched, ctx| sched.handle_idle_exit(ctx));
            if self.kernel_takes_time || self.sched.next_action(cpu) != CpuAction::Reschedule {
                return true;
            }
        }
        if !self.try_enter(cpu, Entry::Reschedule) {
            return false;
        }
        self.enter(observer, cpu, KernelPath::Schedule, |sched, ctx| sched.handle_reschedule(ctx));
        true
    }
}
