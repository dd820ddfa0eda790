// SPDX-License-Identifier: GPL-2.0-or-later
//! Frequency governors outside the scheduler: schedutil's threads, and the time that drivers take.
//!
//! Models what `cpufreq_schedutil.c` (6.1) does with a driver that may sleep. The thread of a domain (`sugov:N`, N being its first CPU)
//! is a deadline task without a budget, bound to the CPUs of its domain. An interrupt that the CPU sends itself wakes it; it asks the
//! driver for the frequency that was chosen last, sleeps for as long as the transition takes, and begins anew if it was asked meanwhile.
//! A driver that may be told at once (`fast_switch`) is told by whoever runs the scheduler, which counts with the new frequency from then
//! on; the CPUs run at it when the transition is over.
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
use fairlab_workload::workload::{Affinity, Attributes, Policy, TaskSpec, Workload};

/// What the kernel gives such a thread; nothing is charged to it.
const PRETEXT: Policy = Policy::Deadline {
    runtime: Nanos::from_millis(1),
    deadline: Nanos::from_millis(10),
    period: Nanos::from_millis(10),
};

/// What a governor's thread does, for ever.
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

/// Which task is the thread of a frequency domain, and what its driver is at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GovernorThread {
    /// Its place among the machine's tasks; none if nobody needs it.
    task: Option<usize>,
    /// The frequency to which the driver switches.
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
        let start = Attributes { policy: Some(PRETEXT), affinity: Some(Affinity::Cpus(cpus)), ..Attributes::default() };
        let thread = move || SugovThread { domain: place, next: 0 };
        workload.tasks.push(TaskSpec::kthread(name.clone(), &name, first, start, thread));
    }
}

impl<E: Engine> Machine<E> {
    /// Whether a task is a thread of the kernel.
    pub fn is_kthread(&self, task: usize) -> bool {
        self.workload.tasks[self.tasks[task].spec].is_kthread
    }

    /// Whether all tasks of the workload that were forked have ended. Threads of the kernel never do.
    pub fn is_done(&self) -> bool {
        self.tasks.iter().enumerate().all(|(place, task)| task.id.is_none() || task.dead || self.is_kthread(place))
    }

    /// Starts the governors' threads, in the order of their domains. That is over when the run starts, so it takes no time.
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

    /// The interrupt with which a governor wakes the thread of a domain: `sugov_irq_work()`. A thread whose driver is at work looks again
    /// afterwards.
    pub(super) fn wake_governor(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, domain: usize) {
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
            self.found_awake(task, true);
        }
    }

    /// The thread of a domain looks for the frequency that was chosen, and sleeps while the driver switches to it.
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

    /// The driver has switched, if it had to.
    pub(super) fn end_transition(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize, domain: usize) {
        self.continue_task(task);
        if let Some(khz) = self.governor_threads[domain].khz.take() {
            self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
                sched.end_frequency_transition(ctx, domain, khz);
            });
        }
    }

    /// How long the driver of a domain takes.
    fn transition_latency(&self, domain: usize) -> Nanos {
        self.hardware.transition_latencies.get(domain).copied().unwrap_or_default()
    }

    /// The scheduler counts with another frequency of a CPU. It runs at it when its driver has switched: at once if that has waited
    /// already.
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
