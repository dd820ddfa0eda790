// SPDX-License-Identifier: GPL-2.0-or-later
//! Frequency governors outside the scheduler: schedutil's threads, and the transition time of drivers.
//!
//! Models `cpufreq_schedutil.c` (6.1) with a driver that may sleep. The thread of a domain (`sugov:N`, where
//! N is its first CPU) is a deadline task without a budget, bound to the CPUs of the domain. An interrupt
//! that the CPU sends to itself wakes the thread. The thread passes the last chosen frequency to the driver,
//! sleeps for the transition latency, and repeats that if a new request has come. With `fast_switch`, the CPU
//! that runs the scheduler calls the driver at once. The scheduler uses the new frequency from then on; the
//! CPUs run at it after the transition.
//!
//! Left out: the time of the thread's own code between the wake-up and the driver.

use crate::engine::Engine;
use crate::interface::observation::KernelPath;
use crate::observer::Observer;
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

impl<E: Engine> Machine<E> {
    /// Begins the transition to the chosen frequency. The thread sleeps while the driver switches.
    pub(crate) fn begin_transition(&mut self, cpu: CpuId, task: usize, domain: usize) {
        let khz = self.sched.begin_frequency_transition(domain);
        self.governor_threads[domain].khz = khz;
        let latency = self.driver_latency(domain);
        if khz.is_some() && latency > Nanos::ZERO {
            self.tasks[task].next_step();
            self.sleep_until(cpu, task, self.now + latency);
        } else {
            self.continue_task(task);
        }
    }

    /// Ends the transition, if there was one.
    pub(crate) fn end_transition(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize, domain: usize) {
        self.continue_task(task);
        if let Some(khz) = self.governor_threads[domain].khz.take() {
            self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
                sched.end_frequency_transition(ctx, domain, khz);
            });
        }
    }
}
