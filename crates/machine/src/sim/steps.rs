// SPDX-License-Identifier: GPL-2.0-or-later
//! Steps of task programs that take no CPU time, and the end of run steps.
//!
//! A task advances to its next step before the scheduler is called, because the call may switch to another
//! task. After a wake-up the task continues behind the step that blocked it.

use super::phases::KernelWork;
use super::sync::{ResumeAction, StepOutcome};
use super::tasks::{FULL_SPEED, to_policy, work_in};
use super::{Machine, RunError};
use crate::engine::Engine;
use crate::event::EventKind;
use crate::observer::{KernelPath, MachineEvent, Observer};
use fairlab_sched::ids::{CpuId, GroupId};
use fairlab_sched::task::Uclamp;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::{Step, TimerMode, TimerRef};

/// Work between two checks of the clock in a step that is busy for wall time, as in rt-app.
const WALL_CHUNK: Nanos = Nanos::from_micros(32);

impl<E: Engine> Machine<E> {
    /// Executes the step that a running task has reached.
    pub(super) fn step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) -> Result<(), RunError> {
        if self.tasks[task].resume != ResumeAction::Nothing {
            let outcome = self.resume_step(observer, cpu, task);
            self.finish_step(cpu, task, outcome);
            return Ok(());
        }
        let step = self.tasks[task].step;
        if matches!(step, Step::Send(_) | Step::Offer { .. } | Step::Receive(_))
            && self.charge_before_transfer(cpu, task)
        {
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
                self.tasks[task].is_dead = true;
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

    /// Executes a step on objects that tasks share.
    fn sync_step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) {
        let step = self.tasks[task].step;
        self.next_step(task);
        let outcome = match step {
            Step::Lock(mutex) => self.lock(observer, cpu, task, mutex),
            Step::Unlock(mutex) => {
                self.unlock(observer, cpu, task, mutex);
                StepOutcome::Continue
            }
            Step::CondWait { cond, mutex } => {
                self.wait_for_cond(observer, cpu, task, cond, mutex);
                StepOutcome::Wait
            }
            Step::CondSync { cond, mutex } => {
                self.signal(observer, cpu, cond, false);
                self.wait_for_cond(observer, cpu, task, cond, mutex);
                StepOutcome::Wait
            }
            Step::CondSignal(cond) => {
                self.signal(observer, cpu, cond, false);
                StepOutcome::Continue
            }
            Step::CondBroadcast(cond) => {
                self.signal(observer, cpu, cond, true);
                StepOutcome::Continue
            }
            Step::Barrier(barrier) => self.arrive_at_barrier(observer, cpu, task, barrier),
            Step::SemPost(semaphore) => {
                self.post(observer, cpu, semaphore);
                StepOutcome::Continue
            }
            Step::SemWait(semaphore) => self.take_semaphore(task, semaphore),
            Step::Send(channel) | Step::Offer { channel, .. } => self.send(observer, cpu, task, channel),
            Step::Receive(channel) => self.receive(observer, cpu, task, channel),
            Step::Suspend(name) => {
                self.suspend(task, name);
                StepOutcome::Wait
            }
            Step::Resume(name) => {
                self.resume_all(observer, cpu, name);
                StepOutcome::Continue
            }
            Step::FutexArm(futex) => {
                self.arm_futex(futex);
                StepOutcome::Continue
            }
            Step::FutexPost(futex) => {
                self.post_futex(observer, cpu, futex);
                StepOutcome::Continue
            }
            Step::FutexWait(futex) => self.wait_for_futex(task, futex),
            Step::Enlist { list, futex } => {
                self.join_waiter_list(task, list, futex);
                StepOutcome::Continue
            }
            Step::PostAll(list) => self.post_all(observer, cpu, task, list),
            Step::LockCpu => self.lock_cpu(task, cpu),
            Step::UnlockCpu => {
                self.unlock_cpu(task);
                StepOutcome::Continue
            }
            other => unreachable!("{other:?} is no step about shared objects"),
        };
        self.finish_step(cpu, task, outcome);
    }

    /// Ends a step on shared objects, or its rest. The task has already reached its next step. The work of
    /// that step is deferred until the rest is done.
    fn finish_step(&mut self, cpu: CpuId, task: usize, outcome: StepOutcome) {
        let host = &mut self.tasks[task];
        if host.resume == ResumeAction::Nothing {
            host.work_left += core::mem::take(&mut host.deferred_work);
        } else {
            // Without the step's work, only kernel work is left, which comes before the rest.
            let of_step = host.step_work();
            if host.deferred_work == 0 && of_step > 0 {
                host.deferred_work = of_step;
                host.work_left = host.work_left.saturating_sub(of_step);
            }
        }
        match outcome {
            StepOutcome::Wait => self.block(cpu, task),
            StepOutcome::Continue => self.replan(task),
            StepOutcome::Spin => self.spin(task),
        }
    }

    /// Charges the cost that precedes the transfer of a message: the system call and the copy. Returns
    /// whether that takes time.
    fn charge_before_transfer(&mut self, cpu: CpuId, task: usize) -> bool {
        let (channel, sends) = match self.tasks[task].step {
            Step::Send(channel) | Step::Offer { channel, .. } => (channel, true),
            Step::Receive(channel) => (channel, false),
            _ => return false,
        };
        if core::mem::replace(&mut self.tasks[task].has_charged, true) {
            return false;
        }
        self.tasks[task].defers_message = sends && self.is_loopback(channel) && self.defers_messages(cpu);
        self.tasks[task].work_left = work_in(self.transfer_cost_ps(cpu, task, channel, sends), FULL_SPEED);
        self.replan(task);
        self.tasks[task].work_left > 0
    }

    /// Advances to the next step, whose work counts from now on.
    pub(super) fn continue_task(&mut self, task: usize) {
        self.next_step(task);
        self.replan(task);
    }

    fn replan(&mut self, task: usize) {
        if self.tasks[task].work_left > 0 && self.tasks[task].running {
            self.plan(task);
        }
    }

    /// Queues the blocking of the running task, after the other work of its step.
    fn block(&mut self, cpu: CpuId, task: usize) {
        let host = &mut self.tasks[task];
        (host.will_block, host.sleeps_until) = (true, None);
        self.push_work(cpu, KernelWork::Block { task });
    }

    /// Blocks the running task now.
    pub(super) fn block_now(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) {
        let for_io = core::mem::take(&mut self.tasks[task].waits_for_io);
        self.enter(observer, cpu, KernelPath::Schedule, |sched, ctx| {
            if for_io { sched.handle_block_io(ctx) } else { sched.handle_block(ctx) }
        });
    }

    /// Wakes a task whose awaited event has come. The wake-up is not remembered if the task is awake.
    pub(super) fn wake(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, target: usize, sync: bool) {
        self.wake_or_remember(observer, cpu, target, sync, false);
    }

    /// Executes a wake step. A wake-up of an awake target is remembered; a wake-up of a target that was not
    /// forked is lost.
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
        if self.interest.events {
            observer
                .machine_event(self.now, &MachineEvent::Waking { task: target, since: self.now, by_interrupt: false });
        }
        if self.has_work(cpu) || self.resume_irqs_off_paths(observer, cpu) {
            self.push_work(cpu, KernelWork::Wake { target, sync, is_remembered });
            self.run_pending_wakeups(observer, cpu);
        } else {
            self.wake_now(observer, cpu, target, sync, is_remembered);
        }
    }

    pub(super) fn sleep_until(&mut self, cpu: CpuId, task: usize, until: Nanos) {
        let version = self.tasks[task].sleep_version;
        self.tasks[task].sleep_cpu = cpu;
        self.events.push(until, EventKind::SleepEnd(cpu, task as u32, version));
        self.record_sleep(cpu, until, task as u32, version);
        self.block(cpu, task);
        self.tasks[task].sleeps_until = Some(until);
    }

    /// Ends a sleep: an interrupt on the CPU on which the sleep began wakes the task.
    pub(super) fn end_sleep(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) {
        let host = &mut self.tasks[task];
        host.sleep_version = host.sleep_version.wrapping_add(1);
        // The CPU may have been busy with interrupts off since then, or in an idle state.
        let since = host.sleeps_until.unwrap_or(self.now);
        if self.interest.events {
            observer.machine_event(self.now, &MachineEvent::Waking { task, since, by_interrupt: true });
        }
        self.wake_by_interrupt(observer, cpu, task);
    }

    /// Blocks until the next expiry of a timer, which is the last one plus the period. Continues if that has
    /// passed.
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

    /// Keeps the task busy in chunks of work until `time` of wall time has passed since the first chunk
    /// began.
    fn run_for_wall_time(&mut self, task: usize, time: Nanos) {
        let start = *self.tasks[task].wall_start.get_or_insert(self.now);
        if self.now - start >= time {
            self.continue_task(task);
        } else {
            self.tasks[task].work_left = u128::from(WALL_CHUNK.0) * u128::from(FULL_SPEED);
            self.plan(task);
        }
    }

    /// Keeps the task busy until `time` of wall time has passed. [`Machine::plan`] computes the amount of
    /// work.
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

    /// Executes the system calls by which a running task changes its own attributes.
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
        set.map_err(|why| self.policy_error(task, why))?;
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
