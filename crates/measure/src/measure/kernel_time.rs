// SPDX-License-Identifier: GPL-2.0-or-later
//! Time in kernel paths: histograms of the duration of each path, and of its waits for locks.
//!
//! Only machines with a cost model have such times. All phases of a resumable path are one call. In addition
//! to the machine's paths there is `select_idle_cpu`: the task placements that searched a domain, as a tracer
//! of that function records them, including the rest of the placement.

use super::histogram::PowerHistogram;
use super::search::searches_domain;
use crate::latency::{Latency, LatencySummary};
use crate::slot_mut;
use fairlab_machine::observer::{KernelPath, MachineEvent};
use fairlab_sched::interface::wakeup::WakeupDecision;
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default)]
struct PathTimes {
    took: Latency,
    waited: Latency,
}

#[derive(Clone, Copy, Debug, Default)]
struct OpenCall {
    took: Nanos,
    waited: Nanos,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct KernelTimes {
    /// Calls of each path, in the order of [`KernelPath::ALL`].
    by_path: [PathTimes; KernelPath::ALL.len()],
    /// Placements that searched a domain.
    searches: PathTimes,
    /// Calls in progress, by CPU and path.
    open: Vec<[OpenCall; KernelPath::ALL.len()]>,
    /// Whether a placement in progress on each CPU searched a domain.
    searched: Vec<bool>,
}

/// Durations of one kernel path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KernelTimeRow {
    /// Name of the path, or `select_idle_cpu`.
    pub path: String,
    /// Total time including waits for locks, in nanoseconds.
    pub total_ns: u64,
    /// Duration of a call, including waits for locks.
    pub call: LatencySummary,
    /// Total time of waits for locks, in nanoseconds.
    pub waited_ns: u64,
    /// Time of waits for locks, of the calls that had to wait.
    pub lock_wait: Option<LatencySummary>,
    /// Histogram of the duration in microseconds, rounded down: smallest value and count of each power-of-two
    /// bucket. The first bucket has only 0.
    pub usecs: Vec<(u64, u64)>,
}

impl KernelTimes {
    /// Discards the calls so far; calls in progress count completely.
    pub(crate) fn reset(&mut self) {
        self.by_path = Default::default();
        self.searches = PathTimes::default();
    }

    /// Records whether a placement searched a domain; its duration is that of the CPU's next phase.
    #[inline]
    pub(crate) fn on_selection(&mut self, decision: &WakeupDecision) {
        *slot_mut(&mut self.searched, decision.waker.index()) = searches_domain(decision);
    }

    #[inline]
    pub(crate) fn machine_event(&mut self, event: &MachineEvent) {
        let MachineEvent::Kernel { cpu, path, took, waited, ends, .. } = *event else { return };
        let open = &mut slot_mut(&mut self.open, cpu.index())[path as usize];
        open.took += took;
        open.waited += waited;
        if !ends {
            return;
        }
        let call = std::mem::take(open);
        self.by_path[path as usize].record(call);
        if path == KernelPath::Select && self.searched.get_mut(cpu.index()).is_some_and(std::mem::take) {
            self.searches.record(call);
        }
    }

    pub(crate) fn rows(&self) -> Vec<KernelTimeRow> {
        let of_paths = KernelPath::ALL.iter().zip(&self.by_path).map(|(path, times)| (path.name(), times));
        let rows = std::iter::once(("select_idle_cpu", &self.searches)).chain(of_paths);
        rows.filter_map(|(name, times)| times.row(name)).collect()
    }
}

impl PathTimes {
    fn record(&mut self, call: OpenCall) {
        let whole = call.took + call.waited;
        self.took.record(whole.0);
        if call.waited > Nanos::ZERO {
            self.waited.record(call.waited.0);
        }
    }

    fn row(&self, name: &str) -> Option<KernelTimeRow> {
        Some(KernelTimeRow {
            path: name.to_owned(),
            total_ns: self.took.sum() as u64,
            call: self.took.summary()?,
            waited_ns: self.waited.sum() as u64,
            lock_wait: self.waited.summary(),
            usecs: self.took.ended_by_power().buckets().filter(|&(_, count)| count > 0).collect(),
        })
    }
}

impl KernelTimeRow {
    /// Formats the histogram as bpftrace does, as a map with the path as its key.
    pub fn bpftrace(&self) -> String {
        let mut histogram = PowerHistogram::default();
        for &(least, count) in &self.usecs {
            histogram.record_n(least, count);
        }
        histogram.bpftrace(&format!("usecs[{}]", self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::ids::CpuId;

    fn phase(cpu: u32, path: KernelPath, took: u64, waited: u64, ends: bool) -> MachineEvent {
        let (took, waited) = (Nanos(took), Nanos(waited));
        MachineEvent::Kernel { cpu: CpuId(cpu), path, began: Nanos::ZERO, took, waited, ends }
    }

    #[test]
    fn phases_of_a_path_on_one_cpu_are_one_call() {
        let mut times = KernelTimes::default();
        times.machine_event(&phase(0, KernelPath::NewIdle, 1_000, 0, false));
        times.machine_event(&phase(1, KernelPath::NewIdle, 9_000, 0, true));
        times.machine_event(&phase(0, KernelPath::Tick, 100, 0, true));
        times.machine_event(&phase(0, KernelPath::NewIdle, 2_000, 500, true));
        let rows = times.rows();
        let [newidle, tick] = rows.as_slice() else { panic!("two paths were taken: {rows:?}") };
        assert_eq!((newidle.path.as_str(), newidle.call.count, newidle.total_ns), ("newidle", 2, 12_500));
        assert_eq!((newidle.call.min_ns, newidle.call.max_ns, newidle.waited_ns), (3_500, 9_000, 500));
        assert_eq!(newidle.usecs, [(2, 1), (8, 1)]);
        assert_eq!((tick.call.count, tick.usecs.as_slice(), tick.lock_wait), (1, &[(0, 1)][..], None));
        let text = newidle.bpftrace();
        assert!(text.starts_with("@usecs[newidle]:\n[2, 4)                 1 |@@@"), "{text}");
    }
}
