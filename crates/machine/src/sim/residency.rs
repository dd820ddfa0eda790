// SPDX-License-Identifier: GPL-2.0-or-later
//! Where tasks ran: on which kind of CPU, at which operating point, and whether the CPU was too small for them or larger than needed.
//!
//! CPUs are of one kind if they have one capacity and one frequency domain. Only machines with frequency domains or several capacities
//! keep account. What a task needs is what the scheduler takes it for when it begins to run and at each tick meanwhile.

use super::Machine;
use super::setup::STEPS;
use crate::engine::Engine;
use crate::hardware::Hardware;
use fairlab_sched::ids::CpuId;
use fairlab_sched::state::snapshot::TaskFit;
use fairlab_sched::units::{Capacity, Nanos};

/// Time of a task on a kind of CPU, at an operating point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateTime {
    /// The kind, by its place in [`Machine::cpu_kinds`].
    pub kind: usize,
    /// The operating point, as a part of 1024 of the highest frequency.
    pub part: Capacity,
    /// Time.
    pub time: Nanos,
}

/// Where a task ran.
#[derive(Clone, Debug, Default)]
pub struct Residency {
    /// In the order in which the task came there.
    pub spent: Vec<StateTime>,
    /// Time on CPUs that were too small for it.
    pub too_small: Nanos,
    /// Time on CPUs although a smaller one would have done.
    pub too_large: Nanos,
    fit: TaskFit,
}

impl Residency {
    /// Nothing, with room for so many operating points.
    pub(super) fn with_room(nr_points: usize) -> Self {
        Self { spent: Vec::with_capacity(nr_points), ..Self::default() }
    }

    fn add(&mut self, kind: usize, part: Capacity, time: Nanos) {
        match self.fit {
            TaskFit::TooSmall => self.too_small += time,
            TaskFit::TooLarge => self.too_large += time,
            TaskFit::Right => {}
        }
        match self.spent.iter_mut().find(|spent| spent.kind == kind && spent.part == part) {
            Some(spent) => spent.time += time,
            None => self.spent.push(StateTime { kind, part, time }),
        }
    }
}

/// CPUs of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuKind {
    /// Their capacity at their highest frequency, of 1024.
    pub capacity: Capacity,
    /// Their frequency domain, by its place; none: they always run at full speed, or as a scenario says.
    pub domain: Option<usize>,
    /// The CPUs, ascending.
    pub cpus: Vec<CpuId>,
}

/// The kinds of CPUs of a machine, and the kind of each CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuKinds {
    /// In the order of their first CPUs.
    pub(super) kinds: Vec<CpuKind>,
    of_cpu: Vec<usize>,
    /// Whether there is anything to keep account of.
    is_kept: bool,
    differ: bool,
}

impl CpuKinds {
    pub(super) fn of(hardware: &Hardware) -> Self {
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
        all.is_kept = all.differ || !hardware.frequency_domains.is_empty();
        all
    }

    /// How many operating points a task may come to.
    pub(super) fn nr_points(&self, hardware: &Hardware) -> usize {
        let of_domain = |domain: usize| hardware.frequency_domains[domain].khz().len();
        let of_steps = if hardware.frequency_steps.is_empty() { 1 } else { 1 + STEPS };
        let points = self.kinds.iter().map(|kind| kind.domain.map_or(of_steps, of_domain)).sum();
        if self.is_kept { points } else { 0 }
    }
}

impl<E: Engine> Machine<E> {
    /// The kinds of CPUs, in the order of their first CPUs.
    pub fn cpu_kinds(&self) -> &[CpuKind] {
        &self.kinds.kinds
    }

    /// A task has run for some time on a CPU.
    pub(super) fn record_residency(&mut self, task: usize, cpu: CpuId, time: Nanos) {
        if self.kinds.is_kept {
            let (kind, part) = (self.kinds.of_cpu[cpu.index()], self.cpus[cpu.index()].freq);
            self.tasks[task].residency.add(kind, part, time);
        }
    }

    /// A task begins to run on a CPU, or has run for a tick: does that CPU fit?
    pub(super) fn record_fit(&mut self, cpu: CpuId) {
        if !self.kinds.differ {
            return;
        }
        if let Some(task) = self.cpus[cpu.index()].task {
            self.account(task as usize);
            let host = &mut self.tasks[task as usize];
            host.residency.fit = host.id.map_or(TaskFit::Right, |id| self.sched.task_fit(id, cpu));
        }
    }
}
