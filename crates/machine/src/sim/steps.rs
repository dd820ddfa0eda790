// SPDX-License-Identifier: GPL-2.0-or-later
//! What a task does when it gets to a step that takes no CPU time, or when the work of a run step is done.
//!
//! A task goes on to its next step before the scheduler is called, because that may switch to another task: after a
//! wake-up it continues behind the step that blocked it.

use super::phases::KernelWork;
use super::sync::{Resume, StepOutcome};
use super::tasks::{FULL_SPEED, to_policy, work_in};
use super::{Machine, RunError};
use crate::engine::Engine;
use crate::event::EventKind;
use crate::observer::{KernelPath, MachineEvent, Observer};
use fairlab_sched::ids::{CpuId, GroupId};
use fairlab_sched::task::Uclamp;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::{Step, TimerMode, TimerRef};

/// A step that is busy for wall time looks at the clock after this much work, as rt-app does.
const WALL_CHUNK: Nanos = Nanos::from_micros(32);

impl<E: Engine> Machine<E> {
    /// Does the step at which a running task has arrived.
    pub(super) fn step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) -> Result<(), RunError> {
        if self.tasks[task].resume != Resume::Nothing {
            let outcome = self.resume_owner(observer, cpu, task);
            self.finish_step(cpu, task, outcome);
            return Ok(());
        }
        let step = self.tasks[task].step;
        if matches!(step, Step::Send(_) | Step::Offer { .. } | Step::Receive(_)) && self.charges_first(cpu, task) {
            return Ok(());
        }
        match step {
            Step::Run(_) => {
                self.next_step(task);
                if matches!(self.tasks[task].step, Step::Run(_)) {
                    self.plan(task);
                }
            }
            Step::RunWall(time) => self.run_for_wall_time(task, time),
            Step::Spin(time) => self.spin_for_wall_time(task, time),
            Step::Offer { channel, or_sleep } if self.is_full(channel) => {
                self.next_step(task);
                self.sleep_until(cpu, task, self.now + or_sleep);
            }
            Step::Wake { target, sync } => {
                self.continue_task(task);
                self.wake_by_step(observer, cpu, target, sync);
            }
            Step::WaitWake => {
                if core::mem::take(&mut self.tasks[task].is_wake_pending) {
                    self.continue_task(task);
                } else {
                    self.next_step(task);
                    self.block(cpu, task);
                }
            }
            Step::Sleep(time) => {
                self.next_step(task);
                self.sleep_until(cpu, task, self.now + time);
            }
            Step::AwaitOrigin => {
                let origin = super::START + self.workload.tasks[self.tasks[task].spec].timer_origin;
                if origin <= self.now {
                    self.continue_task(task);
                } else {
                    self.next_step(task);
                    self.sleep_until(cpu, task, origin);
                }
            }
            Step::WaitIo(time) => {
                self.next_step(task);
                self.tasks[task].waits_for_io = true;
                self.sleep_until(cpu, task, self.now + time);
            }
            Step::Timer { timer, period, mode } => self.wait_for_timer(observer, cpu, task, timer, period, mode),
            Step::Yield => {
                self.continue_task(task);
                self.push_work(cpu, KernelWork::Yield);
            }
            Step::Exec => {
                self.continue_task(task);
                self.push_work(cpu, KernelWork::Exec);
            }
            Step::Exit => {
                self.tasks[task].dead = true;
                self.push_work(cpu, KernelWork::Exit);
            }
            Step::Fork(template) => {
                self.continue_task(task);
                self.fork_template(observer, cpu, template)?;
            }
            Step::SetAttributes(set) => {
                self.continue_task(task);
                self.set_attributes(observer, cpu, task, set)?;
            }
            Step::RunSoftirqs => self.check_softirqs(cpu, task),
            Step::BeginTransition(domain) => self.begin_transition(cpu, task, domain),
            Step::EndTransition(domain) => self.end_transition(observer, cpu, task, domain),
            Step::Mark(phase) => {
                if let Some(place) = self.tasks[task].behaviour.loop_place() {
                    observer.machine_event(self.now, &MachineEvent::LoopBegins { task, place });
                }
                self.continue_task(task);
                observer.machine_event(self.now, &MachineEvent::Mark { task, phase });
            }
            _ => self.sync_step(observer, cpu, task),
        }
        Ok(())
    }

    /// Steps about objects that tasks share.
    fn sync_step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) {
        let step = self.tasks[task].step;
        self.next_step(task);
        let outcome = match step {
            Step::Lock(mutex) => self.lock(observer, cpu, task, mutex),
            Step::Unlock(mutex) => {
                self.unlock(observer, cpu, task, mutex);
                StepOutcome::GoesOn
            }
            Step::CondWait { cond, mutex } => {
                self.wait_for_cond(observer, cpu, task, cond, mutex);
                StepOutcome::Waits
            }
            Step::CondSync { cond, mutex } => {
                self.signal(observer, cpu, cond, false);
                self.wait_for_cond(observer, cpu, task, cond, mutex);
                StepOutcome::Waits
            }
            Step::CondSignal(cond) => {
                self.signal(observer, cpu, cond, false);
                StepOutcome::GoesOn
            }
            Step::CondBroadcast(cond) => {
                self.signal(observer, cpu, cond, true);
                StepOutcome::GoesOn
            }
            Step::Barrier(barrier) => self.arrive(observer, cpu, task, barrier),
            Step::SemPost(semaphore) => {
                self.post(observer, cpu, semaphore);
                StepOutcome::GoesOn
            }
            Step::SemWait(semaphore) => self.take_semaphore(task, semaphore),
            Step::Send(channel) | Step::Offer { channel, .. } => self.send(observer, cpu, task, channel),
            Step::Receive(channel) => self.receive(observer, cpu, task, channel),
            Step::Suspend(name) => {
                self.suspend(task, name);
                StepOutcome::Waits
            }
            Step::Resume(name) => {
                self.resume_all(observer, cpu, name);
                StepOutcome::GoesOn
            }
            Step::FutexArm(futex) => {
                self.arm_futex(futex);
                StepOutcome::GoesOn
            }
            Step::FutexPost(futex) => {
                self.post_futex(observer, cpu, futex);
                StepOutcome::GoesOn
            }
            Step::FutexWait(futex) => self.wait_for_futex(task, futex),
            Step::Enlist { list, futex } => {
                self.enlist(task, list, futex);
                StepOutcome::GoesOn
            }
            Step::PostAll(list) => self.post_all(observer, cpu, task, list),
            Step::LockCpu => self.lock_cpu(task, cpu),
            Step::UnlockCpu => {
                self.unlock_cpu(task);
                StepOutcome::GoesOn
            }
            other => unreachable!("{other:?} is no step about shared objects"),
        };
        self.finish_step(cpu, task, outcome);
    }

    /// After a step about shared objects, or the rest of one. As long as a rest is to be done, the work of the next step, at
    /// which the task has arrived already, is put aside.
    fn finish_step(&mut self, cpu: CpuId, task: usize, outcome: StepOutcome) {
        let host = &mut self.tasks[task];
        if host.resume == Resume::Nothing {
            host.work_left += core::mem::take(&mut host.put_aside);
        } else {
            // Without the step's work, only kernel work is left, which comes before the rest.
            let of_step = host.step_work();
            if host.put_aside == 0 && of_step > 0 {
                host.put_aside = of_step;
                host.work_left = host.work_left.saturating_sub(of_step);
            }
        }
        match outcome {
            StepOutcome::Waits => self.block(cpu, task),
            StepOutcome::GoesOn => self.replan(task),
            StepOutcome::Spins => self.spin(task),
        }
    }

    /// A message has its price, which is paid before it moves: the system call, and copying. Returns whether that takes time.
    fn charges_first(&mut self, cpu: CpuId, task: usize) -> bool {
        let (channel, sends) = match self.tasks[task].step {
            Step::Send(channel) | Step::Offer { channel, .. } => (channel, true),
            Step::Receive(channel) => (channel, false),
            _ => return false,
        };
        if core::mem::replace(&mut self.tasks[task].has_paid, true) {
            return false;
        }
        self.tasks[task].puts_off = sends && self.is_loopback(channel) && self.defers_messages(cpu);
        self.tasks[task].work_left = work_in(self.transfer_price(cpu, task, channel, sends), FULL_SPEED);
        self.replan(task);
        self.tasks[task].work_left > 0
    }

    /// Goes on to the next step, whose work begins to count at once.
    pub(super) fn continue_task(&mut self, task: usize) {
        self.next_step(task);
        self.replan(task);
    }

    fn replan(&mut self, task: usize) {
        if self.tasks[task].work_left > 0 && self.tasks[task].running {
            self.plan(task);
        }
    }

    /// The running task blocks, after what its step has to do before.
    fn block(&mut self, cpu: CpuId, task: usize) {
        let host = &mut self.tasks[task];
        (host.will_block, host.sleeps_until) = (true, None);
        self.push_work(cpu, KernelWork::Block { task });
    }

    /// The running task blocks now.
    pub(super) fn yield_to_others(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) {
        let for_io = core::mem::take(&mut self.tasks[task].waits_for_io);
        self.enter(observer, cpu, KernelPath::Schedule, |sched, ctx| {
            if for_io { sched.handle_block_io(ctx) } else { sched.handle_block(ctx) }
        });
    }

    /// Wakes a task that waits for something that has come, not for a wake step.
    pub(super) fn wake(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, target: usize, sync: bool) {
        self.wake_or_remember(observer, cpu, target, sync, false);
    }

    /// A wake step: one that finds its target awake is remembered; one whose target was not forked yet is lost.
    fn wake_by_step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, target: usize, sync: bool) {
        self.wake_or_remember(observer, cpu, target, sync, true);
    }

    fn wake_or_remember(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        target: usize,
        sync: bool,
        is_remembered: bool,
    ) {
        if self.wants.events {
            observer
                .machine_event(self.now, &MachineEvent::Waking { task: target, since: self.now, by_interrupt: false });
        }
        if self.has_work(cpu) || self.resume_irqs_off_paths(observer, cpu) {
            self.push_work(cpu, KernelWork::Wake { target, sync, is_remembered });
            self.wake_on(observer, cpu);
        } else {
            self.wake_now(observer, cpu, target, sync, is_remembered);
        }
    }

    pub(super) fn sleep_until(&mut self, cpu: CpuId, task: usize, until: Nanos) {
        let version = self.tasks[task].sleep;
        self.tasks[task].sleep_cpu = cpu;
        self.events.push(until, EventKind::SleepEnd(cpu, task as u32, version));
        self.record_sleep(cpu, until, task as u32, version);
        self.block(cpu, task);
        self.tasks[task].sleeps_until = Some(until);
    }

    /// A sleep is over: an interrupt on the CPU on which it began wakes the task.
    pub(super) fn end_sleep(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) {
        let host = &mut self.tasks[task];
        host.sleep = host.sleep.wrapping_add(1);
        // The CPU may have been busy with interrupts off since then, or in an idle state.
        let since = host.sleeps_until.unwrap_or(self.now);
        if self.wants.events {
            observer.machine_event(self.now, &MachineEvent::Waking { task, since, by_interrupt: true });
        }
        self.wake_by_interrupt(observer, cpu, task);
    }

    /// Blocks until the next expiry of a timer, which is the last one plus the period; goes on if that has passed.
    fn wait_for_timer(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        timer: TimerRef,
        period: Nanos,
        mode: TimerMode,
    ) {
        self.next_step(task);
        let origin = super::START + self.workload.tasks[self.tasks[task].spec].timer_origin;
        let last = match timer {
            TimerRef::Shared(timer) => &mut self.sync.timers[timer],
            TimerRef::Own(timer) => &mut self.tasks[task].own_timers[timer],
        };
        let expiry = last.unwrap_or(origin) + period;
        let is_missed = expiry <= self.now;
        *last = Some(if is_missed && mode == TimerMode::Relative { self.now } else { expiry });
        observer.machine_event(self.now, &MachineEvent::TimerWoke { task, expired: expiry });
        if is_missed {
            self.replan(task);
        } else {
            self.sleep_until(cpu, task, expiry);
        }
    }

    /// Busy in chunks of work until wall time has passed since the first one began.
    fn run_for_wall_time(&mut self, task: usize, time: Nanos) {
        let start = *self.tasks[task].wall_start.get_or_insert(self.now);
        if self.now - start >= time {
            self.continue_task(task);
        } else {
            self.tasks[task].work_left = u128::from(WALL_CHUNK.0) * u128::from(FULL_SPEED);
            self.plan(task);
        }
    }

    /// Busy until wall time has passed; [`Machine::plan`] knows how much work that is.
    fn spin_for_wall_time(&mut self, task: usize, time: Nanos) {
        let start = *self.tasks[task].wall_start.get_or_insert(self.now);
        if self.now - start >= time {
            self.continue_task(task);
        } else {
            self.plan(task);
        }
    }

    fn fork_template(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, template: usize) -> Result<(), RunError> {
        let instance = self.tasks.iter().filter(|task| task.spec == template && task.id.is_some()).count() as u32;
        if let Some(limit) = self.workload.fork_limit.filter(|&limit| instance >= limit) {
            return Err(RunError::ForkLimit { task: self.workload.tasks[template].name.clone(), limit });
        }
        let task = self.add_task(template, instance);
        self.fork(observer, cpu, task);
        Ok(())
    }

    /// A running task changes its own attributes, by system calls.
    fn set_attributes(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        set: usize,
    ) -> Result<(), RunError> {
        let attributes = self.workload.tasks[self.tasks[task].spec].attributes[set].clone();
        let id = self.tasks[task].id.expect("a running task was forked");
        let mask = attributes.affinity.as_ref().map(|affinity| self.to_mask(affinity));
        let group = attributes.group.map(|group| group.map_or(GroupId::ROOT, |group| self.groups[group]));
        let policy = attributes.policy.map(to_policy);
        let set = self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
            policy.map_or(Ok(()), |policy| {
                sched.check_deadline_affinity(id, policy)?;
                sched.set_policy(ctx, id, policy)
            })
        });
        set.map_err(|why| self.refused_policy(task, why))?;
        self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
            if let Some(nice) = attributes.nice {
                sched.set_nice(ctx, id, nice);
            }
            if attributes.uclamp_min.is_some() || attributes.uclamp_max.is_some() {
                let old = sched.task_uclamp(id);
                let min = attributes.uclamp_min.unwrap_or(old.min);
                sched.set_uclamp(ctx, id, Uclamp { min, max: attributes.uclamp_max.unwrap_or(old.max) });
            }
            if let Some(group) = group {
                sched.move_to_group(ctx, id, group);
            }
            if let Some(mask) = mask
                && sched.set_affinity(ctx, id, &mask, Some(id))
            {
                sched.handle_block(ctx);
            }
        });
        Ok(())
    }
}
