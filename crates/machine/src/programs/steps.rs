// SPDX-License-Identifier: GPL-2.0-or-later
//! Execution of the step that a task has reached, and of the rest of a step that has blocked it.

use crate::base::clock::START;
use crate::engine::Engine;
use crate::interface::error::SimResult;
use crate::interface::observation::{Activity, KeepingObject, MachineEvent};
use crate::observer::Observer;
use crate::parts::kernel::KernelWork;
use crate::parts::sync::{ResumeAction, StepOutcome};
use crate::parts::tasks::BytesToReceive;
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_workload::step::Step;

impl<E: Engine> Machine<E> {
    /// Executes the step that a running task has reached.
    pub(crate) fn step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) -> SimResult {
        if self.tasks[task].resume != ResumeAction::Nothing {
            let outcome = self.resume_step(observer, cpu, task);
            self.charge_after_call(task);
            self.finish_step(cpu, task, outcome);
            return Ok(());
        }
        if matches!(self.tasks[task].step, Step::Run(_)) {
            debug_assert_eq!(self.tasks[task].after_call_ps, 0, "a call has charged its end");
            if self.interest.activities && self.tasks[task].step_work() > 0 {
                self.report_activity(observer, Activity::Worked { task });
            }
            self.tasks[task].next_step();
            if matches!(self.tasks[task].step, Step::Run(_)) {
                self.plan(task);
                return Ok(());
            }
        }
        let step = self.tasks[task].step;
        if matches!(step, Step::Send(..) | Step::Offer { .. } | Step::Receive(_) | Step::ReceiveBytes { .. })
            && self.charge_before_transfer(cpu, task)
        {
            return Ok(());
        }
        let has_call_costs = self.hardware.costs.calls().is_some();
        if has_call_costs && self.charge_before_call(task) {
            return Ok(());
        }
        match step {
            Step::Run(_) => unreachable!("the step after completed work is another one"),
            Step::RunWall(time) => self.run_for_wall_time(observer, task, time),
            Step::Spin(time) => self.spin_for_wall_time(observer, task, time),
            Step::Offer { channel, or_sleep } if self.sync.channel(channel).is_full() => {
                self.tasks[task].next_step();
                self.sleep_until(cpu, task, self.now + or_sleep);
            }
            Step::Wake { target, sync } => {
                self.continue_task(task);
                self.wake_by_step(observer, cpu, target, sync);
            }
            Step::WaitWake => {
                self.report_activity(observer, Activity::ReachedWait { task });
                if core::mem::take(&mut self.tasks[task].is_wake_pending) {
                    let object = KeepingObject::Wakeup(task);
                    self.report_activity(observer, Activity::Take { task, object });
                    self.continue_task(task);
                } else {
                    self.tasks[task].next_step();
                    self.block(cpu, task);
                }
            }
            Step::Sleep(time) => {
                self.report_activity(observer, Activity::ReachedSleep { task });
                self.tasks[task].next_step();
                self.sleep_until(cpu, task, self.now + time);
            }
            Step::AwaitOrigin => {
                let origin = START + self.workload.tasks[self.tasks[task].spec].timer_origin;
                self.report_activity(observer, Activity::ReachedOrigin { task, origin });
                if origin <= self.now {
                    self.continue_task(task);
                } else {
                    self.tasks[task].next_step();
                    self.sleep_until(cpu, task, origin);
                }
            }
            Step::WaitIo(time) => {
                self.report_activity(observer, Activity::ReachedSleep { task });
                self.tasks[task].next_step();
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
                self.report_activity(observer, Activity::Ended { task });
                self.tasks[task].is_dead = true;
                self.push_work(cpu, KernelWork::Exit);
            }
            Step::Fork(template) => {
                self.continue_task(task);
                let forked = self.fork_template(observer, cpu, template)?;
                self.report_activity(observer, Activity::Hand { task: Some(task), to: Some(forked) });
            }
            Step::SetAttributes(set) => {
                self.continue_task(task);
                self.set_attributes(observer, cpu, task, set)?;
            }
            Step::RunSoftirqs => self.check_softirqs(cpu, task),
            Step::BeginTransition(domain) => self.begin_transition(cpu, task, domain),
            Step::EndTransition(domain) => self.end_transition(observer, cpu, task, domain),
            Step::Point(point) => {
                self.continue_task(task);
                self.report_activity(observer, Activity::Point { task, point });
            }
            Step::Mark(phase) => {
                if let Some(place) = self.tasks[task].behaviour.loop_place() {
                    observer.machine_event(self.now, &MachineEvent::LoopBegins { task, place });
                }
                self.continue_task(task);
                observer.machine_event(self.now, &MachineEvent::Mark { task, phase });
            }
            _ => self.sync_step(observer, cpu, task),
        }
        if has_call_costs {
            self.charge_after_call(task);
        }
        Ok(())
    }

    /// Executes a step on objects that tasks share.
    fn sync_step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) {
        let step = self.tasks[task].step;
        self.tasks[task].next_step();
        let outcome = match step {
            Step::Lock(mutex) => self.lock(observer, cpu, task, mutex),
            Step::Unlock(mutex) => {
                self.unlock(observer, cpu, task, mutex);
                StepOutcome::Continue
            }
            Step::CondWait { cond, mutex } => {
                self.report_activity(observer, Activity::ReachedWait { task });
                self.wait_for_cond(observer, cpu, task, cond, mutex);
                StepOutcome::Wait
            }
            Step::CondSync { cond, mutex } => {
                self.signal(observer, cpu, cond, false);
                self.report_activity(observer, Activity::ReachedWait { task });
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
                let object = KeepingObject::Semaphore(semaphore);
                self.report_activity(observer, Activity::Put { task: Some(task), object });
                self.post(observer, cpu, semaphore);
                StepOutcome::Continue
            }
            Step::SemWait(semaphore) => {
                self.report_activity(observer, Activity::ReachedWait { task });
                self.take_semaphore(observer, task, semaphore)
            }
            Step::Send(channel, bytes) => self.send(observer, cpu, task, channel, bytes),
            Step::Offer { channel, .. } => self.send(observer, cpu, task, channel, 0),
            Step::Receive(channel) => self.receive(observer, cpu, task, channel, false),
            Step::ReceiveBytes { channel, bytes, buffer, between } => {
                self.tasks[task].receives = Some(BytesToReceive { left: bytes, buffer, between });
                self.receive(observer, cpu, task, channel, false)
            }
            Step::Suspend(name) => {
                self.report_activity(observer, Activity::ReachedWait { task });
                self.sync.suspend(task, name);
                StepOutcome::Wait
            }
            Step::Resume(name) => {
                self.resume_all(observer, cpu, name);
                StepOutcome::Continue
            }
            Step::FutexArm(futex) => {
                self.sync.futex(futex).arm();
                StepOutcome::Continue
            }
            Step::FutexPost(futex) => {
                self.post_futex(observer, cpu, futex);
                StepOutcome::Continue
            }
            Step::FutexWait(futex) => self.wait_for_futex(task, futex),
            Step::Enlist { list, futex } => {
                self.sync.list(list).join(task, futex);
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
        self.charge_after_call(task);
        self.finish_step(cpu, task, outcome);
    }

    /// Resumes the rest of a step that has blocked a task.
    fn resume_step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) -> StepOutcome {
        match core::mem::replace(&mut self.tasks[task].resume, ResumeAction::Nothing) {
            ResumeAction::Nothing | ResumeAction::EndCall => StepOutcome::Continue,
            ResumeAction::Lock(mutex) => self.lock(observer, cpu, task, mutex),
            ResumeAction::SemWait(semaphore) => self.take_semaphore(observer, task, semaphore),
            ResumeAction::Send(channel, bytes) => self.send(observer, cpu, task, channel, bytes),
            ResumeAction::Receive(channel) => self.receive(observer, cpu, task, channel, true),
            ResumeAction::Post => self.post_next(observer, cpu, task),
            ResumeAction::LockCpu(of) => self.lock_cpu(task, of),
        }
    }
}
