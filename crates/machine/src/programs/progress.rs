// SPDX-License-Identifier: GPL-2.0-or-later
//! Progress of a task through its program: the next step, blocking, sleeping and spinning.
//!
//! A task advances to its next step before the scheduler is called, because the call may switch to another
//! task. After a wake-up the task continues behind the step that blocked it.

use crate::engine::Engine;
use crate::event::EventKind;
use crate::parts::kernel::KernelWork;
use crate::parts::sync::{ResumeAction, StepOutcome};
use crate::parts::units::FULL_SPEED;
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;

/// Work that exceeds any run, for a task that spins until another task stops it.
const ENDLESS_WORK: u128 = u64::MAX as u128;

impl<E: Engine> Machine<E> {
    /// Advances to the next step, whose work counts from now on.
    pub(crate) fn continue_task(&mut self, task: usize) {
        self.tasks[task].next_step();
        self.replan(task);
    }

    pub(crate) fn replan(&mut self, task: usize) {
        if self.tasks[task].work_left > 0 && self.tasks[task].running {
            self.plan(task);
        }
    }

    /// Queues the blocking of the running task, after the other work of its step.
    pub(crate) fn block(&mut self, cpu: CpuId, task: usize) {
        let host = &mut self.tasks[task];
        (host.will_block, host.sleeps_until) = (true, None);
        self.push_work(cpu, KernelWork::Block { task });
    }

    /// Blocks the running task until a time. An interrupt of the present CPU wakes it.
    pub(crate) fn sleep_until(&mut self, cpu: CpuId, task: usize, until: Nanos) {
        let slack = self.hardware.timer_slack;
        let has_slack = slack > Nanos::ZERO && !self.tasks[task].waits_for_io && !self.is_realtime(task);
        let until = if has_slack { until + slack } else { until };
        let version = self.tasks[task].sleep_version;
        self.tasks[task].sleep_cpu = cpu;
        self.events.push(until, EventKind::SleepEnd(cpu, task as u32, version));
        self.record_sleep(cpu, until, task as u32, version);
        self.block(cpu, task);
        self.tasks[task].sleeps_until = Some(until);
    }

    /// Whether a task starts with a real-time or deadline policy, whose timers have no slack.
    fn is_realtime(&self, task: usize) -> bool {
        let policy = &self.workload.tasks[self.tasks[task].spec].start.policy;
        matches!(policy, Some(Policy::Fifo(_) | Policy::RoundRobin(_) | Policy::Deadline { .. }))
    }

    /// Ends a step on shared objects, or its rest. The task has already reached its next step. The work of
    /// that step is deferred until the rest is done.
    pub(crate) fn finish_step(&mut self, cpu: CpuId, task: usize, outcome: StepOutcome) {
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

    /// Keeps the running task busy until another task stops it.
    pub(crate) fn spin(&mut self, task: usize) {
        self.tasks[task].work_left = ENDLESS_WORK * u128::from(FULL_SPEED);
        self.plan(task);
    }
}
