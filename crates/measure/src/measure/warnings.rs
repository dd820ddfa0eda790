// SPDX-License-Identifier: GPL-2.0-or-later
//! Warnings of the scheduler about itself, from the features WARN_DOUBLE_CLOCK and LATENCY_WARN, for each
//! CPU.

use crate::plural::counted;
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct Warnings {
    by_cpu: BTreeMap<CpuId, WarningRow>,
}

/// Warnings about one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WarningRow {
    /// Number of the CPU.
    pub cpu: u32,
    /// Number of times that the runqueue's clock was updated twice under one lock.
    pub double_clock: u64,
    /// Number of times that the CPU did not reschedule for long although it had to.
    pub resched_latency: u64,
    /// Longest delay of rescheduling, in nanoseconds.
    pub worst_latency_ns: u64,
}

impl Warnings {
    pub(crate) fn on_warning(&mut self, cpu: CpuId, warning: Warning) {
        let row = self.by_cpu.entry(cpu).or_insert_with(|| WarningRow { cpu: cpu.0, ..WarningRow::default() });
        match warning {
            Warning::DoubleClock => row.double_clock += 1,
            Warning::ReschedLatency { latency_ns, .. } => {
                row.resched_latency += 1;
                row.worst_latency_ns = row.worst_latency_ns.max(latency_ns);
            }
        }
    }

    pub(crate) fn rows(&self) -> Vec<WarningRow> {
        self.by_cpu.values().copied().collect()
    }
}

impl WarningRow {
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut sentence = Vec::new();
        if self.double_clock > 0 {
            sentence.push(format!(
                "WARN_DOUBLE_CLOCK: the clock of CPU {} was updated twice under one lock, {}",
                self.cpu,
                counted(self.double_clock, "time", "times")
            ));
        }
        if self.resched_latency > 0 {
            sentence.push(format!(
                "LATENCY_WARN: CPU {} had to reschedule and did not for up to {} ns; {}",
                self.cpu,
                self.worst_latency_ns,
                counted(self.resched_latency, "warning", "warnings")
            ));
        }
        sentence
    }
}
