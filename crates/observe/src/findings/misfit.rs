// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that are too big for their CPU while a bigger one idles. Seen by looks, as nobody tells of it.

use super::Finding;
use super::episodes::Episodes;
use fairlab_machine::sim::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::state::snapshot::TaskFit;
use fairlab_sched::units::Nanos;

/// What was seen of each CPU: a task has been too big for it, and a bigger CPU idles too.
#[derive(Debug)]
pub(super) struct Misfits(Episodes);

impl Misfits {
    pub(super) fn new(nr_cpus: usize) -> Self {
        Self(Episodes::new(nr_cpus))
    }

    pub(super) fn sample(&mut self, machine: &Machine, limit: Nanos) {
        let (sched, capacity) = (machine.sched(), &machine.hardware().topology.capacity);
        for cpu in sched.cpu_ids() {
            // Not by what the scheduler has noted: one that does not heed misfit tasks notes nothing.
            let curr = sched.curr(cpu);
            let is_too_big = !sched.is_idle(cpu) && sched.task_fit(curr, cpu) == TaskFit::TooSmall && {
                let allowed = &sched.task(curr).cpus_allowed;
                let bigger = |&other: &CpuId| capacity[other.index()] > capacity[cpu.index()] && sched.is_idle(other);
                allowed.iter().any(|other| bigger(&other))
            };
            self.0.sample(machine.now(), cpu, is_too_big, limit);
        }
    }

    pub(super) fn findings(&mut self, machine: &Machine, now: Nanos, limit: Nanos) -> Vec<Finding> {
        let what = ("a task was too big for its CPU while a bigger one idled", "CPU");
        self.0.findings(machine, now, limit, "misfit-left", what)
    }
}
