// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernel threads as tasks of a workload: `sugov:N` of a frequency domain and `ksoftirqd/N` of a CPU.

use crate::hardware::Hardware;
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::{Behaviour, Step};
use fairlab_workload::workload::{Affinity, Attributes, TaskSpec, Workload};

/// Deadline parameters of a governor's thread, as in the kernel; its runtime is not charged.
const SUGOV_POLICY: Policy = Policy::Deadline {
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
pub(crate) struct GovernorThread {
    /// Index of the machine's task; `None` if the domain has no thread.
    pub(crate) task: Option<usize>,
    /// Target frequency of the transition in progress, in kHz.
    pub(crate) khz: Option<u64>,
}

/// Adds a thread for each domain that needs one to the end of a workload.
pub(crate) fn add_governor_threads(workload: &mut Workload, hardware: &Hardware) {
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

/// Endless program of a ksoftirqd.
struct Ksoftirqd {
    is_asleep: bool,
}

impl Behaviour for Ksoftirqd {
    fn next(&mut self) -> Step {
        self.is_asleep = !self.is_asleep;
        if self.is_asleep { Step::WaitWake } else { Step::RunSoftirqs }
    }
}

/// Adds a ksoftirqd for each CPU to the end of a workload. Returns the index of the first one.
pub(crate) fn add_ksoftirqds(workload: &mut Workload, hardware: &Hardware) -> usize {
    let first = workload.tasks.len();
    for cpu in 0..hardware.nr_cpus() as u32 {
        let start = Attributes { affinity: Some(Affinity::Cpus(vec![cpu])), ..Attributes::default() };
        let thread = || Ksoftirqd { is_asleep: true };
        workload.tasks.push(TaskSpec::kthread(format!("ksoftirqd/{cpu}"), "ksoftirqd", cpu, start, thread));
    }
    first
}
