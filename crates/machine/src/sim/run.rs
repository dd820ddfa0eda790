// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs: from the start to the end, event by event.

use crate::engine::Engine;
use crate::event::EventKind;
use crate::interface::error::{RunError, SimResult};
use crate::observer::Observer;
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::interface::policy::{PolicyRequest, PolicySlot};
use fairlab_sched::units::Nanos;

/// Number of events at one instant after which the run is considered to make no progress.
const MAX_EVENTS_AT_ONCE: u64 = 1_000_000;

impl<E: Engine> Machine<E> {
    /// Runs to the end and leaves the clock there.
    ///
    /// # Errors
    /// If a task's program makes no progress or does what the modelled program cannot do.
    pub fn run(&mut self, observer: &mut dyn Observer<E>) -> Result<(), RunError> {
        self.start(observer)?;
        while self.advance(observer, Nanos(u64::MAX))? {}
        self.finish(observer);
        Ok(())
    }

    /// Starts the run: creates task groups, pushes the first events, and lets all CPUs go idle.
    ///
    /// # Errors
    /// As for [`Machine::run`].
    pub fn start(&mut self, observer: &mut dyn Observer<E>) -> Result<(), RunError> {
        self.wants_kernel_paths = observer.wants_kernel_paths();
        self.interest = observer.wants();
        self.wants_ops = observer.wants_ops();
        if observer.wants_touches() {
            self.op_counts.record_touches(true, 8 * self.cpus.len());
        }
        self.create_groups(observer);
        self.start_governor_threads(observer)?;
        self.op_counts.drain_into(&mut self.total_op_counts);
        self.op_counts.clear_touches();
        self.kernel_takes_time = !self.hardware.costs.is_zero_cost();
        self.push_first_events();
        for cpu in self.sched.cpu_ids() {
            self.settle(observer, cpu)?;
        }
        self.deliver_details(observer);
        self.check(None);
        Ok(())
    }

    /// Handles the events up to `until`, or up to the end of the run if that is earlier. Returns whether the
    /// run continues after `until`.
    ///
    /// # Errors
    /// As for [`Machine::run`].
    pub fn advance(&mut self, observer: &mut dyn Observer<E>, until: Nanos) -> Result<bool, RunError> {
        self.interest = observer.wants();
        let mut nr_at_once = 0;
        if self.counters.events >= self.max_events {
            return Ok(false);
        }
        while let Some(event) = self.events.pop_until(until.min(self.end)) {
            nr_at_once = if event.key.at == self.now { nr_at_once + 1 } else { 0 };
            if nr_at_once > MAX_EVENTS_AT_ONCE {
                return Err(*self.no_progress(event.kind));
            }
            self.now = event.key.at;
            self.clock_offset = Nanos::ZERO;
            self.counters.events += 1;
            self.handle_event(observer, event)?;
            while let Some(cpu) = self.locks.pop_granted() {
                self.settle(observer, cpu)?;
            }
            self.deliver_details(observer);
            if self.checks.is_some() {
                self.check(Some(event.kind));
            }
            if self.policy_slot.is_some() {
                self.check_policy()?;
            }
            if self.counters.events >= self.max_events {
                self.end_at(self.now);
                return Ok(false);
            }
        }
        Ok(until < self.end)
    }

    /// Ends the run with this number of events, if nothing ends it earlier. Other events of the same instant
    /// may then be missing.
    pub fn limit_events(&mut self, most: u64) {
        self.max_events = most;
    }

    /// Ends the run at `until` instead of later. All earlier events have been handled.
    pub fn end_at(&mut self, until: Nanos) {
        self.end = self.end.min(until.max(self.now));
    }

    /// Ends the run after its last event: advances the clock to the end and accounts everything that runs.
    pub fn finish(&mut self, observer: &mut dyn Observer<E>) {
        self.now = self.end;
        self.clock_offset = Nanos::ZERO;
        observer.snapshot(self);
        for task in 0..self.tasks.count() {
            if self.tasks[task].running {
                self.account(task);
            }
        }
        for cpu in self.sched.cpu_ids() {
            self.account_kernel(cpu);
            self.account_idle(cpu);
            self.leave_idle_state(cpu);
        }
        self.deliver_details(observer);
        self.op_counts.drain_into(&mut self.total_op_counts);
    }

    /// Ends the run if the custom policy returned an unusable choice.
    fn check_policy(&self) -> SimResult {
        let Some((request, refusal)) = self.policy_slot.as_ref().and_then(PolicySlot::invalid_choice) else {
            return Ok(());
        };
        let asked = match request {
            PolicyRequest::Wakeup(id) => {
                let task = self.tasks.index_of(id);
                let task = task.map_or_else(|| format!("{}", id.0), |task| self.tasks[task].name.clone());
                format!("where task {task} is to wake up")
            }
            PolicyRequest::Balancing(cpu) => format!("what CPU {} is to pull", cpu.0),
            PolicyRequest::Idling(cpu) => format!("how deep CPU {} is to sleep", cpu.0),
        };
        Err(Box::new(RunError::Policy { asked, at: self.elapsed(), what: refusal.to_string() }))
    }

    /// Returns the error for a run whose events repeat without time passing.
    fn no_progress(&self, event: EventKind) -> Box<RunError> {
        let (cpu, task) = match event {
            EventKind::Completion(cpu, task, _) | EventKind::SleepEnd(cpu, task, _) => {
                (cpu, Some(self.tasks[task as usize].name.clone()))
            }
            EventKind::Ipi(cpu, _) | EventKind::Timer(cpu, _) | EventKind::KernelDone(cpu, _) => (cpu, None),
            _ => (CpuId(0), None),
        };
        Box::new(RunError::NoProgress { cpu, at: self.elapsed(), task })
    }
}
