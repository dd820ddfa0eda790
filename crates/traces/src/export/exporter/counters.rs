// SPDX-License-Identifier: GPL-2.0-or-later
//! Counters and frequencies in traces: they are recorded when they change, or sampled where no event reports a change.

use super::Exporter;
use crate::export::record::{Counter, Group, RecordKind};
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::{Machine, START};
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};

/// Frequency in kHz per unit of frequency capacity of a CPU without a frequency domain.
const PLAIN_KHZ_PER_PART: u64 = 1000;

impl Exporter {
    /// Records counters for which no event exists. To be called at intervals during the run.
    pub fn sample(&mut self, machine: &Machine<impl Engine>) {
        if !self.groups.contains(Group::Counters) {
            return;
        }
        let (now, sched) = (machine.now(), machine.sched());
        for cpu in sched.cpu_ids() {
            let snapshot = sched.rq_snapshot(cpu);
            self.set_counter(now, cpu, Counter::Capacity, snapshot.cpu_capacity);
            // A compiled-kernel engine has no events for averages and numbers of tasks either.
            if machine.as_built_in().is_none() {
                self.set_counter(now, cpu, Counter::UtilAvg, snapshot.util_avg);
                self.set_counter(now, cpu, Counter::NrRunning, u64::from(snapshot.nr_running));
            }
            if let Some(llc) = sched.llc_snapshot(cpu) {
                self.set_counter(now, cpu, Counter::NrIdleScan, u64::try_from(llc.nr_idle_scan).unwrap_or(0));
            }
        }
    }

    pub(super) fn set_counter(&mut self, now: Nanos, of: CpuId, counter: Counter, value: u64) {
        let last = &mut self.cpus[of.index()].counters[counter as usize];
        if last.replace(value) != Some(value) {
            self.emit(now, of, RecordKind::Counter { of, counter, value });
        }
    }

    /// Records a frequency. Without one in kHz it is a share of the highest, or of 1.024 GHz on a machine that
    /// names no frequencies.
    pub(super) fn frequency(&mut self, now: Nanos, cpu_id: CpuId, part: Capacity, khz: Option<u64>) {
        let full = self.cpus[cpu_id.index()].highest_khz.unwrap_or(PLAIN_KHZ_PER_PART * SCHED_CAPACITY_SCALE);
        let khz = khz.unwrap_or(full * part / SCHED_CAPACITY_SCALE);
        self.emit(now, cpu_id, RecordKind::Frequency { cpu_id, khz });
    }

    pub(super) fn step_frequencies(&mut self, now: Nanos) {
        while let Some(&(at, cpu, part)) = self.frequency_steps.last().filter(|(at, ..)| START + *at <= now) {
            self.frequency_steps.pop();
            self.frequency(START + at, cpu, part, None);
        }
    }

    pub(super) fn add_runnable(&mut self, now: Nanos, cpu: CpuId, by: i64) {
        let nr = &mut self.cpus[cpu.index()].nr_running;
        *nr = nr.saturating_add_signed(by);
        let nr = *nr;
        if self.groups.contains(Group::Counters) {
            self.set_counter(now, cpu, Counter::NrRunning, nr);
        }
    }
}
