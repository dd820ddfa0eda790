// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs whose frequency is too low for what their tasks demand, although they have higher ones. Seen by looks.
//!
//! What schedutil would want counts: a quarter more than the utilisation. A frequency that follows within some milliseconds is no finding;
//! one that is held down, by a governor, a limit or a slow driver, is.

use super::Finding;
use super::episodes::Episodes;
use fairlab_machine::sim::Machine;
use fairlab_sched::units::{Nanos, SCHED_CAPACITY_SCALE};

/// What was seen of each CPU.
#[derive(Debug)]
pub(super) struct SlowCpus(Episodes);

impl SlowCpus {
    pub(super) fn new(nr_cpus: usize) -> Self {
        Self(Episodes::new(nr_cpus))
    }

    pub(super) fn sample(&mut self, machine: &Machine, limit: Nanos) {
        let (sched, capacity) = (machine.sched(), &machine.hardware().topology.capacity);
        for cpu in sched.cpu_ids() {
            let figures = sched.snapshot(cpu);
            let has = capacity[cpu.index()] * figures.freq_capacity / SCHED_CAPACITY_SCALE;
            let wants = figures.cfs_avg.util_avg + figures.cfs_avg.util_avg / 4;
            let is_slow = figures.freq_capacity < SCHED_CAPACITY_SCALE && wants > has && !sched.is_idle(cpu);
            self.0.sample(machine.now(), cpu, is_slow, limit);
        }
    }

    pub(super) fn findings(&mut self, machine: &Machine, now: Nanos, limit: Nanos) -> Vec<Finding> {
        let what =
            ("the frequency of a busy CPU was too low for its utilisation, though it has higher ones", "that of CPU");
        self.0.findings(machine, now, limit, "frequency-low", what)
    }
}
