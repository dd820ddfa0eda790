// SPDX-License-Identifier: GPL-2.0-or-later
//! Complaints of the scheduler about itself: what WARN_DOUBLE_CLOCK and LATENCY_WARN bring up, for each CPU.

use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts complaints.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    by_cpu: BTreeMap<CpuId, WarningRow>,
}

/// Complaints about a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WarningRow {
    /// The CPU.
    pub cpu: u32,
    /// How often its runqueue's clock was updated twice under one lock.
    pub double_clock: u64,
    /// How often it had not rescheduled for long.
    pub resched_latency: u64,
    /// For how long, at the worst, in nanoseconds.
    pub worst_latency_ns: u64,
}

impl Warnings {
    /// The scheduler complains.
    pub fn on_warning(&mut self, cpu: CpuId, warning: Warning) {
        let row = self.by_cpu.entry(cpu).or_insert_with(|| WarningRow { cpu: cpu.0, ..WarningRow::default() });
        match warning {
            Warning::DoubleClock => row.double_clock += 1,
            Warning::ReschedLatency { latency_ns, .. } => {
                row.resched_latency += 1;
                row.worst_latency_ns = row.worst_latency_ns.max(latency_ns);
            }
        }
    }

    /// What was counted, of CPUs that were complained of.
    pub fn rows(&self) -> Vec<WarningRow> {
        self.by_cpu.values().copied().collect()
    }
}

impl WarningRow {
    /// What it says, as warnings.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.double_clock > 0 {
            let times = self.double_clock;
            said.push(format!(
                "WARN_DOUBLE_CLOCK: the clock of CPU {} was updated twice under one lock, {times} times",
                self.cpu
            ));
        }
        if self.resched_latency > 0 {
            let (times, worst) = (self.resched_latency, self.worst_latency_ns);
            said.push(format!(
                "LATENCY_WARN: CPU {} had to reschedule and did not for up to {worst} ns; {times} complaints",
                self.cpu
            ));
        }
        said
    }
}
