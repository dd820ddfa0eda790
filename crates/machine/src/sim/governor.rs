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

use super::{Machine, RunError};
use crate::engine::Engine;
use crate::event::EventKind;
use crate::hardware::Hardware;
use crate::observer::{KernelPath, Observer};
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_sched::work::KernelOp;
use fairlab_workload::step::{Behaviour, Step};
use fairlab_workload::workload::{Affinity, Attributes, PolicySpec, TaskSpec, Workload};

/// Deadline parameters of a governor's thread, as in the kernel; its runtime is not charged.
const SUGOV_POLICY: PolicySpec = PolicySpec::Deadline {
    runtime: Nanos::from_millis(1),
    deadline: Nanos::from_millis(10),
    period: Nanos::from_millis(10),
};

/// Endless program of a governor's thread.
struct SugovThread {
    domain: usize,
    next: usize,
}

impl Behaviour for SugovThread {
    fn next(&mut self) -> Step {
        let steps = [Step::WaitWake, Step::BeginTransition(self.domain), Step::EndTransition(self.domain)];
        let step = steps[self.next];
        self.next = (self.next + 1) % steps.len();
        step
    }
}

/// Thread of a frequency domain, and the transition in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GovernorThread {
    /// Index of the machine's task; `None` if the domain has no thread.
    task: Option<usize>,
    /// Target frequency of the transition in progress, in kHz.
    khz: Option<u64>,
}

/// Adds a thread for each domain that needs one to the end of a workload.
pub(super) fn add_threads(workload: &mut Workload, hardware: &Hardware) {
    for (place, domain) in hardware.frequency_domains.iter().enumerate() {
        if !domain.has_governor_thread() {
            continue;
        }
        let cpus: Vec<u32> = domain.cpus().map(|cpu| cpu.0).collect();
        let first = cpus[0];
        let name = format!("sugov:{first}");
        let start =
            Attributes { policy: Some(SUGOV_POLICY), affinity: Some(Affinity::Cpus(cpus)), ..Attributes::default() };
        let thread = move || SugovThread { domain: place, next: 0 };
        workload.tasks.push(TaskSpec::kthread(name.clone(), &name, first, start, thread));
    }
}

impl<E: Engine> Machine<E> {
    /// Whether a task is a kernel thread.
    pub fn is_kthread(&self, task: usize) -> bool {
        self.workload.tasks[self.tasks[task].spec].is_kthread
    }

    /// Whether all forked tasks of the workload have ended. Kernel threads never end.
    pub fn is_done(&self) -> bool {
        self.tasks.iter().enumerate().all(|(place, task)| task.id.is_none() || task.is_dead || self.is_kthread(place))
    }

    /// Forks the governors' threads in the order of their domains. This precedes the run, so it takes no
    /// simulated time.
    pub(super) fn start_governor_threads(&mut self, observer: &mut dyn Observer<E>) -> Result<(), RunError> {
        self.governor_threads = vec![GovernorThread::default(); self.hardware.frequency_domains.len()];
        let threads: Vec<usize> = (0..self.tasks.len()).filter(|&task| self.is_kthread(task)).collect();
        let domains = self.hardware.frequency_domains.iter().enumerate();
        let driven: Vec<usize> =
            domains.filter(|(_, domain)| domain.has_governor_thread()).map(|(place, _)| place).collect();
        for (place, task) in driven.into_iter().zip(threads) {
            self.governor_threads[place].task = Some(task);
            let cpu = self.tasks[task].cpu;
            self.fork(observer, cpu, task);
            self.settle(observer, cpu)?;
        }
        Ok(())
    }

    /// Handles the interrupt by which a governor wakes the thread of a domain (`sugov_irq_work()`). A thread
    /// with a transition in progress checks for a new request afterwards.
    pub(super) fn wake_governor_thread(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, domain: usize) {
        let Some(task) = self.governor_threads[domain].task else { return };
        if self.governor_threads[domain].khz.is_some() {
            self.tasks[task].is_wake_pending = true;
            self.enter(observer, cpu, KernelPath::Interrupt, |_, ctx| ctx.charge(KernelOp::IpiReceive));
            return;
        }
        let id = self.tasks[task].id.expect("it was forked before the run");
        let woken = self.enter(observer, cpu, KernelPath::Select, |sched, ctx| {
            ctx.charge(KernelOp::IpiReceive);
            sched.handle_wakeup_interrupt(ctx, id)
        });
        if woken {
            self.tasks[task].blocked_since = None;
        } else {
            self.handle_already_awake(task, true);
        }
    }

    /// Begins the transition to the chosen frequency. The thread sleeps while the driver switches.
    pub(super) fn begin_transition(&mut self, cpu: CpuId, task: usize, domain: usize) {
        let khz = self.sched.begin_frequency_transition(domain);
        self.governor_threads[domain].khz = khz;
        let latency = self.transition_latency(domain);
        if khz.is_some() && latency > Nanos::ZERO {
            self.next_step(task);
            self.sleep_until(cpu, task, self.now + latency);
        } else {
            self.continue_task(task);
        }
    }

    /// Ends the transition, if there was one.
    pub(super) fn end_transition(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize, domain: usize) {
        self.continue_task(task);
        if let Some(khz) = self.governor_threads[domain].khz.take() {
            self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
                sched.end_frequency_transition(ctx, domain, khz);
            });
        }
    }

    /// Returns the transition latency of a domain's driver.
    fn transition_latency(&self, domain: usize) -> Nanos {
        self.hardware.transition_latencies.get(domain).copied().unwrap_or_default()
    }

    /// Applies the scheduler's new frequency to a CPU. It takes effect after the driver's transition latency,
    /// or at once if the thread has waited for the transition.
    pub(super) fn switch_frequency(&mut self, cpu: CpuId, capacity: Capacity) {
        let place = self.hardware.frequency_domains.iter().position(|domain| domain.contains(cpu));
        let latency = place.map_or(Nanos::ZERO, |place| {
            let is_over = self.hardware.frequency_domains[place].has_governor_thread();
            if is_over { Nanos::ZERO } else { self.transition_latency(place) }
        });
        if latency == Nanos::ZERO {
            return self.change_speed(cpu, capacity);
        }
        let host = &mut self.cpus[cpu.index()];
        host.speed_version = host.speed_version.wrapping_add(1);
        let part = u16::try_from(capacity).expect("a part of 1024");
        self.events.push(self.now + latency, EventKind::Switched(cpu, part, host.speed_version));
    }
}
