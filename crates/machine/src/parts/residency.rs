// SPDX-License-Identifier: GPL-2.0-or-later
//! Residency of tasks: time on each kind of CPU and operating point, and on CPUs that were too small or
//! larger than needed.
//!
//! CPUs are of one kind if they have one capacity and one frequency domain. Residency is recorded only on
//! machines with frequency domains or several capacities. Whether a CPU fits is the scheduler's estimate when
//! the task begins to run, and at each tick.

use crate::hardware::Hardware;
use crate::parts::speed::CpuFrequency;
use fairlab_sched::ids::CpuId;
use fairlab_sched::state::snapshot::TaskFit;
use fairlab_sched::units::{Capacity, Nanos};

/// Expected number of frequencies that a scenario sets.
const NR_FREQUENCIES_HINT: usize = 8;

/// Time of a task on a kind of CPU at an operating point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatingPointTime {
    /// Index of the CPU kind in [`Machine::cpu_kinds`](crate::sim::Machine::cpu_kinds).
    pub kind: usize,
    /// Operating point.
    pub freq: CpuFrequency,
    /// Time that the task ran on CPUs of the kind at this point.
    pub time: Nanos,
}

/// Residency of a task.
#[derive(Clone, Debug, Default)]
pub struct Residency {
    /// Times in the order in which the task first used each operating point.
    pub times: Vec<OperatingPointTime>,
    /// Time on CPUs that were too small for the task.
    pub too_small: Nanos,
    /// Time on CPUs although a smaller one would have sufficed.
    pub too_large: Nanos,
    pub(crate) fit: TaskFit,
}

impl Residency {
    /// Returns an empty residency with capacity for `nr_points` operating points.
    pub(crate) fn with_capacity(nr_points: usize) -> Self {
        Self { times: Vec::with_capacity(nr_points), ..Self::default() }
    }

    fn add(&mut self, kind: usize, freq: CpuFrequency, time: Nanos) {
        match self.fit {
            TaskFit::TooSmall => self.too_small += time,
            TaskFit::TooLarge => self.too_large += time,
            TaskFit::Right => {}
        }
        match self.times.iter_mut().find(|spent| spent.kind == kind && spent.freq == freq) {
            Some(spent) => spent.time += time,
            None => self.times.push(OperatingPointTime { kind, freq, time }),
        }
    }
}

/// A kind of CPU: all CPUs with one capacity and one frequency domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuKind {
    /// Capacity at the highest frequency (full: 1024).
    pub capacity: Capacity,
    /// Index of the frequency domain; `None` if the CPUs run at full speed, or at the frequencies that a
    /// scenario sets.
    pub domain: Option<usize>,
    /// CPUs of this kind, ascending.
    pub cpus: Vec<CpuId>,
}

/// Kinds of CPUs of a machine, and the kind of each CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuKinds {
    /// In the order of their first CPUs.
    kinds: Vec<CpuKind>,
    of_cpu: Vec<usize>,
    /// Whether residency is recorded.
    is_recorded: bool,
    differ: bool,
}

impl CpuKinds {
    pub(crate) fn from_hardware(hardware: &Hardware) -> Self {
        let mut all = Self::default();
        for (cpu, &capacity) in hardware.topology.capacity.iter().enumerate() {
            let cpu = CpuId::from_index(cpu);
            let domain = hardware.frequency_domains.iter().position(|domain| domain.contains(cpu));
            let alike = all.kinds.iter().position(|kind| kind.capacity == capacity && kind.domain == domain);
            let kind = alike.unwrap_or_else(|| {
                all.kinds.push(CpuKind { capacity, domain, cpus: Vec::new() });
                all.kinds.len() - 1
            });
            all.kinds[kind].cpus.push(cpu);
            all.of_cpu.push(kind);
        }
        all.differ = all.kinds.iter().any(|kind| kind.capacity != all.kinds[0].capacity);
        all.is_recorded = all.differ || !hardware.frequency_domains.is_empty();
        all
    }

    /// Returns the number of operating points that a task may use.
    pub(crate) fn nr_points(&self, hardware: &Hardware) -> usize {
        let of_domain = |domain: usize| hardware.frequency_domains[domain].khz().len();
        let of_steps = if hardware.frequency_steps.is_empty() { 1 } else { 1 + NR_FREQUENCIES_HINT };
        let points = self.kinds.iter().map(|kind| kind.domain.map_or(of_steps, of_domain)).sum();
        if self.is_recorded { points } else { 0 }
    }

    /// Kinds, in the order of their first CPUs.
    pub(crate) fn kinds(&self) -> &[CpuKind] {
        &self.kinds
    }

    /// Whether CPUs have different capacities, so that tasks may fit some of them better.
    #[inline]
    pub(crate) fn differ(&self) -> bool {
        self.differ
    }

    /// Adds the time that a task has run on a CPU at a frequency.
    #[inline]
    pub(crate) fn record(&self, residency: &mut Residency, cpu: CpuId, freq: CpuFrequency, time: Nanos) {
        if self.is_recorded {
            residency.add(self.of_cpu[cpu.index()], freq, time);
        }
    }
}

/// Returns the number of frequencies that a CPU may have, including that at boot.
pub(crate) fn nr_frequencies(hardware: &Hardware, cpu: usize) -> usize {
    let domain = hardware.frequency_domains.iter().find(|domain| domain.contains(CpuId::from_index(cpu)));
    let steps = hardware.turbo.as_ref().map_or(NR_FREQUENCIES_HINT, |turbo| turbo.khz().len());
    1 + domain.map_or(steps, |domain| domain.khz().len())
}
