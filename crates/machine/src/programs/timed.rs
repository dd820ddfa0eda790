// SPDX-License-Identifier: GPL-2.0-or-later
//! Steps that last for wall time, and timers.

use crate::base::clock::START;
use crate::engine::Engine;
use crate::interface::observation::{Activity, MachineEvent};
use crate::observer::Observer;
use crate::parts::units::FULL_SPEED;
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::{TimerMode, TimerRef};

/// Work between two checks of the clock in a step that is busy for wall time, as in rt-app.
const WALL_CHUNK: Nanos = Nanos::from_micros(32);

impl<E: Engine> Machine<E> {
    /// Blocks until the next expiry of a timer, which is the last one plus the period. Continues if that has
    /// passed.
    pub(crate) fn wait_for_timer(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        timer: TimerRef,
        period: Nanos,
        mode: TimerMode,
    ) {
        self.tasks[task].next_step();
        let origin = START + self.workload.tasks[self.tasks[task].spec].timer_origin;
        let last = match timer {
            TimerRef::Shared(timer) => self.sync.timer(timer),
            TimerRef::Own(timer) => &mut self.tasks[task].own_timers[timer],
        };
        let expiry = last.unwrap_or(origin) + period;
        let is_missed = expiry <= self.now;
        let next = if is_missed && mode == TimerMode::Relative { self.now } else { expiry };
        *last = Some(next);
        self.report_activity(observer, Activity::ReachedTimer { task, next });
        observer.machine_event(self.now, &MachineEvent::TimerWoke { task, expired: expiry });
        if is_missed {
            self.replan(task);
        } else {
            self.sleep_until(cpu, task, expiry);
        }
    }

    /// Keeps the task busy in chunks of work until `time` of wall time has passed since the first chunk
    /// began.
    pub(crate) fn run_for_wall_time(&mut self, observer: &mut dyn Observer<E>, task: usize, time: Nanos) {
        let start = *self.tasks[task].wall_start.get_or_insert(self.now);
        if self.now - start >= time {
            self.end_wall_time(observer, task, time);
        } else {
            self.tasks[task].work_left = u128::from(WALL_CHUNK.0) * u128::from(FULL_SPEED);
            self.plan(task);
        }
    }

    /// Keeps the task busy until `time` of wall time has passed. [`SimTask::time_left`](crate::parts::tasks::SimTask::time_left) computes the
    /// amount of work.
    pub(crate) fn spin_for_wall_time(&mut self, observer: &mut dyn Observer<E>, task: usize, time: Nanos) {
        let start = *self.tasks[task].wall_start.get_or_insert(self.now);
        if self.now - start >= time {
            self.end_wall_time(observer, task, time);
        } else {
            self.plan(task);
        }
    }

    /// Ends a step that has lasted for wall time.
    fn end_wall_time(&mut self, observer: &mut dyn Observer<E>, task: usize, time: Nanos) {
        if time > Nanos::ZERO {
            self.report_activity(observer, Activity::Worked { task });
        }
        self.continue_task(task);
    }
}
