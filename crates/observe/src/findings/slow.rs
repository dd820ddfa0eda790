// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `frequency-low`: a CPU's frequency is too low for its utilisation, although higher ones exist.
//! Detected by samples.
//!
//! The required frequency is that of schedutil: 1.25 times the utilisation. A frequency that follows within
//! milliseconds is not reported; one that a governor, a limit or a slow driver holds down is.

use super::Finding;
use super::episodes::Episodes;
use fairlab_machine::sim::Machine;
use fairlab_sched::units::{Nanos, SCHED_CAPACITY_SCALE};

/// Episodes of a frequency that is too low.
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
        let what = ("the frequency of a busy CPU was too low for its utilisation, although it has higher ones", "CPU");
        self.0.findings(machine, now, limit, "frequency-low", what)
    }
}
